"""A segment whose look-ups are counted, for a search: `CountedSegment`, and the `Counters` of all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from logsegment._core import RecordBatchError
from logsegment.log.segment_lookup import Found, SegmentLookup
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import is_stored


@dataclass(slots=True)
class Counters:
    """What a search has read.

    Attributes:
        partitions: that were asked.
        segments: in them.
        segments_read: of which a log or an index was opened; the names told of the others.
        index_bytes: of the indexes, which are read whole.
        batch_bytes: of the batches that were read for their records.
        batches_read: how many they are; those left out by their headers too, where no look-up led.
        records_read: in them, as far as offsets did not exclude them.
        bytes_walked: of the logs that were passed header by header, since no index led the way. What a look-up reads from the entry of an
            index on is not counted: a few headers, and the batch that proves the entry.
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
        """The counters by name."""
        return asdict(self)


class CountedSegment(SegmentLookup):
    """A segment whose look-ups are counted."""

    def __init__(self, file: SegmentFile, counters: Counters) -> None:
        super().__init__(file)
        self._counters = counters
        self._is_read = False
        self._has_index_bytes = False
        self._found: tuple[int, Found] | None = None

    def is_read(self) -> None:
        """Count it, once."""
        self._counters.segments_read += not self._is_read
        self._is_read = True

    def range_of_offsets(self, start: int | None, end: int | None, *, is_skipping: bool) -> tuple[int, int | None]:
        """Return the bytes of the batches that may hold the offsets; none if no batch reaches the first of them."""
        if self.file.is_kafka_07 or start is end is None:
            return 0, None
        self.is_read()
        self._count_index()
        if is_skipping:
            return self.valid_range(start, end)
        begin, behind = self.byte_range(start, end)
        is_after_all = self._found is not None and self._found[0] == start and self._found[1][1] is None
        return begin, begin if is_after_all else behind

    def range_of_hidden(self, offset: int) -> tuple[int, int | None] | None:
        """Return the bytes that hold the batch of an offset, if there is one although no header shows it. None if a header does.

        They begin at the last valid batch before the offset to which the index leads, and end at the first batch after the offset, or at
        the end of the file.
        """
        if self.file.is_kafka_07:
            return None
        try:
            position, batch = self.find_offset(offset)
        except RecordBatchError:
            # The decode raises the error.
            return None
        if batch is not None and batch[1] <= offset:
            return None
        return min(position, self.valid_range(offset)[0]), None if batch is None else position

    def ranges_of_time(self, timestamp: int) -> Iterator[tuple[int, int | None]]:
        """Yield the batch that has a record of this time or later by its header, and all after it, should the header be wrong.

        If no header says so, yield the bytes after the last batch.
        """
        if self.file.is_kafka_07:
            return
        self.is_read()
        try:
            position, batch = self.find_timestamp(timestamp)
        except RecordBatchError:
            # The decode raises the error, or skips the damage.
            yield 0, None
            return
        self._counters.bytes_walked += position
        if batch is not None:
            yield position, position + batch[0]
            yield position + batch[0], None
        elif position < self.size:
            yield position, None

    def find_offset(self, offset: int) -> Found:
        """Find the first batch that ends at or after an offset. A search for one offset asks more than once."""
        if self._found is None or self._found[0] != offset:
            before = self.bytes_walked
            self._found = offset, super().find_offset(offset)
            self._counters.bytes_walked += self.bytes_walked - before
        return self._found[1]

    def _count_index(self) -> None:
        """Count the bytes of the index, once."""
        if self._has_index_bytes:
            return
        self._has_index_bytes = True
        if is_stored(self.path):
            # A size would be one more request to the store; the look-up reads the entries anyway.
            self._counters.index_bytes += 8 * len(self.index.offset_index())
            return
        with suppress(OSError):
            self._counters.index_bytes += os.stat(self.sidecar(".index")).st_size
