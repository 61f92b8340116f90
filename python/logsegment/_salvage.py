"""Save the valid entries of damaged bytes, with an account of the rest: `salvage`; and the names of saved segments: `output_places`."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any, BinaryIO, Literal, TypeAlias, Unpack

from logsegment._core import FileSource, Finding, SegmentFile, ensure_log_segment, valid_batches
from logsegment._core import salvage as core_salvage
from logsegment._log_paths import is_of_0_7
from logsegment._options import EntryKeywords, ReadOptions
from logsegment._output import ensure_apart, staged_output
from logsegment._places import is_tiered
from logsegment._storage import StorageOptions, reached_source
from logsegment._survey import LostRange
from logsegment._text import camel_case

Order: TypeAlias = Literal["input", "offset"]
#: The rule of segments that contradict their names.
NAME_RULE = "SEG-1"


@dataclass(frozen=True)
class KeptRange:
    """Run of entries of the input that are in the output.

    Attributes:
        position, length: the bytes in the input.
        first_offset, last_offset: first and last offset by the headers.
        entries: number of entries.
    """

    position: int
    length: int
    first_offset: int
    last_offset: int
    entries: int

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.position + self.length

    def to_dict(self) -> dict[str, int]:
        """Return the attributes by their names in JSON."""
        return {camel_case(name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Salvage:
    """Result of `salvage`.

    Attributes:
        data: the valid entries, byte for byte; None if they were written to `out`.
        kept: ranges of the input that are in the output, in the order of the output.
        lost: the other ranges of the input, in the order of the input. `kept` and `lost` cover the input without gap or overlap.
        findings: the errors of the input, and why bytes were skipped.
        kept_bytes, lost_bytes, entries: bytes and entries kept, bytes lost.
        harmful_bytes: `lost_bytes` without zeros at the end and copies.
        aside: with `aside=True`, the bytes that do not fit into the log; None if they were written to a file or not requested.
        aside_bytes: number of bytes aside.
        records: number of readable records of damaged batches aside.
        doubtful: number of valid entries with misplaced offsets, which are aside; with `order="offset"` only.
        undecodable: findings of kept entries whose records cannot be read, at most 100,000: the checksum matches, so their writer made them
            wrong.
        undecompressed: number of kept entries that cannot be opened here: their plugin or their dictionary is missing, or a limit is
            too low.
        moved: number of entries of swapped blocks that were sorted in; with `order="offset"` only. `kept` has their ranges.
        is_listed: `kept` and `lost` list every range. After 262,144 ranges of a kind no more are listed; the sums stay correct.
    """

    data: bytes | None = field(repr=False)
    kept: list[KeptRange]
    lost: list[LostRange]
    findings: list[Finding] = field(repr=False)
    kept_bytes: int
    lost_bytes: int
    harmful_bytes: int
    entries: int
    aside: bytes | None = field(default=None, repr=False)
    aside_bytes: int = 0
    records: int = 0
    doubtful: int = 0
    undecodable: list[Finding] = field(default_factory=list, repr=False)
    undecompressed: int = 0
    moved: int = 0
    is_listed: bool = True

    @property
    def ok(self) -> bool:
        """Return True if nothing was lost and no kept entry is undecodable; zeros at the end and copies do not count."""
        return not self.harmful_bytes and not self.undecodable

    def to_dict(self) -> dict[str, Any]:
        """Return the account of all bytes by the names in JSON, without the findings."""
        names = ("ok", "entries", "kept_bytes", "lost_bytes", "aside_bytes", "records", "doubtful", "undecompressed", "moved", "is_listed")
        counts = {camel_case(name): getattr(self, name) for name in names}
        ranges = {"kept": [byte_range.to_dict() for byte_range in self.kept], "lost": [byte_range.to_dict() for byte_range in self.lost]}
        return counts | ranges | {"undecodable": [finding.to_dict() for finding in self.undecodable]}


@dataclass(frozen=True, kw_only=True, slots=True)
class SalvageOptions:
    """Options of `salvage`, which documents each attribute."""

    is_sorted: bool = False
    is_aside_kept: bool = False
    wants_records: bool = False
    first_offset: int | None = None
    end_offset: int | None = None


def salvage(
    source: Any,
    *,
    out: str | os.PathLike[str] | BinaryIO | None = None,
    aside: str | os.PathLike[str] | BinaryIO | bool | None = None,
    overwrite: bool = False,
    order: Order = "input",
    first_offset: int | None = None,
    end_offset: int | None = None,
    storage_options: StorageOptions | None = None,
    **options: Unpack[EntryKeywords],
) -> Salvage:
    """Copy every valid entry of damaged bytes, byte for byte, and account for every other byte.

    An entry is valid if its header can be parsed and its checksum matches; of Kafka 0.7, if the checksum of its messages does. An entry
    whose records cannot be read stays, and is reported as `undecodable`. Past damage the next valid entry is searched for at every byte,
    but not inside an entry whose length leads to another entry or to the end: what looks like an entry there is a value. So the output has
    only records that `decode` with `on_error="skip"` reads from the source. The exception are swapped entries of uploads in tiered storage,
    which are counted as `moved`. The source is only read, memory is bounded, and the GIL is released.

    No checksum covers the offset of an entry, and blocks of a disk come back swapped or twice. `order="offset"` makes a log of the valid
    entries: sorted, each entry once, and without entries with misplaced offsets. Entries that were searched for are also misplaced if the
    entries around them do not support their offsets. A broker would delete a segment whose offsets decrease.

    Args:
        source: see `decode`. `order="offset"` reads it two to five times, so a file object is not allowed.
        out: see `encode`.
        aside: a path or file object for bytes that do not fit into the log: readable records of damaged batches, and with
            `order="offset"` the valid entries with misplaced offsets, byte for byte. True returns the bytes. Without such bytes, no file
            is created. Records of damaged batches are written as batches of magic 2, at the offsets of the damaged batch. Each record
            gets a header `logsegment.salvaged` with the broken rule of its batch. No checksum covers these records: any byte may be
            wrong.
        overwrite: see `encode`; for both paths. An earlier output may be the only copy of its entries.
        order: "input" keeps all valid entries in the order of the source, "offset" makes a log. At most 4,194,304 entries that are out of
            order can be sorted; entries in order may be any number.
        first_offset: with `order="offset"`: the segment's base offset, before which no entry may be.
        end_offset: with `order="offset"`: the base offset of the next segment, which no entry may reach.
        storage_options: options of the store of a URI; see `Log`.
        options: options of entries; see `decode`. Without `experimental`, a valid batch of magic 3 is an error, and no file is written.
            `codecs` decompress the records of batches. A valid entry over `limits` is kept.

    Returns:
        A `Salvage`.

    Raises:
        InvalidError: if the source is a file without a valid entry that looks like another kind of file (SEG-16).
        UnsupportedError: for a valid batch of magic 3 without `experimental` (MAP-3), which would be lost.
        ValueError, TypeError: if an argument is invalid or contradicts another one; for more entries out of order than can be sorted.
        FileExistsError: if a file exists and `overwrite` is False.
        OSError: if a file cannot be read or written, or has changed between two readings.

    Example:
        >>> import logsegment as ls
        >>> from pathlib import Path
        >>> good = Path("00000000000000000000.log").read_bytes()
        >>> found = ls.salvage(b"some noise" + good)
        >>> found.data == good, [(lost.position, lost.length) for lost in found.lost]
        (True, [(0, 10)])

    Source: `LogSegment.recover` in Kafka, which cuts a log at the first damage.
    """
    if order not in ("input", "offset"):
        raise ValueError(f'order must be "input" or "offset", not {order!r}')
    if order == "input" and (first_offset is not None or end_offset is not None):
        raise ValueError('first_offset and end_offset need order="offset"')
    source = reached_source(source, storage_options)
    ensure_apart(source, out=out, aside=aside)
    fit = SalvageOptions(
        is_sorted=order == "offset",
        is_aside_kept=aside is True,
        wants_records=aside not in (None, False),
        first_offset=first_offset,
        end_offset=end_offset,
    )
    read = ReadOptions.of(EntryKeywords, options)
    place = None if isinstance(aside, bool) else aside
    with staged_output(out, overwrite=overwrite) as output, staged_output(place, overwrite=overwrite) as rest:
        found = salvaged(source, read, fit, (output.target, rest.target))
        if not found.entries and not found.records:
            _ensure_segment(source)
        if not found.aside_bytes:
            rest.discard()
    return found


def _ensure_segment(source: Any) -> None:
    """Raise InvalidError for a path, or a file from its first byte on, that looks like another kind of file."""
    if isinstance(source, FileSource) and not source.start:
        ensure_log_segment(source.path)
    elif isinstance(source, (str, os.PathLike)):
        ensure_log_segment(source)


def salvaged(source: Any, read: ReadOptions, fit: SalvageOptions | None = None, targets: tuple[Any, Any] = (None, None)) -> Salvage:
    """Copy the valid entries of a source, as `salvage` does, with built options.

    Args:
        source: see `salvage`.
        read: options of entries.
        fit: what is kept; None for the defaults of `salvage`.
        targets: where the valid entries are written, and the bytes that have no place in the log; None to return them.

    Raises:
        OSError: if a file cannot be read or written, or has changed between two readings.
    """
    row = core_salvage(source, read, fit or SalvageOptions(), *targets)
    data, aside_data, kept, lost, is_listed, (findings, undecodable), totals = row
    kept_bytes, lost_bytes, harmful_bytes, entries, aside_bytes, records, doubtful, moved, undecompressed = totals
    if not kept_bytes and not lost_bytes:
        lost = _unread(findings)
        lost_bytes = harmful_bytes = sum(length for _, length, *_ in lost)
    return Salvage(
        data=data,
        kept=[KeptRange(*row) for row in kept],
        lost=[LostRange(*row) for row in lost],
        findings=findings,
        kept_bytes=kept_bytes,
        lost_bytes=lost_bytes,
        harmful_bytes=harmful_bytes,
        entries=entries,
        aside=aside_data,
        aside_bytes=aside_bytes,
        records=records,
        doubtful=doubtful,
        undecodable=undecodable,
        undecompressed=undecompressed,
        moved=moved,
        is_listed=is_listed,
    )


def _unread(findings: list[Finding]) -> list[tuple[int, int, str, int | None, int | None]]:
    """Return the lost ranges of a segment of which no byte can be read, since its manifest is damaged."""
    return [
        (finding.position, finding.length, finding.rule, None, None)
        for finding in findings
        if finding.severity == "error" and finding.length
    ]


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
