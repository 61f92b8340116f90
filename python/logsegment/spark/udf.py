"""User-defined functions over a binary column of raw record batches, and back to one: one result per value, null in, null out.

They call the verbs of the core over Arrow arrays, in worker processes with one thread each. By default an invalid value gives null, and
`validate_udf` reports why. A registry of plugins (`codecs`) travels with a function: a file is read where the function is made, topics are
read once in each worker process, at the first batch of a plugin.
"""

# No `from __future__ import annotations`: PySpark derives the kind of a function from its annotations, which must be types.

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Literal, cast

from pyspark.sql.functions import col, when
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import BinaryType

from logsegment._arrays import batch_info_array, decode_array, validate_array
from logsegment._convert.arrays import convert_array
from logsegment._core import ArrowArray, RecordBatchError
from logsegment._encode import encode_array
from logsegment._options import Depth, OnBadValue
from logsegment.spark.functions import HAS_ARROW_UDF, column_function, from_series
from logsegment.spark.options.plugins import carrying
from logsegment.spark.schema import HEADERS, KAFKA_COLUMNS, type_of
from logsegment.spark.task_errors import shown_alone

Kind = Literal["arrow", "pandas"]
#: An Arrow array in, one with a result for each value out.
ArrayVerb = Callable[..., ArrowArray]


def decode_udf(*, columns: Sequence[str] | None = None, on_error: OnBadValue = "null", **options: Any) -> Callable[..., Any]:
    """Make an arrow_udf: raw batches -> array of record structs.

    Args:
        columns: record columns as in `logsegment.decode`; None for those of Spark's Kafka source with headers.
        on_error: "null" for null in place of a value that cannot be decoded, "skip" to skip damage in a value, "raise" to fail the query.
        options: others of `logsegment.decode_array`: check_crc, strict_tail, control, start_offset, end_offset, topic, partition,
            format, codecs, limits, and those about LZ4 and zstd streams.

    Returns:
        A function of a column. Null for null.

    Raises:
        TypeError, ValueError: if an option is invalid.
        RecordBatchError: in the query, for an invalid value if `on_error` is "raise".

    Example:
        >>> from logsegment.spark import decode_udf
        >>> lists = raw.select(decode_udf(columns=["offset", "value"])("batch").alias("records"))
        >>> lists.selectExpr("inline(records)").columns
        ['offset', 'value']

    Source: KIP-98.
    """
    chosen = list(columns) if columns is not None else [*KAFKA_COLUMNS, HEADERS]
    return _arrow("kafka_decode", partial(decode_array, columns=chosen, null_headers=True, on_error=on_error, **carrying(options)))


def encode_udf(*, on_error: OnBadValue = "null", **options: Any) -> Callable[..., Any]:
    """Make an arrow_udf: array of record structs -> raw batches.

    Args:
        on_error: "null" for null in place of an array that Kafka rejects, "raise" to fail the query.
        options: others of `logsegment.encode_array`: format, compression, level, base_offset, batch_bytes, timestamp_type,
            log_append_time, producer_id, producer_epoch, base_sequence, transactional, partition_leader_epoch, lz4_header_checksum, codecs.

    Returns:
        A function of a column of array<struct>. Only the field `value` is required; key, offset, timestamp, headers, isControl and
        controlType are used if they exist. Null for null, no bytes for an empty array.

    Raises:
        TypeError, ValueError: if an option or a combination is invalid. In the query, for records that Kafka rejects if `on_error` is
            "raise".
        UnknownCompressionError: if the codec is unknown.

    Example:
        >>> from logsegment.spark import decode_udf, encode_udf
        >>> packed = raw.select(encode_udf(compression="zstd")(decode_udf()("batch")).alias("batch"))
        >>> packed.selectExpr("length(batch) > 61 as written").first()["written"]
        True

    Source: KIP-98; `MemoryRecordsBuilder` in Kafka's clients.
    """
    import pyarrow as pa

    verb: ArrayVerb = partial(encode_array, on_error=on_error, **carrying(options))
    # With an invalid option, an empty column fails already here.
    verb(pa.array([], pa.list_(pa.struct([("value", pa.binary())]))))

    def per_value(values: pa.Array) -> pa.Array:
        return pa.array(_called(verb, "kafka_encode", values))

    per_value.__name__ = "kafka_encode"
    return column_function(per_value, BinaryType())


def convert_udf(*, on_error: OnBadValue = "null", **options: Any) -> Callable[..., Any]:
    """Make an arrow_udf: raw batches -> raw batches in another format or codec.

    Args:
        on_error: "null" for null in place of a value that is invalid, would lose something, or has a batch that stops the conversion;
            "raise" to fail the query. Entries that already have the format and codec are copied unchecked; see `validate_udf`.
        options: others of `logsegment.convert_array`: to, compression, level, allow_loss, first_offset, format, batch_bytes, check_crc,
            codecs, limits, and those about LZ4 and zstd streams.

    Returns:
        A function of a binary column. Null for null.

    Raises:
        TypeError, ValueError: if an option is invalid, or the format does not have the codec.
        UnknownCompressionError: if the codec is unknown.
        RecordBatchError: in the query, for an invalid value if `on_error` is "raise".

    Example:
        >>> from logsegment.spark import convert_udf
        >>> smaller = raw.select(convert_udf(compression="zstd")("batch").alias("batch"))
        >>> smaller.where("batch is null").count()
        0

    Source: `RecordsUtil.downConvert` in Kafka's clients 3.9.
    """
    return _arrow("kafka_convert", partial(convert_array, on_error=on_error, **carrying(options)))


