"""`logsegment verify`: validate, and say what is damaged, where, and which offsets are safe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import click

from logsegment._core import Finding, SegmentKeyError
from logsegment._options import Depth, ReadOptions, Unreadable
from logsegment._places import redacted_uri
from logsegment._report import Report, is_unreadable
from logsegment.analysis.inputs import InputSegment
from logsegment.analysis.validation import LogValidation
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, handle_exit, words_of
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, segments_of
from logsegment.cli.messages import Console, count, say
from logsegment.cli.options import (
    Reading,
    bind_args,
    examples,
    json_option,
    paths_argument,
    quiet_option,
    reading_options,
    unreadable_option,
)
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.verdicts import write_json, write_words


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
@handle_exit
@bind_args(VerifyArguments)
def verify(options: VerifyArguments) -> int:
    """Validate every PATH, past damage.

    The sidecar files of a directory (indexes and others) are compared with the logs. With --quiet, only files with findings are shown.

    Exit codes: 0 nothing found, 1 findings of the severity of --fail-on or bytes that cannot be read, 2 usage or unreadable input.
    """
    left_out: list[Finding] = []
    missing: list[OSError | SegmentKeyError] = []
    found = segments_of(options.paths, left_out, missing.append), left_out
    for error in missing:
        say(words_of(error))
    paper = None if options.is_json else Console()
    seen: Counter[str] = Counter(unreadable=len(missing))
    read = ReadOptions(check_crc=not options.no_crc, strict_tail=options.strict_tail, unreadable=options.unreadable, **options.reading)
    with Progress(found[0], is_wanted=not options.quiet) as progress:

        def failed(error: OSError | SegmentKeyError, what: InputSegment | str) -> None:
            seen["unreadable"] += isinstance(what, InputSegment)
            with progress.aside():
                say(f"{what}: {words_of(error)}" if isinstance(what, str) else _unreadable(what.name, error))

        paths = [path for path in options.paths if path != STDIN]
        validation = LogValidation(paths, found, (options.depth, read), failed)
        indexes = MissingIndexes(validation.segments)
        for report in validation.reports(progress):
            seen.update(report.counts)
            if not report.is_of_directory:
                seen[report.state] += 1
                seen["unread"] += options.unreadable == "raise" and any(map(is_unreadable, report.findings))
                seen["lost"] += bool(report.lost)
            words = report if paper is None or not report.is_of_directory else indexes.without(report)
            if words is not None and not (options.quiet and report.state == "clean"):
                with progress.aside():
                    _write(words, paper)
        if paper is not None and not options.quiet and (line := indexes.line()):
            with progress.aside():
                paper.line(line)
    if len(found[0]) + len(missing) > 1 and not options.quiet:
        say(_total(seen, len(found[0]) + len(missing)))
    return _code(seen, options.fail_on)


def _unreadable(name: str, error: OSError | SegmentKeyError) -> str:
    """Return why a file cannot be read, with its name once."""
    words = words_of(error) if isinstance(error, SegmentKeyError) else error.strerror or words_of(error)
    return words if words.startswith(name) else f"{name}: {words}"


class MissingIndexes:
    """Indexes that are missing, shown in one line. A broker makes them anew, so that nothing is wrong with the logs."""

    RULE = "IDX-1"

    def __init__(self, segments: Sequence[InputSegment]) -> None:
        self._files = Counter(redacted_uri(segment.directory) for segment in segments)
        self._missing: Counter[str] = Counter()

    def without(self, report: Report) -> Report | None:
        """Return a report without findings about missing indexes; None if there are no others."""
        missing = [finding for finding in report.findings if finding.rule == self.RULE]
        if not missing:
            return report
        self._missing[report.path or ""] += len({finding.path.rpartition(".")[0] for finding in missing})
        others = [finding for finding in report.findings if finding.rule != self.RULE]
        return Report(others, report.io_stats).of_directory(report.path or "", report.title) if others else None

    def line(self) -> str | None:
        """Return the line about all of them, or None if no index is missing."""
        if not self._missing:
            return None
        is_each = all(self._missing[name] == self._files[name] for name in self._missing)
        partitions = count(len(self._missing), "partition")
        return f"{'no indexes' if is_each else 'indexes are missing'} in {partitions}: reading is slower"


def _write(report: Report, paper: Console | None) -> None:
    if paper:
        write_words(report, paper)
    else:
        write_json(report)
    sys.stdout.flush()


def _total(seen: Counter[str], files: int) -> str:
    words = {"clean": "clean", "readable": "readable", "undecompressed": "not read", "damaged": "damaged", "unreadable": "unreadable"}
    states = [f"{seen[state]:,} {word}" for state, word in words.items() if seen[state]]
    found = [count(seen[severity], severity) for severity in ("error", "warning") if seen[severity]]
    return "; ".join([f"{count(files, 'file')}: {', '.join(states)}", *found])


def _code(seen: Counter[str], fail_on: str) -> int:
    if seen["unreadable"] or seen["unread"]:
        return UNREADABLE
    return FOUND if seen["error"] or seen["lost"] or (fail_on == "warning" and seen["warning"]) else CLEAN
