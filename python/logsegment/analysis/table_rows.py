"""The rows of a table of a data lake compared with the records of a log: missing, doubled and other ones, window by window of offsets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logsegment._decode import decoded
from logsegment._export.arrow_types import conformed, lake_schema
from logsegment._export.log_reader import NEEDED, ExportedPartition, MissingRecords, ReadBounds
from logsegment._export.offset_ranges import NO_END, OffsetRanges
from logsegment._export.state import ranges_of
from logsegment._export.tables import KEY_COLUMNS, LakeTable, RowRange
from logsegment._options import Isolation, ReadOptions
from logsegment._report import is_damage, is_unreadable
from logsegment.analysis.diff_sides import Difference, Totals

#: Columns that are compared, by their names in a `Difference`.
COMPARED = ("timestamp", "key", "value", "headers")
#: About the bytes of records that are compared at a time.
WINDOW_BYTES = 32 << 20


@dataclass(frozen=True)
class TableSide:
    """A table and how its rows are compared.

    Attributes:
        table: the table.
        columns: of the columns that are compared those that the table has.
        isolation: with which its rows were read.
    """

    table: LakeTable
    columns: tuple[str, ...]
    isolation: Isolation

    def rows(self, wanted: RowRange) -> Any:
        """Return rows in the order of their offsets, as a `pyarrow.Table`."""
        import pyarrow as pa

        schema = compared_schema(self.columns)
        batches = [conformed(batch, schema) for batch in self.table.rows(("offset", *self.columns), wanted)]
        return _sorted(pa.Table.from_batches(batches, schema))

    def offsets(self, wanted: RowRange) -> Iterator[Any]:
        """Yield the offsets of rows, in no order."""
        for batch in self.table.rows(KEY_COLUMNS, wanted):
            yield batch.column("offset")


class TableRows:
    """Compares the rows of a table with the records of a partition.

    Args:
        source: the partition.
        side: the table.
        read: options of the read of the log.
        totals: gets the counts.
    """

    def __init__(self, source: ExportedPartition, side: TableSide, read: ReadOptions, totals: Totals) -> None:
        self._source = source
        self._side = side
        self._read = replace(
            read,
            columns=(*NEEDED, *side.columns),
            isolation=side.isolation,
            on_error="skip",
            unreadable="skip",
            batch_bytes=max(WINDOW_BYTES // 8, 1),
        )
        self._totals = totals
        self._lost = OffsetRanges()
        self._run: Difference | None = None

    def found(self) -> Iterator[Difference]:
        """Compare to the end. Offsets that follow each other and differ in the same way are joined."""
        for difference in self._all():
            self._count(difference)
            run = self._run
            if run is not None and difference.kind != "damage" and self._continues(run, difference):
                run.last_offset, run.records = difference.last_offset, run.records + difference.records
                continue
            if run is not None:
                yield run
            self._run = difference
        if self._run is not None:
            yield self._run

    def _all(self) -> Iterator[Difference]:
        reader = MissingRecords(self._source, self._read, ReadBounds())
        window: list[Any] = []
        begin = size = 0
        damage: deque[Difference] = deque()
        for chunk in reader.chunks(OffsetRanges()):
            self._lost |= ranges_of(chunk.lost)
            for finding in chunk.findings:
                if is_damage(finding) or is_unreadable(finding):
                    damage.append(Difference.damage("a", finding.path, finding))
            if chunk.rows is None or not chunk.rows.num_rows:
                continue
            window.append(chunk.rows)
            size += chunk.rows.nbytes
            if size >= WINDOW_BYTES:
                end = chunk.rows.column("offset")[-1].as_py() + 1
                yield from damage
                yield from self._compared(window, begin, end)
                damage.clear()
                window, begin, size = [], end, 0
        yield from damage
        end = max(reader.end or 0, begin)
        yield from self._compared(window, begin, end)
        yield from self._only_in_table(end, NO_END)

    def _compared(self, window: Sequence[Any], begin: int, end: int) -> Iterator[Difference]:
        """Compare records with the rows of their offsets."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not window:
            yield from self._only_in_table(begin, end)
            return
        schema = compared_schema(self._side.columns)
        ours = pa.Table.from_batches([conformed(batch, schema) for batch in window], schema).combine_chunks()
        first = ours["offset"][0].as_py()
        yield from self._only_in_table(begin, first)
        theirs = self._side.rows(RowRange(self._source.partition, first, end))
        found = [*self._doubled(theirs["offset"])]
        theirs = _first_of_each(theirs)
        found += self._missing(pc, ours["offset"], theirs["offset"], "b")
        found += self._missing(pc, theirs["offset"], ours["offset"], "a")
        common = [
            table.filter(pc.is_in(table["offset"], value_set=other["offset"].combine_chunks())).combine_chunks()
            for table, other in ((ours, theirs), (theirs, ours))
        ]
        changed: dict[int, list[str]] = {}
        for name in self._side.columns:
            for place in _unequal(common[0][name].combine_chunks(), common[1][name].combine_chunks()):
                changed.setdefault(common[0]["offset"][place].as_py(), []).append(name)
        found += [Difference("changed", None, offset, offset, 1, tuple(sorted(names))) for offset, names in changed.items()]
        self._totals.same_records += common[0].num_rows - len(changed)
        yield from sorted(found, key=lambda difference: difference.first_offset)

    def _missing(self, pc: Any, ours: Any, theirs: Any, side: Any) -> Iterator[Difference]:
        """Yield the offsets that only one side has, which `side` lacks."""
        for offset in ours.filter(pc.invert(pc.is_in(ours, value_set=theirs.combine_chunks()))).to_pylist():
            yield self._lacking(offset, side)

    def _lacking(self, offset: int, side: Any) -> Difference:
        kind: Any = "unreadable" if side == "a" and offset in self._lost else "missing"
        return Difference(kind, side, offset, offset, 1)

    def _only_in_table(self, begin: int, end: int) -> Iterator[Difference]:
        """Yield the offsets of rows where the log has no record."""
        import pyarrow as pa

        if begin >= end:
            return
        chunks = [*self._side.offsets(RowRange(self._source.partition, begin, end))]
        offsets = _sorted(pa.table({"offset": pa.chunked_array(chunks, pa.int64())}))
        found = [*self._doubled(offsets["offset"])]
        found += [self._lacking(offset, "a") for offset in _first_of_each(offsets)["offset"].to_pylist()]
        yield from sorted(found, key=lambda difference: difference.first_offset)

    def _doubled(self, offsets: Any) -> Iterator[Difference]:
        """Yield the offsets of several rows."""
        import pyarrow.compute as pc

        counts = pc.value_counts(offsets)
        more = pc.greater(counts.field("counts"), 1)
        for row in counts.filter(more).to_pylist():
            yield Difference("doubled", "b", row["values"], row["values"], row["counts"] - 1)

    def _count(self, found: Difference) -> None:
        totals = self._totals
        if found.kind == "damage":
            totals.damage += 1
        elif found.kind == "missing":
            name = f"missing_{found.side}"
            setattr(totals, name, getattr(totals, name) + found.records)
        else:
            setattr(totals, found.kind, getattr(totals, found.kind) + found.records)

    def _continues(self, run: Difference, found: Difference) -> bool:
        """Return True if a difference is of the same kind as the one before, and no other record is between them."""
        is_alike = (run.kind, run.side, run.fields) == (found.kind, found.side, found.fields)
        return is_alike and run.kind != "damage" and found.first_offset == run.last_offset + 1


