"""Reads a range of offsets of a partition in a worker process, while a broker rolls, compacts and deletes its segments.

If a file is gone, or was replaced while its bytes were looked up, the segments are listed again. An open file is read to the end of the
range, even if it is deleted meanwhile.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from logsegment._core import FileSource, Place, RecordBatchError, RecordStream, SegmentFile, Transactions
from logsegment._decode import decoded
from logsegment._places import redacted_uri
from logsegment.partition.reader import PartitionReader, committed_transactions, lower_bounded
from logsegment.spark.options.read import StreamOptions
from logsegment.spark.read.bounds import base_of
from logsegment.spark.read.damage import CorruptColumn, Share, failed, reported_by
from logsegment.spark.read.decoding import Columns
from logsegment.spark.read.task_stats import TaskStats
from logsegment.spark.stream.partitions import ATTEMPTS, settled_segments, version_of
from logsegment.spark.stream.plan import RangePart, report_loss

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class OpenedSegment:
    """Records of a segment.

    Attributes:
        segment: the file.
        source: the bytes that are read.
        share: the offsets.
        stream: the records.
    """

    segment: SegmentFile
    source: FileSource
    share: Share
    stream: RecordStream


def read_range(
    part: RangePart, options: StreamOptions, columns: Columns, corrupt: CorruptColumn, stats: TaskStats
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a part of a task.

    Args:
        part: of the task.
        options: of the query.
        columns: of the query.
        corrupt: the corrupt column.
        stats: of the task.

    Raises:
        DataLossError: if offsets are gone, unless the query goes on without them.
        RecordBatchError: if bytes are invalid.
        OSError: if a file cannot be read.
    """
    for opened in _RangeReader(part, options, columns.decoded).segments():
        path = redacted_uri(opened.segment.path)
        place = {"path": path, **part.name._asdict()}
        choose = partial(reported_by, source=opened.source, share=opened.share, options=options)
        try:
            with stats.counting(opened.stream, place) as stream:
                yield from corrupt.batches(stream, place, shape=columns.shape, choose=choose)
        except RecordBatchError as error:
            raise failed(error, options, path) from None


class _RangeReader:
    """Opens the segments of a part one after the other, and lists them again if the listing turns out to be old."""

    def __init__(self, part: RangePart, options: StreamOptions, columns: Sequence[str]) -> None:
        self._part = part
        self._fails = options.fails_on_data_loss
        name = part.name
        read = replace(options.read, columns=columns, topic=name.topic, partition=name.partition)
        is_committed = read.isolation == "read_committed"
        self._options = replace(read, transactions=_transactions(part, options) if is_committed else None)
        self._at = part.start

    def segments(self) -> Iterator[OpenedSegment]:
        """Open each segment that holds offsets of the part."""
        attempts = 0
        while self._at < self._part.end:
            try:
                listed = settled_segments(self._part.segment, reports=self._options.skips_damage)
                self._ensure_begun(listed)
                start, end = self._at, self._part.end
                reader = PartitionReader.of(listed, self._options.sharing(start, end))
                # Segments that contradict their names may have the same offsets as others.
                holders = [segment.file for segment, _ in reader.at(end - 1).wanted()]
                for segment, follower in reader.wanted():
                    is_last = follower is None and holders == [segment.file] == listed[-1:]
                    opened = self._open(segment.file, start, end if follower is None else min(follower, end), is_last=is_last)
                    attempts, self._at = 0, opened.share.end or end
                    yield opened
                self._at = self._part.end
            except FileNotFoundError as error:
                attempts += 1
                if attempts == ATTEMPTS:
                    self._ensure_replaced(error)

    def _ensure_begun(self, segments: Sequence[SegmentFile]) -> None:
        """Report the next offsets as lost if no segment has them any more."""
        first = min(base_of(segments[0]), self._part.end) if segments else self._part.end
        if first > self._at:
            report_loss(f"{self._part.name}: offsets {self._at} to {first - 1} were deleted before they were read", fails=self._fails)
            self._at = first

    def _open(self, segment: SegmentFile, start: int, end: int, *, is_last: bool) -> OpenedSegment:
        before = version_of(segment)
        reader = PartitionReader.of([lower_bounded(segment)], self._options.sharing(start, end))
        part = reader.part()
        # With damage skipped, the batch at `end` may be damaged. The next trigger sees a log that was cut.
        is_known = not is_last or self._options.skips_damage or part[0].end is not None
        is_whole = is_known or reader.segments[0].end_before(end, past_damage=False) is None
        stream = decoded(*part)
        if version_of(segment) != before:
            stream.close()
            raise FileNotFoundError(errno.ENOENT, "the segment was replaced while it was opened", redacted_uri(segment.path))
        if not is_whole:
            report_loss(f"{self._part.name} was truncated before offset {end - 1}, which was read before", fails=self._fails)
        return OpenedSegment(segment, part[0], Share(base_of(segment), start, end, self._part.resumes), stream)

    def _ensure_replaced(self, error: FileNotFoundError) -> None:
        """Raise the error of a segment that did not come back, or report the loss of the partition."""
        if Place(self._part.segment.directory).is_directory():
            raise error
        report_loss(f"{self._part.name} was deleted, with offsets {self._at} to {self._part.end - 1}", fails=self._fails)
        self._at = self._part.end


def _transactions(part: RangePart, options: StreamOptions) -> Transactions:
    """Return the transactions of a committed read; all that began before the last stable offset have ended."""
    read = replace(options.read, start_offset=part.start, end_offset=part.end)
    for attempt in range(ATTEMPTS):
        try:
            return committed_transactions(settled_segments(part.segment), read)
        except FileNotFoundError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")
