"""`logsegment salvage`: intact entries into a new file or directory, and an account of the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from logsegment._core import Finding, UnsupportedError, findings_table
from logsegment._salvage import Lost, Salvage
from logsegment._salvage import salvage as salvage_source
from logsegment.cli.exit_codes import CLEAN, LOST, UNREADABLE, Damaged, ending, words_of
from logsegment.cli.inputs import STDIN, InputSegment, segments_of
from logsegment.cli.messages import count, say, show_json, show_json_lines
from logsegment.cli.options import (
    examples,
    experimental_option,
    format_option,
    json_option,
    overwrite_option,
    paths_argument,
    quiet_option,
    registry_option,
)
from logsegment.cli.output.directories import (
    begun_directory,
    directory_name,
    ensure_own_directories,
    file_name,
    rebuild_beside,
    whole_directory,
)
from logsegment.cli.output.files import ensure_output, output_file
from logsegment.cli.output.progress import Progress
from logsegment.cli.placing import Place, places_of
from logsegment.cli.sources import opened
from logsegment.segment_files.discovery import is_gap
from logsegment.tiered import SegmentKeyError

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: Begins the rules of tiered storage, whose findings tell offsets that no bytes tell.
_TIERED = "TS-"
#: The rule of names.
_NAME = "SEG-1"
#: Places of a file that are told in words; JSON lines have all.
SHOWN = 20


@dataclass
class Job:
    """What all segments of a salvage share."""

    options: dict[str, Any]
    is_json: bool
    quiet: bool
    overwrite: bool
    has_lost: bool = False
    written: int = 0
    aside_bytes: int = 0

    def leave_out(self, findings: Sequence[Finding]) -> None:
        """Tell the uploads in tiered storage that are not read; nothing else has the offsets of a gap."""
        self.has_lost |= any(map(is_gap, findings))
        for one in findings:
            path = one.path.rpartition("@")[0]
            if self.is_json:
                _write_findings(path, [one])
            else:
                say(f"left out: {path}: {one.message} [{one.rule}]")

    def note(self, segment: InputSegment, found: Salvage, progress: Progress) -> None:
        """Tell what became of a segment."""
        self.has_lost |= not found.ok
        self.aside_bytes += found.aside_bytes
        with progress.aside():
            if self.is_json:
                _write_json(segment.name, found)
            elif not (self.quiet and found.ok):
                for line in _lines(segment.name, found):
                    say(line)


@click.command(
    short_help="Intact entries into a new file or directory; say what is lost.",
    epilog=examples(
        "logsegment salvage /backup/orders-0 --output saved",
        "logsegment salvage damaged.log --output saved.log --aside aside.log",
        "logsegment salvage - --order input --output - < damaged.log > saved.log",
    ),
)
@paths_argument
@click.option(
    "-o", "--output", required=True, metavar="PATH", help="A new file for one segment (- is stdout), a new directory for directories."
)
@overwrite_option
@click.option(
    "--aside",
    metavar="PATH",
    help="Where to put what has no place in a log: readable records of damaged batches, marked, and entries whose offsets fit nowhere.",
)
@click.option(
    "--order",
    type=click.Choice(["offset", "input"]),
    default="offset",
    show_default=True,
    help="offset: a log for a broker, sorted and without copies; input: every intact entry as it stands.",
)
@format_option
@experimental_option
@registry_option
@json_option("JSON lines: findings, and an account of each file.")
@quiet_option
@ending
def salvage(
    paths: tuple[str, ...],
    output: str,
    overwrite: bool,
    aside: str | None,
    order: str,
    entry_format: str,
    experimental: bool,
    codecs: Registry | None,
    is_json: bool,
    quiet: bool,
) -> int:
    """Write the intact entries of PATH, byte for byte, and account for every other byte.

    A directory becomes a directory with the same names, with indexes, snapshots and epochs made anew, on which a broker starts. A segment
    whose offsets contradict its name gets the name that they prove. The output appears when it is complete, inputs are never changed.

    Batches of the experimental format v3 are kept with --experimental; without it nothing is written.

    Exit codes: 0 nothing lost, 1 batches of v3 without --experimental, 2 usage or unreadable input, 3 finished but something was lost.
    """
    if is_json and output == STDIN:
        raise click.UsageError("--json writes to standard output, which is the output already")
    left_out: list[Finding] = []
    segments = segments_of(paths, left_out)
    job = Job({"order": order, "format": entry_format, "experimental": experimental, "codecs": codecs}, is_json, quiet, overwrite)
    job.leave_out(left_out)
    try:
        with Progress(segments, is_wanted=not quiet) as progress:
            if any(segment.is_listed for segment in segments):
                _to_directory(segments, output, aside, job, progress)
            else:
                _to_file(segments, output, aside, job, progress)
    except SegmentKeyError as error:
        say(words_of(error))
        say("nothing was written: salvage needs the keys of all segments, or a PATH that holds only those that can be opened")
        return UNREADABLE
    if output != STDIN and not quiet:
        say(f"wrote {count(job.written, 'segment')} to {output}")
    if aside is not None and not job.aside_bytes and not quiet:
        say(f"nothing had to be put aside: {aside} {'is empty' if os.path.lexists(aside) else 'was not made'}")
    return LOST if job.has_lost else CLEAN


def _to_file(segments: Sequence[InputSegment], output: str, aside: str | None, job: Job, progress: Progress) -> None:
    if len(segments) > 1:
        raise click.UsageError("several files cannot become one; give a directory, or one file at a time")
    if aside is not None:
        if os.path.realpath(aside) == os.path.realpath(output):
            raise click.UsageError(f"{aside} is the output already")
        ensure_output(aside, segments, job.overwrite)
    if output != STDIN:
        ensure_output(output, segments, job.overwrite)
    anywhere = Place(segments[0].base_offset or 0, {})
    with ExitStack() as stack:
        rest = None if aside is None else stack.enter_context(output_file(aside, job.overwrite))
        log = None if output == STDIN else stack.enter_context(output_file(output, job.overwrite))
        is_written = _salvage(segments[0], log.file if log else sys.stdout.buffer, rest.file if rest else None, anywhere, job, progress)
        if log and not is_written:
            log.discard()
        if rest and not job.aside_bytes:
            rest.discard()


def _to_directory(segments: Sequence[InputSegment], output: str, aside: str | None, job: Job, progress: Progress) -> None:
    ensure_own_directories(segments)
    places = [os.path.realpath(path) for path in (output, aside) if path is not None]
    if len(places) > 1 and os.path.commonpath(places) in places:
        raise click.UsageError(f"{output} and {aside} must lie beside each other")
    with ExitStack() as stack:
        hidden = stack.enter_context(whole_directory(output))
        beside = stack.enter_context(whole_directory(aside)) if aside is not None else None
        for segment, place in _placed(segments, job):
            rest = None
            if beside is not None:
                directory = beside / directory_name(segment)
                directory.mkdir(exist_ok=True)
                rest = str(directory / file_name(segment))
            directory = begun_directory(segment, hidden)
            with _new_file(directory, segment, place) as file:
                is_written = _salvage(segment, file, rest, place, job, progress)
            if not is_written:
                Path(file.name).unlink()
                with suppress(OSError):
                    # Only an empty one goes.
                    directory.rmdir()
        if job.options["order"] == "offset":
            rebuild_beside(hidden)


def _placed(segments: Sequence[InputSegment], job: Job) -> Iterator[tuple[InputSegment, Place]]:
    """Segments with their places: as they are named where every entry is kept, else as their offsets prove."""
    if job.options["order"] == "input":
        return ((segment, Place(segment.base_offset, {})) for segment in segments)
    return places_of(segments, {name: job.options[name] for name in ("format", "experimental", "codecs")})


@contextmanager
def _new_file(directory: Path, segment: InputSegment, place: Place) -> Iterator[IO[bytes]]:
    """The file of a segment in the output; a hidden one for a segment that has no place there."""
    name = file_name(segment)
    if place.base_offset is None:
        name = f".{name}"
    elif place.is_moved:
        name = f"{place.base_offset:020d}.log"
    with (directory / name).open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _salvage(segment: InputSegment, file: Any, aside: Any, place: Place, job: Job, progress: Progress) -> bool:
    """Write what is intact of a segment; false if there is nothing to write, and the segment was not empty before."""
    progress.begin(segment)
    # Sorted, a source is read more than once.
    is_sorted = job.options["order"] == "offset"
    seen = progress.seen if progress.is_shown and not is_sorted else None
    with opened(segment, is_read_twice=is_sorted, seen=seen) as source:
        try:
            found = salvage_source(source, out=file, aside=aside, **job.options, **place.fit)
        except UnsupportedError as error:
            raise Damaged(segment.name, error) from error
    if place.is_moved:
        found.findings.insert(0, _misnamed(segment, place))
    job.note(segment, found, progress)
    is_written = place.base_offset is not None and (bool(found.entries) or found.ok)
    job.written += is_written
    return is_written


def _misnamed(segment: InputSegment, place: Place) -> Finding:
    first = place.base_offset
    text = f"segment contradicts its name: name has offset {segment.base_offset}, first batch has {first}; written as {first:020d}.log"
    return Finding(_NAME, "warning", text, "name", 0, 0, base_offset=first)


def _lines(name: str, found: Salvage) -> Iterator[str]:
    kept = f"{name}: kept {count(found.entries, 'entry')}, {count(found.kept_bytes, 'byte')}"
    if found.kept:
        first, last = min(kept.first_offset for kept in found.kept), max(kept.last_offset for kept in found.kept)
        kept += f", offsets {first:,} to {last:,}"
    yield kept
    unread = [one for one in found.findings if one.rule.startswith(_TIERED) and one.severity == "error"]
    for one in unread[:SHOWN]:
        yield f"  {one.severity} [{one.rule}]: {one.message}"
    yield from (f"  {one.severity} [{one.rule}]: {one.message}" for one in found.findings if one.rule in ("EXPERIMENTAL", _NAME))
    if not found.entries and found.lost_bytes and not found.doubtful and not unread:
        yield "  no entry is intact: is this a log segment at all?"
    for lost in found.lost[:SHOWN]:
        yield f"  left out: {_lost_text(lost)}"
    if len(found.lost) > SHOWN:
        yield f"  and {count(len(found.lost) - SHOWN, 'place')} more; --json has all of them"
    if found.aside_bytes:
        what = [count(found.records, "record") + " of damaged batches"] if found.records else []
        what += [count(found.doubtful, "entry") + " whose offsets fit nowhere"] if found.doubtful else []
        yield f"  aside: {' and '.join(what)}"
    elif found.doubtful:
        yield f"  {count(found.doubtful, 'intact entry')} left out by their offsets: --aside keeps them"


def _lost_text(lost: Lost) -> str:
    where = f"bytes {lost.position:,} to {lost.end - 1:,} [{lost.rule}]"
    missing = lost.missing
    if missing:
        return f"{where}, offsets {missing[0]:,} to {missing[-1]:,} are missing"
    if lost.before_offset is None and lost.after_offset is not None and not lost.is_harmless:
        return f"{where}, what stood after offset {lost.after_offset:,}"
    return where


def _write_json(name: str, found: Salvage) -> None:
    _write_findings(name, found.findings)
    account = {
        "type": "salvage",
        "file": name,
        "ok": found.ok,
        "entries": found.entries,
        "keptBytes": found.kept_bytes,
        "lostBytes": found.lost_bytes,
        "asideBytes": found.aside_bytes,
        "records": found.records,
        "doubtful": found.doubtful,
        "isListed": found.is_listed,
        "kept": [
            {
                "position": kept.position,
                "length": kept.length,
                "firstOffset": kept.first_offset,
                "lastOffset": kept.last_offset,
                "entries": kept.entries,
            }
            for kept in found.kept
        ],
        "lost": [
            {
                "position": lost.position,
                "length": lost.length,
                "rule": lost.rule,
                "afterOffset": lost.after_offset,
                "beforeOffset": lost.before_offset,
            }
            for lost in found.lost
        ],
    }
    show_json(account)


def _write_findings(name: str, findings: Sequence[Finding]) -> None:
    for batch in findings_table(findings).to_batches():
        show_json_lines(batch.to_jsonl(constants=[("type", "finding"), ("file", name)]))
