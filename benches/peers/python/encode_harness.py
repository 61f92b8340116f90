"""Encode contestants in Python: `cmd CODEC LEVEL FILE REPEAT OUTPUT` prints one JSON line.

`encode(batches, codec, level)` is the timed work; it yields the bytes of each piece of output. LEVEL is a number, or -
for the codec's own default.
"""
import json
import sys
import time


def run(load, encode):
    """`load` gives (records, batches) of a segment's bytes in the contestant's natural form, outside the clock."""
    codec, level, path, repeat, output = sys.argv[-5:]
    level = None if level == "-" else int(level)
    with open(path, "rb") as file:
        records, batches = load(file.read())
    with open(output, "wb") as file:
        file.writelines(encode(batches, codec, level))
    size, seconds = 0, []
    for _ in range(int(repeat) + 1):
        start = time.perf_counter()
        size = sum(map(len, encode(batches, codec, level)))
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"records": records, "bytes": size, "seconds": seconds[1:]}))
