"""Under which name each segment of a partition belongs in an output: the offsets of its batches prove it, its own name may be wrong."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import logsegment as ls
from logsegment.cli.paths import Segment
from logsegment.stores.uri import is_tiered

_FIELDS = [("baseOffset", "first"), ("lastOffset", "last")]


@dataclass(frozen=True)
class Place:
    """Where a segment belongs.

    Attributes:
        base_offset: for the name in the output; None for a segment that has no place there.
        fit: `first_offset` and `end_offset` of `logsegment.salvage`; empty where any offset fits.
        is_moved: the base offset is not that of the name.
    """

    base_offset: int | None
    fit: dict[str, Any]
    is_moved: bool = False


@dataclass(frozen=True)
class Extent:
    """The offsets of a segment, as most of its batches agree on them.

    Attributes:
        first, last: the first and the last offset.
        is_proven: several batches follow each other without a gap, so that no single damaged base offset says so.
    """

    first: int
    last: int
    is_proven: bool


def places_of(segments: Sequence[Segment], reading: dict[str, Any]) -> Iterator[tuple[Segment, Place]]:
    """Yield each segment with its place, partition by partition.

    Args:
        segments: those of each directory in the order of their names.
        reading: `format` and `experimental` of `logsegment.batch_stream`.

    Raises:
        OSError: if a segment cannot be read.
    """
    for _, group in groupby(segments, lambda segment: segment.directory):
        partition = list(group)
        if any(is_tiered(one.path) or one.is_of_0_7 or one.base_offset is None for one in partition):
            # Manifests have the offsets of uploads, and offsets of Kafka 0.7 are positions.
            yield from zip(partition, map(_by_name, partition, _ends([one.base_offset for one in partition])), strict=True)
            continue
        names = [one.base_offset or 0 for one in partition]
        places = arranged(names, [_extent(one, reading) for one in partition])
        yield from zip(partition, places, strict=True)


def arranged(names: Sequence[int], extents: Sequence[Extent | None]) -> list[Place]:
    """Return the places of the segments of a partition.

    Args:
        names: the offsets in the names, in increasing order.
        extents: the offsets of the segments; None for a segment that does not show them.
    """
    known = {number: extent for number, extent in enumerate(extents) if extent is not None}
    order = _without_overlaps(sorted(known, key=lambda number: known[number].first), known, names)
    bases: dict[int, int] = {}
    last = -1
    for at, number in enumerate(order):
        extent = known[number]
        # The name of a segment may be lower than its first offset: compaction takes away batches.
        free = names[number] if last < names[number] <= extent.first else _name_between(names, last, extent.first)
        following = known[order[at + 1]].first if at + 1 < len(order) else None
        if free == names[number] or extent.is_proven or extent.first == last + 1 or extent.last + 1 == following:
            bases[number], last = free, extent.last
    held = [(base, max(base, known[number].last)) for number, base in bases.items()]
    for number, name in enumerate(names):
        if number not in bases and not any(first <= name <= last for first, last in held):
            bases[number] = name
    borders = sorted(bases.values())
    return [_place(name, bases.get(number), borders) for number, name in enumerate(names)]


def _place(name: int, base: int | None, borders: Sequence[int]) -> Place:
    if base is None:
        # Another segment holds these offsets: nothing of this one is left.
        return Place(None, {"first_offset": name, "end_offset": name})
    at = bisect_right(borders, base)
    end = borders[at] if at < len(borders) else None
    return Place(base, {"first_offset": base, "end_offset": end}, is_moved=base != name)


def _without_overlaps(order: Sequence[int], known: dict[int, Extent], names: Sequence[int]) -> list[int]:
    """Leave out segments that hold offsets of others. Of two, the segment stays of which the name is right."""
    kept: list[int] = []
    for number in order:
        if kept and known[kept[-1]].last >= known[number].first:
            if names[kept[-1]] == known[kept[-1]].first or names[number] != known[number].first:
                continue
            kept.pop()
        kept.append(number)
    return kept


def _name_between(names: Sequence[int], last: int, first: int) -> int:
    """Return the highest name after one offset, up to another: that of a segment which was swapped; else the first offset itself."""
    return max((name for name in names if last < name <= first), default=first)


def _by_name(segment: Segment, end: int | None) -> Place:
    fit = {} if segment.is_of_0_7 else {"first_offset": segment.base_offset, "end_offset": end}
    return Place(segment.base_offset, fit)


def _ends(names: Sequence[int | None]) -> Iterable[int | None]:
    return [*names[1:], None]


def _extent(segment: Segment, reading: dict[str, Any]) -> Extent | None:
    """Return the offsets of a segment, by the headers of its batches: of those that follow each other where most do."""
    every: list[tuple[int, int]] = []
    following: list[tuple[int, int]] = []
    total = number = 0
    is_increasing = True
    before: tuple[int, int] | None = None
    for row in _rows(segment, reading):
        if before is not None:
            is_increasing &= before[1] < row[0]
            if before[1] + 1 == row[0]:
                number += 1
                following = _widened(_widened(following, before), row)
        every = _widened(every, row)
        total, before = total + 1, row
    if following and 2 * number >= total - 1:
        return Extent(*following[0], is_proven=True)
    return Extent(*every[0], is_proven=False) if every and is_increasing else None


def _widened(extent: list[tuple[int, int]], row: tuple[int, int]) -> list[tuple[int, int]]:
    if not extent:
        return [row]
    ((first, last),) = extent
    return [(min(first, row[0]), max(last, row[1]))]


def _rows(segment: Segment, reading: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield first and last offset of each batch; nothing where only unpacking tells them."""
    with ls.batch_stream(ls.FileSource(segment.path), check_crc=False, on_error="skip", **reading) as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["first"] is None:
                    return
                yield row["first"], row["last"]
