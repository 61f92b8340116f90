"""Logs whose values, keys and headers contain whole entries of other logs, and damage to them: what must not become part of a log."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import logsegment as ls
from building import batch, message, record, simple_batch

#: The value of each record inside of a value.
STORED = b"stored"
CODECS = ("none", "gzip", "snappy", "lz4")


@dataclass(frozen=True)
class StoredLog:
    """A log of adjacent entries.

    Attributes:
        entries: in the order of their offsets.
        magic: of the entries.
    """

    entries: list[bytes]
    magic: int

    @property
    def data(self) -> bytes:
        """Return the bytes of the log."""
        return b"".join(self.entries)

    def spans(self) -> list[tuple[int, int]]:
        """Return where the entries are."""
        found, at = [], 0
        for entry in self.entries:
            found.append((at, at + len(entry)))
            at += len(entry)
        return found


def stored_log(rng: random.Random) -> StoredLog:
    """Return a log of 2 to 8 entries with one to four records each."""
    magic, codec = rng.choice([0, 1, 2, 2]), rng.choice(CODECS)
    entries: list[bytes] = []
    offset = rng.choice([0, 0, 7, 100])
    for _ in range(rng.randint(2, 8)):
        count = rng.randint(1, 4) if codec != "none" or magic == 2 else 1
        entries.append(_entry(rng, magic, codec, offset, count))
        offset += count + rng.choice([0, 0, 0, 5])
    return StoredLog(entries, magic)


def _entry(rng: random.Random, magic: int, codec: str, offset: int, count: int) -> bytes:
    values = [_content(rng, magic, offset) for _ in range(count)]
    if magic == 2 and codec == "none" and rng.random() < 0.5:
        # The last header ends where the batch ends.
        headers = [(b"h", _content(rng, magic, offset))]
        rows = b"".join(record(b"k", value, headers, offset_delta=delta) for delta, value in enumerate(values))
        return batch(rows, count=count, base_offset=offset)
    if magic < 2 and codec == "none":
        return message(values[0], magic=magic, offset=offset)
    options: dict[str, Any] = {"format": f"v{magic}", "compression": codec, "base_offset": offset}
    return bytes(ls.encode(pa.table({"value": values}), **options))


def _content(rng: random.Random, magic: int, offset: int) -> bytes:
    """Return the content of a record: bytes, or entries of another log."""
    if rng.random() < 0.4:
        return rng.randbytes(rng.choice([0, 10, 200]))
    base = rng.choice([0, offset - 1, offset + 1, offset + 10, 5_000, 1 << 40, 1 << 62])
    found = b""
    for number in range(rng.choice([1, 1, 2, 3])):
        at = max(base, 0) + number
        found += message(STORED, magic=magic, offset=at) if magic < 2 and rng.random() < 0.7 else simple_batch([STORED], at)
    return found + rng.choice([b"", b"", b"after"])


def damaged(rng: random.Random, log: StoredLog) -> bytes:
    """Return the bytes of a log with one to three damages."""
    data = bytearray(log.data)
    spans = log.spans()
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        start, end = rng.choice(spans)
        kind = rng.choice(["header", "body", "zero", "cut", "copy", "swap", "twice"])
        if kind == "header":
            _flip(data, start + rng.randrange(min(26, end - start)), rng)
        elif kind == "body":
            _flip(data, rng.randrange(start, end), rng)
        elif kind == "zero":
            at = rng.randrange(len(data) or 1)
            stop = min(at + rng.choice([1, 4, 16, 100]), len(data))
            data[at:stop] = bytes(stop - at)
        elif kind == "cut":
            at = rng.randrange(len(data) or 1)
            del data[at : at + rng.choice([1, 4, 50, len(data)])]
        elif kind == "copy":
            data[end:end] = data[start:end]
        elif kind == "twice":
            # Two damaged entries in a row: the length of the first leads to the second.
            _flip(data, end - 1, rng)
            _flip(data, end + 30, rng)
        else:
            other, stop = rng.choice(spans)
            data = bytearray(bytes(data[:start]) + log.data[other:stop] + bytes(data[end:]))
    return bytes(data)


def _flip(data: bytearray, at: int, rng: random.Random) -> None:
    if at < len(data):
        data[at] ^= 1 << rng.randrange(8)
