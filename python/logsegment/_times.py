"""Times as callers give them."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

#: Milliseconds since the epoch, or a datetime with a time zone.
Timestamp: TypeAlias = int | datetime
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(timestamp: Timestamp) -> int:
    """Milliseconds since the epoch; a part of one is counted as a whole.

    Raises:
        TypeError: for what is no time.
        ValueError: for a datetime without a time zone.
    """
    if not isinstance(timestamp, datetime):
        if not hasattr(timestamp, "__index__"):
            raise TypeError(f"timestamp must be milliseconds (int) or a datetime with a time zone, not {type(timestamp).__name__}")
        return operator.index(timestamp)
    if timestamp.tzinfo is None:
        raise ValueError("timestamp: a datetime needs a time zone")
    return -((_EPOCH - timestamp) // timedelta(milliseconds=1))
