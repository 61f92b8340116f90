"""List the valid and the lost ranges of a segment: offsets and bytes, by its headers and findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

from logsegment._core import BatchHeader, FileSource, Finding, batch_headers, decode, header_totals
from logsegment._decode import batch_stream
from logsegment._log_paths import object_name
from logsegment._options import ReadOptions
from logsegment._salvage import LostRange
from logsegment._validate import SWALLOWED, Report, is_damage, is_experimental
from logsegment.cli.inputs import InputSegment
from logsegment.stores.uri import uncut_name

#: Damaged places after which the valid batches between them are no longer listed; each costs a look at the file.
MOST_PLACES = 10_000
#: Swallowed entries after which the search ends; each costs a validation of the bytes after it.
MOST_SWALLOWED = 8
#: First byte, the byte after the last one, and the rule of the first finding.
Place: TypeAlias = tuple[int, int, str]


@dataclass
class ValidRun:
    """Batches that follow each other without damage; offsets are those of the first and of the last record's place."""

    first_offset: int
    last_offset: int
    batches: int = 0
    records: int = 0


@dataclass
class Survey:
    """The whole of a segment. `is_complete` is False when there was too much damage to look at every place."""

    valid: list[ValidRun] = field(default_factory=list)
    lost: list[LostRange] = field(default_factory=list)
    is_complete: bool = True

    @property
    def batches(self) -> int:
        """Return the number of valid batches."""
        return sum(run.batches for run in self.valid)

    @property
    def records(self) -> int:
        """Records in intact batches, as their headers count them."""
        return sum(run.records for run in self.valid)

    @property
    def lost_bytes(self) -> int:
        """Bytes that cannot be read."""
        return sum(place.length for place in self.lost)


def survey(path: str, report: Report, validate_from: Callable[[int], Report], **reading: Any) -> Survey:
    """Look at the headers of everything that validation did not find damaged; nothing is decompressed.

    Args:
        path: a regular file.
        report: of its validation. Headers that it added up are not read again when nothing is damaged.
        validate_from: validates what stands from a position on.
        reading: `format`, `experimental` and `codecs` of `logsegment.batch_stream`.
    """
    places, is_complete = _damaged(report, validate_from)
    if not is_complete or len(places) > MOST_PLACES:
        return Survey(lost=[LostRange(start, end - start, rule, None, None) for start, end, rule in places], is_complete=False)
    if any(map(is_experimental, report.findings)):
        # Their headers have offsets, which were not added up.
        reading = reading | {"experimental": True}
    elif not places and report._totals:
        return Survey(valid=[ValidRun(*report._totals)])
    found = Survey()
    begin = 0
    for start, end, rule in places:
        _look(found, path, begin, start, reading)
        found.lost.append(LostRange(start, end - start, rule, _last(found), None))
        begin = end
    _look(found, path, begin, None, reading)
    return found


def _damaged(report: Report, validate_from: Callable[[int], Report]) -> tuple[list[Place], bool]:
    """Return the byte ranges that cannot be read, adjacent ranges joined, and whether these are all."""
    places: list[Place] = []
    for _ in range(MOST_SWALLOWED):
        # What nobody looked into is whole.
        suspects = [found for found in report.findings if _is_damage(report, found)]
        # Findings of which there are too many are only counted, and take no bytes.
        is_complete = all(found.length for found in suspects)
        swallowed = next((found for found in suspects if found.rule == SWALLOWED and found.length), None)
        end = swallowed.position + swallowed.length if swallowed else None
        places += [(one.position, one.position + one.length, one.rule) for one in suspects if end is None or one.position < end]
        if end is None or not is_complete:
            return _joined(places), is_complete
        # A reader ends at an entry that is longer than the input, so the bytes after it are validated separately.
        report = validate_from(end)
    return _joined(places), False


def _is_damage(report: Report, found: Finding) -> bool:
    """Return whether a finding is damage. A torn last entry is not, while a broker may still write the rest of it."""
    return is_damage(found, has_torn=found.severity == "warning") and not report._is_unopened(found)


