"""`logsegment convert`: segments in another format or codec, into a new file or directory."""

from __future__ import annotations

import csv
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import click

from logsegment._convert import Converted, MapTaker
from logsegment._convert import convert as convert_source
from logsegment._core import Finding, LossError, RecordBatchError, SegmentKeyError
from logsegment._options import ReadOptions
from logsegment._output import new_file
from logsegment._rewrite.partitions import parts_from_log_start
from logsegment.analysis.inputs import InputSegment, opened
from logsegment.cli.codec_types import CodecType, LevelType
from logsegment.cli.exit_codes import CLEAN, LOST, DamagedInput, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, segments_of
from logsegment.cli.messages import count, say
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    Reading,
    bind_args,
    examples,
    overwrite_option,
    partition_options,
    paths_argument,
    quiet_option,
    reading_options,
)
from logsegment.cli.output.files import (
    begun_directory,
    ensure_output,
    ensure_own_directories,
    rebuild_sidecars,
    whole_directory,
    whole_file,
)
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.log.reader import ensure_named
from logsegment.segment_files.output_names import file_name
from logsegment.segment_files.overflow import split_file

#: Rules that are the same for every segment, and are reported once.
ONCE = frozenset({"EXPERIMENTAL", "S-C2"})
ADVICE = "nothing was written; `logsegment verify` reports the damage"
#: The same, when no byte of the input is to blame.
TARGET = "nothing was written; the plugin of the target failed, the input is not damaged"


