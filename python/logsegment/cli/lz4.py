"""`logsegment lz4`: which header checksums LZ4 frames have, and a copy with the other ones."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click

from logsegment import Limits, Lz4Frames, break_lz4, check_lz4, fix_lz4
from logsegment._options import EntryOptions
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, handle_exit, input_errors
from logsegment.cli.help import VerbGroup
from logsegment.cli.messages import Console, count, say
from logsegment.cli.options import Overwrite, Quiet, bind_args, examples
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, LogPath, LogPaths

#: At damage: a new checksum would hide it.
ADVICE = "damaged segments are not rewritten; `logsegment verify` reports the damage"


@dataclass(frozen=True, kw_only=True)
class CheckArguments(LogPaths):
    """The arguments of `lz4 check`."""

    limits: Annotated[Limits | None, EntryOptions]
    quiet: Quiet


@dataclass(frozen=True, kw_only=True)
class BreakArguments(LogPath):
    """The arguments of `lz4 break`."""

    output: Annotated[str, VerbOption("Write FILE; - is stdout.", "-o --output FILE", kind=click.Path(dir_okay=False, allow_dash=True))]
    limits: Annotated[Limits | None, EntryOptions]
    overwrite: Overwrite
    quiet: Quiet


@dataclass(frozen=True, kw_only=True)
class FixArguments(BreakArguments):
    """The arguments of `lz4 fix`."""

    form: Annotated[
        Literal["correct", "magic"],
        VerbOption("Write correct checksums everywhere, or what brokers of each magic expect: broken in 0, correct in 1 and 2.", "--form"),
    ] = "correct"


@click.group(
    cls=VerbGroup,
    short_help="Check, fix or break the header checksums of LZ4 frames (KIP-57).",
    epilog=examples(
        "logsegment lz4 check 00000000000000000000.log",
        "logsegment lz4 fix 00000000000000000000.log -o fixed/00000000000000000000.log",
        "logsegment lz4 fix --form magic 00000000000000000000.log -o fixed/00000000000000000000.log",
    ),
)
def lz4() -> None:
    """Check or rewrite the header checksums of LZ4 frames.

    Kafka 0.8.2 and 0.9 compute a wrong ("broken") checksum and reject the correct one. Since 0.10, readers of magic 0 ignore the
    checksum, and readers of magic 1 and 2 require the correct one.
    """


@lz4.command(short_help="Show which checksums the frames have.")
@handle_exit
@bind_args(CheckArguments)
def check(options: CheckArguments) -> int:
    """Show which checksums the frames of every PATH have.

    Exit with 1 if a reader rejects a frame: magic 0 needs "broken" (Kafka 0.8.2 and 0.9), magic 1 and 2 need "correct".
    """
    with CheckProgress(quiet=options.quiet) as progress, input_errors(ADVICE):
        frames = check_lz4(options.sources, limits=options.limits, observer=progress, **options.selected)
    return CLEAN if all(row.ok for row in frames) else FOUND


class CheckProgress(Progress):
    """Prints the frames of each file."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._paper = Console()

    def done(self, path: str, frames: list[Lz4Frames]) -> None:
        """Print the frames, unless readers accept all of them and --quiet is given."""
        with self.aside():
            _write(path, frames, self._paper, quiet=self._is_quiet)


@lz4.command(short_help="Write a copy with correct checksums, or with those that brokers expect.")
@handle_exit
@bind_args(FixArguments)
def fix(options: FixArguments) -> int:
    """Write PATH with correct checksums into FILE, for readers that require them.

    FILE appears when it is complete. PATH is never changed.
    """
    return _rewrite(options, fix_lz4, form=options.form)


@lz4.command(name="break", short_help="Write a copy for Kafka 0.8.2 and 0.9.")
@handle_exit
@bind_args(BreakArguments)
def break_(options: BreakArguments) -> int:
    """Write PATH with the checksums of Kafka 0.8.2 and 0.9 into FILE, without content sizes and content checksums.

    These clients read magic 0 only. FILE appears when it is complete. PATH is never changed.
    """
    return _rewrite(options, break_lz4)


def _write(name: str, frames: list[Lz4Frames], paper: Console, *, quiet: bool) -> None:
    if quiet and all(row.ok for row in frames):
        return
    if not frames:
        paper.line(f"{name}: no LZ4 frames")
        return
    total = sum(row.count for row in frames)
    verdict = "readable" if all(row.ok for row in frames) else "REJECTED by readers"
    paper.line(f"{name}: {count(total, 'LZ4 frame')}, {verdict}")
    titles = ("magic", "checksum", "frames", "first at byte", "what")
    paper.table(titles, [(str(row.magic), row.form, f"{row.count:,}", f"{row.position:,}", _words(row)) for row in frames])


def _words(row: Lz4Frames) -> str:
    if row.ok:
        return "ok"
    readers = "every reader" if row.magic else "Kafka 0.8.2 and 0.9"
    return f"rejected by {readers}; `logsegment lz4 fix --form magic` rewrites it"


def _rewrite(options: BreakArguments, function: Any, **form: str) -> int:
    is_piped = options.output == STDIN
    progress = FrameProgress(options, None if is_piped else options.output)
    with progress, input_errors(ADVICE):
        out = sys.stdout.buffer if is_piped else options.output
        function(
            options.sources, limits=options.limits, out=out, overwrite=options.overwrite, observer=progress, **form, **options.selected
        )
    return CLEAN


class FrameProgress(Progress):
    """Prints how much was written."""

    def __init__(self, options: BreakArguments, output: str | None) -> None:
        super().__init__(quiet=options.quiet, has_bar=output is not None, output=output, overwrite=options.overwrite)

    def done(self, path: str, written: int) -> None:
        """Print the size of the output."""
        if self._output is not None and not self._is_quiet:
            with self.aside():
                say(f"{self._output}: {count(written, 'byte')}")
