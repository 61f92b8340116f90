"""The bytes of one segment that hold offsets or times, and where it can be cut: `SegmentLookup`.

Indexes lead there if they are right, batch headers if not.
"""

from __future__ import annotations

import os
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property

from logsegment._core import (
    ChunkError,
    FileSource,
    Finding,
    Limits,
    RecordBatchError,
    SegmentFile,
    SegmentIndex,
    batch_stream,
    ensure_log_segment,
    uploaded_max_timestamp,
    valid_batches,
)
from logsegment._log_paths import SWAP, is_of_0_7
from logsegment._options import EVERY_FORMAT, ReadOptions
from logsegment.log.log_end import GrowingLog
from logsegment.segment_files.discovery import size_of
from logsegment.stores.uri import shown

#: Position and size of a batch, its first offset and its last offset; the last three are None if there is no such batch.
FoundBatch = tuple[int, tuple[int, int, int] | None]


class SegmentLookup:
    """Look-ups in one segment. Entries of Kafka 0.7 have no offsets and no times: all of its bytes may be wanted.

    Args:
        file: the segment.

    Attributes:
        file (SegmentFile): the segment.
        bytes_walked (int): bytes of which every header was read, because no index led past them.
    """

    def __init__(self, file: SegmentFile) -> None:
        self.file = file
        self.bytes_walked = 0
        #: Findings of an `.index` that is valid by itself: its entries led a look-up to no batch.
        self._look_up_findings: list[Finding] = []

    def of(self, file: SegmentFile) -> SegmentLookup:
        """Return the look-up of the same file with other offsets that it may hold."""
        same = copy(self)
        same.file = file
        if file.next_offset != self.file.next_offset:
            same.__dict__.pop("index", None)
        return same

    @property
    def path(self) -> str:
        """Path of the file."""
        return self.file.path

    @property
    def size(self) -> int:
        """Bytes of the file now.

        Raises:
            OSError: if there is no such file.
        """
        return size_of(self.file)

    @property
    def base_offset(self) -> int | None:
        """The first offset that the segment may hold."""
        return self.file.base_offset

    @property
    def held(self) -> tuple[int, int] | None:
        """First and last offset of the batches, if they contradict the name of the file."""
        return self.file.held

    @cached_property
    def index(self) -> SegmentIndex:
        """The indexes, each read when it is first needed."""
        return SegmentIndex(self.path, self.file.base_offset or 0, self.file.next_offset)

    def sidecar(self, suffix: str) -> str:
        """Return the path of a sidecar file, which has the mark of a swap if the log has it."""
        mark = SWAP if self.path.endswith(SWAP) else ""
        return os.path.splitext(self.path.removesuffix(mark))[0] + suffix + mark

    def findings_of(self, suffix: str) -> list[Finding]:
        """Return the findings of one index alone."""
        return [finding for finding in self.index.findings() if finding.path.startswith(shown(self.sidecar(suffix)) + "@")]

    @property
    def index_findings(self) -> list[Finding]:
        """The findings of the `.index` alone (missing, cut, out of order), and of look-ups that it led nowhere."""
        return [] if is_of_0_7(self.path) else [*self.findings_of(".index"), *self._look_up_findings]

    def range_to_read(self, options: ReadOptions) -> tuple[int, int | None]:
        """Return the bytes that a read needs, as `byte_range` or `valid_range` does.

        Args:
            options: those of the read, with the offsets that are wanted. A read that skips damage trusts no header that may be damaged.
                Offsets of Kafka 0.7 are positions after messages, by which nothing is looked up.

        Raises:
            OSError: if the file cannot be read.
        """
        if options.format in ("0.7", "sniff") or options.bounds == (None, None):
            return 0, None
        look_up = self.valid_range if options.skips_damage else self.byte_range
        return look_up(*options.bounds)

    def byte_range(self, start_offset: int | None = None, end_offset: int | None = None) -> tuple[int, int | None]:
        """Find the bytes of the batches that may hold wanted offsets.

        Args:
            start_offset: first offset wanted (inclusive).
            end_offset: first offset not wanted (exclusive).

        Returns:
            Position of the first batch, and the end of the last one; None for the end of the file. The range begins at 0, or ends at the
            end of the file, if headers cannot be read: the decode raises the error. It begins before a damaged chunk of an upload if the
            first of the offsets was in that chunk.

        Raises:
            OSError: if the file cannot be read.

        Source: `LogSegment.translateOffset` in Kafka.
        """
        if is_of_0_7(self.path):
            return 0, None
        first = 0
        try:
            if start_offset is not None:
                first, batch = self.find_offset(start_offset)
                if batch is None:
                    last = None if self.file.next_offset is None else self.index.last_batch()
                    # Zeros after the last batch are damage only if offsets are missing, which the last batch shows.
                    return (first if last is None else last[0]), None
            if end_offset is None:
                return first, None
            position, batch = self.find_offset(end_offset - 1)
        except ChunkError:
            return first or self.valid_range(start_offset)[0], None
        except RecordBatchError:
            return first, None
        if batch is None or not self.index.offsets_increase_at(position + batch[0], batch[2]):
            return first, None
        return first, max(first, position + batch[0])

    def valid_range(self, start_offset: int | None = None, end_offset: int | None = None) -> tuple[int, int | None]:
        """Find the bytes of wanted offsets for a read that skips damage: no damaged header can hide a valid batch.

        Args:
            start_offset: first offset wanted (inclusive).
            end_offset: first offset not wanted (exclusive).

        Returns:
            As `byte_range`, but more bytes: from entry to entry of the index, and the whole file without an index.

        Raises:
            OSError: if the file cannot be read.
        """
        return (0, None) if is_of_0_7(self.path) else self.index.valid_range(start_offset, end_offset)

    def find_offset(self, offset: int) -> FoundBatch:
        """Find the first batch that ends at or after an offset.

        Raises:
            RecordBatchError: if headers on the way cannot be read.
            OSError: if the file cannot be read.
        """
        position, batch, by_index = self.index.find_offset(offset)
        self.bytes_walked += 0 if by_index else position
        if finding := self.index.index_finding(offset, position, by_index):
            self._look_up_findings = [finding]
        return position, batch

    def find_timestamp(self, timestamp: int) -> FoundBatch:
        """Find the first batch that may hold a record of this time (ms) or later, by its header.

        Nothing is found in an upload with a damaged chunk if its manifest says that all of its records are earlier.

        Raises:
            InvalidError: if the file is not a log segment (SEG-16).
            RecordBatchError: if headers on the way cannot be read.
            OSError: if the file cannot be read.
        """
        ensure_log_segment(self.path)
        try:
            position, batch, _ = self.index.find_timestamp(timestamp)
            self.bytes_walked += position
            return position, batch
        except ChunkError:
            latest = uploaded_max_timestamp(self.path[:])
            if latest is None or latest < 0 or latest >= timestamp:
                raise
            return self.size, None

    def position_for_timestamp(self, timestamp: int) -> int | None:
        """Return the position of the first batch that may hold a record of this time (ms) or later, or None if headers show that none does.

        Raises:
            OSError: if the file cannot be read.
        """
        if is_of_0_7(self.path):
            return 0
        try:
            position, batch = self.find_timestamp(timestamp)
        except RecordBatchError:
            return 0
        return None if batch is None else position

    def next_offset(self) -> int | None:
        """Return the offset after the last whole batch, the first offset if there is none, or None if headers cannot be read.

        Raises:
            OSError: if the file cannot be read.
        """
        if is_of_0_7(self.path):
            return None
        try:
            return self.end()[0]
        except RecordBatchError:
            return None

    def end(self) -> tuple[int | None, int]:
        """Return the offset and the position after the last whole batch, to which the index leads; the first of both if there is none.

        Raises:
            RecordBatchError: if headers cannot be read.
            OSError: if the file cannot be read.
        """
        last = self.index.last_batch()
        if last is None:
            return self.file.base_offset, 0
        position, length, last_offset = last
        return last_offset + 1, position + length

    def end_before(self, offset: int, *, past_damage: bool) -> int | None:
        """Return the offset after the last batch if it is before an offset; None if it is not, or headers cannot be read.

        Args:
            offset: the offset.
            past_damage: a damaged header may claim the bytes of valid batches up to the end.

        Raises:
            OSError: if the file cannot be read.
        """
        end = self.next_offset()
        if end is None or offset <= end:
            return None
        is_beyond = past_damage and offset <= GrowingLog(EVERY_FORMAT).last_valid(self.file).next_offset
        return None if is_beyond else end

    def entry_around(self, position: int) -> tuple[int, int] | None:
        """Return the positions where the entry around a position begins and ends; None if an entry begins there, or none is there.

        Offsets of Kafka 0.7 are such positions. Nothing is found after damage, which the read reports.

        Raises:
            OSError: if the file cannot be read.
        """
        with suppress(RecordBatchError), valid_batches(FileSource(self.path), ReadOptions(check_crc=False)) as entries:
            for entry in entries:
                end = entry.position + entry.size
                if position < end:
                    return (entry.position, end) if entry.position < position else None
        return None

    def first_entry_error(self, limits: Limits | None = None) -> RecordBatchError | None:
        """Return the error of the first entry: a TruncatedError if the file ends inside of it. None for an empty file, or one of zeros.

        Raises:
            OSError: if the file cannot be read.
        """
        # The read itself refuses magic 3 and unknown plugins.
        options = replace(EVERY_FORMAT, check_crc=False, strict_tail=True, batch_size=1, limits=limits)
        try:
            with batch_stream(FileSource(self.path), options) as entries:
                next(iter(entries), None)
        except RecordBatchError as error:
            return error if error.position == 0 else None
        return None

    def cuts(self, step_bytes: int, start: int = 0, end: int | None = None, *, valid: bool = False) -> list[int]:
        """Return positions of batches where the file can be cut into pieces of about `step_bytes`.

        Args:
            step_bytes: wanted size of a piece.
            start: position of a batch; it is not among the cuts.
            end: end of the last piece.
            valid: cut only before batches whose checksum matches, for reads that skip damage.

        Raises:
            OSError: if the file cannot be read.
        """
        if is_of_0_7(self.path):
            return []
        return self.index.cuts(start, self.size if end is None else end, step_bytes, valid=valid)

    def offset_cuts(self, step: int, start_offset: int, end_offset: int | None = None) -> list[tuple[int, int, int]]:
        """Return where the file can be cut into pieces of at most `step` offsets.

        Args:
            step: most offsets of a piece.
            start_offset: first offset of the first piece.
            end_offset: first offset after the last piece; None for all.

        Returns:
            For each piece but the first: its first offset, its position, and where the bytes of the piece before end. A batch that holds
            offsets of both is among the bytes of both.

        Raises:
            OSError: if the file cannot be read.
        """
        if is_of_0_7(self.path):
            return []
        return self.index.offset_cuts(start_offset, 2**63 - 1 if end_offset is None else end_offset, step)
