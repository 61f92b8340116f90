"""A segment with the files beside it: `Segment`."""

from __future__ import annotations

import errno
import mmap as mapping
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Unpack

from logsegment._core import (
    FileSource,
    Finding,
    RecordStream,
    SegmentIndex,
    Transactions,
    batch_stream,
    read_leader_epochs,
    read_producer_snapshot,
    read_txn_index,
)
from logsegment._core import decode as core_decode
from logsegment._decode import ensure_topic_names, warn_of_other_topics
from logsegment._errors import naming_file
from logsegment._inspect import Field, inspect
from logsegment._options import EntryKeywords, Isolation, ReadKeywords, ReadOptions, Timestamp, milliseconds
from logsegment.log.entries import Entries
from logsegment.log.neighbours import committed_transactions
from logsegment.log.ranges import Ranges
from logsegment.log.reader import alone
from logsegment.log.time_lookup import bounds
from logsegment.log.valid_times import first_late, time_columns
from logsegment.segment_files.discovery import SegmentFile, find_segments, segments_beside
from logsegment.segment_files.sidecars import AbortedTransaction, LeaderEpoch, OffsetEntry, ProducerState, Rows, TimeEntry
from logsegment.stores.uri import absolute, is_stored, shown
from logsegment.tiered.keys import Keys
from logsegment.tiered.uri import tiered


