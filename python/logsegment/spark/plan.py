"""What a read will do, decided on the driver: ranges of offsets become tasks, each with the bytes of one segment that it reads.

Options go in, picklable tasks come out. What names, indexes and headers say is not wanted is not among the bytes; large segments are
cut where a batch begins. Where nothing is narrowed down and segments are small, none is opened here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pyspark.sql.datasource import InputPartition

import logsegment as ls
from logsegment.neighbours import committed_transactions
from logsegment.segments import SegmentFile, segments_beside
from logsegment.spark.bounds import LogRange, ranges_of
from logsegment.spark.filters import Wanted
from logsegment.spark.notices import warn_of_gaps, warn_of_indexes
from logsegment.spark.options import ReadOptions
from logsegment.spark.topics import TopicPartition, discover

#: Below this a task costs more than it does: Spark needs about 0.1 s for one.
LEAST_TASK_BYTES = 16 << 20


@dataclass(frozen=True)
class SegmentTask(InputPartition):
    """The entries of one segment that one task reads.

    Attributes:
        source: file and range of bytes.
        topic: what the column `topic` says.
        partition: what the column `partition` says.
        start: first offset wanted; None for all.
        end: behind the last offset wanted; None for all.
        transactions: those that touch the range, when the driver had to learn them; else the task does, when it needs to.
    """

    source: ls.FileSource
    topic: str | None
    partition: int | None
    start: int | None = None
    end: int | None = None
    transactions: ls.Transactions | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a segment of which some offsets are wanted; `stop` is None for the end of the file, whenever it is read."""

    segment: ls.Segment
    name: TopicPartition
    size: int
    begin: int
    stop: int | None
    start: int | None
    end: int | None

    @property
    def bytes(self) -> int:
        """How many are read, as far as is known."""
        return max((self.size if self.stop is None else self.stop) - self.begin, 0)


def plan_tasks(options: ReadOptions, wanted: Wanted | None = None) -> list[InputPartition]:
    """Find the segments and make the tasks of a batch query.

    Args:
        options: what was asked for.
        wanted: what pushed filters want.

    Raises:
        OSError: when a path does not exist or cannot be read.
        ValueError: for options that do not fit what is there.
        RecordBatchError: when bytes on the way to a time cannot be read.
    """
    wanted = wanted or Wanted()
    left_out: list[ls.Finding] = []
    logs = discover(options.paths, options.selection, topic=options.topic, partition=options.partition, left_out=left_out)
    warn_of_gaps(left_out)
    ranges = ranges_of(
        logs,
        options.starting,
        options.ending,
        fail_on_data_loss=options.fail_on_data_loss,
        codecs=options.codecs,
        experimental=options.experimental,
    )
    return plan_ranges([one for one in ranges if wanted.has(one.name)], options, wanted.timestamp, (wanted.start, wanted.end))


def plan_ranges(
    ranges: Iterable[LogRange],
    options: ReadOptions,
    timestamp: int | None = None,
    offsets: tuple[int | None, int | None] = (None, None),
) -> list[InputPartition]:
    """Make the tasks of ranges of offsets.

    Args:
        ranges: the topic-partitions.
        options: how to cut them, and the isolation.
        timestamp: batches that have no record of this time (ms) or later may be left out.
        offsets: records of which the offset is not in this range may be left out.

    Raises:
        OSError: when a file cannot be read.
    """
    ranges = list(ranges)
    logs = [log for one in ranges for log in _logs(_narrowed(one, *offsets))]
    pieces = [(log, _pieces(log, timestamp, recovers=options.mode.skips)) for log in logs]
    parts = _parts([piece for _, own in pieces for piece in own], options)
    tasks: list[InputPartition] = []
    for log, own in pieces:
        known = _transactions(log, own, options) if options.isolation == "read_committed" else None
        for piece in own:
            tasks += [_task(cut, known) for cut in _cut(piece, parts, options)]
    by_time = [segment for one in ranges for segment in one.looked_up]
    by_offset = [piece.segment for _, own in pieces for piece in own if _is_looked_up(piece, parts)]
    warn_of_indexes([*by_time, *by_offset])
    return tasks


