"""The plan of a batch query: options and pushed filters go in, picklable tasks of about the right size come out.

The one reader of a partition finds the wanted bytes. Here large pieces are cut, and small ones share a task: Spark needs about 0.1 s for a
task, however little it does. If a query wants all offsets of small segments, the driver opens none of them. Spark checks pushed conditions
again, so that one may be ignored, or used roughly.
"""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, groupby
from operator import add, gt
from typing import Any, TypeAlias, TypeVar

from logsegment._core import (
    FileSource,
    Finding,
    LimitError,
    Limits,
    RecordBatchError,
    SegmentLookup,
    SegmentRange,
    TruncatedError,
    batch_stream,
)
from logsegment._errors import without_file
from logsegment._options import EVERY_FORMAT, milliseconds
from logsegment._places import redacted_uri
from logsegment._storage import with_own_key
from logsegment.partition.reader import Part, PartitionReader
from logsegment.segment_files.discovery import is_gap
from logsegment.segment_files.log_start import warn_of_log_starts
from logsegment.spark import datasource as spark
from logsegment.spark.datasource import Filter, InputPartition
from logsegment.spark.options.read import BatchOptions
from logsegment.spark.options.topics import NAMED, TopicPartition, discover, warn_of_gaps
from logsegment.spark.read.bounds import LogRange, ranges_of

T = TypeVar("T")
#: Files of a task, unless there are very many; to open a file takes as long as to read many headers.
TASK_FILES = 64
#: Most files of a task: a task that fails opens all of them again.
_MOST_FILES = 1024
#: The largest offset of 64 bits.
_LAST_OFFSET = 2**63 - 1
#: Up to this many tasks each partition has its own, as with Spark's Kafka source; thousands would take minutes to start.
OWN_TASKS = 64