def _joined(ranges: Sequence[Place]) -> list[Place]:
    joined: list[Place] = []
    for start, end, rule in sorted(ranges):
        if joined and start <= joined[-1][1]:
            first, last, own = joined[-1]
            joined[-1] = (first, max(end, last), own)
        else:
            joined.append((start, end, rule))
    return joined


def _look(found: Survey, path: str, start: int, end: int | None, reading: dict[str, Any]) -> None:
    """Add what stands in a range that begins and ends where an entry does."""
    if start == end:
        return
    run: ValidRun | None = None
    for first, last, batches, records in _headers(path, start, end, reading):
        if run is None:
            run = ValidRun(first, last)
            found.valid.append(run)
            _bound_lost(found, first)
        run.first_offset = min(run.first_offset, first)
        run.last_offset = max(run.last_offset, last)
        run.batches += batches
        run.records += records


def _bound_lost(found: Survey, first: int) -> None:
    for index in range(len(found.lost) - 1, -1, -1):
        place = found.lost[index]
        if place.before_offset is not None:
            return
        found.lost[index] = replace(place, before_offset=first)


def _last(found: Survey) -> int | None:
    return found.valid[-1].last_offset if found.valid else None


def _headers(path: str, start: int, end: int | None, reading: dict[str, Any]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the first and last offset, the number of entries and of records of consecutive entries."""
    with batch_stream(FileSource(path, start, end), check_crc=False, on_error="skip", unreadable="skip", **reading) as stream:
        for batch in stream:
            totals = header_totals(batch)
            if totals:
                first, last, records = totals
                yield first, last, batch.num_rows, records
                continue
            for header in batch_headers(batch):
                if header.base_offset is None or header.count is None:
                    yield _decompressed(path, header, reading)
                else:
                    yield header.base_offset, header.last_offset, 1, header.count


def _decompressed(path: str, header: BatchHeader, reading: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return the same of a compressed message whose header does not contain its offsets and their number (L8-28)."""
    source = FileSource(path, header.position, header.position + header.size)
    options = ReadOptions(columns=("offset",), check_crc=False, on_error="skip", unreadable="skip", **reading)
    offsets = [row["offset"] for row in decode(source, options).read_all().to_pylist()]
    first = min(offsets, default=header.last_offset) if header.base_offset is None else header.base_offset
    return first, header.last_offset, 1, len(offsets)


def border_findings(before: Survey, segment: InputSegment, survey: Survey) -> Iterator[Finding]:
    """Yield the findings between a segment and the one before it, if both are valid there.

    Kafka uploads no segment of a compacted topic, so that offsets which are missing between two uploads are a warning.
    """
    is_known = before.valid and survey.valid and not any(place.before_offset is None for place in before.lost)
    if segment.base_offset is None or not is_known or (survey.lost and survey.lost[0].position == 0):
        return
    last, first = before.valid[-1].last_offset, survey.valid[0].first_offset
    if first <= last:
        yield Finding("ORD-1", "warning", f"the previous segment ends at offset {last}", "baseOffset", 0, 0, base_offset=first)
    elif last + 1 < segment.base_offset:
        is_upload = object_name(os.path.basename(uncut_name(segment.path))) is not None
        why = "an upload is missing" if is_upload else "usual in a compacted topic, otherwise a segment is missing"
        text = f"offsets {last + 1} to {segment.base_offset - 1} are missing before the segment: {why}"
        severity = "warning" if is_upload else "info"
        yield Finding("ORD-3", severity, text, "baseOffset", 0, 0, base_offset=last + 1, last_offset=segment.base_offset - 1)


def previous_segments(segments: list[InputSegment]) -> dict[str, str]:
    """Return the path of the segment before each segment that follows another one in its directory."""
    ordered = sorted((one for one in segments if one.base_offset is not None), key=lambda one: (one.directory, one.base_offset))
    return {
        later.path: one.path
        for one, later in pairwise(ordered)
        if (one.partition is not None or one.is_listed) and (one.directory, one.partition) == (later.directory, later.partition)
    }
