"""Look up the offsets of times in a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from logsegment._core import FileSource
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
    wanted = max(milliseconds(timestamp), _LEAST)
    if wanted > _MOST:
        return None
    found = (_found_in(one, wanted, options) for one in segments if not is_of_0_7(one.file.path))
    return next((offset for offset in found if offset is not None), None)


def bounds(
    segments: Sequence[SegmentLookup], times: tuple[Timestamp | None, Timestamp | None], options: ReadOptions
) -> tuple[int | None, int | None]:
    """Return the first offset that is wanted and the first one after it, which is not.

    Args:
        segments: those of a log, in the order of their offsets.
        times: the times at which the read begins and ends, if they are given. If no record is late enough, it is the end of the log.
        options: those of the read, with the offsets at which it begins and ends, if they are given.

    Raises:
        ValueError: if the first time is after the second one.
    """
    start, end = options.start_offset, options.end_offset
    anywhere = from_log_start(segments, replace(options, start_offset=None, end_offset=None))
    since, until = time_bounds(*times)
    if since is not None:
        found = first_offset_at(segments, since, anywhere)
        start = _MOST if found is None else found if start is None else max(found, start)
    if until is not None:
        found = first_offset_at(segments, until, anywhere)
        end = end if found is None else found if end is None else min(found, end)
    return start, end


def from_log_start(segments: Sequence[SegmentLookup], options: ReadOptions) -> ReadOptions:
    """Return the options of a read without the records below the log start offset of its partition, which were deleted."""
    starts = [one.file.log_start for one in segments if one.file.log_start is not None]
    start = max(starts, default=None)
    is_needed = start is not None and (options.start_offset is None or options.start_offset < start)
    return replace(options, start_offset=start) if is_needed else options


def _found_in(segment: SegmentLookup, timestamp: int, options: ReadOptions) -> int | None:
    position = 0
    if not options.skips_damage:
        # Batches whose headers say that all of their records are earlier are skipped.
        position, batch = segment.find_timestamp(timestamp)
        if batch is None:
            return None
    found = core_first_offset_at(FileSource(segment.file.path, position), timestamp, _decoding(options))
    is_after = not options.skips_damage and found is not None and options.end_offset is not None and found >= options.end_offset
    return None if is_after else found


def _decoding(options: ReadOptions) -> ReadOptions:
    """Return the options of the decode that looks at the times of records."""
    own = replace(
        options,
        columns=("offset", "timestampMs"),
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
