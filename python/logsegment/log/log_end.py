"""The end of a partition that grows: its last batch, and its last stable offset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from logsegment._core import LogEnd, RecordBatchError, SegmentFile, StableOffset, has_batch
from logsegment._core import log_end as core_log_end
from logsegment._options import ReadOptions
from logsegment._validate import error_of

#: Position, checksum and last offset of a batch, by which it is known again.
Last: TypeAlias = tuple[int, int, int]


class GrowingLog:
    """Finds the end of a partition again and again: it walks only the batches that are new.

    Args:
        options: those of the read. With `on_error="raise"` the end is the last batch before damage, with "skip" the last valid batch past
            damage.
    """

    def __init__(self, options: ReadOptions | None = None) -> None:
        self._options = options or ReadOptions()
        #: The end of each segment at the last look.
        self._ends: dict[str, LogEnd] = {}
        self._stable = StableOffset()

    def end(self, segment: SegmentFile, *, is_checked: bool = True) -> LogEnd:
        """Return the end of a segment.

        Args:
            segment: the segment that grows.
            is_checked: the very last batch counts only if its checksum matches.

        Raises:
            RecordBatchError: if a header is damaged, unless damage is skipped.
            OSError: if the file cannot be read.
        """
        found = core_log_end(
            segment.path,
            segment.base_offset or 0,
            self._options,
            since=self._ends.get(segment.path),
            is_checked=is_checked,
        )
        self._ends[segment.path] = found
        return found

    def last_valid(self, segment: SegmentFile) -> LogEnd:
        """Return the end of a segment past damage, whatever `on_error` is.

        Raises:
            OSError: if the file cannot be read.
        """
        # A strict look that follows must not begin past the damage.
        return core_log_end(segment.path, segment.base_offset or 0, replace(self._options, on_error="skip"))

    def go_on_from(self, segment: SegmentFile, end: LogEnd) -> None:
        """Begin the next look at a segment at a known end, whatever is damaged before it."""
        self._ends[segment.path] = end

    def damage(self, segment: SegmentFile, end: LogEnd) -> RecordBatchError | None:
        """Return the error of a damaged end; None if a torn end may still be written.

        Raises:
            OSError: if the file cannot be read.
        """
        return None if end.finding is None else error_of(segment.path, end.finding, self._options)

    def has(self, segment: SegmentFile, last: Last) -> bool:
        """Return True if a batch of a segment is still at its position.

        Raises:
            OSError: if the file cannot be read.
        """
        return has_batch(segment.path, last, self._options)

    def stable_offset(self, segments: Sequence[SegmentFile], until: int) -> int:
        """Return the first offset of the oldest transaction that is open at `until`, or `until` (TXN-6).

        Args:
            segments: those of the partition, in the order of their offsets.
            until: markers from this offset on do not count: they may still be cut off.

        Raises:
            RecordBatchError: if a header is damaged, or a marker.
            OSError: if a file cannot be read.
        """
        return self._stable.find([(one.path, one.base_offset or 0) for one in segments], until, self._options)

    def forget_others(self, segments: Iterable[SegmentFile]) -> None:
        """Forget the ends of all other segments."""
        paths = {segment.path for segment in segments}
        self._ends = {path: end for path, end in self._ends.items() if path in paths}
