"""New records of growing partitions: where each partition ends now, what was appended, and whether the log was cut.

A broker may append, roll, cut and delete between any two looks. A batch counts once it is whole and, if it is the last one, its checksum
matches. Uploads do not grow: segments are added and removed. After a change of leaders a new segment may have offsets of another one again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from logsegment._core import FileSource, RecordBatchError, SegmentFile, SegmentKeyError, SegmentLookup, torn_offsets
from logsegment._options import ReadOptions
from logsegment.log.log_end import GrowingLog, Last
from logsegment.log.reader import Part, PartitionReader, arranged, lower_bounded
from logsegment.segment_files.discovery import size_of
from logsegment.stores.uri import cut_of, is_stored, is_tiered, untiered

#: Bytes of a batch by which it is known again.
HEADER_LEN = 61
#: Batches that are remembered, one for each look that found new records, to know how far back a log was cut.
REMEMBERED = 1000


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


@dataclass(frozen=True)
class _Shown:
    """A batch that was the last one when it was shown."""

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
        options: those of the read. With `on_error="raise"` it ends at damage, after the records before it.
        wait: seconds for which a segment that is gone, or shorter than it was, may come back unchanged. A copy that replaces a file
            looks like that. Then the log counts as truncated.
    """

    def __init__(self, start: int | None, options: ReadOptions, wait: float = 0.0) -> None:
        self._next = start
        self._options = options
        self._skips = options.skips_damage
        self._log = GrowingLog(options)
        self._shown: deque[_Shown] = deque(maxlen=REMEMBERED)
        #: Closed segments that were shown to their end.
        self._done: set[tuple[str, int | None]] = set()
        self._listed: list[tuple[str, int | None]] = []
        self._wait = wait
        #: Since when the newest batch is missing, by the clock.
        self._missing_since: float | None = None

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
        if listed == self._listed or self._is_waiting(segments):
            return
        self._done &= {*listed}
        self._log.forget_others(segments)
        if self._next is None:
            self._begin(segments[-1])
        else:
            yield from self._new_of(segments)
        # Objects of a store never change under their names; what grows is looked at each time.
        self._listed = listed if all(is_stored(segment.path) for segment in segments) else []

    def _begin(self, segment: SegmentFile) -> None:
        end = self._log.last_valid(segment)
        self._next = end.next_offset
        self._log.go_on_from(segment, end)
        if end.last is not None:
            self._shown.append(_Shown(segment.path, end.last))

    def _new_of(self, segments: Sequence[SegmentFile]) -> Iterator[Piece | str | SegmentKeyError]:
        yield from self._cut(segments)
        assert self._next is not None
        first = max(_base(segments[0]), segments[0].log_start or 0)
        if self._next < first:
            yield f"offsets {self._next:,} to {first - 1:,} were deleted"
            self._next = first
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            is_closed = following is not None or is_stored(segment.path)
            is_over = is_closed and _name(segment) in self._done
            if not is_over and (following is None or _base(following) > self._next):
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
            yield Piece(segment, self._part(segment, known, None, None), None)
        elif last is not None and last[2] >= self._next:
            yield Piece(segment, self._part(segment, known, stop, last[2] + 1), last[0])
        if damage is not None:
            raise damage
        if last is not None and last[2] >= self._next:
            self._next = last[2] + 1
            self._shown.append(_Shown(segment.path, last))

    def _end(self, segment: SegmentFile, known: Last | None, is_closed: bool) -> _End:
        try:
            end = self._log.end(segment)
        except RecordBatchError as error:
            return _End(known, damage=error, is_rest_shown=True)
        if end.is_cut and known is not None:
            # The log was cut during this look: the next look finds it.
            return _End(known)
        damage = self._log.damage(segment, end)
        # Zeros are allowed in a closed segment only if no offset is missing, which the read of the rest finds out.
        is_whole = end.tail.kind == "complete" and not self._skips
        return _End(end.last, end.stop, damage, is_rest_shown=damage is not None or (is_closed and not is_whole))

    def _known(self, segment: SegmentFile) -> Last | None:
        return self._shown[-1].last if self._shown and self._shown[-1].path == segment.path else None

    def _part(self, segment: SegmentFile, known: Last | None, stop: int | None, end: int | None) -> Part:
        """Return the new records of a segment, up to the offset `end` and to the byte `stop`."""
        is_first = known is None and (self._next is None or self._next <= _base(segment))
        begin = known[0] if known else 0 if is_first else None
        return PartitionReader.of([segment], self._options.sharing(self._next, end)).part_in(begin, stop)

    def _is_waiting(self, segments: Sequence[SegmentFile]) -> bool:
        """Return True while the segment of the newest batch may come back as it was."""
        if self._wait <= 0 or not self._shown or not self._is_missing(self._shown[-1], segments):
            self._missing_since = None
            return False
        now = time.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        return now - self._missing_since < self._wait

    def _is_missing(self, newest: _Shown, segments: Sequence[SegmentFile]) -> bool:
        """Return True if bytes of a batch are gone and no other bytes are in their place."""
        position, _, last_offset = newest.last
        own = next((segment for segment in segments if segment.path == newest.path), None)
        if own is None:
            # Retention deletes from the oldest segment on: what is missing after others was moved or cut.
            return _base(segments[0]) <= last_offset and self._found(newest, segments) is None
        if self._log.has(own, newest.last):
            return False
        if size_of(own) < position + HEADER_LEN:
            return True
        try:
            offsets = torn_offsets(FileSource(own.path, position), self._options)
        except RecordBatchError:
            return False
        return offsets is not None and offsets[1] == last_offset

    def _cut(self, segments: Sequence[SegmentFile]) -> Iterator[str]:
        """Go back to the last remembered batch that is still there, if the newest one is not."""
        there = {segment.path for segment in segments}
        shown, oldest = self._next, None
        while self._shown:
            gone = self._shown.pop()
            found = self._found(gone, segments)
            if found != gone:
                self._log.forget_others(())
            if found is not None:
                self._shown.append(found)
                break
            # A segment that is deleted before others was not cut.
            if gone.path in there or _base(segments[-1]) <= gone.last[2]:
                oldest = gone.last[2] + 1
                kept = self._kept(gone, segments)
                self._shown += [kept] if kept else []
        if oldest is None or shown is None:
            return
        if self._shown:
            self._next = self._shown[-1].last[2] + 1
        else:
            self._next = min(oldest, self._log.last_valid(segments[-1]).next_offset)
        self._done.clear()
        yield f"the log was truncated: offsets {self._next:,} to {shown - 1:,} were replaced; the new records follow"

    def _found(self, shown: _Shown, segments: Sequence[SegmentFile]) -> _Shown | None:
        """Return a batch with its place now: the same, or another segment that has its offsets. None if it is gone."""
        holder = next((segment for segment in reversed(segments) if _base(segment) <= shown.last[2]), None)
        if holder is None:
            return None
        try:
            if holder.path == shown.path and self._log.has(holder, shown.last):
                return shown
            position, batch = SegmentLookup(holder).find_offset(shown.last[2])
            last = (position, *shown.last[1:])
            return _Shown(holder.path, last) if batch is not None and self._log.has(holder, last) else None
        except RecordBatchError:
            return None

    def _kept(self, gone: _Shown, segments: Sequence[SegmentFile]) -> _Shown | None:
        """Return the end of the part of an upload that is still read, if another leader has replaced its last batches."""
        for segment in segments:
            before = cut_of(segment.path)
            if before is not None and before <= gone.last[2] and untiered(segment.path) == _object(gone.path):
                last = self._log.last_valid(segment).last
                return None if last is None else _Shown(segment.path, last)
        return None


def _object(path: str) -> str:
    return untiered(path) if is_tiered(path) else path


def _name(segment: SegmentFile) -> tuple[str, int | None]:
    return segment.path[:], segment.known_size


def _base(segment: SegmentFile) -> int:
    return segment.base_offset or 0
