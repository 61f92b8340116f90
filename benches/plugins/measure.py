"""What a plugin costs: snappy built in against snappy as a plugin of Python, the experiment of KIP-984, through encode and decode.

    python benches/plugins/measure.py

Each figure is the best of several runs in this process; `stored` is a plugin that gives what it is given, so that only its call is left.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

import cramjam
import pyarrow as pa

import logsegment as ls
from logsegment.plugins import Entry, MemoryRegistry

ROWS = 200_000
BATCH_BYTES = (16 << 10, 1 << 20)


class Stored:
    """No compression."""

    def compress(self, data: memoryview, level: int | None = None) -> memoryview:
        return data

    def decompress(self, data: memoryview, max_output: int) -> memoryview:
        return data


class Snappy:
    """A raw block, by the package cramjam."""

    def compress(self, data: memoryview, level: int | None = None) -> cramjam.Buffer:
        return cramjam.snappy.compress_raw(data)

    def decompress(self, data: memoryview, max_output: int) -> cramjam.Buffer:
        return cramjam.snappy.decompress_raw(data)


def main() -> None:
    here = "measure" if __name__ == "__main__" else __name__
    sys.modules[here] = sys.modules[__name__]
    codecs = MemoryRegistry([Entry(0, "stored", f"{here}:Stored", "v1.0"), Entry(1, "plugin", f"{here}:Snappy", "v1.0")])
    table = records()
    print("| batches | codec | decode, ms | encode, ms |\n| --- | --- | --- | --- |")
    for size in BATCH_BYTES:
        for compression in ("none", "stored", "snappy", "plugin"):
            data = ls.encode(table, compression=compression, batch_bytes=size, codecs=codecs)
            decode = best(lambda data=data: sum(map(len, ls.decode(data, codecs=codecs))))
            encode = best(lambda name=compression, size=size: ls.encode(table, compression=name, batch_bytes=size, codecs=codecs))
            count = ls.batches(data, check_crc=False).num_rows
            print(f"| {count} of {size >> 10} KiB | {compression} | {decode * 1000:.1f} | {encode * 1000:.1f} |", flush=True)


def records() -> pa.Table:
    """Values of ten words each, some 120 bytes."""
    chance = random.Random(1)
    words = [b"%x" % chance.getrandbits(40) for _ in range(500)]
    return pa.table({"value": pa.array([b" ".join(chance.choices(words, k=10)) for _ in range(ROWS)], pa.binary())})


def best(work: Callable[[], object], runs: int = 7) -> float:
    """Seconds of the quickest run."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


if __name__ == "__main__":
    main()
