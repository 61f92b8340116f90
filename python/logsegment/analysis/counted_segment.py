"""A segment whose look-ups are counted, for a search: `CountedSegment`, and the `Counters` of all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from logsegment._core import RecordBatchError
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import is_stored
from logsegment.tiered.errors import ChunkError


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


class CountedSegment(Segment):
    """A segment whose look-ups are counted."""

    def __init__(self, file: SegmentFile, counters: Counters) -> None:
        super().__init__(file)
        self._counters = counters
        self._is_read = False
        self._index_bytes: int | None = None
        self._found: tuple[int, int, tuple[int, int, int] | None] | None = None

    def is_read(self) -> None:
        """Count it, once."""
        self._counters.segments_read += not self._is_read
        self._is_read = True

    def range_of_offsets(self, start: int | None, end: int | None, *, is_skipping: bool) -> tuple[int, int | None]:
        """The bytes of the batches that may hold the offsets; none where no batch reaches the first of them."""
        if self._is_kafka_07 or start is end is None:
            return 0, None
        self._looked_up_index()
        if is_skipping:
            return self.intact_range(start, end)
        begin = 0
        try:
            begin, is_there = (0, True) if start is None else self._position(start)
            if not is_there:
                return begin, begin
            behind = None if end is None else self._behind(end - 1)
        except ChunkError:
            return begin or self.intact_range(start)[0], None
        except RecordBatchError:
            return begin, None
        return begin, None if behind is None else max(begin, behind)

    def passed_over(self, offset: int) -> tuple[int, int | None] | None:
        """The bytes in which a batch with an offset is, if there is one although no header tells it; None where one does.

        From the last intact batch before it to which the index leads, to the first one behind it, or the end of the file.
        """
        if self._is_kafka_07:
            return None
        try:
            position, batch = self._find(offset)
        except RecordBatchError:
            # Decoding tells what is wrong.
            return None
        if batch is not None and batch[1] <= offset:
            return None
        return min(position, self.intact_range(offset)[0]), None if batch is None else position

    def ranges_of_time(self, timestamp: int) -> Iterator[tuple[int, int | None]]:
        """The batch that has a record of this time or later, as its header says, and all behind it, should that be wrong.

        Where no header says so, what stands behind the last one.
        """
        if self._is_kafka_07:
            return
        self.is_read()
        try:
            position, batch = self._find_timestamp(timestamp)
        except RecordBatchError:
            # Decoding tells what is wrong, or skips it.
            yield 0, None
            return
        self._walked(position, by_index=False)
        if batch is not None:
            yield position, position + batch[0]
            yield position + batch[0], None
        elif position < self.size:
            yield position, None

    def _position(self, offset: int) -> tuple[int, bool]:
        position, batch = self._find(offset)
        return position, batch is not None

    def _behind(self, offset: int) -> int | None:
        position, batch = self._find(offset)
        return position + batch[0] if batch else None

    def _find(self, offset: int) -> tuple[int, tuple[int, int, int] | None]:
        """Look up the batch that reaches an offset; a search for one offset asks twice for the same."""
        if self._found is None or self._found[0] != offset:
            position, batch, by_index = self._index.find_offset(offset)
            self._walked(position, by_index=by_index)
            self._found = offset, position, batch
        return self._found[1:]

    def _walked(self, position: int, *, by_index: bool) -> None:
        self._counters.bytes_walked += 0 if by_index else position

    def _looked_up_index(self) -> None:
        """Count the bytes of the index, once."""
        self.is_read()
        if self._index_bytes is None:
            self._index_bytes = self._bytes_of_index()
            self._counters.index_bytes += self._index_bytes

    def _bytes_of_index(self) -> int:
        if is_stored(self.path):
            # A size would be a question more to the store; the entries are there after the look-up anyway.
            return 8 * len(self._index.offset_index())
        try:
            return os.stat(self._beside(".index")).st_size
        except OSError:
            return 0
