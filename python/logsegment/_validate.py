"""Validate sources and segments: `validate`, `Report`, and the error that a read raises at a finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, TypeAlias

from logsegment._core import (
    ArrowTable,
    CorruptError,
    FileSource,
    Finding,
    InvalidError,
    RecordBatchError,
    RecordedLogs,
    SegmentFile,
    SegmentLookup,
    TruncatedError,
    decode,
    ensure_log_segment,
    findings_table,
    valid_batches,
    validate_findings,
    validate_log,
)
from logsegment._errors import in_file
from logsegment._given import IoStats
from logsegment._log_paths import is_of_0_7
from logsegment._options import Depth, EntryKeywords, ReadOptions
from logsegment._places import is_tiered, shown
from logsegment._survey import SWALLOWED, UNFINISHED, LostRange, SafeRange, Survey, Totals, survey, surveyed_source
from logsegment._text import count
from logsegment.tiered.listing import with_lost_indexes

#: Largest number of findings in a readable form; the others are counted.
SHOWN = 20
#: The rule of an incomplete entry.
TORN = "L8-14"
#: Rules of an upload in tiered storage. They compare batches with the manifest and with each other; a single batch cannot break them.
_OFFSETS = ("TS-23", "ORD-1")
#: Rules of batches that need a missing plugin.
MISSING_PLUGIN = frozenset({"S-P19", "S-P20"})
#: The rule of batches on which their plugin failed.
FAILED = "S-P6"
#: Rules of batches that need a plugin and were not decompressed.
UNOPENED = MISSING_PLUGIN | {FAILED}
#: The rule of a claim over a limit of the caller.
LIMIT = "COD-6"
#: The rule of a zstd frame whose dictionary was not supplied.
NO_DICTIONARY = "COD-Z5"
#: Rules of batches that cannot be read here, if the finding has the base offset of a whole batch. Other bytes may claim the same.
_UNREADABLE = MISSING_PLUGIN | {LIMIT, NO_DICTIONARY, "MAP-3"}
_OVER_LIMIT = re.compile(r"over the limit (\w+) = (\d+)")
Why: TypeAlias = Literal["missing_plugin", "failed", "limit", "dictionary", "experimental"]
_REASONS: dict[Why, str] = {
    "missing_plugin": "without their plugin",
    "failed": "of a plugin that failed",
    "limit": "over a limit",
    "dictionary": "without their zstd dictionary",
    "experimental": "of the experimental format v3",
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
        state (str): "clean", "readable" (warnings), "unopened" (no damage, but batches that were not opened) or "damaged" (errors).
        batches (int): batches that are intact.
        records (int or None): their records; None if they were not counted.
        unopened (list[Finding]): findings about batches that are not damaged and were not opened: of missing plugins (S-P19, S-P20) or
            failed plugins (S-P6), over a limit (COD-6), without their zstd dictionary (COD-Z5), of magic 3 without `experimental` (MAP-3).
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
        surveys: Sequence[Survey] = (),
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
        self.lost: list[LostRange] = [place for one in surveys for place in one.lost]
        self.safe_offsets: list[SafeRange] = [run for one in surveys for run in one.valid]
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
        whole = cls([_in_file(finding, report.path) for report in files for finding in report.findings], IoStats(io_stats), surveys)
        whole._has_checksums = all(report._has_checksums for report in files)
        whole._files = files
        return whole

    def of_directory(self, path: str, title: str | None = None) -> Report:
        """Return the same report as one about the files of a directory that are no logs."""
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
    def survey(self) -> Survey | None:
        """Return the ranges of one file; None if nobody looked for them."""
        return self._surveys[0] if len(self._surveys) == 1 else None

    @property
    def state(self) -> Literal["clean", "readable", "unopened", "damaged"]:
        """Return what is wrong at worst."""
        if self.errors:
            return "damaged"
        return "unopened" if self.unopened else "readable" if self.counts["warning"] else "clean"

    @property
    def errors(self) -> int:
        """Return the number of errors that are damage."""
        return sum(finding.severity == "error" and not self._is_unopened(finding) for finding in self.findings)

    @property
    def batches(self) -> int:
        """Return the number of batches that are intact."""
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
    def unopened(self) -> list[Finding]:
        """Return the findings about batches that were not opened, and have no known damage.

        Their plugin is missing or failed, they are over a limit, they need a zstd dictionary that was not supplied, or they are of magic 3
        without `experimental`. Without `check_crc`, a batch with a failed plugin is not included, because it may be damaged.
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
            "unopened": len(self.unopened),
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
        unopened = Counter(why(finding) for finding in self.unopened)
        has_damage = any(finding.severity == "error" and not self._is_unopened(finding) for finding in self.findings)
        verdict = "damaged" if has_damage else "not decompressed" if unopened else "ok"
        counts = ", ".join(f"{number} {severity}" for severity, number in self.counts.items())
        counts += "".join(f", {unopened[reason]} of them {text}" for reason, text in _REASONS.items() if unopened[reason])
        counts += f", {count(sum(place.length for place in self.lost), 'byte')} lost" if self.lost else ""
        return f"Report({verdict}: {counts}; {count(self.io_stats['entries_read'], 'entry')}, {count(self.io_stats['records'], 'record')})"


