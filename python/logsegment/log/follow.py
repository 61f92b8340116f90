"""New records of growing partitions: where each partition ends now, what was appended, and whether the log was cut.

A broker may append, roll, cut and delete between any two looks. A batch counts once it is whole and, if it is the last one, its checksum
matches. Uploads do not grow: segments are added and removed. After a change of leaders a new segment may have offsets of another one again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from logsegment._core import RecordBatchError
from logsegment._options import OnError, ReadOptions
from logsegment.log.log_end import NO_ZEROS, Last, Tail, damage_at, is_there, last_valid, tail_of
from logsegment.log.reader import arranged, lower_bounded
from logsegment.log.segment_lookup import SegmentLookup
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import cut_of, is_stored, is_tiered, untiered
from logsegment.tiered.errors import SegmentKeyError

#: Batches that are remembered, one for each look that found new records, to know how far back a log was cut.
REMEMBERED = 1000


class Piece(NamedTuple):
    """Records to show.

    Attributes:
        segment: the file.
        position: where the first of their batches may begin.
        stop: the end of the batches, if only zeros follow.
        start: first offset.
        end: first offset after them; None for the end of the segment.
        known: findings after this byte are for a later look; None if all are for this one.
    """

    segment: SegmentFile
    position: int
    stop: int | None
    start: int
    end: int | None
    known: int | None


@dataclass(frozen=True)
class _Stood:
    """A batch that was the last one."""

    path: str
    last: Last


class _End(NamedTuple):
    """The end of a segment now.

    Attributes:
        last: the last batch that counts.
        stop: where only zeros follow, if that is known.
        damage: the error that ends the read.
        is_rest_shown: the bytes after the batch are read too, so that their findings are shown.
    """

    last: Last | None
    stop: int | None = None
    damage: RecordBatchError | None = None
    is_rest_shown: bool = False


class Follower:
    """Follows one partition.

    Args:
        start: the first offset that is wanted; None for records that are appended from now on.
        experimental: see `logsegment.decode`.
        on_error: "raise" ends at damage, after the records before it; "skip" goes on at the next valid batch.
    """

    def __init__(self, start: int | None, *, experimental: bool = False, on_error: OnError = "raise") -> None:
        self._next = start
        self._experimental = experimental
        self._skips = on_error == "skip"
        self._stood: deque[_Stood] = deque(maxlen=REMEMBERED)
        #: Closed segments that were shown to their end.
        self._done: set[tuple[str, int | None]] = set()
        self._listed: list[tuple[str, int | None]] = []
        #: The zeros at the ends of preallocated segments.
        self._zeros: dict[str, tuple[int, int]] = {}

    @property
    def next_offset(self) -> int | None:
        """The first offset that was not shown; None before the first look if only new records are wanted."""
        return self._next

    def look(self, segments: Sequence[SegmentFile]) -> Iterator[Piece | str | SegmentKeyError]:
        """Yield new records, notes about records that are gone, and the errors of uploads that are skipped because their key is missing.

        Args:
            segments: those of the partition in the order of their offsets.

        Raises:
            FileNotFoundError: if a segment was deleted meanwhile: look again.
            RecordBatchError: if a batch that is not the last one is damaged.
            SegmentKeyError: if a key is missing or wrong.
        """
        # A cleaner may merge the next segment into one since the directory was listed, so that only first offsets count.
        segments = [lower_bounded(segment) for segment in arranged(segments, reports=self._skips)]
        listed = [_name(segment) for segment in segments]
        if listed == self._listed:
            return
        self._done &= {*listed}
        self._zeros = {segment.path: self._zeros.get(segment.path, NO_ZEROS) for segment in segments}
        if self._next is None:
            self._begin(segments[-1])
        else:
            yield from self._new_of(segments)
        # Objects of a store never change under their names; what grows is looked at each time.
        self._listed = listed if all(is_stored(segment.path) for segment in segments) else []

    def _begin(self, segment: SegmentFile) -> None:
        last = self._last_of(segment)
        self._next = _base(segment) if last is None else last[2] + 1
        if last is not None:
            self._stood.append(_Stood(segment.path, last))

    def _last_of(self, segment: SegmentFile) -> Last | None:
        """Return the last batch, past damage before it."""
        try:
            tail = self._tail(segment, None)
        except RecordBatchError:
            return last_valid(segment, None, experimental=self._experimental)
        if tail.unfinished is None:
            return tail.last
        return last_valid(segment, tail.last, tail.stop, experimental=self._experimental)

    def _tail(self, segment: SegmentFile, known: Last | None) -> Tail:
        tail = tail_of(segment, known, self._zeros[segment.path], experimental=self._experimental)
        self._zeros[segment.path] = tail.zeros
        return tail

    def _new_of(self, segments: Sequence[SegmentFile]) -> Iterator[Piece | str | SegmentKeyError]:
        yield from self._cut(segments)
        assert self._next is not None
        first = _base(segments[0])
        if self._next < first:
            yield f"offsets {self._next:,} to {first - 1:,} are not there any more"
            self._next = first
        for segment, behind in zip(segments, [*segments[1:], None], strict=True):
            is_closed = behind is not None or is_stored(segment.path)
            is_over = is_closed and _name(segment) in self._done
            if not is_over and (behind is None or _base(behind) > self._next):
                try:
                    yield from self._new(segment, is_closed)
                except SegmentKeyError as error:
                    if not self._skips:
                        raise
                    yield error
                self._done |= {_name(segment)} if is_closed else set()

    def _new(self, segment: SegmentFile, is_closed: bool) -> Iterator[Piece]:
        """Yield the new records of a segment. Damage that is not skipped is an error after the records before it."""
        assert self._next is not None
        known = self._known(segment)
        last, stop, damage, is_rest_shown = self._end(segment, known, is_closed)
        if is_rest_shown:
            yield Piece(segment, self._position(segment, known), None, self._next, None, None)
        elif last is not None and last[2] >= self._next:
            yield Piece(segment, self._position(segment, known), stop, self._next, last[2] + 1, last[0])
        if damage is not None:
            raise damage
        if last is not None and last[2] >= self._next:
            self._next = last[2] + 1
            self._stood.append(_Stood(segment.path, last))

    def _end(self, segment: SegmentFile, known: Last | None, is_closed: bool) -> _End:
        try:
            tail = self._tail(segment, known)
        except RecordBatchError as error:
            if self._skips:
                return _End(last_valid(segment, known, experimental=self._experimental), is_rest_shown=is_closed)
            return _End(known, damage=error, is_rest_shown=True)
        if self._skips:
            return _End(last_valid(segment, known, tail.stop, experimental=self._experimental), tail.stop, is_rest_shown=is_closed)
        if tail.unfinished is None:
            return _End(tail.last, tail.stop)
        damage = damage_at(segment, tail.unfinished, tail.stop, experimental=self._experimental)
        return _End(tail.last, tail.stop, damage, is_rest_shown=damage is not None or is_closed)

    def _known(self, segment: SegmentFile) -> Last | None:
        return self._stood[-1].last if self._stood and self._stood[-1].path == segment.path else None

    def _position(self, segment: SegmentFile, known: Last | None) -> int:
        """Return the position of a batch before all new records."""
        if known is not None or self._next is None or self._next <= _base(segment):
            return known[0] if known else 0
        read = ReadOptions(start_offset=self._next, on_error="skip" if self._skips else "raise")
        return SegmentLookup(segment).range_to_read(read)[0]

    def _cut(self, segments: Sequence[SegmentFile]) -> Iterator[str]:
        """Go back to the last remembered batch that is still there, if the newest one is not."""
        there = {segment.path for segment in segments}
        shown, oldest = self._next, None
        while self._stood:
            gone = self._stood.pop()
            found = _found(gone, segments, experimental=self._experimental)
            if found is not None:
                self._stood.append(found)
                break
            # A segment that is deleted before others was not cut.
            if gone.path in there or _base(segments[-1]) <= gone.last[2]:
                oldest = gone.last[2] + 1
                kept = self._kept(gone, segments)
                self._stood += [kept] if kept else []
        if oldest is None or shown is None:
            return
        if self._stood:
            self._next = self._stood[-1].last[2] + 1
        else:
            last = self._last_of(segments[-1])
            self._next = min(oldest, _base(segments[-1]) if last is None else last[2] + 1)
        self._done.clear()
        yield f"the log was cut: what was told of offsets {self._next:,} to {shown - 1:,} holds no more; from there on it is shown anew"

    def _kept(self, gone: _Stood, segments: Sequence[SegmentFile]) -> _Stood | None:
        """Return the end of the part of an upload that is still read, if another leader has replaced its last batches."""
        for segment in segments:
            before = cut_of(segment.path)
            if before is not None and before <= gone.last[2] and untiered(segment.path) == _object(gone.path):
                last = self._last_of(segment)
                return None if last is None else _Stood(segment.path, last)
        return None


def _found(stood: _Stood, segments: Sequence[SegmentFile], *, experimental: bool) -> _Stood | None:
    """Return a batch with its place now: the same, or another segment that has its offsets. None if it is gone."""
    holder = next((segment for segment in reversed(segments) if _base(segment) <= stood.last[2]), None)
    if holder is None:
        return None
    try:
        if holder.path == stood.path and is_there(holder, stood.last, experimental=experimental):
            return stood
        position, batch = SegmentLookup(holder).find_offset(stood.last[2])
        last = (position, *stood.last[1:])
        return _Stood(holder.path, last) if batch is not None and is_there(holder, last, experimental=experimental) else None
    except RecordBatchError:
        return None


def _object(path: str) -> str:
    return untiered(path) if is_tiered(path) else path


def _name(segment: SegmentFile) -> tuple[str, int | None]:
    return segment.path[:], segment.known_size


def _base(segment: SegmentFile) -> int:
    return segment.base_offset or 0
