"""The segments of directories as one: `Log`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import Any, Unpack

from logsegment._core import (
    Finding,
    FoundSegments,
    Place,
    RecordStream,
    SegmentFile,
    SegmentLookup,
    batch_files,
    decode_files,
    read_producer_snapshot,
)
from logsegment._decode import ensure_topic_names, warn_of_other_topics
from logsegment._log_paths import SNAPSHOT
from logsegment._options import (
    EVERY_FORMAT,
    EntryKeywords,
    Isolation,
    LogStartOffset,
    PartitionOptions,
    ReadKeywords,
    ReadOptions,
    SkippingKeywords,
    Timestamp,
    milliseconds,
    partition_number,
    time_bounds,
)
from logsegment._places import absolute, directory_of
from logsegment._storage import Keys, StorageOptions, all_reached, reached
from logsegment._text import count, listed
from logsegment._typed_values import planned
from logsegment.log.entries import Entries
from logsegment.log.segment import Segment, aborted_transactions
from logsegment.partition.log_end import GrowingLog
from logsegment.partition.reader import PartitionReader, committed_transactions, order_by_offsets
from logsegment.segment_files.discovery import Paths, Topics, found_in, is_noted
from logsegment.segment_files.log_start import warn_of_log_starts, without_log_starts
from logsegment.segment_files.sidecars import AbortedTransaction, LeaderEpoch, OffsetEntry, ProducerState, Rows, TimeEntry


class Log(Entries):
    """The segments of a partition's directory, or of all partitions in a tree, in order.

    A log is an Arrow stream of its records (`__arrow_c_stream__`), any number of times: `pyarrow.table(log)`, `polars.DataFrame(log)`, and
    `duckdb.sql("from log")` read them with the default options of `records`.

    Args:
        path: a partition's directory, a tree of them (a broker's data directory), or a file; or the URI of one in a store. Several paths,
            and patterns (`orders-*`), are read as one tree; a file of two paths is read once.
        topic: read only the partitions of this topic, or of these. If no directory names a topic, this names the topic of the records.
        partition: read only partitions of this number, likewise.
        replica: which directory is read of a partition that is in several of them, such as two disks or the trees of three brokers:
            "longest" (the highest log end offset by valid batches, and of equal ones the first), "first" (in the order of the arguments,
            then of the paths), or a path: the directory there or below it. Without it such a partition is an error. A link to a
            directory that is there already is the same directory.
        mmap: as in `Segment`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs, by the names of object_store, as in Polars and delta-rs: `{"aws_region": ...}`. They
            take precedence over the environment, and are never shown. Pickled tasks carry them.
        layout: how a remote storage manager without an entry of its own names plain segments:
            `"{topic}/{partition}/{offset:020}-{id}.log"`. The template is compared with the end of each path. Its fields are `{topic}`,
            `{topic_id}` and `{partition}` in names of directories, `{offset}` (the base offset) and `{id}` in the name of the file.
            Objects that do not fit are ignored. The guide's page on tiered storage has an example.
        log_start_offset: "honour" starts each partition at the log start offset in `log-start-offset-checkpoint`, in the directory above:
            a broker deleted the records below it. "ignore" reads them. `batches` and `validate` read them in any case.

    Attributes:
        paths (list[str]): as given, absolute, without patterns.
        segments (list[Segment]): partition by partition, in the order of their offsets; a log has their number and goes through them.
        left_out (list[Finding]): uploads and files (SEG-15) that are not read, or not to their end, and why; files of work that a broker
            did not finish (SEG-17), those that are read among them.

    Raises:
        FileNotFoundError: if there is no such path, or no segment in it.
        ValueError: if there is no such topic or partition, a partition is in several directories and `replica` chooses none of them, or
            the layout is invalid.
        OSError: if a directory cannot be listed.

    Example:
        >>> import logsegment as ls
        >>> log = ls.Log("payments-0")
        >>> len(log.segments), log.records(columns=["offset"], isolation="read_committed").read_all().num_rows
        (6, 34)

    Source: `UnifiedLog` and `LogManager` in Kafka.
    """

    def __init__(
        self,
        path: Paths,
        *more: Any,
        topic: Topics = None,
        partition: int | str | None = None,
        replica: str | os.PathLike[str] | None = None,
        mmap: bool = False,
        decryption_keys: Keys | None = None,
        storage_options: StorageOptions | None = None,
        layout: str | None = None,
        log_start_offset: LogStartOffset = "honour",
    ) -> None:
        if more:
            raise TypeError(f"Log takes one path, or a list of paths: write Log([{', '.join(map(repr, (path, *more)))}])")
        number = partition_number(partition)
        places = FoundSegments.expanded(all_reached(path, storage_options))
        self.paths = [absolute(reached(place, None, decryption_keys, layout)) for place in places]
        self._paths = self.paths
        options = PartitionOptions(log_start_offset=log_start_offset, replica=replica)
        files, self.left_out = found_in(self.paths, selection=(topic, number), has_patterns=False, options=options)
        self._files, self._log_start_findings = FoundSegments(files).with_log_starts(options)
        warn_of_log_starts(self._log_start_findings)
        self._mmap = mmap
        self.segments = [Segment(file, mmap=mmap) for file in without_log_starts(files)]

    @property
    def partitions(self) -> list[tuple[str | None, int | None]]:
        """Topic and partition of each directory, in order."""
        return [(segments[0].topic, segments[0].partition) for segments in self._by_directory()]

    def records(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        start_timestamp: Timestamp | None = None,
        end_timestamp: Timestamp | None = None,
        isolation: Isolation = "read_uncommitted",
        log_start_offset: LogStartOffset | None = None,
        **options: Unpack[ReadKeywords],
    ) -> RecordStream:
        """Decode the records of all segments, one after the other; bounds hold in each partition.

        Args:
            start_offset: first offset wanted (inclusive). Records below the log start offset are deleted; see `log_start_offset` of `Log`.
            end_offset: first offset not wanted (exclusive).
            start_timestamp: begin at the first record of this time or later; with `on_error="skip"` as in `Segment.records`.
            end_timestamp: records before this time, wherever they are; `start_timestamp` too is then compared with each record, and a
                record without a timestamp is in no range. The read goes on to the end of the log, unless the headers of all later batches
                give the times of all records: LogAppendTime, or batches of one record.
            isolation: "read_committed" is right across the borders of segments.
            log_start_offset: as in `Log`, for this read; None is that of the log.
            options: options of records; see `decode`. With `values="internal"`, records of other topics have null, and a warning is
                raised if no topic is internal.

        Returns:
            A `RecordStream`. The `path` of its findings begins with the file; `entryPosition` counts in the file of the record.
            Offsets that only an upload of tiered storage has that cannot be read are a finding, and so are records below a log start
            offset (SEG-19).

        Raises:
            ValueError: if a range starts after its end, or an offset is negative.
            RecordBatchError: from the stream, as in `decode`. The text of an error begins with its file, and `path` is it.

        Example:
            >>> import logsegment as ls
            >>> ls.Log("payments-0").records(columns=["offset"], start_offset=10, end_offset=20).read_all().num_rows
            8
        """
        read = ReadOptions.of(ReadKeywords, options, isolation=isolation, start_offset=start_offset, end_offset=end_offset)
        ensure_topic_names(read, self._files)
        warn_of_other_topics(read, (file.topic for file in self._files))
        read = self._planned(read)
        times = time_bounds(start_timestamp, end_timestamp)
        files, findings = self._files, self._log_start_findings
        if log_start_offset is not None:
            files, findings = FoundSegments(files).with_log_starts(PartitionOptions(log_start_offset=log_start_offset))
        parts = [part for partition in self._ordered(read, files) for part in PartitionReader.plan(partition, read, times).parts()]
        return decode_files(parts, read, [*self._gaps(read), *findings, *FoundSegments(files).deleted_records(start_offset)])

    def offset_for_timestamp(self, timestamp: Timestamp, **options: Unpack[EntryKeywords]) -> int | None:
        """Find the offset of the first record of this time or later in a log of one partition; None when there is none.

        Args:
            timestamp: milliseconds since the epoch, or an aware datetime.
            options: options of entries; see `decode`. They are for the batch that contains the record.

        Raises:
            ValueError: when the tree has several partitions.
            RecordBatchError: when bytes on the way cannot be read.

        Example:
            >>> import logsegment as ls
            >>> ls.Log("payments-0").offset_for_timestamp(0)
            0
        """
        read = ReadOptions.of(EntryKeywords, options)
        self._one_partition()
        return PartitionReader(self._ordered(read)[0], read).offset_at(milliseconds(timestamp))

    def next_offsets(self, *, isolation: Isolation = "read_uncommitted", **options: Unpack[SkippingKeywords]) -> dict[str, dict[str, int]]:
        """Return the offset of the next record of each partition, by topic and by the partition in decimal digits, as JSON has it.

        A consumer that goes on there after a read of the log misses nothing and reads nothing twice.

        Args:
            isolation: "read_uncommitted" for the offset after the last valid batch, "read_committed" for the last stable offset, which is
                that of the first open transaction, if one is open.
            options: options of entries; see `decode`. `on_error="skip"` looks for the last valid batch past damage.

        Raises:
            ValueError: if a file has no topic, partition or offset in its name.
            RecordBatchError: if the end of a partition is damaged.
            OSError: if a file cannot be read.

        Example:
            >>> import logsegment as ls
            >>> ls.Log("payments-0").next_offsets()
            {'payments': {'0': 60}}

        Source: `JsonUtils.partitionOffsets` in Spark.
        """
        read = ReadOptions.of(SkippingKeywords, options, isolation=isolation)
        found: dict[str, dict[str, int]] = {}
        for segments in self._ordered(read):
            files = [segment.file for segment in segments]
            last = files[-1]
            if last.topic is None or last.partition is None or last.base_offset is None:
                raise ValueError(f"{last.path}: its name has no topic, partition and offset")
            found.setdefault(last.topic, {})[str(last.partition)] = GrowingLog(read).next_read_offset(files)
        return found

    @cached_property
    def aborted_transactions(self) -> Rows[AbortedTransaction]:
        """The aborted transactions of all segments, as they were when they were asked for first; see `Segment.aborted_transactions`."""
        return _joined(AbortedTransaction, [rows for segments in self._by_directory() for rows in _aborted(segments)])

    @property
    def offset_index(self) -> Rows[OffsetEntry]:
        """The entries of all offset indexes; a position counts in its own segment."""
        return _joined(OffsetEntry, [segment.offset_index for segment in self.segments])

    @property
    def time_index(self) -> Rows[TimeEntry]:
        """The entries of all time indexes."""
        return _joined(TimeEntry, [segment.time_index for segment in self.segments])

    @property
    def producer_snapshot(self) -> Rows[ProducerState]:
        """The newest producer snapshot of a log of one partition; none when there is no sound one."""
        directory = directory_of(self._one_partition()[0].path)
        names = sorted((name for name in Place(directory).names() if SNAPSHOT.fullmatch(name)), reverse=True)
        findings: list[Finding] = []
        for name in names:
            rows, wrong = read_producer_snapshot(os.path.join(directory, name), int(name[:20])) or ([], [])
            findings += wrong
            if not wrong:
                return Rows(ProducerState, rows, findings)
        return Rows(ProducerState, [], findings)

    @property
    def leader_epochs(self) -> Rows[LeaderEpoch]:
        """The leader epochs of a log of one partition."""
        return self._one_partition()[0].leader_epochs

    def __len__(self) -> int:
        return len(self.segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    def __getitem__(self, index: int) -> Segment:
        return self.segments[index]

    def __repr__(self) -> str:
        return f"Log({', '.join(map(repr, self.paths))}, {count(len(self.segments), 'segment')})"

    def _batch_stream(self, options: ReadOptions) -> RecordStream:
        segments = self._ordered(options, without_log_starts(self._files))
        parts = [part for segment in segments for part in PartitionReader(segment, options).parts()]
        return batch_files([source for source, _ in parts], options, self._gaps(options))

    def _planned(self, options: ReadOptions) -> ReadOptions:
        """Return the options with the schemas of keys and values."""
        return planned(options, [(file.topic, file.source()) for file in self._files])

    def _gaps(self, options: ReadOptions) -> list[Finding]:
        """Return the findings of uploads that alone have wanted offsets, and are not read, and of interrupted work."""
        return [finding for finding in self.left_out if is_noted(finding, options.start_offset, options.end_offset)]

    def _by_directory(self) -> list[list[Segment]]:
        return [list(group) for _, group in groupby(self.segments, lambda segment: os.path.dirname(segment.path))]

    def _ordered(self, options: ReadOptions, files: Sequence[SegmentFile] | None = None) -> list[list[SegmentLookup]]:
        """Return the segments of each partition in the order of the offsets that they hold; None for the segments of the log."""
        files = order_by_offsets(self._files if files is None else files, reports=options.skips_damage)
        return [list(map(SegmentLookup, group)) for _, group in groupby(files, lambda file: os.path.dirname(file.path))]

    def _one_partition(self) -> list[Segment]:
        partitions = self._by_directory()
        if len(partitions) > 1:
            raise ValueError(
                f"{listed(self.paths, 2)} holds {count(len(partitions), 'partition')}; pass topic= and partition= to choose one"
            )
        return partitions[0]


def _aborted(segments: Sequence[Segment]) -> list[Rows[AbortedTransaction]]:
    """Return those of each segment of a partition. Its markers are read once, if a segment has no valid `.txnindex`."""
    siblings = cache(segments[0]._file.siblings)
    known = cache(lambda: committed_transactions(siblings(), EVERY_FORMAT))
    return [aborted_transactions(segment._file, siblings, lambda _: known()) for segment in segments]


def _joined(kind: Any, parts: Sequence[Rows[Any]]) -> Rows[Any]:
    return Rows(kind, [row for part in parts for row in part], [finding for part in parts for finding in part.findings])
