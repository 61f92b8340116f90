"""A segment with the files next to it: `Segment`."""

from __future__ import annotations

import mmap as mapping
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from logsegment._core import (
    FileSource,
    RecordStream,
    SegmentFile,
    SegmentLookup,
    Transactions,
    batch_stream,
    decode,
    ensure_log_segment,
    read_leader_epochs,
    read_producer_snapshot,
    read_txn_index,
)
from logsegment._decode import ensure_topic_names, warn_of_other_topics
from logsegment._inspect import Field, inspect
from logsegment._log_paths import SWAP, is_of_0_7
from logsegment._options import (
    EVERY_FORMAT,
    EntryKeywords,
    Isolation,
    ReadKeywords,
    ReadOptions,
    Timestamp,
    milliseconds,
    time_bounds,
)
from logsegment._places import absolute, is_stored
from logsegment._storage import Keys, StorageOptions, reached
from logsegment._typed_values import planned
from logsegment.log.entries import Entries
from logsegment.partition.reader import PartitionReader, committed_transactions, with_neighbour_bounds
from logsegment.segment_files.discovery import find_segments, size_of
from logsegment.segment_files.sidecars import AbortedTransaction, LeaderEpoch, OffsetEntry, ProducerState, Rows, TimeEntry

if TYPE_CHECKING:
    pass


