"""Where batch rows go: a table of text, JSON lines, or a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from logsegment._core import ArrowBatch, RecordStream
from logsegment.cli.messages import show_json_lines
from logsegment.cli.options import Output
from logsegment.cli.output.table_file import TableFile, pyarrow_for
from logsegment.cli.output.text import Paper

Row = dict[str, Any]


class BatchLines:
    """JSON lines on stdout: `file`, then the batch columns."""

    def __init__(self) -> None:
        self.leaves_terminal = not sys.stdout.isatty()
        self.written = 0
        self.invalid = 0
        self._constants: list[tuple[str, str]] = []

    def begin(self, name: str, stream: RecordStream) -> None:
        """The rows that come are of this file."""
        self._constants = [("file", name)]

    def write(self, batch: ArrowBatch) -> None:
        """Write some rows."""
        lines = batch.to_jsonl(constants=self._constants)
        # Quotation marks inside of a string are escaped, so this is never part of one.
        self.invalid += lines.count(b'"isValid":false')
        self.written += batch.num_rows
        show_json_lines(lines)


class BatchTable:
    """A table in a file, through pyarrow: `file`, then the batch columns."""

    leaves_terminal = True

    def __init__(self, output: Output, stack: ExitStack) -> None:
        self.written = 0
        self.invalid = 0
        self._pa = pyarrow_for(output)
        self._table = TableFile(output, stack)
        self._name = ""

    def begin(self, name: str, stream: RecordStream) -> None:
        """The rows that come are of this file."""
        self._name = name
        fields = [self._pa.field("file", self._pa.string()), *self._pa.schema(stream.schema)]
        self._schema = self._pa.schema(fields)
        self._table.begin(self._schema)

    def write(self, batch: ArrowBatch) -> None:
        """Write some rows."""
        rows = batch.to_pyarrow()
        names = self._pa.repeat(self._pa.scalar(self._name, self._pa.string()), rows.num_rows)
        self._table.write(self._pa.record_batch([names, *rows.columns], schema=self._schema))
        self.invalid += self._pa.compute.sum(self._pa.compute.invert(rows["isValid"])).as_py() or 0
        self.written += rows.num_rows


class BatchText:
    """A table for people. Its columns have fixed widths, so that it can be written while it is read."""

    leaves_terminal = False

    def __init__(self) -> None:
        self.written = 0
        self.invalid = 0
        self._paper = Paper()

    def begin(self, name: str, stream: RecordStream) -> None:
        """The rows that come are of this file."""
        self._paper.line(name, "bold")
        self._paper.line("  ".join(_cell(title, width) for title, width, _ in COLUMNS).rstrip(), "dim")

    def write(self, batch: ArrowBatch) -> None:
        """Write some rows."""
        for line in batch.to_jsonl().splitlines():
            row = json.loads(line)
            is_invalid = row["isValid"] is False
            self.invalid += is_invalid
            text = "  ".join(_cell(value(row), width) for _, width, value in COLUMNS).rstrip()
            self._paper.line(text, "red" if is_invalid else None)
        self.written += batch.num_rows


def _cell(text: object, width: int) -> str:
    """Numbers stand to the right, words (negative widths) to the left."""
    return f"{text:<{-width}}" if width < 0 else f"{text:>{width}}"


def instant(millis: int) -> str:
    """A timestamp for people; UTC."""
    if millis == -1:
        return "-"
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{millis} ms"


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
    flags += ["EXPERIMENTAL v3"] if row["magic"] == 3 else []
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
