"""Arrow types that Spark has: the columns of decoded keys and values have more types than Spark can take over.

| Arrow | Spark |
| --- | --- |
| timestamps in milliseconds or nanoseconds | timestamp or timestamp_ntz, in microseconds |
| time of day in milliseconds or microseconds | int or bigint, as stored and as `from_avro` returns them |
| decimal above 38 digits | string |
| unsigned integers of 32 and 64 bits | bigint, decimal(20,0) |
| fixed-size binary | binary |
| null | string, always null: functions and files of Spark do not take its type void |

A timestamp that microseconds cannot hold is null; nanoseconds are rounded down. All fields are nullable, as in Spark's file sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pyarrow as pa

#: Most digits of a decimal in Spark.
_DIGITS = 38
#: Least and most milliseconds that are microseconds of 64 bits.
_MILLISECONDS = -(2**63 // 1000), (2**63 - 1) // 1000


def spark_arrow_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which Spark takes values of a type.

    Example:
        >>> import pyarrow as pa
        >>> from logsegment.spark.arrow_types import spark_arrow_type
        >>> spark_arrow_type(pa.struct([("at", pa.timestamp("ms", "UTC"))]))
        StructType(struct<at: timestamp[us, tz=UTC]>)
    """
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, spark_arrow_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", spark_arrow_type(kind.value_type)))
    if pa.types.is_map(kind):
        key = pa.field("key", spark_arrow_type(kind.key_type), nullable=False)
        return pa.map_(key, pa.field("value", spark_arrow_type(kind.item_type)))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if pa.types.is_decimal256(kind):
        return pa.string() if kind.precision > _DIGITS else pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_time64(kind) or pa.types.is_uint32(kind):
        return pa.int64()
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_null(kind):
        return pa.string()
    return pa.binary() if pa.types.is_fixed_size_binary(kind) else kind


def as_spark_array(array: pa.Array) -> pa.Array:
    """Return an array in the type that Spark takes; buffers that need no change are borrowed.

    Example:
        >>> import pyarrow as pa
        >>> from logsegment.spark.arrow_types import as_spark_array
        >>> as_spark_array(pa.array([b"ab"], pa.binary(2))).type
        DataType(binary)
    """
    return _as_type(array, spark_arrow_type(array.type))


def _as_type(array: pa.Array, target: pa.DataType) -> pa.Array:
    import pyarrow as pa

    kind = array.type
    if kind.equals(target):
        return array
    if pa.types.is_struct(kind):
        fields = [_as_type(array.field(at), field.type) for at, field in enumerate(target)]
        return pa.StructArray.from_arrays(fields, fields=list(target), mask=array.is_null() if array.null_count else None)
    if pa.types.is_map(kind):
        pairs = [_as_type(array.keys, target.key_type), _as_type(array.items, target.item_type)]
        entries = pa.StructArray.from_arrays(pairs, fields=[target.key_field, target.item_field])
        return _with_child(array, target, entries)
    if pa.types.is_list(kind):
        return _with_child(array, target, _as_type(array.values, target.value_type))
    if pa.types.is_timestamp(kind):
        return _microseconds(array, target)
    if pa.types.is_time(kind):
        return array.view(target)
    return array.cast(target)


def _with_child(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    """Return the rows of a list or map array over other items."""
    import pyarrow as pa

    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], array.null_count, array.offset, [child])


def _microseconds(array: pa.Array, target: pa.TimestampType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = array.view(pa.int64())
    if array.type.unit == "ns":
        whole = pc.divide(found, 1000)
        is_before = pc.less(pc.subtract(found, pc.multiply(whole, 1000)), 0)
        found = pc.subtract(whole, is_before.cast(pa.int64()))
    elif array.type.unit == "ms":
        fits = pc.and_(pc.greater_equal(found, _MILLISECONDS[0]), pc.less_equal(found, _MILLISECONDS[1]))
        found = pc.multiply(pc.if_else(fits, found, None), 1000)
    return cast("pa.Array", found.view(target))