@dataclass(frozen=True)
class SegmentTask(InputPartition):
    """The parts of logs that one task reads, in the order of their offsets.

    Attributes:
        parts: the bytes of segments, each with the options of its read.
        resumed: numbers of the parts whose segments another part reads up to their first offsets.
    """

    parts: tuple[Part, ...]
    resumed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The rows that a query wants; None for no bound.

    Attributes:
        start: least offset.
        end: first offset after the largest.
        timestamp: least time, in milliseconds.
        topics: filters on the topic.
        partitions: filters on the partition.
    """

    start: int | None = None
    end: int | None = None
    timestamp: int | None = None
    topics: tuple[Filter, ...] = ()
    partitions: tuple[Filter, ...] = ()

    def has(self, name: TopicPartition) -> bool:
        """Return True if rows of this topic-partition may be wanted."""
        asked = ((name.topic, self.topics), (name.partition, self.partitions))
        return all(_holds(condition, value) is not False for value, filters in asked for condition in filters)


def plan_tasks(options: BatchOptions, wanted: WantedRows) -> list[SegmentTask]:
    """Return the tasks of a query. Rows that are not wanted may be left out."""
    found = discover(options.paths, options.selection, partition=options.partitions, reports=options.read.skips_damage)
    found = found.from_log_starts(options.partitions)
    warn_of_log_starts(found.log_starts)
    _ensure_none_skipped(found.left_out, options)
    warn_of_gaps(found.left_out)
    ranges = [partition for partition in ranges_of(found.logs, options) if wanted.has(partition.name)]
    readers = [reader for partition in ranges for reader in _readers(partition, wanted, options)]
    pieces = [reader.pieces() for reader in readers]
    counts = task_counts([piece for own in pieces for piece in own], options)
    known = {piece.segment.path: reader.transactions for reader, own in zip(readers, pieces, strict=True) for piece in own}
    cuts = [[cut for piece in own for cut in cut_up(piece, counts[piece.segment.path], options)] for own in pieces]

    def part(piece: SegmentRange) -> Part:
        transactions = known[piece.segment.path]
        source, read = piece.part(None if transactions is None else piece.touching(transactions))
        # A piece ends where a batch ends. If it does not, the file has changed, or is damaged.
        is_strict = source.end is not None and options.fails_on_data_loss and not read.skips_damage
        return with_own_key(source), replace(read, strict_tail=is_strict)

    groups = shared(cuts, options)
    tasks = [SegmentTask(tuple(map(part, group)), frozenset(at for at, piece in enumerate(group) if piece.resumes)) for group in groups]
    by_offset = [piece for own in pieces for piece in own if piece.is_looked_up or counts[piece.segment.path] > 1]
    _warn_of_indexes([*(segment for partition in ranges for segment in partition.looked_up), *by_offset])
    return tasks


def _ensure_none_skipped(left_out: Sequence[Finding], options: BatchOptions) -> None:
    """Raise for a directory entry named as a segment that cannot be read (SEG-15), unless the query goes on without it."""
    skipped = next((finding for finding in left_out if finding.rule == "SEG-15" and is_gap(finding)), None)
    if skipped is not None and options.fails_on_data_loss:
        raise OSError(f"{skipped.path.rpartition('@')[0]}: {skipped.message}; set failOnDataLoss to false to read the remaining records")


def _readers(partition: LogRange, wanted: WantedRows, options: BatchOptions) -> Iterator[PartitionReader]:
    """Yield the readers of a range; of files without a topic-partition one for each directory, or for a file that is not a segment."""
    # A time is a place in the log, and later records may have any offset.
    is_place = options.starting.time_of(partition.name) is not None
    starts = [start for start in (None if is_place else partition.start, wanted.start) if start is not None]
    ends = [end for end in (partition.end, wanted.end) if end is not None]
    name = partition.name
    start, end = max(starts, default=None), min(ends, default=None)
    read = replace(options.read, topic=name.topic, partition=name.partition, start_offset=start, end_offset=end)
    read = read.sharing(partition.start, None) if is_place else read
    if partition.until is not None:
        planned = PartitionReader.plan(partition.segments, read, (None, partition.until)).options
        read = replace(planned, topic=name.topic, partition=name.partition)
    for _, segments in groupby(partition.segments, lambda segment: segment.path if segment.base_offset is None else segment.file.directory):
        reader = PartitionReader(list(segments), read, wanted.timestamp)
        for segment in reader.segments:
            if segment.base_offset is None:
                _ensure_entries(segment, options)
        yield reader


def _ensure_entries(segment: SegmentLookup, options: BatchOptions) -> None:
    """Refuse a file without an entry, or with damage at its beginning; an empty file, or one of zeros, is fine."""
    error = None
    # The task reports a file that is gone.
    with suppress(FileNotFoundError):
        error = first_entry_error(segment.path, options.read.limits)
    if isinstance(error, TruncatedError):
        raise ValueError(f"{redacted_uri(segment.path)}: not a log segment: it has no complete entry")
    if error is not None and not options.read.skips_damage:
        prefix = "" if error.code == "not_a_segment" else "not a log segment, or damaged at its start: "
        raise ValueError(f"{redacted_uri(segment.path)}: {prefix}{without_file(error)}")


def first_entry_error(path: str, limits: Limits | None = None) -> RecordBatchError | None:
    """Return the error of the first entry: a TruncatedError if the file ends inside of it. None for an empty file, or one of zeros.

    Raises:
        OSError: if the file cannot be read.
    """
    # The read itself refuses magic 3 and unknown plugins.
    options = replace(EVERY_FORMAT, check_crc=False, strict_tail=True, batch_size=1, limits=limits)
    try:
        with batch_stream(FileSource(path), options) as entries:
            next(iter(entries), None)
    except RecordBatchError as error:
        return error if error.position == 0 else None
    return None


def _warn_of_indexes(looked_up: Iterable[SegmentLookup | SegmentRange]) -> None:
    """Warn once of segments that were looked up without valid indexes, which takes longer."""
    found = {finding.path: f"{finding.path}: [{finding.rule}] {finding.message}" for lookup in looked_up for finding in _findings(lookup)}
    if found:
        texts = list(found.values())
        more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
        warnings.warn(f"indexes are unusable, batch headers are read instead: {'; '.join(texts[:NAMED])}{more}", UserWarning, stacklevel=3)


def _findings(looked_up: SegmentLookup | SegmentRange) -> list[Finding]:
    try:
        return [finding for finding in looked_up.index_findings if not _is_of_active_segment(finding)]
    except OSError:
        return []


def _is_of_active_segment(finding: Finding) -> bool:
    """Return True for the zeros that a broker keeps after the entries of an active segment's index."""
    return finding.rule == "SEG-5" and finding.severity == "info"


