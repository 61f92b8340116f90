"""`logsegment batches`: the headers of all batches, as a table for people, as JSON lines or in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import click

from logsegment import ArrowBatch, FileRead, read_batches
from logsegment._options import OnError, ReadOptions, Unreadable
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, handle_exit, input_errors, worst
from logsegment.cli.help import Verb
from logsegment.cli.messages import Console, count, instant, say, show_json_lines
from logsegment.cli.options import (
    Arrow,
    Iso,
    Output,
    Overwrite,
    Parquet,
    Quiet,
    Reading,
    bind_args,
    ensure_iso_of_json,
    examples,
    output_of,
)
from logsegment.cli.output.files import TableFile, pyarrow_for
from logsegment.cli.output.findings import report
from logsegment.cli.output.kafka_dump_log import AsTool, dump, ensure_alone
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import LogPaths
from logsegment.cli.plugin_registries import code_after


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

    def open(self, schema: Any) -> None:
        """Start with the first file; the rows have this schema."""

    def begin(self, name: str) -> None:
        """Start with the rows of this file."""

    def write(self, batch: ArrowBatch) -> None:
        """Take some rows."""

    def end(self) -> None:
        """End with the rows of this file, which may have none."""


@dataclass(frozen=True, kw_only=True)
class BatchesArguments(LogPaths):
    """The arguments of `batches`."""

    as_tool: AsTool = None
    is_json: Annotated[bool, VerbOption("Print JSON lines.", "--json")]
    iso: Iso
    arrow: Arrow
    parquet: Parquet
    overwrite: Overwrite
    no_crc: Annotated[bool, VerbOption("Skip checksums and read headers only.", "--no-crc")]
    on_error: Annotated[OnError, ReadOptions]
    unreadable: Annotated[Unreadable, ReadOptions]
    reading: Reading
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="List the batch headers as a table, JSON lines or a file.",
    epilog=examples(
        "logsegment batches orders-0",
        "logsegment batches --json --no-crc 00000000000000000000.log | jq .count",
        "logsegment batches --as kafka-dump-log orders-0",
        "logsegment batches --parquet batches.parquet /var/lib/kafka/data",
    ),
)
@handle_exit
@bind_args(BatchesArguments)
def batches(options: BatchesArguments) -> int:
    """List one row for every batch of every PATH, without decompression."""
    if options.as_tool is not None:
        ensure_alone()
        return dump(options, reading=options.reading, quiet=options.quiet, is_deep=False)
    output = output_of(options.arrow, options.parquet, options.overwrite, is_json=options.is_json)
    ensure_iso_of_json(options.iso, options.is_json)
    with ExitStack() as stack:
        lines = BatchLines(options.iso) if options.is_json else BatchText()
        sink: BatchSink = BatchTable(output, stack) if output.kind else lines
        progress = stack.enter_context(BatchProgress(options, output, sink))
        stack.enter_context(input_errors())
        rows = read_batches(
            options.sources,
            check_crc=not options.no_crc,
            on_error=options.on_error,
            unreadable=options.unreadable,
            observer=progress,
            **options.selected,
            **options.reading,
        )
        sink.open(rows.schema)
        for batch in rows:
            sink.write(batch)
    if output.kind and not options.quiet:
        say(f"wrote {count(sink.written, 'row')} to {output.path}")
    if sink.invalid:
        say(f"{count(sink.invalid, 'batch')} with a wrong checksum")
    return code_after(options.reading, worst(FOUND if sink.invalid else CLEAN, progress.code))


class BatchProgress(Progress):
    """Names the file of the rows, and prints the findings of each file.

    Attributes:
        code: the exit code of the findings.
    """

    def __init__(self, options: BatchesArguments, output: Output, sink: BatchSink) -> None:
        path = output.path if output.kind else None
        super().__init__(quiet=options.quiet, has_bar=sink.leaves_terminal, output=path, overwrite=options.overwrite)
        self._sink = sink
        self.code = CLEAN

    def begin(self, path: str, size: int) -> None:
        """Start with the rows of this file."""
        super().begin(path, size)
        self._sink.begin(path)

    def done(self, path: str, result: FileRead) -> None:
        """Print the findings of the file."""
        self._sink.end()
        self.code = worst(self.code, report(result.findings, path, self, quiet=self._is_quiet))


Row = dict[str, Any]


class BatchLines:
    """JSON lines on stdout: `file`, then the batch columns."""

    def __init__(self, iso: bool) -> None:
        self.leaves_terminal = not sys.stdout.isatty()
        self.written = 0
        self.invalid = 0
        self._iso = iso
        self._constants: list[tuple[str, str]] = []

    def open(self, schema: Any) -> None:
        """Do nothing: lines have no head."""

    def begin(self, name: str) -> None:
        """Start with the rows of this file."""
        self._constants = [("file", name)]

    def write(self, batch: ArrowBatch) -> None:
        """Write some rows."""
        self.invalid += sum(row["isValid"] is False for row in batch.select(("isValid",)).to_pylist())
        self.written += batch.num_rows
        show_json_lines(batch.to_jsonl(constants=self._constants, iso=self._iso))

    def end(self) -> None:
        """Do nothing: lines have no end."""


class BatchTable:
    """A table in a file, through pyarrow: `file`, then the batch columns."""

    leaves_terminal = True

    def __init__(self, output: Output, stack: ExitStack) -> None:
        self.written = 0
        self.invalid = 0
        self._pa = pyarrow_for(output)
        self._output, self._stack = output, stack
        self._name = ""

    def open(self, schema: Any) -> None:
        """Open the file."""
        self._schema = self._pa.schema([self._pa.field("file", self._pa.string()), *self._pa.schema(schema)])
        self._table = TableFile(self._output, self._stack)
        self._table.begin(self._schema)

    def begin(self, name: str) -> None:
        """Start with the rows of this file."""
        self._name = name

    def write(self, batch: ArrowBatch) -> None:
        """Write some rows."""
        rows = batch.to_pyarrow()
        names = self._pa.repeat(self._pa.scalar(self._name, self._pa.string()), rows.num_rows)
        self._table.write(self._pa.record_batch([names, *rows.columns], schema=self._schema))
        self.invalid += self._pa.compute.sum(self._pa.compute.invert(rows["isValid"])).as_py() or 0
        self.written += rows.num_rows

    def end(self) -> None:
        """Do nothing: the next rows follow."""


class BatchText:
    """A table for people. Its columns have fixed widths, so that it can be written while it is read."""

    leaves_terminal = False

    def __init__(self) -> None:
        self.written = 0
        self.invalid = 0
        self._name: str | None = None
        self._paper = Console()

    def open(self, schema: Any) -> None:
        """Do nothing: each file has a head."""

    def begin(self, name: str) -> None:
        """Start with the rows of this file. Its head is written when the file is known to be a log."""
        self._name = name

    def write(self, batch: ArrowBatch) -> None:
        """Write some rows."""
        self.end()
        for row in batch.to_pylist():
            is_invalid = row["isValid"] is False
            self.invalid += is_invalid
            text = "  ".join(_cell(value(row), width) for _, width, value in COLUMNS).rstrip()
            self._paper.line(text, "red" if is_invalid else None)
        self.written += batch.num_rows

    def end(self) -> None:
        """Write the head of a file, unless it was written."""
        if self._name is not None:
            self._paper.line(self._name, "bold")
            self._paper.line("  ".join(_cell(title, width) for title, width, _ in COLUMNS).rstrip(), "dim")
            self._name = None


def _cell(text: object, width: int) -> str:
    """Align numbers to the right and words (negative widths) to the left."""
    return f"{text:<{-width}}" if width < 0 else f"{text:>{width}}"


def _producer(row: Row) -> str:
    return "-" if row["producerId"] == -1 else f"{row['producerId']}:{row['producerEpoch']}"


def _sequence(row: Row) -> str:
    return "-" if row["baseSequence"] == -1 else f"{row['baseSequence']}"


def _checksum(row: Row) -> str:
    return {True: "ok", False: "WRONG", None: "-"}[row["isValid"]]


def _flags(row: Row) -> str:
    flags = ["transactional"] if row["isTransactional"] else []
    flags += ["control"] if row["isControl"] else []
    flags += ["LogAppendTime"] if row["timestampType"] == "LogAppendTime" else []
    # No broker wrote it: whoever reads the table should not have to know the switch that let it through.
    flags += ["EXPERIMENTAL"] if row["magic"] == 3 else []
    return " ".join(flags)


#: Title, width, text of a row.
COLUMNS: list[tuple[str, int, Callable[[Row], object]]] = [
    ("position", 11, lambda row: row["position"]),
    ("size", 8, lambda row: row["size"]),
    ("baseOffset", 12, lambda row: "-" if row["baseOffset"] is None else row["baseOffset"]),
    ("lastOffset", 12, lambda row: row["lastOffset"]),
    ("count", 7, lambda row: "-" if row["count"] is None else row["count"]),
    ("codec", -6, lambda row: row["compression"]),
    ("maxTimestamp", -24, lambda row: instant(row["maxTimestamp"])),
    ("producer", -9, _producer),
    ("sequence", 8, _sequence),
    ("epoch", 5, lambda row: row["partitionLeaderEpoch"]),
    ("crc", -5, _checksum),
    ("flags", -1, _flags),
]