@dataclass
class Conversion:
    """Arguments of all segments of a conversion."""

    options: dict[str, Any]
    overwrite: bool
    map: OffsetMap | None = None
    losses: dict[str, int] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    quiet: bool = False
    bytes_before: int = 0
    bytes_after: int = 0
    has_sizes: bool = True
    #: The rules among them that were reported.
    reported: set[str] = field(default_factory=set)
    #: Records below log start offsets, which the output does not have.
    below: int = 0
    #: How the batch around a log start offset is read.
    read: ReadOptions = field(default_factory=ReadOptions)
    #: Segments of the output.
    written: int = 0

    def name_of(self, segment: InputSegment) -> str:
        """Name of the converted segment: after its first offset, which is another one than that of Kafka 0.7."""
        if self.is_of_0_7(segment):
            return f"{self.options['first_offset'] or 0:020d}.log"
        return file_name(segment)

    def is_of_0_7(self, segment: InputSegment) -> bool:
        """Return whether a segment is read as one of Kafka 0.7."""
        return self.options["format"] == "0.7" or (self.options["format"] == "auto" and segment.is_of_0_7)

    def options_of(self, segment: InputSegment) -> dict[str, Any]:
        """Return the options for one segment, with what its name says about Kafka 0.7."""
        if not self.is_of_0_7(segment):
            return self.options
        own: dict[str, Any] = {"format": "0.7"}
        if self.options["base_position"] is None and segment.is_of_0_7:
            own["base_position"] = segment.base_offset or 0
        if self.map:
            own["offset_map"] = self.map.of(segment, self.options["base_position"])
        return self.options | own

    def unreported(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings without those that were reported for another segment."""
        fresh = [finding for finding in findings if finding.rule not in self.reported]
        self.reported |= ONCE & {finding.rule for finding in fresh}
        return fresh

    @property
    def sizes_text(self) -> str:
        """The bytes before and after, if all of them are known."""
        return f": {self.bytes_before:,} bytes before, {self.bytes_after:,} bytes after" if self.has_sizes else ""

    def note_sizes(self, segment: InputSegment, file: Any) -> None:
        """Add up the bytes of files. A pipe has no size."""
        file.flush()
        status = os.fstat(file.fileno()) if self.has_sizes else None
        self.has_sizes = segment.is_regular and status is not None and stat.S_ISREG(status.st_mode)
        if status is not None:
            self.bytes_before += segment.size
            self.bytes_after += status.st_size

    def note(self, segment: InputSegment, converted: Converted) -> None:
        """Add up what was lost."""
        if converted.next_offset is not None:
            self.options["first_offset"] = converted.next_offset
        for loss in converted.losses:
            self.losses[loss.name] = self.losses.get(loss.name, 0) + loss.count
        if converted.stopped_at:
            at = converted.stopped_at
            where = f"{segment.name}: ended before the {at.compression} batch at byte {at.position}, offset {at.base_offset}"
            self.stopped.append(f"{where}; pass --compression with a codec that the older format has")


@dataclass(frozen=True)
class ConvertArguments:
    """The arguments of `convert`."""

    paths: tuple[str, ...]
    output: str
    overwrite: bool
    to: str | None
    metadata_first: bool
    compression: str | None
    level: int | None
    reading: Reading
    first_offset: int | None
    map_path: str | None
    batch_bytes: int
    dictionaries: tuple[BinaryIO, ...]
    no_crc: bool
    allow_loss: bool
    quiet: bool


@click.command(
    cls=Verb,
    short_help="Convert segments to another format or codec, into a new file or directory.",
    epilog=examples(
        "logsegment convert orders-0 --to v2 --compression zstd --output migrated",
        "logsegment convert old/00000000000000000000.kafka --allow-loss --offset-map offsets.csv --output new.log",
    ),
)
@paths_argument
@partition_options
@click.option("-o", "--output", required=True, metavar="PATH", help="Write a new file (- is stdout), or for directories a new directory.")
@overwrite_option
@click.option("--to", type=click.Choice(["v2", "v1", "v0", "0.7", "v3"]), help="Write this format. [default: v2]")
@click.option("--metadata-first", is_flag=True, help="With --to v3, write the metadata of all records before the payloads.")
@click.option("--compression", type=CodecType(), help="Compress with this codec of Kafka or of a plugin. [default: each entry's]")
@click.option("--level", type=LevelType(), help="Compress at this level. [default: the codec's own]")
@reading_options
@click.option("--first-offset", type=whole(0), help="From Kafka 0.7, start at this offset.")
@click.option("--offset-map", "map_path", metavar="FILE", help="From Kafka 0.7, write the new offset of each old position as CSV.")
@click.option("--base-position", type=whole(0), help="From Kafka 0.7, PATH starts at this position. [default: by name]")
@click.option(
    "--batch-bytes",
    type=whole(1),
    default=16384,
    show_default=True,
    help="Write batches of this many bytes of uncompressed messages.",
)
@click.option("--ignore-lz4-header-checksum", is_flag=True, help="Accept any header checksum of LZ4 frames.")
@click.option("--allow-dependent-lz4-blocks", is_flag=True, help="Accept LZ4 frames with linked blocks.")
@click.option(
    "--zstd-dictionary", "dictionaries", multiple=True, type=click.File("rb"), metavar="FILE", help="Use this zstd dictionary; repeatable."
)
@click.option("--no-crc", is_flag=True, help="Skip checksums of rewritten entries.")
@click.option("--allow-loss", is_flag=True, help="Convert even if the target cannot hold everything; report each loss, exit with 3.")
@quiet_option
@handle_exit
@bind_args(ConvertArguments)
def convert(options: ConvertArguments) -> int:
    """Convert the segments of PATH to another format or codec.

    A directory becomes a directory with the same names; indexes, snapshots and epochs are rebuilt. The output appears when it is complete,
    and inputs are never changed. Entries that already have the format and the codec are copied byte for byte.

    Exit codes: 0 nothing lost, 1 bad data or a loss without --allow-loss, 2 usage or unreadable input, 3 finished with losses.
    """
    how = {
        "to": options.to,
        "metadata_first": options.metadata_first,
        "compression": options.compression,
        "level": options.level,
        "first_offset": options.first_offset,
        "batch_bytes": options.batch_bytes,
        "zstd_dictionaries": [file.read() for file in options.dictionaries] or None,
        "check_crc": not options.no_crc,
        "allow_loss": options.allow_loss,
        **options.reading,
    }
    segments = list(map(_with_next, segments_of(options.paths)))
    _ensure_named(segments)
    dictionaries: Any = how["zstd_dictionaries"]
    read = replace(ReadOptions(check_crc=not options.no_crc, **options.reading), zstd_dictionaries=dictionaries)
    job = Conversion(how, options.overwrite, quiet=options.quiet, read=read)
    _ensure_map(options.map_path, options.output, segments, job)
    with offset_map(options.map_path, options.overwrite) as job.map, Progress(segments, is_wanted=not options.quiet) as progress:
        if any(segment.is_listed for segment in segments):
            _to_directory(segments, options.output, job, progress)
        else:
            _to_file(segments, options.output, job, progress)
    if options.output != STDIN and not options.quiet:
        left = f"; {count(job.below, 'record')} below the log start offset left out" if job.below else ""
        say(f"wrote {count(job.written, 'segment')} to {options.output}{job.sizes_text}{left}")
    return _report(job)


def _ensure_map(path: str | None, output: str, segments: Sequence[InputSegment], job: Conversion) -> None:
    """Refuse a map that would be empty, or that is an input or the output.

    Raises:
        click.UsageError: when it is refused.
    """
    if path is None:
        return
    if not any(map(job.is_of_0_7, segments)):
        raise click.UsageError("--offset-map needs input of Kafka 0.7 (*.kafka files, or --format 0.7); other offsets do not change")
    if os.path.realpath(path) == os.path.realpath(output):
        raise click.UsageError(f"{path} is already the output")
    ensure_output(path, segments, job.overwrite)


def _to_file(segments: Sequence[InputSegment], output: str, job: Conversion, progress: Progress) -> None:
    if len(segments) > 1:
        raise click.UsageError("several files cannot become one file; pass a directory, or one file at a time")
    job.written = 1
    if output == STDIN:
        _convert(segments[0], sys.stdout.buffer, job, progress)
        return
    ensure_output(output, segments, job.overwrite)
    with whole_file(output, job.overwrite) as file:
        _convert(segments[0], file, job, progress)


def _to_directory(segments: Sequence[InputSegment], output: str, job: Conversion, progress: Progress) -> None:
    ensure_own_directories(segments)
    asked = dict(job.options)
    with whole_directory(output) as hidden:
        begun: set[str] = set()
        for number, segment in enumerate(segments):
            if segment.directory not in begun:
                # Each partition begins anew.
                begun.add(segment.directory)
                job.options = dict(asked)
            if segment.is_of_0_7 and not segment.size:
                continue
            target = begun_directory(segment, hidden)
            place = target / job.name_of(segment)
            with new_file(place) as file:
                is_deleted = _convert_live(segment, file, job, progress)
                os.fsync(file.fileno())
            if not is_deleted:
                # Offsets that are too far above the name begin another segment (SEG-22).
                job.written += 1 if job.options["to"] == "0.7" else len(split_file(place, ReadOptions(experimental=True)))
                continue
            place.unlink()
            is_last = not any(later.place == segment.place for later in segments[number + 1 :])
            if is_last and segment.file is not None and not any(target.glob("*.log")):
                # An empty segment keeps the log end offset.
                (target / f"{segment.file.log_start or 0:020d}.log").touch()
                job.written += 1
        rebuild_sidecars(hidden)


def _convert_live(segment: InputSegment, file: Any, job: Conversion, progress: Progress) -> bool:
    """Convert a segment without the records below the log start offset of its partition; return True if it has no others."""
    if segment.file is None or segment.file.log_start is None:
        _convert(segment, file, job, progress)
        return False
    progress.begin(segment)
    with _errors(segment):
        parts, below = parts_from_log_start(segment.file, job.read)
    job.below += below
    for part in parts:
        _convert_source(part, segment, file, (job, progress))
    job.note_sizes(segment, file)
    return not parts and segment.size > 0


def _convert(segment: InputSegment, file: Any, job: Conversion, progress: Progress) -> None:
    progress.begin(segment)
    with opened(segment, seen=progress.seen if progress.is_shown else None) as source:
        _convert_source(source, segment, file, (job, progress))
    job.note_sizes(segment, file)


def _convert_source(source: Any, segment: InputSegment, file: Any, where: tuple[Conversion, Progress]) -> None:
    job, progress = where
    with _errors(segment):
        converted = convert_source(source, out=file, **job.options_of(segment))
    report(job.unreported(converted.findings), segment.name, progress, quiet=job.quiet)
    job.note(segment, converted)


@contextmanager
def _errors(segment: InputSegment) -> Iterator[None]:
    """Name the segment in errors about its bytes."""
    try:
        yield
    except LossError as refused:
        raise DamagedInput(segment.name, refused, "pass --allow-loss to convert and to report each loss") from refused
    except RecordBatchError as error:
        raise DamagedInput(segment.name, error, _advice(error)) from error
    except SegmentKeyError:
        raise
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None


def _with_next(segment: InputSegment) -> InputSegment:
    """Return a file that was named itself with the next segment of its directory: without one, it may end inside a batch."""
    if segment.file is None or segment.is_listed:
        return segment
    return replace(segment, file=segment.file.replaced(next_offset=segment.file.with_neighbours().next_offset))


def _ensure_named(segments: Sequence[InputSegment]) -> None:
    """Fail for a segment of a directory that contradicts its name: the output would have the same name, and a wrong index."""
    try:
        ensure_named([segment.file for segment in segments if segment.file and segment.is_listed])
    except RecordBatchError as error:
        advice = "nothing was written; `logsegment salvage` names segments by their offsets"
        raise DamagedInput(error.path or "", error, advice) from None


def _advice(error: RecordBatchError) -> str:
    is_target = error.code == "compression" or (error.code == "plugin_missing" and error.position is None)
    return TARGET if is_target else ADVICE


def _report(job: Conversion) -> int:
    for line in job.stopped:
        say(line)
    if job.losses and not job.quiet:
        say("lost: " + ", ".join(f"{name} ({count(number, 'time')})" for name, number in job.losses.items()))
    return LOST if job.losses or job.stopped else CLEAN


#: `position` counts in the partition, as offsets of Kafka 0.7 do: a consumer that stopped there goes on at the `offset` next to it.
COLUMNS = ("file", "position", "index", "offset")


class OffsetMap:
    """Rows of a map, written as they come."""

    def __init__(self, file: io.TextIOBase) -> None:
        self._lines = csv.writer(file, lineterminator="\n")
        self._lines.writerow(COLUMNS)

    def of(self, segment: InputSegment, base_position: int | None) -> MapTaker:
        """Return a function that takes the rows of one segment.

        Args:
            segment: a segment of Kafka 0.7.
            base_position: position of its first byte in the partition; None for that of its name.
        """
        start = (segment.base_offset or 0) if base_position is None and segment.is_of_0_7 else base_position or 0

        def take(rows: list[tuple[int, int, int]]) -> None:
            self._lines.writerows((segment.name, start + position, index, offset) for position, index, offset in rows)

        return take


@contextmanager
def offset_map(path: str | None, overwrite: bool) -> Iterator[OffsetMap | None]:
    """Open a map that is complete or absent; None without a path."""
    if path is None:
        yield None
        return
    with whole_file(path, overwrite) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
        yield OffsetMap(text)
        text.flush()
        text.detach()
