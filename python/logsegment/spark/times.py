"""Where a time is in a log: segments go in, the offset of its first record of that time or later comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import logsegment as ls
from logsegment.segments import SegmentFile


def first_offset_at(
    segments: Sequence[SegmentFile], looked_up: list[ls.Segment], options: dict[str, Any], recovers: bool, timestamp: int
) -> int | None:
    """Offset of the first record of a time or later; None when there is none.

    Args:
        segments: of one log.
        looked_up: gets those in which it looked.
        options: of `Segment.offset_for_timestamp`.
        recovers: go on past damage.
        timestamp: milliseconds since the epoch.

    Raises:
        RecordBatchError: when bytes on the way cannot be read, unless `recovers` is set.
        OSError: when a file cannot be read.
    """
    for segment in map(ls.Segment, segments):
        looked_up.append(segment)
        found = (_intact_offset if recovers else _offset)(segment, options, timestamp)
        if found is not None:
            return found
    return None


def _offset(segment: ls.Segment, options: dict[str, Any], timestamp: int) -> int | None:
    return segment.offset_for_timestamp(timestamp, **options)


def _intact_offset(segment: ls.Segment, options: dict[str, Any], timestamp: int) -> int | None:
    """Also where a header on the way is damaged, or claims all bytes that follow: then all that can be read is looked at."""
    try:
        found = _offset(segment, options, timestamp)
    except ls.RecordBatchError:
        return _looked_for(segment, options, timestamp)
    return _looked_for(segment, options, timestamp) if found is None and _is_damaged(segment, options) else found


def _is_damaged(segment: ls.Segment, options: dict[str, Any]) -> bool:
    source = ls.FileSource(segment.path)
    return bool(ls.validate(source, depth="headers", check_crc=False, experimental=options["experimental"]).findings)


def _looked_for(segment: ls.Segment, options: dict[str, Any], timestamp: int) -> int | None:
    with segment.records(columns=["offset", "timestampMs"], control=True, on_error="skip", **options) as stream:
        for batch in stream:
            rows = batch.to_pyarrow()
            for offset, time in zip(rows["offset"].to_pylist(), rows["timestampMs"].to_pylist(), strict=True):
                if time >= timestamp:
                    return int(offset)
    return None
