"""`logsegment lz4`: which header checksums LZ4 frames have, and a copy with the other ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click

from logsegment._core import Limits, Lz4Rewriter, RecordBatchError
from logsegment._lz4 import Lz4Frames, check_lz4
from logsegment._options import EntryOptions
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, DamagedInput, handle_exit
from logsegment.cli.help import VerbGroup
from logsegment.cli.inputs import begun, segments_of
from logsegment.cli.messages import Console, count, say
from logsegment.cli.options import Overwrite, Quiet, bind_args, examples
from logsegment.cli.output.files import whole_file
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import LogPath, LogPaths
from logsegment.inputs.input_segment import InputSegment, opened

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
    segments = segments_of(options, quiet=options.quiet)
    paper = Console()
    is_good = True
    with begun(Progress(quiet=options.quiet), segments) as progress:
        for segment in segments:
            progress.begin(segment.name, segment.size)
            with opened(segment, seen=progress.read if progress.wants_position else None) as source:
                frames = _survey(segment, source, options.limits)
            is_good &= all(row.ok for row in frames)
            with progress.aside():
                _write(segment, frames, paper, quiet=options.quiet)
    return CLEAN if is_good else FOUND


@lz4.command(short_help="Write a copy with correct checksums, or with those that brokers expect.")
@handle_exit
@bind_args(FixArguments)
def fix(options: FixArguments) -> int:
    """Write PATH with correct checksums into FILE, for readers that require them.

    FILE appears when it is complete. PATH is never changed.
    """
    return _rewrite(options, options.form)


@lz4.command(name="break", short_help="Write a copy for Kafka 0.8.2 and 0.9.")
@handle_exit
@bind_args(BreakArguments)
def break_(options: BreakArguments) -> int:
    """Write PATH with the checksums of Kafka 0.8.2 and 0.9 into FILE, without content sizes and content checksums.

    These clients read magic 0 only. FILE appears when it is complete. PATH is never changed.
    """
    return _rewrite(options, "broken")


def _survey(segment: InputSegment, source: Any, limits: Limits | None) -> list[Lz4Frames]:
    try:
        return check_lz4(source, limits=limits)
    except RecordBatchError as error:
        raise DamagedInput(segment.name, error, ADVICE) from error


def _write(segment: InputSegment, frames: list[Lz4Frames], paper: Console, *, quiet: bool) -> None:
    if quiet and all(row.ok for row in frames):
        return
    if not frames:
        paper.line(f"{segment.name}: no LZ4 frames")
        return
    total = sum(row.count for row in frames)
    verdict = "readable" if all(row.ok for row in frames) else "REJECTED by readers"
    paper.line(f"{segment.name}: {count(total, 'LZ4 frame')}, {verdict}")
    titles = ("magic", "checksum", "frames", "first at byte", "what")
    paper.table(titles, [(str(row.magic), row.form, f"{row.count:,}", f"{row.position:,}", _words(row)) for row in frames])


def _words(row: Lz4Frames) -> str:
    if row.ok:
        return "ok"
    readers = "every reader" if row.magic else "Kafka 0.8.2 and 0.9"
    return f"rejected by {readers}; `logsegment lz4 fix --form magic` rewrites it"


def _rewrite(options: BreakArguments, form: str) -> int:
    output = options.output
    segments = segments_of(options, quiet=options.quiet)
    if len(segments) > 1:
        raise click.UsageError("PATH must be one segment; a directory of several is not rewritten")
    segment = segments[0]
    if output == "-":
        with opened(segment) as source:
            _pour(_pieces(segment, source, form, options.limits), sys.stdout.buffer)
        return CLEAN
    with begun(Progress(quiet=options.quiet, output=output, overwrite=options.overwrite), segments) as progress:
        progress.begin(segment.name, segment.size)
        seen = progress.read if progress.wants_position else None
        with opened(segment, seen=seen) as source, whole_file(output, options.overwrite) as file:
            written = _pour(_pieces(segment, source, form, options.limits), file)
    if not options.quiet:
        say(f"{output}: {count(written, 'byte')}")
    return CLEAN


def _pieces(segment: InputSegment, source: Any, form: str, limits: Limits | None) -> Iterator[bytes]:
    try:
        yield from Lz4Rewriter(source, form, limits, False)
    except RecordBatchError as error:
        raise DamagedInput(segment.name, error, ADVICE) from error


def _pour(pieces: Iterable[bytes], file: Any) -> int:
    written = 0
    for piece in pieces:
        file.write(piece)
        written += len(piece)
    return written
