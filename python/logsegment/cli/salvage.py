"""`logsegment salvage`: intact entries into a new file or directory, and an account of the rest."""

from __future__ import annotations

import json
import os
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import click

from logsegment._core import FileSource, Finding, UnsupportedError, findings_table
from logsegment._decode import batch_stream
from logsegment._options import EntryKeywords
from logsegment._salvage import LostRange, Order, Salvage
from logsegment._salvage import salvage as salvage_source
from logsegment.cli.exit_codes import CLEAN, LOST, UNREADABLE, DamagedInput, ending, words_of
from logsegment.cli.inputs import STDIN, InputSegment, opened, segments_of
from logsegment.cli.messages import count, say, show_json, show_json_lines
from logsegment.cli.options import (
    Reading,
    examples,
    json_option,
    overwrite_option,
    paths_argument,
    quiet_option,
    reading_options,
    taking,
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
from logsegment.segment_files.discovery import is_gap
from logsegment.stores.uri import is_tiered
from logsegment.tiered import SegmentKeyError

#: Begins the rules of tiered storage, whose findings tell offsets that no bytes tell.
_TIERED = "TS-"
#: The rule of names.
_NAME = "SEG-1"
#: Places of a file that are told in words; JSON lines have all.
SHOWN = 20


@dataclass
class SalvageJob:
    """What all segments of a salvage share."""

    options: SalvageArguments
    has_lost: bool = False
    written: int = 0
    aside_bytes: int = 0

    def leave_out(self, findings: Sequence[Finding]) -> None:
        """Tell the uploads in tiered storage that are not read; nothing else has the offsets of a gap."""
        self.has_lost |= any(map(is_gap, findings))
        for one in findings:
            path = one.path.rpartition("@")[0]
            if self.options.is_json:
                _write_findings(path, [one])
            else:
                say(f"left out: {path}: {one.message} [{one.rule}]")

    def note(self, segment: InputSegment, found: Salvage, progress: Progress) -> None:
        """Tell what became of a segment."""
        self.has_lost |= not found.ok
        self.aside_bytes += found.aside_bytes
        with progress.aside():
            if self.options.is_json:
                _write_json(segment.name, found)
            elif not (self.options.quiet and found.ok):
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
@reading_options
@json_option("JSON lines: findings, and an account of each file.")
@quiet_option
@ending
@taking(SalvageArguments)
def salvage(options: SalvageArguments) -> int:
    """Write the intact entries of PATH, byte for byte, and account for every other byte.

    A directory becomes a directory with the same names, with indexes, snapshots and epochs made anew, on which a broker starts. A segment
    whose offsets contradict its name gets the name that they prove. The output appears when it is complete, inputs are never changed.

    Batches of the experimental format v3 are kept with --experimental; without it nothing is written.

    Exit codes: 0 nothing lost, 1 batches of v3 without --experimental, 2 usage or unreadable input, 3 finished but something was lost.
    """
    if options.is_json and options.output == STDIN:
        raise click.UsageError("--json writes to standard output, which is the output already")
    left_out: list[Finding] = []
    segments = segments_of(options.paths, left_out)
    job = SalvageJob(options)
    job.leave_out(left_out)
    try:
        with Progress(segments, is_wanted=not options.quiet) as progress:
            if any(segment.is_listed for segment in segments):
                _to_directory(segments, job, progress)
            else:
                _to_file(segments, job, progress)
    except SegmentKeyError as error:
        say(words_of(error))
        say("nothing was written: salvage needs the keys of all segments, or a PATH that holds only those that can be opened")
        return UNREADABLE
    if options.output != STDIN and not options.quiet:
        say(f"wrote {count(job.written, 'segment')} to {options.output}")
    if options.aside is not None and not job.aside_bytes and not options.quiet:
        say(f"nothing had to be put aside: {options.aside} {'is empty' if os.path.lexists(options.aside) else 'was not made'}")
    return LOST if job.has_lost else CLEAN


def _to_file(segments: Sequence[InputSegment], job: SalvageJob, progress: Progress) -> None:
    output, aside = job.options.output, job.options.aside
    if len(segments) > 1:
        raise click.UsageError("several files cannot become one; give a directory, or one file at a time")
    if aside is not None:
        if os.path.realpath(aside) == os.path.realpath(output):
            raise click.UsageError(f"{aside} is the output already")
        ensure_output(aside, segments, job.options.overwrite)
    if output != STDIN:
        ensure_output(output, segments, job.options.overwrite)
    anywhere = OutputPlace(segments[0].base_offset or 0, {})
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
                is_written = _salvage(segment, (file, rest), place, job, progress)
            if not is_written:
                Path(file.name).unlink()
                with suppress(OSError):
                    # Only an empty one goes.
                    directory.rmdir()
        if job.options.order == "offset":
            rebuild_beside(hidden)


def _placed(segments: Sequence[InputSegment], job: SalvageJob) -> Iterator[tuple[InputSegment, OutputPlace]]:
    """Return the segments with their places: as named if every entry is kept, else as their offsets prove."""
    if job.options.order == "input":
        return ((segment, OutputPlace(segment.base_offset, {})) for segment in segments)
    return places_of(segments, job.options.reading)


@contextmanager
def _new_file(directory: Path, segment: InputSegment, place: OutputPlace) -> Iterator[IO[bytes]]:
    """Open the file of a segment in the output; a hidden file for a segment without a place there."""
    name = file_name(segment)
    if place.base_offset is None:
        name = f".{name}"
    elif place.is_moved:
        name = f"{place.base_offset:020d}.log"
    with (directory / name).open("xb") as file:
        yield file
        file.flush()
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
            found = salvage_source(source, out=out, aside=aside, order=job.options.order, **job.options.reading, **place.fit)
        except UnsupportedError as error:
            raise DamagedInput(segment.name, error) from error
    if place.is_moved:
        found.findings.insert(0, _misnamed(segment, place))
    job.note(segment, found, progress)
    is_written = place.base_offset is not None and (bool(found.entries) or found.ok)
    job.written += is_written
    return is_written


def _misnamed(segment: InputSegment, place: OutputPlace) -> Finding:
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


def _lost_text(lost: LostRange) -> str:
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
        "kept": [kept.to_dict() for kept in found.kept],
        "lost": [lost.to_dict() for lost in found.lost],
    }
    show_json(account)


