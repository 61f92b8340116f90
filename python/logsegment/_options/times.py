"""Times as callers write them: milliseconds, datetimes with a time zone, texts."""

from __future__ import annotations

import operator
import re
import time as clock
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

#: Milliseconds since the epoch, a datetime with a time zone, or a text as the command line takes it.
Timestamp: TypeAlias = int | datetime | str

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
#: Milliseconds of the units of relative times.
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def ensure_ordered(start: int | None, end: int | None, names: tuple[str, str] = ("start_timestamp", "end_timestamp")) -> None:
    """Raise a ValueError for a range of offsets, or of times in milliseconds, that starts after its end. An empty range is valid.

    Args:
        start: where it starts (inclusive), or None.
        end: where it ends (exclusive), or None.
        names: the arguments, for the error.
    """
    if start is not None and end is not None and start > end:
        raise ValueError(f"{names[0]} must not be after {names[1]}: {start} and {end}")


def time_bounds(start: Timestamp | None, end: Timestamp | None) -> tuple[int | None, int | None]:
    """Return the arguments `start_timestamp` and `end_timestamp` as milliseconds.

    Raises:
        TypeError: if one is not a time.
        ValueError: if a datetime has no time zone, or the range starts after its end.
    """
    first = None if start is None else milliseconds(start, "start_timestamp")
    last = None if end is None else milliseconds(end, "end_timestamp")
    ensure_ordered(first, last)
    return first, last


def parsed_time(text: str, now: int | None = None) -> int | datetime:
    """Parse a time: milliseconds since 1970, ISO 8601 (UTC if it names no zone), or relative to `now` (`-2h`; None for the clock).

    Raises:
        ValueError: if the text is not a time.
    """
    if re.fullmatch(r"-?\d+", text):
        # More digits than 64 bits have are out of their range.
        return int(text) if len(text) < 21 else 2**63
    if found := re.fullmatch(r"-(\d{1,15})([smhdw])", text):
        start = now if now is not None else clock.time_ns() // 1_000_000
        return start - int(found[1]) * _UNITS[found[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither milliseconds nor a time such as 2026-01-31T12:00:00Z or -2h") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def milliseconds(time: Timestamp, argument: str = "timestamp", *, rounds_up: bool = True) -> int:
    """Return a time as milliseconds since the epoch.

    Args:
        time: milliseconds, an aware datetime, or a text.
        argument: its name, for errors.
        rounds_up: count a part of a millisecond as a whole one, as the bound of a range of times needs it.

    Raises:
        TypeError: if it is not a time.
        ValueError: if a datetime has no time zone, or a text is not a time.
    """
    if isinstance(time, str):
        try:
            time = parsed_time(time)
        except ValueError as error:
            raise ValueError(f"{argument}: {error}") from None
    if not isinstance(time, datetime):
        if not hasattr(time, "__index__"):
            kinds = "milliseconds (int), a datetime with a time zone or a text such as 2026-01-31T12:00:00Z"
            raise TypeError(f"{argument} must be {kinds}, not {type(time).__name__}")
        return operator.index(time)
    if time.tzinfo is None:
        raise ValueError(f"{argument}: a datetime needs a time zone; pass tzinfo=datetime.UTC, or call its astimezone()")
    return -((_EPOCH - time) // _MILLISECOND) if rounds_up else (time - _EPOCH) // _MILLISECOND