def _narrowed(one: LogRange, start: int | None, end: int | None) -> LogRange:
    least = one.start if start is None else max(start, one.start or 0)
    most = one.end if end is None else end if one.end is None else min(end, one.end)
    return LogRange(one.name, one.segments, least, most)


def _logs(one: LogRange) -> list[LogRange]:
    """Files without names may be of several logs: those of one directory are one, and a file that is no segment is one of its own."""

    def log(segment: SegmentFile) -> str:
        return segment.path if segment.base_offset is None else segment.directory

    return [LogRange(one.name, list(group), one.start, one.end) for _, group in groupby(one.segments, log)]


def _pieces(log: LogRange, timestamp: int | None, *, recovers: bool) -> list[Piece]:
    """The wanted bytes of the segments in which there may be wanted offsets."""
    pieces = (_piece(segment, log, timestamp, recovers=recovers) for segment in _in_range(log))
    return [piece for piece in pieces if piece is not None]


def _in_range(log: LogRange) -> list[SegmentFile]:
    """Leave out segments whose names say that none of the offsets lies in them."""
    if log.start is not None and log.end is not None and log.start >= log.end:
        return []
    followers = [*(segment.base_offset for segment in log.segments[1:]), None]
    wanted = []
    for segment, follower in zip(log.segments, followers, strict=True):
        is_before = log.start is not None and follower is not None and follower <= log.start
        is_behind = log.end is not None and segment.base_offset is not None and segment.base_offset >= log.end
        if not (is_before or is_behind):
            wanted.append(segment)
    return wanted


def _piece(file: SegmentFile, log: LogRange, timestamp: int | None, *, recovers: bool) -> Piece | None:
    segment = ls.Segment(file)
    try:
        size = segment.size
        start = log.start if log.start is not None and log.start > (file.base_offset or 0) else None
        begin, stop = 0, None
        if start is not None or log.end is not None:
            # Also for a read that goes on past damage: it shows what is wrong with an index, and that nothing is wanted of the segment.
            begin, stop = segment.byte_range(start, log.end)
            is_behind = start is not None and begin >= size
            if recovers and not is_behind:
                begin, stop = segment.intact_range(start, log.end)
        if timestamp is not None:
            first = segment.position_for_timestamp(timestamp)
            if first is None:
                return None
            begin = max(begin, first)
    except FileNotFoundError:
        # The task will tell what it means that the file was deleted meanwhile.
        return Piece(segment, log.name, 0, 0, None, log.start, log.end)
    is_empty = begin > 0 and (size if stop is None else stop) <= begin
    return None if is_empty else Piece(segment, log.name, size, begin, stop, start, log.end)


