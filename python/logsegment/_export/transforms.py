"""Partition transforms by the names of Iceberg: a column goes in, the values of a partition field come out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal, TypeAlias, get_args

from logsegment._options import ensure_one_of

Kind: TypeAlias = Literal["identity", "year", "month", "day", "hour", "bucket", "truncate", "void"]
#: How a field is partitioned by default: by the day of the timestamp, in UTC.
BY_DAY = ("day(timestamp)",)

_TEXT = re.compile(r"\s*(\w+)\s*\(\s*([^(),]+?)\s*(?:,\s*([^(),]+?)\s*)?\)\s*")
#: Other names of the same, as Spark SQL has them.
_PLURALS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_TIMES = ("year", "month", "day", "hour")
_EPOCH = date(1970, 1, 1)
_SUFFIXES = {"truncate": "trunc", "void": "null"}
_HOUR = 3_600_000_000


@dataclass(frozen=True)
class Transform:
    """A field of the partitioning of a table.

    Attributes:
        column: the column that it is made of; a field of a struct has dots.
        kind: the transform.
        number: of buckets, or the width of `truncate`; None for other transforms.
        name: of the field; empty for the usual name.
    """

    column: str
    kind: Kind = "identity"
    number: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        ensure_one_of("partition_by", self.kind, get_args(Kind))
        if (self.number is not None) != (self.kind in ("bucket", "truncate")) or (self.number is not None and self.number < 1):
            raise ValueError(f"partition_by: {self.kind} has a wrong number: {self.number}")
        if not self.name:
            suffix = _SUFFIXES.get(self.kind, self.kind)
            parts = [self.column] if self.kind == "identity" else [self.column, suffix]
            object.__setattr__(self, "name", "_".join([*parts, *([str(self.number)] if self.number is not None else [])]))

    @classmethod
    def of(cls, text: str) -> Transform:
        """Parse a transform: `day(timestamp)`, `bucket(16, key)`, or the name of a column.

        Raises:
            ValueError: if the text is not a transform.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            if re.fullmatch(r"[\w.]+", text.strip()):
                return cls(text.strip())
            raise ValueError(f"partition_by: {text!r} is not a transform; write day(timestamp), bucket(16, key) or a column, for example")
        kind: Any = _PLURALS.get(match[1].lower(), match[1].lower())
        arguments = [argument for argument in match.groups()[1:] if argument is not None]
        numbers = [int(argument) for argument in arguments if argument.isdigit()]
        columns = [argument for argument in arguments if not argument.isdigit()]
        if len(columns) != 1:
            raise ValueError(f"partition_by: {text!r} must name one column")
        return cls(columns[0], kind, numbers[0] if numbers else None)

    def values(self, column: Any) -> Any:
        """Return the values of an Arrow column as Iceberg stores them: days since 1970 of `day`, for example; null for null.

        Raises:
            ValueError: if the column has no such transform.
            ImportError: if `bucket` lacks its package.
        """
        import pyarrow as pa

        if self.kind == "identity":
            return column
        if self.kind == "void":
            return pa.nulls(len(column), column.type)
        if self.kind == "bucket":
            return _buckets(column, self.number)
        if self.kind == "truncate":
            return self._truncated(column)
        if not (pa.types.is_timestamp(column.type) or (pa.types.is_date(column.type) and self.kind != "hour")):
            raise ValueError(f"partition_by: {self.kind} needs a timestamp, and {self.column} is of type {column.type}")
        return self._times(column)

    def text(self, value: Any) -> str | None:
        """Return a value as people read it, in the name of a directory: `2026-01-31` for a day."""
        if value is None:
            return None
        if self.kind == "day":
            return (_EPOCH + timedelta(days=value)).isoformat()
        if self.kind == "month":
            return f"{1970 + value // 12:04}-{value % 12 + 1:02}"
        if self.kind == "year":
            return f"{1970 + value:04}"
        if self.kind == "hour":
            return f"{(_EPOCH + timedelta(days=value // 24)).isoformat()}-{value % 24:02}"
        return value.hex() if isinstance(value, bytes) else str(value)

    def _times(self, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.kind == "day":
            return pc.cast(pc.cast(pc.floor_temporal(column, unit="day"), pa.date32()), pa.int32())
        if self.kind == "hour":
            hours = pc.cast(pc.floor_temporal(column, unit="hour"), pa.timestamp("us", column.type.tz))
            return pc.cast(pc.divide(pc.cast(hours, pa.int64()), _HOUR), pa.int32())
        years = pc.subtract(pc.year(column), 1970)
        if self.kind == "year":
            return pc.cast(years, pa.int32())
        return pc.cast(pc.add(pc.multiply(years, 12), pc.subtract(pc.month(column), 1)), pa.int32())

    def _truncated(self, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        width = self.number
        if pa.types.is_integer(column.type):
            # The remainder of a division towards zero has the sign of the value.
            remainder = pc.subtract(column, pc.multiply(pc.divide(column, width), width))
            negative = pc.if_else(pc.less(remainder, 0), pc.add(remainder, width), remainder)
            return pc.subtract(column, negative)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return pc.utf8_slice_codeunits(column, 0, width)
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            return pc.binary_slice(column, 0, width)
        raise ValueError(f"partition_by: truncate needs a number, text or bytes, and {self.column} is of type {column.type}")


def _buckets(column: Any, number: int | None) -> Any:
    """Return the numbers of buckets, by the hash of Iceberg's specification."""
    try:
        from pyiceberg_core.transform import bucket
    except ImportError:
        raise ImportError("partition_by: bucket needs pyiceberg-core: pip install 'logsegment[iceberg]'") from None
    return bucket(column, number)


def transforms_of(partition_by: Sequence[str], columns: Sequence[str]) -> tuple[Transform, ...]:
    """Parse the argument `partition_by` for a table with these columns. Without a timestamp, the default partitions by nothing.

    Raises:
        ValueError: if a text is not a transform, names an unknown column, or two fields have one name.
    """
    if tuple(partition_by) == BY_DAY and "timestamp" not in columns:
        return ()
    found = tuple(map(Transform.of, partition_by))
    for transform in found:
        if transform.column.split(".")[0] not in columns:
            raise ValueError(f"partition_by: unknown column {transform.column!r}; the columns are {', '.join(columns)}")
    names = [transform.name for transform in found]
    if len(set(names)) < len(names):
        raise ValueError(f"partition_by: a field is named twice: {', '.join(names)}")
    return found
