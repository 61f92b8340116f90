"""Find the segments and batches that contain records of given offsets, times, keys or headers: `find`."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, islice
from typing import Any, TypeAlias, Unpack

from logsegment._core import ArrowBatch, Finding, FoundSegments, RecordBatchError, SegmentFile, SegmentKeyError, SegmentLookup
from logsegment._decode import decoded
from logsegment._errors import naming_file
from logsegment._options import (
    LogStartOffset,
    OnError,
    PartitionOptions,
    ReadOptions,
    SkippingKeywords,
    Timestamp,
    ensure_offsets,
    milliseconds,
    time_bounds,
)
from logsegment._places import redacted_uri
from logsegment._report import TORN
from logsegment._storage import Keys, StorageOptions
from logsegment._text import camel_case
from logsegment._validate import ensure_undamaged
from logsegment.analysis.results import Results
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, LogSource, inputs_of
from logsegment.partition.reader import Part, PartitionReader, order_by_offsets
from logsegment.segment_files.discovery import Topics

#: The Arrow columns of places.
PLACE_COLUMNS = (
    ("path", "string"),
    ("topic", "string"),
    ("partition", "int32"),
    ("offset", "int64"),
    ("timestamp", "int64"),
    ("controlType", "string"),
    ("batchBaseOffset", "int64"),
    ("entryPosition", "int64"),
    ("indexInEntry", "int32"),
)
#: The columns of `decode` that make a place, after the path.
_COLUMNS = ("topic", "partition", "offset", "timestampMs", "controlType", "batchBaseOffset", "entryPosition", "indexInEntry")
#: No record has an offset as high.
_NO_OFFSET = 2**63 - 1
Key: TypeAlias = bytes | str
#: The name of a header, or its name and value; with None as the value, any value.
Header: TypeAlias = str | tuple[str, bytes | None]


def find(
    source: LogSource,
    *,
    offset: int | None = None,
    start_offset: int | None = None,
    end_offset: int | None = None,
    timestamp: Timestamp | None = None,
    start_timestamp: Timestamp | None = None,
    end_timestamp: Timestamp | None = None,
    key: Key | Sequence[Key] | None = None,
    header: Header | Sequence[Header] | None = None,
    limit: int | None = None,
    on_error: OnError = "raise",
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    log_start_offset: LogStartOffset = "honour",
    observer: Observer | None = None,
    **options: Unpack[SkippingKeywords],
) -> Places:
    """Find the places of the records that meet all conditions.

    Offsets and times are looked up through the indexes. For keys and headers, all batches within the offsets and times are read.

    Args:
        source: a path or URI of a segment, a partition directory or a tree of them; a pattern (`orders-*`); a `Log` or `Segment`; a whole
            `FileSource`; a buffer with the bytes of a segment, whose path begins with `memory://`; or a list of these.
        offset: the record of this offset.
        start_offset: the first offset (inclusive).
        end_offset: the first offset after the range (exclusive).
        timestamp: the first record of each partition at or after this time; no other condition goes with it.
        start_timestamp: records of this time or later.
        end_timestamp: records before this time. Times need not be in order; a record without a timestamp is in no range.
        key: the key, as bytes or text; of several, one of them.
        header: a header name, or a name and a value; of several, all of them.
        limit: the number of places after which the search ends.
        on_error: "raise", or "skip" to search the valid batches past damage.
        topic: search only the partitions of this topic, or of these.
        partition: search only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: private keys of tiered storage by their ids.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        log_start_offset: see `Log`, which has its own.
        observer: is asked about each partition in which the search fails, and gets the findings of each file at the end of the search;
            see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        `Places`, which searches while it is iterated.

    Raises:
        ValueError: if no condition is given, conditions contradict each other, a range starts after its end, an offset is negative, a
            source can be read only once, or there is no such topic or partition.
        FileNotFoundError: if a path does not exist, or contains no segments.
        RecordBatchError: while iterating, if bytes on the way to the records cannot be read.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> (place,) = ls.find("orders-0", offset=100)
        >>> place.offset, place.batch_base_offset <= 100
        (100, True)

    Source: `LogSegment.translateOffset` and `LogSegment.findOffsetByTimestamp` in Kafka.
    """
    if offset is not None:
        if start_offset is not None or end_offset is not None:
            raise ValueError("offset cannot be combined with start_offset and end_offset")
        ensure_offsets(offset, None, ("offset", "end_offset"))
        start_offset, end_offset = offset, offset + 1
    ensure_offsets(start_offset, end_offset)
    at, (since, until) = None if timestamp is None else milliseconds(timestamp), time_bounds(start_timestamp, end_timestamp)
    wanted = Conditions(start_offset, end_offset, at, since, until, _keys(key), _headers(header))
    if wanted == Conditions():
        raise ValueError("find needs a condition; pass an offset, a timestamp, a key or a header")
    if at is not None and wanted != Conditions(at=at):
        raise ValueError("timestamp cannot be combined with other conditions; pass start_timestamp")
    search = Search(wanted, ReadOptions.of(SkippingKeywords, options, on_error=on_error))
    inputs = inputs_of(
        source,
        (storage_options, decryption_keys, layout),
        selection=(topic, partition),
        options=PartitionOptions(log_start_offset=log_start_offset, replica=replica),
    )
    inputs.ensure_positions("find")
    inputs.ensure_segments(options, observer)
    inputs.observed(observer, warns=True)
    return Places(search, inputs, limit, observer)


def _keys(given: Key | Sequence[Key] | None) -> list[bytes] | None:
    if given is None:
        return None
    several = [given] if isinstance(given, (str, bytes)) else given
    return [key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key for key in several]


def _headers(given: Header | Sequence[Header] | None) -> tuple[tuple[str, bytes | None], ...]:
    if given is None:
        return ()
    is_pair = isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], (bytes, type(None)))
    several: Any = [given] if isinstance(given, str) or is_pair else given
    return tuple((header, None) if isinstance(header, str) else header for header in several)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a search; a record must meet all of them.

    Attributes:
        start_offset: first offset (inclusive).
        end_offset: first offset after the range (exclusive).
        at: ms; the first record of each partition at or after this time, and no other.
        since: ms; records at or after this time.
        until: ms; records before this time.
        keys: the key is one of these.
        headers: each is a header of the record: a name, and the value if it is not None.
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
        """Return True if records must be read, since no index contains keys and headers."""
        return self.keys is not None or bool(self.headers)

    def places_in(self, batch: ArrowBatch, path: str) -> Iterator[RecordPlace]:
        """Yield the places of the matching records of a batch of columns of a file."""
        for row in batch.to_pylist(rows={"since": self.since, "until": self.until, "keys": self.keys, "limit": None}):
            if self._has_headers(row.get("headers") or []):
                yield RecordPlace(path, *(row[name] for name in _COLUMNS))

    def _has_headers(self, found: Sequence[dict[str, Any]]) -> bool:
        return all(any(header["key"] == name and value in (None, header["value"]) for header in found) for name, value in self.headers)


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of a record.

    Attributes:
        path: the segment.
        topic, partition: from the name of the directory.
        offset: offset of the record.
        timestamp: ms, as it is stored; -1 for none.
        control_type: type of a marker, None for data.
        batch_base_offset: base offset of its batch (or message set entry).
        entry_position: position of the batch in the file, in bytes.
        index_in_entry: index of the record in the batch, from 0.
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
        """Return the attributes by their names in JSON."""
        return {camel_case(name): value for name, value in asdict(self).items()} | {"path": redacted_uri(self.path)}


@dataclass(slots=True)
class Counters:
    """Counters of what a search has read.

    Attributes:
        partitions: partitions that were searched.
        segments: their segments.
        segments_read: segments of which a log or an index was opened; the names exclude the others.
        index_bytes: bytes of the offset indexes.
        batch_bytes: bytes of the batches that were read for their records.
        batches_read: number of these batches; also those that their headers exclude, where no look-up leads.
        records_read: records in them, unless offsets exclude them.
        bytes_walked: bytes of the logs that were read header by header, without an index. A look-up also reads a few headers after the
            entry of an index and the batch that proves the entry, and the batches of a time; these are not counted.
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
    """Search for records in one partition after the other.

    Offsets and times are looked up through the indexes. For keys and headers, all batches within those bounds are read, with the columns
    that are needed. An index may lead past damage before the wanted records. A search only ends without a match if no damage can hide one.

    Args:
        wanted: the conditions.
        read: options of the read.

    Attributes:
        counters (Counters): what was read so far.
        path (str): the segment that is read, also when an error ends the search.
        misnamed (list of (str, Finding)): segments that contradict their names, in which records are found all the same.
        findings (list of (str, Finding)): damage that was skipped with `on_error="skip"`, and tails, each with the path of its segment.

    Example:
        >>> from logsegment.analysis.find import Search, Conditions
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
        """Find the matching records of one partition.

        Args:
            files: its segments in the order of their offsets, as `logsegment.segment_files.discovery.find_segments` returns them.

        Yields:
            The places of the records, in the order of the log.

        Raises:
            RecordBatchError: if bytes on the way cannot be read.
            OSError: if a file cannot be read.
        """
        files = order_by_offsets(files, reports=True)
        self.misnamed += ((file.path, file.finding) for file in files if file.finding is not None)
        segments = [SegmentLookup(file, remembers=True) for file in files]
        self.counters.partitions += 1
        self.counters.segments += len(segments)
        counts = _LookUpCounts(self.counters)
        try:
            reader = self._reader(segments)
        except RecordBatchError as error:
            self.path = next((segment.path for segment in segments if redacted_uri(segment.path) == error.path), self.path)
            raise
        finally:
            counts.add(segments)
        for segment in segments:
            self._look_past_times(segment)
        start = reader.options.bounds[0]
        if start == _NO_OFFSET:
            return
        for segment, _ in reader.wanted():
            self.path = segment.path
            try:
                has_ended = self._ends_before(segment, start)
                piece = None if has_ended else reader.within(segment).piece()
            finally:
                counts.add([segment])
            if piece is not None and piece.stop != 0:
                counts.read(segment)
                yield from self._read(segment, piece.without_finding().part(None))

    def _look_past_times(self, segment: SegmentLookup) -> None:
        """Validate the bytes after the last header if no header has a wanted time, so that damage cannot hide one.

        Raises:
            RecordBatchError: if damage may hide a match.
            OSError: if the file cannot be read.
        """
        self.path = segment.path
        if segment.end_of_times is not None and segment.end_of_times < segment.size:
            self.look_through(segment, (segment.end_of_times, None))

    def _reader(self, segments: Sequence[SegmentLookup]) -> PartitionReader:
        """Plan the read of a partition, with the times looked up."""
        needed = ["key"] * (self.wanted.keys is not None) + ["headers"] * bool(self.wanted.headers)
        read = replace(
            self.read,
            columns=[*_COLUMNS, *needed],
            start_offset=self.wanted.start_offset,
            end_offset=self.wanted.end_offset,
            control=not self.wanted.is_content,
        )
        if self.wanted.at is None:
            return PartitionReader.plan(segments, read, (self.wanted.since, self.wanted.until))
        first = PartitionReader(segments, read).offset_at(self.wanted.at)
        start, end = (_NO_OFFSET, None) if first is None else (first, first + 1)
        return PartitionReader.plan(segments, replace(read, start_offset=start, end_offset=end, times=(self.wanted.at, None)))

    def _ends_before(self, segment: SegmentLookup, start: int | None) -> bool:
        """Return whether a segment ends before an offset. Bytes in which the offset may be hidden are validated.

        Raises:
            RecordBatchError: if damage may hide the offset.
            OSError: if the file cannot be read.
        """
        hidden = None if start is None or self.read.skips_damage else segment.hidden_range(start)
        if hidden is None:
            return False
        self.look_through(segment, hidden)
        return hidden[1] is None

    def _read(self, segment: SegmentLookup, part: Part) -> Iterator[RecordPlace]:
        stream = decoded(*part)
        try:
            with naming_file(segment.path), stream:
                for batch in stream:
                    yield from self.wanted.places_in(batch, segment.path)
            if not self.read.skips_damage and (torn := next((finding for finding in stream.findings if finding.rule == TORN), None)):
                self.look_through(segment, (torn.position, None))
        finally:
            stats = stream.io_stats
            self.counters.batch_bytes += stats.bytes_read
            self.counters.batches_read += stats.entries_read
            self.counters.records_read += stats.records
            self._add_findings(segment, stream.findings)

    def look_through(self, segment: SegmentLookup, bytes_of: tuple[int, int | None]) -> None:
        """Validate skipped bytes, so that damage cannot hide a match; add a torn tail to the findings.

        Raises:
            RecordBatchError: if damage may hide a match.
            OSError: if the file cannot be read.
        """
        source = segment.file.replaced(finding=None).source(*bytes_of, is_inner=bytes_of[1] is not None)
        report = ensure_undamaged(segment.path, source, self.read)
        self.counters.batch_bytes += report.io_stats["bytes_read"]
        self._add_findings(segment, [finding for finding in report.findings if finding.rule == TORN])

    def _add_findings(self, segment: SegmentLookup, findings: Iterable[Finding]) -> None:
        self.findings += [pair for finding in findings if (pair := (segment.path, finding)) not in self.findings]


class Places(Results[RecordPlace]):
    """The places of records, found while they are iterated.

    Attributes:
        counters (Counters): what was read so far.
    """

    def __init__(self, search: Search, inputs: Inputs, limit: int | None, observer: Observer | None) -> None:
        self._search = search
        self._inputs = inputs
        self._observer = observer or Observer()
        self.counters = search.counters
        super().__init__(self._places(limit))

    @property
    def findings(self) -> list[Finding]:
        """The findings so far: skipped damage, tails, segments that contradict their names, and records below a log start offset."""
        deleted = FoundSegments(self._inputs.files).deleted_records(self._search.wanted.start_offset)
        return [*self._inputs.findings, *deleted, *(finding for _, finding in (*self._search.misnamed, *self._search.findings))]

    def _places(self, limit: int | None) -> Iterator[RecordPlace]:
        """Search all partitions until there are enough places, and give the observer the findings."""
        with closing(self._every_place()) as places:
            yield from islice(places, limit)
        for path, found in groupby([*self._search.misnamed, *self._search.findings], lambda pair: pair[0]):
            self._observer.done(redacted_uri(path), [finding for _, finding in found])

    def _every_place(self) -> Generator[RecordPlace]:
        """Search one partition after the other. The errors of one end the search, unless the observer goes on."""
        for _, files in self._inputs.partitions():
            try:
                with closing(self._search.places(files)) as places:
                    yield from places
            except (OSError, RecordBatchError, SegmentKeyError) as error:
                if not self._observer.failed(redacted_uri(self._search.path), error):
                    raise

    def to_dict(self) -> dict[str, Any]:
        """Return the places, the counters and the findings, ready for JSON."""
        places = list(self._rows())
        findings = [finding.to_dict() for finding in self.findings]
        return {"places": places, "counters": self.counters.to_dict(), "findings": findings}

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return PLACE_COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        return (place.to_dict() for place in self)


class _LookUpCounts:
    """Adds what look-ups in segments have read to the counters of a search."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        #: Bytes walked and bytes of the index of each segment that was counted.
        self._counted: dict[str, tuple[int, int]] = {}

    def add(self, segments: Iterable[SegmentLookup]) -> None:
        """Add what was read since the last time."""
        for segment in segments:
            if segment.index_bytes is not None:
                self.read(segment)
                walked, of_index = self._counted[segment.path[:]]
                self._counters.bytes_walked += segment.bytes_walked - walked
                self._counters.index_bytes += segment.index_bytes - of_index
                self._counted[segment.path[:]] = segment.bytes_walked, segment.index_bytes

    def read(self, segment: SegmentLookup) -> None:
        """Count a segment, once."""
        if segment.path[:] not in self._counted:
            self._counted[segment.path[:]] = 0, 0
            self._counters.segments_read += 1