class Segment(Entries):
    """Read one `.log` file with its sidecar files: indexes, producer snapshot, leader epochs, and the other segments of its partition.

    A missing, stale or wrong sidecar file makes a read slower and never changes its rows; `validate` reports it. A read that starts at an
    index entry does not see damage before it. Batches with offsets that contradict the name of the file, or of the next segment, are
    damage (SEG-1).

    Args:
        path: the file, of any name, or its URI in a store. Twenty digits and `.log` are its first offset; its directory has the names of
            topic and partition.
        mmap: map a local file into memory for reads from its first byte on; by default the file is read by position. If another process
            truncates a mapped file, for example a broker that follows a new leader, the operating system kills this process.
        decryption_keys: the RSA private keys of encrypted segments in tiered storage, by their ids; each a file (PKCS#8, PEM or DER)
            or the key itself (PEM text, bytes). They are never shown.
        storage_options: options of the store of a URI; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.

    Attributes:
        path (str): absolute path of the file.
        topic (str or None), partition (int or None): from the name of the directory.
        base_offset (int or None): from the name of the file.

    Raises:
        OSError: if the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> segment = ls.Segment("payments-0/00000000000000000000.log")
        >>> segment.records(columns=["offset"], start_offset=10, end_offset=13).read_all().num_rows
        3

    Source: `LogSegment`, `OffsetIndex`, `TimeIndex` and `TransactionIndex` in Kafka's storage.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | SegmentFile,
        *,
        mmap: bool = False,
        decryption_keys: Keys | None = None,
        storage_options: StorageOptions | None = None,
        layout: str | None = None,
    ) -> None:
        if not isinstance(mmap, bool):
            raise ValueError(f"mmap must be True or False, not {mmap!r}")
        if isinstance(path, SegmentFile):
            self._file = path
        else:
            (self._file,) = find_segments(_file(reached(path, storage_options), decryption_keys, layout))
        self._lookup = SegmentLookup(self._file)
        self._files, self._paths, self.left_out, self._log_start_findings = [self._file], [], [], []
        self._mmap = mmap

    @property
    def path(self) -> str:
        """Return the absolute path of the file."""
        return self._file.path

    @property
    def size(self) -> int:
        """Return the current size of the file in bytes.

        Raises:
            OSError: if there is no such file.
        """
        return size_of(self._file)

    @property
    def topic(self) -> str | None:
        """Return the topic of the directory's name, or None."""
        return self._file.topic

    @property
    def partition(self) -> int | None:
        """Return the partition of the directory's name, or None."""
        return self._file.partition

    @property
    def base_offset(self) -> int | None:
        """Return the base offset of the file's name, or None."""
        return self._file.base_offset

    def records(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        start_timestamp: Timestamp | None = None,
        end_timestamp: Timestamp | None = None,
        isolation: Isolation = "read_uncommitted",
        **options: Unpack[ReadKeywords],
    ) -> RecordStream:
        """Decode records; read only the batches that may have the requested offsets.

        With `on_error="skip"` all valid batches between two index entries are read, since a damaged header hides the next one. A
        time is then looked up in valid batches, and all bytes before the batch are read.

        Args:
            start_offset: first offset to return (inclusive).
            end_offset: end of the offsets to return (exclusive).
            start_timestamp: start at the first record of this time or later, as `offset_for_timestamp` finds it in a valid log.
            end_timestamp: records before this time, wherever they are; `start_timestamp` too is then compared with each record, and a
                record without a timestamp is in no range. The read goes on to the end of the log, unless the headers of all later batches
                give the times of all records: LogAppendTime, or batches of one record.
            isolation: see `decode`; the markers of the whole partition count.
            options: options of records; see `decode`.

        Returns:
            A `RecordStream` with topic and partition of the directory.

        Raises:
            RecordBatchError: from the stream, as in `decode`. The text of an error starts with the file, which is also its `path`.

        Example:
            >>> import logsegment as ls
            >>> segment = ls.Segment("payments-0/00000000000000000000.log")
            >>> segment.records(columns=["offset"], isolation="read_committed").read_all().num_rows
            9
        """
        read = ReadOptions.of(ReadKeywords, options, isolation=isolation, start_offset=start_offset, end_offset=end_offset)
        ensure_topic_names(read, [self._file])
        warn_of_other_topics(read, [self.topic])
        read = planned(read, [(self.topic, self._file.source())])
        reader = PartitionReader.plan([self._placed(read)], read, time_bounds(start_timestamp, end_timestamp))
        source, wanted = reader.part()
        return decode(self._mapped(source), wanted, file=source)

    def inspect(self, *, at: int | None = None, offset: int | None = None, **options: Any) -> Field:
        """Show one entry field by field, as `logsegment.inspect` does; find an offset through the `.index`.

        Args:
            at: byte position of the entry in the file; the first byte by default.
            offset: the first entry that ends at or after this offset.
            options: as in `logsegment.inspect`.

        Returns:
            A `Field`.

        Raises:
            RecordBatchError, ValueError: as in `logsegment.inspect`.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").inspect(offset=12)["baseOffset"].value
            12
        """
        if offset is None or at is not None or is_of_0_7(self._file.path):
            return inspect(FileSource(self.path), at=at, offset=offset, **options)
        position, batch = self._lookup.find_offset(offset)
        if batch is None:
            raise ValueError(f"no entry ends at or after offset {offset}")
        return inspect(FileSource(self.path), at=position, **options)

    def offset_for_timestamp(
        self,
        timestamp: Timestamp,
        *,
        start_offset: int | None = None,
        **options: Unpack[EntryKeywords],
    ) -> int | None:
        """Return the offset of the first record with this timestamp or a later one, or None.

        Args:
            timestamp: milliseconds since the epoch, or an aware datetime.
            start_offset: ignore records before this offset, such as deleted records.
            options: options of entries; see `decode`. They are for the batch that contains the record.

        Raises:
            RecordBatchError: if a batch before the record cannot be read.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").offset_for_timestamp(0)
            0

        Source: `LogSegment.findOffsetByTimestamp` in Kafka.
        """
        read = ReadOptions.of(EntryKeywords, options, start_offset=start_offset)
        return PartitionReader([self._placed(read)], read).offset_at(milliseconds(timestamp))

    def next_offset(self) -> int | None:
        """Return the offset after the last complete batch, the base offset if there is none, or None if headers cannot be read.

        Raises:
            OSError: if the file cannot be read.
        """
        return self._lookup.next_offset()

    @cached_property
    def offset_index(self) -> Rows[OffsetEntry]:
        """Return the entries of the `.index`; empty if the file is missing. `findings` has the errors of the file."""
        return Rows(OffsetEntry, self._lookup.offset_index(), self._lookup.findings_of(".index"))

    @cached_property
    def time_index(self) -> Rows[TimeEntry]:
        """Return the entries of the `.timeindex`; empty if the file is missing."""
        return Rows(TimeEntry, self._lookup.time_index(), self._lookup.findings_of(".timeindex"))

    @cached_property
    def aborted_transactions(self) -> Rows[AbortedTransaction]:
        """Return the transactions with an ABORT marker in the segment: from a valid `.txnindex`, otherwise from the markers.

        Markers of magic 3 count whatever `format` says, as in a `.txnindex`: no records are read.
        """
        return aborted_transactions(self._file, self._file.siblings, self._ended_here)

    def _ended_here(self, segments: Sequence[SegmentFile]) -> Transactions:
        """Return the transactions of the partition up to the end of the segment."""
        first = self.base_offset or 0
        before = [segment for segment in segments if (segment.base_offset or 0) <= first]
        return committed_transactions(before, EVERY_FORMAT)

    @cached_property
    def producer_snapshot(self) -> Rows[ProducerState]:
        """Return the producers and their open transactions before the segment, from its `.snapshot`; empty if the file is missing."""
        # A snapshot is named by an offset, also where tiered storage adds an id to the names of segments.
        named = self.base_offset is not None
        path = os.path.join(self._file.directory, f"{self.base_offset:020d}.snapshot") if named else sidecar(self.path, ".snapshot")
        rows, findings = read_producer_snapshot(path, self.base_offset or 0) or ([], [])
        return Rows(ProducerState, rows, findings)

    @cached_property
    def leader_epochs(self) -> Rows[LeaderEpoch]:
        """Return the leader epochs of the partition, from its `leader-epoch-checkpoint`; empty if the file is missing."""
        rows, findings = read_leader_epochs(os.path.join(self._file.directory, "leader-epoch-checkpoint")) or ([], [])
        return Rows(LeaderEpoch, rows, findings)

    def __repr__(self) -> str:
        return f"Segment({self.path!r})"

    def _batch_stream(self, options: ReadOptions) -> RecordStream:
        source, options = PartitionReader([self._placed(options)], options).part()
        return batch_stream(self._mapped(source), options, file=source)

    def _placed(self, options: ReadOptions) -> SegmentLookup:
        """Return the look-up of the segment with the offsets that it may hold now."""
        return self._lookup.of(with_neighbour_bounds(self._file, reports=options.skips_damage))

    def _mapped(self, source: FileSource) -> Any:
        """Return the memory of a file that is read from its first byte on, if it is wanted; otherwise the file."""
        path = str(source.path)
        if self._mmap and source.start == 0 and not is_of_0_7(path) and not is_stored(path):
            with open(path, "rb") as opened:
                if os.fstat(opened.fileno()).st_size:
                    mapped = mapping.mmap(opened.fileno(), 0, access=mapping.ACCESS_READ)
                    return mapped if source.end is None else memoryview(mapped)[: source.end]
        return source


