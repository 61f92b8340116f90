"""Growing partitions: their segments while a broker changes them, and how far they can be read.

A broker may roll, compact, rename and delete segments at any time. If a file is gone, FileNotFoundError is raised, and the caller looks
again (see `retry_if_files_changed`). The results of earlier looks are kept, so that only new batches are walked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from logsegment._core import ChangedError, FoundSegments, Place, RecordBatchError, SegmentFile
from logsegment._places import is_stored
from logsegment.partition.log_end import GrowingLog
from logsegment.partition.reader import order_by_offsets
from logsegment.segment_files.discovery import is_taken
from logsegment.spark.options.read import StreamOptions
from logsegment.spark.options.topics import Discovered, TopicPartition
from logsegment.spark.read.bounds import earliest
from logsegment.spark.read.damage import failed

Logs: TypeAlias = Mapping[TopicPartition, Sequence[SegmentFile]]
Found = TypeVar("Found")
#: A high watermark; None if the file does not have the partition.
_Mark: TypeAlias = tuple[int | None]

#: How often a broker may take a segment away during a look before that is an error.
ATTEMPTS = 10
#: Seconds to wait for a cleaner. One that was killed leaves its file until its broker starts again.
PATIENCE = 2.0
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class ReadableOffsets:
    """The offsets of a partition that can be read.

    Attributes:
        earliest: log start offset.
        latest: first offset that cannot be read yet; None if the broker has not written a high watermark yet.
        end: log end offset.
    """

    earliest: int
    latest: int | None
    end: int


def bounded(
    reaches: Mapping[TopicPartition, ReadableOffsets], target: Mapping[TopicPartition, ReadableOffsets]
) -> dict[TopicPartition, ReadableOffsets]:
    """Limit partitions to the offsets that they had when a query with Trigger.AvailableNow began.

    Spark asks for that target before it asks where a new query begins, which may be after it, or in a partition that did not exist yet.
    """

    def limited(reach: ReadableOffsets, most: int | None) -> ReadableOffsets:
        return replace(reach, latest=None if reach.latest is None or most is None else min(reach.latest, most))

    return {name: limited(reach, target[name].latest if name in target else None) for name, reach in reaches.items()}


def retry_if_files_changed(look: Callable[[], Found]) -> Found:
    """Call a function until no broker takes its files away meanwhile, and no writer replaces them in a store."""
    for _ in range(ATTEMPTS - 1):
        try:
            return look()
        except (FileNotFoundError, ChangedError):
            time.sleep(_PAUSE)
    return look()


class Swaps:
    """Waits once for each file of a swap: a running broker renames it in a moment, and an interrupted one when it starts again."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def past(self, discover: Callable[[], Discovered]) -> Discovered:
        """Discover until there is no new file of a swap, or it has stayed."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = retry_if_files_changed(discover)
            swaps = {finding.path for finding in found.left_out if is_taken(finding)}
            if swaps <= self._known or time.monotonic() > deadline:
                self._known = swaps
                return found
            time.sleep(_PAUSE)


class OffsetTracker:
    """Finds the `ReadableOffsets` of partitions, again and again.

    Args:
        options: of the query. With isolation read_committed `latest` is the last stable offset. A query that goes on past damage looks for
            the last valid batch past damage.
    """

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._logs: dict[TopicPartition, GrowingLog] = {}

    def poll(self, logs: Logs) -> dict[TopicPartition, ReadableOffsets]:
        """Look at all partitions.

        Raises:
            FileNotFoundError: if a segment is gone.
            OSError: if one cannot be read.
            ValueError: if the query waits for high watermarks and their checkpoint file is empty or cannot be read.
            RecordBatchError: if the log cannot be read.
        """
        # Logs may be ahead of checkpoints, never the other way round: so checkpoints are read first.
        counts = self._options.up_to == "highWatermark"
        marks = _high_watermarks(logs) if counts else dict.fromkeys(logs)
        firsts = {name: earliest(segments) for name, segments in logs.items()}
        for forgotten in self._logs.keys() - logs.keys():
            del self._logs[forgotten]
        return {name: self._reach(name, segments, marks[name], firsts[name]) for name, segments in logs.items()}

    def _reach(self, name: TopicPartition, segments: Sequence[SegmentFile], mark: _Mark | None, first: int) -> ReadableOffsets:
        read = self._options.read
        log = self._logs.setdefault(name, GrowingLog(read))
        log.forget_others(segments)
        try:
            end = latest = log.checked_end(segments[-1], is_checked=mark is None)
        except RecordBatchError as error:
            raise failed(error, self._options) from None
        if mark is not None:
            (known,) = mark
            if known is None:
                return ReadableOffsets(first, None, end)
            latest = min(end, known)
        if read.isolation == "read_committed":
            latest = log.stable_offset(segments, latest)
        return ReadableOffsets(first, max(latest, first), max(end, first))


def _high_watermarks(logs: Logs) -> dict[TopicPartition, _Mark | None]:
    """Return the high watermark of each partition; None without a file with high watermarks, as in a copy of a partition.

    Raises:
        ValueError: if a file is empty or cannot be read: the query would wait for ever.
    """
    found = FoundSegments(segments[0] for segments in logs.values()).high_watermarks()
    for problem in (pair[1] for pair in found if pair is not None and pair[1] is not None):
        raise ValueError(f"{problem} (SEG-9); upTo=logEnd reads without it")
    return {name: None if bounds is None else bounds[:1] for name, bounds in zip(logs, found, strict=True)}


def settled_segments(segment: SegmentFile, *, reports: bool = False) -> list[SegmentFile]:
    """Return the segments of the directory of `segment`, in the order of `order_by_offsets`, once no cleaner is changing them.

    A cleaner removes segments under their names and puts others in their place, in steps. A listing in between would miss records. In a
    store nothing is renamed, and one listing is enough.

    Raises:
        OSError: if the directory cannot be listed.
    """
    return order_by_offsets(segment.siblings() if is_stored(segment.path) else _settled(segment), reports=reports)


def version_of(segment: SegmentFile) -> object:
    """Return a value that another file in the place of a segment does not have.

    Raises:
        FileNotFoundError: if the segment is gone.
    """
    if is_stored(segment.path):
        return Place(segment.path).open().version
    status = os.stat(segment.path)
    return status.st_dev, status.st_ino


def _settled(segment: SegmentFile) -> list[SegmentFile]:
    """List until two listings are equal and no cleaner is in the middle of a swap."""
    deadline = time.monotonic() + PATIENCE
    before: list[SegmentFile] | None = None
    while True:
        found = segment.siblings()
        # Asked between the listings too: it shows a swap that hides a segment from both.
        is_swapping = any(name.endswith(".swap") for name in os.listdir(segment.directory))
        if (found == before and not is_swapping) or time.monotonic() > deadline:
            return found
        if is_swapping:
            time.sleep(_PAUSE)
        before = None if is_swapping else found
