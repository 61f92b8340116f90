"""Batches over offsets, times and sizes: what `BatchCounter` counts in buckets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

#: As `BatchCounter.counts` gives a bucket: start, bytes, records, earliest and latest time, late batches.
_Counted: TypeAlias = tuple[int, int, int, tuple[int, int] | None, int]


@dataclass(frozen=True)
class SeriesPoint:
    """A bucket of a series.

    Attributes:
        start: its first offset, or its time in ms.
        bytes, records: of its batches.
        first_time, last_time: the earliest time of a first record, as headers say it, and the latest of the largest timestamps, in ms;
            None where there is none, and over times.
        late: batches whose time is before that of an earlier one; 0 over times.
    """

    start: int
    bytes: int
    records: int
    first_time: int | None
    last_time: int | None
    late: int


@dataclass(frozen=True)
class Series:
    """Batches over offsets or times, in at most 120 buckets; the empty ones in between are there too.

    Attributes:
        width: of a bucket, in offsets or ms.
        points: the buckets.
        outliers: the buckets of a few batches (at most a twentieth) that lie so far from all others that one axis cannot show both.
        first, last: the first and the last offset or time of the batches in `points`; None without points.
    """

    width: int = 1
    points: list[SeriesPoint] = field(default_factory=list)
    outliers: list[SeriesPoint] = field(default_factory=list)
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Histogram:
    """How many of which size, by powers of two: bucket n counts sizes from 2**(n-1) to before 2**n, bucket 0 those of 0."""

    counts: dict[int, int] = field(default_factory=dict)
    total: int = 0
    sum: int = 0
    least: int | None = None
    most: int | None = None

    @property
    def mean(self) -> float | None:
        """The mean size."""
        return self.sum / self.total if self.total else None


def histogram_of(counts: list[tuple[int, int]], total: int, sum_: int, least: int | None, most: int | None) -> Histogram:
    """Return the histogram of sizes that `BatchCounter` counted."""
    return Histogram(dict(counts), total, sum_, least, most)


def series_of(width: int, points: list[_Counted], outliers: list[_Counted], ends: tuple[int, int] | None) -> Series:
    """Return the series of buckets that `BatchCounter` counted."""
    return Series(width, list(map(_point, points)), list(map(_point, outliers)), *(ends or (None, None)))


def _point(counted: _Counted) -> SeriesPoint:
    start, size, records, times, late = counted
    first, last = times or (None, None)
    return SeriesPoint(start, size, records, first, last, late)
