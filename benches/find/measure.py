"""`find` over 10 GiB of log: one segment with its indexes, hard-linked as many partitions, by offset, by time and by key.

Prints {"bytes", "partitions", "offset", "cold", "time", "key"} as one JSON line; of each search the seconds of its own work in a warm
process (best of the rounds; finding the segments is part of it), how many records it found, its counters, and on Linux the bytes that the
kernel saw. A key is looked for in one partition, since that reads all of it. `cold` is by offset with the files out of the page cache;
links share their pages, so that the disk is asked once for what all partitions have.
"""

import argparse
import json
import os
import shutil
import time
from pathlib import Path

import pyarrow as pa

import logsegment as ls
from benches.paths import SEGMENT_NAME, WORK
from logsegment import _core
from logsegment.analysis.find import Conditions, Search
from logsegment.segment_files.discovery import find_segments

VALUE_BYTES = 1000
START_MS = 1_600_000_000_000
SIDECARS = [".log", ".index", ".timeindex"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gib", type=float, default=10)
    parser.add_argument("--segment-mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    tree = WORK / "find"
    shutil.rmtree(tree, ignore_errors=True)
    try:
        size, records, partitions = linked(tree, args.segment_mib << 20, int(args.gib * 2**30))
        middle = records // 2
        searches = {
            "offset": (tree / "data", Conditions(start_offset=middle, end_offset=middle + 1), partitions),
            "time": (tree / "data", Conditions(at=START_MS + middle), partitions),
            "key": (tree / "data" / "bench-0", Conditions(keys=[b"%d" % middle]), 1),
        }
        found = {name: best(args.rounds, *search) for name, search in searches.items()}
        found["cold"] = best(args.rounds, *searches["offset"], before=lambda: forget(tree / "data"))
        print(json.dumps({"bytes": size * partitions, "partitions": partitions, **found}))
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def linked(tree, size, least):
    """A segment of at least `size` bytes, linked as partitions of at least `least` in all: (bytes of one, its records, partitions)."""
    origin = tree / "origin"
    origin.mkdir(parents=True)
    log = origin / SEGMENT_NAME
    records = written(log, size)
    _core.rebuild_indexes([(log, 0)], origin)
    size = log.stat().st_size
    partitions = -(-least // size)
    for number in range(partitions):
        partition = tree / "data" / f"bench-{number}"
        partition.mkdir(parents=True)
        for suffix in SIDECARS:
            os.link(log.with_suffix(suffix), (partition / SEGMENT_NAME).with_suffix(suffix))
    return size, records, partitions


def written(log, size, step=50_000):
    """Write records of rising offsets and times; returns how many."""
    values = pa.array([os.urandom(VALUE_BYTES)] * step, pa.binary())
    records = 0
    with log.open("wb") as file:
        while file.tell() < size:
            offsets = range(records, records + step)
            keys = pa.array([b"%d" % offset for offset in offsets], pa.binary())
            times = pa.array([START_MS + offset for offset in offsets], pa.int64())
            file.write(ls.encode(pa.table({"key": keys, "value": values, "timestampMs": times}), base_offset=records))
            records += step
    return records


def best(rounds, place, wanted, expected, before=lambda: None):
    found = [before() or one(place, wanted) for _ in range(rounds)]
    if any(row["found"] != expected for row in found):
        raise SystemExit(f"{found} instead of {expected} places")
    return min(found, key=lambda row: row["seconds"])


def forget(place):
    """Take the files out of the page cache, as far as they have been written."""
    for path in place.rglob("*.*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def one(place, wanted):
    search = Search(wanted)
    before, start = kernel_bytes(), time.perf_counter()
    partitions = {}
    for file in find_segments(place):
        partitions.setdefault(file.directory, []).append(file)
    found = sum(1 for files in partitions.values() for _ in search.places(files))
    seconds = time.perf_counter() - start
    read = None if before is None else kernel_bytes() - before
    return {"seconds": seconds, "found": found, "kernel_bytes": read, **search.counters.to_dict()}


def kernel_bytes():
    """Bytes that this process asked for so far, also of the page cache."""
    counts = Path("/proc/self/io")
    return int(counts.read_text().split()[1]) if counts.exists() else None


if __name__ == "__main__":
    main()