def _write_findings(name: str, findings: Sequence[Finding]) -> None:
    for batch in findings_table(findings).to_batches():
        show_json_lines(batch.to_jsonl(constants=[("type", "finding"), ("file", name)]))


_FIELDS = [("baseOffset", "first"), ("lastOffset", "last")]


@dataclass(frozen=True)
class OutputPlace:
    """Where a segment belongs.

    Attributes:
        base_offset: for the name in the output; None for a segment that has no place there.
        fit: `first_offset` and `end_offset` of `logsegment.salvage`; empty where any offset fits.
        is_moved: the base offset is not that of the name.
    """

    base_offset: int | None
    fit: dict[str, Any]
    is_moved: bool = False


@dataclass(frozen=True)
class Extent:
    """The offsets of a segment, as most of its batches agree on them.

    Attributes:
        first, last: the first and the last offset.
        is_proven: several batches follow each other without a gap, so that no single damaged base offset says so.
    """

    first: int
    last: int
    is_proven: bool


def places_of(segments: Sequence[InputSegment], reading: EntryKeywords) -> Iterator[tuple[InputSegment, OutputPlace]]:
    """Yield each segment with its place, partition by partition.

    The offsets of the batches overrule the names only where more batches are kept that way.

    Args:
        segments: those of each directory in the order of their names.
        reading: options of entries.

    Raises:
        OSError: if a segment cannot be read.
    """
    for _, group in groupby(segments, lambda segment: segment.directory):
        partition = list(group)
        named = list(map(_by_name, partition, _ends([one.base_offset for one in partition])))
        if any(is_tiered(one.path) or one.is_of_0_7 or one.base_offset is None for one in partition):
            # Manifests have the offsets of uploads, and offsets of Kafka 0.7 are positions.
            yield from zip(partition, named, strict=True)
            continue
        proven = output_places([one.base_offset or 0 for one in partition], [_extent(one, reading) for one in partition])
        is_other = any(place.is_moved or place.base_offset is None for place in proven)
        if is_other and _kept(partition, proven, reading) <= _kept(partition, named, reading):
            proven = named
        yield from zip(partition, proven, strict=True)


