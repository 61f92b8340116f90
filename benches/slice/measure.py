"""Reading 1 % of the offsets of a 1 GiB segment beside reading all of it, through the index beside the segment: plain Python, and Spark.

Prints [{"corpus", "entry_point", "bytes", "records", "all": seconds, "slice": seconds, "slice_records", "slice_bytes", "tasks"}]
as one JSON line; `slice` is the mean over slices near the beginning, the middle and the end, of each the best of the rounds. Bytes are
those of the worst slice, as the counters of the reads tell; `tasks`, of Spark alone, is the largest number of them that read a slice.
"""

import argparse
import json
import shutil
import sys
import time
from functools import partial

import logsegment as ls
from benches.paths import SEGMENT_NAME, WORK
from benches.segments import write_repeated
from benches.spark.measure import session
from logsegment import _core

SIZE = 1 << 30
CORPORA = ["small-none", "small-lz4"]
SHARE = 0.01
PLACES = [0.1, 0.5, 0.9]


def segment(directory):
    # A segment is mapped into memory only on request; a read of all of it is then as fast as it can be.
    return ls.Segment(directory / SEGMENT_NAME, mmap=True)


def log(directory):
    return ls.Log(directory, mmap=True)


ENTRY_POINTS = {"Segment": segment, "Log": log}
SPARK = "Spark"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    spark = session()
    try:
        entry_points = {
            **{entry_point: partial(read, opened) for entry_point, opened in ENTRY_POINTS.items()},
            SPARK: partial(read_by_spark, spark),
        }
        rows = [
            measure(name, entry_point, reading, args) for name in args.corpora.split(",") for entry_point, reading in entry_points.items()
        ]
    finally:
        spark.stop()
    print(json.dumps(rows))


def measure(name, entry_point, reading, args):
    print(f"slice: {name}, {entry_point}", file=sys.stderr)
    directory = WORK / "slice" / f"{name}-0"
    path = directory / SEGMENT_NAME
    records = write_repeated(name, path, args.size)
    _core.rebuild_indexes([(path, 0)], directory)
    whole = best(args.rounds, reading, directory, 0, records)
    starts = [int(records * place) for place in PLACES]
    slices = [best(args.rounds, reading, directory, start, start + int(records * SHARE)) for start in starts]
    return {
        "corpus": name,
        "entry_point": entry_point,
        "bytes": path.stat().st_size,
        "records": records,
        "all": whole["seconds"],
        "slice": sum(found["seconds"] for found in slices) / len(slices),
        "slice_records": slices[0]["records"],
        "slice_bytes": max(found["bytes"] for found in slices),
        "tasks": max(found["tasks"] for found in slices),
    }


def best(rounds, reading, directory, start, end):
    found = [reading(directory, start, end) for _ in range(rounds)]
    if any(row["records"] != end - start for row in found):
        raise SystemExit(f"{found} instead of {end - start} records")
    return min(found, key=lambda row: row["seconds"])


def read(opened, directory, start, end):
    """Opening the segment and looking the offset up are inside the clock."""
    begun = time.perf_counter()
    stream = opened(directory).records(start_offset=start, end_offset=end)
    rows = sum(batch.num_rows for batch in stream)
    return {"seconds": time.perf_counter() - begun, "records": rows, "bytes": stream.io_stats.bytes_read, "tasks": 0}


def read_by_spark(spark, directory, start, end):
    """Planning is inside the clock, the start of the session is not. Counters are what the tasks left where the option ioStats says."""
    told = WORK / "slice" / "io-stats"
    shutil.rmtree(told, ignore_errors=True)
    topic, _, partition = directory.name.rpartition("-")
    begun = time.perf_counter()
    reader = spark.read.format("logsegment").option("ioStats", str(told))
    for edge, offset in (("startingOffsets", start), ("endingOffsets", end)):
        reader = reader.option(edge, json.dumps({topic: {partition: offset}}))
    reader.load(str(directory)).write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - begun
    counters = [json.loads(line) for path in told.glob("task-*.json") for line in path.read_text().splitlines()]
    found = {name: sum(counter[name] for counter in counters) for name in ("bytes_read", "records")}
    tasks = {(counter["stage"], counter["task"]) for counter in counters}
    return {"seconds": seconds, "records": found["records"], "bytes": found["bytes_read"], "tasks": len(tasks)}


if __name__ == "__main__":
    main()
