"""Where one segment ends and the next one begins: the order of the segments, and the findings between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from logsegment._core import Finding, Place
from logsegment._survey import UNFINISHED, Survey
from logsegment.cli.inputs import InputSegment


def previous_segments(segments: list[InputSegment]) -> dict[str, str]:
    """Return the path of the segment before each segment that follows another one in its directory."""
    ordered = sorted((one for one in segments if one.base_offset is not None), key=lambda one: (one.directory, one.base_offset))
    return {
        later.path: one.path
        for one, later in pairwise(ordered)
        if (one.partition is not None or one.is_listed) and (one.directory, one.partition) == (later.directory, later.partition)
    }


def border_findings(before: Survey | None, segment: InputSegment, own: Survey | None) -> Iterator[Finding]:
    """Yield the findings between a segment and the one before it, if both are valid there.

    Kafka uploads no segment of a compacted topic, so that offsets which are missing between two uploads are a warning. Offsets of Kafka 0.7
    are positions, which follow from the names.
    """
    if before is None or own is None or segment.is_of_0_7 or segment.base_offset is None or not before.valid or not own.valid:
        return
    is_damaged = any(place.before_offset is None or place.rule == UNFINISHED for place in before.lost)
    if is_damaged or (own.lost and own.lost[0].position == 0):
        return
    last, first = before.valid[-1].last_offset, own.valid[0].first_offset
    if first <= last:
        yield Finding("ORD-1", "warning", f"the previous segment ends at offset {last}", "baseOffset", 0, 0, base_offset=first)
    elif last + 1 < segment.base_offset:
        is_upload = Place(segment.path).uploaded_name() is not None
        reason = "an upload is missing" if is_upload else "usual in a compacted topic, otherwise a segment is missing"
        text = f"offsets {last + 1} to {segment.base_offset - 1} are missing before the segment: {reason}"
        severity = "warning" if is_upload else "info"
        yield Finding("ORD-3", severity, text, "baseOffset", 0, 0, base_offset=last + 1, last_offset=segment.base_offset - 1)