def compared_schema(columns: Sequence[str]) -> Any:
    """Return the Arrow schema of offsets and columns that are compared."""
    import pyarrow as pa

    names = ("offset", *columns)
    with decoded(b"", ReadOptions(columns=names)) as nothing:
        return lake_schema(pa.schema(nothing.schema), names)


def _sorted(rows: Any) -> Any:
    """Return rows in the order of their offsets, as one chunk."""
    return rows.sort_by("offset").combine_chunks()


def _first_of_each(rows: Any) -> Any:
    """Return the first row of each offset; the rows are in the order of their offsets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if rows.num_rows < 2:
        return rows
    step = pc.pairwise_diff(rows["offset"].combine_chunks())
    return rows.filter(pc.fill_null(pc.not_equal(step, pa.scalar(0, step.type)), fill_value=True)).combine_chunks()


def _unequal(ours: Any, theirs: Any, begin: int = 0) -> Iterator[int]:
    """Yield the places at which two arrays of one length differ. An empty list is null, as Spark's Kafka source has it."""
    if ours.equals(theirs):
        return
    if len(ours) == 1:
        if (ours[0].as_py() or None) != (theirs[0].as_py() or None) or not _is_list(ours):
            yield begin
        return
    half = len(ours) // 2
    yield from _unequal(ours.slice(0, half), theirs.slice(0, half), begin)
    yield from _unequal(ours.slice(half), theirs.slice(half), begin + half)


def _is_list(array: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(array.type))
