"""Entries of the sidecar files of a log: named tuples that any Arrow library can import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, overload

from logsegment._core import Finding
from logsegment._text import camel_case


class OffsetEntry(NamedTuple):
    """An entry of an `.index`: the last offset of a batch (before Kafka 0.10.1 its first), and the byte where the batch starts."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """An entry of a `.timeindex`: the largest timestamp (ms) so far, and the last offset of its batch."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An aborted transaction: its producer, its first offset, the offset of its marker, and the last stable offset at that time.

    The last stable offset is None if it was not read from a `.txnindex`.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int | None


class ProducerState(NamedTuple):
    """The state of a producer in a `.snapshot`; -1 for none, timestamp in ms."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


class LeaderEpoch(NamedTuple):
    """A line of a `leader-epoch-checkpoint`: the leader epoch, and its first offset."""

    epoch: int
    start_offset: int


Row = TypeVar("Row", bound=tuple[Any, ...])


class Rows(Sequence[Row], Generic[Row]):
    """The entries of one file in its order, as a sequence of named tuples.

    Attributes:
        findings (list[Finding]): the findings of the file.

    Example:
        >>> import logsegment as ls
        >>> index = ls.Segment("payments-0/00000000000000000000.log").offset_index
        >>> index[0]
        OffsetEntry(offset=12, position=7254)
        >>> index.to_pyarrow().column_names
        ['offset', 'position']
    """

    def __init__(self, kind: type[Row], rows: Sequence[tuple[Any, ...]], findings: Sequence[Finding] = ()) -> None:
        self._kind = kind
        self._rows = rows
        self.findings = list(findings)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return [self._kind(*row) for row in self._rows[index]]
        return self._kind(*self._rows[index])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (self._kind(*row) for row in self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def to_pyarrow(self) -> Any:
        """Return the rows as a `pyarrow.Table` of int64 columns."""
        import pyarrow as pa

        names = [camel_case(name) for name in self._kind._fields]  # type: ignore[attr-defined]
        columns = list(zip(*self._rows, strict=True)) or [()] * len(names)
        return pa.table([pa.array(column, pa.int64()) for column in columns], names=names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_pyarrow().__arrow_c_stream__(requested_schema)
