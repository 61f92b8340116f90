"""Where a time is in a log: segments go in, the offset of its first record of that time or later comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import logsegment as ls
from logsegment.segments import SegmentFile


def first_offset_at(segments: Sequence[SegmentFile], looked_up: list[ls.Segment], options: dict[str, Any], timestamp: int) -> int | None:
    """Offset of the first record of a time or later; None when there is none.

    Args:
        segments: of one log.
        looked_up: gets those in which it looked.
        options: of `Segment.offset_for_timestamp`.
        timestamp: milliseconds since the epoch.

    Raises:
        RecordBatchError: when bytes on the way cannot be read.
        OSError: when a file cannot be read.
    """
    for segment in map(ls.Segment, segments):
        looked_up.append(segment)
        found = segment.offset_for_timestamp(timestamp, **options)
        if found is not None:
            return found
    return None
