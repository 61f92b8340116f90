"""Segments of a log that is written: what tasks staged, where the log ends, and staged files as segments after that."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from logsegment._core import RecordBatchError, SegmentFile, SegmentLookup, place_staged, segment_end
from logsegment._errors import in_file
from logsegment._log_paths import is_of_0_7
from logsegment._places import is_stored, redacted_uri
from logsegment.partition.reader import ensure_named
from logsegment.segment_files.discovery import find_segments
from logsegment.spark.write.options import WriteOptions


@dataclass(frozen=True)
class StagedPart:
    """A staged file: the records of one task for one partition, whose offsets count from 0."""

    topic: str
    partition: int
    path: str
    records: int
    bytes: int

    @property
    def log(self) -> str:
        """Return the name of the directory of the partition."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class StoredPart(StagedPart):
    """Segments of one task for one partition, below `path`, with their offsets in the log.

    Attributes:
        base_offset: log end offset when the task looked.
        files: names, in the order in which they become visible.
    """

    base_offset: int
    files: tuple[str, ...]


class AppendPoint(NamedTuple):
    """The log end offset of a log that can be continued, and True if the last segment is empty, so that the next one takes its name."""

    offset: int
    is_last_empty: bool


def append_point(directory: str, *, is_07: bool, by_index: bool = False) -> AppendPoint:
    """Find where a write continues a log, 0 if there is none; refuse a log that cannot be continued.

    Args:
        directory: of the partition, here or in a store.
        is_07: the log is of Kafka 0.7.
        by_index: read only the end of the last segment, to which its index leads, as always in a store.

    Raises:
        ValueError: if the log is of the other kind, or its tail is torn.
        RecordBatchError: if its last segment cannot be read, or a segment contradicts its name.
        OSError: if it cannot be opened.
    """
    named = [segment for segment in _segments(directory) if segment.base_offset is not None]
    if not named:
        return AppendPoint(0, False)
    _ensure_same_kind(named, is_07)
    last = SegmentLookup(ensure_named(named)[-1])
    base = last.base_offset or 0
    if is_07:
        return AppendPoint(base + last.size, last.size == 0)
    try:
        # The index leads to the end, so that the segment is not fetched.
        end, valid, size = (*last.end(), last.size) if by_index or is_stored(last.path) else segment_end(last.path, base)
    except RecordBatchError as error:
        raise in_file(error, last.path) from None
    if valid != size:
        text = f"the log ends inside an entry at byte {valid} of {size}; truncate it there, or salvage it, before you append"
        raise ValueError(f"{redacted_uri(last.path)}: {text}")
    return AppendPoint(base if end is None else end, size == 0)


def _segments(directory: str) -> list[SegmentFile]:
    try:
        return [segment for segment in find_segments(directory) if segment.directory[:] == directory[:]]
    except FileNotFoundError:
        return []


def _ensure_same_kind(segments: Sequence[SegmentFile], is_07: bool) -> None:
    """Refuse to continue positions of Kafka 0.7 with offsets of later versions, and the other way round."""
    for segment in segments:
        if is_of_0_7(segment.path) != is_07:
            kinds = ("a log of Kafka 0.8 or later", "a log of Kafka 0.7")
            raise ValueError(f"{redacted_uri(segment.path)} belongs to {kinds[not is_07]}, and option format asks for {kinds[is_07]}")


#: Base offset of a segment, and the names of its files: that of the log is the last.
Made = list[tuple[int, list[str]]]


def make_segments(options: WriteOptions, staged: Sequence[tuple[str, StagedPart]], directory: str, base_offset: int) -> Made:
    """Write the entries of staged files as segments, in order.

    Args:
        options: of the write.
        staged: path of each file, and its part.
        directory: for the segments; it is made.
        base_offset: offset of the first record; of Kafka 0.7 the position of the first byte.

    Raises:
        FileNotFoundError: if a staged file is not here.
        ValueError: if its records are not all there.
        RecordBatchError, OSError: if a file cannot be read or written.
    """
    os.makedirs(directory)
    for path, _ in staged:
        if not os.path.exists(path):
            text = "staged segments are missing: the path must be the same directory on the driver and on all executors"
            raise FileNotFoundError(errno.ENOENT, text, path)
    files = [(path, part.bytes) for path, part in staged]
    segments, end = place_staged(
        files, directory, base_offset, format=options.encode.format, level=options.encode.level, segment_bytes=options.segment_bytes
    )
    expected = sum(part.bytes if options.is_07 else part.records for _, part in staged)
    if end != base_offset + expected:
        raise ValueError(f"{directory}: {end - base_offset} of {expected} staged records were found; nothing was committed")
    return segments
