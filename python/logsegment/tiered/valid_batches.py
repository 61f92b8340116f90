"""The valid batches of a log: the header of a batch with a wrong checksum may claim any offset and any length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from logsegment._core import FileSource, RecordBatchError, SegmentIndex
from logsegment._core import valid_batches as core_valid_batches
from logsegment._options import ReadOptions

#: A log without an index is read whole up to this size; of a larger one only the headers are read.
_MAX_WHOLE = 1 << 20


class ValidBatch(NamedTuple):
    """A valid batch: its position and its offsets."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class SegmentEnd(NamedTuple):
    """The end of a log.

    No checksum of Kafka's covers the base offset of a batch. If the last batch follows a batch of far smaller offsets, damage may have
    changed its base offset.

    Attributes:
        offset: the last offset of the last valid batch.
        certain: the same; if the last batch skips offsets, the last offset before those.
        last_base_offset: the base offset of the last batch.
    """

    offset: int
    certain: int
    last_base_offset: int


def valid_batches(source: Any, *, check_crc: bool = True, resolve: bool = False, batch_size: int = 65536) -> Iterator[ValidBatch]:
    """Yield the valid batches of a source; skip damage.

    Args:
        source: a `FileSource` or a file object.
        check_crc: compare checksums.
        resolve: decompress wrapper messages for their base offset; without it their last offset stands in for it.
        batch_size: rows that are read at once.

    Raises:
        OSError: if the source cannot be read.
    """
    options = ReadOptions(on_error="skip", unreadable="skip", check_crc=check_crc, resolve=resolve, batch_size=batch_size)
    with core_valid_batches(source, options) as batches:
        for one in batches:
            first = one.last_offset if one.base_offset is None else one.base_offset
            yield ValidBatch(one.position, one.size, first, one.last_offset)


def first_reaching(path: str, base_offset: int, offset: int) -> ValidBatch | None:
    """Return the first valid batch with a last offset at or after an offset; None if there is none.

    Args:
        path: path or URI of the log.
        base_offset: its first offset.
        offset: the offset.

    Raises:
        OSError: if the log cannot be read.
    """
    index = SegmentIndex(path, base_offset)
    try:
        position, found, _ = index.find_offset(offset)
    except RecordBatchError:
        # Damage before the offset. Reading reports it; the valid batches after it still have offsets.
        found = None
    if found is not None and (batch := _batch_at(path, position, found[0])) is not None:
        return batch
    first, _ = index.valid_range(offset, None)
    return next((batch for batch in valid_batches(FileSource(path, first)) if batch.last_offset >= offset), None)


def valid_end(path: str, base_offset: int) -> SegmentEnd | None:
    """Return the end of the valid batches of a log; None if no batch is valid.

    Args:
        path: path or URI of the log.
        base_offset: its first offset.

    Raises:
        OSError: if the log cannot be read.
    """
    index = SegmentIndex(path, base_offset)
    entries = index.offset_index()
    # From the last but one index entry on, so that the batch before the last one is read as well.
    first, _ = index.valid_range(entries[-1][0], None) if entries else (0, None)
    if not entries:
        try:
            last = index.last_batch()
        except RecordBatchError:
            last = None
        if last is not None and last[0] > _MAX_WHOLE and (batch := _batch_at(path, *last[:2])) is not None:
            return SegmentEnd(batch.last_offset, batch.last_offset, batch.base_offset)
    tail: list[ValidBatch] = []
    for batch in valid_batches(FileSource(path, first)):
        tail = [*tail[-1:], batch]
    if not tail:
        return None
    is_jump = any(one.position + one.size == other.position and one.last_offset + 1 < other.base_offset for one, other in pairwise(tail))
    return SegmentEnd(tail[-1].last_offset, tail[0].last_offset if is_jump else tail[-1].last_offset, tail[-1].base_offset)


def _batch_at(path: str, position: int, size: int) -> ValidBatch | None:
    found = valid_batches(FileSource(path, position, position + size))
    return next((batch for batch in found if batch.position == position), None)
