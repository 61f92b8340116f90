"""The end of a partition that grows: its last batch, and its last stable offset. The core finds them."""

from __future__ import annotations

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
