"""Where records go: JSON lines on stdout, or a table in a file. RowFilter are chosen here by time, key and number."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import click

from logsegment._core import ArrowBatch, RecordBatchError, RecordStream, csv_of_lines
from logsegment._decode import other_topics
from logsegment._options import INTERNAL, KeyValues, Values, with_values
from logsegment.cli.arguments import VerbOption
from logsegment.cli.messages import say, show_json_lines
from logsegment.cli.options import Output
from logsegment.cli.output.files import BATCH_BYTES, BATCH_SIZE, TableFile, pyarrow_for
from logsegment.cli.redaction import Redactor

#: A piece of output.
T = TypeVar("T")
#: How bytes stand in JSON.
Form = Literal["auto", "utf8", "base64", "hex"]
JsonBytes: TypeAlias = Annotated[
    Form | None, VerbOption("Show bytes in JSON this way. auto: text if they are UTF-8, else base64.", "--bytes")
]
#: What a record without a timestamp has in its place; it is neither after nor before anything.
NO_TIMESTAMP = -1


@dataclass(frozen=True)
class RowFilter:
    """Selection of records by timestamp (ms; `until` exclusive), by key, and how many at most."""

    since: int | None
    until: int | None
    keys: list[bytes] | None
    limit: int | None

    def needed(self, columns: Sequence[str]) -> list[str]:
        """Return the columns, then those that the conditions need."""
        is_timed = self.since is not None or self.until is not None
        looked_at = ["timestampMs"] * is_timed + ["key"] * (self.keys is not None)
        return [*columns, *(name for name in looked_at if name not in columns)]

    def size(self, usual: int) -> int:
        """Return the largest useful number of rows in a batch."""
        return usual if self.limit is None else max(1, min(usual, self.limit))


class RecordTarget(Protocol):
    """Takes the records of one stream after the other."""

    @property
    def is_full(self) -> bool:
        """No more records are wanted."""

    def write(self, stream: RecordStream, seen: Callable[[], None]) -> None:
        """Take the records of a stream; `seen` is called now and then."""


class RecordSink(ABC, Generic[T]):
    """Writes records, in pieces of output.

    Args:
        columns: columns of the output.
        rows: the records that are written.
        batch_size: most useful number of records in a batch.

    Attributes:
        columns: record columns that the streams must have.
        batch_size, batch_bytes: how large their batches are best.
        leaves_terminal: does not write to the terminal itself.
        written: number of records written.
    """

    batch_bytes: int
    leaves_terminal: bool

    def __init__(self, columns: Sequence[str], rows: RowFilter, batch_size: int) -> None:
        self.columns = rows.needed(columns)
        self.batch_size = rows.size(batch_size)
        self.written = 0
        self.rows = rows

    @property
    def is_full(self) -> bool:
        """No more records are wanted."""
        return self.left == 0

    @property
    def left(self) -> int | None:
        """The number of records that are still wanted; None for all."""
        return None if self.rows.limit is None else self.rows.limit - self.written

    def write(self, stream: RecordStream, seen: Callable[[], None]) -> None:
        """Write the chosen records of a stream."""
        for piece in self.pieces(stream):
            self.put(piece)
            seen()
            if self.is_full:
                return

    def put(self, piece: T) -> None:
        """Write a piece of output."""
        self._put(piece)
        self.written += self.size(piece)

    @abstractmethod
    def pieces(self, stream: RecordStream) -> Iterator[T]:
        """Yield the chosen records of a stream as pieces of output."""

    @abstractmethod
    def size(self, piece: T) -> int:
        """Return the number of records in a piece."""

    @abstractmethod
    def last(self, piece: T, most: int) -> T:
        """Return the last records of a piece that has more than `most`."""

    @abstractmethod
    def _put(self, piece: T) -> None:
        """Write a piece of output."""


class Tail(Generic[T]):
    """Keeps the last records of a partition, whose streams come from the last one to the first one.

    Args:
        sink: gets the records.
        most: number of records.
    """

    def __init__(self, sink: RecordSink[T], most: int) -> None:
        self._sink = sink
        self._missing = most
        self._kept: deque[T] = deque()

    @property
    def is_full(self) -> bool:
        """No more records are wanted."""
        return self._missing == 0

    def write(self, stream: RecordStream, seen: Callable[[], None]) -> None:
        """Keep the last of the chosen records of a stream, all of which come before the kept ones."""
        size = self._sink.size
        pieces: deque[T] = deque()
        found = 0
        for piece in self._sink.pieces(stream):
            pieces.append(piece)
            found += size(piece)
            while found - size(pieces[0]) >= self._missing:
                found -= size(pieces.popleft())
            seen()
        if found > self._missing:
            pieces[0] = self._sink.last(pieces[0], size(pieces[0]) - (found - self._missing))
            found = self._missing
        self._missing -= found
        self._kept.extendleft(reversed(pieces))

    def finish(self) -> None:
        """Write the kept records."""
        for piece in self._kept:
            self._sink.put(piece)


class JsonForm(NamedTuple):
    """How bytes and times are written in JSON."""

    bytes: Form = "auto"
    iso: bool = False


class JsonLines(RecordSink[bytes]):
    """One record a line on stdout, made in native code; `threads` of them work at a time."""

    batch_bytes = 1 << 20

    def __init__(self, columns: Sequence[str], rows: RowFilter, form: JsonForm, threads: int, redactor: Redactor | None = None) -> None:
        # A microsecond timestamp is null where milliseconds do not fit; the stored number always does.
        sources = ["timestampMs" if name == "timestamp" else name for name in columns]
        super().__init__(list(dict.fromkeys(sources)), rows, 65536)
        self.leaves_terminal = not sys.stdout.isatty()
        self._fields = list(zip(sources, columns, strict=True))
        self._form = form
        self._threads = threads
        self._redactor = redactor

    def pieces(self, stream: RecordStream) -> Iterator[bytes]:
        """Yield the chosen records of a stream as lines."""
        # How many of the next batch are wanted depends on this one.
        if self._threads == 1 or self.rows.limit is not None:
            yield from map(self._lines_of, stream)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                yield from in_order(pool, self._lines_of, iter(stream), ahead=2 * self._threads)

    def size(self, piece: bytes) -> int:
        """Return the number of lines."""
        return piece.count(b"\n")

    def last(self, piece: bytes, most: int) -> bytes:
        """Return the last lines."""
        return b"".join(piece.splitlines(keepends=True)[-most:])

    def _put(self, piece: bytes) -> None:
        show_json_lines(piece)

    def _lines_of(self, batch: ArrowBatch) -> bytes:
        chosen = self.rows
        rows = {"since": chosen.since, "until": chosen.until, "keys": chosen.keys, "limit": self.left}
        if self._redactor is not None:
            return self._redactor.json_lines(batch, self._fields, rows, iso=self._form.iso)
        return batch.to_jsonl(self._form.bytes, fields=self._fields, rows=rows, iso=self._form.iso)


class CsvText(NamedTuple):
    """Records as CSV, and the end of each record in the text: a cell may have line ends."""

    text: bytes
    ends: list[int]


class CsvLines(RecordSink[CsvText]):
    """Records as CSV on stdout, with the names of the columns in the first line.

    A cell is the text of the value in JSON lines: bytes that are not UTF-8, headers and structs are JSON. Null is an empty cell, and an
    empty text is in quotes.
    """

    batch_bytes = 1 << 20

    def __init__(self, columns: Sequence[str], rows: RowFilter, form: JsonForm, threads: int, redactor: Redactor | None = None) -> None:
        self._lines = JsonLines(columns, rows, form, threads, redactor)
        super().__init__(columns, rows, self._lines.batch_size)
        self.columns = self._lines.columns
        self.leaves_terminal = self._lines.leaves_terminal
        self._names = list(columns)
        self._is_begun = False

    def pieces(self, stream: RecordStream) -> Iterator[CsvText]:
        """Yield the chosen records of a stream."""
        if not self._is_begun:
            self._is_begun = True
            show_json_lines(CsvText(*csv_of_lines(_names_as_line(self._names))).text)
        for lines in self._lines.pieces(stream):
            yield CsvText(*csv_of_lines(lines))

    def size(self, piece: CsvText) -> int:
        """Return the number of records."""
        return len(piece.ends)

    def last(self, piece: CsvText, most: int) -> CsvText:
        """Return the last records."""
        begin = piece.ends[-most - 1]
        return CsvText(piece.text[begin:], [end - begin for end in piece.ends[-most:]])

    def _put(self, piece: CsvText) -> None:
        show_json_lines(piece.text)
        # The number of lines that are left.
        self._lines.written += len(piece.ends)


def _names_as_line(names: Sequence[str]) -> bytes:
    """Return an object whose values are names, as a JSON line."""
    return json.dumps({f"{place}": name for place, name in enumerate(names)}, separators=(",", ":")).encode() + b"\n"


class RecordTable(RecordSink[Any]):
    """A table in a file, through pyarrow."""

    batch_bytes = BATCH_BYTES
    leaves_terminal = True

    def __init__(self, output: Output, stack: ExitStack, columns: list[str], rows: RowFilter, redactor: Redactor | None = None) -> None:
        super().__init__(columns, rows, BATCH_SIZE)
        self._pa = pyarrow_for(output)
        self._names = columns
        self._file = TableFile(output, stack)
        self._redactor = redactor

    def pieces(self, stream: RecordStream) -> Iterator[Any]:
        """Yield the chosen records of a stream as `pyarrow.RecordBatch`."""
        pa = self._pa
        schema = pa.schema([pa.schema(stream.schema).field(name) for name in self._names])
        # `pa.array` would import pandas, if there is one, which takes longer than the rest of a short run.
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
        self._file.begin(self._shown(empty).schema)
        for batch in stream:
            chosen = self._chosen(batch.to_pyarrow())
            yield self._shown(chosen.slice(0, self.left).select(self._names))

    def size(self, piece: Any) -> int:
        """Return the number of rows."""
        rows: int = piece.num_rows
        return rows

    def last(self, piece: Any, most: int) -> Any:
        """Return the last rows."""
        return piece.slice(piece.num_rows - most)

    def _put(self, piece: Any) -> None:
        self._file.write(piece)

    def _shown(self, batch: Any) -> Any:
        return batch if self._redactor is None else self._redactor.arrow_batch(batch)

    def _chosen(self, batch: Any) -> Any:
        """Return the rows that `to_jsonl` chooses."""
        pc, rows = self._pa.compute, self.rows
        if rows.since is not None or rows.until is not None:
            times = batch["timestampMs"]
            mask = pc.not_equal(times, NO_TIMESTAMP)
            mask = mask if rows.since is None else pc.and_(mask, pc.greater_equal(times, rows.since))
            mask = mask if rows.until is None else pc.and_(mask, pc.less(times, rows.until))
            batch = batch.filter(mask)
        if rows.keys is not None:
            batch = batch.filter(pc.is_in(batch["key"], value_set=self._pa.array(rows.keys, self._pa.binary())))
        return batch


def in_order(pool: ThreadPoolExecutor, work: Callable[[Any], bytes], items: Iterator[Any], *, ahead: int) -> Iterator[bytes]:
    """Yield the results of `work` in the order of the items, at most `ahead` at a time; results before an error come first."""
    under_way: deque[Future[bytes]] = deque()
    wanted, failed = ahead, None
    while True:
        try:
            under_way.extend(pool.submit(work, item) for item in islice(items, 0 if failed else wanted))
        except (RecordBatchError, OSError) as error:
            failed = error
        if not under_way:
            break
        yield under_way.popleft().result()
        wanted = 1
    if failed:
        raise failed


F = TypeVar("F", bound=Callable[..., Any])

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


def say_others(columns: Iterable[str], topics: Iterable[str | None], *, control: bool, quiet: bool) -> None:
    """Say which topics are not internal where records are to be decoded: what their records hold is not shown."""
    if INTERNAL not in columns or quiet:
        return
    named = list(topics)
    if control and None in named:
        say("the topic is not known: `internal` is null except in control records; pass --topic __cluster_metadata, for example")
    elif not control and (others := other_topics(named)):
        say(others)


def ensure_topics(columns: Iterable[str], topics: Iterable[tuple[str, str | None]], *, control: bool) -> None:
    """Fail where records are to be decoded whose topic nothing says, instead of giving nothing but null; control records need none.

    Args:
        columns: those that are asked for.
        topics: names of files, and the topic of each.
        control: control records are given too.

    Raises:
        click.UsageError: then.
    """
    if INTERNAL not in columns or control:
        return
    unknown = next((name for name, topic in topics if topic is None), None)
    if unknown is not None:
        raise click.UsageError(f"internal: unknown topic of {unknown}; pass --topic __consumer_offsets, for example")
