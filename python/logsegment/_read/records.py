"""Read the records of many files: `read_records`."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from logsegment._core import ArrowBatch, SegmentKeyError, Transactions, UpcomingFiles, scan_transactions
from logsegment._decode import decoded, other_topics, warn_of_other_topics
from logsegment._errors import naming_file
from logsegment._options import (
    Isolation,
    LogStartOffset,
    PartitionOptions,
    ReadKeywords,
    ReadOptions,
    Timestamp,
    time_bounds,
)
from logsegment._read.reader import FileRead, LogReader
from logsegment._storage import Keys, StorageOptions
from logsegment._typed_values import planned
from logsegment.inputs.input_segment import InputSegment, in_range, opened, partitions
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, inputs_of
from logsegment.partition.reader import Part, PartitionReader
from logsegment.segment_files.discovery import Topics

#: Segments that the core may open before they are read.
MOST_AHEAD = 4
#: The bytes of a segment that are read first for its last records.
TAIL_BYTES = 1 << 20


def read_records(
    source: Any,
    *,
    start_offset: int | None = None,
    end_offset: int | None = None,
    start_timestamp: Timestamp | None = None,
    end_timestamp: Timestamp | None = None,
    limit: int | None = None,
    tail: int | None = None,
    isolation: Isolation = "read_uncommitted",
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    log_start_offset: LogStartOffset = "honour",
    observer: Observer | None = None,
    **options: Unpack[ReadKeywords],
) -> LogReader:
    """Read the records of many files, one file after the other, in bounded memory.

    `Log.records` reads the same records as one Arrow stream. This function also reads streams, returns the last records, and reports what
    it reads of each file.

    Args:
        source: what the command `cat` takes: files, partition directories, trees, patterns (`orders-*`) and URIs; a `Log` or `Segment`;
            buffers; a binary file object, which is read front to back; or a list of these.
        start_offset: first offset to return (inclusive), in each partition.
        end_offset: end of the offsets to return (exclusive), in each partition.
        start_timestamp: only records of this time or later, wherever they are. A record without a timestamp is in no range.
        end_timestamp: only records before this time.
        limit: largest number of records.
        tail: return the last records of each partition, this many. They are read from the end of the log, and kept in memory.
        isolation: see `decode`; "read_committed" is right across the borders of segments.
        topic: read only the partitions of this topic, or of these. If no directory names a topic, this names the topic of the records.
        partition: read only partitions of this number, likewise.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        log_start_offset: see `Log`, which has its own.
        observer: is called before each file, gets a `FileRead` after each part of it, and with `on_error="skip"` is asked about each file
            whose key is missing; see `Observer`.
        options: options of records; see `decode`.

    Returns:
        A `LogReader` of records.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: while iterating, if a file cannot be read.
        RecordBatchError: while iterating, as in `decode`. The text of an error starts with the file, which is also its `path`.
        ValueError: if an argument is invalid, a range starts after its end, or there is no such topic or partition.

    Example:
        >>> import logsegment as ls
        >>> [row["offset"] for row in ls.read_records("orders-0", columns=["offset"], tail=2).to_pylist()]
        [238, 239]
    """
    if limit is not None and tail is not None:
        raise ValueError("only one of limit (first records) and tail (last records) can be given")
    read = ReadOptions.of(ReadKeywords, options, isolation=isolation, start_offset=start_offset, end_offset=end_offset)
    times = time_bounds(start_timestamp, end_timestamp)
    inputs = inputs_of(
        source,
        (storage_options, decryption_keys, layout),
        selection=(topic, partition),
        options=PartitionOptions(log_start_offset=log_start_offset, replica=replica),
    )
    inputs.observed(observer, warns=True)
    inputs.segments = in_range(inputs.segments, start_offset, end_offset)
    read = typed_read(read, inputs, warns=observer is None)
    if limit is not None:
        read = replace(read, batch_size=max(1, min(read.batch_size, limit)))
    with decoded(b"", read) as nothing:
        schema = nothing.schema
    work = _Reading(read, times, observer or Observer(), left=limit)
    batches = work.first_records(inputs.segments) if tail is None else work.last_records(inputs.segments, tail)
    return LogReader(schema, batches, notes_of(read, [segment.topic for segment in inputs.segments]))


def typed_read(read: ReadOptions, inputs: Inputs, *, warns: bool) -> ReadOptions:
    """Return the options of a read with the schemas of its keys and values, so that no later read looks for them.

    Args:
        read: options of the read.
        inputs: all that is read.
        warns: warn of topics that are not internal, if records of internal topics are decoded.

    Raises:
        ValueError: if schemas are missing or invalid, or a topic is not known.
        OSError: if a file cannot be read.
    """
    ensure_topics(read, [(segment.name, segment.topic) for segment in inputs.segments])
    if warns:
        warn_of_other_topics(read, (segment.topic for segment in inputs.segments), stacklevel=4)
    places = [(segment.topic, segment.path if segment.file is None else segment.file.source()) for segment in inputs.segments]
    return replace(planned(read, places), values="raw", key_values="raw", schemas=None, reader_schema=None)


def ensure_topics(read: ReadOptions, topics: Iterable[tuple[str, str | None]]) -> None:
    """Raise if records are decoded whose topic is not known, instead of returning null for all of them. Control records need no topic.

    Args:
        read: options of the read.
        topics: names of files, and the topic of each.

    Raises:
        ValueError: for the first of them.
    """
    unknown = next((name for name, topic in topics if topic is None), None)
    if read.has_internal and not read.control and unknown is not None:
        raise ValueError(f'internal: unknown topic of {unknown}; pass topic="__consumer_offsets", for example')


def notes_of(read: ReadOptions, topics: Sequence[str | None]) -> list[str]:
    """Return what to know of a read whose records are not all of internal topics."""
    if not read.has_internal:
        return []
    if read.control:
        text = 'the topic is not known: `internal` is null except in control records; pass topic="__cluster_metadata", for example'
        return [text] if None in topics else []
    others = other_topics(topics)
    return [] if others is None else [others]


@dataclass
class _Reading:
    """The read of many segments.

    Attributes:
        read: options of the read, the same for every segment but for its place.
        times: bounds of the timestamps, in ms.
        observer: follows the read.
        left: the number of records that are still needed; None for all.
        known: the transactions of each partition.
    """

    read: ReadOptions
    times: tuple[int | None, int | None]
    observer: Observer
    left: int | None = None
    known: dict[str, Transactions] = field(default_factory=dict)
    upcoming: UpcomingFiles = field(default_factory=UpcomingFiles)

    def first_records(self, segments: Sequence[InputSegment]) -> Generator[ArrowBatch]:
        """Yield the records of the segments up to the limit."""
        bounds = (*self.times, self.read.start_offset, self.read.end_offset, self.left)
        with closing(self._batches(segments, reads_all=all(bound is None for bound in bounds))) as batches:
            yield from filter(None, batches)

    def last_records(self, segments: Sequence[InputSegment], most: int) -> Generator[ArrowBatch]:
        """Yield the last records of each partition."""
        for partition in partitions(segments):
            yield from self._last_batches(partition, most)

    def _last_batches(self, segments: Sequence[InputSegment], most: int) -> deque[ArrowBatch]:
        """Return the last records of a partition, whose parts are read from the last one to the first one."""
        kept: deque[ArrowBatch] = deque()
        part: deque[ArrowBatch] = deque()
        found = 0
        with closing(self._batches(segments[::-1], is_backward=True)) as batches:
            for batch in batches if most else ():
                if batch is not None:
                    part.append(batch)
                    found += batch.num_rows
                    while found - part[0].num_rows >= most:
                        found -= part.popleft().num_rows
                    continue
                if found > most:
                    part[0] = part[0].slice(found - most)
                most -= min(most, found)
                kept.extendleft(reversed(part))
                part.clear()
                found = 0
                if not most:
                    break
        return kept

    def _batches(
        self, segments: Sequence[InputSegment], *, reads_all: bool = False, is_backward: bool = False
    ) -> Generator[ArrowBatch | None]:
        """Yield the batches of segments in this order, and None at the end of each part of a segment."""
        for number, segment in enumerate(segments):
            if self.left == 0:
                return
            self.observer.begin(segment.name, segment.size)
            # A reader that looks at the first segment may need no more.
            if reads_all and number > 0:
                self._expect(segments[number : number + MOST_AHEAD])
            try:
                with naming_file(segment.name):
                    yield from self._of_segment(segment, is_backward=is_backward)
            except SegmentKeyError as error:
                if not self.read.skips_damage or not self.observer.failed(segment.name, error):
                    raise

    def _of_segment(self, segment: InputSegment, *, is_backward: bool) -> Iterator[ArrowBatch | None]:
        with self._opened(segment, is_backward=is_backward) as parts:
            for source, options in parts:
                with decoded(source, replace(options, times=self.times), upcoming=self.upcoming) as stream:
                    for batch in stream:
                        yield self._needed(batch)
                        self.observer.read(stream.io_stats.bytes_read)
                        if self.left == 0:
                            break
                    found = FileRead(segment.name, segment.topic, segment.partition, stream, stream.findings, options.transactions)
                    self.observer.done(segment.name, found)
                yield None
                if self.left == 0:
                    return

    def _needed(self, batch: ArrowBatch) -> ArrowBatch:
        """Return the records of a batch that are still needed."""
        if self.left is None:
            return batch
        batch = batch.slice(0, self.left)
        self.left -= batch.num_rows
        return batch

    def _expect(self, segments: Sequence[InputSegment]) -> None:
        """Let the core open segments of stores while others are read."""
        files = [segment.file.source() for segment in segments if segment.file is not None and segment.is_regular and segment.part is None]
        self.upcoming.expect(files)

    @contextmanager
    def _opened(self, segment: InputSegment, *, is_backward: bool) -> Iterator[Iterable[tuple[Any, ReadOptions]]]:
        """Open the needed bytes of a segment; yield them with the options of their decode, backward in pieces from the last one on."""
        # A directory has the segments of one partition, but those of Kafka 0.7 have no transactions.
        place = segment.path if segment.base_offset is None or segment.is_of_0_7 else segment.directory
        read = replace(self.read, topic=segment.topic, partition=segment.partition, transactions=self.known.get(place))
        if segment.file is not None and segment.is_regular:
            # Headers show which batches end before the first time; the others are filtered by record.
            reader = PartitionReader.of([segment.file], read, self.times[0])
            if reader.transactions is not None:
                self.known.setdefault(place, reader.transactions)
            yield parts_from_end(reader, TAIL_BYTES) if is_backward else [reader.part()]
            return
        is_committed = read.isolation == "read_committed"
        with opened(segment, is_read_twice=is_committed) as source:
            yield [(source, replace(read, transactions=scan_transactions([source], read) if is_committed else None))]


def parts_from_end(reader: PartitionReader, step: int) -> Iterator[Part]:
    """Yield the bytes of the only segment of a reader from the last ones to the first ones, each with its options.

    Args:
        reader: the reader.
        step: about the bytes of the last part; each part is about twice as long as the one after it.

    Raises:
        OSError: if a file cannot be read.
    """
    piece = reader.piece()
    while (cut := piece.cut_before_end(step)) is not None:
        piece, last = cut
        yield last.part(reader.transactions)
        step *= 2
    yield piece.part(reader.transactions)
