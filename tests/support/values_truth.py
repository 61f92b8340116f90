"""Whether decoded values are those of the truth.

An Arrow column does not say which branch of a union a value is of, so that the truth cannot be made from it: `fits` compares a value of a
column with a cell of the truth, by the Arrow type of the column.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa

#: Arrow types whose values are compared as the integers that are stored: Python's own types do not hold all of them.
TIMES = (pa.types.is_date, pa.types.is_time, pa.types.is_timestamp)


def rows_of(array: pa.Array) -> list[Any]:
    """Return the values of an array: times as integers, bytes as bytes, structs as dicts, maps as lists of pairs."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return rows_of(array.dictionary_decode())
    if any(test(kind) for test in TIMES):
        return _integers(array)
    if pa.types.is_struct(kind):
        fields = {kind.field(at).name: rows_of(array.field(at)) for at in range(kind.num_fields)}
        valid = array.is_valid().to_pylist()
        return [{name: values[row] for name, values in fields.items()} if is_valid else None for row, is_valid in enumerate(valid)]
    if pa.types.is_map(kind):
        keys, items, ends = rows_of(array.keys), rows_of(array.items), array.offsets.to_pylist()
        pairs = list(zip(keys, items, strict=True))
        return _lists(array, pairs, ends)
    if pa.types.is_list(kind):
        return _lists(array, rows_of(array.values), array.offsets.to_pylist())
    return array.to_pylist()


def _integers(array: pa.Array) -> list[int | None]:
    kind = pa.int64() if array.type.bit_width == 64 else pa.int32()
    return array.view(kind).to_pylist()


def _lists(array: pa.Array, items: list[Any], ends: list[int]) -> list[Any]:
    valid = array.is_valid().to_pylist()
    return [items[ends[row] : ends[row + 1]] if is_valid else None for row, is_valid in enumerate(valid)]


def fits(found: Any, cell: Any, kind: pa.DataType) -> bool:
    """Return True if a value of a column is what a cell of the truth says."""
    if isinstance(cell, dict) and cell.keys() == {"u", "v"}:
        return _fits_union(found, cell["v"], kind)
    if pa.types.is_string(kind) and isinstance(cell, dict | list):
        return _fits_text(found, cell)
    if isinstance(cell, dict):
        return _fits_object(found, cell, kind)
    if isinstance(cell, list):
        if not isinstance(found, list) or not pa.types.is_list(kind):
            return False
        inner = kind.value_type
        return len(found) == len(cell) and all(fits(item, other, inner) for item, other in zip(found, cell, strict=True))
    if isinstance(found, float):
        return _fits_float(found, cell)
    return type(found) is type(cell) and found == cell


def _fits_union(found: Any, cell: Any, kind: pa.DataType) -> bool:
    """A union is its value, or a struct of which exactly one member has it."""
    if fits(found, cell, kind):
        return True
    if not pa.types.is_struct(kind) or not isinstance(found, dict):
        return False
    given = [(name, value) for name, value in found.items() if value is not None]
    return len(given) == 1 and fits(given[0][1], cell, kind.field(given[0][0]).type)


def _fits_object(found: Any, cell: dict[str, Any], kind: pa.DataType) -> bool:
    match tuple(cell):
        case ("b64",):
            return bool(found == base64.b64decode(cell["b64"]))
        case ("map",):
            return _fits_map(found, cell["map"], kind)
        case ("dec", "scale"):
            is_number = isinstance(found, str | Decimal)
            return is_number and Decimal(found) == Decimal(cell["dec"]) and (not pa.types.is_decimal(kind) or kind.scale == cell["scale"])
        case ("date",) | ("time", "unit"):
            return bool(found == cell.get("date", cell.get("time")))
        case ("ts", "unit", "utc"):
            return bool(found == cell["ts"] and kind.unit == cell["unit"] and (kind.tz is not None) == cell["utc"])
        case ("uuid",):
            return bool(found == cell["uuid"])
    if not isinstance(found, dict) or found.keys() != cell.keys():
        return False
    return all(fits(found[name], cell[name], kind.field(name).type) for name in cell)


def _fits_map(found: Any, pairs: list[Any], kind: pa.DataType) -> bool:
    if not pa.types.is_map(kind) or found is None:
        return False
    ours = sorted(found, key=lambda pair: pair[0].encode())
    same = [key for key, _ in ours] == [key for key, _ in pairs]
    return same and all(fits(item, other, kind.item_type) for (_, item), (_, other) in zip(ours, pairs, strict=True))


def _fits_float(found: float, cell: Any) -> bool:
    number = float(cell.replace("Infinity", "inf")) if isinstance(cell, str) else float(cell)
    return math.isnan(number) if math.isnan(found) else struct.pack("d", found) == struct.pack("d", number)


def _fits_text(found: Any, cell: Any) -> bool:
    """JSON text of a type that contains itself."""
    if tuple(cell) == ("dec", "scale"):
        return Decimal(found) == Decimal(cell["dec"])
    if tuple(cell) == ("uuid",):
        return bool(found == cell["uuid"])
    return found is not None and json.loads(found) == untagged(cell)


def untagged(cell: Any) -> Any:
    """Return a cell of the truth as JSON text has it."""
    if isinstance(cell, list):
        return [untagged(item) for item in cell]
    if not isinstance(cell, dict):
        return cell
    match tuple(cell):
        case ("u", "v"):
            return untagged(cell["v"])
        case ("map",):
            return {key: untagged(value) for key, value in cell["map"]}
        case ("b64",) | ("uuid",) | ("date",) | ("dec", "scale") | ("time", "unit") | ("ts", "unit", "utc"):
            return next(iter(cell.values()))
    return {name: untagged(value) for name, value in cell.items()}
