"""Findings on stderr, for the verbs that return rows; `verify` has its own form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from logsegment import Finding
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, worst
from logsegment.cli.messages import count, say
from logsegment.cli.output.progress import Progress
from logsegment.cli.redaction import Redactor

#: Findings of a file that are listed.
SHOWN = 10


def report(findings: Sequence[Finding], name: str, progress: Progress, *, quiet: bool, redactor: Redactor | None = None) -> int:
    """Report the findings of a file; return the exit code: `FOUND` if damage was skipped, `UNREADABLE` for batches that were not read.

    Skipped entries are always reported. An unfinished end is usual in a file in use, so `quiet` hides it.
    """
    reported = [finding for finding in findings if finding.is_damage or finding.is_unreadable or not quiet]
    if reported:
        with progress.aside():
            _say_all(reported, name, redactor)
    counted = [finding for finding in reported if finding.is_damage or finding.is_unreadable]
    return worst(CLEAN, *(UNREADABLE if finding.is_unreadable else FOUND for finding in counted))


def folded(findings: Sequence[Finding]) -> list[tuple[Finding, int]]:
    """Return findings and the number of batches of each; equal findings about a plugin are folded into the first."""
    alike = Counter(_likeness(finding) for finding in findings if finding.unopened is not None)
    firsts = (finding for finding in findings if finding.unopened is None or _likeness(finding) in alike)
    return [(finding, alike.pop(_likeness(finding)) if finding.unopened is not None else 1) for finding in firsts]


def more_like_it(batches: int) -> str:
    """Return the end of the text of a finding about this many batches."""
    return f"; {count(batches - 1, 'batch')} more like it" if batches > 1 else ""


def _likeness(finding: Finding) -> tuple[str, str, str | None, int | None]:
    return finding.rule, finding.message, finding.field, finding.record_index


def _say_all(findings: Sequence[Finding], name: str, redactor: Redactor | None) -> None:
    lines = folded(findings)
    for finding, batches in lines[:SHOWN]:
        words = finding.message if redactor is None else redactor.finding(finding)
        say(f"{name}: {finding.severity} [{finding.rule}] at byte {finding.position:,}: {words}{more_like_it(batches)}")
    if len(lines) > SHOWN:
        kinds: Counter[str] = Counter()
        for finding, batches in lines[SHOWN:]:
            kinds[finding.severity] += batches
        rest = ", ".join(count(number, severity) for severity, number in kinds.items())
        say(f"{name}: and {rest} more; `logsegment verify` lists them")
