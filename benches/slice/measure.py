"""Reading 1 % of the offsets of a 1 GiB segment beside reading all of it, in plain Python through the index beside the segment.

Prints [{"corpus", "door", "bytes", "records", "all": seconds, "slice": seconds, "slice_records", "slice_bytes"}] as one JSON line;
`slice` is the mean over slices near the beginning, the middle and the end, of each the best of the rounds.
"""

import argparse
import json
import sys
import time

import logsegment as ls
from benches.paths import SEGMENT_NAME, WORK
from benches.segments import write_repeated
from logsegment import _core

SIZE = 1 << 30
CORPORA = ["small-none", "small-lz4"]
SHARE = 0.01
PLACES = [0.1, 0.5, 0.9]


def segment(directory):
    # A last segment is mapped into memory only on request; a read of all of it is then as fast as it can be.
    return ls.Segment(directory / SEGMENT_NAME, mmap=True)


def log(directory):
    return ls.Log(directory, mmap=True)


DOORS = {"Segment": segment, "Log": log}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(json.dumps([row for name in args.corpora.split(",") for row in measure(name, args)]))


def measure(name, args):
    directory = WORK / "slice" / f"{name}-0"
    path = directory / SEGMENT_NAME
    records = write_repeated(name, path, args.size)
    _core.rebuild_indexes([(path, 0)], directory)
    for door, opened in DOORS.items():
        print(f"slice: {name}, {door}", file=sys.stderr)
        whole = best(args.rounds, opened, directory, 0, records)
        starts = [int(records * place) for place in PLACES]
        slices = [best(args.rounds, opened, directory, start, start + int(records * SHARE)) for start in starts]
        yield {
            "corpus": name,
            "door": door,
            "bytes": path.stat().st_size,
            "records": records,
            "all": whole["seconds"],
            "slice": sum(found["seconds"] for found in slices) / len(slices),
            "slice_records": slices[0]["records"],
            "slice_bytes": max(found["bytes"] for found in slices),
        }


def best(rounds, opened, directory, start, end):
    return min((timed(opened, directory, start, end) for _ in range(rounds)), key=lambda found: found["seconds"])


def timed(opened, directory, start, end):
    """Opening the segment and looking the offset up are inside the clock."""
    begun = time.perf_counter()
    stream = opened(directory).records(start_offset=start, end_offset=end)
    rows = sum(batch.num_rows for batch in stream)
    seconds = time.perf_counter() - begun
    if rows != end - start:
        raise SystemExit(f"{rows} rows instead of {end - start}")
    return {"seconds": seconds, "records": rows, "bytes": stream.io_stats.bytes_read}


if __name__ == "__main__":
    main()
