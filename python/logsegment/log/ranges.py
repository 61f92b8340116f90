"""What of a segment must be read for wanted offsets, and where it can be cut: `Ranges`, which `Segment` is made of."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from logsegment._core import Finding, RecordBatchError, SegmentIndex
from logsegment._options import ReadOptions
from logsegment.segment_files.discovery import SegmentFile, size_of
from logsegment.stores.uri import is_stored
from logsegment.tiered.catalog import latest_timestamp
from logsegment.tiered.errors import ChunkError


class Ranges:
    """Byte ranges of a segment's file, by its indexes where they are right and by batch headers where not."""

    if TYPE_CHECKING:
        _file: SegmentFile

        @property
        def path(self) -> str:
            """As in `Segment`."""

        @property
        def base_offset(self) -> int | None:
            """As in `Segment`."""

        def _own(self, suffix: str) -> list[Finding]: ...
        @property
        def _index(self) -> SegmentIndex: ...
        @property
        def _is_kafka_07(self) -> bool: ...

    @property
    def size(self) -> int:
        """Bytes of the file now.

        Raises:
            OSError: when it is not there.
        """
        return size_of(self._file) if is_stored(self.path) else os.stat(self.path).st_size

    @property
    def _snapshot(self) -> str:
        """A snapshot has the name of an offset, also where tiered storage puts an id behind those of segments."""
        if self.base_offset is None:
            return os.path.splitext(self.path)[0] + ".snapshot"
        return os.path.join(os.path.dirname(self.path), f"{self.base_offset:020d}.snapshot")

    @property
    def index_findings(self) -> list[Finding]:
        """Return what is wrong with the `.index` alone (missing, cut, out of order), and what look-ups have shown: it led nowhere."""
        return [] if self._is_kafka_07 else [*self._own(".index"), *self._misled]

    @cached_property
    def _misled(self) -> list[Finding]:
        """What look-ups have shown of an `.index` that is sound by itself."""
        return []

    def byte_range(self, start_offset: int | None = None, end_offset: int | None = None) -> tuple[int, int | None]:
        """Find the bytes of the batches that may hold wanted offsets.

        Args:
            start_offset: first offset wanted (inclusive).
            end_offset: first offset not wanted (exclusive).

        Returns:
            Position of the first batch, and behind the last; None for the end of the file. From its beginning, or to its end, where headers
            cannot be read: a decode shall say so. In front of a damaged chunk of an upload when the first of the offsets was in that.

        Raises:
            OSError: when the file cannot be read.

        Example:
            >>> import logsegment as ls
            >>> segment = ls.Segment("payments-0/00000000000000000000.log")
            >>> start, end = segment.byte_range(10, 13)
            >>> ls.decode(ls.FileSource(segment.path, start, end), columns=["offset"], start_offset=10, end_offset=13).read_all().num_rows
            3

        Source: `LogSegment.translateOffset` in Kafka.
        """
        if self._is_kafka_07:
            return 0, None
        first = 0
        try:
            first = 0 if start_offset is None else self._find_offset(start_offset)[0]
            if end_offset is None:
                return first, None
            position, batch = self._find_offset(end_offset - 1)
        except ChunkError:
            return first or self._index.intact_range(start_offset)[0], None
        except RecordBatchError:
            return first, None
        return first, max(first, position + batch[0]) if batch else None

    def range_to_read(self, start_offset: int | None, end_offset: int | None, options: ReadOptions) -> tuple[int, int | None]:
        """Return the bytes that a read of wanted offsets needs.

        Args:
            start_offset: first offset wanted (inclusive).
            end_offset: first offset not wanted (exclusive).
            options: those of the read. A read that skips damage trusts no header that may be damaged. Offsets of Kafka 0.7 are positions
                after messages, by which nothing is looked up.

        Returns:
            As `byte_range`.

        Raises:
            OSError: if the file cannot be read.
        """
        if options.format in ("0.7", "sniff"):
            return 0, None
        look_up = self.intact_range if options.skips_damage else self.byte_range
        return look_up(start_offset, end_offset)

    def intact_range(self, start_offset: int | None = None, end_offset: int | None = None) -> tuple[int, int | None]:
        """Find the bytes of wanted offsets for a read that goes on past damage: no damaged header can hide an intact batch.

        Args:
            start_offset: first offset wanted (inclusive).
            end_offset: first offset not wanted (exclusive).

        Returns:
            As `byte_range`. More bytes than there, from entry to entry of the index, and the whole file where there is none.

        Raises:
            OSError: when the file cannot be read.
        """
        return (0, None) if self._is_kafka_07 else self._index.intact_range(start_offset, end_offset)

    def _find_offset(self, offset: int) -> tuple[int, tuple[int, int, int] | None]:
        position, batch, by_index = self._index.find_offset(offset)
        if misled := self._index.misled_by_offset(offset, position, by_index):
            self._misled[:] = [misled]
        return position, batch

    def _find_timestamp(self, timestamp: int) -> tuple[int, tuple[int, int, int] | None]:
        """Return what the headers find; nothing in an upload with a damaged chunk if its manifest says that all of it is earlier."""
        try:
            return self._index.find_timestamp(timestamp)[:2]
        except ChunkError:
            latest = latest_timestamp(self.path)
            if latest is None or latest >= timestamp:
                raise
            return self.size, None

    def position_for_timestamp(self, timestamp: int) -> int | None:
        """Position of the first batch that may hold a record of this time (ms) or later; None when the headers say that there is none.

        Raises:
            OSError: when the file cannot be read.
        """
        if self._is_kafka_07:
            return 0
        try:
            position, batch = self._find_timestamp(timestamp)
        except RecordBatchError:
            return 0
        return None if batch is None else position

    def next_offset(self) -> int | None:
        """The offset behind the last whole batch; the first offset when there is none; None where headers cannot be read.

        Raises:
            OSError: when the file cannot be read.
        """
        if self._is_kafka_07:
            return None
        try:
            last = self._index.last_batch()
        except RecordBatchError:
            return None
        return self.base_offset if last is None else last[2] + 1

    def cuts(self, step_bytes: int, start: int = 0, end: int | None = None, *, intact: bool = False) -> list[int]:
        """Positions where the file can be cut into pieces of about `step_bytes`: batches begin there.

        Args:
            step_bytes: wanted size of a piece.
            start: position of a batch; it is not among the cuts.
            end: position behind the last piece.
            intact: cut only before batches whose checksum matches, for reads that go on past damage.

        Raises:
            OSError: when the file cannot be read.

        Example:
            >>> import logsegment as ls
            >>> segment = ls.Segment("payments-0/00000000000000000000.log")
            >>> pieces = [0, *segment.cuts(500), segment.size]
            >>> all(ls.batches(ls.FileSource(segment.path, *piece)).num_rows > 0 for piece in zip(pieces, pieces[1:]))
            True
        """
        if self._is_kafka_07:
            return []
        return self._index.cuts(start, self.size if end is None else end, step_bytes, intact=intact)

    def offset_cuts(self, step: int, start_offset: int, end_offset: int | None = None) -> list[tuple[int, int, int]]:
        """Where the file can be cut into pieces of at most `step` offsets.

        Args:
            step: most offsets of a piece.
            start_offset: first offset of the first piece.
            end_offset: behind the last offset of the last piece; None for all.

        Returns:
            For each piece but the first: its first offset, where it begins, and where the bytes of the piece before end. A batch that holds
            offsets of both is among the bytes of both.

        Raises:
            OSError: when the file cannot be read.
        """
        if self._is_kafka_07:
            return []
        return self._index.offset_cuts(start_offset, 2**63 - 1 if end_offset is None else end_offset, step)
