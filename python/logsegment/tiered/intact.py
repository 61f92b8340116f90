"""What the intact batches of a log tell about its offsets: a header whose checksum is not right may claim any, and any length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from logsegment._core import FileSource, RecordBatchError, SegmentIndex
from logsegment._decode import batch_stream

_FIELDS = [(name, name) for name in ("position", "size", "baseOffset", "lastOffset", "isValid")]
#: Bytes of a log without an index that are read for its end; of a larger one the headers are.
_MOST_WHOLE = 1 << 20


class Batch(NamedTuple):
    """An intact batch: where it stands, and its offsets."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class End(NamedTuple):
    """Where a log ends.

    No checksum of Kafka's covers the base offset of a batch: where the last one stands right behind one of far smaller offsets, it may be
    damage that put it there.

    Attributes:
        offset: the last one of its last intact batch.
        sure: the same; where the last batch leaves out offsets, the last one before those.
        jump: the base offset of the last batch.
    """

    offset: int
    sure: int
    jump: int


def intact_batches(uri: str, begin: int = 0, end: int | None = None) -> Iterator[Batch]:
    """The intact batches between two positions.

    Args:
        uri: of the log.
        begin: where a batch begins.
        end: behind the last byte; None for the end of the log.

    Raises:
        OSError: when it cannot be read.
    """
    with batch_stream(FileSource(uri, begin, end), on_error="skip") as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["isValid"] is not False:
                    yield Batch(row["position"], row["size"], row["baseOffset"], row["lastOffset"])


def first_reaching(uri: str, base_offset: int, offset: int) -> Batch | None:
    """The first intact batch that ends at or behind an offset; None when there is none.

    Args:
        uri: of the log.
        base_offset: its first offset.
        offset: the offset.

    Raises:
        OSError: when it cannot be read.
    """
    index = SegmentIndex(uri, base_offset)
    try:
        position, found, _ = index.find_offset(offset)
    except RecordBatchError:
        # Damage on the way: what is intact behind it tells as well, and reading will tell of the damage.
        found = None
    if found is not None and (batch := _batch_at(uri, position, found[0])) is not None:
        return batch
    first, _ = index.intact_range(offset, None)
    return next((batch for batch in intact_batches(uri, first) if batch.last_offset >= offset), None)


def end_of(uri: str, base_offset: int) -> End | None:
    """Where a log ends; None when nothing in it is intact.

    Args:
        uri: of the log.
        base_offset: its first offset.

    Raises:
        OSError: when it cannot be read.
    """
    index = SegmentIndex(uri, base_offset)
    entries = index.offset_index()
    # The entry in front of the last one: what stands before the last batch is looked at as well.
    first, _ = index.intact_range(entries[-1][0], None) if entries else (0, None)
    if not entries:
        try:
            last = index.last_batch()
        except RecordBatchError:
            last = None
        if last is not None and last[0] > _MOST_WHOLE and (batch := _batch_at(uri, *last[:2])) is not None:
            return End(batch.last_offset, batch.last_offset, batch.base_offset)
    tail: list[Batch] = []
    for batch in intact_batches(uri, first):
        tail = [*tail[-1:], batch]
    return _end(tail) if tail else None


def _end(tail: list[Batch]) -> End:
    last = tail[-1]
    is_jump = any(one.position + one.size == other.position and one.last_offset + 1 < other.base_offset for one, other in pairwise(tail))
    return End(last.last_offset, tail[0].last_offset if is_jump else last.last_offset, last.base_offset)


def _batch_at(uri: str, position: int, size: int) -> Batch | None:
    return next((batch for batch in intact_batches(uri, position, position + size) if batch.position == position), None)
