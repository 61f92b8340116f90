"""The transactions of whole logs: `transactions`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack

from logsegment._core import Finding, SegmentFile
from logsegment._options import EntryKeywords, PartitionOptions, ReadOptions, Timestamp, milliseconds
from logsegment._places import redacted_uri
from logsegment._report import in_named_file
from logsegment._storage import Keys, StorageOptions
from logsegment.analysis.results import Results
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, LogSource, inputs_of
from logsegment.partition.transactions import LONGEST_MS, Transaction, transactions_of
from logsegment.segment_files.discovery import Topics

_COLUMNS = (
    *(("path", "string"), ("topic", "string"), ("partition", "int32"), ("state", "string")),
    *(("producerId", "int64"), ("producerEpoch", "int16"), ("firstOffset", "int64"), ("lastOffset", "int64"), ("markerOffset", "int64")),
    *(("batches", "int64"), ("records", "int64"), ("bytes", "int64"), ("firstTimestamp", "int64"), ("durationMs", "int64")),
)


def transactions(
    source: LogSource,
    *,
    now: Timestamp | None = None,
    hanging_after: int = LONGEST_MS,
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> TransactionList:
    """Follow the transactions of every partition; nothing is decompressed.

    Args:
        source: a path or URI of a segment, a partition directory or a tree of them; a pattern (`orders-*`); a `Log` or `Segment`; a whole
            `FileSource`; a buffer with the bytes of a segment, whose path begins with `memory://`; or a list of these.
        now: the time up to which open transactions last; by default they last for as long as the times of the partition show.
        hanging_after: the milliseconds after which an open transaction hangs; by default Kafka's `transaction.max.timeout.ms`.
        topic: follow only the partitions of this topic, or of these.
        partition: follow only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: private keys of tiered storage by their ids.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        observer: gets the findings about files that are not read; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        A `TransactionList`. In each partition, ended transactions come first, in the order of their markers.

    Raises:
        ValueError: if `now` has no time zone, a source can be read only once, or there is no such topic or partition.
        FileNotFoundError: if a path does not exist, or contains no segments.
        UnsupportedError: while iterating, for a batch of magic 3 that the options do not read (MAP-3).
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> sum(transaction.state == "aborted" for transaction in ls.transactions("payments-0"))
        11

    Source: KIP-98 and KIP-664; `TransactionsCommand` in Kafka's tools.
    """
    until = None if now is None else milliseconds(now, "now")
    read = ReadOptions.of(EntryKeywords, options)
    how: dict[str, Any] = {"longest_ms": hanging_after, "now": until}
    inputs = inputs_of(
        source,
        (storage_options, decryption_keys, layout),
        selection=(topic, partition),
        options=PartitionOptions(log_start_offset="ignore", replica=replica),
    )
    inputs.ensure_positions("transactions")
    inputs.ensure_segments(options)
    inputs.observed(observer, warns=True)
    return TransactionList(inputs, [PartitionTransactions(name, files, read, how) for name, files in inputs.partitions()])


class PartitionTransactions(Results[Transaction]):
    """The transactions of one partition, followed while they are iterated.

    Attributes:
        name (str): the directory or file.
        topic (str or None), partition (int or None): from the name of the directory.
        damage (list of (str, Finding)): the damage so far, each with its file. A transaction that was open before damage has the state
            "unknown".
    """

    def __init__(self, name: str, files: Sequence[SegmentFile], options: ReadOptions, how: dict[str, Any]) -> None:
        self.name, self.topic, self.partition = name, files[0].topic, files[0].partition
        self.damage: list[tuple[str, Finding]] = []
        super().__init__(self._followed(transactions_of(files, options, on_damage=self._add_damage, **how)))

    def to_dict(self) -> dict[str, Any]:
        """Return the transactions and the findings, ready for JSON."""
        transactions = list(self._rows())
        return {"transactions": transactions, "findings": [finding.to_dict() for _, finding in self.damage]}

    def _followed(self, found: Iterator[Transaction]) -> Iterator[Transaction]:
        for transaction in found:
            transaction.path, transaction.topic, transaction.partition = self.name, self.topic, self.partition
            yield transaction

    def _add_damage(self, file: SegmentFile, finding: Finding) -> None:
        self.damage.append((redacted_uri(file.path), finding))

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return _COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        return (transaction.to_dict() for transaction in self)


class TransactionList(Results[Transaction]):
    """Transactions, followed while they are iterated.

    Attributes:
        partitions (list[PartitionTransactions]): the transactions of each partition.
    """

    def __init__(self, inputs: Inputs, partitions: list[PartitionTransactions]) -> None:
        # Buffers can be read as long as their files exist.
        self._inputs = inputs
        self.partitions = partitions
        super().__init__(transaction for partition in partitions for transaction in partition)

    @property
    def findings(self) -> list[Finding]:
        """The damage so far. A transaction that was open before damage has the state "unknown"."""
        return [in_named_file(finding, path) for partition in self.partitions for path, finding in partition.damage]

    def to_dict(self) -> dict[str, Any]:
        """Return the transactions and the findings, ready for JSON."""
        transactions = list(self._rows())
        return {"transactions": transactions, "findings": [finding.to_dict() for finding in self.findings]}

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return _COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        return (transaction.to_dict() for transaction in self)
