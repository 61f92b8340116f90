"""Where a log goes on: a partition directory goes in, here or in a store, the offset behind its last record comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from logsegment._core import RecordBatchError, SegmentIndex, segment_end
from logsegment._errors import in_file
from logsegment.log.reader import ensure_named
from logsegment.segment_files.discovery import SegmentFile, find_segments, size_of
from logsegment.stores.uri import is_stored, shown


class LogEnd(NamedTuple):
    """The first offset that is free, and whether the last segment is empty, so that the next one takes its name."""

    offset: int
    is_last_empty: bool


def log_end(directory: str, *, is_07: bool, by_index: bool = False) -> LogEnd:
    """Find the end of a log; of none it is 0. With `by_index` only what the index leads to is read of a file here, as always in a store.

    Raises:
        ValueError: when the log is of the other kind, or its tail is torn.
        RecordBatchError: when its last segment cannot be read, or a segment contradicts its name.
        OSError: when it cannot be opened.
    """
    segments = [one for one in _segments(directory) if one.base_offset is not None]
    if not segments:
        return LogEnd(0, False)
    _ensure_same_kind(segments, is_07)
    ensure_named(segments)
    last = segments[-1]
    base = last.base_offset or 0
    if is_07:
        size = size_of(last)
        return LogEnd(base + size, size == 0)
    try:
        end, valid, size = _indexed_end(last, base) if by_index or is_stored(last.path) else segment_end(last.path, base)
    except RecordBatchError as error:
        raise in_file(error, last.path) from None
    if valid != size:
        told = f"the log ends inside an entry at byte {valid} of {size}; cut it there, or salvage it, before more is written"
        raise ValueError(f"{shown(last.path)}: {told}")
    return LogEnd(end, size == 0)


def _indexed_end(segment: SegmentFile, base: int) -> tuple[int, int, int]:
    """The same by an index, which leads near to the end, so that the segment is not fetched."""
    size, last = size_of(segment), SegmentIndex(segment.path, base).last_batch()
    if last is None:
        return base, 0, size
    position, length, last_offset = last
    return last_offset + 1, position + length, size


def _segments(directory: str) -> list[SegmentFile]:
    try:
        return [one for one in find_segments(directory) if one.directory[:] == directory[:]]
    except FileNotFoundError:
        return []


def _ensure_same_kind(segments: Sequence[SegmentFile], is_07: bool) -> None:
    """Positions of Kafka 0.7 and offsets of later versions cannot go on in each other."""
    for one in segments:
        if one.path.endswith(".kafka") != is_07:
            kinds = ("a log of Kafka 0.8 or later", "a log of Kafka 0.7")
            raise ValueError(f"{shown(one.path)} belongs to {kinds[not is_07]}; option format says {kinds[is_07]}")
