"""Tasks of about the right size: large segments are cut into pieces, small pieces share a task.

Spark needs about 0.1 s for a task, however little it does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import add, gt
from typing import TypeAlias, TypeVar

from logsegment._core import LimitError
from logsegment.log.segment_lookup import SegmentLookup
from logsegment.spark.options.read import BatchOptions
from logsegment.spark.options.topics import TopicPartition

T = TypeVar("T")
#: Files of a task, unless there are very many; to open a file takes as long as to read many headers.
TASK_FILES = 64
#: Most files of a task: a task that fails opens all of them again.
_MOST_FILES = 1024
#: Up to this many tasks each partition has its own, as with Spark's Kafka source; thousands would take minutes to start.
OWN_TASKS = 64


def task_files(total: int) -> int:
    """Return how many of `total` files a task may have, so that very many small files do not make very many tasks.

    Example:
        >>> from logsegment.spark.read.packing import task_files
        >>> [task_files(total) for total in (1000, 20_000, 10**6)]
        [64, 313, 1024]
    """
    return min(max(TASK_FILES, -(-total // OWN_TASKS)), _MOST_FILES)


def packed(items: Iterable[T], sizes: Callable[[T], Sequence[int]], most: Sequence[int]) -> Iterator[tuple[T, ...]]:
    """Yield neighbours together while none of their sums is above its limit; a larger item is alone.

    Args:
        items: pieces of work.
        sizes: returns the sizes of an item, as bytes and files.
        most: the limits of the sums.

    Example:
        >>> from logsegment.spark.read.packing import packed
        >>> list(packed([10, 10, 100, 10, 0], lambda size: [size], [20]))
        [(10, 10), (100,), (10, 0)]
    """
    waiting: list[T] = []
    filled: Sequence[int] = [0] * len(most)
    for item in items:
        own = sizes(item)
        together = list(map(add, filled, own))
        if waiting and any(map(gt, together, most)):
            yield tuple(waiting)
            waiting, together = [], list(own)
        waiting.append(item)
        filled = together
    if waiting:
        yield tuple(waiting)


def at_least(least: int, most: int, pack: Callable[[int], list[T]]) -> list[T]:
    """Pack with the limit `most`, with half of it, and so on, until there are `least` items or the limit is 0.

    Example:
        >>> from logsegment.spark.read.packing import at_least, packed
        >>> at_least(3, 40, lambda most: list(packed([10, 10, 10, 10], lambda size: [size], [most])))
        [(10,), (10,), (10,), (10,)]
    """
    while len(found := pack(most)) < least and most > 0:
        most //= 2
    return found


#: Below this Spark needs longer for a task than the task itself.
LEAST_TASK_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class SegmentPiece:
    """Bytes of a segment with wanted offsets.

    Attributes:
        segment: the segment.
        name: its topic-partition.
        size: bytes of the file.
        begin: first byte.
        stop: first byte after the piece; None for the end of the file at the time of the read.
        start: first wanted offset; None for all.
        end: first offset not wanted; None for all.
        follower: first offset of the next segment.
        resumes: another piece has the offsets before `start`.
    """

    segment: SegmentLookup
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
        """Return the number of bytes, as far as it is known."""
        return max((self.size if self.stop is None else self.stop) - self.begin, 0)

    @property
    def offsets(self) -> int | None:
        """Return the most offsets that it may have; None if only the file shows it."""
        ends = [end for end in (self.end, self.follower) if end is not None]
        return max(min(ends) - max(self.start or 0, self.segment.base_offset or 0), 0) if ends else None


#: Pieces of one task.
Group: TypeAlias = tuple[SegmentPiece, ...]


def parts_of(pieces: Sequence[SegmentPiece], options: BatchOptions) -> dict[str, int]:
    """Return the number of tasks for each file, so that all cores work, no task is too large, and there are `minPartitions`."""
    total = sum(piece.bytes for piece in pieces)
    target = _task_bytes(total, options)
    parts = {piece.segment.path: max(1, round(piece.bytes / target)) for piece in pieces}
    for piece in pieces:
        # No task may be larger than twice the limit.
        parts[piece.segment.path] = max(parts[piece.segment.path], -(-piece.bytes // (2 * options.max_partition_bytes)))
    least = options.min_partitions or 0
    if sum(parts.values()) < least and total:
        shares = {piece.segment.path: round(piece.bytes / total * least) for piece in pieces}
        parts = {path: max(count, shares[path]) for path, count in parts.items()}
    return parts


def _task_bytes(total: int, options: BatchOptions) -> int:
    """Return the wanted bytes of a task.

    The number of cores is that of the driver's machine, since no session is visible where Spark asks for the plan.
    """
    even = max(total // (os.cpu_count() or 1), LEAST_TASK_BYTES)
    return min(even, options.max_partition_bytes)


def shared(logs: Sequence[Sequence[SegmentPiece]], options: BatchOptions) -> list[Group]:
    """Group small pieces of a log, and of several logs if there were very many tasks else; leave at least `minPartitions` tasks."""
    least = min(options.min_partitions or 1, sum(map(len, logs))) or 1
    tasks = _shared([[(piece,) for piece in own] for own in logs], least, least, options)
    return tasks if len(tasks) <= OWN_TASKS else _shared([tasks], max(least, OWN_TASKS), least, options)


def _shared(runs: Sequence[Sequence[Group]], wanted: int, least: int, options: BatchOptions) -> list[Group]:
    """Group neighbours of each run, into about `wanted` tasks if they are small, and at least `least`."""
    total = sum(piece.bytes for run in runs for group in run for piece in group)
    most_files, most_offsets = task_files(sum(len(group) for run in runs for group in run)), options.max_records or 0

    def sizes(group: Group) -> tuple[int, int, int]:
        offsets = (most_offsets if piece.offsets is None else piece.offsets for piece in group)
        return sum(piece.bytes for piece in group), len(group), sum(offsets) if most_offsets else 0

    def pack(most: int) -> list[Group]:
        return [tuple(chain(*groups)) for run in runs for groups in packed(run, sizes, (most, most_files, most_offsets))]

    return at_least(least, min(_task_bytes(total, options), total // wanted), pack)


def cut_up(piece: SegmentPiece, parts: dict[str, int], options: BatchOptions) -> list[SegmentPiece]:
    """Cut a piece into as many as `parts` says, or more if that is too many offsets for a task."""
    count = parts[piece.segment.path]
    try:
        recovers = options.read.skips_damage
        pieces = [piece] if options.max_records is None else _cut_by_offsets(piece, options.max_records, recovers=recovers)
        step = -(-piece.bytes // count)
        return [cut for one in pieces for cut in (_cut_by_bytes(one, step, recovers=recovers) if count > 1 else [one])]
    except (FileNotFoundError, LimitError):
        # The task reports a lost file. A look-up has the default limits, the task may have others.
        return [piece]


def _cut_by_bytes(piece: SegmentPiece, step: int, *, recovers: bool) -> list[SegmentPiece]:
    """Cut into pieces of about `step` bytes; each batch is in one of them."""
    # A cut shortly before the end would make a tiny task.
    last = piece.begin + piece.bytes - step // 2
    cuts = piece.segment.cuts(step, piece.begin, last, valid=recovers) if last > piece.begin else []
    begins, stops = [piece.begin, *cuts], [*cuts, piece.stop]
    return [replace(piece, begin=begin, stop=stop) for begin, stop in zip(begins, stops, strict=True)]


def _cut_by_offsets(piece: SegmentPiece, most: int, *, recovers: bool) -> list[SegmentPiece]:
    """Cut into pieces of at most `most` offsets. A batch may be among the bytes of two of them, each of which reads its own records."""
    first = max(piece.start or 0, piece.segment.base_offset or 0)
    cuts = piece.segment.offset_cuts(most, first, piece.end)
    starts, begins = [piece.start, *(cut[0] for cut in cuts)], [piece.begin, *(cut[1] for cut in cuts)]
    ends, stops = [*(cut[0] for cut in cuts), piece.end], [*(cut[2] for cut in cuts), piece.stop]
    if recovers:
        # Headers lead to the cuts, and a damaged one may claim the offsets of valid batches.
        ranges = [piece.segment.valid_range(start, end) for start, end in zip(starts, ends, strict=True)]
        return [
            replace(piece, begin=begin, stop=stop, start=start, end=end, resumes=number > 0)
            for number, ((begin, stop), start, end) in enumerate(zip(ranges, starts, ends, strict=True))
        ]
    return [
        replace(piece, begin=max(begin, piece.begin), stop=stop, start=start, end=end)
        for begin, stop, start, end in zip(begins, stops, starts, ends, strict=True)
        if stop is None or stop > piece.begin
    ]
