"""A log and a table of a data lake as the sides of a comparison: `logsegment diff PATH iceberg:...`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from logsegment._core import FoundSegments
from logsegment._export.log_reader import ExportedPartition, sources_of
from logsegment._export.tables import KEY_COLUMNS, LakeTable, TargetOptions
from logsegment._export.targets import is_target, tables_by_topic
from logsegment._options import ReadOptions
from logsegment._text import listed
from logsegment.analysis.diff_pairs import Pair
from logsegment.analysis.diff_sides import Difference, Totals
from logsegment.analysis.table_rows import COMPARED, TableRows, TableSide
from logsegment.inputs.sources import Inputs

#: Finds the differences of a partition, and counts them.
Finder: TypeAlias = Callable[[Totals], Iterator[Difference]]


@dataclass(frozen=True)
class TableComparisons:
    """Compares the partitions of a source with the rows of tables.

    Args:
        inputs: the segments.
        to: a target, or a table of PyIceberg or deltalake.
        options: of the catalog or the store of the target.
        read: options of the read of the segments.
    """

    inputs: Inputs
    to: Any
    options: TargetOptions
    read: ReadOptions

    def partitions(self) -> Iterator[tuple[Pair, Finder]]:
        """Yield each partition of the source with its differences. The table may have other partitions.

        Raises:
            ValueError: if the source or the table cannot be compared.
            LakeTableError: if the table cannot be read.
        """
        table_of, _ = tables_by_topic(self.to, self.options)
        sides: dict[str, TableSide] = {}
        findings = [*self.inputs.findings, *self.inputs.deleted_records()]
        for source in sources_of(self.inputs):
            topic, number = source.partition
            if source.has_positions:
                raise ValueError(
                    f"{topic}-{number} is of Kafka 0.7, whose offsets are not unique: its records cannot be compared with rows"
                )
            table = table_of(topic)
            if table.name not in sides:
                sides[table.name] = _side(table)
            files = list(source.files)
            noted = FoundSegments(files, findings).findings_among(None)
            yield Pair(f"{topic}-{number}", topic, number, files, files, noted), _finder(source, sides[table.name], self.read)


def _finder(source: ExportedPartition, side: TableSide, read: ReadOptions) -> Finder:
    return lambda totals: TableRows(source, side, read, totals).found()


def _side(table: LakeTable) -> TableSide:
    """Load a table; return the columns that are compared.

    Raises:
        ValueError: if it lacks topic, partition or offset.
    """
    table.refresh()
    lacking = [name for name in KEY_COLUMNS if name not in table.names]
    if lacking:
        raise ValueError(f"{table.name} lacks the columns {listed(lacking, 3)}, by which rows are compared")
    state = table.state()
    isolation = state.isolation if state is not None and state.isolation is not None else "read_committed"
    return TableSide(table, tuple(name for name in COMPARED if name in table.names), isolation)


def is_table(side: Any) -> bool:
    """Return True for a target of an export, or a table of PyIceberg or deltalake."""
    return is_target(side) or type(side).__module__.partition(".")[0] in ("pyiceberg", "deltalake")
