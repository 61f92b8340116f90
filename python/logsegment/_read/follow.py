"""Read new records of growing logs: `follow`."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Unpack

from logsegment._core import ArrowBatch, Finding, FoundSegments, ReplicaChoice, SegmentFile, SegmentKeyError
from logsegment._decode import decoded
from logsegment._errors import naming_file
from logsegment._options import EntryKeywords, LogStartOffset, PartitionOptions, ReadKeywords, ReadOptions
from logsegment._places import directory_of, here, is_stored, redacted_uri
from logsegment._read.reader import FileRead, LogReader
from logsegment._read.records import ensure_topics, notes_of, typed_read
from logsegment._storage import Keys, StorageOptions, reached
from logsegment._validate import ensure_segment
from logsegment.inputs.input_segment import input_of
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs
from logsegment.partition.follow import Follower, Piece
from logsegment.partition.log_files import LogFiles
from logsegment.segment_files.discovery import Paths, found_in, is_gap, is_taken

#: Seconds between two looks: at files of this machine, and at a store, which is asked for a listing.
INTERVAL = 0.5
STORE_INTERVAL = 10.0
#: Seconds for which what is gone may come back.
WAIT = 10.0


def follow(
    source: Paths | LogFiles,
    *,
    offset: int | None = None,
    interval: float | None = None,
    idle_exit: float | None = None,
    wait: float = WAIT,
    topic: str | None = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    log_start_offset: LogStartOffset = "honour",
    observer: Observer | None = None,
    **options: Unpack[ReadKeywords],
) -> LogReader:
    """Read new records of growing logs, without an end unless `idle_exit` is given.

    A record is returned when its batch is complete. After a roll, the next segment is followed. If a log is truncated below the last
    record that was returned, the observer is called, and the new records are returned. In tiered storage and in stores, a record is
    returned once its segment is uploaded.

    Args:
        source: partition directories, trees of them, segments, and patterns, here or in a store; or a `Log`.
        offset: the first offset to return; None for records that are appended from now on.
        interval: seconds between two looks; None for 0.5, or for 10 if a path is in a store.
        idle_exit: end after this many seconds without a new record.
        wait: seconds for which a file or directory that is gone or cut may come back unchanged.
        topic: follow only the partitions of this topic. If no directory names a topic, this names the topic of the records.
        partition: follow only partitions of this number, likewise.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        log_start_offset: see `Log`.
        observer: gets a `FileRead` after each part of a file, findings about files that are not read, and changes of a log; with
            `on_error="skip"` it is asked about each file whose key is missing. See `Observer`.
        options: options of records; see `decode`.

    Returns:
        A `LogReader`, whose iteration waits for records.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments; while iterating, if it is gone for longer than `wait`.
        OSError: while iterating, if a file cannot be read.
        RecordBatchError: while iterating, if a batch that is not the last one is damaged.
        ValueError: if an argument is invalid, or there is no such topic or partition.

    Example:
        >>> import logsegment as ls
        >>> sum(batch.num_rows for batch in ls.follow("orders-0", offset=200, idle_exit=0))
        40
    """
    given = source._paths or [file.path for file in source._files] if isinstance(source, LogFiles) else source
    several = [given] if isinstance(given, str | os.PathLike) else list(given)
    paths = FoundSegments.expanded([reached(path, storage_options, decryption_keys, layout) for path in several])
    choice = PartitionOptions(log_start_offset=log_start_offset, replica=replica)
    read = ReadOptions.of(ReadKeywords, options)
    listed = FoundSegments(found_in(paths, has_patterns=False, options=None)[0]).of_partition(topic, partition)
    replicas = ReplicaChoice(choice)
    inputs = Inputs(list(map(input_of, replicas.of(listed))))
    read = typed_read(read, inputs, warns=observer is None)
    with decoded(b"", read) as nothing:
        schema = nothing.schema
    entries: Any = {name: value for name, value in options.items() if name in EntryKeywords.__annotations__}
    logs = FollowedLogs(paths, (topic, partition), choice, FollowOptions(read, entries, offset, wait), observer or Observer(), replicas)
    usual = STORE_INTERVAL if any(here(path) is None for path in paths) else INTERVAL
    return LogReader(schema, _until_idle(logs, interval or usual, idle_exit), notes_of(read, [file.topic for file in inputs.files]))


def _until_idle(logs: FollowedLogs, interval: float, idle_exit: float | None) -> Generator[ArrowBatch]:
    since = time.monotonic()
    while True:
        yield from logs.look()
        if logs.has_new:
            since = time.monotonic()
        left = math.inf if idle_exit is None else since + idle_exit - time.monotonic()
        if left <= 0:
            for _, error in logs.gone.values():
                raise error
            return
        time.sleep(min(interval, left))


@dataclass(frozen=True)
class FollowOptions:
    """Options of a read of growing logs.

    Attributes:
        read: options of the read.
        entries: those of entries among them.
        offset: the first offset to return; None for records that are appended from now on.
        wait: seconds for which what is gone may come back.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    entries: EntryKeywords = field(default_factory=EntryKeywords)
    offset: int | None = None
    wait: float = 0.0


