"""Rows of many files, one file after the other: `LogReader`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logsegment._core import ArrowBatch, Finding, RecordStream, Transactions

if TYPE_CHECKING:
    import pyarrow as pa

    from logsegment._core import ArrowSchema


@dataclass(frozen=True)
class FileRead:
    """The rows of a file that were read, in numbers and findings.

    Attributes:
        path: the name of the file.
        topic, partition: from the name of its directory, or as the caller named them; None if they are not known.
        stream: the stream that was read, with its `io_stats`, `framings` and `unknown_schemas`. It is at its end.
        findings: the findings of the stream: damage that was skipped, and tails.
        transactions: of a committed read, the transactions of the partition.
    """

    path: str
    topic: str | None
    partition: int | None
    stream: RecordStream
    findings: list[Finding]
    transactions: Transactions | None = None


class LogReader:
    """Rows of many files, one file after the other, which are read while the reader is iterated. It can be read once.

    Attributes:
        schema: the Arrow schema of the batches.
        notes: what to know of the read, such as topics that are not internal.

    Example:
        >>> import logsegment as ls
        >>> sum(batch.num_rows for batch in ls.read_records(["orders-0", "payments-0"], columns=["offset"]))
        309
    """

    def __init__(self, schema: ArrowSchema, batches: Generator[ArrowBatch], notes: Sequence[str] = ()) -> None:
        self.schema = schema
        self.notes = list(notes)
        self._batches = batches

    def __iter__(self) -> Iterator[ArrowBatch]:
        return self._batches

    def close(self) -> None:
        """End the read."""
        self._batches.close()

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as a dict each."""
        return [row for batch in self for row in batch.to_pylist()]

    def to_pyarrow(self) -> pa.Table:
        """Return the rows as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.Table.from_batches([batch.to_pyarrow() for batch in self], pa.schema(self.schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(pa.schema(self.schema), (batch.to_pyarrow() for batch in self))
        return reader.__arrow_c_stream__(requested_schema)
