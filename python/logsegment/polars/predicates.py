"""Predicates of Polars: a condition goes in, the bounds of each partition come out.

Comparisons of offset, timestamp, topic and partition with literals are understood, and `&` and `|` of them. Polars filters the rows by the
whole predicate, so that a condition may be ignored, or used roughly. The JSON form of expressions is Polars' own. If it changes, queries
read more.
"""

from __future__ import annotations

import io
import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from logsegment._options import milliseconds

if TYPE_CHECKING:
    import polars as pl

#: The largest offset that there can be.
_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of the records that a predicate may select in a partition; None is unbounded.

    Attributes:
        start: first offset (inclusive).
        end: first offset not wanted (exclusive).
        timestamp: least time, in ms.
    """

    start: int | None = None
    end: int | None = None
    timestamp: int | None = None


#: All of a partition.
ANYTHING = Bounds()


def offsets(start: int | None, end: int | None) -> Bounds | None:
    """Return bounds of offsets, or None for an empty range; an end beyond 64 bits is unbounded."""
    if start is not None and start > _LAST:
        return None
    return Bounds(start, None if end is not None and end > _LAST else end)


def both(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    """Return the bounds in which both conditions may hold; None if they cannot."""
    if one is None or other is None:
        return None
    start, end = _largest(one.start, other.start), _least(one.end, other.end)
    if start is not None and end is not None and start >= end:
        return None
    return Bounds(start, end, _largest(one.timestamp, other.timestamp))


def either(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    """Return the bounds in which at least one of two conditions may hold."""
    if one is None or other is None:
        return other if one is None else one
    start = None if one.start is None or other.start is None else min(one.start, other.start)
    end = None if one.end is None or other.end is None else max(one.end, other.end)
    is_timed = one.timestamp is not None and other.timestamp is not None
    return Bounds(start, end, _least(one.timestamp, other.timestamp) if is_timed else None)


def _largest(one: int | None, other: int | None) -> int | None:
    return max((bound for bound in (one, other) if bound is not None), default=None)


def _least(one: int | None, other: int | None) -> int | None:
    return min((bound for bound in (one, other) if bound is not None), default=None)


#: Topic and partition of a directory.
Partition = tuple[str | None, int | None]
Condition = Callable[[Partition], Bounds | None]
#: Comparisons by their names in Polars, and each with its sides exchanged.
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {"Eq": operator.eq, "EqValidity": operator.eq, "NotEq": operator.ne}
_COMPARED |= {"Lt": operator.lt, "LtEq": operator.le, "Gt": operator.gt, "GtEq": operator.ge}
_TURNED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
#: The comparisons of the ends of an interval.
_CLOSED = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}


def condition_of(predicate: pl.Expr | None) -> Condition:
    """Return the bounds of a predicate in each partition; `ANYTHING` for a predicate that is not understood."""
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
        return _named(column, lambda value: _is_so(name, value, wanted))
    return _always(_bounds(column, name, wanted))


def _is_so(name: str, value: Any, wanted: Any) -> bool:
    """Compare a value; a comparison with null is False, except by `EqValidity`."""
    if name != "EqValidity" and (value is None or wanted is None):
        return False
    return _COMPARED[name](value, wanted)


def _membership(column: str | None, values: list[Any] | None, are_nulls_equal: bool) -> Condition:
    if column is None or values is None:
        return _anything
    if column in ("topic", "partition"):
        names = frozenset(values)
        return _named(column, lambda value: value in names and (value is not None or are_nulls_equal))
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
        return _times(name, milliseconds(value, rounds_up=False))
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


def _times(name: str, time: int) -> Bounds | None:
    """Return the bounds of a least time. Headers have no smallest time, and -1 means no time."""
    is_least = name in ("Eq", "EqValidity", "Gt", "GtEq")
    return Bounds(timestamp=time) if is_least and time > -1 else ANYTHING


def _column(node: Any) -> str | None:
    """Return the name of a column, also of one that is cast to a wider integer."""
    match node:
        case {"Column": str(name)} | {"Cast": {"expr": {"Column": str(name)}, "dtype": {"Literal": "Int64"}}}:
            return name
    return None


def _values(node: Any) -> list[Any] | None:
    """Return the values of a literal, as Polars reads them; None for anything else."""
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
