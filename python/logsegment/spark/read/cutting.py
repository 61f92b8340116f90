"""Pieces of segments: large ones are cut, small ones share a task.

Sizes and options go in; a file is opened to find where its batches begin, when it is cut.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from logsegment._core import LimitError
from logsegment.log.segment import Segment
from logsegment.spark.options.read import ReadOptions
from logsegment.spark.options.topics import TopicPartition
from logsegment.spark.read.packing import OWN_TASKS, at_least, packed, task_files

#: Below this a task costs more than it does: Spark needs about 0.1 s for one.
LEAST_TASK_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a segment of which some offsets are wanted; `stop` is None for the end of the file, whenever it is read.

    `follower` is the first offset of the next segment; `resumes` says that another piece has the offsets before `start`.
    """

    segment: Segment
    name: TopicPartition
    size: int
    begin: int
    stop: int | None
    start: int | None
    end: int | None
    follower: int | None = None
    resumes: bool = False

    @property
    def bytes(self) -> int:
        """How many are read, as far as is known."""
        return max((self.size if self.stop is None else self.stop) - self.begin, 0)

    @property
    def offsets(self) -> int | None:
        """How many offsets there may be; None where only the file tells."""
        ends = [end for end in (self.end, self.follower) if end is not None]
        return max(min(ends) - max(self.start or 0, self.segment.base_offset or 0), 0) if ends else None


#: Pieces of one task.
Group: TypeAlias = tuple[Piece, ...]


def parts_of(pieces: Sequence[Piece], options: ReadOptions) -> dict[str, int]:
    """Into how many tasks the bytes of each file are cut: so that all cores work, none gets too much, and there are `minPartitions`."""
    total = sum(piece.bytes for piece in pieces)
    target = _task_bytes(total, options)
    parts = {piece.segment.path: max(1, round(piece.bytes / target)) for piece in pieces}
    for piece in pieces:
        # No task shall have twice what one may have.
        parts[piece.segment.path] = max(parts[piece.segment.path], -(-piece.bytes // (2 * options.max_partition_bytes)))
    least = options.min_partitions or 0
    if sum(parts.values()) < least and total:
        shares = {piece.segment.path: round(piece.bytes / total * least) for piece in pieces}
        parts = {path: max(count, shares[path]) for path, count in parts.items()}
    return parts


def _task_bytes(total: int, options: ReadOptions) -> int:
    """How many bytes a task shall have.

    The number of cores is that of the driver's machine: no session is visible where Spark asks for the plan.
    """
    even = max(total // (os.cpu_count() or 1), LEAST_TASK_BYTES)
    return min(even, options.max_partition_bytes)


def shared(logs: Sequence[Sequence[Piece]], options: ReadOptions) -> list[Group]:
    """Small pieces of a log that share a task, and of several logs where there would be very many tasks.

    Not so many that fewer than `minPartitions` are left.
    """
    least = min(options.min_partitions or 1, sum(map(len, logs))) or 1
    tasks = _shared([[(piece,) for piece in own] for own in logs], least, least, options)
    return tasks if len(tasks) <= OWN_TASKS else _shared([tasks], max(least, OWN_TASKS), least, options)


def _shared(runs: Sequence[Sequence[Group]], wanted: int, least: int, options: ReadOptions) -> list[Group]:
    """Neighbours of each run together, so that about `wanted` tasks are left if they are small, and not fewer than `least`."""
    total = sum(piece.bytes for run in runs for group in run for piece in group)
    most_files, most_offsets = task_files(sum(len(group) for run in runs for group in run)), options.max_records or 0

    def sizes(group: Group) -> tuple[int, int, int]:
        offsets = (most_offsets if piece.offsets is None else piece.offsets for piece in group)
        return sum(piece.bytes for piece in group), len(group), sum(offsets) if most_offsets else 0

    def pack(most: int) -> list[Group]:
        return [tuple(chain(*groups)) for run in runs for groups in packed(run, sizes, (most, most_files, most_offsets))]

    return at_least(least, min(_task_bytes(total, options), total // wanted), pack)


def cut_up(piece: Piece, parts: dict[str, int], options: ReadOptions) -> list[Piece]:
    """As many pieces as `parts` says, or more where a task shall have fewer offsets."""
    count = parts[piece.segment.path]
    try:
        recovers = options.mode.skips
        pieces = [piece] if options.max_records is None else _cut_by_offsets(piece, options.max_records, recovers=recovers)
        step = -(-piece.bytes // count)
        return [cut for one in pieces for cut in (_cut_by_bytes(one, step, recovers=recovers) if count > 1 else [one])]
    except (FileNotFoundError, LimitError):
        # The task tells of it; one with other limits than a look-up has reads on.
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
            replace(piece, begin=begin, stop=stop, start=start, end=end, resumes=number > 0)
            for number, ((begin, stop), start, end) in enumerate(zip(ranges, starts, ends, strict=True))
        ]
    return [
        replace(piece, begin=max(begin, piece.begin), stop=stop, start=start, end=end)
        for begin, stop, start, end in zip(begins, stops, starts, ends, strict=True)
        if stop is None or stop > piece.begin
    ]
