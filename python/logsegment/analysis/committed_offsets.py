"""The offsets that consumer groups have committed, from logs of `__consumer_offsets`: `committed_offsets`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

from logsegment._core import CommittedOffsets, Finding, SegmentFile, decode_files
from logsegment._decode import with_findings
from logsegment._options import EntryKeywords, OnError, PartitionOptions, ReadOptions
from logsegment._report import is_damage
from logsegment._storage import Keys, StorageOptions
from logsegment._text import camel_case
from logsegment.analysis.results import Results
from logsegment.inputs.sources import LogSource, partitions_of
from logsegment.partition.reader import PartitionReader, order_by_offsets

TOPIC = "__consumer_offsets"
#: What a replay needs of each record.
_COLUMNS = ("key", "value", "offset", "producerId", "isTransactional", "isControl", "entryPosition")
COLUMNS = (
    *(("group", "string"), ("topic", "string"), ("partition", "int32"), ("committedOffset", "int64"), ("leaderEpoch", "int32")),
    *(("metadata", "string"), ("commitTimestamp", "int64"), ("expireTimestamp", "int64")),
    *(("isPending", "bool_"), ("recordOffset", "int64"), ("path", "string")),
)


@dataclass(slots=True)
class CommittedOffset:
    """The offset that a group has committed for a partition.

    Attributes:
        group: the id of the group.
        topic, partition: what it reads.
        committed_offset: the offset of the record that it reads next.
        leader_epoch: leader epoch of the last record that it read; None if the client did not give it.
        metadata: text of the client.
        commit_timestamp: ms, when it was committed.
        expire_timestamp: ms, when it expires; None if the client did not say so, as clients since Kafka 2.1.
        is_pending: an open transaction has another offset for the partition. A consumer with `isolation.level=read_committed` waits
            for its end.
        record_offset: offset of the commit's record in the log.
        path: the directory or file of the log.
    """

    group: str
    topic: str
    partition: int
    committed_offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None
    record_offset: int
    is_pending: bool
    path: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        row = {camel_case(name): value for name, value in asdict(self).items()}
        return {name: row[name] for name, _ in COLUMNS}


def committed_offsets(
    source: LogSource,
    *,
    on_error: OnError = "raise",
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    **options: Unpack[EntryKeywords],
) -> CommittedOffsetList:
    """Replay logs of `__consumer_offsets`: return the offsets that a group coordinator would give its groups.

    A commit in a transaction counts when its COMMIT marker comes, and never if the transaction is aborted. A plain commit counts at once,
    also while transactions of other groups are open. The newest record of a partition counts; a tombstone deletes it.

    Args:
        source: a path or URI of a segment, a partition directory or a tree of them; a `Log`; a whole `FileSource`; a buffer with
            the bytes of a segment; or a list of these. Other topics of a tree are not read.
        on_error: "raise", or "skip" to read past damage. Commits of transactions that are open at damage then never count: their
            markers may be missing.
        decryption_keys: private keys of tiered storage by their ids.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        options: options of entries; see `decode`.

    Returns:
        A `CommittedOffsetList`, in each log by group, topic and partition.

    Raises:
        ValueError: if no log of the source is of `__consumer_offsets`.
        FileNotFoundError: if a path does not exist, or contains no segments.
        RecordBatchError: while iterating, for damage, unless `on_error` is "skip".
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> first = next(iter(ls.committed_offsets("__consumer_offsets-1")))
        >>> first.group, first.topic, first.partition, first.committed_offset
        ('corpus-group-classic', 'codec-lz4', 0, 9)

    Source: KIP-98; `OffsetMetadataManager.replay` in Kafka.
    """
    read = ReadOptions.of(EntryKeywords, options, on_error=on_error, columns=_COLUMNS, binary="binary", control=True)
    partitions = partitions_of(source, (storage_options, decryption_keys, layout), PartitionOptions())
    logs = [(name, files) for name, files in partitions if files[0].topic in (TOPIC, None)]
    if not logs:
        others = ", ".join(dict.fromkeys(str(files[0].topic) for _, files in partitions[:3]))
        raise ValueError(f"the source has no log of {TOPIC}, only of {others}")
    findings: list[Finding] = []

    def found() -> Iterator[CommittedOffset]:
        # The partitions keep the buffers of the source readable.
        _ = partitions
        for name, files in logs:
            yield from _replayed(name, files, read, findings)

    return CommittedOffsetList(found(), findings)


def _replayed(name: str, files: Sequence[SegmentFile], read: ReadOptions, findings: list[Finding]) -> Iterator[CommittedOffset]:
    """Yield the offsets of one log."""
    state = CommittedOffsets()
    segments = order_by_offsets(files, reports=read.skips_damage)
    reader = PartitionReader.of(segments, replace(read, topic=segments[0].topic, partition=segments[0].partition))
    for part in reader.parts():
        with decode_files([part], reader.options) as stream:
            for rows, new in with_findings(stream):
                findings += new
                for finding in filter(is_damage, new):
                    state.add_damage(finding.position)
                if rows is not None:
                    findings += [_unread(name, *row) for row in state.add(rows)]
        state.leave()
    for row in state.take():
        yield CommittedOffset(*row, path=name)


def _unread(name: str, offset: int, rule: str, message: str) -> Finding:
    return Finding(rule, "warning", message, name, 0, 0, base_offset=offset, last_offset=offset)


class CommittedOffsetList(Results[CommittedOffset]):
    """Committed offsets, read while they are iterated.

    Attributes:
        findings (list[Finding]): the damage that was skipped so far, and records that cannot be read (INT-1, INT-2).
    """

    def __init__(self, found: Iterator[CommittedOffset], findings: list[Finding]) -> None:
        super().__init__(found)
        self.findings = findings

    def to_dict(self) -> dict[str, Any]:
        """Return the offsets and the findings, ready for JSON."""
        offsets = list(self._rows())
        return {"offsets": offsets, "findings": [finding.to_dict() for finding in self.findings]}

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        return (commit.to_dict() for commit in self)
