"""Select the records of a rewrite by an expression of pyarrow, which is evaluated over their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from logsegment._core import PlaceSet
from logsegment._core import decode as core_decode
from logsegment._options import RAW_COLUMNS, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

#: No column of records has this name.
_PLACE = "place in the file"


@dataclass(frozen=True)
class Predicate:
    """An expression over record columns. A record for which it is null is not selected.

    Attributes:
        expression: a `pyarrow.compute.Expression`.
        columns: the columns that it names.
    """

    expression: Any
    columns: tuple[str, ...]

    def places(self, source: Any, read: ReadOptions) -> PlaceSet:
        """Return the places of the selected records among the records of a source. Several records may have one offset.

        Raises:
            RecordBatchError, OSError: if the source cannot be decoded.
        """
        return PlaceSet(list(self._places(source, read)))

    def _places(self, source: Any, read: ReadOptions) -> Iterator[pa.ChunkedArray]:
        import pyarrow as pa

        columns, seen = tuple(dict.fromkeys((*self.columns, "offset"))), 0
        for batch in core_decode(source, replace(read, columns=columns)):
            rows = pa.table(batch)
            places = pa.array(range(seen, seen + len(rows)), pa.int64())
            seen += len(rows)
            selected = _filtered(rows.append_column(_PLACE, places), self.expression).column(_PLACE)
            if len(selected):
                yield selected


def is_expression(given: Any) -> bool:
    """Return True for an expression of pyarrow."""
    if type(given).__module__.partition(".")[0] != "pyarrow":
        return False
    from pyarrow.compute import Expression

    return isinstance(given, Expression)


def predicate(expression: Any) -> Predicate:
    """Return what selects records by an expression.

    Raises:
        ValueError, TypeError: if it is not a condition over record columns.
    """
    import pyarrow as pa

    table = pa.table(core_decode(b"", ReadOptions(columns=RAW_COLUMNS)).read_all())
    _filtered(table, expression)
    return Predicate(expression, tuple(name for name in RAW_COLUMNS if _is_named(expression, table.drop_columns([name]))))


def _filtered(table: pa.Table, expression: Any) -> pa.Table:
    """Return the rows that an expression selects. Some mistakes in it, such as times without a zone, show in rows only.

    Raises:
        ValueError, TypeError: if it is not a condition over the columns.
    """
    import pyarrow as pa

    try:
        return table.filter(expression)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        kind = ValueError if isinstance(error, pa.ArrowInvalid) else TypeError
        # The lines after the first one are the whole schema.
        problem = str(error).partition(" in key: ")[0].splitlines()[0]
        raise kind(f"the expression {expression} is not a condition over record columns: {problem}") from None


def _is_named(expression: Any, others: pa.Table) -> bool:
    import pyarrow as pa

    try:
        others.filter(expression)
    except pa.ArrowInvalid:
        return True
    return False
