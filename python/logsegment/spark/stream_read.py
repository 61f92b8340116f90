"""Reads a range of offsets of a partition in a worker process, while a broker rolls, compacts and deletes its segments.

Segments are listed anew before each one, and a file that another has taken the place of while its bytes were looked up is looked up again.
Once it is open it is read to the end of the range, deleted or not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import logsegment as ls
from logsegment.log import committed_transactions
from logsegment.segments import SegmentFile
from logsegment.spark.errors import located
from logsegment.spark.stream_ends import base_of
from logsegment.spark.stream_options import StreamOptions
from logsegment.spark.stream_plan import RangeTask, report_loss
from logsegment.spark.stream_segments import byte_range, settled_segments

#: How often a segment may vanish under our hands before that is an error.
ATTEMPTS = 10


def read_range(task: RangeTask, options: StreamOptions, columns: Sequence[str]) -> Iterator[ls.ArrowBatch]:
    """The records of a task.

    Args:
        task: which.
        options: of the query.
        columns: names of record columns.

    Raises:
        DataLossError: when offsets are gone, unless the query is to go on.
        RecordBatchError: when bytes are bad.
        OSError: when a file cannot be read.
    """
    at = task.start
    fails = options.fails_on_data_loss
    shared: dict[str, Any] = {
        "columns": columns,
        "isolation": options.isolation,
        "transactions": _transactions(task) if options.isolation == "read_committed" else None,
        "topic": task.name.topic,
        "partition": task.name.partition,
        "batch_size": options.batch_size,
        "batch_bytes": options.batch_bytes,
        "null_headers": True,
    }
    while at < task.end:
        try:
            segment, stream, at = _open(task, at, shared, fails=fails)
        except FileNotFoundError as error:
            if os.path.isdir(task.segment.directory):
                raise
            report_loss(f"{task.name} is gone, and with it offsets {at} to {task.end - 1} ({error})", fails=fails)
            return
        if stream is None:
            continue
        try:
            yield from stream
        except ls.RecordBatchError as error:
            raise located(error, segment.path) from None


def _transactions(task: RangeTask) -> ls.Transactions:
    """What a committed read must know; all transactions that began before the last stable offset have ended."""
    for attempt in range(ATTEMPTS):
        try:
            return committed_transactions(settled_segments(task.segment), task.start, task.end)
        except FileNotFoundError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _open(task: RangeTask, start: int, options: dict[str, Any], *, fails: bool) -> tuple[SegmentFile, ls.RecordStream | None, int]:
    """Open the segment that holds `start`, and tell the offset behind what is read of it."""
    for attempt in range(ATTEMPTS):
        segments = settled_segments(task.segment)
        found = _holding(task, segments, start, fails=fails)
        if found is None:
            return task.segment, None, task.end
        segment, first, follower = found
        end = task.end if follower is None else min(follower, task.end)
        if first >= end:
            return segment, None, end
        try:
            stream, is_whole = _stream(segment, first, end, options)
        except FileNotFoundError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        if stream is not None:
            if follower is None and not is_whole:
                report_loss(f"{task.name} was cut off before offset {task.end - 1}, which was there before", fails=fails)
            return segment, stream, end
    raise FileNotFoundError(f"{task.segment.directory}: the segment of offset {start} was replaced {ATTEMPTS} times while it was opened")


def _holding(task: RangeTask, segments: list[SegmentFile], start: int, *, fails: bool) -> tuple[SegmentFile, int, int | None] | None:
    """The segment that holds an offset or the first one behind it, that offset, and where the next segment begins."""
    if not segments or base_of(segments[0]) >= task.end:
        report_loss(f"{task.name}: offsets {start} to {task.end - 1} were deleted before they were read", fails=fails)
        return None
    at = max((index for index, one in enumerate(segments) if base_of(one) <= start), default=0)
    if base_of(segments[at]) > start:
        lost = base_of(segments[at]) - 1
        report_loss(f"{task.name}: offsets {start} to {lost} were deleted before they were read", fails=fails)
    follower = base_of(segments[at + 1]) if at + 1 < len(segments) else None
    return segments[at], max(start, base_of(segments[at])), follower


def _stream(segment: SegmentFile, start: int, end: int, options: dict[str, Any]) -> tuple[ls.RecordStream | None, bool]:
    """The open stream, None when the file was replaced meanwhile; and whether the segment goes on to `end`."""
    before = os.stat(segment.path)
    try:
        first, last, is_whole = byte_range(segment, start, end)
    except ls.RecordBatchError:
        # A decode says more of what is wrong, and gives the records before it.
        first, last, is_whole = 0, None, True
    stream = ls.decode(ls.FileSource(segment.path, first, last), start_offset=start, end_offset=end, **options)
    after = os.stat(segment.path)
    if (before.st_dev, before.st_ino) == (after.st_dev, after.st_ino):
        return stream, is_whole
    stream.close()
    return None, False
