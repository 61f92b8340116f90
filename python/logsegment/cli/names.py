"""Whether a segment holds what its name says: the offset that it begins with (rule SEG-1)."""

from __future__ import annotations

from collections.abc import Iterator

import logsegment as ls
from logsegment.cli.paths import Segment
from logsegment.cli.survey import Survey


def name_findings(segment: Segment, survey: Survey) -> Iterator[ls.Finding]:
    """What is wrong with the name, if it is that of a segment and the beginning of the file is intact."""
    named = segment.base_offset
    is_beheaded = bool(survey.lost) and survey.lost[0].position == 0
    if named is None or is_beheaded or not survey.intact:
        return
    first = survey.intact[0].first_offset
    if first < named:
        text = f"the name says that offset {named} comes first, but {first} does: was the file renamed, or is it of another partition?"
        yield _finding("warning", text, first)
    elif first > named:
        text = f"the name says that offset {named} comes first, but {first} does: usual where a topic is compacted, otherwise a wrong name"
        yield _finding("info", text, first)


def _finding(severity: str, message: str, first: int) -> ls.Finding:
    return ls.Finding("SEG-1", severity, message, "name", 0, 0, baseOffset=first)
