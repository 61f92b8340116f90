"""`logsegment batches`: the headers of all batches, as a table for people, as JSON lines or into a file."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import click

from logsegment._core import ArrowBatch, RecordBatchError, RecordStream
from logsegment._decode import batch_stream
from logsegment.cli.exit_codes import CLEAN, FOUND, Damaged, ending
from logsegment.cli.inputs import InputSegment, in_range, segments_of
from logsegment.cli.messages import count, say
from logsegment.cli.options import (
    examples,
    experimental_option,
    file_options,
    format_option,
    json_option,
    on_error_option,
    output_of,
    paths_argument,
    quiet_option,
    registry_option,
)
from logsegment.cli.output.batch_rows import BatchLines, BatchTable, BatchText
from logsegment.cli.output.files import ensure_output
from logsegment.cli.output.findings import tell
from logsegment.cli.output.progress import Progress
from logsegment.cli.plugin_registries import noted, told
from logsegment.cli.sources import opened

if TYPE_CHECKING:
    from logsegment.plugins import Registry


class BatchSink(Protocol):
    """Takes the batch rows of one file after the other.

    Attributes:
        leaves_terminal: does not write to the terminal itself.
        written: rows written.
        invalid: rows with a wrong checksum.
    """

    leaves_terminal: bool
    written: int
    invalid: int

    def begin(self, name: str, stream: RecordStream) -> None:
        """The rows that come are of this file."""

    def write(self, batch: ArrowBatch) -> None:
        """Take some rows."""


@click.command(
    short_help="Headers of all batches, as a table, JSON lines or a file.",
    epilog=examples(
        "logsegment batches orders-0",
        "logsegment batches --json --no-crc 00000000000000000000.log | jq .count",
        "logsegment batches --parquet batches.parquet /var/lib/kafka/data",
    ),
)
@paths_argument
@json_option("JSON lines.")
@file_options
@click.option("--no-crc", is_flag=True, help="Do not compare checksums; only headers are looked at.")
@on_error_option
@format_option
@experimental_option
@registry_option
@quiet_option
@ending
def batches(
    paths: tuple[str, ...],
    is_json: bool,
    arrow: str | None,
    parquet: str | None,
    overwrite: bool,
    no_crc: bool,
    on_error: str,
    entry_format: str,
    experimental: bool,
    codecs: Registry | None,
    quiet: bool,
) -> int:
    """Write one row for every batch of every PATH; nothing is decompressed."""
    output = output_of(arrow, parquet, overwrite, is_json=is_json)
    segments = in_range(segments_of(paths), None, None)
    with ExitStack() as stack:
        sink: BatchSink
        if output.kind:
            ensure_output(output.path, segments, overwrite)
            sink = BatchTable(output, stack)
        else:
            sink = BatchLines() if is_json else BatchText()
        progress = stack.enter_context(Progress(segments, is_wanted=not quiet and sink.leaves_terminal))
        noting = noted(codecs)
        options = {"check_crc": not no_crc, "on_error": on_error, "format": entry_format, "experimental": experimental, "codecs": noting}
        codes = [_write(segment, sink, progress, options, quiet=quiet) for segment in segments]
    if output.kind and not quiet:
        say(f"wrote {count(sink.written, 'row')} to {output.path}")
    _tell_invalid(sink.invalid)
    return told(noting, FOUND if sink.invalid or FOUND in codes else CLEAN)


def _write(segment: InputSegment, sink: BatchSink, progress: Progress, options: dict[str, Any], *, quiet: bool) -> int:
    progress.begin(segment)
    with opened(segment) as source:
        stream = batch_stream(source, **options)
        with stream:
            sink.begin(segment.name, stream)
            try:
                for batch in stream:
                    sink.write(batch)
                    progress.seen(stream.io_stats.bytes_read)
            except RecordBatchError as error:
                raise Damaged(segment.name, error) from None
        return FOUND if tell(stream.findings, segment.name, progress, quiet=quiet) else CLEAN


def _tell_invalid(invalid: int) -> None:
    if invalid:
        say(f"{count(invalid, 'batch')} with a wrong checksum")
