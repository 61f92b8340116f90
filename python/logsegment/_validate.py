"""Validate sources and segments: `validate`, `Report`, and the error that a read raises at a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from logsegment._core import (
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
    valid_batches,
    validate_findings,
    validate_log,
)
from logsegment._errors import in_file
from logsegment._log_paths import is_of_0_7
from logsegment._options import Depth, EntryKeywords, ReadOptions
from logsegment._places import is_tiered
from logsegment._report import TORN, Report, is_damage, needs_format
from logsegment._survey import SWALLOWED, UNFINISHED, DamageSummary, Totals, survey, surveyed_source
from logsegment.tiered.listing import with_lost_indexes

#: Rules of an upload in tiered storage. They compare batches with the manifest and with each other; a single batch cannot break them.
_OFFSETS = ("TS-23", "ORD-1")


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


def _surveyed(source: Any, how: tuple[Depth, ReadOptions], report: Report, totals: Totals | None) -> DamageSummary:
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
    return survey(readable, report.findings, totals, has_proposed=any(map(needs_format, report.findings)))


@dataclass(frozen=True, kw_only=True)
class SegmentContext:
    """Context of a segment for its validation.

    Attributes:
        previous: the previous segment; its last batch is compared with the first batch (ORD-1, ORD-2, ORD-3).
        is_followed: another segment follows, with the markers of open transactions.
        reports_shared: also validate files of the directory that belong to other segments or to no segment.
    """

    previous: SegmentFile | None = None
    is_followed: bool = False
    reports_shared: bool = True


def validate_segment(file: SegmentFile, depth: Depth, options: ReadOptions, around: SegmentContext) -> Report:
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


def validate_sidecars(files: Sequence[SegmentFile], directories: Sequence[str] = (), *, recorded: RecordedLogs | None = None) -> Report:
    """Validate the files next to segments; the logs themselves are not validated.

    Args:
        files: the segments of one directory after the other, in the order of their offsets.
        directories: log directories, whose checkpoint files and `meta.properties` are validated.
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
        read = replace(ReadOptions(**(options or {})), on_error="skip", unreadable="skip")
        with valid_batches(file.source(), read) as batches:
            if next(iter(batches), None) is None:
                raise


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
        options: those of the read; `strict_tail` and `format` count.

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