def batch_info_udf(*, kind: Kind = "arrow", on_error: OnBadValue = "null", **options: Any) -> Callable[..., Any]:
    """Make a function: raw batch -> struct of the fields of its header. Nothing is decompressed.

    Args:
        kind: "arrow" for an arrow_udf, "pandas" for a pandas_udf. Both have the same result.
        on_error: "null" for null in place of a value that does not start with a complete batch, "raise" to fail the query.
        options: others of `logsegment.batch_info_array`: check_crc, format, codecs, limits.

    Returns:
        A function of a column. The struct has the columns of `logsegment.batches`; null for null.

    Raises:
        TypeError, ValueError: if an option is invalid.
        RecordBatchError: in the query, for an invalid value if `on_error` is "raise".

    Example:
        >>> from logsegment.spark import batch_info_udf
        >>> raw.select(batch_info_udf()("batch").alias("info")).select("info.count").first()["count"]
        1

    Source: `DumpLogSegments` in Kafka's tools.
    """
    return _of_kind(kind)("kafka_batch_info", partial(batch_info_array, on_error=on_error, **carrying(options)))


def validate_udf(*, kind: Kind = "arrow", depth: Depth = "full", **options: Any) -> Callable[..., Any]:
    """Make a function: raw batches -> struct of findings. Invalid bytes never fail the query.

    Args:
        kind: "arrow" for an arrow_udf, "pandas" for a pandas_udf. Both have the same result.
        depth: "headers", "metadata" or "full", as in `logsegment.validate`.
        options: others of `logsegment.validate_array`: check_crc, format, codecs, limits, and those about LZ4 and zstd streams.

    Returns:
        A function of a column. The struct has the fields ok, errors, warnings, findings; null for null.

    Raises:
        TypeError, ValueError: if an option is invalid.

    Example:
        >>> from logsegment.spark import validate_udf
        >>> raw.where(~validate_udf()("batch")["ok"]).count()
        0

    Source: docs/reference/findings.md.
    """
    return _of_kind(kind)("kafka_validate", partial(validate_array, depth=depth, **carrying(options)))


def _of_kind(kind: Kind) -> Callable[[str, ArrayVerb], Callable[..., Any]]:
    try:
        return {"arrow": _arrow if HAS_ARROW_UDF else _pandas, "pandas": _pandas}[kind]
    except KeyError:
        raise ValueError(f'kind must be "arrow" or "pandas", not {kind!r}') from None


def _arrow(name: str, verb: ArrayVerb) -> Callable[..., Any]:
    import pyarrow as pa

    def per_value(values: pa.Array, *more: pa.Array) -> pa.Array:
        if more:
            options = name.removeprefix("kafka_")
            raise TypeError(f"{name} takes one column; pass its options to logsegment.spark.register(spark, {options}={{...}})")
        return pa.array(_called(verb, name, values))

    per_value.__name__ = name
    return column_function(per_value, _result_type(verb))


def _pandas(name: str, verb: ArrayVerb) -> Callable[..., Any]:
    import pandas as pd
    import pyarrow as pa

    def per_value(values: pd.Series) -> pd.DataFrame:
        structs = pa.array(_called(verb, name, from_series(values)))
        # NumPy has no null integers, and makes floats of integers next to nulls; nested values must be Python's own, with None.
        return pd.DataFrame({name: _series(column) for name, column in zip(structs.type.names, structs.flatten(), strict=True)})

    per_value.__name__ = name
    result_type = _result_type(verb)
    raw = cast(Any, pandas_udf)(per_value, result_type)
    first = result_type.names[0]

    @wraps(raw)
    def null_for_null(value: Any) -> Any:
        """Return null for a struct whose first field, which always has a value, is null: a data frame has no null structs."""
        struct = raw(col(value) if isinstance(value, str) else value)
        return when(struct[first].isNotNull(), struct).alias(name)

    return null_for_null


def _series(column: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        return pd.Series(column.to_pylist(), dtype=object)
    return pd.Series(column, dtype=pd.ArrowDtype(column.type))


def _called(verb: ArrayVerb, name: str, values: Any) -> ArrowArray:
    try:
        return verb(values)
    except RecordBatchError as error:
        raise located(error, name) from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _result_type(verb: ArrayVerb) -> Any:
    """Return the Spark type of the results of an empty column, which also refuses invalid options now."""
    import pyarrow as pa

    return type_of(verb(pa.array([], pa.binary())))


def located(error: RecordBatchError, where: str, first_row: int = 0) -> RecordBatchError:
    """Return an error with the column in its message, and its row counted from `first_row` on: a user of Spark sees the text alone."""
    text = str(error)
    if error.row is not None:
        text = text.replace(f"in row {error.row},", f"in row {error.row + first_row},", 1)
    same = type(error)(f"{where}: {text}")
    same.__dict__.update(error.__dict__)
    same.row = None if error.row is None else error.row + first_row
    return shown_alone(same)
