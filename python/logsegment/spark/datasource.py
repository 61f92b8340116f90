"""The data source API of PySpark under its own names. What an older PySpark lacks is a stand-in, so that one source serves all.

PySpark 3.5 has no data sources in Python, and 4.0 no filters and no writers of streams in Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import make_dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamArrowWriter,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
        EqualNullSafe,
        EqualTo,
        Filter,
        GreaterThan,
        GreaterThanOrEqual,
        In,
        InputPartition,
        LessThan,
        LessThanOrEqual,
        Not,
        StringContains,
        StringEndsWith,
        StringStartsWith,
        WriterCommitMessage,
    )

    #: PySpark finds and calls data sources of Python (4.0 and newer).
    HAS_SOURCES: bool
else:
    try:
        from pyspark.sql import datasource as _pyspark
    except ImportError:
        _pyspark = None
    HAS_SOURCES = _pyspark is not None

    def _taken(name: str, *bases: type) -> type:
        return getattr(_pyspark, name, None) or type(name, bases, {})

    def _filter(name: str, *fields: str) -> type:
        own = make_dataclass(name, fields, bases=(Filter,), frozen=True)
        own.__module__ = __name__
        return getattr(_pyspark, name, own)

    class _WithoutFilters:
        """A source, or a reader or writer without a method of its own for filters."""

        def __init__(self, options: Any = None) -> None:
            self.options = options

        def pushFilters(self, filters: Any) -> Any:
            return filters

    InputPartition = _taken("InputPartition")
    WriterCommitMessage = _taken("WriterCommitMessage")
    DataSource = _taken("DataSource", _WithoutFilters)
    DataSourceReader = _taken("DataSourceReader", _WithoutFilters)
    if not hasattr(DataSourceReader, "pushFilters"):
        DataSourceReader = type("DataSourceReader", (_WithoutFilters, DataSourceReader), {"__init__": object.__init__})
    DataSourceStreamReader = _taken("DataSourceStreamReader")
    DataSourceWriter = _taken("DataSourceWriter")
    DataSourceStreamWriter = _taken("DataSourceStreamWriter")
    DataSourceArrowWriter = _taken("DataSourceArrowWriter", DataSourceWriter)
    DataSourceStreamArrowWriter = _taken("DataSourceStreamArrowWriter", DataSourceStreamWriter)
    Filter = _taken("Filter")
    EqualNullSafe = _filter("EqualNullSafe", "attribute", "value")
    EqualTo = _filter("EqualTo", "attribute", "value")
    GreaterThan = _filter("GreaterThan", "attribute", "value")
    GreaterThanOrEqual = _filter("GreaterThanOrEqual", "attribute", "value")
    In = _filter("In", "attribute", "value")
    LessThan = _filter("LessThan", "attribute", "value")
    LessThanOrEqual = _filter("LessThanOrEqual", "attribute", "value")
    Not = _filter("Not", "child")
    StringContains = _filter("StringContains", "attribute", "value")
    StringEndsWith = _filter("StringEndsWith", "attribute", "value")
    StringStartsWith = _filter("StringStartsWith", "attribute", "value")

#: Rows that become one Arrow batch.
_ROWS = 10_000


def in_batches(rows: Iterator[Any], schema: Any) -> Iterator[pa.RecordBatch]:
    """Yield what a writer gets as Arrow batches: PySpark 4.0 gives a stream's writer rows of this `StructType`."""
    first = next(rows, None)
    if first is None:
        return
    found = chain([first], rows)
    if not isinstance(first, tuple):
        yield from found
        return
    from pyspark.sql.conversion import LocalDataToArrowConversion  # noqa: PLC0415 - PySpark 3.5 has no such module

    while chunk := list(islice(found, _ROWS)):
        yield from LocalDataToArrowConversion.convert(chunk, schema, False).to_batches()


__all__ = [
    "HAS_SOURCES",
    "DataSource",
    "DataSourceArrowWriter",
    "DataSourceReader",
    "DataSourceStreamArrowWriter",
    "DataSourceStreamReader",
    "DataSourceStreamWriter",
    "DataSourceWriter",
    "EqualNullSafe",
    "EqualTo",
    "Filter",
    "GreaterThan",
    "GreaterThanOrEqual",
    "In",
    "InputPartition",
    "LessThan",
    "LessThanOrEqual",
    "Not",
    "StringContains",
    "StringEndsWith",
    "StringStartsWith",
    "WriterCommitMessage",
    "in_batches",
]
