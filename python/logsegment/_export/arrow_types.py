"""Arrow types of tables of a data lake: what the columns of a read become, and whether an existing table can take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

#: Types that tables do not have, by their names in Arrow, with those that hold the same values.
_WIDER = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64", "halffloat": "float32"}
#: Digits of a decimal of a table.
_MOST_DIGITS = 38
#: Numbers that fit others without loss.
_FITTING = {("int32", "int64"), ("float", "double"), ("int32", "double")}


def lake_type(kind: Any, *, has_times: bool = True) -> Any:
    """Return the type of a table for an Arrow type; all fields are optional.

    Numbers without a sign become wider ones, times of a day and timestamps microseconds, and dictionaries their values. Decimals of more
    than 38 digits become text, and a struct without fields becomes true.

    Args:
        kind: the Arrow type.
        has_times: tables have a type for times of a day; otherwise such a time is a number of microseconds.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_struct(kind) and kind.num_fields:
        return pa.struct([pa.field(field.name, lake_type(field.type, has_times=has_times)) for field in kind])
    if types.is_map(kind):
        return pa.map_(lake_type(kind.key_type, has_times=has_times), lake_type(kind.item_type, has_times=has_times))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", lake_type(kind.value_type, has_times=has_times)))
    if types.is_dictionary(kind):
        return lake_type(kind.value_type, has_times=has_times)
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_time(kind):
        return pa.time64("us") if has_times else pa.int64()
    return _leaf_type(kind)


