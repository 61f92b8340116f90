"""`logsegment convert`: segments in another format or codec, into a new file or directory."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import click

from logsegment._convert.convert import convert as convert_source
from logsegment._convert.result import Converted, Target
from logsegment._core import Finding, LossError, RecordBatchError
from logsegment.cli.codec_types import CodecType, LevelType
from logsegment.cli.exit_codes import CLEAN, LOST, ending, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, log_start_offset, replica, selection, show_log_starts, show_notes, sources_of
from logsegment.cli.messages import count, say
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    Reading,
    examples,
    overwrite_option,
    partition_options,
    paths_argument,
    quiet_option,
    reading_options,
    taking,
)
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress

#: Rules that are the same for every segment, and are reported once.
ONCE = frozenset({"EXPERIMENTAL", "S-C2"})
ADVICE = "nothing was written; `logsegment verify` reports the damage"
#: The same, when no byte of the input is to blame.
TARGET = "nothing was written; the plugin of the target failed, the input is not damaged"


@dataclass(frozen=True)
class ConvertArguments:
    """The arguments of `convert`."""

    paths: tuple[str, ...]
    output: str
    overwrite: bool
    to: Target | None
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
@ending
@taking(ConvertArguments)
def convert(options: ConvertArguments) -> int:
    """Convert the segments of PATH to another format or codec.

    A directory becomes a directory with the same names; indexes, snapshots and epochs are rebuilt. The output appears when it is complete,
    and inputs are never changed. Entries that already have the format and the codec are copied byte for byte.

    Exit codes: 0 nothing lost, 1 bad data or a loss without --allow-loss, 2 usage or unreadable input, 3 finished with losses.
    """
    topic, partition = selection()
    with ConvertProgress(options) as progress, input_errors(_advice):
        done = convert_source(
            sources_of(options.paths),
            to=options.to,
            metadata_first=options.metadata_first,
            compression=options.compression,
            level=options.level,
            first_offset=options.first_offset,
            offset_map=options.map_path or False,
            batch_bytes=options.batch_bytes,
            check_crc=not options.no_crc,
            allow_loss=options.allow_loss,
            out=sys.stdout.buffer if options.output == STDIN else options.output,
            overwrite=options.overwrite,
            topic=topic,
            partition=partition,
            replica=replica(),
            log_start_offset=log_start_offset(),
            observer=progress,
            **options.reading | {"zstd_dictionaries": [file.read() for file in options.dictionaries] or None},
        )
    if options.output != STDIN and not options.quiet:
        sizes = "" if done.input_bytes is None else f": {done.input_bytes:,} bytes before, {done.output_bytes:,} bytes after"
        left = f"; {count(done.below_log_start, 'record')} below the log start offset left out" if done.below_log_start else ""
        say(f"wrote {count(len(done.outputs), 'segment')} to {options.output}{sizes}{left}")
    return _said(done, quiet=options.quiet)


class ConvertProgress(Progress):
    """Prints the findings of each file."""

    def __init__(self, options: ConvertArguments) -> None:
        super().__init__(is_wanted=not options.quiet)
        self._is_quiet = options.quiet
        self._reported: set[str] = set()

    def noted(self, findings: Sequence[Finding]) -> None:
        """Print the findings about files that are not read, and about log start offsets."""
        show_notes(findings)
        show_log_starts(findings)

    def done(self, path: str, result: Converted) -> None:
        """Print the findings, those that are the same for every file once."""
        fresh = [finding for finding in result.findings if finding.rule not in self._reported]
        self._reported |= ONCE & {finding.rule for finding in fresh}
        report(fresh, path, self, quiet=self._is_quiet)


def _advice(error: RecordBatchError) -> str:
    if isinstance(error, LossError):
        return "pass --allow-loss to convert and to report each loss"
    is_target = error.code == "compression" or (error.code == "plugin_missing" and error.position is None)
    return TARGET if is_target else ADVICE


def _said(done: Converted, *, quiet: bool) -> int:
    """Print where the conversion stopped and what was lost; return the exit code."""
    stopped = [(file, file.stopped_at) for file in done.files if file.stopped_at is not None]
    for file, batch in stopped:
        where = f"{file.path}: ended before the {batch.compression} batch at byte {batch.position}, offset {batch.base_offset}"
        say(f"{where}; pass --compression with a codec that the older format has")
    losses: Counter[str] = Counter()
    for loss in done.losses:
        losses[loss.name] += loss.count
    if losses and not quiet:
        say("lost: " + ", ".join(f"{name} ({count(number, 'time')})" for name, number in losses.items()))
    return LOST if losses or stopped else CLEAN
