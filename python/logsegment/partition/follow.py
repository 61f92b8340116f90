"""New records of growing partitions: what was appended, and whether the log was cut. The core finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from logsegment._core import Follower as CoreFollower
from logsegment._core import SegmentFile, SegmentKeyError
from logsegment._options import ReadOptions
from logsegment._validate import error_of
from logsegment.partition.reader import Part


class Piece(NamedTuple):
    """Records to show.

    Attributes:
        segment: the file.
        part: the bytes that hold them, with the options of their decode, as those of `PartitionReader`.
        known: findings after this byte are for a later look; None if all are for this one.
    """

    segment: SegmentFile
    part: Part
    known: int | None


class Follower(CoreFollower):
    """Follows one partition.

    Args:
        start: the first offset that is wanted; None for records that are appended from now on.
        options: those of the read. With `on_error="raise"` it ends at damage, after the records before it.
        wait: seconds for which a segment that is gone, or shorter than it was, may come back unchanged. A copy that replaces a file
            looks like that. Then the log counts as truncated.
    """

    _options: ReadOptions

    def __new__(cls, start: int | None, options: ReadOptions, wait: float = 0.0) -> Self:
        """Make a follower that has shown nothing."""
        follower = super().__new__(cls, start, options, wait)
        follower._options = options
        return follower

    def look(self, segments: Sequence[SegmentFile]) -> Iterator[Piece | str | SegmentKeyError]:
        """Yield new records, notes about records that are gone, and the errors of uploads that are skipped because their key is missing.

        Args:
            segments: those of the partition in the order of their offsets.

        Raises:
            FileNotFoundError: if a segment was deleted meanwhile: look again.
            RecordBatchError: if a batch that is not the last one is damaged.
            SegmentKeyError: if a key is missing or wrong.
        """
        self.begin(segments)
        while (found := self.next_found()) is not None:
            if isinstance(found, (str, SegmentKeyError)):
                yield found
            elif len(found) == 2:
                raise error_of(found[0].path, found[1], self._options)
            else:
                yield Piece(*found)
