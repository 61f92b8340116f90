"""The valid and the lost ranges of a source: offsets and bytes, by its headers and the findings of its validation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

from logsegment._core import BatchHeader, FileSource, Finding, batch_headers, batch_stream, decode, header_totals
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment._text import camel_case

#: The rule of an entry that hides valid entries: readers end there, without an error.
SWALLOWED = "SWALLOWED"
#: The rule of a segment that another segment follows, and that ends inside an entry or in zeros.
UNFINISHED = "SEG-23"
#: Rules of skipped bytes with which nothing is lost: zeros at the end, copies of entries.
HARMLESS = frozenset({"FND-17", "SAL-1"})
#: Damaged places up to which the valid batches between them are listed; each costs a look at the file.
MOST_PLACES = 10_000
#: Entries that hide others up to which the bytes after them are validated.
MOST_SWALLOWED = 8
#: First offset, last offset, entries and records, by the headers.
Totals: TypeAlias = tuple[int, int, int, int]
#: First byte, the byte after the last one, and the rule of the first finding.
Place: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True)
class LostRange:
    """Name the bytes of an input that could not be read or kept, and the offsets around them.

    Attributes:
        position, length: the bytes in the input.
        rule: why; see docs/reference/findings.md. FND-17 (zeros at the end) and SAL-1 (a copy of an entry that is kept) lose nothing.
        after_offset: last offset of the valid entry before the bytes, or None.
        before_offset: first offset of the valid entry after the bytes, or of the next segment (SEG-23), or None. Both are None if entries
            elsewhere have offsets in between: then it is unknown which offsets are missing.
        path: the file, in the report of several files; otherwise None.
    """

    position: int
    length: int
    rule: str
    after_offset: int | None
    before_offset: int | None
    path: str | None = None

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.position + self.length

    @property
    def is_harmless(self) -> bool:
        """Return True if nothing is lost with these bytes."""
        return self.rule in HARMLESS

    @property
    def missing(self) -> range:
        """Return the missing offsets between the entries before and after; empty if one of these entries does not exist."""
        if self.after_offset is None or self.before_offset is None:
            return range(0)
        return range(self.after_offset + 1, self.before_offset)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return _named(self)


@dataclass
class SafeRange:
    """Batches that follow each other without damage.

    Attributes:
        first_offset, last_offset: first and last offset by the headers.
        batches: number of batches.
        records: number of records by the headers.
        path: the file, in the report of several files; otherwise None.
    """

    first_offset: int
    last_offset: int
    batches: int = 0
    records: int = 0
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return _named(self)


@dataclass
class DamageSummary:
    """The ranges of a source. `is_complete` is False if there was too much damage, or the source can be read only once."""

    valid: list[SafeRange] = field(default_factory=list)
    lost: list[LostRange] = field(default_factory=list)
    is_complete: bool = True

    @property
    def batches(self) -> int:
        """The number of valid batches."""
        return sum(run.batches for run in self.valid)

    @property
    def records(self) -> int:
        """The number of records in valid batches, by their headers."""
        return sum(run.records for run in self.valid)

    @property
    def lost_bytes(self) -> int:
        """The number of bytes that cannot be read."""
        return sum(place.length for place in self.lost)

    def in_file(self, path: str) -> DamageSummary:
        """Return the same ranges with the name of their file."""
        valid, lost = (
            [replace(byte_range, path=path) for byte_range in self.valid],
            [replace(byte_range, path=path) for byte_range in self.lost],
        )
        return DamageSummary(valid, lost, self.is_complete)


@dataclass(frozen=True)
class SurveyedSource:
    """A source that was validated.

    Attributes:
        ranges: returns the bytes from a position to another one, or to the end; None for a source that can be read only once.
        shifts: positions in such bytes begin at 0.
        validate_from: returns the findings of the bytes from a position on.
        is_damage: returns True for a finding of bytes that are lost.
        options: those of the read.
    """

    ranges: Callable[[int, int | None], Any] | None
    shifts: bool
    validate_from: Callable[[int], list[Finding]]
    is_damage: Callable[[Finding], bool]
    options: ReadOptions


def surveyed_source(
    source: Any, options: ReadOptions, validate_from: Callable[[int], list[Finding]], is_damage: Callable[[Finding], bool]
) -> SurveyedSource:
    """Return a source as `survey` reads it again.

    Args:
        source: a `FileSource` or a buffer; anything else can be read only once.
        options: those of the read.
        validate_from: see `SurveyedSource`.
        is_damage: see `SurveyedSource`.
    """
    if isinstance(source, FileSource):
        path, end = source.path, source.end
        if is_of_0_7(os.fspath(path)):
            # The name says how the file is read.
            options = replace(options, format="auto", base_position=None)
        return SurveyedSource(
            lambda start, stop: FileSource(path, start, end if stop is None else stop), False, validate_from, is_damage, options
        )
    try:
        view = memoryview(source).cast("B")
    except (TypeError, ValueError):
        return SurveyedSource(None, False, validate_from, is_damage, options)
    return SurveyedSource(lambda start, stop: view[start:stop], True, validate_from, is_damage, options)


def survey(source: SurveyedSource, findings: Sequence[Finding], totals: Totals | None, *, has_proposed: bool = False) -> DamageSummary:
    """Look at the headers of everything that a validation did not find damaged; nothing is decompressed.

    Args:
        source: the source.
        findings: of its validation.
        totals: those of all headers, which are not read again if nothing is damaged.
        has_proposed: there are batches of magic 3 that were not read. Their headers have offsets, which `totals` do not count.
    """
    places, is_complete = _damaged(source, findings)
    if source.ranges is None or not is_complete or len(places) > MOST_PLACES:
        lost = [LostRange(start, end - start, rule, None, None) for start, end, rule in places]
        is_known = source.ranges is None and not lost and totals is not None
        return DamageSummary([SafeRange(*totals)] if is_known and totals else [], lost, is_complete=is_known)
    if has_proposed:
        source = replace(source, options=source.options.of_every_format())
    elif not places and totals:
        return DamageSummary(valid=[SafeRange(*totals)])
    found = DamageSummary()
    begin = 0
    for start, end, rule in places:
        _look(found, source, begin, start)
        found.lost.append(LostRange(start, end - start, rule, _last(found), None))
        begin = end
    _look(found, source, begin, None)
    _bound_last(found, findings)
    return found


def _named(byte_range: LostRange | SafeRange) -> dict[str, Any]:
    return {camel_case(name): value for name, value in asdict(byte_range).items() if name != "path" or value is not None}


def _damaged(source: SurveyedSource, findings: Sequence[Finding]) -> tuple[list[Place], bool]:
    """Return the byte ranges that cannot be read, adjacent ranges joined, and whether these are all."""
    places: list[Place] = []
    shift = 0
    for _ in range(MOST_SWALLOWED):
        suspects = list(filter(source.is_damage, findings))
        # Findings of which there are too many are only counted, and take no bytes.
        is_complete = all(found.length for found in suspects)
        swallowed = next((found for found in suspects if found.rule == SWALLOWED and found.length), None)
        end = swallowed.position + swallowed.length if swallowed else None
        places += [
            (shift + suspect.position, shift + suspect.position + suspect.length, suspect.rule)
            for suspect in suspects
            if end is None or suspect.position < end
        ]
        if end is None or not is_complete or source.ranges is None:
            return _joined(places), is_complete
        # A reader ends at an entry that is longer than the input, so the bytes after it are validated separately.
        findings = source.validate_from(shift + end)
        shift = shift + end if source.shifts else 0
    return _joined(places), False


def _joined(ranges: Sequence[Place]) -> list[Place]:
    joined: list[Place] = []
    for start, end, rule in sorted(ranges):
        if joined and start <= joined[-1][1]:
            first, last, own = joined[-1]
            joined[-1] = (first, max(end, last), own)
        else:
            joined.append((start, end, rule))
    return joined


def _look(found: DamageSummary, source: SurveyedSource, start: int, end: int | None) -> None:
    """Add the batches of a range that begins and ends where an entry does."""
    if start == end:
        return
    run: SafeRange | None = None
    for first, last, batches, records in _headers(source, start, end):
        if run is None:
            run = SafeRange(first, last)
            found.valid.append(run)
            _bound_lost(found, first)
        run.first_offset = min(run.first_offset, first)
        run.last_offset = max(run.last_offset, last)
        run.batches += batches
        run.records += records


def _bound_lost(found: DamageSummary, first: int) -> None:
    for index in range(len(found.lost) - 1, -1, -1):
        place = found.lost[index]
        if place.before_offset is not None:
            return
        found.lost[index] = replace(place, before_offset=first)


def _bound_last(found: DamageSummary, findings: Sequence[Finding]) -> None:
    """Bound the bytes after the last valid batch by the next segment."""
    next_offset = next(
        (finding.last_offset + 1 for finding in findings if finding.rule == UNFINISHED and finding.last_offset is not None), None
    )
    if next_offset is not None and found.lost and found.lost[-1].before_offset is None:
        _bound_lost(found, next_offset)


def _last(found: DamageSummary) -> int | None:
    return found.valid[-1].last_offset if found.valid else None


def _headers(source: SurveyedSource, start: int, end: int | None) -> Iterator[Totals]:
    """Yield the first and last offset, the number of entries and of records of consecutive entries."""
    assert source.ranges is not None
    options = replace(source.options, columns=None, check_crc=False, on_error="skip", unreadable="skip", strict_tail=False)
    with batch_stream(source.ranges(start, end), options) as stream:
        for batch in stream:
            totals = header_totals(batch)
            if totals:
                first, last, records = totals
                yield first, last, batch.num_rows, records
                continue
            for header in batch_headers(batch):
                if header.base_offset is None or header.count is None:
                    yield _decompressed(source, header, start if source.shifts else 0)
                else:
                    yield header.base_offset, header.last_offset, 1, header.count


def _decompressed(source: SurveyedSource, header: BatchHeader, shift: int) -> Totals:
    """Return the same of a compressed message whose header does not contain its offsets and their number (L8-28)."""
    assert source.ranges is not None
    position = shift + header.position
    options = replace(source.options, columns=("offset",), check_crc=False, on_error="skip", unreadable="skip", strict_tail=False)
    rows = decode(source.ranges(position, position + header.size), options).read_all().to_pylist()
    offsets = [row["offset"] for row in rows]
    first = min(offsets, default=header.last_offset) if header.base_offset is None else header.base_offset
    return first, header.last_offset, 1, len(offsets)
