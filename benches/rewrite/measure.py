"""`rewrite` that touches 1 % of the batches, compared with `validate` and a copy of the file; and a million keys at once.

Prints [{"codec", "bytes", "verify_copy", "rewrite": seconds, "verify_copy_cpu", "rewrite_cpu": seconds of all threads, "ratio"}] as one
JSON line, each time the best of the rounds. The ratio is the time of verify and copy divided by that of the rewrite: of the best, and of
the medians of the rounds, which alternate. Both sync what they write. Last comes {"keys", "bytes", "dropped", "seconds", "peak_mib"}: the
peak is that of the process with the keys.
Memory is bounded: the bytes of the keys and at most 21 bytes for each, 20 MiB of runs, and 150 bytes for each range of the account.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import logsegment as ls

CODECS = ["none", "lz4", "snappy", "gzip", "zstd"]
RECORDS = 100
ERASED = b"erase-me"
KEYS = 1_000_000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--batches", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rewrite-") as scratch:
        directory = Path(scratch)
        rows = [measure(directory, codec, args) for codec in args.codecs.split(",")]
        rows.append(measure_keys(directory, args))
    print(json.dumps(rows))


def measure(directory, codec, args):
    path = write_segment(directory / f"{codec}.log", codec, args.batches)
    copying, rewriting = [], []
    for _ in range(args.rounds):
        copying.append(timed(lambda: verify_and_copy(path, directory / "copy.log")))
        rewriting.append(timed(lambda: erase(path, directory / "out.log", args.batches)))
    row = {"codec": codec, "bytes": path.stat().st_size}
    path.unlink()
    (verify_copy, verify_copy_cpu), (rewrite, rewrite_cpu) = best(copying), best(rewriting)
    ratio = {"best": verify_copy / rewrite, "median": median(copying) / median(rewriting)}
    times = {"verify_copy": verify_copy, "rewrite": rewrite, "verify_copy_cpu": verify_copy_cpu, "rewrite_cpu": rewrite_cpu}
    return row | times | {"ratio": {name: round(value, 2) for name, value in ratio.items()}}


def measure_keys(directory, args):
    path = write_segment(directory / "keys.log", "zstd", args.batches)
    keys = pa.array([f"user-{number}" for number in range(KEYS)])
    start = time.perf_counter()
    done = ls.rewrite(path, directory / "out.log", drop=keys, overwrite=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return {"keys": KEYS, "bytes": path.stat().st_size, "dropped": done.dropped, "seconds": seconds, "peak_mib": peak}


def write_segment(path, codec, batches):
    """Write batches of about 19 KB, of which each hundredth has one record that is erased."""
    chance = random.Random(24)
    words = [chance.randbytes(6).hex() for _ in range(500)]
    values = [[" ".join(chance.choices(words, k=14)).encode() for _ in range(RECORDS)] for _ in range(200)]
    keys = [[f"user-{chance.randrange(KEYS)}".encode() for _ in range(RECORDS)] for _ in range(200)]
    with path.open("wb") as file:
        for batch in range(batches):
            own = [ERASED, *keys[batch % 200][1:]] if batch % 100 == 0 else keys[batch % 200]
            columns = {"key": pa.array(own, pa.binary()), "value": pa.array(values[batch % 200], pa.binary())}
            file.write(ls.encode(pa.table(columns), compression=codec, base_offset=batch * RECORDS, batch_bytes=1 << 20))
    return path


def verify_and_copy(path, copy):
    assert ls.validate(path).ok
    shutil.copyfile(path, copy)
    with copy.open("rb+") as file:
        os.fsync(file.fileno())
    copy.unlink()


def erase(path, out, batches):
    assert ls.rewrite(path, out, drop=[ERASED]).dropped == -(-batches // 100)
    out.unlink()


def timed(work):
    """The wall time and the CPU time of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def best(times):
    return tuple(min(column) for column in zip(*times, strict=True))


def median(times):
    return statistics.median(wall for wall, _ in times)


if __name__ == "__main__":
    main()