def _leaf_type(kind: Any) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if types.is_struct(kind):
        return pa.bool_()
    if types.is_decimal256(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= _MOST_DIGITS else pa.string()
    if types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    if types.is_date64(kind):
        return pa.date32()
    if types.is_duration(kind):
        return pa.int64()
    wider = _WIDER.get(str(kind))
    return getattr(pa, wider)() if wider is not None else kind


def missing_fields(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield the names of fields that a table lacks; fields of structs have dots.

    Args:
        ours: the Arrow schema or struct type of what is written.
        theirs: that of the table.
        path: the name of the struct, with a dot.
    """
    for field in ours:
        place = theirs.get_field_index(field.name)
        if place < 0:
            yield f"{path}{field.name}"
        else:
            yield from _missing_inside(field.type, theirs.field(place).type, f"{path}{field.name}")


def _missing_inside(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    import pyarrow as pa

    if pa.types.is_struct(ours) and pa.types.is_struct(theirs):
        yield from missing_fields(ours, theirs, f"{path}.")
    elif _is_list(ours) and _is_list(theirs):
        yield from _missing_inside(ours.value_type, theirs.value_type, path)
    elif pa.types.is_map(ours) and pa.types.is_map(theirs):
        yield from _missing_inside(ours.item_type, theirs.item_type, path)


def misfits(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield a text for each field whose values do not fit the field of the same name of a table, and for each required field that lacks.

    Args:
        ours: the Arrow schema or struct type of what is written.
        theirs: that of the table.
        path: the name of the struct, with a dot.
    """
    for field in theirs:
        place = ours.get_field_index(field.name)
        if place >= 0:
            yield from _misfits_inside(ours.field(place).type, field.type, f"{path}{field.name}")
        elif not field.nullable:
            yield f"{path}{field.name} is required in the table and not exported"


def _misfits_inside(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    import pyarrow as pa

    types = pa.types
    if types.is_struct(ours) and types.is_struct(theirs):
        yield from misfits(ours, theirs, f"{path}.")
    elif _is_list(ours) and _is_list(theirs):
        yield from _misfits_inside(ours.value_type, theirs.value_type, path)
    elif types.is_map(ours) and types.is_map(theirs):
        yield from _misfits_inside(ours.key_type, theirs.key_type, path)
        yield from _misfits_inside(ours.item_type, theirs.item_type, path)
    elif not _fits(ours, theirs):
        yield f"{path} is of type {theirs} in the table, and {ours} is exported"


def _fits(ours: Any, theirs: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if ours == theirs or (str(ours), str(theirs)) in _FITTING:
        return True
    if types.is_decimal(ours) and types.is_decimal(theirs):
        return bool(ours.scale <= theirs.scale and ours.precision - ours.scale <= theirs.precision - theirs.scale)
    texts, runs = (types.is_string, types.is_large_string), (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    if any(is_kind(ours) for is_kind in texts):
        return any(is_kind(theirs) for is_kind in texts)
    is_fixed = types.is_fixed_size_binary(theirs) and ours != theirs
    return not is_fixed and any(is_kind(ours) for is_kind in runs) and any(is_kind(theirs) for is_kind in runs)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def conformed(batch: Any, schema: Any) -> Any:
    """Return a record batch with the columns of a schema, by name; null where the batch has none.

    Raises:
        pyarrow.ArrowInvalid: if a value does not fit.
    """
    import pyarrow as pa

    if batch.schema.equals(schema, check_metadata=False):
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    columns = [_column(batch, field) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(batch: Any, field: Any) -> Any:
    import pyarrow as pa

    place = batch.schema.get_field_index(field.name)
    return pa.nulls(batch.num_rows, field.type) if place < 0 else _as_type(batch.column(place), field.type)


def _as_type(array: Any, kind: Any) -> Any:
    """Return an array as another type; members of structs by their names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = pa.types
    if array.type.equals(kind):
        return array
    if types.is_struct(array.type) and types.is_boolean(kind):
        return pc.if_else(array.is_valid(), True, pa.scalar(None, pa.bool_()))
    if types.is_struct(kind) and types.is_struct(array.type):
        members = [_member(array, field) for field in kind]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=array.is_null())
    if _is_list(kind) and _is_list(array.type):
        # The offsets of a slice do not begin at 0.
        start, end = _bounds(array)
        items = _as_type(array.values.slice(start, end - start), kind.value_type)
        offsets = pc.subtract(array.offsets, pa.scalar(start, array.offsets.type))
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(pc.cast(offsets, pa.int32()), items, type=_list_like(kind), mask=mask).cast(kind)
    if types.is_map(kind) and types.is_map(array.type):
        return _as_map(array, kind)
    if types.is_dictionary(array.type):
        return _as_type(array.dictionary_decode(), kind)
    if types.is_time(array.type) and types.is_int64(kind):
        return pc.cast(pc.cast(array, pa.time64("us")), pa.int64())
    if types.is_timestamp(array.type) and types.is_timestamp(kind):
        return pc.cast(array, kind, safe=False)
    return pc.cast(array, kind)


def _list_like(kind: Any) -> Any:
    import pyarrow as pa

    return pa.list_(kind.value_field)


def _as_map(array: Any, kind: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    start, end = _bounds(array)
    keys = _as_type(array.keys.slice(start, end - start), kind.key_type)
    items = _as_type(array.items.slice(start, end - start), kind.item_type)
    offsets = pc.cast(pc.subtract(array.offsets, pa.scalar(start, array.offsets.type)), pa.int32())
    mask = array.is_null() if array.null_count else None
    return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=mask)


def _bounds(array: Any) -> tuple[int, int]:
    return array.offsets[0].as_py(), array.offsets[-1].as_py()


def _member(array: Any, field: Any) -> Any:
    import pyarrow as pa

    place = array.type.get_field_index(field.name)
    return pa.nulls(len(array), field.type) if place < 0 else _as_type(array.field(place), field.type)


def nested_column(batch: Any, name: str) -> Any:
    """Return a column by its name; a field of a struct has dots in its name, unless a column has the whole name."""
    import pyarrow.compute as pc

    if batch.schema.get_field_index(name) >= 0:
        return batch.column(name)
    first, *rest = name.split(".")
    return pc.struct_field(batch.column(first), rest)


def lake_schema(schema: Any, columns: Sequence[str], *, has_times: bool = True) -> Any:
    """Return the schema of a table for columns of a read."""
    import pyarrow as pa

    return pa.schema([pa.field(name, lake_type(schema.field(name).type, has_times=has_times)) for name in columns])


def plain_rows(batch: Any) -> Any:
    """Return a record batch with the types that Arrow uses by default, instead of views and large types."""
    import pyarrow as pa

    schema = pa.schema([pa.field(field.name, lake_type(field.type)) for field in batch.schema])
    return conformed(batch, schema)
