"""`logsegment verify`: validate, and say what is damaged, where, and which offsets are safe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, takewhile

import click

from logsegment._core import EarlierProducers, FileSource, Finding, FoundSegments, RecordedLogs, SegmentKeyError, validate_findings
from logsegment._options import Depth, PartitionOptions, ReadOptions, Unreadable
from logsegment._survey import Survey
from logsegment._validate import Report, is_unreadable, surveyed, validate_sidecars
from logsegment.cli.borders import border_findings, previous_segments
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, UNREADABLES, ending, words_of
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, InputSegment, found_of, in_range, opened, segments_of
from logsegment.cli.messages import Paper, count, say
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
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.verdicts import FileVerdict, write_json, write_words
from logsegment.segment_files.discovery import WORK
from logsegment.stores.uri import absolute, directory_of, shown

#: Segments that the core may open before they are read.
MOST_AHEAD = 4
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
    paper = None if options.is_json else Paper()
    seen: Counter[str] = Counter(unreadable=len(missing))
    with Progress(segments, is_wanted=not options.quiet) as progress:
        logs = _Logs(segments, options, progress)
        for verdict in logs.verdicts(seen):
            seen.update(verdict.counts)
            seen[verdict.state] += 1
            seen["unread"] += options.unreadable == "raise" and any(map(is_unreadable, verdict.report.findings))
            seen["lost"] += bool(verdict.report.lost)
            if not (options.quiet and verdict.state == "clean"):
                with progress.aside():
                    _write(verdict, paper)
        indexes = MissingIndexes(segments)
        others = _above(segments, options.paths), _by_directory([*left_out, *_log_starts(segments)]), _replicas(segments)
        for verdict in chain(logs.beside, *others):
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


class _Logs:
    """The logs of a call, those of a directory one after the other.

    Attributes:
        beside: the verdicts about the sidecar files of the directories whose logs were validated.
    """

    def __init__(self, segments: list[InputSegment], options: VerifyArguments, progress: Progress) -> None:
        self.beside: list[FileVerdict] = []
        self._segments = segments
        self._options = options
        self._progress = progress
        self._before = previous_segments(segments)
        self._followed = frozenset(self._before.values())
        self._surveys: dict[str, Survey | None] = {}
        self._producers: dict[str, EarlierProducers] = {}
        self._recorded = RecordedLogs()

    def verdicts(self, seen: Counter[str]) -> Iterator[FileVerdict]:
        """Yield the verdicts about logs that can be read; count the others."""
        number = 0
        for directory, group in groupby(self._segments, _listed_in):
            segments = list(group)
            for segment in segments:
                self._progress.begin(segment)
                number += 1
                try:
                    verdict = self._verdict(segment, self._segments[number : number + MOST_AHEAD])
                except UNREADABLES as error:
                    seen["unreadable"] += 1
                    with self._progress.aside():
                        say(_unreadable(segment, error))
                else:
                    yield verdict
            if directory is not None:
                # The headers of the logs are kept until now.
                self.beside += _beside(directory, segments, self._recorded, self._progress)

    def _verdict(self, segment: InputSegment, following: Sequence[InputSegment]) -> FileVerdict:
        earlier = self._producers.pop(self._before.get(segment.path, ""), EarlierProducers())
        verdict = self._validated(segment, following, earlier)
        self._surveys[segment.path] = verdict.survey
        self._producers[segment.path] = earlier
        before = self._surveys.get(self._before.get(segment.path, ""))
        verdict.report.findings.extend(border_findings(before, segment, verdict.survey))
        return verdict

    def _validated(self, segment: InputSegment, following: Sequence[InputSegment], earlier: EarlierProducers) -> FileVerdict:
        options, reading = self._options, self._options.reading
        if segment.is_of_0_7 and reading["format"] == "auto":
            # Read front to back for its progress, a source has no name that says so.
            reading = {**reading, "format": "0.7", "base_position": segment.base_offset}
        read = ReadOptions(check_crc=not options.no_crc, strict_tail=options.strict_tail, unreadable=options.unreadable, **reading)
        file = _source(segment)
        with opened(_unfound(segment), seen=self._progress.seen if self._progress.is_shown else None) as source:
            checked = validate_findings(
                source,
                options.depth,
                read,
                file=file,
                is_followed=segment.path in self._followed,
                earlier=earlier,
                recorded=self._recorded if segment.is_listed else None,
                next_files=[source for one in takewhile(lambda one: one.is_listed, following) if (source := _source(one))],
            )
        report = surveyed(file if segment.is_regular else source, (options.depth, read), checked)
        if segment.file is not None and segment.file.finding is not None:
            report.findings.append(segment.file.finding)
        # Headers are looked at a second time, which a stream does not allow.
        return FileVerdict(segment.name, report, report._surveys[0] if segment.is_regular else None)


def _listed_in(segment: InputSegment) -> str | None:
    """Return the directory in which a segment was found; None for a file that was named."""
    return segment.file.directory if segment.file is not None and segment.file.is_listed else None


def _unfound(segment: InputSegment) -> InputSegment:
    """Return a segment without the finding that it contradicts its name. Its batches are valid: the finding comes after their survey."""
    return segment if segment.file is None else replace(segment, file=segment.file.replaced(finding=None))


def _source(segment: InputSegment) -> FileSource | None:
    """Return the file of a segment; None for standard input."""
    file = _unfound(segment).file
    return None if file is None else file.source()


def _unreadable(segment: InputSegment, error: OSError | SegmentKeyError) -> str:
    """Return why a segment cannot be read, with its name once."""
    words = words_of(error) if isinstance(error, SegmentKeyError) else error.strerror or words_of(error)
    return words if words.startswith(segment.name) else f"{segment.name}: {words}"


def _beside(directory: str, segments: list[InputSegment], recorded: RecordedLogs, progress: Progress) -> Iterator[FileVerdict]:
    """Yield the findings about the sidecar files of a directory, if there are any.

    Args:
        directory: the directory.
        segments: its logs.
        recorded: the headers of these logs.
        progress: steps aside for messages.
    """
    try:
        report = validate_sidecars([segment.file for segment in segments if segment.file], recorded=recorded)
    except SegmentKeyError:
        # The log was reported already.
        return
    except OSError as error:
        # A log that cannot be read was reported already.
        with progress.aside():
            say(f"{shown(directory)}: sidecar files not checked: {words_of(error)}")
        return
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