def _parts(pieces: Sequence[Piece], options: ReadOptions) -> dict[str, int]:
    """Into how many tasks the bytes of each file are cut: so that all cores work, none gets too much, and there are `minPartitions`.

    The number of cores is that of the driver's machine: no session is visible where Spark asks for the plan.
    """
    total = sum(piece.bytes for piece in pieces)
    even = max(total // (os.cpu_count() or 1), LEAST_TASK_BYTES)
    target = min(even, options.max_partition_bytes)
    parts = {piece.segment.path: max(1, round(piece.bytes / target)) for piece in pieces}
    for piece in pieces:
        # No task shall have twice what one may have.
        parts[piece.segment.path] = max(parts[piece.segment.path], -(-piece.bytes // (2 * options.max_partition_bytes)))
    least = options.min_partitions or 0
    if sum(parts.values()) < least and total:
        shares = {piece.segment.path: round(piece.bytes / total * least) for piece in pieces}
        parts = {path: max(count, shares[path]) for path, count in parts.items()}
    return parts


def _cut(piece: Piece, parts: dict[str, int], options: ReadOptions) -> list[Piece]:
    count = parts[piece.segment.path]
    try:
        recovers = options.mode.skips
        pieces = [piece] if options.max_records is None else _cut_by_offsets(piece, options.max_records, recovers=recovers)
        step = -(-piece.bytes // count)
        return [cut for one in pieces for cut in (_cut_by_bytes(one, step, recovers=recovers) if count > 1 else [one])]
    except FileNotFoundError:
        return [piece]


def _cut_by_bytes(piece: Piece, step: int, *, recovers: bool) -> list[Piece]:
    """Pieces of about `step` bytes; a batch is in one of them."""
    # A cut shortly before the end would make a task of nearly nothing.
    last = piece.begin + piece.bytes - step // 2
    cuts = piece.segment.cuts(step, piece.begin, last, intact=recovers) if last > piece.begin else []
    begins, stops = [piece.begin, *cuts], [*cuts, piece.stop]
    return [replace(piece, begin=begin, stop=stop) for begin, stop in zip(begins, stops, strict=True)]


def _cut_by_offsets(piece: Piece, most: int, *, recovers: bool) -> list[Piece]:
    """Pieces of at most `most` offsets. A batch may be among the bytes of two of them, and gives each its own records."""
    first = max(piece.start or 0, piece.segment.base_offset or 0)
    cuts = piece.segment.offset_cuts(most, first, piece.end)
    starts, begins = [piece.start, *(cut[0] for cut in cuts)], [piece.begin, *(cut[1] for cut in cuts)]
    ends, stops = [*(cut[0] for cut in cuts), piece.end], [*(cut[2] for cut in cuts), piece.stop]
    if recovers:
        # Cuts are made by headers, and a damaged one may have claimed the offsets of intact batches.
        ranges = [piece.segment.intact_range(start, end) for start, end in zip(starts, ends, strict=True)]
        return [
            replace(piece, begin=begin, stop=stop, start=start, end=end)
            for (begin, stop), start, end in zip(ranges, starts, ends, strict=True)
        ]
    return [
        replace(piece, begin=max(begin, piece.begin), stop=stop, start=start, end=end)
        for begin, stop, start, end in zip(begins, stops, starts, ends, strict=True)
        if stop is None or stop > piece.begin
    ]


def _is_looked_up(piece: Piece, parts: dict[str, int]) -> bool:
    return piece.begin > 0 or piece.stop is not None or parts[piece.segment.path] > 1


def _transactions(log: LogRange, pieces: Sequence[Piece], options: ReadOptions) -> ls.Transactions | None:
    """What all tasks of a log must know, when they cannot learn it each for itself.

    A producer snapshot tells what is open where a segment begins, so that a task can begin there. Without snapshots each would read all
    headers before its segment.
    """
    first = log.segments[0].path
    if all(piece.segment.has_snapshot for piece in pieces if piece.segment.path != first) or not pieces:
        return None
    if first.endswith(".kafka"):
        return ls.Transactions([])
    beside = segments_beside(log.segments[0])
    wanted = pieces[0].start, pieces[-1].end
    return committed_transactions(beside, *wanted, is_recovering=options.mode.skips, experimental=options.experimental)


def _task(piece: Piece, known: ls.Transactions | None) -> SegmentTask:
    source = ls.FileSource(piece.segment.path, piece.begin, piece.stop)
    return SegmentTask(source, piece.name.topic, piece.name.partition, piece.start, piece.end, known and _touching(known, piece))


def _touching(known: ls.Transactions, piece: Piece) -> ls.Transactions:
    """The transactions that a task must know: a partition may have very many."""
    first = piece.start if piece.start is not None else piece.segment.base_offset or 0
    aborted = [found for found in known.aborted if found[2] >= first and (piece.end is None or found[1] < piece.end)]
    return ls.Transactions(aborted, known.last_stable_offset)
