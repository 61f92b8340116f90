"""The transactions of a partition one by one: which producer, from where to where, how large, how long, and how each ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

from logsegment._core import BatchHeader, FileSource, Finding, SegmentFile, TransactionHistory, batch_stream
from logsegment._decode import with_findings
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions, Timestamp, milliseconds
from logsegment._places import redacted_uri
from logsegment._report import is_damage
from logsegment._text import camel_case
from logsegment.partition.reader import order_by_offsets

State = Literal["committed", "aborted", "open", "hanging", "unknown"]
#: Called with a file and a finding of damage in it.
OnDamage = Callable[[SegmentFile, Finding], object]

#: Kafka's `transaction.max.timeout.ms` by default: a coordinator aborts what is open longer.
LONGEST_MS = 15 * 60 * 1000
#: The first magic of record batches. Messages before have another checksum.
_RECORD_BATCH = 2


@dataclass(slots=True)
class Transaction:
    """A transaction in one partition.

    Attributes:
        state: "committed" or "aborted" by its marker; "open" without a marker, "hanging" if it is open for longer than a coordinator
            allows. "unknown" if damage follows its begin: its marker may have been there, and what follows may be of another transaction.
        producer_id: id of its producer.
        producer_epoch: epoch in which it began.
        first_offset: first offset of its first batch.
        last_offset: last offset of its last batch; its marker comes later.
        marker_offset: offset of its marker, None while it is open.
        batches: number of its batches in these files.
        records: number of records in them.
        bytes: their bytes as stored.
        first_timestamp: ms, of its first batch as stored; -1 for none.
        duration_ms: how long it took, or is open so far. Times of one clock are subtracted: a marker has the time of a broker, and a
            CreateTime that does not fit the markers around it is the time of an event. Then the records of the transaction say how
            long it took, within what the markers allow.
        path, topic, partition: where it is, if the caller knows: the directory or file, and what the name of the directory says.
    """

    state: State
    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    marker_offset: int | None = None
    batches: int = 0
    records: int = 0
    bytes: int = 0
    first_timestamp: int = -1
    duration_ms: int = 0
    path: str = ""
    topic: str | None = None
    partition: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON, the place first."""
        place = {"path": self.path, "topic": self.topic, "partition": self.partition}
        return place | {camel_case(name): value for name, value in asdict(self).items()}


def transactions_of(
    files: Sequence[SegmentFile],
    options: ReadOptions | None = None,
    *,
    longest_ms: int = LONGEST_MS,
    now: Timestamp | None = None,
    on_damage: OnDamage | None = None,
) -> Iterator[Transaction]:
    """Follow the transactions of one partition; nothing is decompressed.

    A batch whose checksum does not match does not count, nor does a marker in it.

    Args:
        files: its segments, as `logsegment.segment_files.discovery.find_segments` returns them.
        options: those of a read; damage is always skipped.
        longest_ms: a transaction that is open for longer hangs; 15 minutes are `transaction.max.timeout.ms` of a broker.
        now: the time up to which open transactions last, milliseconds since the epoch or an aware datetime; by default they last for
            as long as the times of the partition show. An idle partition needs the time of the clock, since its times get old.
        on_damage: called with the file and the finding of each place that is skipped.

    Yields:
        Ended transactions in the order of their markers, then open ones by their first offset. A transaction that began before the first
        file counts from its first batch in the files.

    Raises:
        UnsupportedError: for a batch of magic 3 that the options do not read (MAP-3).
        ValueError: if the files are not in the order of their offsets, or `now` has no time zone.
        OSError: if a file cannot be read.

    Example:
        >>> from logsegment.segment_files.discovery import find_segments
        >>> from logsegment.partition.transactions import transactions_of
        >>> sum(transaction.state == "aborted" for transaction in transactions_of(find_segments("payments-0")))
        11

    Source: KIP-98 and KIP-664; `TransactionsCommand` in Kafka's tools.
    """
    until = None if now is None else milliseconds(now, "now")
    history = TransactionHistory(longest_ms)
    options = replace(options or ReadOptions(), on_error="skip")
    report = _ignore if on_damage is None else on_damage
    before: int | None = None
    files = order_by_offsets(files, reports=True)
    for file in files:
        if file.finding is not None:
            report(file, file.finding)
        source = FileSource(file.path, next_offset=file.next_offset)
        history.enter(source, options)
        first = None
        with batch_stream(source, options) as stream:
            for rows, findings in with_findings(stream):
                for finding in findings:
                    # A torn tail is damage only if another segment follows (SEG-23).
                    if is_damage(finding):
                        history.add_damage(finding.position)
                        report(file, finding)
                if rows is None:
                    break
                begin, ended, invalid = history.visit(rows)
                if first is None:
                    first = begin
                    _ensure_order(before, first, file)
                for header in invalid:
                    report(file, _bad_checksum(file, header))
                yield from map(_transaction, ended)
        before = before if first is None else first
    yield from map(_transaction, history.open(until))


def _ensure_order(before: int | None, first: int | None, file: SegmentFile) -> None:
    if before is not None and first is not None and first < before:
        raise ValueError(f"files must be in the order of their offsets: {file.path} begins at offset {first}, one before it at {before}")


def _transaction(row: tuple[Any, ...]) -> Transaction:
    return Transaction(cast(State, row[0]), *row[1:])


def _ignore(_file: SegmentFile, _finding: Finding) -> None:
    """Report nothing."""


def _bad_checksum(file: SegmentFile, header: BatchHeader) -> Finding:
    text = f"checksum mismatch of the entry with last offset {header.last_offset}"
    place = f"{redacted_uri(file.path)}@{header.position}"
    rule = "L7-12" if is_of_0_7(file.path) else "V2-31" if header.magic >= _RECORD_BATCH else "L8-2"
    return Finding(rule, "error", text, place, header.position, header.size, header.base_offset, header.last_offset)
