"""Options of calls: their names and values, and times as callers give them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

Binary: TypeAlias = Literal["binary", "large_binary", "binary_view"]
Isolation: TypeAlias = Literal["read_uncommitted", "read_committed"]
OnError: TypeAlias = Literal["raise", "skip"]
OnBadValue: TypeAlias = Literal["raise", "skip", "null"]
Depth: TypeAlias = Literal["headers", "metadata", "full"]
Decode: TypeAlias = Literal["internal"]
Format: TypeAlias = Literal["auto", "sniff", "0.7", "v0", "v1", "v2", "v3"]
WrittenFormat: TypeAlias = Literal["0.7", "v0", "v1", "v2", "v3"]
Compression: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]
#: A `Compression`, or the alias of a plugin.
CompressionName: TypeAlias = str
TimestampType: TypeAlias = Literal["CreateTime", "LogAppendTime"]
LZ4HeaderChecksum: TypeAlias = Literal["correct", "broken"]
#: Milliseconds since the epoch, or a datetime with a time zone.
Timestamp: TypeAlias = int | datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def dictionaries(given: Sequence[bytes] | None) -> list[bytes] | None:
    """Dictionaries as bytes, from any buffers."""
    return None if given is None else [bytes(one) for one in given]


def names(columns: Sequence[str] | None) -> list[str] | None:
    """Column names as a list; a single string is a mistake that would be taken letter by letter."""
    if isinstance(columns, str):
        raise TypeError("columns must be a sequence of names, not one string")
    return None if columns is None else list(columns)


def milliseconds(time: Timestamp, argument: str = "timestamp", *, rounds_up: bool = True) -> int:
    """Return a time as milliseconds since the epoch.

    Args:
        time: milliseconds, or an aware datetime.
        argument: its name, for errors.
        rounds_up: count a part of a millisecond as a whole one, as the bound of a range of times needs it.

    Raises:
        TypeError: if it is not a time.
        ValueError: if a datetime has no time zone.
    """
    if not isinstance(time, datetime):
        if not hasattr(time, "__index__"):
            raise TypeError(f"{argument} must be milliseconds (int) or a datetime with a time zone, not {type(time).__name__}")
        return operator.index(time)
    if time.tzinfo is None:
        raise ValueError(f"{argument}: a datetime needs a time zone")
    return -((_EPOCH - time) // _MILLISECOND) if rounds_up else (time - _EPOCH) // _MILLISECOND