def task_files(total: int) -> int:
    """Return how many of `total` files a task may have, so that very many small files do not make very many tasks.

    Example:
        >>> from logsegment.spark.read.plan import task_files
        >>> [task_files(total) for total in (1000, 20_000, 10**6)]
        [64, 313, 1024]
    """
    return min(max(TASK_FILES, -(-total // OWN_TASKS)), _MOST_FILES)


def grouped(items: Iterable[T], sizes: Callable[[T], Sequence[int]], most: Sequence[int]) -> Iterator[tuple[T, ...]]:
    """Yield neighbours together while none of their sums is above its limit; a larger item is alone.

    Args:
        items: pieces of work.
        sizes: returns the sizes of an item, as bytes and files.
        most: the limits of the sums.

    Example:
        >>> from logsegment.spark.read.plan import grouped
        >>> list(grouped([10, 10, 100, 10, 0], lambda size: [size], [20]))
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


def at_least(least: int, most: int, group: Callable[[int], list[T]]) -> list[T]:
    """Pack with the limit `most`, with half of it, and so on, until there are `least` items or the limit is 0.

    Example:
        >>> from logsegment.spark.read.plan import at_least, grouped
        >>> at_least(3, 40, lambda most: list(grouped([10, 10, 10, 10], lambda size: [size], [most])))
        [(10,), (10,), (10,), (10,)]
    """
    while len(found := group(most)) < least and most > 0:
        most //= 2
    return found


#: Below this Spark needs longer for a task than the task itself.
LEAST_TASK_BYTES = 16 << 20


#: Pieces of one task.
Group: TypeAlias = tuple[SegmentRange, ...]


def task_counts(pieces: Sequence[SegmentRange], options: BatchOptions) -> dict[str, int]:
    """Return the number of tasks for each file, so that all cores work, no task is too large, and there are `minPartitions`."""
    total = sum(piece.size for piece in pieces)
    target = _task_bytes(total, options)
    counts = {piece.segment.path: max(1, round(piece.size / target)) for piece in pieces}
    for piece in pieces:
        # No task may be larger than twice the limit.
        counts[piece.segment.path] = max(counts[piece.segment.path], -(-piece.size // (2 * options.max_partition_bytes)))
    least = options.min_partitions or 0
    if sum(counts.values()) < least and total:
        shares = {piece.segment.path: round(piece.size / total * least) for piece in pieces}
        counts = {path: max(count, shares[path]) for path, count in counts.items()}
    return counts


def _task_bytes(total: int, options: BatchOptions) -> int:
    """Return the wanted bytes of a task.

    The number of cores is that of the driver's machine, since no session is visible where Spark asks for the plan.
    """
    even = max(total // (os.cpu_count() or 1), LEAST_TASK_BYTES)
    return min(even, options.max_partition_bytes)


def shared(logs: Sequence[Sequence[SegmentRange]], options: BatchOptions) -> list[Group]:
    """Group small pieces of a log, and of several logs if there were very many tasks else; leave at least `minPartitions` tasks."""
    least = min(options.min_partitions or 1, sum(map(len, logs))) or 1
    tasks = _shared([[(piece,) for piece in own] for own in logs], least, least, options)
    return tasks if len(tasks) <= OWN_TASKS else _shared([tasks], max(least, OWN_TASKS), least, options)


def _shared(runs: Sequence[Sequence[Group]], wanted: int, least: int, options: BatchOptions) -> list[Group]:
    """Group neighbours of each run, into about `wanted` tasks if they are small, and at least `least`."""
    total = sum(piece.size for run in runs for group in run for piece in group)
    most_files, most_offsets = task_files(sum(len(group) for run in runs for group in run)), options.max_records or 0

    def sizes(group: Group) -> tuple[int, int, int]:
        offsets = (most_offsets if piece.most_offsets is None else piece.most_offsets for piece in group)
        return sum(piece.size for piece in group), len(group), sum(offsets) if most_offsets else 0

    def group(most: int) -> list[Group]:
        return [tuple(chain(*groups)) for run in runs for groups in grouped(run, sizes, (most, most_files, most_offsets))]

    return at_least(least, min(_task_bytes(total, options), total // wanted), group)


def cut_up(piece: SegmentRange, count: int, options: BatchOptions) -> list[SegmentRange]:
    """Cut a piece into about `count` pieces, or into more if that is too many offsets for a task."""
    try:
        pieces = [piece] if options.max_records is None else piece.cut_by_offsets(options.max_records)
        step = -(-piece.size // count)
        return [cut for piece in pieces for cut in (piece.cut_by_bytes(step) if count > 1 else [piece])]
    except (FileNotFoundError, LimitError):
        # The task reports a lost file. A look-up has the default limits, the task may have others.
        return [piece]


def wanted_by(filters: Sequence[Filter]) -> WantedRows:
    """Return the bounds of rows for which all filters hold."""
    wanted = WantedRows()
    for condition in filters:
        bare = _bare(condition)
        column = getattr(bare, "attribute", None)
        if column == ("offset",):
            wanted = _offsets(wanted, condition)
        elif column == ("timestamp",):
            wanted = _times(wanted, condition)
        elif column == ("topic",) and _is_tested(bare):
            wanted = replace(wanted, topics=(*wanted.topics, condition))
        elif column == ("partition",) and _is_tested(bare):
            wanted = replace(wanted, partitions=(*wanted.partitions, condition))
    return wanted


def _bare(condition: Filter) -> Filter:
    while isinstance(condition, spark.Not):
        condition = condition.child
    return condition


def _offsets(wanted: WantedRows, condition: Filter) -> WantedRows:
    least, most = _bounds(condition, int)
    # No record has an offset of more than 64 bits, or the last one of these.
    start = wanted.start if least is None else max(min(least, _LAST_OFFSET), wanted.start or 0)
    if most is None or most >= _LAST_OFFSET:
        return replace(wanted, start=start)
    end = max(most, -1) + 1
    return replace(wanted, start=start, end=end if wanted.end is None else min(end, wanted.end))


def _times(wanted: WantedRows, condition: Filter) -> WantedRows:
    """Use a least time: Java gives microseconds, and PySpark a datetime.

    A largest time is useless: headers have the largest time of a batch, not the smallest.
    """
    micros, _ = _bounds(condition, int)
    least, _ = _bounds(condition, datetime)
    if micros is None and (least is None or least.tzinfo is None):
        return wanted
    time = milliseconds(least, rounds_up=False) if micros is None else micros // 1000
    return replace(wanted, timestamp=time if wanted.timestamp is None else max(time, wanted.timestamp))


#: The tests of filters, for values that are not null.
_TESTS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    spark.EqualTo: operator.eq,
    spark.EqualNullSafe: operator.eq,
    spark.GreaterThan: operator.gt,
    spark.GreaterThanOrEqual: operator.ge,
    spark.LessThan: operator.lt,
    spark.LessThanOrEqual: operator.le,
    spark.In: lambda value, values: value in values,
    spark.StringStartsWith: str.startswith,
    spark.StringEndsWith: str.endswith,
    spark.StringContains: operator.contains,
}


def _is_tested(condition: Filter) -> bool:
    """Return False for a filter that `_holds` does not know, such as `IS NOT NULL`."""
    return type(condition) in _TESTS and getattr(condition, "value", None) is not None


def _holds(condition: Filter, value: object) -> bool | None:
    """Return True if a filter holds for a value; None if only Spark can say, as for null."""
    if isinstance(condition, spark.Not):
        inside = _holds(condition.child, value)
        return None if inside is None else not inside
    test, asked = _TESTS.get(type(condition)), getattr(condition, "value", None)
    return None if test is None or value is None or asked is None else test(value, asked)


def _values(condition: Filter) -> tuple[Any, ...] | None:
    """Return the values of which a column must have one; rows with null are not among them."""
    if isinstance(condition, spark.In):
        return tuple(condition.value)
    if isinstance(condition, (spark.EqualTo, spark.EqualNullSafe)) and condition.value is not None:
        return (condition.value,)
    return None


def _bounds(condition: Filter, kind: type) -> tuple[Any, Any]:
    """Least and largest value; for `<` and `>` the bound itself is among them where it does no harm."""
    values = _values(condition)
    if values is not None:
        sound: list[Any] = [value for value in values if isinstance(value, kind)]
        return (min(sound), max(sound)) if sound else (None, None)
    value = getattr(condition, "value", None)
    if not isinstance(value, kind):
        return None, None
    if isinstance(condition, (spark.GreaterThan, spark.GreaterThanOrEqual)):
        return value, None
    if isinstance(condition, (spark.LessThan, spark.LessThanOrEqual)):
        return None, value
    return None, None
