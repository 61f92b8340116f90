"""Where records go: JSON lines or CSV on stdout, or a table in a file."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeAlias

from logsegment import ArrowBatch
from logsegment._core import csv_of_lines
from logsegment._options import KeyValues, Values, with_values
from logsegment.cli.arguments import VerbOption
from logsegment.cli.messages import show_json_lines
from logsegment.cli.options import Output
from logsegment.cli.output.files import BATCH_BYTES, TableFile, pyarrow_for
from logsegment.cli.redaction import Redactor

#: How bytes stand in JSON.
Form = Literal["auto", "utf8", "base64", "hex"]
JsonBytes: TypeAlias = Annotated[
    Form | None, VerbOption("Show bytes in JSON this way. auto: text if they are UTF-8, else base64.", "--bytes")
]


class RecordSink(ABC):
    """Writes records.

    Args:
        columns: columns of the output.

    Attributes:
        columns: record columns that the batches must have.
        batch_bytes: how large the batches are best.
        leaves_terminal: does not write to the terminal itself.
        written: number of records written.
    """

    batch_bytes: int
    leaves_terminal: bool

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self.written = 0

    @abstractmethod
    def open(self, schema: Any) -> None:
        """Start; all batches have this Arrow schema."""

    @abstractmethod
    def write(self, batches: Iterable[ArrowBatch]) -> None:
        """Write records."""


class JsonForm(NamedTuple):
    """How bytes and times are written in JSON."""

    bytes: Form = "auto"
    iso: bool = False


class JsonLines(RecordSink):
    """One record a line on stdout, made in native code; `threads` of them work at a time."""

    batch_bytes = 1 << 20

    def __init__(self, columns: Sequence[str], form: JsonForm, threads: int, redactor: Redactor | None = None) -> None:
        # A microsecond timestamp is null where milliseconds do not fit; the stored number always does.
        sources = ["timestampMs" if name == "timestamp" else name for name in columns]
        super().__init__(list(dict.fromkeys(sources)))
        self.leaves_terminal = not sys.stdout.isatty()
        self._fields = list(zip(sources, columns, strict=True))
        self._form = form
        self._threads = threads
        self._redactor = redactor

    def open(self, schema: Any) -> None:
        """Do nothing: lines have no head."""

    def write(self, batches: Iterable[ArrowBatch]) -> None:
        """Write records as lines."""
        for lines in self._lines(batches):
            show_json_lines(self._text(lines))

    def _lines(self, batches: Iterable[ArrowBatch]) -> Iterator[bytes]:
        if self._threads == 1:
            yield from map(self._lines_of, batches)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            yield from in_order(pool, self._lines_of, iter(batches), ahead=2 * self._threads)

    def _text(self, lines: bytes) -> bytes:
        return lines

    def _lines_of(self, batch: ArrowBatch) -> bytes:
        if self._redactor is not None:
            return self._redactor.json_lines(batch, self._fields, iso=self._form.iso)
        return batch.to_jsonl(self._form.bytes, fields=self._fields, iso=self._form.iso)


class CsvLines(JsonLines):
    """Records as CSV on stdout, with the names of the columns in the first line.

    A cell is the text of the value in JSON lines: bytes that are not UTF-8, headers and structs are JSON. Null is an empty cell, and an
    empty text is in quotes.
    """

    def __init__(self, columns: Sequence[str], form: JsonForm, threads: int, redactor: Redactor | None = None) -> None:
        super().__init__(columns, form, threads, redactor)
        self._names = list(columns)

    def open(self, schema: Any) -> None:
        """Write the names of the columns."""
        show_json_lines(self._text(_names_as_line(self._names)))

    def _text(self, lines: bytes) -> bytes:
        return csv_of_lines(lines)[0]


def _names_as_line(names: Sequence[str]) -> bytes:
    """Return an object whose values are names, as a JSON line."""
    return json.dumps({f"{place}": name for place, name in enumerate(names)}, separators=(",", ":")).encode() + b"\n"


class RecordTable(RecordSink):
    """A table in a file, through pyarrow."""

    batch_bytes = BATCH_BYTES
    leaves_terminal = True

    def __init__(self, output: Output, stack: ExitStack, columns: list[str], redactor: Redactor | None = None) -> None:
        super().__init__(columns)
        self._pa = pyarrow_for(output)
        self._output, self._stack = output, stack
        self._redactor = redactor

    def open(self, schema: Any) -> None:
        """Open the file: a table without rows has columns too."""
        pa = self._pa
        fields = pa.schema(schema)
        # `pa.array` would import pandas, if there is one, which takes longer than the rest of a short run.
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in fields], schema=fields)
        self._file = TableFile(self._output, self._stack)
        self._file.begin(self._shown(empty).schema)

    def write(self, batches: Iterable[ArrowBatch]) -> None:
        """Write records as rows."""
        for batch in batches:
            self._file.write(self._shown(batch.to_pyarrow()))
            self.written += batch.num_rows

    def _shown(self, batch: Any) -> Any:
        return batch if self._redactor is None else self._redactor.arrow_batch(batch)


def in_order(pool: ThreadPoolExecutor, work: Callable[[Any], bytes], items: Iterator[Any], *, ahead: int) -> Iterator[bytes]:
    """Yield the results of `work` in the order of the items, at most `ahead` at a time; results before an error come first."""
    under_way: deque[Future[bytes]] = deque()
    wanted, failed = ahead, None
    while True:
        try:
            under_way.extend(pool.submit(work, item) for item in islice(items, 0 if failed else wanted))
        except Exception as error:
            failed = error
        if not under_way:
            break
        yield under_way.popleft().result()
        wanted = 1
    if failed:
        raise failed


#: What a record is in JSON by default.
JSON_COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")


class ShownValues(Protocol):
    """How keys and values are shown."""

    @property
    def values(self) -> Values:
        """Of values."""

    @property
    def key_values(self) -> KeyValues:
        """Of keys."""


def json_columns(columns: list[str] | None, shown: ShownValues, *, control: bool) -> list[str]:
    """Return the columns of JSON lines: those that were named, or those of a record by default."""
    decoded = {"internal": ("key", "value"), "raw": ()}.get(shown.values, ("value",))
    decoded += () if shown.key_values == "raw" else ("key",)
    usual = [name for name in JSON_COLUMNS if name not in decoded]
    return [*with_values(columns or with_control(usual, control), shown.values, shown.key_values)]


def with_control(columns: Iterable[str], control: bool) -> list[str]:
    """Return the columns, with the type of control records if these are wanted."""
    return [*columns, *["controlType"] * control]
