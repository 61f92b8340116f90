"""`logsegment verify`: validate, and say what is damaged, where, and which offsets are safe."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from typing import Any

import click

from logsegment._core import EarlierProducers, Finding, FoundSegments, SegmentKeyError, validate_findings
from logsegment._options import Depth, PartitionOptions, ReadOptions, Unreadable
from logsegment._survey import SWALLOWED, UNFINISHED, LostRange, SafeRange, Survey
from logsegment._validate import TORN, Report, Why, is_unopened, is_unreadable, limit_of, surveyed, validate_sidecars, why
from logsegment.cli.borders import border_findings, previous_segments
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, UNREADABLES, ending, words_of
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, InputSegment, found_of, in_range, opened, segments_of
from logsegment.cli.messages import Paper, count, say, show_json, show_json_lines
from logsegment.cli.options import (
    Reading,
    examples,
    json_option,
    paths_argument,
    quiet_option,
    reading_options,
    taking,
    unreadable_option,
)
from logsegment.cli.output.findings import folded, more_like_it
from logsegment.cli.output.progress import Progress
from logsegment.segment_files.discovery import WORK
from logsegment.stores.uri import absolute, directory_of, shown

_NOTHING_READ = {"entries_read": 0, "records": 0, "bytes_read": 0, "bytes_inflated": 0}


@dataclass(frozen=True)
class VerifyArguments:
    """The arguments of `verify`."""

    paths: tuple[str, ...]
    depth: Depth
    fail_on: str
    strict_tail: bool
    no_crc: bool
    reading: Reading
    unreadable: Unreadable
    is_json: bool
    quiet: bool


@click.command(
    cls=Verb,
    short_help="Validate segments; show the damage, its place, and the safe offsets.",
    epilog=examples(
        "logsegment verify 00000000000000000000.log",
        "logsegment verify --quiet /var/lib/kafka/data",
        "logsegment verify --json --fail-on warning orders-0 > findings.jsonl",
    ),
)
@paths_argument
@click.option(
    "--depth",
    type=click.Choice(["headers", "metadata", "full"]),
    default="full",
    show_default=True,
    help=("Check framing, headers and checksums (headers), also the records' offsets, times and lengths (metadata), or everything (full)."),
)
@click.option(
    "--fail-on", type=click.Choice(["error", "warning"]), default="error", show_default=True, help="Exit with 1 from this severity on."
)
@click.option("--strict-tail", is_flag=True, help="Report a file that ends inside a batch as an error.")
@click.option("--no-crc", is_flag=True, help="Skip checksums.")
@unreadable_option
@reading_options
@json_option("Print JSON lines: findings, and a summary of each file.")
@quiet_option
@ending
@taking(VerifyArguments)
def verify(options: VerifyArguments) -> int:
    """Validate every PATH, past damage.

    The sidecar files of a directory (indexes and others) are compared with the logs. With --quiet, only files with findings are shown.

    Exit codes: 0 nothing found, 1 findings of the severity of --fail-on or bytes that cannot be read, 2 usage or unreadable input.
    """
    left_out: list[Finding] = []
    missing: list[OSError | SegmentKeyError] = []
    segments = in_range(segments_of(options.paths, left_out, missing.append), None, None)
    for error in missing:
        say(words_of(error))
    before = previous_segments(segments)
    followed = set(before.values())
    surveys: dict[str, Survey | None] = {}
    producers: dict[str, EarlierProducers] = {}
    paper = None if options.is_json else Paper()
    seen: Counter[str] = Counter(unreadable=len(missing))
    with Progress(segments, is_wanted=not options.quiet) as progress:
        for segment in segments:
            progress.begin(segment)
            earlier = producers.pop(before.get(segment.path, ""), EarlierProducers())
            try:
                verdict = _verify(segment, options, progress, is_followed=segment.path in followed, earlier=earlier)
            except UNREADABLES as error:
                seen["unreadable"] += 1
                with progress.aside():
                    say(_unreadable(segment, error))
                continue
            surveys[segment.path] = verdict.survey
            producers[segment.path] = earlier
            verdict.report.findings.extend(border_findings(surveys.get(before.get(segment.path, "")), segment, verdict.survey))
            seen.update(verdict.counts)
            seen[verdict.state] += 1
            seen["unread"] += options.unreadable == "raise" and any(map(is_unreadable, verdict.report.findings))
            seen["lost"] += bool(verdict.report.lost)
            if not (options.quiet and verdict.state == "clean"):
                with progress.aside():
                    _write(verdict, paper)
        indexes = MissingIndexes(segments)
        others = _above(segments, options.paths), _by_directory([*left_out, *_log_starts(segments)]), _replicas(segments)
        for verdict in chain(_beside(segments), *others):
            seen.update(verdict.counts)
            shown_verdict = verdict if paper is None else indexes.without(verdict)
            if shown_verdict is not None and not (options.quiet and verdict.state == "clean"):
                with progress.aside():
                    _write(shown_verdict, paper)
        if paper is not None and not options.quiet and (line := indexes.line()):
            with progress.aside():
                paper.line(line)
    if len(segments) + len(missing) > 1 and not options.quiet:
        say(_total(seen, len(segments) + len(missing)))
    return _code(seen, options.fail_on)


def _unreadable(segment: InputSegment, error: OSError | SegmentKeyError) -> str:
    """Return why a segment cannot be read, with its name once."""
    words = words_of(error) if isinstance(error, SegmentKeyError) else error.strerror or words_of(error)
    return words if words.startswith(segment.name) else f"{segment.name}: {words}"


def _verify(
    segment: InputSegment, options: VerifyArguments, progress: Progress, *, is_followed: bool, earlier: EarlierProducers
) -> FileVerdict:
    reading = options.reading
    if segment.is_of_0_7 and reading["format"] == "auto":
        # Read front to back for its progress, a source has no name that says so.
        reading = {**reading, "format": "0.7", "base_position": segment.base_offset}
    read = ReadOptions(check_crc=not options.no_crc, strict_tail=options.strict_tail, unreadable=options.unreadable, **reading)
    # The batches of a segment that contradicts its name are valid: its finding comes after the survey of what is lost.
    plain = None if segment.file is None else segment.file.replaced(finding=None)
    file = None if plain is None else plain.source()
    with opened(replace(segment, file=plain), seen=progress.seen if progress.is_shown else None) as source:
        checked = validate_findings(source, options.depth, read, file=file, is_followed=is_followed, earlier=earlier)
    report = surveyed(file if segment.is_regular else source, (options.depth, read), checked)
    if segment.file is not None and segment.file.finding is not None:
        report.findings.append(segment.file.finding)
    # Headers are looked at a second time, which a stream does not allow.
    return FileVerdict(segment.name, report, report._surveys[0] if segment.is_regular else None)


def _beside(segments: list[InputSegment]) -> Iterator[FileVerdict]:
    """Yield the findings about the sidecar files of each directory."""
    listed = [segment.file for segment in segments if segment.is_listed and segment.file]
    for directory, files in groupby(listed, lambda file: file.directory):
        try:
            report = validate_sidecars(list(files))
        except SegmentKeyError:
            # The log was reported already.
            continue
        except OSError as error:
            # A log that cannot be read was reported already.
            say(f"{directory}: sidecar files not checked: {words_of(error)}")
            continue
        if report.findings:
            yield FileVerdict(shown(directory), report, None, is_of_directory=True)


class MissingIndexes:
    """Indexes that are missing, shown in one line. A broker makes them anew, so that nothing is wrong with the logs."""

    RULE = "IDX-1"

    def __init__(self, segments: Sequence[InputSegment]) -> None:
        self._files = Counter(shown(segment.directory) for segment in segments)
        self._missing: Counter[str] = Counter()

    def without(self, verdict: FileVerdict) -> FileVerdict | None:
        """Return a verdict without findings about missing indexes; None if there are no others."""
        missing = [one for one in verdict.report.findings if one.rule == self.RULE]
        if not missing:
            return verdict
        self._missing[verdict.name] += len({one.path.rpartition(".")[0] for one in missing})
        others = [one for one in verdict.report.findings if one.rule != self.RULE]
        return replace(verdict, report=Report(others, verdict.report.io_stats)) if others else None

    def line(self) -> str | None:
        """Return the line about all of them, or None if no index is missing."""
        if not self._missing:
            return None
        is_each = all(self._missing[name] == self._files[name] for name in self._missing)
        partitions = count(len(self._missing), "partition")
        return f"{'no indexes' if is_each else 'indexes are missing'} in {partitions}: reading is slower"


def _above(segments: list[InputSegment], paths: Sequence[str]) -> Iterator[FileVerdict]:
    """Yield the findings about the files of log directories, which hold the directories of partitions."""
    for directory in found_of(segments).log_directories([absolute(path) for path in paths if path != STDIN]):
        try:
            report = validate_sidecars([], [directory])
        except OSError as error:
            say(f"{shown(directory)}: checkpoint files not checked: {words_of(error)}")
            continue
        if report.findings:
            yield FileVerdict(shown(directory), report, None, is_of_directory=True)


def _log_starts(segments: list[InputSegment]) -> list[Finding]:
    """Return the findings about the log start offsets of partitions, below which readers read nothing."""
    files, findings = found_of(segments).with_log_starts(PartitionOptions())
    try:
        return [*findings, *FoundSegments(files).deleted_records()]
    except (OSError, SegmentKeyError):
        # The log was reported already.
        return findings


def _by_directory(found: list[Finding]) -> Iterator[FileVerdict]:
    """Yield findings about files that are not read, or not whole, by directory."""
    for (directory, rule), group in groupby(found, lambda one: (directory_of(one.path), WORK if one.rule == WORK else None)):
        yield FileVerdict(directory, Report([*group], _NOTHING_READ), None, True, rule and "interrupted work of a broker")


def _replicas(segments: list[InputSegment]) -> Iterator[FileVerdict]:
    """Yield the findings about partitions in several directories, all of which were verified."""
    name, findings = found_of(segments).replicas()
    if findings:
        yield FileVerdict(name, Report(findings, _NOTHING_READ), None, True, f"{count(len(findings), 'partition')} in several directories")


def _write(verdict: FileVerdict, paper: Paper | None) -> None:
    if paper:
        write_words(verdict, paper)
    else:
        write_json(verdict)
    sys.stdout.flush()


def _total(seen: Counter[str], files: int) -> str:
    words = {"clean": "clean", "readable": "readable", "unopened": "not read", "damaged": "damaged", "unreadable": "unreadable"}
    states = [f"{seen[state]:,} {word}" for state, word in words.items() if seen[state]]
    found = [count(seen[severity], severity) for severity in ("error", "warning") if seen[severity]]
    return "; ".join([f"{count(files, 'file')}: {', '.join(states)}", *found])


def _code(seen: Counter[str], fail_on: str) -> int:
    if seen["unreadable"] or seen["unread"]:
        return UNREADABLE
    return FOUND if seen["error"] or seen["lost"] or (fail_on == "warning" and seen["warning"]) else CLEAN


#: Findings, runs and places of a file that people are shown; JSON lines have all.
SHOWN = 20
_REASONS: dict[Why, str] = {
    "missing_plugin": "without their plugin",
    "failed": "since their plugin failed",
    "limit": "over a limit",
    "dictionary": "without their zstd dictionary",
    "experimental": "of the experimental format v3 (--experimental reads them)",
}
#: Rules of tiered storage: what breaks them was an upload, and says why nothing is read of it.
TIERED = "TS-"
STYLES = {"clean": "green", "readable": "yellow", "unopened": "yellow", "damaged": "bold red"}


@dataclass(frozen=True)
class FileVerdict:
    """A validated file. The survey is None for a stream, which can be read once, and for sidecar files; these may have a title."""

    name: str
    report: Report
    survey: Survey | None
    is_of_directory: bool = False
    title: str | None = None

    @cached_property
    def counts(self) -> dict[str, int]:
        """Findings by severity."""
        return self.report.counts

    @cached_property
    def unopened(self) -> int:
        """Batches that were not opened, and have no known damage."""
        return len(self.report.unopened)

    @property
    def state(self) -> str:
        """`clean`, `readable` (warnings), `unopened` (no damage, but batches that were not opened) or `damaged` (errors)."""
        if self.errors:
            return "damaged"
        return "unopened" if self.unopened else "readable" if self.counts["warning"] else "clean"

    @cached_property
    def errors(self) -> int:
        """Errors that are damage."""
        return sum(one.severity == "error" and not self.report._is_unopened(one) for one in self.report.findings)

    @property
    def batches(self) -> int:
        """Batches that are intact."""
        return self.survey.batches if self.survey and self.survey.is_complete else self.report.io_stats["entries_read"]

    @property
    def records(self) -> int | None:
        """Records of these; None when nobody counted them."""
        if self.survey and self.survey.is_complete:
            return self.survey.records
        return self.report.io_stats["records"] or None


def write_words(verdict: FileVerdict, paper: Paper) -> None:
    """Say it in words; findings follow as a table."""
    paper.line(f"{verdict.name}: {_headline(verdict)}", STYLES[verdict.state])
    if verdict.state == "damaged" or (verdict.survey and verdict.survey.lost):
        for line in _damage(verdict):
            paper.line(f"  {line}")
    for line in _ends(verdict.report.findings):
        paper.line(f"  {line}")
    findings = folded(verdict.report.findings)
    if findings:
        paper.table(("severity", "rule", "byte", "offset", "what"), [_row(*finding) for finding in findings[:SHOWN]])
    if len(findings) > SHOWN:
        paper.line(f"  and {count(len(findings) - SHOWN, 'finding')} more; --json has all of them")


def write_json(verdict: FileVerdict) -> None:
    """Write a line for each finding, then one for the file."""
    constants = [("type", "finding"), ("file", verdict.name)]
    for batch in verdict.report.to_arrow().to_batches():
        show_json_lines(batch.to_jsonl(constants=constants))
    show_json(_summary(verdict))


def _summary(verdict: FileVerdict) -> dict[str, Any]:
    survey = verdict.survey
    is_known = survey is not None and survey.is_complete
    return {
        "type": "summary",
        "file": verdict.name,
        "state": verdict.state,
        "ok": verdict.report.ok,
        **{f"{severity}s" if severity != "info" else "infos": number for severity, number in verdict.counts.items()},
        "unopened": verdict.unopened,
        "batches": verdict.batches,
        "records": verdict.records,
        "bytesRead": verdict.report.io_stats["bytes_read"],
        "bytesInflated": verdict.report.io_stats["bytes_inflated"],
        "safe": [run.to_dict() for run in survey.valid] if survey and is_known else None,
        "lost": [place.to_dict() for place in verdict.report.lost],
    }


def _headline(verdict: FileVerdict) -> str:
    if verdict.is_of_directory:
        return verdict.title or f"sidecar files, {count(len(verdict.report.findings), 'finding')}"
    whole = count(verdict.batches, "batch")
    whole += f" with {count(verdict.records, 'record')}" if verdict.records is not None else ""
    whole += _offsets(verdict.survey.valid) if verdict.survey and verdict.survey.valid else ""
    if _is_foreign(verdict):
        return "NOT A LOG SEGMENT"
    if verdict.state == "damaged":
        unread = f"; {_unopened(verdict.report.unopened)}" if verdict.unopened else ""
        return f"DAMAGED, {count(verdict.errors, 'error')}{unread}. Valid: {whole}"
    if verdict.state == "unopened":
        return f"{_unopened(verdict.report.unopened)}; no damage found. Valid: {whole}"
    if verdict.state == "readable" and verdict.survey and verdict.survey.lost:
        return f"HIDES DATA, {count(verdict.counts['warning'], 'warning')}. Valid: {whole}"
    if verdict.state == "readable":
        return f"readable, {count(verdict.counts['warning'], 'warning')}. {whole}"
    return f"clean. {whole}"


def _is_foreign(verdict: FileVerdict) -> bool:
    """Return True for a file that looks like another kind of file."""
    return any(finding.rule == "SEG-16" for finding in verdict.report.findings)


def _unopened(findings: Sequence[Finding]) -> str:
    """Return why batches were not opened, with the value of each limit."""
    limits = Counter(limit_of(one) for one in findings if why(one) == "limit")
    texts = [
        f"not read: over the limit {limit}" + (f" ({count(batches, 'batch')})" if batches > 1 else "") for limit, batches in limits.items()
    ]
    reasons: Counter[Why] = Counter(reason for one in findings if (reason := why(one)) != "limit")
    others = ", ".join(f"{count(reasons[reason], 'batch')} {words}" for reason, words in _REASONS.items() if reasons[reason])
    return "; ".join([*texts, *([f"NOT DECOMPRESSED, {others}"] if others else [])])


def _offsets(runs: list[SafeRange]) -> str:
    first, last = min(run.first_offset for run in runs), max(run.last_offset for run in runs)
    return f", offsets {first:,} to {last:,}" if len(runs) == 1 else f", offsets between {first:,} and {last:,}"


def _damage(verdict: FileVerdict) -> Iterable[str]:
    survey = verdict.survey
    if _is_foreign(verdict) or verdict.is_of_directory:
        return
    if survey is None:
        yield "Safe offsets are listed for files only; this input was a stream."
        return
    doubtful = sum(map(is_unopened, verdict.report.findings)) - verdict.unopened
    if doubtful:
        yield f"The plugin failed for {count(doubtful, 'batch')}; --no-crc skipped their checksums, so they may be damaged."
    if survey.lost:
        yield f"Lost: {count(survey.lost_bytes, 'byte')} in {count(len(survey.lost), 'place')}"
    yield from _shown([_place(place) for place in survey.lost], "place")
    if not survey.is_complete:
        yield "Too many damaged places to list the safe offsets; cat --on-error skip reads them."
    elif survey.valid:
        yield "Safe offsets:"
        yield from _shown([f"{run.first_offset:,} to {run.last_offset:,} ({count(run.batches, 'batch')})" for run in survey.valid], "run")
    elif not doubtful and not any(one.rule.startswith(TIERED) for one in verdict.report.findings):
        yield "No batch is valid. Is this a log segment?"


def _ends(findings: Sequence[Finding]) -> Iterable[str]:
    """Yield what an end means that is no error."""
    for finding in findings:
        if finding.rule == UNFINISHED:
            yield "Another segment follows, so this one was complete: the copy ended early, or its end is damaged."
        elif finding.rule == TORN and finding.severity == "info" and not finding.position:
            yield "No batch is complete. Is this a log segment?"
        elif finding.rule == TORN and finding.severity == "info":
            size = count(finding.length, "byte")
            yield f"It ends with {size} of an unfinished batch: usual while a broker writes the file, otherwise the copy is incomplete."
        elif finding.rule == SWALLOWED:
            yield f"The length at byte {finding.position:,} is wrong; readers end there without an error, cat --on-error skip continues."


def _place(place: LostRange) -> str:
    where = f"bytes {place.position:,} to {place.position + place.length - 1:,}"
    if place.after_offset is not None and place.before_offset is not None:
        return f"{where}: records between offsets {place.after_offset:,} and {place.before_offset:,}"
    if place.after_offset is not None:
        return f"{where}: records after offset {place.after_offset:,}"
    if place.before_offset is not None:
        return f"{where}: records before offset {place.before_offset:,}"
    return f"{where}: unknown offsets, since no valid batch is near"


def _shown(lines: list[str], noun: str) -> Iterable[str]:
    yield from (f"  {line}" for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"  and {count(len(lines) - SHOWN, noun)} more; --json has all of them"


def _row(finding: Finding, batches: int = 1) -> tuple[str, ...]:
    offset = "-" if finding.base_offset is None else str(finding.base_offset)
    where = f" ({finding.field})" if finding.field else ""
    record = f"record {finding.record_index}: " if finding.record_index is not None else ""
    # Findings of several files name theirs.
    path, at, _ = finding.path.rpartition("@")
    file = f"{os.path.basename(path.removesuffix('/entry'))}: " if at and not finding.path.startswith("entry@") else ""
    return (finding.severity, finding.rule, str(finding.position), offset, f"{file}{record}{finding.message}{where}{more_like_it(batches)}")
