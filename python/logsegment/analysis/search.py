"""Find the partitions, segments and batches that contain given offsets, times, keys or headers."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from logsegment._core import ArrowBatch, FileSource, Finding, RecordBatchError
from logsegment._decode import decoded
from logsegment._errors import naming_file
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment._text import camel_case
from logsegment._validate import TORN, damage_in, error_of, validated
from logsegment.log.reader import arranged, in_range
from logsegment.log.segment_lookup import FoundBatch, SegmentLookup
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import is_stored, shown

#: Where a record is; the names are those of `decode`.
_COLUMNS = ("topic", "partition", "offset", "timestampMs", "controlType", "batchBaseOffset", "entryPosition", "indexInEntry")
_FIELDS = [(name, name) for name in _COLUMNS]
_HEADERS = ("headers", "headers")
_NOWHERE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is looked for; all that is said must hold.

    Attributes:
        start_offset: first offset (inclusive).
        end_offset: first offset not wanted (exclusive).
        at: ms; the first record of this time or later in each partition, and no other.
        since: ms; from the first record of this time or later on, the records of this time or later.
        until: ms; up to before the first record of this time or later.
        keys: the key is one of these.
        headers: each is among the record's: a name, and the value if it is not None.
    """

    start_offset: int | None = None
    end_offset: int | None = None
    at: int | None = None
    since: int | None = None
    until: int | None = None
    keys: Sequence[bytes] | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()

    @property
    def is_content(self) -> bool:
        """It must be read of the records themselves, which no index tells."""
        return self.keys is not None or bool(self.headers)


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a record is.

    Attributes:
        path: of its segment.
        topic, partition: as the directory tells.
        offset: of the record.
        timestamp: ms, as it is stored; -1 for none.
        control_type: of a marker, None for data.
        batch_base_offset: of its batch (or message set entry).
        entry_position: where that begins in the file, in bytes.
        index_in_entry: of the record in it, from 0.
    """

    path: str
    topic: str | None
    partition: int | None
    offset: int
    timestamp: int
    control_type: str | None
    batch_base_offset: int
    entry_position: int
    index_in_entry: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counters by name."""
        return {camel_case(name): value for name, value in asdict(self).items()} | {"path": shown(self.path)}


