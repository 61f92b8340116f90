"""The result of a validation: `Report`, and what its findings mean for a read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Literal

from logsegment._core import ArrowTable, Finding, RecordBatchError, findings_table
from logsegment._registration import IoStats
from logsegment._survey import DamageSummary, LostRange, SafeRange
from logsegment._text import count

#: Largest number of findings in a readable form; the others are counted.
SHOWN = 20
#: The rule of an incomplete entry.
TORN = "L8-14"
#: The rule of the information that a file has batches of magic 3.
PROPOSED = "EXPERIMENTAL"
#: The rule of batches on which their plugin failed.
FAILED = "S-P6"
#: Rules of batches that need a plugin and were not decompressed.
UNOPENED = frozenset({"S-P19", "S-P20", FAILED})
_REASONS: dict[str, str] = {
    "missing_plugin": "without their plugin",
    "failed": "of a plugin that failed",
    "limit": "over a limit",
    "dictionary": "without their zstd dictionary",
    "quirk": "that need a quirk",
    "format": "of a format that only its name reads",
}


class Report:
    """Result of a validation: findings in the order of the input. It can be pickled.

    Attributes:
        ok (bool): True without a finding of severity "error"; then `decode` with the same options does not raise. It may be True although
            `lost` is not empty: a torn entry at the end may hide valid entries (SWALLOWED).
        findings (list[Finding]): all findings.
        counts (dict[str, int]): findings by severity: "error", "warning", "info".
        lost (list[LostRange]): bytes that cannot be read, with the offsets around them. Batches that were not decompressed are not in it.
        safe_offsets (list[SafeRange]): the offsets of the valid batches; a range for each run of batches without damage between them.
        path (str or None): the file or directory, without secrets; None for a buffer and for several files.
        files (list[Report]): of several files a report for each, and for each directory with findings; else the report itself.
        state (str): "clean", "readable" (warnings), "undecompressed" (no damage, but batches that were not opened) or "damaged" (errors).
        batches (int): valid batches.
        records (int or None): their records; None if they were not counted.
        undecompressed (list[Finding]): findings about batches that are not damaged and were not opened: of missing plugins
            (S-P19, S-P20) or failed plugins (S-P6), over a limit (COD-6), without their zstd dictionary (COD-Z5), readable with a
            quirk (COD-L8, COD-L12), of magic 3 without its name as the `format` (MAP-3).
        io_stats: counters of the read.

    Example:
        >>> import logsegment as ls
        >>> ls.validate(ls.FileSource("00000000000000000000.log")).counts
        {'error': 0, 'warning': 0, 'info': 0}
    """

    def __init__(
        self,
        findings: list[Finding],
        io_stats: dict[str, int],
        surveys: Sequence[DamageSummary] = (),
        *,
        has_checksums: bool = True,
        path: str | None = None,
    ) -> None:
        self.findings = findings
        self.io_stats = io_stats
        self.path = path
        #: Of the files of a directory: what they are, and the findings are about.
        self.is_of_directory = False
        self.title: str | None = None
        self._files: list[Report] = []
        self.lost: list[LostRange] = [place for survey in surveys for place in survey.lost]
        self.safe_offsets: list[SafeRange] = [run for survey in surveys for run in survey.valid]
        self._surveys = list(surveys)
        # Without checksums, a plugin may have failed on damaged bytes.
        self._has_checksums = has_checksums

    @classmethod
    def of_files(cls, reports: Iterable[Report]) -> Report:
        """Return the report of several files."""
        files = list(reports)
        io_stats: Counter[str] = Counter()
        for report in files:
            io_stats.update(report.io_stats)
        surveys = [survey.in_file(report.path or "") for report in files for survey in report._surveys]
        named = [in_named_file(finding, report.path) for report in files for finding in report.findings]
        first = next((finding for finding in named if finding.rule == PROPOSED), None)
        # The format of every file is worth one finding.
        whole = cls([finding for finding in named if finding.rule != PROPOSED or finding is first], IoStats(io_stats), surveys)
        whole._has_checksums = all(report._has_checksums for report in files)
        whole._files = files
        return whole

    def of_directory(self, path: str, title: str | None = None) -> Report:
        """Return the same report as one about the files next to the logs of a directory."""
        self.path, self.title, self.is_of_directory = path, title, True
        return self

    def forget_survey(self) -> None:
        """Forget the ranges of valid batches, which are not known."""
        self._surveys = []

    @property
    def files(self) -> list[Report]:
        """Return the reports of several files, or of one the report itself."""
        return self._files or [self]

    @property
    def survey(self) -> DamageSummary | None:
        """Return the ranges of one file, or None if they were not looked for."""
        return self._surveys[0] if len(self._surveys) == 1 else None

    @property
    def state(self) -> Literal["clean", "readable", "undecompressed", "damaged"]:
        """Return what is wrong at worst."""
        if self.errors:
            return "damaged"
        return "undecompressed" if self.undecompressed else "readable" if self.counts["warning"] else "clean"

    @property
    def errors(self) -> int:
        """Return the number of errors that are damage."""
        return sum(finding.severity == "error" and not self._is_unopened(finding) for finding in self.findings)

    @property
    def batches(self) -> int:
        """Return the number of valid batches."""
        if self._files:
            return sum(report.batches for report in self._files)
        return self.survey.batches if self.survey and self.survey.is_complete else self.io_stats["entries_read"]

    @property
    def records(self) -> int | None:
        """Return the number of records of these; None if they were not counted."""
        if self._files:
            return sum(report.records or 0 for report in self._files)
        if self.survey and self.survey.is_complete:
            return self.survey.records
        return self.io_stats["records"] or None

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of findings of every severity."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in ("error", "warning", "info")}

    @property
    def ok(self) -> bool:
        """Return True if no finding is of severity "error"."""
        return self.counts["error"] == 0

    @property
    def undecompressed(self) -> list[Finding]:
        """Return the findings about batches that were not opened, and have no known damage.

        Their plugin is missing or failed, they are over a limit, they need a zstd dictionary that was not supplied, they need a
        quirk, or they are of magic 3, and `format` does not name it.
        Without `check_crc`, a batch with a failed plugin is not included, because it may be damaged.
        """
        return [finding for finding in self.findings if self._is_unopened(finding)]

    def _is_damage(self, finding: Finding) -> bool:
        return is_damage(finding) and not self._is_unopened(finding)

    def _is_unopened(self, finding: Finding) -> bool:
        return is_unreadable(finding) or (finding.rule == FAILED and finding.severity == "error" and self._has_checksums)

    def to_arrow(self) -> ArrowTable:
        """Return the findings as an Arrow table, one row each."""
        return findings_table(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {
            "ok": self.ok,
            "counts": self.counts,
            "undecompressed": len(self.undecompressed),
            "lost": [place.to_dict() for place in self.lost],
            "safe_offsets": [run.to_dict() for run in self.safe_offsets],
            **({"path": self.path} if self.path is not None else {}),
            **({"files": [report.to_dict() for report in self._files]} if self._files else {}),
            "findings": [finding.to_dict() for finding in self.findings],
            "io_stats": dict(self.io_stats),
        }

    def __repr__(self) -> str:
        lines = [self._summary()]
        lines += [f"  {finding.severity:7} {finding.rule:8} {finding.path}: {finding.message}" for finding in self.findings[:SHOWN]]
        if len(self.findings) > SHOWN:
            lines.append(f"  ... and {len(self.findings) - SHOWN} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = ("severity", "rule", "path", "message")
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(str(getattr(finding, cell)))}</td>" for cell in cells) + "</tr>"
            for finding in self.findings[:SHOWN]
        )
        head = "".join(f"<th>{cell}</th>" for cell in cells)
        more = len(self.findings) - SHOWN
        tail = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<p>{escape(self._summary())}</p><table><tr>{head}</tr>{rows}</table>{tail}"

    def _summary(self) -> str:
        undecompressed: Counter[str | None] = Counter(finding.unopened for finding in self.undecompressed)
        has_damage = any(finding.severity == "error" and not self._is_unopened(finding) for finding in self.findings)
        verdict = "damaged" if has_damage else "not decompressed" if undecompressed else "ok"
        counts = ", ".join(f"{number} {severity}" for severity, number in self.counts.items())
        counts += "".join(f", {undecompressed[reason]} of them {text}" for reason, text in _REASONS.items() if undecompressed[reason])
        counts += f", {count(sum(place.length for place in self.lost), 'byte')} lost" if self.lost else ""
        return f"Report({verdict}: {counts}; {count(self.io_stats['entries_read'], 'entry')}, {count(self.io_stats['records'], 'record')})"


#: A place of a finding with its file: `x.log/entry@0`, `x.rsm-manifest@0`; without a file it is `entry@0` or the name of a field.
_NAMES_FILE = re.compile(r"(?!entry@).+(/entry@\d|@\d+$)")


def in_named_file(finding: Finding, path: str | None) -> Finding:
    """Return a finding of a file with the name of the file before its place, unless it names a file already."""
    if path is None or _NAMES_FILE.match(finding.path):
        return finding
    place = (finding.position, finding.length, finding.base_offset, finding.last_offset, finding.record_index, finding.field)
    return Finding(finding.rule, finding.severity, finding.message, f"{path}/{finding.path}", *place)


def is_unreadable(problem: Finding | RecordBatchError) -> bool:
    """Return True for a batch without known damage that cannot be read here, at which `unreadable` decides."""
    return problem.is_unreadable


def needs_format(finding: Finding) -> bool:
    """Return True for the error of a valid batch that only the name of its format reads; invalid bytes have no base offset."""
    return finding.rule == "MAP-3" and finding.base_offset is not None


def is_damage(finding: Finding, *, has_torn: bool = False) -> bool:
    """Return True for a finding at which a read fails, or ends although valid entries follow.

    Args:
        finding: of a decode or a validation.
        has_torn: a torn tail is damage too, as where the whole file is compared with another one.
    """
    return finding.is_damage or (has_torn and finding.rule == TORN)
