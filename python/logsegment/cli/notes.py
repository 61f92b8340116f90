"""Notes about the inputs of a verb: findings of files that are not read, and of log start offsets."""

from __future__ import annotations

from collections.abc import Iterable

from logsegment import Finding
from logsegment.cli.messages import say

#: Findings about files that are not read that are shown.
NOTES = 20
#: The rules of findings about log start offsets.
LOG_START_RULES = frozenset({"SEG-19", "SEG-20", "SEG-21"})


def below_text(below: int) -> str:
    """Return a remark about records below log start offsets that an output does not have."""
    return f" ({below:,} below the log start offset)" if below else ""


def show_notes(findings: Iterable[Finding], *, quiet: bool) -> None:
    """Show what a function reports about partitions before it reads them.

    Args:
        findings: what an observer gets.
        quiet: leave out findings that are only information, and those about log start offsets.
    """
    given = list(findings)
    notes = [finding for finding in given if finding.rule not in LOG_START_RULES and not (quiet and finding.severity == "info")]
    for finding in notes[:NOTES]:
        show_note(finding)
    if len(notes) > NOTES:
        say(f"and {len(notes) - NOTES:,} more files are not read; `logsegment verify` lists them")
    for finding in given:
        if finding.rule in LOG_START_RULES and not quiet:
            show_note(finding)


def show_note(finding: Finding) -> None:
    """Show a finding of a file, such as an upload of tiered storage that is not read although no other upload has its offsets."""
    say(f"{finding.path.rpartition('@')[0]}: {finding.severity} [{finding.rule}]: {finding.message}")
