"""`logsegment diff` of two logs beside the reading of both: the same batches in other segments, other batches, and a log with holes.

Prints {"diff": [{"what", "corpus", "bytes", "read", "headers", "diff", "state"}]} as one JSON line: bytes of one side, seconds best of the
rounds. `read` is both sides through `read()`, `headers` both through `logsegment.batch_stream` with checksums.
"""

import argparse
import json
import shutil
import sys
import time

import logsegment as ls
from benches.paths import WORK
from benches.segments import entries, write_repeated
from logsegment.analysis.diff import diff

SIZE = 1 << 30
#: What cannot be compared by headers is unpacked on both sides.
UNPACKED = 128 << 20
PIECE = 1 << 20
NAME = "orders-0"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(json.dumps({"diff": [*cases(args.size, args.rounds)]}))


def cases(size, rounds):
    for corpus in ("small-lz4", "small-none"):
        whole = made(corpus, size)
        yield measured("the same batches in other segments", corpus, whole, cut(whole, "cut", 7), rounds, "same")
        yield measured("every hundredth batch is missing", corpus, whole, cut(whole, "holes", 1, hole=100), rounds, "different")
        yield measured("the same, only headers", corpus, whole, whole, rounds, "same", check_crc=False)
        few = made(corpus, min(size, UNPACKED))
        yield measured("the same records under gzip", corpus, few, packed(few), rounds, "same")


def made(corpus, size):
    """A partition of one segment."""
    directory = WORK / "diff" / f"{corpus}-{size}" / NAME
    write_repeated(corpus, directory / f"{0:020}.log", size)
    return directory


def cut(whole, name, segments, *, hole=None):
    """The same batches in several segments; with `hole` each so many'th is left out."""
    directory = whole.parent / name / NAME
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    data = memoryview((whole / f"{0:020}.log").read_bytes())
    step, at, file = -(-len(data) // segments), 0, None
    offset = 0
    for index, (position, size, count) in enumerate(entries(data)):
        if file is None or position >= at:
            file = file and file.close()
            file = (directory / f"{offset:020}.log").open("wb")
            at += step
        if hole is None or index % hole:
            file.write(data[position : position + size])
        offset += count
    file.close()
    return directory


def packed(whole):
    directory = whole.parent / "gzip" / NAME
    directory.mkdir(parents=True, exist_ok=True)
    ls.convert(ls.FileSource(whole / f"{0:020}.log"), compression="gzip", out=directory / f"{0:020}.log")
    return directory


def measured(what, corpus, a, b, rounds, state, **options):
    print(f"diff: {corpus}: {what}", file=sys.stderr)
    files = sorted([*a.glob("*.log"), *b.glob("*.log")])
    found = {"what": what, "corpus": corpus, "bytes": sum(file.stat().st_size for file in a.glob("*.log"))}
    works = {"read": lambda: read(files), "headers": lambda: headers(files), "diff": lambda: compared(a, b, state, options)}
    for name, work in works.items():
        found[name] = min(timed(work) for _ in range(rounds))
    return found | {"state": state}


def read(files):
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(PIECE):
                pass


def headers(files):
    for path in files:
        for _ in ls.batch_stream(ls.FileSource(path)):
            pass


def compared(a, b, state, options):
    (partition,) = diff(a, b, **options)
    for _ in partition:
        pass
    if partition.state != state:
        raise AssertionError(f"{partition.state}, not {state}: {partition.totals}")


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
