"""Look up the offsets of times in a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from logsegment._options import ReadOptions, Timestamp, milliseconds
from logsegment.log.valid_times import valid_offset_at

if TYPE_CHECKING:
    from logsegment.log.segment import Segment


def first_offset_at(segments: Iterable[Segment], timestamp: Timestamp, options: ReadOptions) -> int | None:
    """Return the offset of the first record of a time or later in the segments of a log; None if there is none.

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
    options = replace(options, experimental=options.takes_v3)
    found = (_found_in(one, timestamp, options) for one in segments)
    return next((offset for offset in found if offset is not None), None)


def bounds(
    segments: Sequence[Segment],
    offsets: tuple[int | None, int | None],
    times: tuple[Timestamp | None, Timestamp | None],
    options: ReadOptions,
) -> tuple[int | None, int | None]:
    """Return the offsets that are wanted, also if they were given as times. If no record is late enough, it is the end of the log."""
    (start, end), (start_timestamp, end_timestamp) = offsets, times
    if start_timestamp is not None:
        found = first_offset_at(segments, start_timestamp, options)
        start = 2**63 - 1 if found is None else found if start is None else max(found, start)
    if end_timestamp is not None:
        found = first_offset_at(segments, end_timestamp, options)
        end = end if found is None else found if end is None else min(found, end)
    return start, end


def _found_in(segment: Segment, timestamp: Timestamp, options: ReadOptions) -> int | None:
    if not options.skips_damage:
        found = segment._first_offset_at(timestamp, options)
        return None if found is None or (options.end_offset is not None and found >= options.end_offset) else found
    # Entries of Kafka 0.7 have no times.
    return None if segment.path.endswith(".kafka") else valid_offset_at(segment.path, milliseconds(timestamp), options)
