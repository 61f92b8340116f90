"""Predicates of Polars, as far as they spare files and bytes: a condition goes in, for each partition the bounds come out.

What is compared with literals of offset, timestamp, topic and partition is understood, and `&` and `|` of that. Polars filters the rows
that are read by the whole predicate, so that what is not understood, or only roughly, is passed over. The form that expressions have in
JSON is Polars' own and may change with it: then less is spared.
"""

from __future__ import annotations

import io
import json
import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from logsegment.polars.bounds import ANYTHING, Bounds, both, either, offsets

if TYPE_CHECKING:
    import polars as pl

#: Topic and partition, as the directory tells them.
Partition = tuple[str | None, int | None]
Condition = Callable[[Partition], Bounds | None]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Comparisons by the names that Polars gives them, and each as it is from the right to the left.
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {"Eq": operator.eq, "EqValidity": operator.eq, "NotEq": operator.ne}
_COMPARED |= {"Lt": operator.lt, "LtEq": operator.le, "Gt": operator.gt, "GtEq": operator.ge}
_TURNED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
#: Of an interval: how its ends are compared.
_CLOSED = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}


def condition_of(predicate: pl.Expr | None) -> Condition:
    """What may be read of each partition; all of it where nothing is understood."""
    if predicate is None:
        return _anything
    try:
        return _condition(json.loads(predicate.meta.serialize(format="json")))
    except Exception:  # Neither an expression without this form nor one of great depth is a mistake.
        return _anything


def _anything(_: Partition) -> Bounds | None:
    return ANYTHING


def _nothing(_: Partition) -> Bounds | None:
    return None


def _condition(node: Any) -> Condition:
    match node:
        case {"Alias": [inner, _]}:
            return _condition(inner)
        case {"Literal": {"Scalar": {"Boolean": False}}}:
            return _nothing
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return partial(_joined, both, _condition(left), _condition(right))
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return partial(_joined, either, _condition(left), _condition(right))
        case {"BinaryExpr": {"left": left, "op": name, "right": right}}:
            return _comparison(left, name, right)
        case {"Function": {"input": [column, least, most], "function": {"Boolean": {"IsBetween": {"closed": closed}}}}}:
            first, last = _CLOSED[closed]
            return partial(_joined, both, _comparison(column, first, least), _comparison(column, last, most))
        case {"Function": {"input": [column, values], "function": {"Boolean": {"IsIn": {"nulls_equal": are_equal}}}}}:
            return _membership(_column(column), _values(values), are_equal)
    return _anything


def _joined(
    join: Callable[[Bounds | None, Bounds | None], Bounds | None], one: Condition, other: Condition, partition: Partition
) -> Bounds | None:
    return join(one(partition), other(partition))


def _comparison(left: Any, name: str, right: Any) -> Condition:
    column, value = _column(left), right
    if column is None:
        column, value, name = _column(right), left, _TURNED.get(name, name)
    values = None if column is None else _values(value)
    if column is None or values is None or len(values) != 1 or name not in _COMPARED:
        return _anything
    (wanted,) = values
    if column in ("topic", "partition"):
        return _named(column, lambda told: _is_so(name, told, wanted))
    return _always(_bounds(column, name, wanted))


def _is_so(name: str, told: Any, wanted: Any) -> bool:
    """A comparison with null holds for nobody, but for the one that takes null for a value."""
    if name != "EqValidity" and (told is None or wanted is None):
        return False
    return _COMPARED[name](told, wanted)


def _membership(column: str | None, values: list[Any] | None, are_nulls_equal: bool) -> Condition:
    if column is None or values is None:
        return _anything
    if column in ("topic", "partition"):
        names = frozenset(values)
        return _named(column, lambda told: told in names and (told is not None or are_nulls_equal))
    if None in values and are_nulls_equal:
        return _anything
    return _always(reduce(either, (_bounds(column, "Eq", value) for value in values if value is not None), None))


def _named(column: str, is_wanted: Callable[[Any], bool]) -> Condition:
    at = ("topic", "partition").index(column)
    return lambda partition: ANYTHING if is_wanted(partition[at]) else None


def _always(bounds: Bounds | None) -> Condition:
    return lambda _: bounds


def _bounds(column: str, name: str, value: Any) -> Bounds | None:
    if column == "timestamp" and isinstance(value, datetime) and value.tzinfo is not None:
        return _times(name, (value - _EPOCH) // timedelta(milliseconds=1))
    if not isinstance(value, int) or isinstance(value, bool):
        return ANYTHING
    if column == "timestampMs":
        return _times(name, value)
    return _offsets(name, value) if column == "offset" else ANYTHING


def _offsets(name: str, value: int) -> Bounds | None:
    if name in ("Eq", "EqValidity"):
        return offsets(value, value + 1)
    if name in ("Gt", "GtEq"):
        return offsets(value + (name == "Gt"), None)
    return offsets(None, value + (name == "LtEq")) if name in ("Lt", "LtEq") else ANYTHING


def _times(name: str, milliseconds: int) -> Bounds | None:
    """A last time spares nothing: headers tell the largest time of a batch, not the smallest. Of -1, no time, they tell nothing."""
    is_least = name in ("Eq", "EqValidity", "Gt", "GtEq")
    return Bounds(timestamp=milliseconds) if is_least and milliseconds > -1 else ANYTHING


def _column(node: Any) -> str | None:
    """The name of a column, as it is or as a wider integer."""
    match node:
        case {"Column": str(name)} | {"Cast": {"expr": {"Column": str(name)}, "dtype": {"Literal": "Int64"}}}:
            return name
    return None


def _values(node: Any) -> list[Any] | None:
    """The values of a literal, as Polars reads them; None for anything else."""
    match node:
        case {"Alias": [inner, _]}:
            return _values(inner)
        case {"Literal": _}:
            return _evaluated(node)
    return None


def _evaluated(node: Any) -> list[Any]:
    import polars as pl

    values = pl.select(pl.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")).to_series()
    return (values.explode() if isinstance(values.dtype, pl.List) else values).to_list()