def aborted_transactions(
    file: SegmentFile, partition: Callable[[], Sequence[SegmentFile]], known_of: Callable[[Sequence[SegmentFile]], Transactions]
) -> Rows[AbortedTransaction]:
    """Return the transactions whose ABORT markers are in a segment.

    Args:
        file: the segment.
        partition: returns the segments of the partition.
        known_of: returns the transactions of segments; it is called if there is no valid `.txnindex`.

    Raises:
        OSError: if a file cannot be read.
    """
    if is_of_0_7(file.path):
        return Rows(AbortedTransaction, [])
    found = read_txn_index(sidecar(file.path, ".txnindex"))
    if found is not None and not found[1]:
        return Rows(AbortedTransaction, found[0])
    segments = partition()
    first = file.base_offset or 0
    later = [segment.base_offset for segment in segments if segment.base_offset is not None and segment.base_offset > first]
    last = min(later, default=2**63)
    rows = [(*aborted, None) for aborted in known_of(segments).aborted if first <= aborted[2] < last]
    return Rows(AbortedTransaction, rows, found[1] if found else [])


def sidecar(path: str, suffix: str) -> str:
    """Return the path of a file next to a log, which has the mark of a swap if the log has it."""
    mark = SWAP if path.endswith(SWAP) else ""
    return os.path.splitext(path.removesuffix(mark))[0] + suffix + mark


def _file(path: str | os.PathLike[str], keys: Keys | None, layout: str | None) -> str:
    place = absolute(path)
    if not is_stored(place) and os.path.isdir(place):
        ensure_log_segment(place)
    return absolute(reached(place, None, keys, layout))