def _in_file(finding: Finding, path: str | None) -> Finding:
    """Return a finding of a file with the name of the file before its place."""
    if path is None or finding.path.startswith(path):
        return finding
    one = finding
    place = (one.position, one.length, one.base_offset, one.last_offset, one.record_index, one.field)
    return Finding(one.rule, one.severity, one.message, f"{path}/{one.path}", *place)


def is_unopened(finding: Finding) -> bool:
    """Return True for the error of a batch that was not decompressed; if its checksum was verified, the batch is not damaged."""
    return is_unreadable(finding) or (finding.severity == "error" and finding.rule == FAILED)


def is_unreadable(problem: Finding | RecordBatchError) -> bool:
    """Return True for a batch without known damage that cannot be read here, at which `unreadable` decides."""
    return problem.rule in _UNREADABLE and problem.base_offset is not None


def is_experimental(finding: Finding) -> bool:
    """Return True for the error of a valid batch of magic 3 without `experimental`; invalid bytes have no base offset."""
    return finding.rule == "MAP-3" and finding.base_offset is not None


def why(finding: Finding) -> Why:
    """Return the reason why a batch was not decompressed."""
    if finding.rule in MISSING_PLUGIN:
        return "missing_plugin"
    reasons: dict[str, Why] = {LIMIT: "limit", NO_DICTIONARY: "dictionary", FAILED: "failed"}
    return reasons.get(finding.rule, "experimental")


def limit_of(finding: Finding) -> str:
    """Return the limit that a batch is over, with its value: `max_ratio 40,000`."""
    found = _OVER_LIMIT.search(finding.message)
    return f"{found[1]} {int(found[2]):,}" if found else finding.message


def validated(source: Any, depth: Depth, options: ReadOptions, *, file: FileSource | None = None, is_surveyed: bool = True) -> Report:
    """Validate a source with built options.

    Args:
        source: see `decode`.
        depth: see `validate`.
        options: options of the read.
        file: the file of the source, with the offsets that it may contain. Its headers are read again for the ranges of the report.
        is_surveyed: find the ranges of the report.

    Raises:
        ValueError, TypeError, OSError: as in `validate`.
    """
    checked = validate_findings(source, depth, options, file=file)
    if not is_surveyed:
        return Report(*checked[:2], has_checksums=options.check_crc)
    return surveyed(source if file is None else file, (depth, options), checked)


def surveyed(
    source: Any,
    how: tuple[Depth, ReadOptions],
    checked: tuple[list[Finding], dict[str, int], Totals | None],
    *,
    path: str | None = None,
) -> Report:
    """Return the report of a source that was validated, with its lost and its safe ranges.

    Args:
        source: the source, or its file, which is read again.
        how: depth and options of the validation.
        checked: the result of `validate_findings`.
        path: the name of the file for the report.

    Raises:
        OSError: if the file cannot be read.
    """
    findings, stats, totals = checked
    has_checksums = how[1].check_crc
    found = _surveyed(source, how, Report(findings, stats, has_checksums=has_checksums), totals)
    return Report(findings, stats, [found], has_checksums=has_checksums, path=path)