@dataclass
class FollowedLogs:
    """Growing logs.

    Attributes:
        paths: the paths, without patterns.
        selection: the topic and the number of the partitions; None for all.
        choice: where partitions start.
        options: how the logs are read.
        observer: follows the read.
        replicas: the directory that is followed of each partition.
        has_new: the last look found something.
        gone: paths that are gone, and since when by the clock.
    """

    paths: Sequence[str]
    selection: tuple[str | None, int | None] = (None, None)
    choice: PartitionOptions = field(default_factory=PartitionOptions)
    options: FollowOptions = field(default_factory=FollowOptions)
    observer: Observer = field(default_factory=Observer)
    replicas: ReplicaChoice = field(default_factory=lambda: ReplicaChoice(PartitionOptions()))
    has_new: bool = False
    gone: dict[str, tuple[float, FileNotFoundError]] = field(default_factory=dict)
    _followers: dict[str, Follower] = field(default_factory=dict)
    _uploaded: set[str] = field(default_factory=set)
    _reported: set[str] = field(default_factory=set)

    def look(self) -> Iterator[ArrowBatch]:
        """Yield the records that are new."""
        self.has_new = False
        # A partition that comes later is new from its first record on.
        start = self.options.offset if not self._followers else self.options.offset or 0
        for path in self.paths:
            yield from self._look_at(path, start)

    def _look_at(self, path: str, start: int | None) -> Iterator[ArrowBatch]:
        try:
            files, left_out = found_in(path, has_patterns=False, options=None)
        except FileNotFoundError as error:
            # Retention may leave nothing of what was uploaded until the next segment comes.
            if path not in self._uploaded:
                since, _ = self.gone.setdefault(path, (time.monotonic(), error))
                if time.monotonic() - since >= self.options.wait:
                    raise
            return
        self.gone.pop(path, None)
        try:
            chosen = FoundSegments(files).of_partition(*self.selection)
        except ValueError:
            # The partition is in another path, or comes later.
            return
        chosen = self.replicas.of(chosen)
        if any(is_stored(file.path) for file in files):
            self._uploaded.add(path)
        else:
            # In a store the checkpoint would cost a request with each look, and uploads begin where the log begins.
            chosen, findings = FoundSegments(chosen).with_log_starts(self.choice)
            self._note(findings)
        for directory, segments in by_partition(path, chosen):
            yield from self._look_in(directory, segments, start, left_out)

    def _look_in(
        self, directory: str, segments: Sequence[SegmentFile], start: int | None, left_out: Sequence[Finding]
    ) -> Iterator[ArrowBatch]:
        read, first = self.options.read, segments[0]
        ensure_topics(read, [(redacted_uri(directory), first.topic)])
        if directory not in self._followers:
            for segment in segments:
                if not segment.is_listed:
                    ensure_segment(segment, self.options.entries)
        own = replace(read, topic=first.topic, partition=first.partition)
        follower = self._followers.setdefault(directory, Follower(start, own, self.options.wait))
        self._note(filter(is_taken, left_out))
        if follower.next_offset is not None:
            offset, place = follower.next_offset, redacted_uri(first.directory)
            self._note(finding for finding in left_out if directory_of(finding.path) == place and is_gap(finding, offset))
        try:
            with naming_file(directory):
                for found in follower.look(segments):
                    yield from self._found(directory, found)
        except FileNotFoundError:
            return  # renamed or deleted since it was listed; the next look lists it again
        except SegmentKeyError as error:
            self._skip(directory, error)

    def _found(self, directory: str, found: Piece | str | SegmentKeyError) -> Iterator[ArrowBatch]:
        if isinstance(found, SegmentKeyError):
            self._skip(directory, found)
        elif isinstance(found, str):
            self.observer.changed(redacted_uri(directory), found)
        else:
            self.has_new = True
            yield from self._records(found)

    def _records(self, piece: Piece) -> Iterator[ArrowBatch]:
        segment = piece.segment
        with naming_file(segment.path), decoded(*piece.part) as stream:
            yield from stream
        own = [finding for finding in stream.findings if piece.known is None or finding.position <= piece.known]
        name = redacted_uri(segment.path)
        self.observer.done(name, FileRead(name, segment.topic, segment.partition, stream, own))

    def _skip(self, directory: str, error: SegmentKeyError) -> None:
        """Go on without an upload whose key is missing, if damage is skipped and the observer agrees."""
        if not self.options.read.skips_damage or not self.observer.failed(redacted_uri(directory), error):
            raise error

    def _note(self, findings: Iterator[Finding] | Sequence[Finding]) -> None:
        """Give the observer findings about files, each once."""
        new = [finding for finding in findings if finding.path not in self._reported]
        if new:
            self.observer.noted(new)
        self._reported.update(finding.path for finding in new)


def by_partition(path: str, files: Sequence[SegmentFile]) -> Iterator[tuple[str, list[SegmentFile]]]:
    """Yield the partitions of a path with their segments; a file that is named is a partition of its own."""
    for directory, group in groupby(files, key=lambda segment: segment.directory):
        segments = list(group)
        is_named = len(segments) == 1 and segments[0].path == path
        yield (path if is_named else directory), segments
