"""Growing partitions: their segments while a broker changes them, and how far they can be read.

A broker may roll, compact, rename and delete segments at any time. If a file is gone, FileNotFoundError is raised, and the caller looks
again (see `again`). The results of earlier looks are kept, so that only new batches are walked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from logsegment import stores
from logsegment._core import RecordBatchError, SegmentIndex, follow_log, open_transactions
from logsegment.log.log_end import NO_ZEROS, Last, last_valid
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile, segments_beside
from logsegment.spark.options.read import StreamOptions
from logsegment.spark.options.topics import TopicPartition
from logsegment.spark.read.bounds import HIGH_WATERMARKS, Checkpoint, Checkpoints, base_of, earliest
from logsegment.stores.errors import ChangedError
from logsegment.stores.uri import is_stored

Logs: TypeAlias = Mapping[TopicPartition, Sequence[SegmentFile]]
Found = TypeVar("Found")

#: How often a broker may take a segment away during a look before that is an error.
ATTEMPTS = 10
#: Seconds to wait for a cleaner. One that was killed leaves its file until its broker starts again.
PATIENCE = 2.0
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Reach:
    """The offsets of a partition that can be read.

    Attributes:
        earliest: log start offset.
        latest: first offset that cannot be read yet; None if the broker has not written a high watermark yet.
        end: log end offset.
    """

    earliest: int
    latest: int | None
    end: int


def bounded(reaches: Mapping[TopicPartition, Reach], target: Mapping[TopicPartition, Reach]) -> dict[TopicPartition, Reach]:
    """Limit partitions to the offsets that they had when a query with Trigger.AvailableNow began.

    Spark asks for that target before it asks where a new query begins, which may be after it, or in a partition that did not exist yet.
    """

    def limited(reach: Reach, most: int | None) -> Reach:
        return replace(reach, latest=None if reach.latest is None or most is None else min(reach.latest, most))

    return {name: limited(reach, target[name].latest if name in target else None) for name, reach in reaches.items()}


def again(look: Callable[[], Found]) -> Found:
    """Call a function until no broker takes its files away meanwhile, and no writer replaces them in a store."""
    for _ in range(ATTEMPTS - 1):
        try:
            return look()
        except (FileNotFoundError, ChangedError):
            time.sleep(_PAUSE)
    return look()


class Reaches:
    """Finds the `Reach` of partitions, again and again.

    Args:
        options: of the query. With isolation read_committed `latest` is the last stable offset. A query that goes on past damage looks for
            the last valid batch past damage.
    """

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._ends: dict[TopicPartition, _EndTracker] = {}
        self._stable: dict[TopicPartition, _StableOffsetTracker] = {}

    def look(self, logs: Logs) -> dict[TopicPartition, Reach]:
        """Look at all partitions.

        Raises:
            FileNotFoundError: if a segment is gone.
            OSError: if one cannot be read.
            ValueError: if a checkpoint of a broker is damaged.
            RecordBatchError: if the log cannot be read.
        """
        # Logs may be ahead of checkpoints, never the other way round: so checkpoints are read first.
        checkpoints = Checkpoints()
        counts = self._options.up_to == "highWatermark"
        marks = {name: checkpoints.of(HIGH_WATERMARKS, segments[0]) if counts else None for name, segments in logs.items()}
        firsts = {name: earliest(name, segments, checkpoints) for name, segments in logs.items()}
        for forgotten in self._ends.keys() - logs.keys():
            del self._ends[forgotten]
            self._stable.pop(forgotten, None)
        return {name: self._reach(name, segments, marks[name], firsts[name]) for name, segments in logs.items()}

    def _reach(self, name: TopicPartition, segments: Sequence[SegmentFile], marks: Checkpoint | None, first: int) -> Reach:
        end = self._ends.setdefault(name, _EndTracker(self._options)).find(segments[-1], is_checked=marks is None)
        latest = end
        if marks is not None:
            if name not in marks:
                return Reach(first, None, end)
            latest = min(end, marks[name])
        if self._options.read.isolation == "read_committed":
            latest = self._stable.setdefault(name, _StableOffsetTracker(self._options)).find(segments, latest)
        return Reach(first, max(latest, first), max(end, first))


def settled_segments(segment: SegmentFile, *, reports: bool = False) -> list[SegmentFile]:
    """Return the segments of the directory of `segment`, as `logsegment.log.reader.arranged` does, once no cleaner is changing them.

    A cleaner removes segments under their names and puts others in their place, in steps. A listing in between would miss records. In a
    store nothing is renamed, and one listing is enough.

    Raises:
        OSError: if the directory cannot be listed.
    """
    return arranged(segments_beside(segment) if is_stored(segment.path) else _settled(segment), reports=reports)


def byte_range(segment: SegmentFile, start: int, end: int) -> tuple[int, int, bool]:
    """Find the bytes of the batches that hold offsets from `start` to before `end`, through the index.

    Returns:
        First byte, first byte after the range, and True if the segment has a batch at or after the last of the offsets.

    Raises:
        FileNotFoundError: if the segment is gone.
        RecordBatchError: if its headers cannot be read.
    """
    index = SegmentIndex(segment.path, base_of(segment))
    first = 0 if start <= base_of(segment) else index.find_offset(start)[0]
    position, batch, _ = index.find_offset(end - 1)
    return first, max(first, position + batch[0] if batch else position), batch is not None


def version_of(segment: SegmentFile) -> object:
    """Return a value that another file in the place of a segment does not have.

    Raises:
        FileNotFoundError: if the segment is gone.
    """
    if is_stored(segment.path):
        return stores.version_of(segment.path)
    status = os.stat(segment.path)
    return status.st_dev, status.st_ino


def _settled(segment: SegmentFile) -> list[SegmentFile]:
    """List until two listings are equal and no cleaner is in the middle of a swap."""
    deadline = time.monotonic() + PATIENCE
    before: list[SegmentFile] | None = None
    while True:
        found = segments_beside(segment)
        # Asked between the listings too: it shows a swap that hides a segment from both.
        is_swapping = any(name.endswith(".swap") for name in os.listdir(segment.directory))
        if (found == before and not is_swapping) or time.monotonic() > deadline:
            return found
        if is_swapping:
            time.sleep(_PAUSE)
        before = None if is_swapping else found


class _EndTracker:
    """Finds the end of one log again and again: it walks only the batches that are new."""

    def __init__(self, options: StreamOptions) -> None:
        self._recovers = options.read.skips_damage
        self._experimental = options.read.experimental
        self._path: str | None = None
        self._since: Last | None = None
        self._zeros = NO_ZEROS

    def find(self, segment: SegmentFile, *, is_checked: bool) -> int:
        """Return the offset after the last batch of the last segment."""
        if self._path != segment.path:
            self._since, self._zeros = None, NO_ZEROS
        since = self._since
        last = self._last(segment, since, is_checked=is_checked)
        self._path, self._since = segment.path, last
        return base_of(segment) if last is None else last[2] + 1

    def _last(self, segment: SegmentFile, since: Last | None, *, is_checked: bool) -> Last | None:
        """Return the last batch, at or after `since`."""
        base = base_of(segment)
        try:
            followed = follow_log(
                segment.path, base, since=since, zeros=self._zeros, is_checked=is_checked, experimental=self._experimental
            )
        except RecordBatchError:
            if not self._recovers:
                raise
            return last_valid(segment, since, experimental=self._experimental)
        if followed is not None:
            self._zeros = followed.zeros
            if not self._recovers:
                return followed.last
            # The last header may claim the bytes of other batches.
            stop = followed.zeros[0] if followed.zeros != NO_ZEROS else None
            return last_valid(segment, followed.last, stop, experimental=self._experimental)
        assert since is not None, "a walk without `since` always succeeds"
        return self._last(segment, None, is_checked=is_checked)


class _StableOffsetTracker:
    """Finds the last stable offset of one log again and again, from transaction markers (TXN-6)."""

    def __init__(self, options: StreamOptions) -> None:
        self._experimental = options.read.experimental
        self._path: str | None = None
        self._since: Last | None = None
        self._zeros: tuple[str, tuple[int, int]] = "", NO_ZEROS
        self._open: list[tuple[int, int]] = []

    def find(self, segments: Sequence[SegmentFile], until: int) -> int:
        """Return the first offset of the oldest transaction that is open at `until`, or `until`. Later markers may still be cut off."""
        at = next((index for index, one in enumerate(segments) if one.path == self._path), None)
        if at is None or not self._walk(segments[at:], until):
            at = max((index for index, one in enumerate(segments) if base_of(one) <= until), default=0)
            before = [(one.path, base_of(one)) for one in segments[:at]]
            self._open, self._since = open_transactions(before, experimental=self._experimental), None
            is_done = self._walk(segments[at:], until)
            assert is_done, "a walk from the beginning of a segment always succeeds"
        return min((first for _, first in self._open if first < until), default=until)

    def _walk(self, segments: Sequence[SegmentFile], until: int) -> bool:
        """Walk markers up to `until`; return False if the last known batch is not there any more."""
        since = self._since
        for segment in segments:
            path, zeros = self._zeros
            walked = follow_log(
                segment.path,
                base_of(segment),
                since=since,
                zeros=zeros if path == segment.path else NO_ZEROS,
                transactions=self._open,
                until=until,
                experimental=self._experimental,
            )
            if walked is None:
                return False
            self._open, self._zeros = walked.transactions, (segment.path, walked.zeros)
            self._path, self._since, since = segment.path, walked.last or since, None
            if walked.has_more:
                break
        return True
