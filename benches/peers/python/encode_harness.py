"""Encode contestants in Python: `cmd CODEC LEVEL FILE REPEAT OUTPUT` prints one JSON line.

`encode(work, codec, level, out)` is the timed work; it hands each piece of output to `out.write`. LEVEL is a number, or - for
the codec's own default.
"""
import json
import sys
import time


class Count:
    """Drops what is written and counts its bytes."""

    def __init__(self):
        self.size = 0

    def write(self, data):
        self.size += len(data)


def run(load, encode):
    """`load` gives (records, work) of a segment's bytes, the work in the contestant's natural form, outside the clock."""
    codec, level, path, repeat, output = sys.argv[-5:]
    level = None if level == "-" else int(level)
    with open(path, "rb") as file:
        records, work = load(file.read())
    with open(output, "wb") as file:
        encode(work, codec, level, file)
    seconds = []
    for _ in range(int(repeat) + 1):
        found = Count()
        start = time.perf_counter()
        encode(work, codec, level, found)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"records": records, "bytes": found.size, "seconds": seconds[1:]}))
