"""Reads a range of offsets of a partition in a worker process, while a broker rolls, compacts and deletes its segments.

A file that is gone, or was replaced while its bytes were looked up, is looked for again. Once it is open it is read to
the end of the range, deleted or not.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from logsegment._core import FileSource, RecordBatchError, RecordStream, Transactions
from logsegment._decode import decode
from logsegment._errors import in_file
from logsegment._options import ReadOptions
from logsegment.log.neighbours import committed_transactions
from logsegment.log.reader import lower_bounded, with_followers
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.options.modes import CorruptColumn
from logsegment.spark.options.stream import StreamOptions
from logsegment.spark.read.damage import Share, told_by
from logsegment.spark.read.task_stats import TaskStats
from logsegment.spark.stream.ends import base_of
from logsegment.spark.stream.plan import RangePart, report_loss
from logsegment.spark.stream.segments import byte_range, intact_range, settled_segments, version_of
from logsegment.stores.listing import is_directory
from logsegment.stores.uri import shown

if TYPE_CHECKING:
    import pyarrow as pa

#: How often a segment may vanish under our hands before that is an error.
ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Opened:
    """Records of a segment.

    Attributes:
        segment: the file.
        source: its bytes that are read.
        share: the offsets.
        stream: the records.
    """

    segment: SegmentFile
    source: FileSource
    share: Share
    stream: RecordStream


def read_range(
    part: RangePart, options: StreamOptions, columns: Sequence[str], corrupt: CorruptColumn, stats: TaskStats
) -> Iterator[pa.RecordBatch]:
    """The records of a part of a task.

    Args:
        part: which.
        options: of the query.
        columns: names of record columns.
        corrupt: where the column of damage stands.
        stats: of the task.

    Raises:
        DataLossError: when offsets are gone, unless the query is to go on.
        RecordBatchError: when bytes are bad.
        OSError: when a file cannot be read.
    """
    decoding: dict[str, Any] = {
        "columns": columns,
        "isolation": options.isolation,
        "transactions": _transactions(part, experimental=options.experimental) if options.isolation == "read_committed" else None,
        "topic": part.name.topic,
        "partition": part.name.partition,
        "batch_size": options.batch_size,
        "batch_bytes": options.batch_bytes,
        "experimental": options.experimental,
        "null_headers": True,
        "on_error": options.mode.on_error,
        "codecs": options.codecs,
        "limits": options.limits,
    }
    reading = _Reading(part, decoding, fails=options.fails_on_data_loss)
    while (opened := reading.open_next()) is not None:
        path = shown(opened.segment.path)
        place = {"path": path, "topic": part.name.topic, "partition": part.name.partition}
        told = partial(told_by, source=opened.source, share=opened.share, limits=options.limits, experimental=options.experimental)
        try:
            with stats.counting(opened.stream, path, *part.name) as stream:
                yield from corrupt.batches(stream, place, choose=told)
        except RecordBatchError as error:
            raise in_file(error, path) from None


class _Reading:
    """The place in a part, and the segments as they were listed last: a listing is made again when it turns out to be old."""

    def __init__(self, part: RangePart, decoding: dict[str, Any], *, fails: bool) -> None:
        self._part = part
        self._decoding = decoding
        self._fails = fails
        self._at = part.start
        self._segments: list[SegmentFile] | None = None
        self._waiting: list[tuple[SegmentFile, int | None]] = []

    def open_next(self) -> Opened | None:
        """Open the records of the next segment; None at the end."""
        attempts = 0
        while self._waiting or self._at < self._part.end:
            opened = None
            try:
                if not self._waiting:
                    self._waiting = self._holding(self._listed())
                if self._waiting:
                    opened = self._open(*self._waiting[0])
                    del self._waiting[0]
            except FileNotFoundError as error:
                attempts, self._segments, self._waiting = attempts + 1, None, []
                if attempts == ATTEMPTS:
                    self._ensure_replaced(error)
            if not self._waiting and opened is not None:
                self._at = opened.share.end or self._part.end
            if opened is not None:
                return opened
        return None

    def _listed(self) -> list[SegmentFile]:
        if self._segments is None:
            self._segments = settled_segments(self._part.segment, reports=self._decoding["on_error"] == "skip")
        return self._segments

    def _holding(self, segments: list[SegmentFile]) -> list[tuple[SegmentFile, int | None]]:
        """Return the segments that hold the next offsets, each with the end of these offsets; None for that of the last segment.

        There is one, unless a segment contradicts its name: then another one may have the same offsets by its name.
        """
        first = base_of(segments[0]) if segments else self._part.end
        if first > self._at:
            behind = min(first, self._part.end)
            report_loss(f"{self._part.name}: offsets {self._at} to {behind - 1} were deleted before they were read", fails=self._fails)
            self._at = behind
        there = list(with_followers(segments, self._at, self._part.end))
        if not there:
            self._at = self._part.end
            return []
        begun = [(one, follower) for one, follower in there if base_of(one) <= self._at] or there[:1]
        later = [base_of(one) for one, _ in there if base_of(one) > max(self._at, base_of(begun[-1][0]))]
        ends = [follower for _, follower in begun if follower is not None]
        is_last = begun[-1][0] is segments[-1]
        end = min([*ends, *later], default=None if is_last else self._part.end)
        return [(segment, end) for segment, _ in begun]

    def _open(self, segment: SegmentFile, follower: int | None) -> Opened:
        end = self._part.end if follower is None else min(follower, self._part.end)
        source, stream, is_whole = _opened(segment, self._at, end, self._decoding)
        if follower is None and not is_whole:
            report_loss(f"{self._part.name} was cut off before offset {end - 1}, which was there before", fails=self._fails)
        return Opened(segment, source, Share(base_of(segment), self._at, end, self._part.resumes), stream)

    def _ensure_replaced(self, error: FileNotFoundError) -> None:
        """Fail, or leave the rest out, when the segment did not come back."""
        if is_directory(self._part.segment.directory):
            raise error
        report_loss(f"{self._part.name} is gone, and with it offsets {self._at} to {self._part.end - 1}", fails=self._fails)
        self._at = self._part.end


def _transactions(part: RangePart, *, experimental: bool) -> Transactions:
    """What a committed read must know; all transactions that began before the last stable offset have ended."""
    for attempt in range(ATTEMPTS):
        try:
            read = ReadOptions(start_offset=part.start, end_offset=part.end, experimental=experimental)
            return committed_transactions(settled_segments(part.segment), read)
        except FileNotFoundError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _opened(segment: SegmentFile, start: int, end: int, decoding: dict[str, Any]) -> tuple[FileSource, RecordStream, bool]:
    """The bytes that are read, the records, and whether the segment goes on to `end`.

    Raises:
        FileNotFoundError: when the file is gone, or was replaced while its bytes were looked up.
    """
    before = version_of(segment)
    look_up = intact_range if decoding["on_error"] == "skip" else byte_range
    try:
        first, last, is_whole = look_up(segment, start, end)
    except RecordBatchError:
        # A decode says more of what is wrong, and gives the records before it.
        first, last, is_whole = 0, None, True
    source = lower_bounded(segment).source(first, last)
    stream = decode(source, start_offset=start, end_offset=end, **decoding)
    if version_of(segment) != before:
        stream.close()
        raise FileNotFoundError(errno.ENOENT, "the segment was replaced while it was opened", shown(segment.path))
    return source, stream, is_whole
