"""Where records go: JSON lines on stdout, or a table in a file. RowFilter are chosen here by time, key and number."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol, TypeVar

import click

from logsegment._core import ArrowBatch, RecordBatchError, RecordStream
from logsegment._decode import other_topics
from logsegment._options import INTERNAL, Values, with_values
from logsegment.analysis.redaction import Redactor
from logsegment.cli.messages import say, show_json_lines
from logsegment.cli.options import Output
from logsegment.cli.output.files import BATCH_BYTES, BATCH_SIZE, TableFile, pyarrow_for

#: How bytes stand in JSON.
Form = Literal["auto", "utf8", "base64", "hex"]
#: What a record without a timestamp has in its place; it is neither after nor before anything.
NO_TIMESTAMP = -1


@dataclass(frozen=True)
class RowFilter:
    """Which records: by timestamp (ms; `until` exclusive), by key, and how many at most."""

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


class RecordSink(Protocol):
    """Takes the records of one stream after the other.

    Attributes:
        columns: record columns that the streams must have.
        batch_size, batch_bytes: how large their batches are best.
        leaves_terminal: does not write to the terminal itself.
    """

    columns: list[str]
    batch_size: int
    batch_bytes: int
    leaves_terminal: bool

    @property
    def written(self) -> int:
        """Records written."""

    @property
    def is_full(self) -> bool:
        """No more records are wanted."""

    def write(self, stream: RecordStream, seen: Callable[[], None]) -> None:
        """Take all records of a stream; `seen` is called now and then."""


class JsonLines:
    """One record a line on stdout, made in native code; `threads` of them work at a time."""

    batch_size = 65536
    batch_bytes = 1 << 20

    def __init__(self, columns: Sequence[str], rows: RowFilter, form: Form, threads: int, redactor: Redactor | None = None) -> None:
        # A microsecond timestamp is null where milliseconds do not fit; the stored number always does.
        sources = ["timestampMs" if name == "timestamp" else name for name in columns]
        self.columns = rows.needed(list(dict.fromkeys(sources)))
        self.batch_size = rows.size(self.batch_size)
        self.leaves_terminal = not sys.stdout.isatty()
        self.written = 0
        self._fields = list(zip(sources, columns, strict=True))
        self._rows = rows
        self._form: Form = form if redactor is None else "base64"
        self._threads = threads
        self._redactor = redactor

    @property
    def is_full(self) -> bool:
        """No more records are wanted."""
        return self._rows.limit is not None and self.written >= self._rows.limit

    def write(self, stream: RecordStream, seen: Callable[[], None]) -> None:
        """Write all records of a stream."""
        for lines in self._lines(stream):
            show_json_lines(lines)
            seen()
            if self._rows.limit is not None:
                self.written += lines.count(b"\n")
                if self.is_full:
                    return

    def _lines(self, stream: RecordStream) -> Iterator[bytes]:
        # How many of the next batch are wanted depends on this one.
        if self._threads == 1 or self._rows.limit is not None:
            yield from map(self._lines_of, stream)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                yield from in_order(pool, self._lines_of, iter(stream), ahead=2 * self._threads)

    def _lines_of(self, batch: ArrowBatch) -> bytes:
        limit = None if self._rows.limit is None else self._rows.limit - self.written
        chosen = self._rows
        lines = batch.to_jsonl(
            self._form,
            fields=self._fields,
            rows={"since": chosen.since, "until": chosen.until, "keys": chosen.keys, "limit": limit},
        )
        return lines if self._redactor is None else self._redactor.json_lines(lines)


class RecordTable:
    """A table in a file, through pyarrow."""

    batch_bytes = BATCH_BYTES
    leaves_terminal = True

    def __init__(self, output: Output, stack: ExitStack, columns: list[str], rows: RowFilter, redactor: Redactor | None = None) -> None:
        self._pa = pyarrow_for(output)
        self._names = columns
        self._rows = rows
        self._file = TableFile(output, stack)
        self._redactor = redactor
        self.columns = rows.needed(columns)
        self.batch_size = rows.size(BATCH_SIZE)

    @property
    def written(self) -> int:
        """Records written."""
        return self._file.rows

    @property
    def is_full(self) -> bool:
        """No more records are wanted."""
        return self._rows.limit is not None and self.written >= self._rows.limit

    def write(self, stream: RecordStream, seen: Callable[[], None]) -> None:
        """Write all records of a stream."""
        pa = self._pa
        schema = pa.schema([pa.schema(stream.schema).field(name) for name in self._names])
        self._file.begin(self._shown(pa.RecordBatch.from_pylist([], schema)).schema)
        for batch in stream:
            chosen = self._chosen(batch.to_pyarrow())
            if self._rows.limit is not None:
                chosen = chosen.slice(0, self._rows.limit - self.written)
            self._file.write(self._shown(chosen.select(self._names)))
            seen()
            if self.is_full:
                return

    def _shown(self, batch: Any) -> Any:
        return batch if self._redactor is None else self._redactor.arrow_batch(batch)

    def _chosen(self, batch: Any) -> Any:
        """Return the rows that `to_jsonl` chooses."""
        pc, rows = self._pa.compute, self._rows
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
#: What stands there as text when records are decoded.
BYTES = ("key", "value")


def json_columns(columns: list[str] | None, *, control: bool, values: Values) -> list[str]:
    """Return the columns of JSON lines: those that were named, or those of a record by default."""
    usual = [name for name in JSON_COLUMNS if not (values == INTERNAL and name in BYTES)]
    return [*with_values(columns or with_control(usual, control), values)]


def with_control(columns: Iterable[str], control: bool) -> list[str]:
    """Return the columns, with the type of control records if these are wanted."""
    return [*columns, *["controlType"] * control]


def say_others(columns: Iterable[str], topics: Iterable[str | None], *, control: bool, quiet: bool) -> None:
    """Say which topics are not internal where records are to be decoded: what their records hold is not shown."""
    if INTERNAL in columns and not control and not quiet and (others := other_topics(topics)):
        say(others)


def ensure_topics(columns: Iterable[str], told: Iterable[tuple[str, str | None]], *, control: bool) -> None:
    """Fail where records are to be decoded whose topic nothing says, instead of giving nothing but null; control records need none.

    Args:
        columns: those that are asked for.
        told: names of files, and the topic of each.
        control: control records are given too.

    Raises:
        click.UsageError: then.
    """
    if INTERNAL not in columns or control:
        return
    unknown = next((name for name, topic in told if topic is None), None)
    if unknown is not None:
        raise click.UsageError(f"internal: no directory tells which topic {unknown} is of; say --topic __consumer_offsets, for example")
