"""Damage to valid segments, and what must hold of whatever comes out: for the property tests.

`seed` is the front of a real segment, `contents` what `decode` gives of some bytes, batch by batch, `verdicts` how `decode` and
`validate` judge them. Nothing here knows a rule of the format.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import building
import corpus
import hostile
import logsegment as ls

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
#: Everything of a record that damage must not change. `offsetDelta` is put in by `content_of`.
COLUMNS = ["entryPosition", "batchBaseOffset", "offset", "timestampMs", "timestampType", "key", "value", "headersRaw", "attributes"]
COLUMNS += ["producerId", "sequence", "controlType", "compression"]
BATCHES = 3
#: Cases that are tried of each property. `make check` sets 50; set PROPERTY_EXAMPLES for a longer search.
EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "500"))
LIMITS = ls.Limits(max_decompressed_bytes=8 << 20, max_records=100_000)

search = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
#: Of properties whose cases take tenths of a second.
long_search = settings(search, max_examples=max(EXAMPLES // 5, 10))
codecs = st.sampled_from(CODECS)
positions = st.floats(0, 1, exclude_max=True)
per_codec = pytest.mark.parametrize("codec", CODECS)

Batch = tuple[int, int]
Content = tuple[tuple[object, ...], ...]


@cache
def seed(codec: str) -> tuple[bytes, list[Batch]]:
    """The first batches of a real segment, and where each one lies."""
    data = (corpus.CORPUS / f"modern-4.1.0/data/codec-{codec}-0/00000000000000000000.log").read_bytes()
    rows = corpus.rows_of(ls.batches(data), ["position", "size"])[:BATCHES]
    spans = [(row["position"], row["position"] + row["size"]) for row in rows]
    return data[: spans[-1][1]], spans


@cache
def originals(codec: str) -> list[Content]:
    """The content of each batch before any damage."""
    data, spans = seed(codec)
    found = contents(data)
    assert list(found) == [start for start, _ in spans]
    return list(found.values())


def contents(data: bytes, **options: object) -> dict[int, Content]:
    """Batches that come out before the stream ends, well or with an error: position -> content."""
    stream = ls.decode(data, columns=COLUMNS, control=True, limits=LIMITS, **options)
    batches: dict[int, list[tuple[object, ...]]] = {}
    try:
        for part in stream:
            for row in corpus.rows_of(part):
                batches.setdefault(row["entryPosition"], []).append(content_of(row))
    except ls.InternalError:
        raise
    except ls.RecordBatchError:
        pass
    return {position: tuple(rows) for position, rows in batches.items()}


def content_of(row: corpus.Row) -> tuple[object, ...]:
    """A record without what only places it: its offset counts from the batch."""
    placed = row.pop("entryPosition"), row.pop("batchBaseOffset")
    return (row.pop("offset") - placed[1], *(tuple(value) if isinstance(value, list) else value for value in row.values()))


def verdicts(data: bytes, **options: object) -> tuple[ls.RecordBatchError | None, ls.Report]:
    """How `decode` ends and what `validate` says; they agree, and skipping never raises."""
    stream = ls.decode(data, columns=["offset"], limits=LIMITS, **options)
    error = None
    try:
        for _ in stream:
            pass
    except ls.RecordBatchError as raised:
        error = raised
    report = ls.validate(data, limits=LIMITS, **options)
    assert report.ok == (error is None), (error, report)
    assert not isinstance(error, ls.InternalError), error
    if "strict_tail" not in options:
        ls.decode(data, columns=["offset"], limits=LIMITS, on_error="skip", unreadable="skip", **options).read_all()
    return error, report


def assert_unchanged(codec: str, damaged: bytes) -> None:
    """What still comes out, comes out as it was: with errors raised and with damage skipped."""
    known = set(originals(codec))
    assert set(contents(damaged).values()) <= known
    assert set(contents(damaged, on_error="skip").values()) <= known


def flipped(data: bytes, at: int, mask: int) -> bytes:
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def place(data: bytes, share: float) -> int:
    return int(share * len(data))


def search_in_bounds(examples: int) -> None:
    """Damage under right and wrong checksums, in bounded memory."""
    chance = random.Random(2)
    ready = [seed(codec) for codec in CODECS]
    hostile.bound_memory(96 << 20)
    for _ in range(examples):
        data, spans = chance.choice(ready)
        batch = bytearray(data[slice(*chance.choice(spans))])
        for _ in range(chance.randint(1, 4)):
            batch[chance.randrange(len(batch))] = chance.choice((0, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        verdicts(building.resealed(bytes(batch)) if chance.random() < 0.8 else bytes(batch))


#: What becomes of a batch of so many bytes, of which so many are left to the end of the file.
HURT: dict[str, Callable[[bytearray, int, int, int], None]] = {
    "magic": lambda data, at, size, left: data.__setitem__(at + 16, 99),
    "checksum": lambda data, at, size, left: data.__setitem__(at + 70, data[at + 70] ^ 1),
    "negative length": lambda data, at, size, left: struct.pack_into(">i", data, at + 8, -5),
    "small length": lambda data, at, size, left: struct.pack_into(">i", data, at + 8, 20),
    "length into the next": lambda data, at, size, left: struct.pack_into(">i", data, at + 8, size + 100),
    "length to the end": lambda data, at, size, left: struct.pack_into(">i", data, at + 8, left - 12),
    "length behind the end": lambda data, at, size, left: struct.pack_into(">i", data, at + 8, left + 100),
    "length over the limit": lambda data, at, size, left: struct.pack_into(">i", data, at + 8, 2**31 - 1),
    "garbage": lambda data, at, size, left: data.__setitem__(slice(at, at + 100), b"\xff" * 100),
    "zeros": lambda data, at, size, left: data.__setitem__(slice(at, at + 100), bytes(100)),
    "begins too late": lambda data, at, size, left: data.__delitem__(slice(at, at + 37)),
}
every_kind = pytest.mark.parametrize("kind", HURT)


def hurt(log: Path, batch: int, kind: str, rows: list[dict[str, Any]]) -> None:
    data = bytearray(log.read_bytes())
    at = rows[batch]["position"]
    HURT[kind](data, at, rows[batch]["size"], len(data) - at)
    log.write_bytes(data)
