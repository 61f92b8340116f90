"""`logsegment salvage`: valid entries into a new file or directory, and an account of the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click

from logsegment._core import Finding, SegmentKeyError, UnsupportedError, findings_table
from logsegment._options import ReadOptions
from logsegment._output import naming, new_file
from logsegment._salvage import NAME_RULE, Order, OutputPlace, Salvage, output_places
from logsegment._salvage import salvage as salvage_source
from logsegment._survey import LostRange
from logsegment.analysis.inputs import InputSegment, opened
from logsegment.cli.exit_codes import CLEAN, LOST, UNREADABLE, DamagedInput, handle_exit, words_of
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, ensure_segments, segments_of
from logsegment.cli.messages import count, say, show_json, show_json_lines
from logsegment.cli.options import (
    Reading,
    bind_args,
    examples,
    json_option,
    overwrite_option,
    paths_argument,
    quiet_option,
    reading_options,
)
from logsegment.cli.output.files import (
    begun_directory,
    ensure_named_files,
    ensure_output,
    output_file,
    rebuild_sidecars,
    whole_directory,
)
from logsegment.cli.output.progress import Progress
from logsegment.segment_files.discovery import WORK, is_gap, is_taken
from logsegment.segment_files.output_names import file_name, output_directories
from logsegment.segment_files.overflow import MOST, split_file
from logsegment.segment_files.overflow import RULE as OVERFLOW_RULE

#: The beginning of the rules of tiered storage, whose findings name offsets that no bytes have.
_TIERED = "TS-"
#: Places of a file that the text lists; JSON lines have all.
SHOWN = 20


@dataclass
class SalvageJob:
    """Arguments of all segments of a salvage."""

    options: SalvageArguments
    has_lost: bool = False
    written: int = 0
    aside_bytes: int = 0

    def leave_out(self, findings: Sequence[Finding]) -> None:
        """Report the files that are not read, and those of completed swaps; nothing else has the offsets of a gap."""
        self.has_lost |= any(map(is_gap, findings))
        for finding in findings:
            path = finding.path.rpartition("@")[0]
            if self.options.is_json:
                _write_findings(path, [finding])
            elif is_taken(finding):
                say(f"{path}: {finding.message} [{finding.rule}]")
            elif not (self.options.quiet and finding.rule == WORK and finding.severity == "info"):
                say(f"left out: {path}: {finding.message} [{finding.rule}]")

    def split(self, segment: InputSegment, path: Path) -> None:
        """Cut the segment in the output if its offsets are too far above its name, as a broker does when it loads the log."""
        made = split_file(path, ReadOptions(**self.options.reading))
        if path in made and len(made) == 1:
            return
        self.written += len(made) - 1
        text = f"offsets are more than {MOST:,} above the name of the segment; written as {', '.join(path.name for path in made)}"
        finding = Finding(OVERFLOW_RULE, "warning", text, f"{segment.name}@0", 0, 0, segment.base_offset)
        if self.options.is_json:
            _write_findings(segment.name, [finding])
        elif not self.options.quiet:
            say(f"{segment.name}: {text} [{finding.rule}]")

    def note(self, segment: InputSegment, found: Salvage, progress: Progress) -> None:
        """Report the result of a segment."""
        self.has_lost |= not found.ok
        self.aside_bytes += found.aside_bytes
        with progress.aside():
            if self.options.is_json:
                _write_json(segment.name, found)
            elif not (_is_healthy(found) or (self.options.quiet and found.ok)):
                for line in _lines(segment.name, found):
                    say(line)


@dataclass(frozen=True)
class SalvageArguments:
    """The arguments of `salvage`."""

    paths: tuple[str, ...]
    output: str
    overwrite: bool
    aside: str | None
    order: Order
    reading: Reading
    is_json: bool
    quiet: bool


@click.command(
    cls=Verb,
    short_help="Copy the valid entries of damaged segments into a new file or directory.",
    epilog=examples(
        "logsegment salvage /backup/orders-0 --output saved",
        "logsegment salvage damaged.log --output saved.log --aside aside.log",
        "logsegment salvage - --order input --output - < damaged.log > saved.log",
    ),
)
@paths_argument
@click.option("-o", "--output", required=True, metavar="PATH", help="Write a new file (- is stdout), or for directories a new directory.")
@overwrite_option
@click.option(
    "--aside",
    metavar="PATH",
    help="Write readable records of damaged batches, and entries with misplaced offsets, to this new file or directory.",
)
@click.option(
    "--order",
    type=click.Choice(["offset", "input"]),
    default="offset",
    show_default=True,
    help="Write a sorted log without copies, for a broker (offset), or every valid entry in input order (input).",
)
@reading_options
@json_option("Print JSON lines: findings, and an account of each file.")
@quiet_option
@handle_exit
@bind_args(SalvageArguments)
def salvage(options: SalvageArguments) -> int:
    """Copy the valid entries of PATH, byte for byte, and account for every other byte.

    A directory becomes a directory with the same names, with rebuilt indexes, snapshots and epochs, on which a broker starts. If a
    segment's name contradicts its offsets, the segment is renamed. Of a partition in several directories each is saved, under its own
    path. The output appears when it is complete, inputs are never changed.

    Batches of the experimental format v3 are kept with --experimental; without it nothing is written.

    A batch with a matching checksum whose records cannot be read is kept, named and counts as a loss.

    Exit codes: 0 nothing lost, 1 batches of v3 without --experimental, 2 usage or unreadable input, 3 finished with losses.
    """
    if options.is_json and options.output == STDIN:
        raise click.UsageError("--json writes to standard output, which is already the output")
    left_out: list[Finding] = []
    segments = segments_of(options.paths, left_out)
    job = SalvageJob(options)
    job.leave_out(left_out)
    ensure_segments(segments, options.reading)
    try:
        with Progress(segments, is_wanted=not options.quiet) as progress:
            if any(segment.is_listed for segment in segments):
                _to_directory(segments, job, progress)
            else:
                _to_file(segments, job, progress)
    except SegmentKeyError as error:
        say(words_of(error))
        say("nothing was written; pass the keys of all segments, or a PATH of segments that the keys open")
        return UNREADABLE
    if options.output != STDIN and not options.quiet:
        say(f"wrote {count(job.written, 'segment')} to {options.output}")
    if options.aside is not None and not job.aside_bytes and not options.quiet:
        say(f"no entry for --aside: {options.aside} {'is empty' if os.path.lexists(options.aside) else 'was not made'}")
    return LOST if job.has_lost else CLEAN


def _to_file(segments: Sequence[InputSegment], job: SalvageJob, progress: Progress) -> None:
    output, aside = job.options.output, job.options.aside
    if len(segments) > 1:
        raise click.UsageError("several files cannot become one file; pass a directory, or one file at a time")
    if aside is not None:
        if os.path.realpath(aside) == os.path.realpath(output):
            raise click.UsageError(f"{aside} is already the output")
        ensure_output(aside, segments, job.options.overwrite)
    if output != STDIN:
        ensure_output(output, segments, job.options.overwrite)
    anywhere = OutputPlace(segments[0].base_offset or 0)
    with ExitStack() as stack:
        rest = None if aside is None else stack.enter_context(output_file(aside, job.options.overwrite))
        log = None if output == STDIN else stack.enter_context(output_file(output, job.options.overwrite))
        is_written = _salvage(segments[0], (log.file if log else sys.stdout.buffer, rest.file if rest else None), anywhere, job, progress)
        if log and not is_written:
            log.discard()
        if rest and not job.aside_bytes:
            rest.discard()


def _to_directory(segments: Sequence[InputSegment], job: SalvageJob, progress: Progress) -> None:
    output, aside = job.options.output, job.options.aside
    ensure_named_files(segments)
    names = output_directories(segments)
    places = [os.path.realpath(path) for path in (output, aside) if path is not None]
    if len(places) > 1 and os.path.commonpath(places) in places:
        raise click.UsageError(f"{output} and {aside} must not be inside each other")
    with ExitStack() as stack:
        hidden = stack.enter_context(whole_directory(output))
        hidden_aside = stack.enter_context(whole_directory(aside)) if aside is not None else None
        for segment, place in _placed(segments, job):
            rest = None
            if hidden_aside is not None:
                directory = hidden_aside / names[segment.directory[:]]
                directory.mkdir(parents=True, exist_ok=True)
                rest = str(directory / file_name(segment))
            directory = begun_directory(segment, hidden, names[segment.directory[:]])
            with _new_file(directory, segment, place) as file:
                is_written = _salvage(segment, (file, rest), place, job, progress)
            if not is_written:
                Path(file.name).unlink()
                with suppress(OSError):
                    # Only an empty one goes.
                    directory.rmdir()
            elif job.options.order == "offset":
                job.split(segment, Path(file.name))
        if job.options.order == "offset":
            rebuild_sidecars(hidden)


def _placed(segments: Sequence[InputSegment], job: SalvageJob) -> Iterator[tuple[InputSegment, OutputPlace]]:
    """Return the segments with their places: as named if every entry is kept, else as their offsets prove."""
    if job.options.order == "input":
        return ((segment, OutputPlace(segment.base_offset)) for segment in segments)
    files = [segment.file for segment in segments if segment.file is not None]
    return zip(segments, output_places(files, ReadOptions(**job.options.reading)), strict=True)


@contextmanager
def _new_file(directory: Path, segment: InputSegment, place: OutputPlace) -> Iterator[IO[bytes]]:
    """Open the file of a segment in the output; a hidden file for a segment without a place there."""
    name = file_name(segment)
    if place.base_offset is None:
        name = f".{name}"
    elif place.finding is not None:
        name = f"{place.base_offset:020d}.log"
    with new_file(directory / name) as file:
        yield file
        file.flush()
        with naming(file.name):
            os.fsync(file.fileno())


def _salvage(segment: InputSegment, outputs: tuple[Any, Any], place: OutputPlace, job: SalvageJob, progress: Progress) -> bool:
    """Write the valid entries of a segment to the first output; return False if there are none and the segment was not empty."""
    out, aside = outputs
    progress.begin(segment)
    # Sorted, a source is read more than once.
    is_sorted = job.options.order == "offset"
    seen = progress.seen if progress.is_shown and not is_sorted else None
    with opened(segment, is_read_twice=is_sorted, seen=seen) as source:
        try:
            found = salvage_source(
                source,
                out=out,
                aside=aside,
                order=job.options.order,
                first_offset=place.first_offset,
                end_offset=place.end_offset,
                **job.options.reading,
            )
        except UnsupportedError as error:
            raise DamagedInput(segment.name, error) from error
    if place.finding is not None:
        found.findings.insert(0, place.finding)
    job.note(segment, found, progress)
    is_written = place.base_offset is not None and (bool(found.entries) or found.ok)
    job.written += is_written
    return is_written


def _is_healthy(found: Salvage) -> bool:
    """Return True if every byte was kept, and nothing is to be said of the file."""
    return not (found.lost or found.findings or found.aside_bytes or found.undecompressed or found.moved)


def _lines(name: str, found: Salvage) -> Iterator[str]:
    kept = f"{name}: kept {count(found.entries, 'entry')}, {count(found.kept_bytes, 'byte')}"
    if found.kept:
        first, last = min(kept.first_offset for kept in found.kept), max(kept.last_offset for kept in found.kept)
        kept += f", offsets {first:,} to {last:,}"
    yield kept
    unread = [finding for finding in found.findings if finding.rule.startswith(_TIERED) and finding.severity == "error"]
    for finding in unread[:SHOWN]:
        yield f"  {finding.severity} [{finding.rule}]: {finding.message}"
    yield from (
        f"  {finding.severity} [{finding.rule}]: {finding.message}"
        for finding in found.findings
        if finding.rule in ("EXPERIMENTAL", NAME_RULE)
    )
    if not found.entries and found.lost_bytes and not found.doubtful and not unread:
        yield "  no entry is valid; is this a log segment?"
    yield from _notes(found)
    for lost in found.lost[:SHOWN]:
        yield f"  left out: {_lost_text(lost)}"
    if len(found.lost) > SHOWN:
        yield f"  and {count(len(found.lost) - SHOWN, 'place')} more; --json has all of them"
    if found.aside_bytes:
        what = [count(found.records, "record") + " of damaged batches"] if found.records else []
        what += [count(found.doubtful, "entry") + " with misplaced offsets"] if found.doubtful else []
        yield f"  aside: {' and '.join(what)}"
    elif found.doubtful:
        yield f"  {count(found.doubtful, 'valid entry')} with misplaced offsets, not written; --aside keeps them"


def _notes(found: Salvage) -> Iterator[str]:
    """Yield lines about kept entries."""
    for finding in found.undecodable[:SHOWN]:
        yield f"  kept, but its records cannot be read: {_place_of(finding)}: {finding.message}"
    if len(found.undecodable) > SHOWN:
        yield f"  and {count(len(found.undecodable) - SHOWN, 'entry')} more; --json has all of them"
    if found.undecompressed:
        yield f"  {count(found.undecompressed, 'kept entry')} not opened: a plugin or a dictionary is missing, or a limit is too low"
    if found.moved:
        yield f"  {count(found.moved, 'entry')} of swapped blocks sorted in"


def _place_of(finding: Finding) -> str:
    return f"bytes {finding.position:,} to {finding.position + finding.length - 1:,} [{finding.rule}], offset {finding.base_offset or 0:,}"


def _lost_text(lost: LostRange) -> str:
    where = f"bytes {lost.position:,} to {lost.end - 1:,} [{lost.rule}]"
    missing = lost.missing
    if missing:
        return f"{where}, offsets {missing[0]:,} to {missing[-1]:,} are missing"
    if lost.before_offset is None and lost.after_offset is not None and not lost.is_harmless:
        return f"{where}, everything after offset {lost.after_offset:,}"
    return where


def _write_json(name: str, found: Salvage) -> None:
    _write_findings(name, found.findings)
    show_json({"type": "salvage", "file": name} | found.to_dict())


def _write_findings(name: str, findings: Sequence[Finding]) -> None:
    for batch in findings_table(findings).to_batches():
        show_json_lines(batch.to_jsonl(constants=[("type", "finding"), ("file", name)]))
