"""Offsets without rows: which of them damage took, which are of other times, and which segments compaction left gaps in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from logsegment._core import Finding, RecordBatchError, SegmentFile, SegmentLookup, batch_stream
from logsegment._export.offset_ranges import OffsetRanges
from logsegment._export.state import LostOffsets, Partition
from logsegment._options import EVERY_FORMAT, ReadOptions
from logsegment._report import is_damage, is_unreadable
from logsegment._validate import error_of

#: Rules of values that could not be decoded. Their records are read, with null.
_OF_VALUES = ("SCH-", "INT-")
#: The rule of a batch that starts at or before the last offset of the batch before it.
_REPEATED = "ORD-1"
#: A lost range: first offset, the offset after the last one, and the rule.
_Place = tuple[int, int, str]


class LostPlaces:
    """Finds the offsets that damage took: those between the last row before a damaged place and the first row after it.

    Args:
        partition: topic and number.
    """

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._waiting: list[Finding] = []

    def is_loss(self, finding: Finding) -> bool:
        """Return True for a finding of bytes whose records are not read."""
        return (is_damage(finding, has_torn=True) or is_unreadable(finding)) and not finding.rule.startswith(_OF_VALUES)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add damage of the segment that is read; later rows show how far it reaches."""
        self._waiting = sorted([*self._waiting, *findings], key=lambda finding: finding.position)

    def between(self, rows: Any, begin: int) -> list[LostOffsets]:
        """Return the offsets that damage before some of the rows took.

        Args:
            rows: the next rows of the segment.
            begin: the offset after the rows before.
        """
        import pyarrow.compute as pc

        if not self._waiting:
            return []
        offsets, positions = rows.column("offset"), rows.column("entryPosition")
        found, waiting = [], []
        for finding in self._waiting:
            before = pc.sum(pc.less_equal(positions, finding.position)).as_py() or 0
            if before == rows.num_rows:
                waiting.append(finding)
                continue
            first = offsets[before - 1].as_py() + 1 if before else begin
            found.append((first, offsets[before].as_py(), finding.rule))
        self._waiting = waiting
        return self._named(found)

    def at_end(self, begin: int, end: int) -> list[LostOffsets]:
        """Return the offsets after the last row that damage took: from `begin` to before `end`, or all if the segment ends at `begin`."""
        if not self._waiting:
            return []
        topic, number = self._partition
        rule, self._waiting = self._waiting[0].rule, []
        return [LostOffsets(topic, number, begin, end if end > begin else None, rule)]

    def _named(self, places: Sequence[_Place]) -> list[LostOffsets]:
        topic, number = self._partition
        return [LostOffsets(topic, number, start, end, rule) for start, end, rule in dict.fromkeys(places) if start < end]


class RowCheck:
    """Checks the rows of a segment: their offsets ascend, and their times are wanted.

    Args:
        path: the segment.
        times: in milliseconds; with a second time, rows that are not from the first to before the second are left out.
        has_positions: offsets are positions of Kafka 0.7, which records of a wrapper message share.

    Attributes:
        last_offset: of the rows so far; None without rows.
    """

    def __init__(self, path: str, times: tuple[int | None, int | None], *, has_positions: bool) -> None:
        self._path = path
        self._times = times
        self._least = 0 if has_positions else 1
        self.last_offset: int | None = None

    def ascending(self, rows: Any, read: ReadOptions) -> tuple[Any, list[Finding]]:
        """Return the rows whose offsets are above those of all rows before them, and a finding if there are others.

        Raises:
            CorruptError: if there are others, unless damage is skipped.
        """
        import pyarrow.compute as pc

        if not rows.num_rows:
            return rows, []
        offsets = rows.column("offset")
        step = pc.min(pc.pairwise_diff(offsets)).as_py() if rows.num_rows > 1 else self._least
        is_after = self.last_offset is None or offsets[0].as_py() - self.last_offset >= self._least
        if step >= self._least and is_after:
            self.last_offset = offsets[rows.num_rows - 1].as_py()
            return rows, []
        kept, repeated = [], -1
        for number, offset in enumerate(offsets.to_pylist()):
            if self.last_offset is None or offset - self.last_offset >= self._least:
                self.last_offset = offset
                kept.append(number)
            elif repeated < 0:
                repeated = number
        finding = self._finding(rows, repeated)
        if not read.skips_damage:
            raise error_of(self._path, finding, read)
        return rows.take(kept), [finding]

    def _finding(self, rows: Any, number: int) -> Finding:
        offset, position = rows.column("offset")[number].as_py(), rows.column("entryPosition")[number].as_py()
        text = f"offset {offset} is not after the offsets before it, by which records are exported once"
        return Finding(_REPEATED, "error", text, self._path, position, 0, base_offset=offset, field="baseOffset")

    def in_time(self, rows: Any) -> tuple[Any, OffsetRanges]:
        """Return the rows that are wanted by their time, and the offsets of the others."""
        import pyarrow as pa
        import pyarrow.compute as pc

        first, last = self._times
        if last is None:
            return rows, OffsetRanges()
        times = rows.column("timestampMs")
        mask = pc.and_(pc.not_equal(times, -1), pc.less(times, last))
        mask = mask if first is None else pc.and_(mask, pc.greater_equal(times, first))
        offsets, others, begin = rows.column("offset"), [], 0
        runs = pc.run_end_encode(mask, run_end_type=pa.int64())
        for end, is_wanted in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            if not is_wanted:
                others.append((offsets[begin].as_py(), offsets[end - 1].as_py() + 1))
            begin = end
        return rows.filter(mask), OffsetRanges(others)


def rows_within(rows: Any, wanted: OffsetRanges) -> Any:
    """Return the rows whose offsets are in the ranges; the offsets of the rows ascend."""
    import pyarrow as pa

    if len(wanted) <= 1 or not rows.num_rows:
        return rows
    offsets = rows.column("offset").to_pylist()
    slices = []
    for start, end in wanted.within(offsets[0], offsets[-1] + 1):
        begin = bisect_left(offsets, start)
        slices.append(rows.slice(begin, bisect_left(offsets, end) - begin))
    return pa.Table.from_batches(slices, rows.schema).combine_chunks().to_batches()[0] if any(map(len, slices)) else rows.slice(0, 0)


def is_cleaned(segment: SegmentLookup, files: Sequence[SegmentFile]) -> bool:
    """Return True if batches show that compaction took records out of a segment, or out of its nearest neighbour with batches."""
    paths = [file.path for file in files]
    place = paths.index(segment.path)
    before = (file for file in files[place::-1])
    after = (file for file in files[place + 1 :])
    return any(_has_gaps(file) for side in (before, after) for file in _first_with_batches(side))


def _first_with_batches(files: Iterable[SegmentFile]) -> Iterable[SegmentFile]:
    for file in files:
        if SegmentLookup(file).size:
            return [file]
    return []


def _has_gaps(file: SegmentFile) -> bool:
    """Return True if a batch has fewer records than offsets, or offsets are missing between batches."""
    read = replace(EVERY_FORMAT, check_crc=False, resolve=True)
    last = None
    try:
        with batch_stream(file.source(), read) as stream:
            for rows in stream:
                for row in rows.to_pylist():
                    first, end, count = row["baseOffset"], row["lastOffset"], row["count"]
                    if first is None or count is None:
                        continue
                    if count < end - first + 1 or (last is not None and first > last + 1):
                        return True
                    last = end
    except RecordBatchError:
        return False
    return False
