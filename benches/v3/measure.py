"""Measure the proposed record format v3 (KIP-931) against v2, in one process; print Markdown tables.

    python benches/v3/measure.py decode          # v3 against v2, the same records
    python benches/v3/measure.py validate        # the metadata alone against everything

One thread, batches in memory, the best of several runs. Pin it to one core and run nothing beside it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence

import pyarrow as pa

import logsegment as ls

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SIZES = {"100 B": 100, "1 KiB": 1 << 10, "10 KiB": 10 << 10}
BYTES = 8 << 20
BASE = 1_600_000_000_000
WORDS = [b"offset", b"timestamp", b"payment", b"accepted", b"refused", b"customer", b"0123", b"amount", b"eur", b"usd"]


def records(size: int) -> pa.Table:
    """Values of `size` bytes that shrink about as JSON does."""
    noise = random.Random(931)
    count = BYTES // size
    text = b" ".join(noise.choice(WORDS) + b"%d" % noise.randrange(1000) for _ in range(size * 64 // 8))
    starts = [noise.randrange(len(text) - size) for _ in range(count)]
    values = [text[at : at + size] for at in starts]
    return pa.table(
        {
            "key": [b"key-%d" % (index % 1000) for index in range(count)],
            "value": values,
            "timestampMs": [BASE + 3 * index for index in range(count)],
        }
    )


def best(run: Callable[[], object], budget: float = 0.8) -> float:
    """Seconds of the fastest run."""
    fastest, end = float("inf"), time.perf_counter() + budget
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def best_in_turn(runs: Sequence[Callable[[], object]], budget: float = 4.0) -> list[float]:
    """Seconds of the fastest run of each. They take turns, each first as often: what slows the machine for a while slows all of them."""
    fastest, end = [float("inf")] * len(runs), time.perf_counter() + budget
    turn = 0
    while turn < 40 or time.perf_counter() < end:
        for step in range(len(runs)):
            index = (turn + step) % len(runs)
            start = time.perf_counter()
            runs[index]()
            fastest[index] = min(fastest[index], time.perf_counter() - start)
        turn += 1
    return fastest


def decoded(data: bytes) -> Callable[[], object]:
    """One run of a decode to key, value, offset and timestamp."""

    def run() -> None:
        for _ in ls.decode(data, columns=["key", "value", "offset", "timestamp"], format="v3"):
            pass

    return run


def head(names: str, numbers: str) -> None:
    """Print the head of a table."""
    print(f"| {names} | {numbers} |")
    print("|" + " --- |" * (names.count("|") + 1) + " --: |" * (numbers.count("|") + 1))


def decode() -> None:
    """Decode v2, v3 and v3 with the metadata first, 16 KiB batches."""
    head("value | codec", "v2 MB/s | v3 MB/s | v3 metadata first | v2 bytes | v3 | metadata first")
    for name, size in SIZES.items():
        table = records(size)
        plain = len(ls.encode(table) or b"")
        for codec in CODECS if size == 100 else CODECS[:1]:
            made = [
                ls.encode(table, compression=codec) or b"",
                ls.encode(table, compression=codec, format="v3") or b"",
                ls.encode(table, compression=codec, format="v3", metadata_first=True) or b"",
            ]
            runs = [decoded(data) for data in made]
            rates = [plain / seconds / 1e6 for seconds in best_in_turn(runs)]
            sizes = [f"{len(data) / len(made[0]):.4f}" for data in made[1:]]
            cells = [*(f"{rate:,.0f}" for rate in rates), f"{len(made[0]):,}", *sizes]
            print(f"| {name} | {codec} | " + " | ".join(cells) + " |", flush=True)


def validate() -> None:
    """`validate` of the metadata, of v2 and of v3 with the metadata first, 256 KiB batches."""
    head("value | codec", "v2: ms | inflated | metadata first: ms | inflated | time | stored")
    for name, size in SIZES.items():
        table = records(size)
        for codec in CODECS[1:]:
            among = ls.encode(table, compression=codec, batch_bytes=256 << 10) or b""
            first = ls.encode(table, format="v3", metadata_first=True, compression=codec, batch_bytes=256 << 10) or b""
            cells = []
            times = []
            for data in (among, first):
                report = ls.validate(data, depth="metadata", format="v3")
                times.append(best(lambda data=data: ls.validate(data, depth="metadata", format="v3"), 0.6))
                cells += [f"{times[-1] * 1e3:.1f}", f"{report.io_stats['bytes_inflated']:,}"]
            print(
                f"| {name} | {codec} | " + " | ".join(cells) + f" | {times[1] / times[0]:.0%} | {len(first) / len(among):.1%} |", flush=True
            )


if __name__ == "__main__":
    {"decode": decode, "validate": validate}[sys.argv[1]]()
