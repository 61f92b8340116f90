"""The records of a partition that a table lacks: offsets go in, rows come out with the offsets that were read for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from logsegment._core import (
    Finding,
    PartitionReader,
    RecordBatchError,
    SegmentFile,
    SegmentLookup,
    SegmentRange,
    Transactions,
    committed_transactions,
    decode_files,
    order_by_offsets,
)
from logsegment._decode import with_findings
from logsegment._export.gaps import LostPlaces, RowCheck, is_cleaned, rows_within
from logsegment._export.offset_ranges import NO_END, OffsetRanges
from logsegment._export.state import LostOffsets, Partition, ranges_of
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment._report import TORN
from logsegment.partition.log_end import GrowingLog

#: Columns that a read of an export needs besides those of the table.
NEEDED = ("offset", "entryPosition")
#: Missing offsets that are at most this far apart are read together.
NEAR = 10_000
#: The rule of offsets between two segments that no segment has.
NO_SEGMENT = "ORD-3"


@dataclass(frozen=True)
class ExportedPartition:
    """A partition of the source.

    Attributes:
        partition: topic and number.
        files: its segments.
        gaps: findings of files that are not read and that alone have some offsets.
    """

    partition: Partition
    files: tuple[SegmentFile, ...]
    gaps: tuple[Finding, ...] = ()

    @property
    def has_positions(self) -> bool:
        """True for Kafka 0.7, whose offsets are positions of bytes."""
        return any(is_of_0_7(file.path) for file in self.files)


@dataclass(frozen=True)
class ReadBounds:
    """The bounds of each partition: offsets, and times in milliseconds; None for no bound."""

    start_offset: int | None = None
    end_offset: int | None = None
    times: tuple[int | None, int | None] = (None, None)


@dataclass
class ReadChunk:
    """Rows of a partition, and what the table has when they are in it.

    Attributes:
        rows: a `pyarrow.RecordBatch` with the columns of the read; None without rows.
        ranges: the offsets that were read with these rows and not before.
        lost: the offsets that could not be read.
        findings: findings of the read.
        is_whole: a commit may follow; False between the records of a wrapper message of Kafka 0.7, which share an offset.
    """

    rows: Any = None
    ranges: OffsetRanges = field(default_factory=OffsetRanges)
    lost: list[LostOffsets] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    is_whole: bool = True


class MissingRecords:
    """Reads the records of a partition that a table lacks, in the order of their offsets.

    Args:
        source: the partition.
        read: options of the read; the columns contain `NEEDED`.
        bounds: what is wanted.

    Attributes:
        end: the offset after the last one that can be exported now; None if it is not known.
        io_stats: counters of the read.
    """

    def __init__(self, source: ExportedPartition, read: ReadOptions, bounds: ReadBounds) -> None:
        topic, number = source.partition
        self._source = source
        self._read = replace(read, topic=topic, partition=number)
        self._bounds = bounds
        self._segments = [SegmentLookup(file) for file in order_by_offsets(source.files, reports=read.skips_damage)]
        self._damaged_end: list[LostOffsets] = []
        self.end = self._log_end()
        self.io_stats: dict[str, int] = {}

    @property
    def start(self) -> int:
        """The first offset that the segments may have."""
        file = self._segments[0].file
        begin = _segment_start(self._segments[0]) or 0
        return max(begin, file.log_start or 0)

    def chunks(self, known: OffsetRanges) -> Iterator[ReadChunk]:
        """Yield the records that are not in `known`.

        Raises:
            RecordBatchError: at damage, unless it is skipped.
            OSError: if a file cannot be read.
        """
        missing = self._wanted() - known
        if not missing:
            return
        transactions = self._transactions(missing)
        stable = None if transactions is None else transactions.last_stable_offset
        if stable is not None:
            self.end = stable if self.end is None else min(self.end, stable)
            missing = missing.within(0, self.end)
        for group in missing.grouped(NEAR):
            yield from self._group(group, transactions)
        yield ReadChunk(lost=self._damaged_end)

    def _wanted(self) -> OffsetRanges:
        """Return the offsets that the bounds and the segments leave."""
        start, end = self._bounds.start_offset or 0, self._bounds.end_offset
        first, last = self._bounds.times
        if first is not None or last is not None:
            planned = PartitionReader.plan(self._segments, replace(self._read, start_offset=start, end_offset=end), (first, last))
            begin, stop = planned.options.bounds
            if last is None and first is not None:
                begin = planned.offset_at(first)
                if begin is None:
                    return OffsetRanges()
            start, end = max(start, begin or 0), stop
        end = NO_END if end is None else end
        return OffsetRanges([(max(start, self.start), end if self.end is None else min(end, self.end))])

    def _log_end(self) -> int | None:
        """Return the offset after the last batch; None if headers do not show it."""
        if self._source.has_positions:
            return None
        last = self._segments[-1]
        try:
            return last.end()[0]
        except RecordBatchError as error:
            if not self._read.skips_damage:
                # The read raises the error where the bytes are wanted.
                return None
            end = GrowingLog(self._read).last_valid(last.file).next_offset
            topic, number = self._source.partition
            self._damaged_end = [LostOffsets(topic, number, end, None, error.rule or "")]
            return end

    def _transactions(self, missing: OffsetRanges) -> Transactions | None:
        """Return the transactions of the segments from the first missing offset on: markers come after their records."""
        if self._read.isolation != "read_committed":
            return None
        if self._source.has_positions:
            return Transactions([])
        first = missing.start or 0
        files = [segment.file for segment in self._segments]
        begin = max((number for number, file in enumerate(files) if (file.base_offset or 0) <= first), default=0)
        return committed_transactions(files[begin:], self._read)

    def _group(self, missing: OffsetRanges, transactions: Transactions | None) -> Iterator[ReadChunk]:
        start, end = missing.start or 0, missing.end or 0
        stop = None if end == NO_END else end
        read = replace(self._read, start_offset=start, end_offset=stop, transactions=transactions)
        pieces = PartitionReader(self._segments, read).pieces()
        lost = [_unread(self._source.partition, finding) for finding in self._source.gaps]
        for number, piece in enumerate(pieces):
            following = _segment_start(pieces[number + 1].segment) if number + 1 < len(pieces) else None
            bounds = (max(start, _segment_start(piece.segment) or 0), end if following is None else min(following, end))
            reader = _SegmentRows(self._source, piece, bounds, self._bounds.times)
            for chunk in reader.chunks(transactions, missing):
                chunk.ranges = (chunk.ranges & missing) - ranges_of(lost)
                yield chunk
            for name, number_of in reader.io_stats.items():
                self.io_stats[name] = self.io_stats.get(name, 0) + number_of
        yield ReadChunk(lost=[place for place in lost if ranges_of([place]) & missing])


class _SegmentRows:
    """Reads the rows of a segment and follows which of its offsets were read.

    Args:
        source: the partition.
        piece: the bytes of the segment.
        bounds: the first offset that the segment may have, and the offset after its last one; `NO_END` if it is not known.
        times: rows of other times are left out, unless the first time alone is given.
    """

    def __init__(
        self, source: ExportedPartition, piece: SegmentRange, bounds: tuple[int, int], times: tuple[int | None, int | None]
    ) -> None:
        self._source = source
        self._piece = piece
        self._cursor, self._end = bounds
        self._check = RowCheck(piece.segment.path, times, has_positions=source.has_positions)
        self._places = LostPlaces(source.partition)
        self.io_stats: dict[str, int] = {}

    def chunks(self, transactions: Transactions | None, missing: OffsetRanges) -> Iterator[ReadChunk]:
        """Yield the rows of the segment, and at the end the offsets without rows."""
        part = self._piece.part(transactions)
        with decode_files([part], part[1]) as stream:
            for rows, findings in with_findings(stream):
                self._places.add(finding for finding in findings if self._is_loss(finding))
                chunk = ReadChunk(findings=list(findings), is_whole=not self._source.has_positions)
                if rows is not None:
                    self._take(rows.to_pyarrow(), chunk, part[1])
                    chunk.rows = rows_within(chunk.rows, missing)
                yield chunk
            self.io_stats = dict(stream.io_stats)
        yield self._rest()

    def _is_loss(self, finding: Finding) -> bool:
        """Return True for damage before the end of the read."""
        if not self._places.is_loss(finding):
            return False
        end = self._end_position if finding.rule == TORN else None
        return end is None or finding.position < end

    @cached_property
    def _end_position(self) -> int | None:
        """Return the position after the last whole batch, after which an unfinished entry loses nothing."""
        if self._source.has_positions:
            return None
        try:
            return self._piece.segment.end()[1]
        except RecordBatchError:
            return None

    def _take(self, rows: Any, chunk: ReadChunk, read: ReadOptions) -> None:
        """Add rows to a chunk, with the offsets that were read up to the last one."""
        rows, repeated = self._check.ascending(rows, read)
        chunk.findings += repeated
        if not rows.num_rows or self._source.has_positions:
            chunk.rows = rows
            return
        chunk.lost = self._places.between(rows, self._cursor)
        chunk.rows, others = self._check.in_time(rows)
        end = rows.column("offset")[rows.num_rows - 1].as_py() + 1
        chunk.ranges = OffsetRanges([(self._cursor, end)]) - ranges_of(chunk.lost) - others
        self._cursor = end

    def _rest(self) -> ReadChunk:
        """Return the offsets after the last row."""
        if self._source.has_positions:
            end = self._check.last_offset
            return ReadChunk(ranges=OffsetRanges([(self._cursor, end)] if end is not None else []))
        end = self._cursor if self._end == NO_END else self._end
        lost = self._places.at_end(self._cursor, end)
        ranges = OffsetRanges([(self._cursor, end)]) - ranges_of(lost)
        hole = self._hole(ranges)
        topic, number = self._source.partition
        return ReadChunk(ranges=ranges - hole, lost=[*lost, *(LostOffsets(topic, number, *place, NO_SEGMENT) for place in hole)])

    def _hole(self, rest: OffsetRanges) -> OffsetRanges:
        """Return the offsets that no segment has, unless compaction took them out: a segment may be missing."""
        if not rest or self._end == NO_END:
            return OffsetRanges()
        try:
            held = self._piece.segment.end()[0]
        except RecordBatchError:
            held = None
        hole = rest.within(max(held or 0, self._cursor), self._end)
        if not hole or is_cleaned(self._piece.segment, self._source.files):
            return OffsetRanges()
        return hole


def _segment_start(segment: SegmentLookup) -> int | None:
    """Return the first offset that a segment may have, by its batches if they contradict its name."""
    held = segment.file.actual_offsets
    return segment.file.base_offset if held is None else held[0]


def _unread(partition: Partition, finding: Finding) -> LostOffsets:
    """Return the offsets of a file that is not read."""
    topic, number = partition
    end = None if finding.last_offset is None else finding.last_offset + 1
    return LostOffsets(topic, number, finding.base_offset or 0, end, finding.rule)
