"""What a user is told without an error, each in one warning for a plan: indexes that are missing or damaged, uploads that are left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from logsegment._core import Finding, internal_topics
from logsegment._decode import other_topics
from logsegment._options import INTERNAL
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import is_gap

#: Files that are named; of the others the number is told.
NAMED = 3


def warn_of_indexes(segments: Iterable[Segment]) -> None:
    """Say once which segments were looked up without sound indexes: their plan took longer, and gives the same."""
    found = {finding.path: f"{finding.path}: [{finding.rule}] {finding.message}" for one in segments for finding in _findings(one)}
    if found:
        told = list(found.values())
        more = f"; and {len(told) - NAMED} more" if len(told) > NAMED else ""
        warnings.warn(f"indexes do not help, batch headers were read instead: {'; '.join(told[:NAMED])}{more}", UserWarning, stacklevel=4)


def warn_of_gaps(left_out: Iterable[Finding]) -> None:
    """Say once which offsets no upload of tiered storage has that can be read: they are missing among the rows."""
    warn_of_uploads(filter(is_gap, left_out))


def warn_of_topics(columns: Iterable[str], topics: Iterable[str | None]) -> None:
    """Warn if the column `internal` is read and no topic is internal."""
    named = dict.fromkeys(topics)
    if INTERNAL in columns and not any(name in internal_topics() for name in named) and (text := other_topics(named)):
        warnings.warn(f"option values: {text}", UserWarning, stacklevel=3)


def warn_of_shared_plan() -> None:
    """Say what PySpark (4.3) makes of a plan with pushed filters: it gives it to the next query over the same frame, which misses rows."""
    told = "PySpark uses what one query reads for others over the same loaded frame: load one for each query, and for each side of a union"
    warnings.warn(f"option pushFilters: {told}", UserWarning, stacklevel=3)


def warn_of_uploads(left_out: Iterable[Finding]) -> None:
    """Warn once of the segments that are not read whose offsets are missing among the rows."""
    told = [f"{one.path.rpartition('@')[0]}: [{one.rule}] {one.message}" for one in left_out]
    if told:
        more = f"; and {len(told) - NAMED} more" if len(told) > NAMED else ""
        warnings.warn(f"segments are left out: {'; '.join(told[:NAMED])}{more}", UserWarning, stacklevel=4)


def _findings(segment: Segment) -> list[Finding]:
    try:
        return [one for one in segment.index_findings if not _is_of_active_segment(one)]
    except OSError:
        return []


def _is_of_active_segment(finding: Finding) -> bool:
    """The zeros behind the entries are the room that a broker keeps for more of them: they are in nobody's way."""
    return finding.rule == "SEG-5" and finding.severity == "info"
