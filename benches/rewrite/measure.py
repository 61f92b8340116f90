"""`rewrite` that touches 1 % of the batches, compared with `validate` and a copy of the file; and a million keys at once.

Prints [{"codec", "bytes", "verify_copy", "rewrite": seconds, "verify_copy_cpu", "rewrite_cpu": seconds of all threads, "ratio"}] as one
JSON line, each time the best of the rounds. The ratio is the time of verify and copy divided by that of the rewrite: of the best, and of
the medians of the rounds, which alternate. Both sync what they write.

Last comes {"keys", "bytes", "dropped", "seconds", "idle_mib", "peak_mib"} of a process of its own that drops a million keys, half of those
of the log, from a tree of partitions. All of them are links to one segment, so that 10 GiB need the disk space of one segment and of the
output: `--codecs "" --segment-batches 105000 --partitions 10`. "idle_mib" is the peak before the rewrite, with the Arrow array of keys.
Memory is bounded, whatever the size of the log: the bytes of the keys and at most 21 bytes for each, 40 MiB of runs, and 400 bytes for each
range of the account.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

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
    parser.add_argument("--segment-batches", type=int, default=5_000)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--drop-keys", nargs=2, metavar=("SOURCE", "OUT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.drop_keys:
        print(json.dumps(drop_keys(*args.drop_keys)))
        return
    with tempfile.TemporaryDirectory(prefix="rewrite-") as scratch:
        directory = Path(scratch)
        rows = [measure(directory, codec, args) for codec in filter(None, args.codecs.split(","))]
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
    segment = write_segment(directory / "keys.log", "lz4", args.segment_batches, has_fresh_keys=True)
    size = segment.stat().st_size * args.partitions
    for number in range(args.partitions):
        partition = directory / f"in/users-{number}"
        partition.mkdir(parents=True)
        (partition / f"{0:020}.log").hardlink_to(segment)
    command = [sys.executable, __file__, "--drop-keys", str(directory / "in"), str(directory / "out")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return {"keys": KEYS, "bytes": size} | json.loads(done.stdout)


def drop_keys(source, out):
    keys = pc.binary_join_element_wise("user-", pc.cast(pa.array(range(KEYS)), pa.string()), "")
    idle = peak_mib()
    start = time.perf_counter()
    done = ls.rewrite(source, out, drop=keys)
    return {"dropped": done.dropped, "seconds": time.perf_counter() - start, "idle_mib": idle, "peak_mib": peak_mib()}


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def write_segment(path, codec, batches, *, has_fresh_keys=False):
    """Write batches of about 19 KB, of which each hundredth has one record that is erased; half of the other keys are among the million."""
    chance = random.Random(24)
    words = [chance.randbytes(6).hex() for _ in range(500)]
    values = [[" ".join(chance.choices(words, k=14)).encode() for _ in range(RECORDS)] for _ in range(200)]

    def fresh():
        return [b"user-%d" % chance.randrange(2 * KEYS) for _ in range(RECORDS)]

    keys = [fresh() for _ in range(200)]
    with path.open("wb") as file:
        for batch in range(batches):
            own = fresh() if has_fresh_keys else keys[batch % 200]
            own = [ERASED, *own[1:]] if batch % 100 == 0 else own
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
