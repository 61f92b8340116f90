"""The export of partitions into one table: missing records are read, written to files and committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from logsegment._core import Finding
from logsegment._export.commits import Commit, Committer, Overtaken, Pending
from logsegment._export.known_offsets import KnownOffsets
from logsegment._export.log_reader import NEEDED, ExportedPartition, MissingRecords, ReadBounds
from logsegment._export.parquet_writer import PartitionedWriter
from logsegment._export.state import ExportState, Partition
from logsegment._export.tables import LakeTable
from logsegment._options import ReadOptions

#: Bytes that Python and the libraries take. Of the rest, a share may be rows that wait to be written; decoding and writing take some times
#: as much.
_LIBRARIES = 250 << 20
_SHARE = 9
#: Record batches of a row group: each costs some work besides that of its rows.
_BATCHES = 8
#: Called with each commit.
OnCommit: TypeAlias = Callable[[Commit], None]


@dataclass(frozen=True)
class ExportOptions:
    """How an export reads and commits; `export` documents the options.

    Attributes:
        read: options of the read, with the columns of the table.
        bounds: what is wanted.
        commit_bytes: about the bytes of the files of a commit.
        memory: bytes that the process may use.
        trust_commits_only: refuse a table with rows that no commit explains.
        on_commit: is called with each commit.
    """

    read: ReadOptions
    bounds: ReadBounds
    commit_bytes: int
    memory: int
    trust_commits_only: bool
    on_commit: OnCommit | None = None

    @property
    def waiting_bytes(self) -> int:
        """Bytes of rows that may wait to be written, which is about the size of a row group."""
        return (self.memory - _LIBRARIES) // _SHARE

    @property
    def needed(self) -> ReadOptions:
        """The options of the read with the columns that the export itself needs."""
        own = [*NEEDED, *(["timestampMs"] if self.bounds.times[1] is not None else [])]
        columns = list(dict.fromkeys([*(self.read.columns or ()), *own]))
        return replace(self.read, columns=tuple(columns), batch_bytes=max(self.waiting_bytes // _BATCHES, 1))


@dataclass
class TableResult:
    """The work of an export on one table."""

    state: ExportState = field(default_factory=ExportState)
    commits: list[Commit] = field(default_factory=list)
    rows: Counter[Partition] = field(default_factory=Counter)
    ends: dict[Partition, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    io_stats: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


class TableExport:
    """Exports partitions into a table that is prepared.

    Args:
        table: the table.
        sources: the partitions.
        options: how.
    """

    def __init__(self, table: LakeTable, sources: Sequence[ExportedPartition], options: ExportOptions) -> None:
        self._table = table
        self._sources = sources
        self._options = options
        self.result = TableResult()

    def run(self) -> TableResult:
        """Export until nothing is missing.

        Raises:
            LakeTableError: if the table cannot be used.
            RecordBatchError: at damage, unless it is skipped. What was committed before stays.
            OSError: if a file cannot be read or written.
        """
        options = self._options
        has_positions = any(source.has_positions for source in self._sources)
        known = KnownOffsets(self._table, trusts_commits_only=options.trust_commits_only, has_positions=has_positions)
        while True:
            committer = Committer(self._table, options.read.isolation, known)
            self._ensure_isolation(committer.state)
            writer = PartitionedWriter(self._table, options.waiting_bytes, options.commit_bytes)
            try:
                self._export(committer, writer)
            except Overtaken:
                writer.discard()
                continue
            except BaseException:
                writer.discard()
                raise
            self.result.state, self.result.notes = committer.state, known.notes
            return self.result

    def _ensure_isolation(self, state: ExportState) -> None:
        isolation = self._options.read.isolation
        if state.isolation not in (None, isolation):
            raise ValueError(f'isolation: {self._table.name} was exported with "{state.isolation}", and cannot have "{isolation}" too')

    def _export(self, committer: Committer, writer: PartitionedWriter) -> None:
        pending = Pending()
        for source in self._sources:
            reader = MissingRecords(source, self._options.needed, self._options.bounds)
            for chunk in reader.chunks(committer.state.of(source.partition)):
                pending.add(source.partition, chunk)
                if chunk.rows is not None and chunk.rows.num_rows:
                    writer.write(chunk.rows)
                if chunk.is_whole and writer.is_full:
                    self._commit(committer, writer, pending)
                    pending = Pending()
            self.result.io_stats.update(reader.io_stats)
            self.result.ends[source.partition] = reader.start if reader.end is None else max(reader.end, reader.start)
        self._commit(committer, writer, pending)

    def _commit(self, committer: Committer, writer: PartitionedWriter, pending: Pending) -> None:
        files = writer.finish()
        try:
            commit = committer.commit(files, pending)
        except Overtaken:
            for file in files:
                self._table.remove(file.path)
            raise
        self.result.findings += pending.findings
        if commit is not None:
            self.result.rows.update(pending.rows)
            self.result.commits.append(commit)
            if self._options.on_commit is not None:
                self._options.on_commit(commit)
