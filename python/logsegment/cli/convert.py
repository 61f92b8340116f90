"""`logsegment convert`: segments in another format or codec, into a new file or directory."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import Converted, LossError, RecordBatchError
from logsegment import convert as convert_source
from logsegment._options import EncodeOptions, EntryOptions, WrittenFormat
from logsegment.cli.arguments import VerbOption
from logsegment.cli.codec_types import CodecType, ensure_codec
from logsegment.cli.exit_codes import CLEAN, LOST, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, say
from logsegment.cli.number_types import whole
from logsegment.cli.options import Overwrite, Quiet, Reading, Resume, bind_args, examples
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, PartitionPaths

#: Rules that are the same for every segment, and are reported once.
ONCE = frozenset({"S-C2"})
ADVICE = "nothing was written; `logsegment verify` reports the damage"
#: The same, when no byte of the input is to blame.
TARGET = "nothing was written; the plugin of the target failed, the input is not damaged"


@dataclass(frozen=True, kw_only=True)
class ConvertArguments(PartitionPaths):
    """The arguments of `convert`."""

    output: Annotated[str, VerbOption("Write a new file (- is stdout), or for directories a new directory.", "-o --output PATH")]
    overwrite: Overwrite
    resume: Resume
    to: Annotated[WrittenFormat | None, VerbOption("Write this format.", "--to", default="v2")]
    metadata_first: Annotated[bool, VerbOption("With --to v3, write the metadata of all records before the payloads.", "--metadata-first")]
    compression: Annotated[
        str | None,
        VerbOption("Compress with this codec of Kafka or of a plugin.", "--compression", default="each entry's", kind=CodecType()),
    ]
    level: Annotated[int | None, EncodeOptions]
    reading: Reading
    first_offset: Annotated[int | None, VerbOption("From Kafka 0.7, start at this offset.", "--first-offset", kind=whole(0))]
    map_path: Annotated[str | None, VerbOption("From Kafka 0.7, write the new offset of each old position as CSV.", "--offset-map FILE")]
    base_position: Annotated[int | None, EntryOptions]
    batch_bytes: Annotated[int, EncodeOptions]
    no_crc: Annotated[bool, VerbOption("Skip checksums of rewritten entries.", "--no-crc")]
    allow_loss: Annotated[
        bool, VerbOption("Convert even if the target cannot hold everything; report each loss, exit with 3.", "--allow-loss")
    ]
    quiet: Quiet

    def __post_init__(self) -> None:
        ensure_codec(self.compression, self.reading["codecs"])


@click.command(
    cls=Verb,
    short_help="Convert segments to another format or codec, into a new file or directory.",
    epilog=examples(
        "logsegment convert orders-0 --to v2 --compression zstd --output migrated",
        "logsegment convert old/00000000000000000000.kafka --allow-loss --offset-map offsets.csv --output new.log",
    ),
)
@handle_exit
@bind_args(ConvertArguments)
def convert(options: ConvertArguments) -> int:
    """Convert the segments of PATH to another format or codec.

    A directory becomes a directory with the same names; indexes, snapshots and epochs are rebuilt. The output appears when it is complete,
    and inputs are never changed. Entries that already have the format and the codec are copied byte for byte.

    Exit codes: 0 nothing lost, 1 bad data or a loss without --allow-loss, 2 usage or unreadable input, 3 finished with losses.
    """
    with ConvertProgress(options) as progress, input_errors(_advice):
        done = convert_source(
            options.sources,
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
            resume=options.resume,
            observer=progress,
            base_position=options.base_position,
            **options.selected,
            **options.reading,
        )
    if done.resumed:
        say(f"{count(done.resumed, 'partition')} finished by an earlier run")
    if options.output != STDIN and not options.quiet:
        sizes = "" if done.input_bytes is None else f": {done.input_bytes:,} bytes before, {done.output_bytes:,} bytes after"
        left = f"; {count(done.below_log_start, 'record')} below the log start offset left out" if done.below_log_start else ""
        say(f"wrote {count(len(done.outputs), 'segment')} to {options.output}{sizes}{left}")
    return _said(done, quiet=options.quiet)


class ConvertProgress(Progress):
    """Prints the findings of each file."""

    def __init__(self, options: ConvertArguments) -> None:
        super().__init__(quiet=options.quiet)
        self._reported: set[str] = set()

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
