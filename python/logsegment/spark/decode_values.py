"""Keys and values of Spark's Kafka source as structs, by their schemas: a function over binary columns, instead of `from_avro`."""

# No `from __future__ import annotations`: PySpark derives the kind of a function from its annotations, which must be types.

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_type

from logsegment._arrays import decode_values_array
from logsegment._core import RecordBatchError, ValueSchemas
from logsegment._options import Integers, KeyValues, OnBadValue, ReadOptions, SchemaSource
from logsegment._typed_values import planned
from logsegment.spark.arrow_types import as_spark_array, spark_arrow_type
from logsegment.spark.functions import column_function
from logsegment.spark.udf import located

_NAME = "decode_values"


def decode_values(
    schemas: SchemaSource | None,
    *,
    topic: str | None = None,
    part: Literal["value", "key"] = "value",
    values: KeyValues = "avro",
    reader_schema: Any = None,
    fields: Sequence[str] | None = None,
    integers: Integers = "int64",
    on_error: OnBadValue = "null",
) -> Callable[..., Any]:
    """Make an arrow_udf: keys or values of Spark's Kafka source -> structs.

    Unlike `from_avro`, the function finds the schema of each value by its id, and reads all versions of a topic as one type.

    Args:
        schemas: as in `logsegment.decode`; None for JSON without a registry. They travel with the function; workers ask no registry.
        topic: the versions of its subject, `TOPIC-value` or `TOPIC-key`, are what the values may have. It is needed unless there is one
            schema only, or `reader_schema`. Protobuf and "auto" need `reader_schema`: a value names one of the messages of its schema.
        part: "value" or "key": the subject, and the headers that name a schema.
        values: how they are encoded, as in `logsegment.decode`.
        reader_schema: the schema as which all values are read, as in `logsegment.decode`.
        fields: the wanted fields, with dots between the names of nested ones, and a name with dots in backticks; others are skipped. None
            for all.
        integers: the column of an integer of JSON whose schema has no bounds, as in `logsegment.decode`.
        on_error: "null" for null in place of a value that cannot be decoded, "raise" to fail the query.

    Returns:
        A function of a binary column, and of a column of headers (array<struct<key string, value binary>>) if headers may name schemas.
        Its type is the struct of the values; a type that is not a record as it is. Null for null.

    Raises:
        ValueError, TypeError: if an argument is invalid, or the schemas of the values are not known. In the query, for columns of
            other types.
        RecordBatchError: in the query, for a value that cannot be decoded if `on_error` is "raise".

    Example:
        >>> import logsegment as ls
        >>> from logsegment.spark import decode_values
        >>> order = decode_values(ls.schemas.from_log("_schemas-0"), topic="alpha-avro-refs")
        >>> raw = spark.read.format("logsegment").load("alpha-avro-refs-0")
        >>> raw.select(order("value").alias("order")).where("order.cur = 'JPY'").count() > 10
        True

    Source: `AvroDeserializer` and `from_avro` in Spark; `KafkaAvroDeserializer` in Confluent's client.
    """
    import pyarrow as pa

    read = ReadOptions(schemas=schemas, reader_schema=reader_schema, integers=integers)
    found = _found(replace(read, values=values) if part == "value" else replace(read, key_values=values), topic, part)
    record = f"{part}Record"
    columns = [record] if fields is None else [f"{record}.{name}" for name in fields]
    if on_error not in ("null", "raise"):
        raise ValueError(f'on_error must be "null" or "raise", not {on_error!r}')

    def decoded(column: pa.Array, headers: pa.Array | None) -> pa.Array:
        given = None if headers is None else headers.cast(_headers_type())
        return as_spark_array(pa.array(decode_values_array(column, given, schemas=found, columns=columns, on_error=on_error)))

    kind = pa.array(decode_values_array(pa.array([], pa.binary()), schemas=found, columns=columns)).type
    if pa.types.is_null(kind):
        topics = "" if values in ("auto", "protobuf") else f', or topic= with a subject "TOPIC-{part}"'
        raise ValueError(f"the schemas of the {part}s are not known: pass reader_schema={topics}")

    def per_value(column: pa.Array, *more: pa.Array) -> pa.Array:
        if len(more) > 1:
            raise TypeError(f"{_NAME} takes a binary column, and a column of headers, not {1 + len(more)} columns")
        try:
            return decoded(column, *(more or [None]))
        except RecordBatchError as error:
            raise located(error, _NAME) from None

    per_value.__name__ = _NAME
    made = column_function(per_value, from_arrow_type(spark_arrow_type(kind)))
    return lambda *given: made(*(col(column) if isinstance(column, str) else column for column in given)).alias(_NAME)


def _headers_type() -> Any:
    import pyarrow as pa

    return pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


def _found(read: ReadOptions, topic: str | None, part: str) -> ValueSchemas:
    """Return the schemas of keys or values."""
    if part not in ("value", "key"):
        raise ValueError(f'part must be "value" or "key", not {part!r}')
    if part == "key" and read.reader_schema is not None:
        raise ValueError("reader_schema is the schema of values; keys are read by topic=")
    if not read.is_typed:
        raise ValueError(f"values must be a kind with schemas, not {read.values!r}")
    known = planned(read, [(topic, b"")])
    found = known.value_schemas if part == "value" else known.key_schemas
    assert found is not None
    return found
