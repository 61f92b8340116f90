"""`logsegment verify`: validate, and say what is damaged, where, and which offsets are safe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import Observer, Report, validate
from logsegment._options import Depth, ReadOptions, Unreadable
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, handle_exit, words_of
from logsegment.cli.help import Verb
from logsegment.cli.messages import Console, count, say
from logsegment.cli.options import FailOn, NoCrc, Quiet, Reading, bind_args, examples
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.verdicts import write_json, write_words
from logsegment.cli.paths import LogPaths


@dataclass(frozen=True, kw_only=True)
class VerifyArguments(LogPaths):
    """The arguments of `verify`."""

    depth: Annotated[
        Depth,
        VerbOption(
            "Check framing, headers and checksums (headers), also records' offsets, times and lengths (metadata), or everything (full).",
            "--depth",
        ),
    ] = "full"
    fail_on: FailOn = "error"
    strict_tail: Annotated[bool, ReadOptions]
    no_crc: NoCrc
    unreadable: Annotated[Unreadable, ReadOptions]
    reading: Reading
    is_json: Annotated[bool, VerbOption("Print JSON lines: findings, and a summary of each file.", "--json")]
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Validate segments; show the damage, its place, and the safe offsets.",
    epilog=examples(
        "logsegment verify 00000000000000000000.log",
        "logsegment verify --quiet /var/lib/kafka/data",
        "logsegment verify --json --fail-on warning orders-0 > findings.jsonl",
    ),
)
@handle_exit
@bind_args(VerifyArguments)
def verify(options: VerifyArguments) -> int:
    """Validate every PATH, past damage.

    The sidecar files of a directory (indexes and others) are compared with the logs. With --quiet, only files with findings are shown.

    Exit codes: 0 nothing found, 1 findings of the severity of --fail-on or bytes that cannot be read, 2 usage or unreadable input.
    """
    paper = None if options.is_json else Console()
    with VerifyProgress(options, paper) as progress:
        try:
            validate(
                options.sources,
                depth=options.depth,
                check_crc=not options.no_crc,
                strict_tail=options.strict_tail,
                unreadable=options.unreadable,
                observer=progress,
                **options.selected,
                **options.reading,
            )
        except ValueError as mistake:
            raise click.UsageError(str(mistake)) from None
        if paper is not None and not options.quiet and (line := progress.indexes.line()):
            with progress.aside():
                paper.line(line)
    if progress.files > 1 and not options.quiet:
        say(_total(progress.seen, progress.files))
    return _code(progress.seen, options.fail_on)


class VerifyProgress(Progress):
    """Prints the report of each file when it is validated, and counts states.

    Attributes:
        files: the number of files, and of paths that cannot be read.
        seen: the number of files by state, of findings by severity, and of what decides the exit code.
        indexes: the missing indexes.
    """

    def __init__(self, options: VerifyArguments, paper: Console | None) -> None:
        super().__init__(quiet=options.quiet)
        self._options = options
        self._paper = paper
        self._is_planned = False
        self.files = 0
        self.seen: Counter[str] = Counter()
        self.indexes = MissingIndexes()

    def planned(self, files: Sequence[tuple[str, int]]) -> None:
        """Count the files."""
        super().planned(files)
        self.files += len(files)
        self._is_planned = True
        self.indexes.add(name for name, _ in files)

    def failed(self, path: str, error: Exception) -> bool:
        """Print the error and go on, with the other files."""
        is_of_file = not path.endswith(Observer.NOT_CHECKED)
        self.files += not self._is_planned
        self.seen["unreadable"] += is_of_file
        with self.aside():
            say(_unreadable(path, error) if is_of_file else f"{path}: {words_of(error)}")
        return True

    def done(self, path: str, report: Report) -> None:
        """Print the report, unless it is clean and --quiet is given."""
        self.seen.update(report.counts)
        if not report.is_of_directory:
            self.seen[report.state] += 1
            self.seen["unread"] += self._options.unreadable == "raise" and any(finding.is_unreadable for finding in report.findings)
            self.seen["lost"] += bool(report.lost)
        words = report if self._paper is None or not report.is_of_directory else self.indexes.without(report)
        if words is not None and not (self._options.quiet and report.state == "clean"):
            with self.aside():
                _write(words, self._paper)


def _unreadable(name: str, error: Exception) -> str:
    """Return why a file cannot be read, with its name once."""
    words = error.strerror or words_of(error) if isinstance(error, OSError) and name else words_of(error)
    return words if words.startswith(name) else f"{name}: {words}"


class MissingIndexes:
    """Indexes that are missing, shown in one line. A broker makes them anew, so that nothing is wrong with the logs."""

    RULE = "IDX-1"

    def __init__(self) -> None:
        self._files: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()

    def add(self, names: Iterable[str]) -> None:
        """Count the files of each directory."""
        self._files.update(name.rpartition("/")[0] for name in names)

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
