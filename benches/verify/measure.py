"""`logsegment verify` of a clean segment beside the baseline and beside `kafka-dump-log --deep-iteration`, and the search past damage.

Prints {"verify": {"corpus", "bytes", "baseline", "validate", "command", "dump_log"}, "resync": [{"what", "bytes", "seconds"}]} as one JSON
line, seconds best of the rounds; `validate` is the call in this process, `command` the whole program from its start to its end, and
`dump_log` Kafka's own, which runs once, from its start to its end too.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import logsegment as ls
from benches.paths import PEERS, ROOT, SEGMENT_NAME, WORK, corpus
from benches.segments import entries, head, write_repeated

SIZE = 1 << 30
CORPUS = "small-lz4"
RESYNC_BYTES = 256 << 20
MAGIC_AT = 16
BASELINE = PEERS / "rust" / "baseline" / "target" / "release" / "baseline"
DUMP_TOOLS = ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments")
KAFKA = "4.3.1"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peer", action="store_true", help="leave kafka-dump-log out, which takes minutes")
    args = parser.parse_args()
    print(json.dumps({"verify": verify(args), "resync": [*resync(args)]}))


def verify(args):
    path = WORK / "verify" / SEGMENT_NAME
    write_repeated(CORPUS, path, args.size)
    found = {"corpus": CORPUS, "bytes": path.stat().st_size}
    found["baseline"] = baseline(path, args.rounds)
    say("verify: logsegment")
    found["validate"] = min(timed(validate, path) for _ in range(args.rounds))
    command = [sys.executable, "-m", "logsegment", "verify", "--quiet", str(path)]
    # As pip leaves a package: its modules are compiled.
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found["command"] = min(timed(subprocess.run, command, check=True, env=compiled) for _ in range(args.rounds))
    if not args.no_peer:
        say("verify: kafka-dump-log")
        found["dump_log"] = timed(dump_log, path)
    return found


def baseline(path, rounds):
    """What the bytes cost when nothing is wasted: checksums, decompression, and one pass that copies every record."""
    say("verify: baseline")
    done = subprocess.run([BASELINE, "reuse", path, str(rounds)], check=True, stdout=subprocess.PIPE, text=True)
    return min(json.loads(done.stdout.strip().splitlines()[-1])["seconds"])


def validate(path):
    if ls.validate(ls.FileSource(path)).findings:
        raise AssertionError("the segment is not clean")


def dump_log(path):
    """Kafka's own check of every record; what it prints goes nowhere."""
    sys.path[:0] = [str(ROOT / "tests" / name) for name in ("interop", "support")]
    import eras

    jars = eras.class_path(eras.ERAS[KAFKA])
    for tool in DUMP_TOOLS:
        command = ["java", "-cp", jars, tool, "--deep-iteration", "--files", str(path)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not done.returncode:
            return
        if "ClassNotFoundException" not in done.stderr:
            break
    raise RuntimeError(done.stderr)


def resync(args):
    """A good batch at each end, and between them nothing that can be framed."""
    first, _, _ = head("small-none", 1)
    size = min(RESYNC_BYTES, args.size)
    for what, noise in [
        ("batches of lz4 with a wrong magic", broken("small-lz4", size)),
        ("batches of plain records with a wrong magic", broken("small-none", size)),
        ("random bytes", os.urandom(size)),
        ("bytes 2, each of them the magic of a candidate", bytes([2]) * size),
    ]:
        say(f"resync: {what}")
        data = first + noise + first
        yield {"what": what, "bytes": len(noise), "seconds": min(timed(salvage, data, first) for _ in range(args.rounds))}


def salvage(data, first):
    found = ls.salvage(data)
    if found.data != first + first:
        raise AssertionError("the batch behind the damage was not found")


def broken(name, size):
    data = corpus(name).read_bytes()
    data = bytearray((data * -(-size // len(data)))[:size])
    position = 0
    for position, length, _ in entries(data):
        if position + length > size:
            break
        data[position + MAGIC_AT] = 9
    del data[position:]
    return bytes(data)


def timed(work, *arguments, **options):
    start = time.perf_counter()
    work(*arguments, **options)
    return time.perf_counter() - start


def say(text):
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
