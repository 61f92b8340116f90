"""Where in each topic-partition a batch query begins and ends: limits and segments go in, offsets come out.

Opens what it must to look a time up, or to know where a log ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import logsegment as ls
from logsegment.segments import SegmentFile
from logsegment.spark.offsets import EARLIEST, LATEST, Edge, OffsetLimit, ensure_assigned
from logsegment.spark.positions import ensure_boundary
from logsegment.spark.stream_ends import Checkpoints, base_of, earliest
from logsegment.spark.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class LogRange:
    """What is read of one topic-partition.

    Attributes:
        name: the topic-partition.
        segments: all of its segments, in order.
        start: first offset; None for the first that is there.
        end: behind the last offset; None for all that is there when it is read.
        looked_up: segments in which a time was looked for: their indexes may have been of no help.
    """

    name: TopicPartition
    segments: Sequence[SegmentFile]
    start: int | None = None
    end: int | None = None
    looked_up: tuple[ls.Segment, ...] = ()


def ranges_of(
    logs: Mapping[TopicPartition, Sequence[SegmentFile]],
    starting: OffsetLimit,
    ending: OffsetLimit,
    *,
    fail_on_data_loss: bool = True,
) -> list[LogRange]:
    """Resolve both limits. Topic-partitions of which nothing is wanted are left out.

    Raises:
        ValueError: when limits do not name what is read, no record is late enough for a starting time, or offsets are not there any more
            (or not yet) and `fail_on_data_loss` is set; else that is a warning.
        RecordBatchError: when bytes on the way to a time cannot be read.

    Source: `KafkaOffsetReaderAdmin` in Spark.
    """
    ensure_assigned(starting, logs, "starting")
    ensure_assigned(ending, logs, "ending")
    checkpoints = Checkpoints()
    ranges = []
    for name, segments in logs.items():
        first = None if segments[0].base_offset is None else earliest(name, segments, checkpoints)
        looked_up: list[ls.Segment] = []
        start = _place(name, segments, starting, "starting", looked_up)
        end = _place(name, segments, ending, "ending", looked_up)
        if start >= 0:
            ensure_boundary(name, segments, start, "starting")
        if end >= 0:
            ensure_boundary(name, segments, end, "ending")
        if first is not None and first > base_of(segments[0]) and (start == EARLIEST or (start >= 0 and starting.offsets is None)):
            # Records that were deleted on request stay in the file until the segment goes.
            start = max(start, first)
        if start == LATEST or (start >= 0 and 0 <= end <= start):
            continue
        one = LogRange(name, segments, None if start < 0 else start, None if end < 0 else end, tuple(looked_up))
        lost = [told for told in (_lost_start(one, first), _never_begun(one), _lost_end(one)) if told]
        if lost and fail_on_data_loss:
            raise ValueError(f"{'; '.join(lost)}. Set failOnDataLoss to false to read what is there")
        if lost:
            warnings.warn("; ".join(lost), UserWarning, stacklevel=2)
            one = replace(one, start=None if one.start is None else max(one.start, first or 0))
        ranges.append(one)
    return ranges


def _place(name: TopicPartition, segments: Sequence[SegmentFile], limit: OffsetLimit, edge: Edge, looked_up: list[ls.Segment]) -> int:
    """An offset, or EARLIEST or LATEST; adds the segments in which it looked for a time."""
    if limit.everywhere is not None:
        return limit.everywhere
    if limit.offsets is not None:
        return limit.offsets[name]
    timestamp = limit.timestamp if limit.timestamps is None else limit.timestamps[name]
    if timestamp is None:
        return EARLIEST if edge == "starting" else LATEST
    found = _offset_for_timestamp(segments, timestamp, looked_up)
    if found is None and edge == "starting" and limit.no_match == "error":
        raise ValueError(
            f"no record of {name} is of time {timestamp} ms or later; set startingOffsetsByTimestampStrategy to latest to read none of it"
        )
    return LATEST if found is None else found


def _offset_for_timestamp(segments: Sequence[SegmentFile], timestamp: int, looked_up: list[ls.Segment]) -> int | None:
    """Offset of the first record of this time (ms) or later in the segments of one log; None when there is none."""
    for segment in map(ls.Segment, segments):
        looked_up.append(segment)
        found = segment.offset_for_timestamp(timestamp)
        if found is not None:
            return found
    return None


def _lost_start(one: LogRange, first: int | None) -> str | None:
    if one.start is None or first is None or one.start >= first:
        return None
    return f"offset {one.start} of {one.name} is not there any more: the log begins at {first}"


def _never_begun(one: LogRange) -> str | None:
    if one.start is None or one.end is not None:
        return None
    behind = ls.Segment(one.segments[-1]).next_offset()
    if behind is None or one.start <= behind:
        return None
    return f"offsets of {one.name} from {one.start} on are wanted, but the log ends before {behind}"


def _lost_end(one: LogRange) -> str | None:
    if one.end is None:
        return None
    behind = ls.Segment(one.segments[-1]).next_offset()
    if behind is None or one.end <= behind:
        return None
    return f"offsets of {one.name} up to {one.end} are wanted, but the log ends before {behind}"
