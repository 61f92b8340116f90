"""Pushed filters: Spark's conditions go in, the wanted offsets, times, topics and partitions come out.

Spark checks all conditions again, so that a condition may be ignored, or used roughly.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql import datasource as spark
from pyspark.sql.datasource import Filter

from logsegment._options import milliseconds
from logsegment.spark.options.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The rows that a query wants; None for no bound.

    Attributes:
        start: least offset.
        end: first offset after the largest.
        timestamp: least time, in milliseconds.
        topics: filters on the topic.
        partitions: filters on the partition.
    """

    start: int | None = None
    end: int | None = None
    timestamp: int | None = None
    topics: tuple[Filter, ...] = ()
    partitions: tuple[Filter, ...] = ()

    def has(self, name: TopicPartition) -> bool:
        """Return True if rows of this topic-partition may be wanted."""
        asked = ((name.topic, self.topics), (name.partition, self.partitions))
        return all(_holds(one, value) is not False for value, filters in asked for one in filters)


def wanted_by(filters: Sequence[Filter]) -> WantedRows:
    """Return the bounds of rows for which all filters hold."""
    wanted = WantedRows()
    for one in filters:
        bare = _bare(one)
        column = getattr(bare, "attribute", None)
        if column == ("offset",):
            wanted = _offsets(wanted, one)
        elif column == ("timestamp",):
            wanted = _times(wanted, one)
        elif column == ("topic",) and _is_tested(bare):
            wanted = replace(wanted, topics=(*wanted.topics, one))
        elif column == ("partition",) and _is_tested(bare):
            wanted = replace(wanted, partitions=(*wanted.partitions, one))
    return wanted


def _bare(one: Filter) -> Filter:
    while isinstance(one, spark.Not):
        one = one.child
    return one


def _offsets(wanted: WantedRows, one: Filter) -> WantedRows:
    least, most = _bounds(one, int)
    start = wanted.start if least is None else max(least, wanted.start or 0)
    if most is None:
        return replace(wanted, start=start)
    end = max(most, -1) + 1
    return replace(wanted, start=start, end=end if wanted.end is None else min(end, wanted.end))


def _times(wanted: WantedRows, one: Filter) -> WantedRows:
    """Use a least time. A largest time is useless: headers have the largest time of a batch, not the smallest."""
    least, _ = _bounds(one, datetime)
    if least is None or least.tzinfo is None:
        return wanted
    time = milliseconds(least, rounds_up=False)
    return replace(wanted, timestamp=time if wanted.timestamp is None else max(time, wanted.timestamp))


#: The tests of filters, for values that are not null.
_TESTS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    spark.EqualTo: operator.eq,
    spark.EqualNullSafe: operator.eq,
    spark.GreaterThan: operator.gt,
    spark.GreaterThanOrEqual: operator.ge,
    spark.LessThan: operator.lt,
    spark.LessThanOrEqual: operator.le,
    spark.In: lambda value, values: value in values,
    spark.StringStartsWith: str.startswith,
    spark.StringEndsWith: str.endswith,
    spark.StringContains: operator.contains,
}


def _is_tested(one: Filter) -> bool:
    """Return False for a filter that `_holds` does not know, such as `IS NOT NULL`."""
    return type(one) in _TESTS and getattr(one, "value", None) is not None


def _holds(one: Filter, value: object) -> bool | None:
    """Return True if a filter holds for a value; None if only Spark can say, as for null."""
    if isinstance(one, spark.Not):
        inside = _holds(one.child, value)
        return None if inside is None else not inside
    test, asked = _TESTS.get(type(one)), getattr(one, "value", None)
    return None if test is None or value is None or asked is None else test(value, asked)


def _values(one: Filter) -> tuple[Any, ...] | None:
    """Return the values of which a column must have one; rows with null are not among them."""
    if isinstance(one, spark.In):
        return tuple(one.value)
    if isinstance(one, (spark.EqualTo, spark.EqualNullSafe)) and one.value is not None:
        return (one.value,)
    return None


def _bounds(one: Filter, kind: type) -> tuple[Any, Any]:
    """Least and largest value; for `<` and `>` the bound itself is among them where it does no harm."""
    values = _values(one)
    if values is not None:
        sound: list[Any] = [value for value in values if isinstance(value, kind)]
        return (min(sound), max(sound)) if sound else (None, None)
    value = getattr(one, "value", None)
    if not isinstance(value, kind):
        return None, None
    if isinstance(one, (spark.GreaterThan, spark.GreaterThanOrEqual)):
        return value, None
    if isinstance(one, (spark.LessThan, spark.LessThanOrEqual)):
        return None, value
    return None, None
