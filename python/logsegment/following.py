"""New records of growing partitions: where each of them ends now, what came since, and whether what was shown still stands.

A broker may append, roll, cut and delete between any two looks. A batch counts once it is whole and, as the last one, its checksum matches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from logsegment import _core
from logsegment.segments import SegmentFile

#: Batches that are remembered, one for each look that found something, to know how far back a log was cut.
REMEMBERED = 1000


class Piece(NamedTuple):
    """Records to show: of `segment` from byte `position` on those from offset `start` to before `end`."""

    segment: SegmentFile
    position: int
    start: int
    end: int


@dataclass(frozen=True)
class _Stood:
    """A batch that was the last one: by position, checksum and last offset it is known again."""

    path: str
    last: tuple[int, int, int]


class Follower:
    """Follows one partition.

    Args:
        start: the first offset that is wanted; None for what comes from now on.
    """

    def __init__(self, start: int | None, *, experimental: bool = False) -> None:
        self._next = start
        self._experimental = experimental
        self._stood: deque[_Stood] = deque(maxlen=REMEMBERED)

    @property
    def next_offset(self) -> int | None:
        """The first offset that was not shown; None before the first look, where only what comes from then on is wanted."""
        return self._next

    def look(self, segments: Sequence[SegmentFile]) -> Iterator[Piece | str]:
        """What is new, and notes about what is gone; `segments` are those of the partition in the order of their offsets.

        Raises:
            FileNotFoundError: when a segment is gone meanwhile: look again.
            RecordBatchError: when a batch that is not the last one is damaged.
        """
        if self._next is None:
            self._begin(segments[-1])
            return
        yield from self._cut(segments)
        first = _base(segments[0])
        if self._next < first:
            yield f"offsets {self._next:,} to {first - 1:,} are not there any more"
            self._next = first
        for segment, behind in zip(segments, [*segments[1:], None], strict=True):
            if behind is None or _base(behind) > self._next:
                yield from self._new(segment)

    def _begin(self, segment: SegmentFile) -> None:
        last = self._end(segment, None)
        self._next = _base(segment) if last is None else last[2] + 1
        if last is not None:
            self._stood.append(_Stood(segment.path, last))

    def _new(self, segment: SegmentFile) -> Iterator[Piece]:
        assert self._next is not None
        known = self._stood[-1].last if self._stood and self._stood[-1].path == segment.path else None
        last = self._end(segment, known)
        if last is None or last[2] < self._next:
            return
        yield Piece(segment, known[0] if known else 0, self._next, last[2] + 1)
        self._next = last[2] + 1
        self._stood.append(_Stood(segment.path, last))

    def _end(self, segment: SegmentFile, since: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
        """The last whole batch of a segment; `since` when there is none behind it."""
        followed = _core.follow_log(segment.path, _base(segment), since=since, is_checked=True, experimental=self._experimental)
        # Cut between two steps of one look: the next one sees it.
        return since if followed is None else followed[0] or since

    def _cut(self, segments: Sequence[SegmentFile]) -> Iterator[str]:
        """Go back to the last batch that stands, if the one behind which the log went on does not."""
        there = {segment.path: segment for segment in segments}
        shown, oldest = self._next, None
        while self._stood and not self._stands(self._stood[-1], there):
            gone = self._stood.pop()
            # A segment that is deleted in front of others was not cut.
            if gone.path in there or _base(segments[-1]) <= gone.last[2]:
                oldest = gone.last[2] + 1
        if oldest is None or shown is None:
            return
        if self._stood:
            self._next = self._stood[-1].last[2] + 1
        else:
            last = self._end(segments[-1], None)
            self._next = min(oldest, _base(segments[-1]) if last is None else last[2] + 1)
        yield f"the log was cut: what was told of offsets {self._next:,} to {shown - 1:,} holds no more; from there on it is shown anew"

    def _stands(self, stood: _Stood, there: dict[str, SegmentFile]) -> bool:
        segment = there.get(stood.path)
        if segment is None:
            return False
        return _core.follow_log(stood.path, _base(segment), since=stood.last, experimental=self._experimental) is not None


def _base(segment: SegmentFile) -> int:
    return segment.base_offset or 0
