"""The rows that a correct reader returns of a partition, from what the model wrote."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import logsegment as ls
from tests.simulation.entries import Batch
from tests.simulation.partition import Partition, fates, last_stable

#: Offset, timestamp, timestamp type, key, value, headers, control type.
Row: TypeAlias = tuple[int, int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], str | None]
COLUMNS = ["offset", "timestampMs", "timestampType", "key", "value", "headers", "controlType"]
FOREVER = 2**63 - 1
#: States of batches whose records a read returns that skips damage. Those of a misnamed segment are damage for a read that raises.
READABLE = ("valid", "misplaced")
#: States of batches of which nothing is on the disk that could decide about a transaction.
ABSENT = ("torn", "gone")


class LawBroken(AssertionError):
    """A law does not hold."""


def require(holds: object, text: str, *values: Any) -> None:
    if not holds:
        raise LawBroken(f"{text}: {', '.join(map(short, values))}"[:1500])


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 1000 else f"{text[:1000]}..."


@dataclass(frozen=True)
class Query:
    """Options of a read of records. `since` and `until` are given together: one alone is a place in the log."""

    on_error: str = "raise"
    isolation: str = "read_uncommitted"
    control: bool = False
    start: int | None = None
    end: int | None = None
    since: int | None = None
    until: int | None = None

    @property
    def is_everything(self) -> bool:
        return (self.start, self.end, self.since) == (None, None, None)

    @property
    def offsets(self) -> dict[str, int | None]:
        return {"start_offset": self.start, "end_offset": self.end}

    @property
    def times(self) -> dict[str, int | None]:
        return {"start_timestamp": self.since, "end_timestamp": self.until}

    @property
    def options(self) -> dict[str, Any]:
        return {"on_error": self.on_error, "isolation": self.isolation, "control": self.control}

    def has(self, row: Row) -> bool:
        inside = (self.start is None or row[0] >= self.start) and (self.end is None or row[0] < self.end)
        if self.since is None or self.until is None:
            return inside
        # A record without a timestamp is in no range.
        return inside and self.since <= row[1] < self.until and row[1] >= 0

    def meets(self, batch: Batch, log_start: int) -> bool:
        """Whether the batch has offsets of the range, from the log start offset on."""
        start = max(self.start or 0, log_start, batch.base_offset)
        return start <= batch.last_offset and (self.end is None or start < self.end)


def drawn(partition: Partition, chance: random.Random, *, has_times: bool = True) -> Query:
    """Return a query: most without a range, ranges near the offsets and times that there are."""
    lowest, highest = partition.segments[0].base, partition.next_offset
    start = end = since = until = None
    kind = chance.random()
    if kind < 0.4 and "offset" not in partition.lies:
        start, end = sorted(chance.randint(max(lowest - 2, 0), highest + 2) for _ in range(2))
        start, end = (start, end) if chance.random() < 0.6 else ((start, None) if chance.random() < 0.5 else (None, end))
    elif 0.4 <= kind < 0.6 and has_times and partition.magic and "time" not in partition.lies:
        times = [row[1] for row in rows_of(partition.batches)] or [partition.time]
        since, until = sorted(chance.choice(times) + chance.choice([-1, 0, 1]) for _ in range(2))
    return Query(
        on_error=chance.choice(["raise", "skip"]),
        isolation="read_committed" if chance.random() < 0.35 else "read_uncommitted",
        control=chance.random() < 0.3,
        start=start,
        end=end,
        since=since,
        until=until,
    )


def rows_of(batches: Iterable[Batch]) -> list[Row]:
    """Return all rows of the batches, also those of markers."""
    return [
        (record.offset, record.timestamp, batch.timestamp_type, record.key, record.value, record.headers, batch.control)
        for batch in batches
        for record in batch.records
    ]


def expected(batches: list[Batch], query: Query, log_start: int = 0) -> list[Row]:
    """Return the rows of the valid batches that a query selects."""
    found = []
    # A torn batch is not there yet, also if it is a marker.
    batches = [batch for batch in batches if batch.state not in ABSENT]
    is_committed = query.isolation == "read_committed"
    stable = last_stable(batches) if is_committed else FOREVER
    for batch, fate in zip(batches, fates(batches), strict=True):
        if batch.state not in READABLE or (batch.control and not query.control) or batch.base_offset >= stable:
            continue
        if is_committed and fate == "aborted":
            continue
        found += [row for row in rows_of([batch]) if row[0] >= log_start and query.has(row)]
    return found


@dataclass
class Outcome:
    """The rows of a read, and the error that ended it."""

    rows: list[Row]
    error: ls.RecordBatchError | None = None
    findings: list[Any] | None = None


def read(make: Callable[[], Any]) -> Outcome:
    """Return the rows of a stream up to its end or its error."""
    outcome = Outcome([])
    try:
        stream = make()
        for batch in stream:
            outcome.rows += [as_row(row) for row in batch.to_pylist()]
        outcome.findings = list(stream.findings)
    except ls.InternalError:
        raise
    except ls.RecordBatchError as error:
        outcome.error = error
    return outcome


def as_row(row: dict[str, Any]) -> Row:
    headers = tuple((header["key"], header["value"]) for header in row["headers"] or ())
    return (row["offset"], row["timestampMs"], row["timestampType"], row["key"], row["value"], headers, row["controlType"])


@contextmanager
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_unsure(batches: list[Batch]) -> Callable[[Row], bool]:
    """Return what says whether a reader may return a row although no checksum covers where it belongs.

    These are the records of a batch with another base offset, and messages inside of a damaged compressed one, which have checksums of
    their own: a codec may leave them as they are, and a search after a wrong length finds them.
    """
    contents = {content(row) for batch in batches if batch.state == "unsure" for row in rows_of([batch])}
    inner = {row[3:5] for batch in batches if holds_messages(batch) for row in rows_of([batch])}
    return lambda row: content(row) in contents or row[3:5] in inner


def holds_messages(batch: Batch) -> bool:
    return batch.state in ("lost", "swallowing", "torn") and batch.magic < 2 and batch.codec != "none"


def content(row: Row) -> tuple[object, ...]:
    """Return a row without its offset, which no checksum covers."""
    return row[1:]


def holds(batches: list[Batch], query: Query, outcome: Outcome, log_start: int = 0) -> None:
    """Require that a read returned the truth about these batches, or the part of it that damage allows.

    Without damage the rows are those of the truth. With damage skipped they are, too, since the truth has valid batches only. With errors
    raised, the rows are those before the error, and damage inside of the range raises.
    """
    has_no_place = is_unsure(batches)
    truth = [row for row in expected(batches, query, log_start) if not has_no_place(row)]
    rows = [row for row in outcome.rows if not has_no_place(row)]
    broken = [batch for batch in batches if batch.state != "valid"]
    if not broken or query.on_error == "skip":
        require(outcome.error is None, "an error without damage, or with damage skipped", query, outcome.error)
    if broken and query.isolation == "read_committed":
        _holds_committed(batches, query, (truth, rows), outcome)
    elif not broken or query.on_error == "skip":
        require(rows == truth, "rows differ", query, _missing(truth, rows), _missing(rows, truth))
    else:
        _holds_before(broken, query, (truth, rows), outcome, log_start)


def _holds_before(broken: list[Batch], query: Query, sides: tuple[list[Row], list[Row]], outcome: Outcome, log_start: int) -> None:
    """Require the rows before damage, and an error for damage that the query meets."""
    truth, rows = sides
    require(rows == truth[: len(rows)], "the rows before an error are others", query, rows[-1:], truth[: len(rows)][-1:])
    met = [batch for batch in broken if query.meets(batch, log_start)]
    if outcome.error is None:
        if any(batch.state == "swallowing" for batch in broken):
            return  # what follows is hidden from a read that raises, as it is from Kafka's readers
        certain = [batch.base_offset for batch in met if batch.state == "lost" and query.since is None]
        require(not certain, "damage raised no error", query, certain)
        require(rows == truth, "rows are missing without an error", query, _missing(truth, rows))
    # A wrong length below the log start offset ends the read, too.
    elif query.is_everything and met and met[0] is broken[0] and all(batch.state == "lost" for batch in broken):
        before = [row for row in truth if row[0] < met[0].base_offset]
        require(rows == before, "the rows before the error are not all", query, _missing(before, rows), _missing(rows, before))


def _holds_committed(batches: list[Batch], query: Query, sides: tuple[list[Row], list[Row]], outcome: Outcome) -> None:
    """Require that damage shows no record of an aborted or open transaction, and that what it hides is reported.

    A lost batch may have begun a transaction that is open: the records after it are shown where nothing else says so.
    """
    truth, rows = sides
    batches = [batch for batch in batches if batch.state not in ABSENT]
    decided = [batch for batch, fate in zip(batches, fates(batches), strict=True) if fate in ("plain", "committed")]
    # A marker that is alone in its segment decides at the offset that it claims.
    is_moved = any(batch.control and batch.is_alone for batch in batches)
    allowed = set(rows_of(batches if is_moved else decided))
    require(set(rows) <= allowed, "rows that are not committed", query, [row[0] for row in rows if row not in allowed])
    require([row[0] for row in rows] == sorted({row[0] for row in rows}), "offsets do not grow", query, [row[0] for row in rows])
    is_hidden = query.on_error == "raise" and any(batch.state == "swallowing" for batch in batches)
    is_reported = outcome.error is not None or outcome.findings or is_hidden
    require(is_reported or set(truth) <= set(rows), "rows are missing without a finding", query, _missing(truth, rows))


def _missing(wanted: list[Row], rows: list[Row]) -> list[int]:
    held = set(rows)
    return [row[0] for row in wanted if row not in held]
