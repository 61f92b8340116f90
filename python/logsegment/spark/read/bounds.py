"""Where in each topic-partition a batch query begins and ends: limits and segments go in, offsets come out.

Opens what it must to look a time up, or to know where a log ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logsegment._core import Limits
from logsegment._options import ReadOptions
from logsegment.log.log_end import last_intact
from logsegment.log.segment import Segment
from logsegment.log.time_lookup import first_offset_at
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.options.offsets import EARLIEST, LATEST, Edge, OffsetLimit, ensure_assigned
from logsegment.spark.options.topics import TopicPartition
from logsegment.spark.read.positions import ensure_boundary
from logsegment.spark.stream.ends import Checkpoints, base_of, earliest

if TYPE_CHECKING:
    from logsegment.plugins import Registry


@dataclass(frozen=True, slots=True)
class LogRange:
    """What is read of one topic-partition.

    Attributes:
        name: the topic-partition.
        segments: all of its segments, in order.
        start: first offset; None for the first that is there.
        end: behind the last offset; None for all that is there when it is read.
        looked_up: segments in which a time was looked for by their indexes, which may have been of no help.
    """

    name: TopicPartition
    segments: Sequence[SegmentFile]
    start: int | None = None
    end: int | None = None
    looked_up: tuple[Segment, ...] = ()


def ranges_of(
    logs: Mapping[TopicPartition, Sequence[SegmentFile]],
    starting: OffsetLimit,
    ending: OffsetLimit,
    *,
    fail_on_data_loss: bool = True,
    codecs: Registry | None = None,
    experimental: bool = False,
    limits: Limits | None = None,
    recovers: bool = False,
) -> list[LogRange]:
    """Resolve both limits. Topic-partitions of which nothing is wanted are left out.

    Args:
        logs: the segments of each.
        starting: where to begin.
        ending: where to end.
        fail_on_data_loss: whether offsets that are not there are an error.
        codecs: a registry of plugins, for looking a time up in their batches.
        experimental: look a time up in batches of magic 3 too.
        limits: what an entry may claim in which a time is looked up.
        recovers: look past damage for a time, for which everything in front of it is read, and for the end of a log.

    Raises:
        ValueError: when limits do not name what is read, a start is behind its end, no record is late enough for a starting time, or
            offsets are not there any more (or not yet) and `fail_on_data_loss` is set; else that is a warning.
        RecordBatchError: when bytes on the way to a time cannot be read, unless `recovers` is set.

    Source: `KafkaOffsetReaderAdmin` in Spark.
    """
    ensure_assigned(starting, logs, "starting")
    ensure_assigned(ending, logs, "ending")
    checkpoints = Checkpoints()
    asked = ReadOptions(on_error="skip" if recovers else "raise", codecs=codecs, experimental=experimental, limits=limits)
    ranges = []
    for name, segments in logs.items():
        first = None if segments[0].base_offset is None else earliest(name, segments, checkpoints)
        # Records that were deleted on request stay in the file until the segment goes.
        after_deleted = first if first is not None and first > base_of(segments[0]) else None
        looked_up: list[Segment] = []
        find = _finder(segments, looked_up, replace(asked, start_offset=after_deleted))
        start, end = _place(name, starting, "starting", find), _place(name, ending, "ending", find)
        if start >= 0:
            ensure_boundary(name, segments, start, "starting")
        if end >= 0:
            ensure_boundary(name, segments, end, "ending")
        if 0 <= end < start:
            told = f"{name} would be read from offset {start} on and up to {end}"
            raise ValueError(f"{told}: option {starting.option('starting')} must not be behind {ending.option('ending')}")
        if after_deleted is not None and start == EARLIEST:
            start = after_deleted
        if start == LATEST or end == EARLIEST or (start >= 0 and 0 <= end <= start):
            continue
        one = LogRange(name, segments, None if start < 0 else start, None if end < 0 else end, tuple(looked_up))
        lost = [told for told in (_lost_start(one, first), _lost_end(one, recovers)) if told]
        if lost and fail_on_data_loss:
            raise ValueError(f"{'; '.join(lost)}. Set failOnDataLoss to false to read what is there")
        if lost:
            warnings.warn("; ".join(lost), UserWarning, stacklevel=2)
            one = replace(one, start=None if one.start is None else max(one.start, first or 0))
        ranges.append(one)
    return ranges


def _finder(segments: Sequence[SegmentFile], looked_up: list[Segment], lookup: ReadOptions) -> Callable[[int], int | None]:
    """Finds the offset for a time; `looked_up` gets the segments whose indexes were asked."""

    def opened() -> Iterator[Segment]:
        for segment in map(Segment, segments):
            if not lookup.skips_damage:
                looked_up.append(segment)
            yield segment

    return lambda timestamp: first_offset_at(opened(), timestamp, lookup)


def _place(name: TopicPartition, limit: OffsetLimit, edge: Edge, find: Callable[[int], int | None]) -> int:
    """An offset, or EARLIEST or LATEST; `find` gives the offset for a time."""
    if limit.everywhere is not None:
        return limit.everywhere
    if limit.offsets is not None:
        return limit.offsets[name]
    timestamp = limit.timestamp if limit.timestamps is None else limit.timestamps[name]
    if timestamp is None:
        return EARLIEST if edge == "starting" else LATEST
    if timestamp in (EARLIEST, LATEST):
        # Brokers take these times for the words, and so does who asks them.
        return timestamp
    found = find(timestamp)
    if found is None and edge == "starting" and limit.no_match == "error":
        raise ValueError(
            f"no record of {name} is of time {timestamp} ms or later; set startingOffsetsByTimestampStrategy to latest to read none of it"
        )
    return LATEST if found is None else found


def _lost_start(one: LogRange, first: int | None) -> str | None:
    if one.start is None or first is None or one.start >= first:
        return None
    return f"offset {one.start} of {one.name} is not there any more: the log begins at {first}"


def _lost_end(one: LogRange, recovers: bool) -> str | None:
    """Offsets up to an end, or with none from the start on."""
    offset = one.start if one.end is None else one.end
    behind = None if offset is None else _end_before(one, offset, recovers)
    if behind is None:
        return None
    wanted = f"from {offset} on" if one.end is None else f"up to {offset}"
    return f"offsets of {one.name} {wanted} are wanted, but the log ends before {behind}"


def _end_before(one: LogRange, offset: int, recovers: bool) -> int | None:
    """Where the log ends, when that is before an offset; a damaged header may have claimed the bytes of intact batches up to its end."""
    behind = Segment(one.segments[-1]).next_offset()
    if behind is None or offset <= behind:
        return None
    last = last_intact(one.segments[-1], None, experimental=True) if recovers else None
    return None if last is not None and offset <= last[2] + 1 else behind
