"""`view=batches` over many partitions beside a bare loop that reads each header, in one run.

The partitions are hard links of one segment: 10 GiB of log that take no room. The loop reads the 61 bytes of each header by position and
takes its fields out with `struct`, one file after the other, and keeps nothing. The view brings all of its columns into Spark's noop sink
on local[2].
Prints {"bytes", "partitions", "batches", "loop", "view", "count"} as one JSON line; seconds, best of the rounds.
"""

import argparse
import json
import os
import shutil
import struct
import sys
import time

from benches.paths import SEGMENT_NAME, WORK, corpus
from benches.spark.measure import noop, session

HEADER = struct.Struct(">qiibIhiqqqhii")
LOG_OVERHEAD = 12


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", default="small-none")
    parser.add_argument("--gib", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    tree = WORK / "spark" / "header-view"
    try:
        paths, size = linked(args.corpus, tree, int(args.gib * 2**30))
        print(json.dumps({"bytes": size * len(paths), "partitions": len(paths), **measure(tree, paths, args.rounds)}))
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def linked(name, tree, least):
    """Partition directories with a hard link each, of at least so many bytes in all; returns (paths, bytes of one)."""
    source = corpus(name)
    size = source.stat().st_size
    shutil.rmtree(tree, ignore_errors=True)
    paths = [tree / f"bench-{number}" / SEGMENT_NAME for number in range(-(-least // size))]
    for path in paths:
        path.parent.mkdir(parents=True)
        os.link(source, path)
    return paths, size


def measure(tree, paths, rounds):
    spark = session()
    try:
        frame = spark.read.format("logsegment").option("view", "batches").load(str(tree))
        loops, views, counts = [], [], []
        batches = bare_loop(paths)
        assert frame.count() == batches, "the view has other batches than the loop"
        noop(frame)  # both queries are warm then
        for _ in range(rounds):
            loops.append(timed(bare_loop, paths))
            views.append(timed(noop, frame))
            counts.append(timed(type(frame).count, frame))
            print(f"header view: loop {loops[-1]:.2f} s, view {views[-1]:.2f} s, count {counts[-1]:.2f} s", file=sys.stderr)
    finally:
        spark.stop()
    return {"batches": batches, "loop": min(loops), "view": min(views), "count": min(counts)}


def bare_loop(paths):
    """Read each header of each file; returns how many."""
    count = 0
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        try:
            position, end = 0, os.fstat(file).st_size
            while position < end:
                fields = HEADER.unpack(os.pread(file, HEADER.size, position))
                position += LOG_OVERHEAD + fields[1]
                count += 1
        finally:
            os.close(file)
    return count


def timed(call, *arguments):
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
