"""The transactions of whole logs: `transactions`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack

from logsegment._core import Finding, SegmentFile
from logsegment._options import EntryKeywords, PartitionOptions, ReadOptions, Timestamp, milliseconds
from logsegment._storage import Keys, StorageOptions
from logsegment.analysis.results import Results
from logsegment.inputs.sources import LogSource, partitions_of
from logsegment.partition.transactions import LONGEST_MS, Transaction, transactions_of

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
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    **options: Unpack[EntryKeywords],
) -> TransactionList:
    """Follow the transactions of every partition; nothing is decompressed.

    Args:
        source: a path or URI of a segment, a partition directory or a tree of them; a `Log`; a whole `FileSource`; a buffer with
            the bytes of a segment, whose path begins with `memory://`; or a list of these.
        now: the time up to which open transactions last; by default they last for as long as the times of the partition show.
        hanging_after: the milliseconds after which an open transaction hangs; by default Kafka's `transaction.max.timeout.ms`.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: private keys of tiered storage by their ids.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        options: options of entries; see `decode`.

    Returns:
        A `TransactionList`. In each partition, ended transactions come first, in the order of their markers.

    Raises:
        ValueError: if `now` has no time zone.
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
    findings: list[Finding] = []
    how: dict[str, Any] = {"longest_ms": hanging_after, "now": until, "on_damage": lambda _, finding: findings.append(finding)}

    partitions = partitions_of(source, (storage_options, decryption_keys, layout), PartitionOptions(replica=replica))

    def found() -> Iterator[Transaction]:
        for name, files in partitions:
            yield from placed_transactions(name, files, read, **how)

    return TransactionList(found(), findings)


def placed_transactions(name: str, files: Sequence[SegmentFile], options: ReadOptions, **how: Any) -> Iterator[Transaction]:
    """Yield the transactions of one partition with the name of its directory or file.

    Args:
        name: the directory or file.
        files: the segments of the partition.
        options: those of a read.
        how: the other arguments of `transactions_of`.
    """
    for segment in transactions_of(files, options, **how):
        segment.path, segment.topic, segment.partition = name, files[0].topic, files[0].partition
        yield segment


class TransactionList(Results[Transaction]):
    """Transactions, followed while they are iterated.

    Attributes:
        findings (list[Finding]): the damage so far. A transaction that was open before damage has the state "unknown".
    """

    def __init__(self, found: Iterator[Transaction], findings: list[Finding]) -> None:
        super().__init__(found)
        self.findings = findings

    def to_dict(self) -> dict[str, Any]:
        """Return the transactions and the findings, ready for JSON."""
        transactions = list(self._rows())
        return {"transactions": transactions, "findings": [finding.to_dict() for finding in self.findings]}

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return _COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        return (transaction.to_dict() for transaction in self)
