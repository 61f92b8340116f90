"""Wanted offsets of a log, also those that are told as times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logsegment._core import Limits
from logsegment._options import Timestamp, milliseconds
from logsegment.log.record_options import RecordOptions, takes_v3
from logsegment.log.valid_times import intact_offset_at

if TYPE_CHECKING:
    from logsegment.log.segment import Segment
    from logsegment.plugins import Registry


@dataclass(frozen=True, slots=True)
class TimeLookup:
    """How times are looked up in a log.

    Attributes:
        recovers: only batches whose checksums match are believed, and everything in front of the record is read; else indexes and headers
            lead to it, and damage on the way is an error.
        check_crc: of a read that recovers; without it, damaged batches count as far as they can be decoded, and all records are looked at.
        start_offset: records before it do not count.
        end_offset: nor those from it on.
        codecs: as in `decode`.
        experimental: as in `decode`.
        limits: as in `decode`.
    """

    recovers: bool = False
    check_crc: bool = True
    start_offset: int | None = None
    end_offset: int | None = None
    codecs: Registry | None = None
    experimental: bool = False
    limits: Limits | None = None


def first_offset_at(segments: Iterable[Segment], timestamp: Timestamp, lookup: TimeLookup) -> int | None:
    """The offset of the first record of a time or later in the segments of a log; None when there is none.

    Raises:
        RecordBatchError: when bytes on the way cannot be read, unless the look-up recovers.
        OSError: when a file cannot be read.
    """
    found = (_found_in(one, timestamp, lookup) for one in segments)
    return next((offset for offset in found if offset is not None), None)


def bounds(
    segments: Sequence[Segment],
    offsets: tuple[int | None, int | None],
    times: tuple[Timestamp | None, Timestamp | None],
    options: RecordOptions,
) -> tuple[int | None, int | None]:
    """Offsets, also for those that were given as times. Where no record is late enough, the end of the log is meant."""
    (start, end), (start_timestamp, end_timestamp) = offsets, times
    lookup = _lookup_of(options)
    if start_timestamp is not None:
        found = first_offset_at(segments, start_timestamp, lookup)
        start = 2**63 - 1 if found is None else found if start is None else max(found, start)
    if end_timestamp is not None:
        found = first_offset_at(segments, end_timestamp, lookup)
        end = end if found is None else found if end is None else min(found, end)
    return start, end


def _found_in(segment: Segment, timestamp: Timestamp, lookup: TimeLookup) -> int | None:
    if not lookup.recovers:
        asked: dict[str, Any] = {"codecs": lookup.codecs, "experimental": lookup.experimental, "limits": lookup.limits}
        found = segment.offset_for_timestamp(timestamp, start_offset=lookup.start_offset, **asked)
        return None if found is None or (lookup.end_offset is not None and found >= lookup.end_offset) else found
    # Entries of Kafka 0.7 have no times.
    return None if segment.path.endswith(".kafka") else intact_offset_at(segment.path, milliseconds(timestamp), lookup)


def _lookup_of(options: RecordOptions) -> TimeLookup:
    return TimeLookup(
        recovers=options.get("on_error") == "skip",
        check_crc=options.get("check_crc", True),
        codecs=options.get("codecs"),
        experimental=takes_v3(options),
        limits=options.get("limits"),
    )