@dataclass(slots=True)
class Counters:
    """What a search has read.

    Attributes:
        partitions: that were asked.
        segments: in them.
        segments_read: of which a log or an index was opened; the names told of the others.
        index_bytes: of the indexes, which are read whole.
        batch_bytes: of the batches that were read for their records.
        batches_read: how many they are; those left out by their headers too, where no look-up led.
        records_read: in them, as far as offsets did not exclude them.
        bytes_walked: of the logs that were passed header by header, since no index led the way. What a look-up reads from the entry of an
            index on is not counted: a few headers, and the batch that proves the entry.
    """

    partitions: int = 0
    segments: int = 0
    segments_read: int = 0
    index_bytes: int = 0
    batch_bytes: int = 0
    batches_read: int = 0
    records_read: int = 0
    bytes_walked: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return the counters by name."""
        return asdict(self)


@dataclass
class Search:
    """Looks for records in one partition after the other.

    Offsets and times are looked up through the indexes; of keys and headers all batches within those bounds are read, with the columns
    that are needed. Of a partition with damage before the wanted records an index may lead past it. That no batch has an offset is only
    taken for true when nothing that is damaged stands where it would be.

    Args:
        wanted: what is looked for.
        read: options of the read.

    Attributes:
        counters (Counters): what was read so far.
        path (str): the segment that is read, also when an error ends the search.
        misnamed (list of (str, Finding)): segments that contradict their names, in which records are found all the same.
        findings (list of (str, Finding)): what was left out with `on_error="skip"`, and tails, each with the path of its segment.

    Example:
        >>> from logsegment.analysis.search import Search, Conditions
        >>> from logsegment.segment_files.discovery import find_segments
        >>> search = Search(Conditions(start_offset=100, end_offset=101))
        >>> [(place.offset, place.entry_position) for place in search.places(find_segments("orders-0"))]
        [(100, ...)]
        >>> search.counters.batches_read
        1

    Source: `LogSegment.translateOffset` and `LogSegment.findOffsetByTimestamp` in Kafka.
    """

    wanted: Conditions
    read: ReadOptions = field(default_factory=ReadOptions)
    counters: Counters = field(default_factory=Counters)
    path: str = ""
    misnamed: list[tuple[str, Finding]] = field(default_factory=list)
    findings: list[tuple[str, Finding]] = field(default_factory=list)

    def places(self, files: Sequence[SegmentFile]) -> Generator[RecordPlace]:
        """Find what is wanted in one partition.

        Args:
            files: its segments in the order of their offsets, as `logsegment.segment_files.discovery.find_segments` gives them.

        Yields:
            The places of the records, in the order of the log.

        Raises:
            RecordBatchError: when bytes on the way cannot be read.
            OSError: when a file cannot be read.
        """
        files = arranged(files, reports=True)
        self.misnamed += ((file.path, file.finding) for file in files if file.finding is not None)
        segments = [CountedSegment(file, self.counters) for file in files]
        self.counters.partitions += 1
        self.counters.segments += len(segments)
        if self.wanted.at is not None:
            first = self._first_at(segments, self.wanted.at)
            yield from [first] if first else []
            return
        start, end = self._bounds(segments)
        for segment in in_range(segments, start, end):
            yield from self._scan(segment, start, end)

    def _bounds(self, segments: Sequence[CountedSegment]) -> tuple[int | None, int | None]:
        """Return the offsets to read from and to read before, with the times looked up."""
        start, end = self.wanted.start_offset, self.wanted.end_offset
        if self.wanted.since is not None:
            first = self._first_at(segments, self.wanted.since)
            start = max(_NOWHERE if first is None else first.offset, start or 0)
        if self.wanted.until is not None and (start is None or start < _NOWHERE):
            behind = self._first_at(segments, self.wanted.until)
            end = end if behind is None else behind.offset if end is None else min(behind.offset, end)
        return start, end

    def _first_at(self, segments: Sequence[CountedSegment], timestamp: int) -> RecordPlace | None:
        """Return the first record at or after a time, markers included, as a broker answers."""
        rows = {"since": timestamp, "until": None, "keys": None, "limit": 1}
        for segment in segments:
            self.path = segment.path
            for start, end in segment.ranges_of_time(timestamp):
                with closing(self._rows(segment, (start, end), (None, None), rows, control=True)) as places:
                    if first := next(places, None):
                        return first
        return None

    def _scan(self, segment: CountedSegment, start: int | None, end: int | None) -> Iterator[RecordPlace]:
        self.path = segment.path
        begin, behind = segment.range_of_offsets(start, end, is_skipping=self.read.skips_damage)
        if start is not None and not self.read.skips_damage and (bytes_of := segment.range_of_hidden(start)):
            met = self._look_through(segment, bytes_of)
            self.findings += ((segment.path, finding) for finding in met if finding.rule == TORN)
        if behind is not None and begin >= behind:
            return
        chosen = {"since": self.wanted.since, "until": self.wanted.until, "keys": self.wanted.keys, "limit": None}
        yield from self._rows(segment, (begin, behind), (start, end), chosen, control=not self.wanted.is_content)

    def _rows(
        self,
        segment: CountedSegment,
        bytes_of: tuple[int, int | None],
        offsets: tuple[int | None, int | None],
        rows: dict[str, Any],
        *,
        control: bool,
    ) -> Generator[RecordPlace]:
        segment.is_read()
        needed = ["key"] * (rows["keys"] is not None) + ["headers"] * bool(self.wanted.headers)
        read = replace(self.read, columns=[*_COLUMNS, *needed], start_offset=offsets[0], end_offset=offsets[1], control=control)
        source = replace(segment.file, finding=None).source(*bytes_of)
        stream = decoded(source, replace(read, topic=segment.file.topic, partition=segment.file.partition))
        try:
            with naming_file(segment.path), stream:
                for batch in stream:
                    yield from self._chosen(segment, batch, rows)
            if not self.read.skips_damage and (torn := next((one for one in stream.findings if one.rule == TORN), None)):
                self._look_through(segment, (torn.position, None))
        finally:
            stats = stream.io_stats
            self.counters.batch_bytes += stats.bytes_read
            self.counters.batches_read += stats.entries_read
            self.counters.records_read += stats.records
            self.findings += ((segment.path, finding) for finding in stream.findings)

    def _look_through(self, segment: CountedSegment, bytes_of: tuple[int, int | None]) -> list[Finding]:
        """Validate skipped bytes, so that damage cannot hide a match; return the other findings.

        Raises:
            RecordBatchError: if damage may hide a match.
            OSError: if the file cannot be read.
        """
        source = FileSource(segment.path, *bytes_of)
        report = validated(source, "headers", self.read)
        self.counters.batch_bytes += report.io_stats["bytes_read"]
        for finding in damage_in(report)[:1]:
            raise error_of(segment.path, finding, replace(self.read, strict_tail=False))
        return report.findings

    def _chosen(self, segment: CountedSegment, batch: ArrowBatch, rows: dict[str, Any]) -> Iterator[RecordPlace]:
        fields = [*_FIELDS, _HEADERS] if self.wanted.headers else _FIELDS
        for line in batch.to_jsonl("base64", fields=fields, rows=rows).splitlines():
            row = json.loads(line)
            if self._has_headers(row.pop("headers", None)):
                yield RecordPlace(segment.path, *(row[name] for name in _COLUMNS))

    def _has_headers(self, headers: list[dict[str, str | None]] | None) -> bool:
        found = headers or []
        return all(
            any(one["key"] == name and (value is None or one["value"] == b64encode(value).decode()) for one in found)
            for name, value in self.wanted.headers
        )


class CountedSegment(SegmentLookup):
    """A segment whose look-ups are counted."""

    def __init__(self, file: SegmentFile, counters: Counters) -> None:
        super().__init__(file)
        self._counters = counters
        self._is_read = False
        self._has_index_bytes = False
        self._found: tuple[int, FoundBatch] | None = None

    def is_read(self) -> None:
        """Count it, once."""
        self._counters.segments_read += not self._is_read
        self._is_read = True

    def range_of_offsets(self, start: int | None, end: int | None, *, is_skipping: bool) -> tuple[int, int | None]:
        """Return the bytes of the batches that may hold the offsets; none if no batch reaches the first of them."""
        if is_of_0_7(self.path) or start is end is None:
            return 0, None
        self.is_read()
        self._count_index()
        if is_skipping:
            return self.valid_range(start, end)
        begin, behind = self.byte_range(start, end)
        is_after_all = self._found is not None and self._found[0] == start and self._found[1][1] is None
        return begin, begin if is_after_all else behind

    def range_of_hidden(self, offset: int) -> tuple[int, int | None] | None:
        """Return the bytes that hold the batch of an offset, if there is one although no header shows it. None if a header does.

        They begin at the last valid batch before the offset to which the index leads, and end at the first batch after the offset, or at
        the end of the file.
        """
        if is_of_0_7(self.path):
            return None
        try:
            position, batch = self.find_offset(offset)
        except RecordBatchError:
            # The decode raises the error.
            return None
        if batch is not None and batch[1] <= offset:
            return None
        return min(position, self.valid_range(offset)[0]), None if batch is None else position

    def ranges_of_time(self, timestamp: int) -> Iterator[tuple[int, int | None]]:
        """Yield the batch that has a record of this time or later by its header, and all after it, should the header be wrong.

        If no header says so, yield the bytes after the last batch.
        """
        if is_of_0_7(self.path):
            return
        self.is_read()
        try:
            position, batch = self.find_timestamp(timestamp)
        except RecordBatchError:
            # The decode raises the error, or skips the damage.
            yield 0, None
            return
        self._counters.bytes_walked += position
        if batch is not None:
            yield position, position + batch[0]
            yield position + batch[0], None
        elif position < self.size:
            yield position, None

    def find_offset(self, offset: int) -> FoundBatch:
        """Find the first batch that ends at or after an offset. A search for one offset asks more than once."""
        if self._found is None or self._found[0] != offset:
            before = self.bytes_walked
            self._found = offset, super().find_offset(offset)
            self._counters.bytes_walked += self.bytes_walked - before
        return self._found[1]

    def _count_index(self) -> None:
        """Count the bytes of the index, once."""
        if self._has_index_bytes:
            return
        self._has_index_bytes = True
        if is_stored(self.path):
            # A size would be one more request to the store; the look-up reads the entries anyway.
            self._counters.index_bytes += 8 * len(self.index.offset_index())
            return
        with suppress(OSError):
            self._counters.index_bytes += os.stat(self.sidecar(".index")).st_size
