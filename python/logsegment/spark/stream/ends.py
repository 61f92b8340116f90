"""Where growing partitions begin and end, looked at with every trigger: what was seen is remembered, so that only what is new is walked.

Segments of each partition go in, its `Reach` comes out. A broker may roll, compact, rename and delete segments meanwhile: a file that is
gone raises FileNotFoundError, and the caller looks again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from logsegment._core import RecordBatchError, follow_log, open_transactions, read_offset_checkpoint
from logsegment.log.log_end import NO_ZEROS, Last, last_intact
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.options.stream import UpTo
from logsegment.spark.options.topics import TopicPartition
from logsegment.stores.uri import directory_of, shown

#: The offset up to which each partition is on all of its replicas, and so is never cut off again (SEG-9).
HIGH_WATERMARKS = "replication-offset-checkpoint"
#: The offset below which each partition was deleted, by retention or by request (SEG-9).
LOG_STARTS = "log-start-offset-checkpoint"

Checkpoint = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Reach:
    """What of a partition can be read.

    Attributes:
        earliest: first offset that is there.
        latest: first offset that is not to be read yet; None when its broker has not told yet how far it may be.
        end: behind the last whole batch of the log.
    """

    earliest: int
    latest: int | None
    end: int


def bounded(reaches: Mapping[TopicPartition, Reach], target: Mapping[TopicPartition, Reach]) -> dict[TopicPartition, Reach]:
    """How far partitions can be read that go now as `reaches` tells, but no further than with Trigger.AvailableNow they went at first.

    Spark asks for that target before it asks where a new query begins: this may lie behind it, or in a partition that was not there yet.
    """

    def limited(reach: Reach, most: int | None) -> Reach:
        return replace(reach, latest=None if reach.latest is None or most is None else min(reach.latest, most))

    return {name: limited(reach, target[name].latest if name in target else None) for name, reach in reaches.items()}


class Reaches:
    """Looks at partitions, again and again.

    Args:
        is_committed: `latest` is the last stable offset: that of the oldest open transaction, if there is one.
        up_to: whether high watermarks count.
        recovers: go on past damage to the last intact batch.
        experimental: as in `logsegment.decode`; without it batches of magic 3 are an error.
    """

    def __init__(self, *, is_committed: bool, up_to: UpTo, recovers: bool = False, experimental: bool = False) -> None:
        self._recovers = recovers
        self._experimental = experimental
        self._is_committed = is_committed
        self._up_to = up_to
        self._ends: dict[TopicPartition, _LogEnd] = {}
        self._stable: dict[TopicPartition, _StableOffset] = {}

    def look(self, logs: Mapping[TopicPartition, Sequence[SegmentFile]]) -> dict[TopicPartition, Reach]:
        """Look at all partitions.

        Raises:
            FileNotFoundError: when a segment is gone.
            OSError: when one cannot be read.
            ValueError: when a checkpoint of a broker is damaged.
            RecordBatchError: when the log cannot be read.
        """
        # What checkpoints say may be overtaken by the logs, never the other way round: so they are read first.
        checkpoints = Checkpoints()
        counts = self._up_to == "highWatermark"
        marks = {name: checkpoints.of(HIGH_WATERMARKS, segments[0]) if counts else None for name, segments in logs.items()}
        firsts = {name: earliest(name, segments, checkpoints) for name, segments in logs.items()}
        for forgotten in self._ends.keys() - logs.keys():
            del self._ends[forgotten]
            self._stable.pop(forgotten, None)
        return {name: self._reach(name, segments, marks[name], firsts[name]) for name, segments in logs.items()}

    def _reach(self, name: TopicPartition, segments: Sequence[SegmentFile], marks: Checkpoint | None, first: int) -> Reach:
        end = self._end_of(name).find(segments[-1], is_checked=marks is None)
        latest = end
        if marks is not None:
            if name not in marks:
                return Reach(first, None, end)
            latest = min(end, marks[name])
        if self._is_committed:
            latest = self._stable_of(name).find(segments, latest)
        return Reach(first, max(latest, first), max(end, first))

    def _end_of(self, name: TopicPartition) -> _LogEnd:
        return self._ends.setdefault(name, _LogEnd(recovers=self._recovers, experimental=self._experimental))

    def _stable_of(self, name: TopicPartition) -> _StableOffset:
        return self._stable.setdefault(name, _StableOffset(experimental=self._experimental))


class _LogEnd:
    """The end of one log."""

    def __init__(self, *, recovers: bool = False, experimental: bool = False) -> None:
        self._recovers = recovers
        self._experimental = experimental
        self._path: str | None = None
        self._since: Last | None = None
        self._zeros = NO_ZEROS

    def find(self, segment: SegmentFile, *, is_checked: bool) -> int:
        """The offset behind the last batch of the last segment."""
        if self._path != segment.path:
            self._since, self._zeros = None, NO_ZEROS
        since = self._since
        last = self._last(segment, since, is_checked=is_checked)
        self._path, self._since = segment.path, last
        return base_of(segment) if last is None else last[2] + 1

    def _last(self, segment: SegmentFile, since: Last | None, *, is_checked: bool) -> Last | None:
        """The last batch, looked for behind `since`."""
        base = base_of(segment)
        try:
            followed = follow_log(
                segment.path, base, since=since, zeros=self._zeros, is_checked=is_checked, experimental=self._experimental
            )
        except RecordBatchError:
            if not self._recovers:
                raise
            return last_intact(segment, since, experimental=self._experimental)
        if followed is not None:
            self._zeros = followed.zeros
            if not self._recovers:
                return followed.last
            # What seems to be the last batch may claim the bytes of others.
            stop = followed.zeros[0] if followed.zeros != NO_ZEROS else None
            return last_intact(segment, followed.last, stop, experimental=self._experimental)
        assert since is not None, "a walk from nowhere in particular is never turned away"
        return self._last(segment, None, is_checked=is_checked)


class _StableOffset:
    """The last stable offset of one log, from transaction markers (TXN-6)."""

    def __init__(self, *, experimental: bool = False) -> None:
        self._experimental = experimental
        self._path: str | None = None
        self._since: Last | None = None
        self._zeros: tuple[str, tuple[int, int]] = "", NO_ZEROS
        self._open: list[tuple[int, int]] = []

    def find(self, segments: Sequence[SegmentFile], until: int) -> int:
        """The first offset of the oldest transaction that is open at `until`, or `until`. Later markers may still be cut off."""
        at = next((index for index, one in enumerate(segments) if one.path == self._path), None)
        if at is None or not self._walk(segments[at:], until):
            at = max((index for index, one in enumerate(segments) if base_of(one) <= until), default=0)
            before = [(one.path, base_of(one)) for one in segments[:at]]
            self._open, self._since = open_transactions(before, experimental=self._experimental), None
            is_done = self._walk(segments[at:], until)
            assert is_done, "a walk from the beginning of a segment is never turned away"
        return min((first for _, first in self._open if first < until), default=until)

    def _walk(self, segments: Sequence[SegmentFile], until: int) -> bool:
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


class Checkpoints:
    """Checkpoint files of brokers' log directories, each read once a trigger."""

    def __init__(self) -> None:
        self._read: dict[str, Checkpoint | None] = {}

    def of(self, name: str, segment: SegmentFile) -> Checkpoint | None:
        """The offsets in the file of that name in the log directory of a segment; None when there is no such file."""
        path = os.path.join(directory_of(segment.directory), name)
        if path not in self._read:
            self._read[path] = _offsets(path)
        return self._read[path]


def earliest(name: TopicPartition, segments: Sequence[SegmentFile], checkpoints: Checkpoints | None = None) -> int:
    """The first offset of a partition that is there."""
    starts = (checkpoints or Checkpoints()).of(LOG_STARTS, segments[0]) or {}
    return max(base_of(segments[0]), starts.get(name, 0))


def base_of(segment: SegmentFile) -> int:
    """The first offset of a segment, by its name."""
    assert segment.base_offset is not None, "files without it were refused"
    return segment.base_offset


def _offsets(path: str) -> Checkpoint | None:
    found = read_offset_checkpoint(path)
    if found is None:
        return None
    rows, findings = found
    if findings:
        advice = "upTo=logEnd reads without it" if path.endswith(HIGH_WATERMARKS) else "a broker writes it anew when it starts"
        raise ValueError(f"{shown(path)}: {findings[0].message} ({findings[0].rule}); {advice}")
    return {TopicPartition(topic, partition): offset for topic, partition, offset in rows}
