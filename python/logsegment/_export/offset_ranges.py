"""Sets of log offsets as ranges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

#: The end of a range without an end.
NO_END = 2**63 - 1


class OffsetRanges:
    """Ranges of offsets, sorted and disjoint, each from a first offset to the offset after its last one. Immutable.

    Args:
        ranges: in any order; empty ranges are dropped, and ranges that touch are joined.
    """

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        joined: list[tuple[int, int]] = []
        for start, end in sorted(ranges):
            if start >= end:
                continue
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        self._ranges = tuple(joined)

    @property
    def start(self) -> int | None:
        """The first offset; None without ranges."""
        return self._ranges[0][0] if self._ranges else None

    @property
    def end(self) -> int | None:
        """The offset after the last one; None without ranges."""
        return self._ranges[-1][1] if self._ranges else None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._ranges, (offset, NO_END))
        return place > 0 and offset < self._ranges[place - 1][1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetRanges) and self._ranges == other._ranges

    def __hash__(self) -> int:
        return hash(self._ranges)

    def __repr__(self) -> str:
        return f"OffsetRanges({list(self._ranges)})"

    def __or__(self, other: OffsetRanges) -> OffsetRanges:
        return OffsetRanges([*self._ranges, *other._ranges]) if other else self

    def __and__(self, other: OffsetRanges) -> OffsetRanges:
        return OffsetRanges(_overlaps(self._ranges, other._ranges))

    def __sub__(self, other: OffsetRanges) -> OffsetRanges:
        return OffsetRanges(_overlaps(self._ranges, other._gaps())) if other else self

    def _gaps(self) -> list[tuple[int, int]]:
        """Return the ranges that are in none of the ranges."""
        ends = [-NO_END, *(end for _, end in self._ranges)]
        starts = [*(start for start, _ in self._ranges), NO_END]
        return list(zip(ends, starts, strict=True))

    def within(self, start: int, end: int) -> OffsetRanges:
        """Return the part of the ranges from `start` to before `end`."""
        return self & OffsetRanges([(start, end)])

    def grouped(self, distance: int) -> list[OffsetRanges]:
        """Return the ranges in groups: those of a group are at most `distance` offsets apart."""
        groups: list[list[tuple[int, int]]] = []
        for start, end in self._ranges:
            if groups and start - groups[-1][-1][1] <= distance:
                groups[-1].append((start, end))
            else:
                groups.append([(start, end)])
        return [OffsetRanges(group) for group in groups]


def _overlaps(ours: Iterable[tuple[int, int]], theirs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what is in both of two sorted lists of disjoint ranges."""
    first, second = iter(ours), iter(theirs)
    a, b = next(first, None), next(second, None)
    while a is not None and b is not None:
        start, end = max(a[0], b[0]), min(a[1], b[1])
        if start < end:
            yield start, end
        if a[1] <= b[1]:
            a = next(first, None)
        else:
            b = next(second, None)
