"""What a predicate leaves to be read of a partition: `Bounds`, which join as conditions do."""

from __future__ import annotations

from dataclasses import dataclass

#: The largest offset that there can be.
_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Outside of these no record is wanted; inside some may be. None is no bound.

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
    """Bounds of offsets, or None for none at all; what reaches beyond 64 bits has no end there."""
    if start is not None and start > _LAST:
        return None
    return Bounds(start, None if end is not None and end > _LAST else end)


def both(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    """Where two conditions may hold at once; None where they cannot."""
    if one is None or other is None:
        return None
    start, end = _largest(one.start, other.start), _least(one.end, other.end)
    if start is not None and end is not None and start >= end:
        return None
    return Bounds(start, end, _largest(one.timestamp, other.timestamp))


def either(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    """Where at least one of two conditions may hold: a range that reaches over both."""
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
