"""Findings on stderr, for the verbs that give rows; `verify` has its own way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from logsegment import Finding
from logsegment.cli.messages import count, say
from logsegment.cli.progress import Progress
from logsegment.redacting import Redactor

#: Findings of a file that are told one by one.
SHOWN = 10


def tell(findings: Sequence[Finding], name: str, progress: Progress, *, quiet: bool, redactor: Redactor | None = None) -> bool:
    """Tell what was met in a file; true when something was left out.

    Errors are always told. An unfinished end is usual in a file in use, so it is a note.
    """
    told = [finding for finding in findings if finding.severity == "error" or not quiet]
    if told:
        with progress.aside():
            _say_all(told, name, redactor)
    return any(finding.severity == "error" for finding in findings)


def _say_all(told: Sequence[Finding], name: str, redactor: Redactor | None) -> None:
    for finding in told[:SHOWN]:
        words = finding.message if redactor is None else redactor.finding(finding)
        say(f"{name}: {finding.severity} [{finding.rule}] at byte {finding.position:,}: {words}")
    if len(told) > SHOWN:
        kinds = Counter(finding.severity for finding in told[SHOWN:])
        rest = ", ".join(count(number, severity) for severity, number in kinds.items())
        say(f"{name}: and {rest} more; `logsegment verify` lists them")
