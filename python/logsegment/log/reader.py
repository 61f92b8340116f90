"""The one reader of a partition: segments and options go in, the byte ranges that hold the wanted records come out, and the records.

Every reader of a partition asks `arranged` for its segments, and `PartitionReader` for the records. A segment holds offsets from its name
on and before the name of the next segment; compaction may only make it begin later. A segment that contradicts its name (SEG-1) is damage:
it was renamed, or swapped with another one. A read finds its batches by the offsets that they hold. A read
of these offsets, or of the offsets of the name, raises the error, or reports it and returns the records.

Source: `LogSegment` and `LocalLog` in Kafka.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Self, Unpack

from logsegment._core import (
    FileSource,
    Finding,
    LimitError,
    RecordBatchError,
    RecordStream,
    SegmentFile,
    SegmentIndex,
    Transactions,
    batch_stream,
    decode,
    decode_files,
)
from logsegment._core import committed_transactions as core_committed_transactions
from logsegment._core import scan_transactions as core_scan_transactions
from logsegment._errors import naming_file
from logsegment._log_paths import is_of_0_7
from logsegment._options import EVERY_FORMAT, OnError, ReadOptions, SkippingKeywords, Timestamp
from logsegment._storage import StorageOptions, reached_source
from logsegment.log.piece import Part, PartitionPiece
from logsegment.log.segment_lookup import SegmentLookup
from logsegment.log.time_lookup import first_offset_at, first_place_at, from_log_start, within_times
from logsegment.segment_files.discovery import segments_of_directory, with_neighbours
from logsegment.stores.uri import is_stored

#: The last offset of a segment whose end is damaged.
_LAST = 2**63 - 2
#: Every record of a segment, of which nothing but the errors is wanted.
_ALL_RECORDS = replace(EVERY_FORMAT, columns=(), control=True)
#: Entries with the offsets of their first records, past damage, one by one.
_RESOLVED = replace(EVERY_FORMAT, on_error="skip", unreadable="skip", resolve=True, batch_size=1)


@dataclass(frozen=True)
class PartitionReader:
    """Reads the records of one partition that are wanted, and no more bytes than it must.

    Attributes:
        segments: all segments that may be read, in the order of their offsets.
        options: those of the read, with the offsets that are wanted, topic and partition. Records below the log start offset of the
            partition are never wanted; see `SegmentFile.log_start`.
        timestamp: ms; batches whose headers say that all of their records are earlier may be left out. None for no such time.
    """

    segments: Sequence[SegmentLookup]
    options: ReadOptions
    timestamp: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", from_log_start(self.segments, self.options))

    @classmethod
    def plan(
        cls, segments: Sequence[SegmentLookup], options: ReadOptions, times: tuple[Timestamp | None, Timestamp | None] = (None, None)
    ) -> Self:
        """Plan a read of a partition.

        Args:
            segments: in the order of their offsets, at least one.
            options: those of the read, with the offsets at which it begins and ends, if they are given.
            times: the time at which the read begins, at the first record of this time or later, and the time that its records are before;
                see `time_lookup.within_times`.

        Raises:
            RecordBatchError: if bytes on the way to a time cannot be read, unless damage is skipped.
            OSError: if a file cannot be read.
        """
        file = segments[0].file
        return cls(segments, replace(within_times(segments, times, options), topic=file.topic, partition=file.partition))

    @classmethod
    def of(cls, files: Sequence[SegmentFile], options: ReadOptions) -> Self:
        """Return the reader of the segments that `arranged` returned."""
        return cls([SegmentLookup(file) for file in files], options)

    @cached_property
    def transactions(self) -> Transactions | None:
        """The transactions that the read must know, those of its options or from the markers of the partition; None if not committed."""
        if self.options.isolation != "read_committed" or self.options.transactions is not None:
            return self.options.transactions
        first = self.segments[0].file
        if is_of_0_7(first.path):
            return Transactions([])
        return committed_transactions(segments_of_directory(first), self.options)

    def wanted(self) -> Iterator[tuple[SegmentLookup, int | None]]:
        """Yield the segments that may hold wanted offsets, each with the first offset after it, or None for the last segment."""
        start, end = self.options.bounds
        if start is not None and end is not None and start >= end:
            return
        for one, follower in zip(self.segments, _followers(self.segments), strict=True):
            end_of_name = self._end_of_name(one)
            if end_of_name is not None:
                yield one, max(follower or 0, end_of_name)
            elif _touch((start, end), (one.base_offset, follower)):
                yield one, follower

    def at(self, offset: int) -> Self:
        """Return the reader of one offset."""
        return replace(self, options=replace(self.options, start_offset=offset, end_offset=offset + 1))

    def offset_at(self, timestamp: Timestamp) -> int | None:
        """Return the first wanted offset at a time or later, as `time_lookup.first_offset_at` finds it; None if there is none.

        Raises:
            RecordBatchError: if bytes on the way cannot be read, unless damage is skipped.
            OSError: if a file cannot be read.
        """
        return first_offset_at(self.segments, timestamp, self.options)

    def place_at(self, timestamp: Timestamp) -> int | None:
        """Return where a read begins that begins at a time, as `time_lookup.first_place_at` finds it; None if no record is late enough.

        Raises:
            RecordBatchError: if bytes on the way cannot be read, unless damage is skipped.
            OSError: if a file cannot be read.
        """
        return first_place_at(self.segments, timestamp, self.options)

    def piece(self) -> PartitionPiece:
        """Return the bytes that are read of the only segment; a piece without bytes if none of its records are wanted.

        Raises:
            OSError: if a file cannot be read.
        """
        (segment,) = self.segments
        return self._piece_of(segment, None) or PartitionPiece(segment, self.options, 0, 0)

    def part(self) -> Part:
        """Return the bytes of `piece` with their options.

        Raises:
            OSError: if a file cannot be read.
        """
        return self.piece().part(self.transactions)

    def part_in(self, begin: int | None, stop: int | None) -> Part:
        """Return the part of the only segment whose wanted records are in known bytes.

        Args:
            begin: position of the first byte; None to look it up.
            stop: position after the last byte; None for the end of the file.

        Raises:
            OSError: if a file of the partition cannot be read.
        """
        (segment,) = self.segments
        open_end = replace(self.options, end_offset=None, share=(self.options.share[0], None))
        first = segment.range_to_read(open_end)[0] if begin is None else begin
        return PartitionPiece(segment, self.options, first, stop, is_inner=False).part(self.transactions)

    def parts_from_end(self, step: int) -> Iterator[Part]:
        """Yield the bytes of `piece` as several parts, from the last one to the first one, each with its options.

        Args:
            step: about the bytes of the last part; the others are longer, see `PartitionPiece.from_end`.

        Raises:
            OSError: if a file cannot be read.
        """
        return (piece.part(self.transactions) for piece in self.piece().from_end(step))

    def pieces(self) -> list[PartitionPiece]:
        """Return the bytes of each segment that may hold wanted records. A segment that is gone is whole: the read raises the error.

        Raises:
            OSError: if a file cannot be read.
        """
        found = (self._piece_of(segment, follower) for segment, follower in self.wanted())
        return [piece for piece in found if piece is not None]

    def parts(self) -> list[Part]:
        """Return the bytes of each segment that holds wanted offsets, each with its options. They can be pickled.

        Raises:
            OSError: if a file cannot be read.
        """
        return [piece.part(self.transactions) for piece in self.pieces()]

    def read(self, notes: Sequence[Finding] = ()) -> RecordStream:
        """Return the records. `notes` are findings of the stream from its beginning on.

        Raises:
            OSError: if a file cannot be read.
        """
        return decode_files(self.parts(), self.options, notes)

    def _end_of_name(self, segment: SegmentLookup) -> int | None:
        """Return the first offset after those of a name that the segment contradicts; None if none of them is wanted."""
        named = segment.file.named
        if named is None or not _touch(self.options.bounds, named):
            return None
        return _LAST if named[1] is None else named[1]

    def _piece_of(self, segment: SegmentLookup, follower: int | None) -> PartitionPiece | None:
        """Return the bytes that are read of a segment before the offset `follower`, or None if there are none."""
        options = self._options_of(segment)
        if self._end_of_name(segment) is not None:
            return PartitionPiece(segment, options, 0, None, follower, least=self.options.start_offset)
        try:
            begin, stop = segment.range_to_read(options)
            # A damaged header must not lead a read past valid batches that it shall return.
            if self.timestamp is not None and not options.skips_damage:
                first = segment.position_for_timestamp(self.timestamp)
                if first is None:
                    return None
                begin = max(begin, first)
            is_empty = begin > 0 and begin >= (segment.size if stop is None else stop)
        except (FileNotFoundError, LimitError):
            # The read raises the error of a file that is gone. A look-up has the default limits, and the read may have others.
            begin, stop, is_empty = 0, None, False
        return None if is_empty else PartitionPiece(segment, options, begin, stop, follower, least=self.options.start_offset)

    def _options_of(self, segment: SegmentLookup) -> ReadOptions:
        """Return the options of a segment. Its name may show that all of its batches are wanted; uploads may overlap."""
        start, offsets = self.options.bounds[0], segment.file.offsets
        begins_later = start is not None and offsets is not None and offsets[0] >= start
        return replace(self.options, start_offset=None, share=(None, self.options.share[1])) if begins_later else self.options


def committed_transactions(segments: Sequence[SegmentFile], options: ReadOptions) -> Transactions:
    """Return the transactions that a committed read must know, from the markers of a partition; see docs/project/decisions.

    Args:
        segments: all segments of one partition.
        options: those of the read, with the first offset that it does not read. A read that skips damage trusts a marker only if its
            checksum matches.

    Raises:
        OSError: if a file cannot be read.
    """
    return core_committed_transactions([(file.path, file.base_offset or 0) for file in arranged(segments, reports=True)], options)


def scan_transactions(
    sources: Sequence[Any],
    *,
    on_error: OnError = "raise",
    storage_options: StorageOptions | None = None,
    **options: Unpack[SkippingKeywords],
) -> Transactions:
    """Find the aborted and open transactions of a partition, from headers and markers alone (nothing is decompressed).

    A marker counts if the checksum of its batch matches. A transaction that is open where bytes are damaged is undecided up to there: its
    marker may have been in them.

    Args:
        sources: the segments of one partition in offset order, each a path, a `FileSource` or a buffer.
        on_error: that of the decode that follows. With "skip" every entry is read, and counts if its checksum matches.
        storage_options: options of the store of URIs; see `Log`.
        options: options of entries of the decode that follows; see `decode`.

    Returns:
        `Transactions`. Damage is skipped; the decode that follows reports it.

    Raises:
        UnsupportedError: for a batch of magic 3 that the options do not read (MAP-3), whose transactions would be missing. With
            `unreadable="skip"` the batch is skipped, as the decode skips it.
        ValueError: if the sources are not in offset order: a marker could end the transaction of another producer epoch.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> ls.scan_transactions([ls.FileSource("00000000000000000000.log")]).last_stable_offset is None
        True
    """
    places = [reached_source(source, storage_options) for source in sources]
    return core_scan_transactions(places, ReadOptions.of(SkippingKeywords, options, on_error=on_error))


def arranged(files: Sequence[SegmentFile], *, reports: bool) -> list[SegmentFile]:
    """Return the segments of partitions in the order of the offsets that they hold.

    A segment that contradicts its name gets the first offset of its batches as `base_offset`. Without `reports` it keeps the offsets that
    its name allows, so that whoever reads it raises the error. With `reports` it gets the offsets that its batches prove, and the finding.

    Args:
        files: segments, those of one directory one after the other, as discovery returns them.
        reports: report segments that contradict their names, instead of raising where they are read.

    Returns:
        As many segments. In an object store the names alone count unless `reports` is set: asking each segment costs a request.

    Example:
        >>> from logsegment.log.reader import arranged
        >>> from logsegment.segment_files.discovery import find_segments
        >>> [file.base_offset for file in arranged(find_segments("orders-0"), reports=False)]
        [0]
    """
    groups = groupby(files, lambda file: file.directory[:])
    return [file for _, group in groups for file in _arranged(list(group), reports=reports)]


def alone(file: SegmentFile, *, reports: bool) -> SegmentFile:
    """Return a segment with the offsets that it may hold, which its neighbours' names limit.

    Args:
        file: the segment.
        reports: as in `arranged`.
    """
    if file.offsets is None:
        file = with_neighbours(file)
    if not reports:
        return file
    first = _first_offset(file)
    finding = _misnamed(file, first, None)
    return file if finding is None else _placed(file, first, finding, reports=True)


def ensure_named(files: Sequence[SegmentFile]) -> list[SegmentFile]:
    """Return the segments as `arranged` does, for whoever writes files with the same names, or after them.

    Args:
        files: as in `arranged`.

    Raises:
        CorruptError: for the first segment that contradicts its name (SEG-1). The text begins with the file.
    """
    found = arranged(files, reports=False)
    for file in found:
        if file.held is not None:
            with naming_file(file.path), decode(file.source(), _ALL_RECORDS) as stream:
                for _ in stream:
                    pass
    return found


def lower_bounded(file: SegmentFile) -> SegmentFile:
    """Return a segment without the upper bound of its offsets, unless it contradicts its name.

    For readers of a directory that a broker changes: its cleaner may merge the next segment into this one after the directory was listed.
    """
    return file if file.offsets is None or file.held is not None else file.replaced(offsets=(file.offsets[0], None))


def _touch(wanted: tuple[int | None, int | None], held: tuple[int | None, int | None]) -> bool:
    """Return True if two ranges of offsets overlap: first (inclusive) and end (exclusive), None without a bound."""
    begins, ends = (wanted[0], held[0]), (held[1], wanted[1])
    return all(begin is None or end is None or begin < end for begin, end in zip(begins, ends, strict=True))


def _followers(segments: Sequence[SegmentLookup]) -> list[int | None]:
    """Return the first offset after each segment. One that contradicts its name ends where its batches do, and limits no other."""
    followers: list[int | None] = []
    follower = None
    for one in reversed(segments):
        held = one.held
        followers.append(follower if held is None else held[1] + 1)
        follower = one.base_offset if held is None else follower
    return followers[::-1]


def _arranged(files: list[SegmentFile], *, reports: bool) -> list[SegmentFile]:
    asked = [file if reports or not is_stored(file.path) else file.replaced(offsets=None) for file in files]
    firsts = list(map(_first_offset, asked))
    found = list(map(_misnamed, asked, firsts, [*files[1:], None]))
    if not any(found):
        return files
    firsts = list(map(_first_message, asked, firsts))
    found = list(map(_misnamed, asked, firsts, [*files[1:], None]))
    placed = [_placed(*one, reports=reports) for one in zip(files, firsts, found, strict=True)]
    placed.sort(key=lambda file: file.base_offset or 0)
    *before, last = placed
    following = [file.base_offset for file in placed[1:]]
    ends = [end if file.next_offset is None else file.next_offset for file, end in zip(before, following, strict=True)]
    return [*(file.replaced(next_offset=end) for file, end in zip(before, ends, strict=True)), last.replaced(next_offset=None)]


def _placed(file: SegmentFile, first: int | None, finding: Finding | None, *, reports: bool) -> SegmentFile:
    """Return a segment of a partition in which one contradicts its name."""
    if finding is None:
        # The name of the other one may be that of its next segment.
        return lower_bounded(file if first is None else file.replaced(base_offset=first))
    first, last = finding.base_offset or 0, finding.last_offset
    proven = file.replaced(base_offset=first, held=(first, _LAST if last is None else max(first, last)), named=file.offsets)
    return proven.replaced(offsets=None, finding=finding) if reports else proven


def _misnamed(file: SegmentFile, first: int | None, following: SegmentFile | None) -> Finding | None:
    """Return the finding of a segment that contradicts its name."""
    if file.offsets is None or first is None:
        return None
    start, end = file.offsets
    if first >= start and end is None:
        return None
    finding = None
    with suppress(OSError, RecordBatchError):
        finding = SegmentIndex(file.path, start).misnamed(first, file.offsets)
    is_merged = finding is not None and first >= start and following is not None and not os.path.lexists(following.path)
    # The cleaner of a broker has merged the next segment into this one since the directory was listed.
    return None if is_merged and not is_stored(file.path) else finding


def _first_message(file: SegmentFile, first: int | None) -> int | None:
    """Return where the segment begins: the offset of a compressed message set, which is found first, is that of its last message."""
    columns = ("magic", "baseOffset", "isValid")
    with suppress(OSError, RecordBatchError), batch_stream(FileSource(file.path), _RESOLVED) as rows:
        row = next((row for batch in rows for row in batch.select(columns).to_pylist() if row["isValid"]), None)
        if first is not None and row is not None and row["magic"] < 2 and row["baseOffset"] is not None:
            return min(first, int(row["baseOffset"]))
    return first


def _first_offset(file: SegmentFile) -> int | None:
    """Return where the segment begins. A file that cannot be opened is for its reader to report."""
    if file.offsets is not None:
        with suppress(OSError, RecordBatchError):
            return SegmentIndex(file.path, file.offsets[0]).first_offset(file.offsets)
    return None
