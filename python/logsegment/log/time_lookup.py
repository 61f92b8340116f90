"""Look up the offsets of times in a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from logsegment._core import FileSource, RecordBatchError, begins_at
from logsegment._core import first_offset_at as core_first_offset_at
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions, Timestamp, milliseconds, time_bounds
from logsegment.log.segment_lookup import SegmentLookup

_LEAST, _MOST = -(2**63), 2**63 - 1


def first_offset_at(segments: Iterable[SegmentLookup], timestamp: Timestamp, options: ReadOptions) -> int | None:
    """Return the offset of the first record of a time or later in the segments of a log, or None if there is none.

    Args:
        segments: in the order of their offsets.
        timestamp: milliseconds, or an aware datetime.
        options: those of the read that begins or ends there. With `on_error="skip"` only batches whose checksums match are trusted, and
            all bytes before the record are read; otherwise indexes and headers lead to it, and damage on the way is an error. Records
            before `start_offset`, and from `end_offset` on, do not count.

    Raises:
        RecordBatchError: if bytes on the way cannot be read, unless damage is skipped.
        OSError: if a file cannot be read.
    """
    found = _first_at(segments, timestamp, options)
    return None if found is None else found[1]


def first_place_at(
    segments: Iterable[SegmentLookup], timestamp: Timestamp, options: ReadOptions, *, takes_batch: bool = False
) -> int | None:
    """Return where a read begins that begins at a time: as `first_offset_at`, but an offset that the header of the batch claims.

    The header of a batch decides which reads have it, and its records may have other offsets (FND-2). With `takes_batch` all of the batch
    is read, by a read that compares times with each record.
    """
    found = _first_at(segments, timestamp, options)
    if found is None:
        return None
    segment, offset, base = found
    if takes_batch:
        return min(offset, base)
    with suppress(RecordBatchError):
        batch = segment.find_offset(base)[1]
        if batch is not None and batch[1] <= base <= batch[2]:
            return min(max(offset, batch[1]), batch[2])
    return offset


def _first_at(segments: Iterable[SegmentLookup], timestamp: Timestamp, options: ReadOptions) -> tuple[SegmentLookup, int, int] | None:
    wanted = max(milliseconds(timestamp), _LEAST)
    if wanted > _MOST:
        return None
    found = ((one, _found_in(one, wanted, options)) for one in segments if not is_of_0_7(one.file.path))
    return next(((one, *place) for one, place in found if place is not None), None)


def within_times(segments: Sequence[SegmentLookup], times: tuple[Timestamp | None, Timestamp | None], options: ReadOptions) -> ReadOptions:
    """Return the options of a read of a range of times.

    A first time alone is a place in the log, as for Kafka's consumers: the read begins at the first record of this time or later, and goes
    on to the end. With a second time, the times of a record decide, wherever the record is: one bad clock ends no read. A record without a
    timestamp is in no range. The read ends early only where the headers give the times of all later records; see `_end_before`.

    Args:
        segments: those of a log, in the order of their offsets.
        times: the first time that is wanted, and the first one that is too late, if they are given.
        options: those of the read, with the offsets at which it begins and ends, if they are given.

    Raises:
        ValueError: if the first time is after the second one.
    """
    since, until = time_bounds(*times)
    anywhere = from_log_start(segments, replace(options, start_offset=None, end_offset=None))
    start = end = None
    if since is not None:
        found = first_place_at(segments, since, anywhere, takes_batch=until is not None)
        start = _MOST if found is None else found
    if until is not None:
        until = min(max(until, _LEAST), _MOST)
        end = _end_before(segments, until, anywhere)
        options = replace(options, times=(None if since is None else max(since, _LEAST), until))
    return options.sharing(start, end)


def from_log_start(segments: Sequence[SegmentLookup], options: ReadOptions) -> ReadOptions:
    """Return the options of a read without the records below the log start offset of its partition, which were deleted."""
    starts = [one.file.log_start for one in segments if one.file.log_start is not None]
    start = max(starts, default=None)
    is_needed = start is not None and (options.start_offset is None or options.start_offset < start)
    return replace(options, start_offset=start) if is_needed else options


def _end_before(segments: Sequence[SegmentLookup], until: int, options: ReadOptions) -> int | None:
    """Return the offset before which a read of records before a time can end; None if later records may be before it.

    It can end at the batch of the first record of that time, if the headers from there on give the times of all records (LogAppendTime, or
    batches of one record), and none is before it.
    """
    found = None if options.skips_damage else _first_at(segments, until, options)
    if found is None:
        return None
    first, _, base = found
    try:
        position, batch = first.find_offset(base)
        if batch is None or batch[1] != base:
            return None
        read = replace(options, check_crc=False)
        later = segments[segments.index(first) :]
        sources = (segment.file.source(position if segment is first else 0) for segment in later)
        return base if all(begins_at(source, until, read) for source in sources) else None
    except RecordBatchError:
        return None


def _found_in(segment: SegmentLookup, timestamp: int, options: ReadOptions) -> tuple[int, int] | None:
    position = 0
    if not options.skips_damage:
        # Batches whose headers say that all of their records are earlier are skipped.
        position, batch = segment.find_timestamp(timestamp)
        if batch is None:
            return None
    source = FileSource(segment.file.path, position, next_offset=segment.file.next_offset)
    found = core_first_offset_at(source, timestamp, looking_at_times(options))
    is_placed = segment.held is None or segment.held[0] == segment.file.named_offset
    if found is not None and segment.file.next_offset is not None and is_placed:
        # A damaged base offset may claim any offset, and nothing after it may be skipped.
        found = min(found[0], segment.file.next_offset - 1), min(found[1], segment.file.next_offset - 1)
    is_after = not options.skips_damage and found is not None and options.end_offset is not None and found[0] >= options.end_offset
    return None if is_after else found


def looking_at_times(options: ReadOptions) -> ReadOptions:
    """Return the options of a decode that looks at the times of records."""
    own = replace(
        options,
        columns=("offset", "timestampMs", "batchBaseOffset"),
        control=True,
        isolation="read_uncommitted",
        transactions=None,
        values="raw",
        threads=1,
        strict_tail=False,
        batch_size=4096,
        batch_bytes=1,
    )
    return own if options.skips_damage else replace(own, check_crc=True, end_offset=None)
