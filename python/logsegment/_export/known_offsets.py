"""The offsets that a table has: by the commits of exports, and by rows of other writers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from logsegment._export.offset_ranges import OffsetRanges
from logsegment._export.state import ExportState, Partition
from logsegment._export.tables import KEY_COLUMNS, LakeTable, LakeTableError


class KnownOffsets:
    """Finds which offsets a table has: by the newest commit of an export, and by the rows that other writers added since.

    Args:
        table: the table.
        trusts_commits_only: do not read rows; refuse a table with rows that no commit of an export explains.
        has_positions: offsets of the source are positions of Kafka 0.7, which are not unique.

    Attributes:
        notes: what was read besides commits.
    """

    def __init__(self, table: LakeTable, *, trusts_commits_only: bool, has_positions: bool) -> None:
        self._table = table
        self._trusts_commits_only = trusts_commits_only
        self._has_positions = has_positions
        self.notes: list[str] = []

    def __call__(self) -> ExportState:
        """Return the state of the loaded version.

        Raises:
            LakeTableError: if only rows show it, and they must not be read, or do not show it.
            ValueError: if the table lacks the columns topic, partition and offset.
        """
        name, state = self._table.name, self._table.state()
        if state is not None and self._trusts_commits_only:
            return state
        others = self._table.other_rows()
        if others is None:
            return state or ExportState()
        rows = "rows of other writers" if state is not None else "rows, and none of its commits is of an export"
        if self._trusts_commits_only:
            raise LakeTableError(f"{name} has {rows}; without trust_commits_only (--trust-commits-only) its columns are read instead")
        if self._has_positions:
            raise LakeTableError(f"{name} has {rows}; offsets of Kafka 0.7 are not unique, and do not show what is missing")
        note = f"{name} has {rows}: its columns {', '.join(KEY_COLUMNS)} were read"
        self.notes += [note] if note not in self.notes else []
        return (state or ExportState()).having(_ranges(others))


def _ranges(batches: Iterable[Any]) -> dict[Partition, OffsetRanges]:
    """Return the offsets of rows as ranges, in memory that depends on the number of ranges."""
    found: dict[Partition, OffsetRanges] = {}
    for batch in batches:
        for partition, runs in _runs(batch).items():
            found[partition] = found.get(partition, OffsetRanges()) | OffsetRanges(runs)
    return found


def _runs(batch: Any) -> dict[Partition, list[tuple[int, int]]]:
    """Return runs of consecutive offsets by partition."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.Table.from_batches([batch]).drop_null()
    found: dict[Partition, list[tuple[int, int]]] = {}
    for topic, partition in _partitions(table):
        mask = pc.and_(pc.equal(table["topic"], topic), pc.equal(table["partition"], partition))
        offsets = pc.unique(table["offset"].filter(mask))
        offsets = offsets.take(pc.sort_indices(offsets))
        # A run of offsets has one difference between offset and place.
        starts = pc.subtract(offsets, pa.array(range(len(offsets)), offsets.type))
        runs = pc.run_end_encode(starts, run_end_type=pa.int64())
        begin = 0
        for end in runs.run_ends.to_pylist():
            first = offsets[begin].as_py()
            found.setdefault((topic, int(partition)), []).append((first, first + end - begin))
            begin = end
    return found


def _partitions(table: Any) -> list[tuple[str, int]]:
    pairs = table.select(["topic", "partition"]).group_by(["topic", "partition"]).aggregate([]).to_pylist()
    return [(pair["topic"], pair["partition"]) for pair in pairs]
