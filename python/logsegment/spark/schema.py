"""Spark types of our columns, derived from the Arrow schemas of the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

from logsegment._decode import decoded
from logsegment._options import ReadOptions
from logsegment.spark.arrow_types import spark_arrow_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

#: Columns of Spark's Kafka source, in its order.
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
#: The column that its option includeHeaders adds.
HEADERS = "headers"


def record_schema(columns: Sequence[str] | None = None) -> StructType:
    """Return the Spark schema of record columns.

    Args:
        columns: names as in `logsegment.decode`; None for the columns of Spark's Kafka source with headers.

    Returns:
        A StructType with all columns nullable.

    Raises:
        ValueError: if a column is unknown.

    Example:
        >>> from logsegment.spark import record_schema
        >>> record_schema(["offset", "value"]).simpleString()
        'struct<offset:bigint,value:binary>'

    Source: `KafkaRecordToRowConverter` in Spark.
    """
    return schema_of(ReadOptions(columns=columns))


def schema_of(read: ReadOptions) -> StructType:
    """Return the Spark schema of the columns of a read.

    Raises:
        ValueError: if a column is unknown.
    """
    import pyarrow as pa

    with decoded(b"", read) as nothing:
        own = pa.schema(nothing.schema)
    return from_arrow_schema(pa.schema([field.with_type(spark_arrow_type(field.type)) for field in own]))


def type_of(array: Any) -> DataType:
    """Return the Spark type of the values of an Arrow array."""
    import pyarrow as pa

    return from_arrow_type(pa.array(array).type)


def columns_of(wanted: StructType, read: ReadOptions) -> list[str]:
    """Return the names of the record columns in a user's schema.

    Args:
        wanted: the user's schema.
        read: how keys and values are decoded.

    Raises:
        ValueError: if a column is unknown or of another type. Spark would otherwise misread it.
    """
    names: list[str] = wanted.fieldNames()
    try:
        ours = schema_of(replace(read, columns=names))
    except ValueError as error:
        raise ValueError(f"schema: {error}") from None
    _ensure_types(wanted, ours, "as in Spark's Kafka source")
    return names


def chosen_of(wanted: StructType, ours: StructType) -> list[str]:
    """Return the names of the columns of a view in a user's schema.

    Raises:
        ValueError: if a column is unknown or of another type.
    """
    names: list[str] = wanted.fieldNames()
    if unknown := [name for name in names if name not in ours.fieldNames()]:
        raise ValueError(f"schema: unknown column {', '.join(unknown)}; the columns are {', '.join(ours.fieldNames())}")
    _ensure_types(wanted, [ours[name] for name in names], "as all of a view")
    return names


def _ensure_types(wanted: StructType, ours: Iterable[StructField], why: str) -> None:
    for field, own in zip(wanted.fields, ours, strict=True):
        if field.dataType != own.dataType:
            found, right = field.dataType.simpleString(), own.dataType.simpleString()
            raise ValueError(f"schema: column {field.name} is {right}, not {found}")
        if not field.nullable:
            raise ValueError(f"schema: column {field.name} is nullable, {why}")
