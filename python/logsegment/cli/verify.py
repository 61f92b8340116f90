"""`logsegment verify`: validate, and say what is damaged, where, and which offsets are safe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any, cast

import click

from logsegment._core import FileSource, Finding
from logsegment._options import Depth, ReadOptions
from logsegment._validate import Report, validated
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, UNREADABLES, ending, words_of
from logsegment.cli.inputs import InputSegment, in_range, segments_of
from logsegment.cli.messages import count, say
from logsegment.cli.options import examples, experimental_option, format_option, json_option, paths_argument, quiet_option, registry_option
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.text import Paper
from logsegment.cli.sources import opened
from logsegment.cli.verify_borders import border_findings
from logsegment.cli.verify_survey import Survey, survey
from logsegment.cli.verify_verdict import Verdict, write_json, write_words
from logsegment.log.neighbours import validate_files
from logsegment.stores.uri import directory_of, shown
from logsegment.tiered import SegmentKeyError

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: Options without which a file may not be read as it was validated.
READING = ("format", "experimental", "codecs")
_NOTHING_READ = {"entries_read": 0, "records": 0, "bytes_read": 0, "bytes_inflated": 0}


@click.command(
    short_help="Validate; say what is damaged, where, and which offsets are safe.",
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
    help=("headers: framing, headers, checksums; metadata: also offsets, times and lengths of the records; full: everything."),
)
@click.option("--fail-on", type=click.Choice(["error", "warning"]), default="error", show_default=True, help="Exit with 1 from here on.")
@click.option("--strict-tail", is_flag=True, help="A file that ends inside a batch is an error, not usual.")
@click.option("--no-crc", is_flag=True, help="Do not compare checksums.")
@format_option
@experimental_option
@registry_option
@json_option("JSON lines: findings, and a summary of each file.")
@quiet_option
@ending
def verify(
    paths: tuple[str, ...],
    depth: str,
    fail_on: str,
    strict_tail: bool,
    no_crc: bool,
    entry_format: str,
    experimental: bool,
    codecs: Registry | None,
    is_json: bool,
    quiet: bool,
) -> int:
    """Validate every PATH, past every damage.

    Of a directory, the indexes and other files beside the logs are held against them.

    With --quiet only files with findings are told.
    """
    left_out: list[Finding] = []
    found, missing = _found(paths, left_out)
    segments = in_range(found, None, None)
    options = {
        "depth": cast(Depth, depth),
        "check_crc": not no_crc,
        "strict_tail": strict_tail,
        "format": entry_format,
        "experimental": experimental,
        "codecs": codecs,
    }
    before = _before(segments)
    followed = set(before.values())
    surveys: dict[str, Survey | None] = {}
    paper = None if is_json else Paper()
    seen: Counter[str] = Counter(unreadable=missing)
    with Progress(segments, is_wanted=not quiet) as progress:
        for segment in segments:
            progress.begin(segment)
            try:
                verdict = _verify(segment, options, progress, is_followed=segment.path in followed)
            except UNREADABLES as error:
                seen["unreadable"] += 1
                with progress.aside():
                    say(_unreadable(segment, error))
                continue
            surveys[segment.path] = verdict.survey
            verdict.report.findings.extend(_at_border(surveys.get(before.get(segment.path, "")), segment, verdict.survey))
            seen.update(verdict.counts)
            seen[verdict.state] += 1
            seen["cut"] += verdict.is_cut_short
            if not (quiet and verdict.state == "clean"):
                with progress.aside():
                    _write(verdict, paper)
        for verdict in chain(_beside(segments), _uploads(left_out)):
            seen.update(verdict.counts)
            if not (quiet and verdict.state == "clean"):
                with progress.aside():
                    _write(verdict, paper)
    if len(segments) + missing > 1 and not quiet:
        say(_total(seen, len(segments) + missing))
    return _code(seen, fail_on)


def _found(paths: tuple[str, ...], left_out: list[Finding]) -> tuple[list[InputSegment], int]:
    """The segments of all paths that are there, and how many are not."""
    segments: list[InputSegment] = []
    missing = 0
    for path in paths:
        try:
            segments += segments_of([path], left_out)
        except UNREADABLES as error:
            missing += 1
            say(words_of(error))
    return segments, missing


def _unreadable(segment: InputSegment, error: OSError | SegmentKeyError) -> str:
    """Why a segment cannot be read, with its name once: what is wrong with keys may name it by itself."""
    words = words_of(error) if isinstance(error, SegmentKeyError) else error.strerror or words_of(error)
    return words if words.startswith(segment.name) else f"{segment.name}: {words}"


def _before(segments: list[InputSegment]) -> dict[str, str]:
    """The path of the segment before each that follows another one in its directory: a broker writes the last one only."""
    ordered = sorted((one for one in segments if one.base_offset is not None), key=lambda one: (one.directory, one.base_offset))
    return {
        behind.path: one.path
        for one, behind in pairwise(ordered)
        if (one.partition is not None or one.is_listed) and (one.directory, one.partition) == (behind.directory, behind.partition)
    }


def _at_border(before: Survey | None, segment: InputSegment, own: Survey | None) -> list[Finding]:
    """Offsets of Kafka 0.7 are bytes, which follow from the names."""
    if before is None or own is None or segment.is_of_0_7:
        return []
    return list(border_findings(before, segment, own))


def _verify(segment: InputSegment, options: dict[str, Any], progress: Progress, *, is_followed: bool) -> Verdict:
    if segment.is_of_0_7 and options["format"] == "auto":
        # Read front to back for its progress, a source has no name that says so.
        options = options | {"format": "0.7", "base_position": segment.base_offset}
    depth, entries = options["depth"], ReadOptions(**{name: option for name, option in options.items() if name != "depth"})
    # The batches of a segment that contradicts its name are valid: its finding comes after the survey of what is lost.
    plain = None if segment.file is None else replace(segment.file, finding=None)
    file = None if plain is None else plain.source()
    with opened(replace(segment, file=plain), seen=progress.seen if progress.is_shown else None) as source:
        report = validated(source, depth, entries, file=file, is_followed=is_followed)
    if not segment.is_regular:
        # Headers are looked at a second time, which a stream does not allow.
        return Verdict(segment.name, report, None)

    def validate_from(start: int) -> Report:
        return validated(FileSource(segment.path, start), depth, entries, is_followed=is_followed)

    # The name of a segment of Kafka 0.7 tells how it is read.
    reading = {} if segment.is_of_0_7 else {name: options[name] for name in READING}
    found = survey(segment.path, report, validate_from, **reading)
    if segment.file is not None and segment.file.finding is not None:
        report.findings.append(segment.file.finding)
    return Verdict(segment.name, report, found)


def _beside(segments: list[InputSegment]) -> Iterator[Verdict]:
    """What is wrong with the files beside the logs, for each directory that was named or found in one."""
    listed = [segment.file for segment in segments if segment.is_listed and segment.file]
    for directory, files in groupby(listed, lambda file: file.directory):
        try:
            report = validate_files(list(files))
        except SegmentKeyError:
            # The log was told already.
            continue
        except OSError as error:
            # A log that cannot be read was told already.
            say(f"{directory}: files beside the logs not looked at: {words_of(error)}")
            continue
        if report.findings:
            yield Verdict(shown(directory), report, None, is_beside=True)


def _uploads(left_out: list[Finding]) -> Iterator[Verdict]:
    """What is told of uploads in tiered storage that are not read, for each directory."""
    for directory, findings in groupby(left_out, lambda finding: directory_of(finding.path)):
        yield Verdict(directory, Report(list(findings), _NOTHING_READ), None, is_beside=True)


def _write(verdict: Verdict, paper: Paper | None) -> None:
    if paper:
        write_words(verdict, paper)
    else:
        write_json(verdict)
    sys.stdout.flush()


def _total(seen: Counter[str], files: int) -> str:
    words = {"clean": "clean", "readable": "readable", "unopened": "not unpacked", "damaged": "damaged", "unreadable": "unreadable"}
    states = [f"{seen[state]:,} {told}" for state, told in words.items() if seen[state]]
    found = [count(seen[severity], severity) for severity in ("error", "warning") if seen[severity]]
    return "; ".join([f"{count(files, 'file')}: {', '.join(states)}", *found])


def _code(seen: Counter[str], fail_on: str) -> int:
    if seen["unreadable"]:
        return UNREADABLE
    return FOUND if seen["error"] or seen["cut"] or (fail_on == "warning" and seen["warning"]) else CLEAN
