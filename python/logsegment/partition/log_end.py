"""The end of a partition that grows: its last batch, and its last stable offset. The core finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from logsegment._core import GrowingLog as CoreGrowingLog
from logsegment._core import LogEnd, RecordBatchError, SegmentFile
from logsegment._options import ReadOptions
from logsegment._validate import error_of


class GrowingLog(CoreGrowingLog):
    """Finds the end of a partition again and again, and the error of a damaged one.

    Args:
        options: those of the read.
    """

    _options: ReadOptions

    def __new__(cls, options: ReadOptions | None = None) -> Self:
        """Make a log that was not looked at."""
        read = options or ReadOptions()
        log = super().__new__(cls, read)
        log._options = read
        return log

    def damage(self, segment: SegmentFile, end: LogEnd) -> RecordBatchError | None:
        """Return the error of a damaged end; None if a torn end may still be written.

        Raises:
            OSError: if the file cannot be read.
        """
        return None if end.finding is None else error_of(segment.path, end.finding, self._options)

    def checked_end(self, segment: SegmentFile, *, is_checked: bool = True) -> int:
        """Return the offset after the last batch of a segment.

        Args:
            segment: the last one of the partition.
            is_checked: read the last batch, too, and compare its checksum.

        Raises:
            OSError: if the file cannot be read.
            RecordBatchError: if the end is damaged, unless damage is skipped.
        """
        end = self.end(segment, is_checked=is_checked)
        damage = self.damage(segment, end)
        if damage is not None:
            raise damage
        return end.next_offset

    def next_read_offset(self, segments: Sequence[SegmentFile]) -> int:
        """Return the offset after the records that a read gives: that after the last valid batch, or the last stable offset.

        Args:
            segments: those of the partition in the order of their offsets, with their log start offset.

        Raises:
            OSError, RecordBatchError: as of `checked_end`.
        """
        end = self.checked_end(segments[-1])
        if self._options.isolation == "read_committed":
            end = self.stable_offset(segments, end)
        return max(end, segments[0].base_offset or 0, segments[0].log_start or 0)
