"""Wanted offsets of a log, also those that are told as times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from logsegment._core import Limits
from logsegment._times import Timestamp
from logsegment.record_options import RecordOptions, takes_v3

if TYPE_CHECKING:
    from logsegment.plugins import Registry
    from logsegment.segment import Segment


def bounds(
    segments: Sequence[Segment],
    offsets: tuple[int | None, int | None],
    times: tuple[Timestamp | None, Timestamp | None],
    options: RecordOptions,
) -> tuple[int | None, int | None]:
    """Offsets, also for those that were given as times. Where no record is late enough, the end of the log is meant."""
    (start, end), (start_timestamp, end_timestamp) = offsets, times
    find = partial(first_offset_at, segments, codecs=options.get("codecs"), experimental=takes_v3(options), limits=options.get("limits"))
    if start_timestamp is not None:
        found = find(start_timestamp)
        start = 2**63 - 1 if found is None else found if start is None else max(found, start)
    if end_timestamp is not None:
        found = find(end_timestamp)
        end = end if found is None else found if end is None else min(found, end)
    return start, end


def first_offset_at(
    segments: Sequence[Segment],
    timestamp: Timestamp,
    *,
    codecs: Registry | None = None,
    experimental: bool = False,
    limits: Limits | None = None,
) -> int | None:
    """The first offset that one of the segments finds for a time; see `Segment.offset_for_timestamp`."""
    found = (one.offset_for_timestamp(timestamp, codecs=codecs, experimental=experimental, limits=limits) for one in segments)
    return next((offset for offset in found if offset is not None), None)