def _surveyed(source: Any, how: tuple[Depth, ReadOptions], report: Report, totals: Totals | None) -> Survey:
    """Return the ranges of a source.

    Args:
        source: the source.
        how: depth and options of its validation.
        report: its findings.
        totals: those of its headers, if they are known.
    """

    def validate_from(start: int) -> list[Finding]:
        rest = readable.ranges(start, None) if readable.ranges else b""
        return validate_findings(rest, *how)[0]

    readable = surveyed_source(source, how[1], validate_from, report._is_damage)
    return survey(readable, report.findings, totals, has_experimental=any(map(is_experimental, report.findings)))


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Context of a segment for its validation.

    Attributes:
        previous: the previous segment; its last batch is compared with the first batch (ORD-1, ORD-2, ORD-3).
        is_followed: another segment follows, with the markers of open transactions.
        reports_shared: also validate files of the directory that belong to other segments or to no segment.
    """

    previous: SegmentFile | None = None
    is_followed: bool = False
    reports_shared: bool = True


def validate_segment(file: SegmentFile, depth: Depth, options: ReadOptions, around: Surroundings) -> Report:
    """Validate a segment and the sidecar files next to it.

    Args:
        file: the segment.
        depth: see `validate`.
        options: those of the read.
        around: its context.

    Raises:
        OSError: if a file cannot be read.
    """
    findings, stats, _ = validate_log(
        [_named(file)],
        [],
        depth,
        options,
        reports_shared=around.reports_shared,
        previous=_end_of(around.previous),
        is_followed=around.is_followed,
    )
    found = _with_lost_indexes(findings, [file])
    return Report(found if file.finding is None else [*found, file.finding], stats, has_checksums=options.check_crc)


def validate_segments(files: Sequence[SegmentFile], directories: Sequence[str], depth: Depth, options: ReadOptions) -> Report:
    """Validate the segments of logs and the files next to them.

    Args:
        files: the segments of one directory after the other, in the order of their offsets.
        directories: log directories, whose checkpoint files and `meta.properties` are validated.
        depth: see `validate`.
        options: those of the read.

    Raises:
        OSError: if a file cannot be read.
    """
    findings, stats, totals = validate_log([_named(file) for file in files], directories, depth, options)
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.path.rpartition("/entry@")[0], []).append(finding)
    surveys = []
    for file, known in zip(files, totals, strict=True):
        name = shown(file.path)
        own = Report(by_file.get(name, []), stats, has_checksums=options.check_crc)
        # The batches of a segment that contradicts its name are valid.
        surveys.append(_surveyed(file.replaced(finding=None).source(), (depth, options), own, known).in_file(name))
    misnamed = [file.finding for file in files if file.finding is not None]
    return Report(_with_lost_indexes([*findings, *misnamed], files), stats, surveys, has_checksums=options.check_crc)


def validate_sidecars(files: Sequence[SegmentFile], directories: Sequence[str] = (), *, recorded: RecordedLogs | None = None) -> Report:
    """Validate the files next to segments; the logs themselves are not validated.

    Args:
        files: as in `validate_segments`.
        directories: as in `validate_segments`.
        recorded: the headers of these segments, if they were validated before.

    Raises:
        OSError: if a file cannot be read.
    """
    findings, stats, _ = validate_log([_named(file) for file in files], directories, None, ReadOptions(), recorded=recorded)
    # Damage of an upload is reported with its log.
    found = [finding for finding in findings if not finding.rule.startswith("TS-")]
    return Report(_with_lost_indexes(found, files), stats)


def _with_lost_indexes(findings: list[Finding], files: Sequence[SegmentFile]) -> list[Finding]:
    uploads = [file.path for file in files if is_tiered(file.path)]
    return with_lost_indexes(findings, uploads) if uploads else findings


def _named(file: SegmentFile) -> tuple[str, int | None, tuple[int, int | None] | None, int | None]:
    """Return path, first offset, the offsets that the batches may hold, and the next segment. Files of Kafka 0.7 have no sidecar files."""
    return file.path, None if is_of_0_7(file.path) else file.named_offset, file.offsets, file.next_offset


def _end_of(file: SegmentFile | None) -> FileSource | None:
    """Return the last batch of a segment, or None if there is none. Its own validation reports what is wrong with the file."""
    if file is None or _named(file)[1] is None:
        return None
    try:
        last = SegmentLookup(file).last_batch()
    except RecordBatchError:
        return FileSource(file.path)
    except OSError:
        return None
    return None if last is None else FileSource(file.path, last[0])


def ensure_segment(file: SegmentFile, options: EntryKeywords | None = None) -> None:
    """Fail for a file that looks like another kind of file and has no valid batch, for verbs that go on past damage.

    Raises:
        InvalidError: SEG-16, with the name of the file.
    """
    try:
        ensure_log_segment(file.path)
    except InvalidError:
        with valid_batches(file.source(), ReadOptions(on_error="skip", unreadable="skip", **(options or {}))) as batches:
            if next(iter(batches), None) is None:
                raise


def is_damage(finding: Finding, *, has_torn: bool = False) -> bool:
    """Return True for a finding at which a read fails, or ends although valid entries follow.

    Args:
        finding: of a decode or a validation.
        has_torn: a torn tail is damage too, as where the whole file is compared with another one.
    """
    return finding.severity == "error" or finding.rule == SWALLOWED or (has_torn and finding.rule == TORN)


def damage_in(report: Report) -> list[Finding]:
    """Return the findings of a report that are damage."""
    return list(filter(is_damage, report.findings))


def ensure_undamaged(path: str, source: FileSource, read: ReadOptions) -> Report:
    """Return the report of bytes in which no damage may be, by their headers and checksums.

    Raises:
        RecordBatchError: for the first damage, also for valid entries inside a torn tail (SWALLOWED).
        OSError: if the file cannot be read.
    """
    report = validated(source, "headers", read, is_surveyed=False)
    for finding in damage_in(report)[:1]:
        raise error_of(path, finding, replace(read, strict_tail=False))
    return report


def error_of(path: str, finding: Finding, options: ReadOptions) -> RecordBatchError:
    """Return the error with which a read ends at a finding, or an error of the same form if the read ends there without one.

    Args:
        path: of the file.
        finding: as `damage_in` returns it.
        options: those of the read; `strict_tail`, `format` and `experimental` count.

    Raises:
        OSError: if the file cannot be read.
    """
    if finding.rule == UNFINISHED:
        return in_file(_as_error(finding, TruncatedError, "unfinished"), path)
    if finding.rule in _OFFSETS:
        return in_file(_as_error(finding, CorruptError, "offsets"), path)
    asked = ReadOptions(
        columns=("offset",),
        strict_tail=options.strict_tail and finding.rule != SWALLOWED,
        format=options.format,
        experimental=options.experimental,
        limits=options.limits,
    )
    try:
        next(decode(FileSource(path, finding.position), asked), None)
    except RecordBatchError as error:
        return in_file(error, path)
    kind, code = (TruncatedError, "truncated") if finding.rule == TORN else (CorruptError, "length")
    return in_file(_as_error(finding, kind, code), path)


def _as_error(finding: Finding, kind: type[RecordBatchError], code: str) -> RecordBatchError:
    place = [f"at byte {finding.position}"]
    if code == "offsets":
        place += [f"base offset {finding.base_offset}", f"field {finding.field}"]
    error = kind(f"[{finding.rule}] {', '.join(place)}: {finding.message}")
    error.__dict__.update(code=code, rule=finding.rule, position=finding.position, base_offset=finding.base_offset)
    if code == "offsets":
        error.__dict__.update(field=finding.field)
    return error
