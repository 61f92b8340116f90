"""Where records are: the partitions, segments and batches that hold wanted offsets, times, keys or headers."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from logsegment._core import ArrowBatch, FileSource, Finding
from logsegment._decode import decode
from logsegment._errors import naming_file
from logsegment._options import Format, OnError
from logsegment._validate import validate
from logsegment.analysis.counted_segment import CountedSegment, Counters
from logsegment.log.faults import TORN, error_of, faults_of
from logsegment.log.reader import arranged, in_range
from logsegment.segment_files.discovery import SegmentFile

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: Where a record is; the names are those of `decode`.
_COLUMNS = ("topic", "partition", "offset", "timestampMs", "controlType", "batchBaseOffset", "entryPosition", "indexInEntry")
_FIELDS = [(name, name) for name in _COLUMNS]
_HEADERS = ("headers", "headers")
_NOWHERE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Wanted:
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
class Place:
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


@dataclass
class Search:
    """Looks for records in one partition after the other.

    Offsets and times are looked up through the indexes; of keys and headers all batches within those bounds are read, with the columns
    that are needed. Of a partition with damage before the wanted records an index may lead past it. That no batch has an offset is only
    taken for true when nothing that is damaged stands where it would be.

    Args:
        wanted: what is looked for.
        on_error: as in `decode`.
        format: as in `decode`.
        experimental: as in `decode`.
        codecs: as in `decode`.

    Attributes:
        counters (Counters): what was read so far.
        path (str): the segment that is read, also when an error ends the search.
        misnamed (list of (str, Finding)): segments that contradict their names, in which records are found all the same.
        findings (list of (str, Finding)): what was left out with `on_error="skip"`, and tails, each with the path of its segment.

    Example:
        >>> from logsegment.analysis.search import Search, Wanted
        >>> from logsegment.segment_files.discovery import find_segments
        >>> search = Search(Wanted(start_offset=100, end_offset=101))
        >>> [(place.offset, place.entry_position) for place in search.places(find_segments("orders-0"))]
        [(100, ...)]
        >>> search.counters.batches_read
        1

    Source: `LogSegment.translateOffset` and `LogSegment.findOffsetByTimestamp` in Kafka.
    """

    wanted: Wanted
    on_error: OnError = "raise"
    format: Format = "auto"
    experimental: bool = False
    codecs: Registry | None = None
    counters: Counters = field(default_factory=Counters)
    path: str = ""
    misnamed: list[tuple[str, Finding]] = field(default_factory=list)
    findings: list[tuple[str, Finding]] = field(default_factory=list)

    def places(self, files: Sequence[SegmentFile]) -> Generator[Place]:
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
        """The offsets of the times, with those that were given."""
        start, end = self.wanted.start_offset, self.wanted.end_offset
        if self.wanted.since is not None:
            first = self._first_at(segments, self.wanted.since)
            start = max(_NOWHERE if first is None else first.offset, start or 0)
        if self.wanted.until is not None and (start is None or start < _NOWHERE):
            behind = self._first_at(segments, self.wanted.until)
            end = end if behind is None else behind.offset if end is None else min(behind.offset, end)
        return start, end

    def _first_at(self, segments: Sequence[CountedSegment], timestamp: int) -> Place | None:
        """The first record of a time or later, markers too, as a broker answers."""
        rows = {"since": timestamp, "until": None, "keys": None, "limit": 1}
        for segment in segments:
            self.path = segment.path
            for start, end in segment.ranges_of_time(timestamp):
                with closing(self._rows(segment, (start, end), (None, None), rows, control=True)) as places:
                    if first := next(places, None):
                        return first
        return None

    def _scan(self, segment: CountedSegment, start: int | None, end: int | None) -> Iterator[Place]:
        self.path = segment.path
        begin, behind = segment.range_of_offsets(start, end, is_skipping=self.on_error == "skip")
        if start is not None and self.on_error == "raise" and (bytes_of := segment.passed_over(start)):
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
    ) -> Generator[Place]:
        segment.is_read()
        needed = ["key"] * (rows["keys"] is not None) + ["headers"] * bool(self.wanted.headers)
        stream = decode(
            replace(segment._file, finding=None).source(*bytes_of),
            columns=[*_COLUMNS, *needed],
            start_offset=offsets[0],
            end_offset=offsets[1],
            control=control,
            topic=segment.topic,
            partition=segment.partition,
            on_error=self.on_error,
            format=self.format,
            experimental=self.experimental,
            codecs=self.codecs,
        )
        try:
            with naming_file(segment.path), stream:
                for batch in stream:
                    yield from self._chosen(segment, batch, rows)
            if self.on_error == "raise" and (torn := next((one for one in stream.findings if one.rule == TORN), None)):
                self._look_through(segment, (torn.position, None))
        finally:
            stats = stream.io_stats
            self.counters.batch_bytes += stats.bytes_read
            self.counters.batches_read += stats.entries_read
            self.counters.records_read += stats.records
            self.findings += ((segment.path, finding) for finding in stream.findings)

    def _look_through(self, segment: CountedSegment, bytes_of: tuple[int, int | None]) -> list[Finding]:
        """Make sure that nothing hides what is wanted in bytes of which no header tells it; give what else was met there.

        Raises:
            RecordBatchError: when something may.
            OSError: when the file cannot be read.
        """
        source = FileSource(segment.path, *bytes_of)
        report = validate(source, depth="headers", format=self.format, experimental=self.experimental, codecs=self.codecs)
        self.counters.batch_bytes += report.io_stats["bytes_read"]
        for fault in faults_of(report)[:1]:
            raise error_of(segment.path, fault, format=self.format, experimental=self.experimental)
        return report.findings

    def _chosen(self, segment: CountedSegment, batch: ArrowBatch, rows: dict[str, Any]) -> Iterator[Place]:
        fields = [*_FIELDS, _HEADERS] if self.wanted.headers else _FIELDS
        for line in batch.to_jsonl("base64", fields=fields, rows=rows).splitlines():
            row = json.loads(line)
            if self._has_headers(row.pop("headers", None)):
                yield Place(segment.path, *(row[name] for name in _COLUMNS))

    def _has_headers(self, headers: list[dict[str, str | None]] | None) -> bool:
        found = headers or []
        return all(
            any(one["key"] == name and (value is None or one["value"] == b64encode(value).decode()) for one in found)
            for name, value in self.wanted.headers
        )
