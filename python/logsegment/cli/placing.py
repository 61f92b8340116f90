"""Under which name each segment of a partition belongs in an output: the offsets of its batches prove it, its own name may be wrong."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from logsegment._core import FileSource
from logsegment._decode import batch_stream
from logsegment.cli.inputs import InputSegment
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


def places_of(segments: Sequence[InputSegment], reading: dict[str, Any]) -> Iterator[tuple[InputSegment, Place]]:
    """Yield each segment with its place, partition by partition.

    The offsets of the batches overrule the names only where more batches are kept that way.

    Args:
        segments: those of each directory in the order of their names.
        reading: `format` and `experimental` of `logsegment.batch_stream`.

    Raises:
        OSError: if a segment cannot be read.
    """
    for _, group in groupby(segments, lambda segment: segment.directory):
        partition = list(group)
        named = list(map(_by_name, partition, _ends([one.base_offset for one in partition])))
        if any(is_tiered(one.path) or one.is_of_0_7 or one.base_offset is None for one in partition):
            # Manifests have the offsets of uploads, and offsets of Kafka 0.7 are positions.
            yield from zip(partition, named, strict=True)
            continue
        proven = output_places([one.base_offset or 0 for one in partition], [_extent(one, reading) for one in partition])
        is_other = any(place.is_moved or place.base_offset is None for place in proven)
        if is_other and _kept(partition, proven, reading) <= _kept(partition, named, reading):
            proven = named
        yield from zip(partition, proven, strict=True)


def output_places(names: Sequence[int], extents: Sequence[Extent | None]) -> list[Place]:
    """Return the places of the segments of a partition, by their offsets.

    Args:
        names: the offsets in the names, in increasing order.
        extents: the offsets of the segments; None for a segment that does not show them.
    """
    known = _without_overlaps({number: extent for number, extent in enumerate(extents) if extent is not None}, names)
    order = list(known)
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


def _kept(segments: Sequence[InputSegment], places: Sequence[Place], reading: dict[str, Any]) -> int:
    """Return how many valid batches fit into the places of their segments."""
    kept = 0
    for segment, place in zip(segments, places, strict=True):
        start, end = place.fit["first_offset"], place.fit["end_offset"]
        kept += sum(start <= first and (end is None or last < end) for first, last in _rows(segment, reading, check_crc=True))
    return kept


def _without_overlaps(known: dict[int, Extent], names: Sequence[int]) -> dict[int, Extent]:
    """Return disjoint extents, in the order of the offsets.

    Two segments that overlap meet at the name of the second one, if it is in the overlap. A segment is left out only if all its offsets are
    in another segment. Of two equal segments, the segment with the right name stays.
    """
    kept: dict[int, Extent] = {}
    for number in sorted(known, key=lambda number: (known[number].first, -known[number].last, names[number] != known[number].first)):
        after = known[number]
        if kept:
            last = next(reversed(kept))
            before = kept[last]
            is_inside = after.last <= before.last
            if is_inside and (before.is_proven or (after.first, after.last) == (before.first, before.last)):
                continue
            if is_inside and names[last] != before.first:
                # The end of an extent without proof may be a damaged offset.
                del kept[last]
            elif after.first <= before.last:
                border = names[number] if after.first <= names[number] <= before.last else after.first
                kept[last] = replace(before, last=border - 1)
                after = replace(after, first=border)
        kept[number] = after
    return kept


def _name_between(names: Sequence[int], last: int, first: int) -> int:
    """Return the highest name after one offset, up to another: that of a segment which was swapped; else the first offset itself."""
    return max((name for name in names if last < name <= first), default=first)


def _by_name(segment: InputSegment, end: int | None) -> Place:
    fit = {} if segment.is_of_0_7 else {"first_offset": segment.base_offset, "end_offset": end}
    return Place(segment.base_offset, fit)


def _ends(names: Sequence[int | None]) -> Iterable[int | None]:
    return [*names[1:], None]


def _extent(segment: InputSegment, reading: dict[str, Any]) -> Extent | None:
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


def _rows(segment: InputSegment, reading: dict[str, Any], *, check_crc: bool = False) -> Iterator[tuple[int, int]]:
    """Yield first and last offset of each batch; nothing where only unpacking tells them."""
    with batch_stream(FileSource(segment.path), check_crc=check_crc, on_error="skip", **reading) as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["first"] is None:
                    return
                yield row["first"], row["last"]
