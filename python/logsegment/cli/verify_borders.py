"""Check that a segment goes on where the one before it ended (ORD-1, ORD-3)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from logsegment._core import Finding
from logsegment._log_paths import object_name
from logsegment.cli.inputs import InputSegment
from logsegment.cli.verify_survey import Survey
from logsegment.stores.uri import uncut_name


def border_findings(before: Survey, segment: InputSegment, survey: Survey) -> Iterator[Finding]:
    """What is wrong between a segment and the one before it, when the end of that and the beginning of this are intact.

    Kafka uploads no segment of a compacted topic, so that offsets which are missing between two uploads are a warning.
    """
    is_known = before.intact and survey.intact and not any(place.before_offset is None for place in before.lost)
    if segment.base_offset is None or not is_known or (survey.lost and survey.lost[0].position == 0):
        return
    last, first = before.intact[-1].last_offset, survey.intact[0].first_offset
    if first <= last:
        yield Finding("ORD-1", "warning", f"the segment before ends at offset {last}", "baseOffset", 0, 0, base_offset=first)
    elif last + 1 < segment.base_offset:
        is_upload = object_name(os.path.basename(uncut_name(segment.path))) is not None
        why = "an upload is gone" if is_upload else "usual where a topic is compacted, otherwise a segment is gone"
        text = f"offsets {last + 1} to {segment.base_offset - 1} are missing before the segment: {why}"
        severity = "warning" if is_upload else "info"
        yield Finding("ORD-3", severity, text, "baseOffset", 0, 0, base_offset=last + 1, last_offset=segment.base_offset - 1)
