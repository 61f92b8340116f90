"""The places of salvaged segments in their partition: names and offsets of segments go in, names in the output come out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from logsegment._core import FileSource, Finding, SegmentFile, valid_batches
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment._places import is_tiered

#: The rule of segments that contradict their names.
NAME_RULE = "SEG-1"


@dataclass(frozen=True)
class OutputPlace:
    """The place of a salvaged segment in its partition.

    Attributes:
        base_offset: for the name in the output; None for a segment without a place.
        first_offset, end_offset: arguments of `salvage`; None where any offset fits.
        finding: a finding if the base offset is not that of the name.
    """

    base_offset: int | None
    first_offset: int | None = None
    end_offset: int | None = None
    finding: Finding | None = None


@dataclass(frozen=True)
class OffsetRange:
    """The offsets of a segment, by the headers of most of its batches.

    Attributes:
        first, last: the first and the last offset.
        is_proven: several batches follow each other without a gap, so that the offsets do not depend on a single header.
    """

    first: int
    last: int
    is_proven: bool


def output_places(files: Sequence[SegmentFile], read: ReadOptions) -> Iterator[OutputPlace]:
    """Yield the place of each segment, partition by partition.

    The offsets of the batches overrule the names only where more batches are kept that way.

    Args:
        files: those of each directory in the order of their names.
        read: options of the read.

    Raises:
        OSError: if a segment cannot be read.
    """
    for _, group in groupby(files, lambda file: file.directory[:]):
        partition = list(group)
        ends = [*[file.base_offset for file in partition[1:]], None]
        named = [_named_place(file, end) for file, end in zip(partition, ends, strict=True)]
        if any(is_tiered(file.path) or is_of_0_7(file.path) or file.base_offset is None for file in partition):
            # Manifests have the offsets of uploads, and offsets of Kafka 0.7 are positions.
            yield from named
            continue
        own = read
        extents = [_extent(file, own) for file in partition]
        if None in extents and any(_has_others(file, place, own) for file, place in zip(partition, named, strict=True)):
            # A compressed message set has its first offset only after decompression.
            own = replace(read, resolve=True)
            extents = [_extent(file, own) for file in partition]
        proven = proven_places([file.base_offset or 0 for file in partition], extents)
        is_other = any(place.finding is not None or place.base_offset is None for place in proven)
        has_more = is_other and _kept(partition, proven, own) > _kept(partition, named, own)
        yield from proven if has_more else named


def proven_places(names: Sequence[int], extents: Sequence[OffsetRange | None]) -> list[OutputPlace]:
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
    return [_proven_place(name, bases.get(number), borders) for number, name in enumerate(names)]


def _named_place(file: SegmentFile, end: int | None) -> OutputPlace:
    return OutputPlace(file.base_offset) if is_of_0_7(file.path) else OutputPlace(file.base_offset, file.base_offset, end)


def _has_others(file: SegmentFile, place: OutputPlace, read: ReadOptions) -> bool:
    """Return True if a batch ends outside of the place that the name of its segment gives it."""
    start, end = place.first_offset or 0, place.end_offset
    with valid_batches(FileSource(file.path), replace(read, check_crc=False, on_error="skip", unreadable="skip")) as headers:
        return any(header.last_offset < start or (end is not None and header.last_offset >= end) for header in headers)


def _proven_place(name: int, base: int | None, borders: Sequence[int]) -> OutputPlace:
    if base is None:
        # Another segment holds these offsets: nothing of this one is left.
        return OutputPlace(None, name, name)
    at = bisect_right(borders, base)
    end = borders[at] if at < len(borders) else None
    text = f"segment contradicts its name: name has offset {name}, first batch has {base}; written as {base:020d}.log"
    finding = None if base == name else Finding(NAME_RULE, "warning", text, "name", 0, 0, base_offset=base)
    return OutputPlace(base, base, end, finding)


def _kept(files: Sequence[SegmentFile], places: Sequence[OutputPlace], read: ReadOptions) -> int:
    """Return how many valid batches fit into the places of their segments."""
    kept = 0
    for file, place in zip(files, places, strict=True):
        start, end = place.first_offset or 0, place.end_offset
        kept += sum(start <= first and (end is None or last < end) for first, last in _batches(file, replace(read, check_crc=True)))
    return kept


def _without_overlaps(known: dict[int, OffsetRange], names: Sequence[int]) -> dict[int, OffsetRange]:
    """Return disjoint extents, in the order of the offsets.

    Two segments that overlap meet at the name of the second one, if it is in the overlap. A segment is left out only if all its offsets are
    in another segment. Of two equal segments, the segment with the right name stays.
    """
    kept: dict[int, OffsetRange] = {}
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


def _extent(file: SegmentFile, read: ReadOptions) -> OffsetRange | None:
    """Return the offsets of a segment, by the headers of its batches: of those that follow each other where most do."""
    every: tuple[int, int] | None = None
    adjacent: tuple[int, int] | None = None
    before: tuple[int, int] | None = None
    total = pairs = 0
    is_increasing = True
    for batch in _batches(file, replace(read, check_crc=False)):
        if before is not None:
            is_increasing &= before[1] < batch[0]
            if before[1] + 1 == batch[0]:
                pairs += 1
                adjacent = _span(adjacent, before, batch)
        every = _span(every, batch)
        total, before = total + 1, batch
    if adjacent is not None and 2 * pairs >= total - 1:
        return OffsetRange(*adjacent, is_proven=True)
    return OffsetRange(*every, is_proven=False) if every is not None and is_increasing else None


def _span(*ranges: tuple[int, int] | None) -> tuple[int, int]:
    firsts, lasts = zip(*filter(None, ranges), strict=True)
    return min(firsts), max(lasts)


def _batches(file: SegmentFile, read: ReadOptions) -> Iterator[tuple[int, int]]:
    """Yield first and last offset of each batch, without `read.resolve` up to the first batch that must be decompressed for them."""
    with valid_batches(FileSource(file.path), replace(read, on_error="skip", unreadable="skip")) as headers:
        for header in headers:
            if header.base_offset is None:
                return
            yield header.base_offset, header.last_offset
