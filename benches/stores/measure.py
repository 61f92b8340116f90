"""Reads of a partition in a store with a delay, compared with the same reads of local files, and with another version of the package.

    python -m benches.stores.measure [--mib 1024] [--segments 16] [--delay-ms 50] [--megabytes 90] [--other PYTHON_DIR]

Prints {"stores": [{"read", "where", "version", "seconds", "fetched"}]} as one JSON line: the best of the rounds, and the bytes that the
server gave, as a multiple of the segments' bytes. PYTHON_DIR has the package of another version, with its compiled module.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time

import pyarrow as pa

import logsegment as ls
from benches.paths import ROOT, WORK

ROWS = "import sys, logsegment as ls; print(sum(batch.num_rows for batch in ls.Log(sys.argv[1]).records(columns=['value'])))"
READS = {
    "verify": lambda path: ["-m", "logsegment", "verify", "--quiet", path],
    "records": lambda path: ["-c", ROWS, path],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--segments", type=int, default=16)
    parser.add_argument("--delay-ms", type=int, default=50)
    parser.add_argument("--megabytes", type=int, default=90, help="a second, of each connection")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--other", help="the directory of another version of the package")
    args = parser.parse_args()
    bucket = WORK / "stores"
    size = made(bucket / "orders-0", args.mib << 20, args.segments)
    versions = {"this": str(ROOT / "python")} | ({"other": args.other} if args.other else {})
    print(json.dumps({"stores": [one for name, package in versions.items() for one in measured(name, package, bucket, size, args)]}))


def made(directory, size, segments):
    """Write lz4 segments of records of 1 KiB, half of them random bytes; return their bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    chance = random.Random(38)
    rows = size // segments // 560
    for number in range(segments):
        values = pa.array([chance.randbytes(512) + bytes(512) for _ in range(rows)], pa.binary())
        path = directory / f"{number * rows:020d}.log"
        ls.encode(pa.table({"value": values}), base_offset=number * rows, compression="lz4", batch_bytes=16 << 10, out=path)
    return sum(path.stat().st_size for path in directory.iterdir())


def measured(version, package, bucket, size, args):
    """Yield the figures of a version, the reads in turns."""
    best = {}
    for _ in range(args.rounds):
        for read, command in READS.items():
            local, _ = timed(package, command(str(bucket / "orders-0")), {})
            best[read, "local"] = min(best.get((read, "local"), (local, 0)), (local, 0))
            for where, limits in (("slow", (args.delay_ms, args.megabytes)), ("unlimited", (0, 0))):
                command_line = [sys.executable, "-m", "benches.stores.server", str(bucket), *map(str, limits)]
                server = subprocess.Popen(command_line, cwd=ROOT, stdout=subprocess.PIPE, text=True)
                try:
                    environment = {
                        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(server.stdout.readline())}",
                        "AWS_ACCESS_KEY_ID": "key",
                        "AWS_SECRET_ACCESS_KEY": "secret",
                        "AWS_REGION": "us-east-1",
                    }
                    seconds, _ = timed(package, command("s3://bucket/orders-0"), environment)
                finally:
                    server.send_signal(signal.SIGTERM)
                    given = int(server.communicate()[0])
                best[read, where] = min(best.get((read, where), (seconds, given)), (seconds, given))
    for (read, where), (seconds, given) in best.items():
        yield {"read": read, "where": where, "version": version, "seconds": round(seconds, 3), "fetched": round(given / size, 3)}


def timed(package, arguments, environment):
    """Run a program; return its seconds and its output."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=os.environ | environment | {"PYTHONPATH": package}, check=True, capture_output=True, text=True
    )
    return time.perf_counter() - begin, done.stdout


if __name__ == "__main__":
    main()
