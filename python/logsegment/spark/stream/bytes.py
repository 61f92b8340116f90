"""Bytes of segments for offsets, and offsets for bytes, so that a micro-batch can be limited by what it reads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from logsegment._core import FileSource, SegmentIndex
from logsegment._decode import batch_stream, batches
from logsegment.log.reader import with_followers
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.stream.ends import base_of
from logsegment.spark.stream.segments import byte_range

#: A piece of a segment: its first byte, the byte behind it, and the offset behind it.
Piece = tuple[SegmentFile, int, int, int]


def pieces(segments: Sequence[SegmentFile], start: int, end: int) -> list[Piece]:
    """Where the batches from offset `start` to before `end` lie.

    Raises:
        FileNotFoundError: when a segment is gone.
        RecordBatchError: when headers cannot be read.
    """
    found = []
    for segment, follower in with_followers(segments, start, end):
        behind = end if follower is None else min(follower, end)
        first, last, _ = byte_range(segment, start, behind)
        found.append((segment, first, last, behind))
    return found


def size_of(found: Sequence[Piece]) -> int:
    """Bytes of the pieces."""
    return sum(last - first for _, first, last, _ in found)


def offset_within(found: Sequence[Piece], budget: int) -> int | None:
    """The offset behind the last batch that ends within so many bytes; behind the first one when that is larger. None without batches.

    Raises:
        FileNotFoundError: when a segment is gone.
        RecordBatchError: when headers cannot be read.
    """
    reached, taken = None, 0
    for segment, first, last, behind in found:
        if taken + last - first <= budget:
            reached, taken = behind, taken + last - first
            continue
        inside = _last_within(segment, first, last, budget - taken)
        if inside is None and taken == 0:
            inside = _first_batch(segment, first, last)
        return reached if inside is None else inside
    return reached


def _last_within(segment: SegmentFile, first: int, last: int, budget: int) -> int | None:
    """The offset behind the last batch that ends at most `budget` bytes behind `first`: the index leads near it, headers to it."""
    index = SegmentIndex(segment.path, base_of(segment))
    entries = index.offset_index()
    at = bisect_right([position for _, position in entries], first + budget) - 1
    start = first
    if at >= 0:
        position = index.find_offset(entries[at][0])[0]
        start = position if first < position <= first + budget else first
    rows = _headers(segment, start, min(last, first + budget))
    if rows:
        return int(rows[-1]["lastOffset"]) + 1
    if start == first:
        return None
    # The batch to which the index led does not fit: the one before it does.
    return _offset_at(segment, start)


def _first_batch(segment: SegmentFile, first: int, last: int) -> int | None:
    for rows in batch_stream(FileSource(segment.path, first, last), check_crc=False, batch_size=1):
        return int(rows.to_pyarrow()["lastOffset"][0].as_py()) + 1
    return None


def _offset_at(segment: SegmentFile, position: int) -> int:
    """The first offset of the batch at `position`."""
    for rows in batch_stream(FileSource(segment.path, position), check_crc=False, batch_size=1):
        row = rows.to_pyarrow().slice(0, 1).to_pylist()[0]
        return int(row["lastOffset"] if row["baseOffset"] is None else row["baseOffset"])
    raise FileNotFoundError(segment.path)


def _headers(segment: SegmentFile, start: int, end: int) -> list[dict[str, int]]:
    return batches(FileSource(segment.path, start, end), check_crc=False).to_pylist() if end > start else []
