"""Arrays of views are valid by Arrow's own rules, whatever was skipped or cut, and chunks of them are few where values are large."""

from __future__ import annotations

import pyarrow as pa
import pytest

import building
import corpus
import hostile
import logsegment as ls

COLUMNS = ["key", "value", "headers", "offset"]


def ensure_valid(stream: ls.RecordStream) -> int:
    """Check every bound and prefix of every view, as pyarrow does; return the rows."""
    rows = 0
    for batch in stream:
        taken = pa.record_batch(batch)
        taken.validate(full=True)
        rows += taken.num_rows
    return rows


@pytest.mark.parametrize("batch_size", [3, 65536])
def test_views_of_the_corpus_are_valid(batch_size: int):
    rows = 0
    for case in corpus.cases():
        options = {"columns": COLUMNS, "binary": "binary_view", "batch_size": batch_size, "control": True}
        rows += ensure_valid(ls.decode(case.read(), **case.options, **options))
    assert rows > 10_000


def test_views_past_damage_are_valid():
    """Rows of a batch that turns out to be bad are taken back, and the buffers that they pointed into stay."""
    rows = 0
    for case in hostile.cases():
        if not case.is_bomb:
            options = {"columns": COLUMNS, "binary": "binary_view", "on_error": "skip", "check_crc": False}
            try:
                rows += ensure_valid(ls.decode(case.read(), **{**case.options, **options}))
            except ls.RecordBatchError:
                continue
    assert rows > 100


@pytest.mark.parametrize(("length", "most"), [(100, 1 << 20), (4096, 16 << 20)])
def test_chunks_of_large_views_hold_more_bytes(length: int, most: int):
    """By default a chunk of uncompressed 4 KiB values holds some 11 MiB of them, one of small values about 1 MiB."""
    batch = building.simple_batch([bytes([65 + index % 26]) * length for index in range(100)])
    data = batch * ((24 << 20) // len(batch))
    sizes = [part.num_rows * length for part in ls.decode(data, columns=["value"], binary="binary_view")]
    assert most // 2 < max(sizes) < most
    assert sum(sizes) == 100 * length * ((24 << 20) // len(batch))


def test_chunks_of_decompressed_views_hold_what_was_asked():
    """Those are held by the array, so they count in full."""
    rows = pa.record_batch({"value": pa.array([b"x" * 4000] * 2000, pa.binary())})
    data = ls.encode(rows, compression="lz4")
    sizes = [part.num_rows * 4000 for part in ls.decode(data, columns=["value"], binary="binary_view")]
    assert max(sizes) < 2 << 20
    assert sum(sizes) == 2000 * 4000
