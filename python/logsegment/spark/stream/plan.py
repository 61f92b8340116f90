"""The tasks of a micro-batch: ranges of offsets of partitions, cut where segments begin, and smaller if more tasks are wanted.

A task has offsets, not bytes: between planning and reading a broker may put another file in the place of a segment.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from logsegment._core import Finding, SegmentFile
from logsegment._options import ReadOptions
from logsegment._places import directory_of, redacted_uri
from logsegment.partition.reader import PartitionReader
from logsegment.segment_files.discovery import WORK, is_gap, size_of
from logsegment.spark.datasource import InputPartition
from logsegment.spark.options.offsets import Offsets
from logsegment.spark.options.read import StreamOptions
from logsegment.spark.options.topics import Discovered, TopicPartition
from logsegment.spark.read.bounds import base_of, earliest
from logsegment.spark.read.plan import OWN_TASKS, at_least, grouped, task_files
from logsegment.spark.stream.partitions import Logs, settled_segments


class DataLossError(ValueError):
    """Offsets that a query was to read are gone."""


@dataclass(frozen=True)
class RangePart:
    """Offsets of one partition that one task reads.

    Attributes:
        name: the topic-partition.
        segment: any segment of the partition, for its directory.
        start: first offset.
        end: first offset after the part.
        size: about how many bytes they are.
        resumes: other tasks or earlier micro-batches have the offsets before `start`.
    """

    name: TopicPartition
    segment: SegmentFile
    start: int
    end: int
    size: int
    resumes: bool = True


@dataclass(frozen=True)
class RangeTask(InputPartition):
    """The parts of partitions that one task reads."""

    parts: tuple[RangePart, ...]


def report_loss(what: str, *, fails: bool) -> None:
    """Report offsets that are gone, as an error or as a warning.

    Raises:
        DataLossError: if `fails` is set.
    """
    if fails:
        raise DataLossError(f"{what}; set failOnDataLoss to false to read the remaining records")
    warnings.warn(what, UserWarning, stacklevel=2)


def report_gone(name: TopicPartition, offset: int, options: StreamOptions) -> None:
    """Report a partition of a checkpoint that the query does not have: `offset` was the next one.

    Raises:
        DataLossError: if a loss ends the query.
    """
    text = f"{name} was deleted, with the unread records from offset {offset} on"
    if not options.selection.has(name):
        text = f"{name} was read up to offset {offset - 1}, and is no longer in subscribe, subscribePattern or assign"
    report_loss(text, fails=options.fails_on_data_loss)


def plan_ranges(logs: Logs, start: Offsets, end: Offsets, options: StreamOptions) -> list[tuple[TopicPartition, int, int]]:
    """Return the offsets to read of each partition; a new partition is read from its beginning.

    Raises:
        DataLossError: if offsets are gone, unless the query goes on without them.

    Source: `KafkaOffsetReader.getOffsetRangesFromResolvedOffsets` in Spark.
    """
    fails = options.fails_on_data_loss
    for gone in sorted(start.keys() - end.keys()):
        report_gone(gone, start[gone], options)
    ranges = []
    for name, until in end.items():
        first = _first(name, logs.get(name), start.get(name), until, fails=fails)
        if first is not None and first < until:
            ranges.append((name, first, until))
    return ranges


def _first(name: TopicPartition, segments: Sequence[SegmentFile] | None, start: int | None, until: int, *, fails: bool) -> int | None:
    """Return the first offset to read of a partition; None if there is none."""
    if start == until:
        return None
    if not segments:
        report_loss(f"{name} was deleted, with its offsets {start or 0} to {until - 1}", fails=fails)
        return None
    if start is not None and until < start:
        report_loss(f"{name} was truncated at offset {until}, and offsets up to {start - 1} were read before", fails=fails)
        return None
    known = earliest(segments)
    if known > (start or 0):
        # A cleaner may be in the middle of a swap.
        settled = [segment.replaced(log_start=segments[0].log_start) for segment in settled_segments(segments[0])]
        known = earliest(settled or segments)
    if start is None:
        if known > 0:
            report_loss(f"{name} is new and starts at offset {known}, not at 0", fails=fails)
        return known
    if known > start:
        lost = min(known, until) - 1
        report_loss(f"{name} starts at offset {known}: offsets {start} to {lost} were deleted before they were read", fails=fails)
    return max(known, start)


def gaps_of(found: Discovered, ranges: Sequence[tuple[TopicPartition, int, int]]) -> list[Finding]:
    """Return the findings of uploads that are not read and alone have offsets of the ranges."""
    gaps: dict[str, Finding] = {}
    for name, start, end in ranges:
        directories = {redacted_uri(segment.directory) for segment in found.logs[name]}
        own = (finding for finding in found.left_out if directory_of(finding.path) in directories and finding.rule != WORK)
        gaps |= {finding.path: finding for finding in own if is_gap(finding, start, end)}
    return [*gaps.values()]


def plan_tasks(
    logs: Logs,
    ranges: Sequence[tuple[TopicPartition, int, int]],
    options: StreamOptions,
    begun: Mapping[TopicPartition, int],
) -> list[RangeTask]:
    """Make the tasks of the ranges, of about `max_partition_bytes` at most. Very many small parts share tasks.

    Args:
        logs: the segments of each partition.
        ranges: the offsets to read of each.
        options: of the query.
        begun: where earlier micro-batches ended in each partition.
    """
    firsts = {(name, start) for name, start, _ in ranges if begun.get(name) != start}
    parts = [replace(part, resumes=(part.name, part.start) not in firsts) for part in _parts(logs, ranges, options)]
    return [RangeTask((part,)) for part in parts] if len(parts) <= OWN_TASKS else _shared(parts, options)


def _shared(parts: Sequence[RangePart], options: StreamOptions) -> list[RangeTask]:
    """Group small neighbours, into at least `minPartitions` tasks."""
    least = min(options.min_partitions or 1, len(parts))
    total, most_offsets = sum(part.size for part in parts), options.max_records or sum(part.end - part.start for part in parts)

    def sizes(part: RangePart) -> tuple[int, int, int]:
        return part.size, 1, part.end - part.start

    def group(most: int) -> list[RangeTask]:
        return [RangeTask(group) for group in grouped(parts, sizes, (most, task_files(len(parts)), most_offsets))]

    return at_least(least, min(options.max_partition_bytes, total // max(least, OWN_TASKS)), group)


def _parts(logs: Logs, ranges: Sequence[tuple[TopicPartition, int, int]], options: StreamOptions) -> list[RangePart]:
    parts = [part for name, start, end in ranges for part in _by_bytes(name, logs[name], start, end, options.max_partition_bytes)]
    if options.max_records is not None:
        parts = [cut for part in parts for cut in _cut(part, -(-(part.end - part.start) // options.max_records))]
    wanted = options.min_partitions or 0
    if len(parts) >= wanted:
        return parts
    total = sum(part.end - part.start for part in parts)
    return [cut for part in parts for cut in _cut(part, -(-(part.end - part.start) * wanted // total))]


def _by_bytes(name: TopicPartition, segments: Sequence[SegmentFile], start: int, end: int, most: int) -> list[RangePart]:
    """Return parts of small segments that follow each other, or of a large one."""
    parts: list[RangePart] = []
    first, filled = start, 0
    for lookup, follower in PartitionReader.of(segments, ReadOptions(start_offset=start, end_offset=end)).wanted():
        segment = lookup.file
        after = end if follower is None else follower
        # A segment that contradicts its name may hold other offsets.
        lower, upper = min(max(base_of(segment), start), end), min(after, end)
        size = _size(segment) * (upper - lower) // max(after - base_of(segment), 1)
        if filled and filled + size > most:
            parts += _cut(RangePart(name, segments[0], first, lower, filled), -(-filled // most))
            first, filled = lower, 0
        filled += size
    return parts + _cut(RangePart(name, segments[0], first, end, filled), -(-filled // most))


def _size(segment: SegmentFile) -> int:
    try:
        return size_of(segment)
    except FileNotFoundError:
        return 0


def _cut(part: RangePart, count: int) -> list[RangePart]:
    """Cut a part into about equal pieces."""
    length = part.end - part.start
    edges = [part.start + length * index // count for index in range(count + 1)] if count > 1 else [part.start, part.end]
    cuts = [(first, last) for first, last in pairwise(edges) if first < last]
    return [replace(part, start=first, end=last, size=part.size // len(cuts)) for first, last in cuts]
