"""Where queries begin and end: limits and the segments of topic-partitions go in, offsets come out.

A time is looked up in the segments. A log begins after the records that retention or a request deleted; see `segment_files.log_start`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from logsegment._core import SegmentFile, SegmentLookup
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment.partition.reader import PartitionReader
from logsegment.spark.options.offsets import EARLIEST, LATEST, Edge, OffsetLimit, ensure_assigned
from logsegment.spark.options.read import BatchOptions
from logsegment.spark.options.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class LogRange:
    """The offsets of one topic-partition that a query reads.

    Attributes:
        name: the topic-partition.
        segments: all of its segments, in order.
        start: first offset; None for the log start offset.
        end: first offset after the range; None for the end of the log at the time of the read.
        until: ms; records before this time, wherever they are. None for all records.
        looked_up: segments whose indexes were used to look a time up; they may be damaged.
    """

    name: TopicPartition
    segments: Sequence[SegmentLookup]
    start: int | None = None
    end: int | None = None
    until: int | None = None
    looked_up: tuple[SegmentLookup, ...] = ()


def ranges_of(logs: Mapping[TopicPartition, Sequence[SegmentFile]], options: BatchOptions) -> list[LogRange]:
    """Resolve the limits of a batch query. Topic-partitions with an empty range are left out.

    Args:
        logs: the segments of each.
        options: of the query. One that goes on past damage looks for times and for the end of a log past damage too.

    Raises:
        ValueError: if limits do not name what is read, a start is after its end, no record is late enough for a starting time, or
            offsets are missing and that ends the query; else missing offsets are a warning.
        RecordBatchError: if bytes before a time cannot be read, unless the query goes on past damage.

    Source: `KafkaOffsetReaderAdmin` in Spark.
    """
    ensure_assigned(options.starting, logs, "starting")
    ensure_assigned(options.ending, logs, "ending")
    found = [_range(name, segments, options) for name, segments in logs.items()]
    return [bound for bound in found if bound is not None]


def resolved(name: TopicPartition, limit: OffsetLimit, edge: Edge, find: Callable[[int], int | None]) -> int:
    """Return the offset that a limit means in a topic-partition, or EARLIEST or LATEST.

    Args:
        name: the topic-partition.
        limit: of the query.
        edge: which limit it is.
        find: returns the first offset at a time (ms) or later.

    Raises:
        ValueError: if no record is late enough for a starting time.
    """
    if limit.everywhere is not None:
        return limit.everywhere
    if limit.offsets is not None:
        return limit.offsets[name]
    timestamp = limit.time_of(name)
    if timestamp is None:
        word = limit.timestamp if limit.timestamps is None else limit.timestamps[name]
        return word if word is not None else EARLIEST if edge == "starting" else LATEST
    if edge == "ending":
        # Records after the first one that is too late may be early enough.
        return LATEST
    found = find(timestamp)
    if found is None and limit.no_match == "error":
        raise ValueError(
            f"no record of {name} has timestamp {timestamp} ms or later; "
            "set startingOffsetsByTimestampStrategy to latest to start after the last record"
        )
    return LATEST if found is None else found


def earliest(segments: Sequence[SegmentFile]) -> int:
    """Return the log start offset of a partition, whose segments `discover` found."""
    return max(base_of(segments[0]), segments[0].log_start or 0)


def base_of(segment: SegmentFile) -> int:
    """Return the base offset of a segment that has one."""
    assert segment.base_offset is not None, "files without it were rejected"
    return segment.base_offset


def _range(name: TopicPartition, files: Sequence[SegmentFile], options: BatchOptions) -> LogRange | None:
    first = None if files[0].base_offset is None else earliest(files)
    # Deleted records stay in the file until all of its segment is deleted.
    after_deleted = first if first is not None and first > base_of(files[0]) else None
    segments = list(map(SegmentLookup, files))
    looked_up: list[SegmentLookup] = []

    def find(timestamp: int) -> int | None:
        found = PartitionReader(segments, replace(options.read, start_offset=after_deleted)).place_at(timestamp)
        if not options.read.skips_damage:
            looked_up.extend(segment for segment in segments if found is None or (segment.base_offset or 0) <= found)
        return found

    start, end = resolved(name, options.starting, "starting", find), resolved(name, options.ending, "ending", find)
    _ensure_boundary(name, segments, start, "starting")
    _ensure_boundary(name, segments, end, "ending")
    since, until = options.starting.time_of(name), options.ending.time_of(name)
    late = find(until) if until is not None and start >= 0 else None
    if late is not None and until is not None and late < start and not _has_record_before(until, start, segments, options):
        end = late
    is_reversed = since is not None and until is not None and since > until
    if 0 <= end < start or is_reversed:
        text = f"{name}: offsets from {start} to {end}" if 0 <= end < start else f"{name}: times from {since} to {until}"
        raise ValueError(f"{text}: option {options.starting.option('starting')} must not be after {options.ending.option('ending')}")
    if after_deleted is not None and start == EARLIEST:
        start = after_deleted
    if start == LATEST or end == EARLIEST or (start >= 0 and 0 <= end <= start) or (until is not None and since == until):
        return None
    log = LogRange(name, segments, None if start < 0 else start, None if end < 0 else end, until, tuple(looked_up))
    return _without_lost(log, first, options)


def _has_record_before(until: int, start: int, segments: Sequence[SegmentLookup], options: BatchOptions) -> bool:
    """Return True if a record from an offset on is before a time. In a log in the order of time none is after a record of that time."""
    # One record decides.
    read = replace(options.read, columns=("offset",), control=True, isolation="read_uncommitted", values="raw", batch_bytes=1)
    read = replace(
        read, transactions=None, threads=1, strict_tail=False, check_crc=read.check_crc or not read.skips_damage, start_offset=start
    )
    with PartitionReader.plan(segments, read, (None, until)).read() as stream:
        return any(batch.num_rows for batch in stream)


def _without_lost(log: LogRange, first: int | None, options: BatchOptions) -> LogRange:
    """Return a range without its offsets before the log start offset `first`; report missing offsets."""
    lost = [text for text in (_lost_start(log, first), _lost_end(log, options.read.skips_damage)) if text]
    if not lost:
        return log
    if options.fails_on_data_loss:
        raise ValueError(f"{'; '.join(lost)}; set failOnDataLoss to false to read the remaining records")
    warnings.warn("; ".join(lost), UserWarning, stacklevel=2)
    return replace(log, start=None if log.start is None else max(log.start, first or 0))


def _lost_start(log: LogRange, first: int | None) -> str | None:
    if log.start is None or first is None or log.start >= first:
        return None
    return f"offset {log.start} of {log.name} was deleted: the log starts at {first}"


def _lost_end(log: LogRange, recovers: bool) -> str | None:
    offset = log.start if log.end is None else log.end
    end = None if offset is None else log.segments[-1].end_before(offset, past_damage=recovers)
    if end is None:
        return None
    wanted = f"from {offset} on" if log.end is None else f"up to {offset}"
    return f"offsets of {log.name} {wanted} are requested, but the log ends before {end}"


def _ensure_boundary(name: TopicPartition, segments: Sequence[SegmentLookup], offset: int, edge: Edge) -> None:
    """Refuse an offset of Kafka 0.7, which is a position, inside of an entry; it would add or leave out a message.

    Source: `Log.read` in Kafka 0.7 takes any position, and its consumer fails at the bytes there.
    """
    for segment, _ in [*PartitionReader(segments, ReadOptions()).at(offset).wanted()][-1:]:
        base = segment.base_offset or 0
        entry = segment.entry_around(offset - base) if is_of_0_7(segment.path) and offset > base else None
        if entry is not None:
            starts = f"no entry of {name} starts at {offset}; the nearest are {base + entry[0]} and {base + entry[1]}"
            raise ValueError(f"option {edge}Offsets: {starts}; offsets of Kafka 0.7 are positions")
