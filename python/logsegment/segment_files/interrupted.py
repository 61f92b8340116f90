"""Work that a broker did not finish: `.swap`, `.cleaned` and `.deleted` files next to the segments of a partition.

A cleaner writes the new segments as `.log.cleaned`, renames them to `.log.swap`, renames the old segments to `.log.deleted`, and renames
the new ones to `.log`. A broker that starts completes the swap, or takes it back. Readers see the segments that it would have then. No
file is changed. A finding (SEG-17) names each file with records that is read in place of others, or not read.

Source: `LogLoader.load` and `LocalLog.replaceSegments` in Kafka 4.3. Brokers before 3.0 complete a swap segment by segment.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Generic, Literal, TypeAlias

from logsegment._core import FileSource, Finding, RecordBatchError, SegmentIndex, log_end, read_offset_checkpoint, valid_batches
from logsegment._options import ReadOptions
from logsegment.segment_files.replicas import F, PlacedFile
from logsegment.stores.listing import DirectoryEntry, Listing, list_directory
from logsegment.stores.uri import directory_of, join_path, shown

#: The rule of the findings.
RULE = "SEG-17"
Kind: TypeAlias = Literal["swap", "cleaned", "deleted", "log"]
#: First and last offset.
Span: TypeAlias = tuple[int, int]
_WORK = re.compile(r"[0-9]{20}\.log\.(swap|cleaned|deleted)")
#: Also of indexes: a broker compares the offsets of all of them.
_CLEANED = re.compile(r"([0-9]+)\..*\.cleaned")
_LOG_START_OFFSETS = "log-start-offset-checkpoint"
_WHY: dict[Kind, str] = {
    "swap": "a broker deletes this file when it starts, since a swap ended before all of its files had their names",
    "cleaned": "a broker deletes this file when it starts, since a cleaner did not finish it",
    "deleted": "the file is marked as deleted",
    "log": "a broker replaces this segment when it starts, to complete a swap",
}
#: Begins the message of a file of a swap that is read.
_TAKEN = "read in place of other segments:"
#: Listings of a directory in which a broker renames files, before that is an error.
_ATTEMPTS = 3
_SKIPPING = ReadOptions(on_error="skip", experimental=True)
#: Larger than every offset.
_END = 2**63 - 1


def with_swaps(
    directory: str,
    listing: Listing,
    segments_in: Callable[[Listing], list[F]],
    segment_of: Callable[[DirectoryEntry], F],
    findings: list[Finding] | None = None,
) -> list[F]:
    """Return the segments of a directory as a broker has them after its start.

    Args:
        directory: the directory.
        listing: its entries.
        segments_in: returns the segments that a listing names.
        segment_of: returns a file of a listing as a segment.
        findings: gets a finding for each file of interrupted work that has records.

    Raises:
        OSError: if the directory or a file of a swap cannot be read.
    """
    for attempt in range(_ATTEMPTS):
        segments = segments_in(listing)
        if not any(_WORK.fullmatch(file.name) for file in listing.files):
            return segments
        try:
            work = _Work(directory, listing, segments, segment_of)
        except FileNotFoundError:
            # A broker has renamed a file since it was listed.
            if attempt == _ATTEMPTS - 1:
                raise
            listing = list_directory(directory)
            continue
        if findings is not None:
            findings += work.findings()
        return work.segments
    raise AssertionError("unreachable")


def is_taken(finding: Finding) -> bool:
    """Return True for the finding of a file of a swap that is read."""
    return finding.rule == RULE and finding.severity == "info" and finding.message.startswith(_TAKEN)


class _Work(Generic[F]):
    """The interrupted work in one directory.

    Attributes:
        segments: those that are read, in the order of their offsets.
        taken: the files of swaps among them.
        left: the files that are not read.
    """

    def __init__(
        self,
        directory: str,
        listing: Listing,
        segments: Sequence[F],
        segment_of: Callable[[DirectoryEntry], F],
    ) -> None:
        self._directory = directory
        self.left: list[tuple[Kind, F]] = []
        self.taken: list[F] = []
        cleaned = [int(match[1]) for file in listing.files if (match := _CLEANED.fullmatch(file.name))]
        for entry in listing.files:
            if match := _WORK.fullmatch(entry.name):
                kind: Kind = match[1]  # type: ignore[assignment]
                file = segment_of(entry)
                # The files of a swap get their names from the last one to the first one: an earlier one without its name ends it.
                is_taken = kind == "swap" and _base(file) < min(cleaned, default=_END)
                self.taken += [file] if is_taken else []
                self.left += [] if is_taken else [(kind, file)]
        self._deleted = {_base(file) for kind, file in self.left if kind == "deleted"}
        self._ends = {_base(file): _next_offset(file) for file in self.taken}
        # A broker deletes all segments from the first offset of all swaps to the last one, and then renames the files of the swaps.
        first, end = min(self._ends, default=_END), max(self._ends.values(), default=-1)
        replaced = [one for one in segments if first <= _base(one) < end or _base(one) in self._ends]
        self.left += [("log", file) for file in replaced]
        gone = {file.path[:] for file in replaced}
        self.segments = sorted([*(one for one in segments if one.path[:] not in gone), *self.taken], key=_base)

    def findings(self) -> list[Finding]:
        """Return a finding for each file with records, in the order of the files."""
        found = [
            (file, _finding(file, "info", f"{_TAKEN} a broker completes this swap when it starts", self._taken_span(file)))
            for file in self.taken
        ]
        for kind, file in self.left:
            try:
                finding = self._finding_of(kind, file)
            except FileNotFoundError:
                # A broker has deleted it meanwhile.
                continue
            except OSError as error:
                finding = _finding(file, "warning", f"not read: {_WHY[kind]}; the file cannot be opened: {error.strerror or error}", None)
            found += [] if finding is None else [(file, finding)]
        return [finding for _, finding in sorted(found, key=lambda one: one[0].path[:])]

    def _taken_span(self, file: F) -> Span:
        return _base(file), max(self._ends[_base(file)] - 1, _base(file))

    def _finding_of(self, kind: Kind, file: F) -> Finding | None:
        """Return the finding of a file that is not read; None if it has no valid batch."""
        span = _span(file)
        if span is None:
            return None
        missing = self._missing(kind, file, span)
        if missing is not None:
            first, last = missing
            text = f"no other file has offsets {first} to {last}" if last > first else f"no other file has offset {first}"
            return _finding(file, "warning", f"not read: {_WHY[kind]}; {text}", missing)
        is_before = not self.segments or span[1] < max(_base(self.segments[0]), self._log_start_offset)
        text = "its offsets are before the log" if is_before else "the log has its offsets"
        return _finding(file, "info", f"not read: {_WHY[kind]}; {text}", span)

    def _missing(self, kind: Kind, file: F, span: Span) -> Span | None:
        """Return the first and the last offset of valid batches of a file that no segment has; None if there are none."""
        holes = list(self._holes(kind, file, span))
        if not holes:
            return None
        start = self._log_start_offset
        parts = [(max(first, a, start), min(last, b)) for first, last in _batches(file) for a, b in holes]
        found = [(first, last) for first, last in parts if first <= last]
        return (min(first for first, _ in found), max(last for _, last in found)) if found else None

    def _holes(self, kind: Kind, file: F, span: Span) -> Iterator[Span]:
        """Yield the offsets between the first and the last one of a file that no segment has, but those before the first segment."""
        bases = [_base(segment) for segment in self.segments]
        if not bases:
            yield span
        for number in range(max(bisect_right(bases, span[0]) - 1, 0), bisect_right(bases, span[1])):
            segment, is_last = self.segments[number], number + 1 == len(bases)
            end = _END if is_last else bases[number + 1]
            is_cleaned = self._is_cleaned(kind, file, segment)
            if is_cleaned and not is_last:
                continue
            held = [(bases[number], _last_offset(segment))]
            if kind in ("swap", "deleted") and not is_cleaned and _base(file) != bases[number]:
                # Only a file that is no copy of the segment may have offsets that the segment lacks.
                held = sorted(_batches(segment))
            yield from _between(held, max(span[0], bases[number]), min(span[1] + 1, end))

    def _is_cleaned(self, kind: Kind, file: F, segment: F) -> bool:
        """Return True if a file was cleaned into a segment, so that offsets which the segment lacks are no longer needed."""
        if kind == "deleted":
            return segment in self.taken or _base(segment) in self._deleted
        return kind == "log" and segment in self.taken and _base(file) < max(self._ends[_base(segment)], _base(segment) + 1)

    @cached_property
    def _log_start_offset(self) -> int:
        """The log start offset of the partition, if a broker wrote one; otherwise 0."""
        _, sample = self.left[0] if self.left else ("swap", self.taken[0])
        with suppress(OSError):
            rows, _ = read_offset_checkpoint(join_path(directory_of(self._directory), _LOG_START_OFFSETS)) or ([], [])
            return max((offset for *name, offset in rows if name == [sample.topic, sample.partition]), default=0)
        return 0


def _finding(file: PlacedFile, severity: Literal["info", "warning"], text: str, span: Span | None) -> Finding:
    first, last = (None, None) if span is None else span
    return Finding(RULE, severity, text, f"{shown(file.path)}@0", 0, 0, base_offset=first, last_offset=last)


def _base(file: PlacedFile) -> int:
    return file.base_offset or 0


def _next_offset(file: PlacedFile) -> int:
    """Return the offset after the last batch by its header, as a broker finds it; the first offset if there is no batch."""
    try:
        last = SegmentIndex(file.path, _base(file)).last_batch()
    except RecordBatchError:
        return _last_offset(file) + 1
    return _base(file) if last is None else last[2] + 1


def _last_offset(file: PlacedFile) -> int:
    """Return the last offset of the valid batches; that before the first one if there are none."""
    try:
        return log_end(file.path, _base(file), _SKIPPING).next_offset - 1
    except RecordBatchError:
        return _base(file) - 1


def _span(file: PlacedFile) -> Span | None:
    """Return the first and the last offset of the valid batches; None if there are none."""
    try:
        end = log_end(file.path, _base(file), _SKIPPING)
        first = None if end.last is None else SegmentIndex(file.path, _base(file)).first_offset((0, None))
    except RecordBatchError:
        return None
    return None if first is None else (first, max(end.next_offset - 1, first))


def _batches(file: PlacedFile) -> Iterator[Span]:
    """Yield the first and the last offset of each valid batch."""
    end = _base(file)
    with valid_batches(FileSource(file.path), _SKIPPING) as headers:
        for header in headers:
            # A compressed message of magic 0 or 1 has its last offset only.
            yield (end if header.base_offset is None else header.base_offset), header.last_offset
            end = header.last_offset + 1


def _between(held: Sequence[Span], start: int, end: int) -> Iterator[Span]:
    """Yield the ranges of offsets from `start` to before `end` that are in none of the ranges, which are in order."""
    for first, last in held:
        if start < min(first, end):
            yield start, min(first, end) - 1
        start = max(start, last + 1)
    if start < end:
        yield start, end - 1