def output_places(names: Sequence[int], extents: Sequence[Extent | None]) -> list[OutputPlace]:
    """Return the places of the segments of a partition, by their offsets.

    Args:
        names: the offsets in the names, in increasing order.
        extents: the offsets of the segments; None for a segment that does not show them.
    """
    known = _without_overlaps({number: extent for number, extent in enumerate(extents) if extent is not None}, names)
    order = list(known)
    bases: dict[int, int] = {}
    last = -1
    for at, number in enumerate(order):
        extent = known[number]
        # The name of a segment may be lower than its first offset: compaction takes away batches.
        free = names[number] if last < names[number] <= extent.first else _name_between(names, last, extent.first)
        following = known[order[at + 1]].first if at + 1 < len(order) else None
        if free == names[number] or extent.is_proven or extent.first == last + 1 or extent.last + 1 == following:
            bases[number], last = free, extent.last
    held = [(base, max(base, known[number].last)) for number, base in bases.items()]
    for number, name in enumerate(names):
        if number not in bases and not any(first <= name <= last for first, last in held):
            bases[number] = name
    borders = sorted(bases.values())
    return [_place(name, bases.get(number), borders) for number, name in enumerate(names)]


def _place(name: int, base: int | None, borders: Sequence[int]) -> OutputPlace:
    if base is None:
        # Another segment holds these offsets: nothing of this one is left.
        return OutputPlace(None, {"first_offset": name, "end_offset": name})
    at = bisect_right(borders, base)
    end = borders[at] if at < len(borders) else None
    return OutputPlace(base, {"first_offset": base, "end_offset": end}, is_moved=base != name)


def _kept(segments: Sequence[InputSegment], places: Sequence[OutputPlace], reading: EntryKeywords) -> int:
    """Return how many valid batches fit into the places of their segments."""
    kept = 0
    for segment, place in zip(segments, places, strict=True):
        start, end = place.fit["first_offset"], place.fit["end_offset"]
        kept += sum(start <= first and (end is None or last < end) for first, last in _rows(segment, reading, check_crc=True))
    return kept


def _without_overlaps(known: dict[int, Extent], names: Sequence[int]) -> dict[int, Extent]:
    """Return disjoint extents, in the order of the offsets.

    Two segments that overlap meet at the name of the second one, if it is in the overlap. A segment is left out only if all its offsets are
    in another segment. Of two equal segments, the segment with the right name stays.
    """
    kept: dict[int, Extent] = {}
    for number in sorted(known, key=lambda number: (known[number].first, -known[number].last, names[number] != known[number].first)):
        after = known[number]
        if kept:
            last = next(reversed(kept))
            before = kept[last]
            is_inside = after.last <= before.last
            if is_inside and (before.is_proven or (after.first, after.last) == (before.first, before.last)):
                continue
            if is_inside and names[last] != before.first:
                # The end of an extent without proof may be a damaged offset.
                del kept[last]
            elif after.first <= before.last:
                border = names[number] if after.first <= names[number] <= before.last else after.first
                kept[last] = replace(before, last=border - 1)
                after = replace(after, first=border)
        kept[number] = after
    return kept


def _name_between(names: Sequence[int], last: int, first: int) -> int:
    """Return the highest name after one offset, up to another: that of a segment which was swapped; else the first offset itself."""
    return max((name for name in names if last < name <= first), default=first)


def _by_name(segment: InputSegment, end: int | None) -> OutputPlace:
    fit = {} if segment.is_of_0_7 else {"first_offset": segment.base_offset, "end_offset": end}
    return OutputPlace(segment.base_offset, fit)


def _ends(names: Sequence[int | None]) -> Iterable[int | None]:
    return [*names[1:], None]


def _extent(segment: InputSegment, reading: EntryKeywords) -> Extent | None:
    """Return the offsets of a segment, by the headers of its batches: of those that follow each other where most do."""
    every: list[tuple[int, int]] = []
    following: list[tuple[int, int]] = []
    total = number = 0
    is_increasing = True
    before: tuple[int, int] | None = None
    for row in _rows(segment, reading):
        if before is not None:
            is_increasing &= before[1] < row[0]
            if before[1] + 1 == row[0]:
                number += 1
                following = _widened(_widened(following, before), row)
        every = _widened(every, row)
        total, before = total + 1, row
    if following and 2 * number >= total - 1:
        return Extent(*following[0], is_proven=True)
    return Extent(*every[0], is_proven=False) if every and is_increasing else None


def _widened(extent: list[tuple[int, int]], row: tuple[int, int]) -> list[tuple[int, int]]:
    if not extent:
        return [row]
    ((first, last),) = extent
    return [(min(first, row[0]), max(last, row[1]))]


def _rows(segment: InputSegment, reading: EntryKeywords, *, check_crc: bool = False) -> Iterator[tuple[int, int]]:
    """Yield first and last offset of each batch; nothing where only unpacking tells them."""
    with batch_stream(FileSource(segment.path), check_crc=check_crc, on_error="skip", **reading) as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["first"] is None:
                    return
                yield row["first"], row["last"]