class Segment(Ranges, Entries):
    """One `.log` file with its neighbours: indexes, producer snapshot, leader epochs, and the other segments of its partition.

    Sidecar files are hints: one that is missing, stale or wrong makes a read slower and never changes its rows; `validate` reports it.
    Damage of the log before the wanted offsets may go unseen when an index leads past it. Batches whose offsets contradict the name of
    the file, or that of the next segment, are damage (SEG-1).

    Args:
        path: the file, of any name, or its URI in a store. Twenty digits and `.log` tell its first offset, its directory tells topic and
            partition.
        mmap: map a local file into memory for reads from its first byte on; by default the file is read by position. If another
            process truncates a mapped file, for example a broker that follows a new leader, the operating system kills this process.
        decryption_keys: the RSA private keys of encrypted segments in tiered storage, by their ids; each a file (PKCS#8, PEM or DER)
            or the key itself (PEM text, bytes). They are never shown.

    Attributes:
        path (str), topic (str or None), partition (int or None), base_offset (int or None): as the names tell.

    Raises:
        OSError: when the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> segment = ls.Segment("payments-0/00000000000000000000.log")
        >>> segment.records(columns=["offset"], start_offset=10, end_offset=13).read_all().num_rows
        3

    Source: `LogSegment`, `OffsetIndex`, `TimeIndex` and `TransactionIndex` in Kafka's storage.
    """

    def __init__(self, path: str | os.PathLike[str] | SegmentFile, *, mmap: bool = False, decryption_keys: Keys | None = None) -> None:
        if not isinstance(mmap, bool):
            raise ValueError(f"mmap must be True or False, not {mmap!r}")
        (self._file,) = [path] if isinstance(path, SegmentFile) else find_segments(_file(path, decryption_keys))
        self._mmap = mmap

    @property
    def path(self) -> str:
        """Absolute path of the file."""
        return self._file.path

    @property
    def topic(self) -> str | None:
        """Told by the directory's name, else None."""
        return self._file.topic

    @property
    def partition(self) -> int | None:
        """Told by the directory's name, else None."""
        return self._file.partition

    @property
    def base_offset(self) -> int | None:
        """Told by the file's name, else None."""
        return self._file.base_offset

    @property
    def held(self) -> tuple[int, int] | None:
        """First and last offset of the batches, if they contradict the name of the file."""
        return self._file.held

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
        """Decode records; only the batches that may hold wanted offsets are read.

        With `on_error="skip"` these are all intact ones, and so the stretches between entries of the index: a damaged header says nothing
        about what stands behind it. A time is then that of the first record in an intact batch, and everything in front of it is read.

        Args:
            start_offset: first offset wanted (inclusive).
            end_offset: first offset not wanted (exclusive).
            start_timestamp: begin at the first record of this time or later, as `offset_for_timestamp` finds it where nothing is damaged.
            end_timestamp: end before the first record of this time or later.
            isolation: as in `decode`, by what the whole partition tells.
            options: options of records; see `decode`.

        Returns:
            A `RecordStream`, with topic and partition of the directory.

        Raises:
            As `decode`. The text of an error begins with the file, and `path` is it.

        Example:
            >>> import logsegment as ls
            >>> segment = ls.Segment("payments-0/00000000000000000000.log")
            >>> segment.records(columns=["offset"], isolation="read_committed").read_all().num_rows
            9
        """
        read = ReadOptions.of(ReadKeywords, options, isolation=isolation, topic=self.topic, partition=self.partition)
        ensure_topic_names(read, [self._file])
        warn_of_other_topics(read, [self.topic])
        file = alone(self._file, reports=read.skips_damage)
        start, end = bounds([self], (start_offset, end_offset), (start_timestamp, end_timestamp), read)
        known = self._transactions(start, end, read)
        read = replace(read, start_offset=start, end_offset=end, transactions=known)
        source = self._source(file, *self.range_to_read(start, end, read))
        return core_decode(source, read, file=file.source())

    def inspect(self, *, at: int | None = None, offset: int | None = None, **options: Any) -> Field:
        """Show one entry field by field, as `logsegment.inspect` does; the `.index` leads to an offset.

        Args:
            at: where the entry starts in the file, in bytes; its first byte by default.
            offset: the first entry that ends at or behind this offset.
            options: as in `logsegment.inspect`.

        Returns:
            A `Field`.

        Raises:
            As `logsegment.inspect`.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").inspect(offset=12)["baseOffset"].value
            12
        """
        if offset is None or at is not None or self._is_kafka_07:
            return inspect(FileSource(self.path), at=at, offset=offset, **options)
        position, batch, _ = self._index.find_offset(offset)
        if batch is None:
            raise ValueError(f"no entry ends at or behind offset {offset}")
        return inspect(FileSource(self.path), at=position, **options)

    def offset_for_timestamp(
        self,
        timestamp: Timestamp,
        *,
        start_offset: int | None = None,
        **options: Unpack[EntryKeywords],
    ) -> int | None:
        """Find the offset of the first record whose timestamp is this one or later; None when there is none.

        Batches whose header says that all of their records are earlier are passed over.

        Args:
            timestamp: milliseconds since the epoch, or an aware datetime.
            start_offset: records before it do not count, as those that were deleted on request.
            options: options of entries; see `decode`. They are for the batch that contains the record.

        Raises:
            RecordBatchError: when bytes on the way cannot be read.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").offset_for_timestamp(0)
            0

        Source: `LogSegment.findOffsetByTimestamp` in Kafka.
        """
        return self._first_offset_at(timestamp, ReadOptions.of(EntryKeywords, options, start_offset=start_offset))

    def _first_offset_at(self, timestamp: Timestamp, options: ReadOptions) -> int | None:
        wanted = max(milliseconds(timestamp), -(2**63))
        if wanted >= 2**63 or self._is_kafka_07:
            return None
        position, batch = self._find_timestamp(wanted)
        if batch is None:
            return None
        raising = replace(options, on_error="raise", check_crc=True, end_offset=None)
        with naming_file(self.path), core_decode(FileSource(self.path, position), time_columns(raising)) as stream:
            return first_late(stream, wanted)

    @cached_property
    def offset_index(self) -> Rows[OffsetEntry]:
        """Entries of the `.index`; none when it is missing. Its findings tell what is wrong with the file."""
        return Rows(OffsetEntry, self._index.offset_index(), self._own(".index"))

    @cached_property
    def time_index(self) -> Rows[TimeEntry]:
        """Entries of the `.timeindex`; none when it is missing."""
        return Rows(TimeEntry, self._index.time_index(), self._own(".timeindex"))

    @cached_property
    def aborted_transactions(self) -> Rows[AbortedTransaction]:
        """Transactions whose ABORT marker stands in the segment: from the `.txnindex` where there is a sound one, else from the markers.

        Markers of magic 3 count without the switch, as they do in a `.txnindex`: no record is given.
        """
        return self.aborted_among(lambda: segments_beside(self._file), self._ended_here)

    def aborted_among(
        self, beside: Callable[[], Sequence[SegmentFile]], known_of: Callable[[Sequence[SegmentFile]], Transactions]
    ) -> Rows[AbortedTransaction]:
        """The same for who looks at all segments of a partition, and need not learn its transactions for each.

        Args:
            beside: gives the segments of the partition.
            known_of: gives what their markers tell.

        Raises:
            OSError: when a file cannot be read.
        """
        if self._is_kafka_07:
            return Rows(AbortedTransaction, [])
        found = read_txn_index(self._beside(".txnindex"))
        if found is not None and not found[1]:
            return Rows(AbortedTransaction, found[0])
        neighbours = beside()
        known = known_of(neighbours)
        first = self.base_offset or 0
        later = [segment.base_offset for segment in neighbours if segment.base_offset is not None and segment.base_offset > first]
        last = min(later, default=2**63)
        rows = [(*aborted, None) for aborted in known.aborted if first <= aborted[2] < last]
        return Rows(AbortedTransaction, rows, found[1] if found else [])

    def _ended_here(self, neighbours: Sequence[SegmentFile]) -> Transactions:
        """What the markers tell up to the end of the segment: nothing behind it is read, and nothing before the snapshot in front of it."""
        first = self.base_offset or 0
        return committed_transactions(
            [one for one in neighbours if (one.base_offset or 0) <= first], ReadOptions(start_offset=first, experimental=True)
        )

    @cached_property
    def producer_snapshot(self) -> Rows[ProducerState]:
        """The producers and their open transactions before the segment, from the `.snapshot` of its name; none when it is missing."""
        rows, findings = read_producer_snapshot(self._snapshot, self.base_offset or 0) or ([], [])
        return Rows(ProducerState, rows, findings)

    @cached_property
    def leader_epochs(self) -> Rows[LeaderEpoch]:
        """The leaders' terms of the partition, from its `leader-epoch-checkpoint`; none when it is missing."""
        rows, findings = read_leader_epochs(os.path.join(self._file.directory, "leader-epoch-checkpoint")) or ([], [])
        return Rows(LeaderEpoch, rows, findings)

    def __repr__(self) -> str:
        return f"Segment({self.path!r})"

    @property
    def _is_kafka_07(self) -> bool:
        """Entries of Kafka 0.7 have no offsets to look up, no times and no transactions."""
        return self.path.endswith(".kafka")

    @cached_property
    def _index(self) -> SegmentIndex:
        return SegmentIndex(self.path, self.base_offset or 0)

    def _beside(self, suffix: str) -> str:
        return os.path.splitext(self.path)[0] + suffix

    def _own(self, suffix: str) -> list[Finding]:
        return [finding for finding in self._index.findings() if finding.path.startswith(shown(self._beside(suffix)) + "@")]

    def _batch_stream(self, start: int | None, end: int | None, options: ReadOptions) -> RecordStream:
        file = alone(self._file, reports=options.skips_damage)
        return batch_stream(self._source(file, *self.byte_range(start, end)), options, file=file.source())

    def _validated(self) -> tuple[list[SegmentFile], list[str]]:
        return [alone(self._file, reports=True)], []

    def _source(self, file: SegmentFile, start: int, end: int | None) -> Any:
        if self._mmap and start == 0 and not self._is_kafka_07 and not is_stored(self.path):
            with open(self.path, "rb") as opened:
                if os.fstat(opened.fileno()).st_size:
                    mapped = mapping.mmap(opened.fileno(), 0, access=mapping.ACCESS_READ)
                    return mapped if end is None else memoryview(mapped)[:end]
        return file.source(start, end)

    def _transactions(self, start: int | None, end: int | None, options: ReadOptions) -> Transactions | None:
        if options.isolation != "read_committed":
            return None
        if self._is_kafka_07:
            return Transactions([])
        bounded = replace(options, start_offset=start if start is not None else self.base_offset, end_offset=end)
        return committed_transactions(segments_beside(self._file), bounded)


def _file(path: str | os.PathLike[str], keys: Keys | None) -> str:
    place = absolute(path)
    if not is_stored(place) and os.path.isdir(place):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place)
    return place if keys is None else tiered(place, keys)
