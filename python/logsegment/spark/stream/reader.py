"""The streaming data source: PySpark's classes around the tail of partitions.

One reader lives on the driver as long as the query and is asked with each trigger how far the partitions have come; `read` runs in worker
processes. A query is restarted from offsets alone, so nothing but speed hangs on what a reader remembers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from logsegment._core import Finding, RecordBatchError
from logsegment._options import ReadOptions
from logsegment.log.segment import Segment
from logsegment.log.time_lookup import first_offset_at
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.options.modes import CorruptColumn
from logsegment.spark.options.offsets import EARLIEST, LATEST, OffsetLimit, Offsets, ensure_assigned, parse_offsets, write_offsets
from logsegment.spark.options.read import TRIGGERS
from logsegment.spark.options.stream import StreamOptions, parse_stream_options
from logsegment.spark.options.topics import TopicPartition, discover
from logsegment.spark.read.task_stats import TaskStats
from logsegment.spark.read.warnings import warn_of_topics, warn_of_uploads
from logsegment.spark.stream.bytes import offset_within, pieces, size_of
from logsegment.spark.stream.ends import Reach, Reaches, bounded
from logsegment.spark.stream.limits import Admission, shares, supports_limits
from logsegment.spark.stream.plan import RangeTask, gaps_of, plan_ranges, plan_tasks, report_gone, report_loss
from logsegment.spark.stream.read import read_range
from logsegment.stores.errors import ChangedError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:
        # PySpark 4.1 takes all that there is with each trigger.
        SupportsTriggerAvailableNow = object

Logs = dict[TopicPartition, list[SegmentFile]]
#: Offsets as PySpark passes them: by topic, and by partition in decimal digits.
Json = dict[str, Any]

#: How often a broker may take a segment away while partitions are looked at before that is an error.
_ATTEMPTS = 10
_PAUSE = 0.02
Found = TypeVar("Found")


class SegmentStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows partitions.

    Args:
        options: of the query.
        columns: names of record columns.
        corrupt: where the column of damage stands; None for nowhere.
    """

    def __init__(self, options: StreamOptions, columns: Sequence[str], corrupt: CorruptColumn | None = None) -> None:
        self.options = options
        self.columns = list(columns)
        self.corrupt = corrupt or CorruptColumn(options.mode)
        is_committed = options.isolation == "read_committed"
        self._reaches = Reaches(
            is_committed=is_committed, up_to=options.up_to, recovers=options.mode.skips, experimental=options.experimental
        )
        self._admission = Admission(options)
        self._initial: Offsets | None = None
        self._is_first = False
        self._previous: Offsets | None = None
        self._target: dict[TopicPartition, Reach] | None = None
        self._reported: Offsets | None = None

    def initialOffset(self) -> Json:
        """Where a query begins that has no finished micro-batch in its checkpoint."""
        starting = self.options.starting
        self._initial = _again(self._starting_offsets)
        # PySpark asks again when the first micro-batch is repeated after a failure. Where the answer is another one then, the first
        # micro-batch takes nothing, and its offsets in the checkpoint keep the place.
        self._is_first = _may_change(starting)
        return _to_json(self._initial)

    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> Json:
        """Where the next micro-batch ends."""
        begin = _from_json(start) if start is not None else self._previous or self._initial or {}
        if self._is_first and begin == self._initial:
            self._is_first = False
            self._previous = begin
            return start if start is not None else _to_json(begin)
        reaches = _again(self._look)
        latest = self._latest(begin, reaches if self._target is None else bounded(reaches, self._target))
        self._reported = latest
        end = self._admitted(begin, latest, {name: reach.earliest for name, reach in reaches.items()}, limit)
        self._previous = end
        # The very same JSON says that there is nothing to do.
        return start if start is not None and end == begin else _to_json(end)

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit that the options set."""
        return self._admission.default_limit()

    def reportLatestOffset(self) -> Json | None:
        """How far the partitions had come with the last trigger, for the progress of the query."""
        return None if self._reported is None else _to_json(self._reported)

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember how far the partitions have come: that is where the query stops."""
        self._admission.takes_all_at_last = True
        self._target = _again(self._look)

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """The tasks of a micro-batch."""
        begin, until = _from_json(start), _from_json(end)
        if begin == until:
            return []
        is_first = begin == self._initial
        if is_first:
            # The first micro-batch again: it took nothing where the beginning has moved on since.
            begin = {name: min(offset, until[name]) for name, offset in begin.items() if name in until}
        left_out: list[Finding] = []
        logs = _again(partial(self._logs, left_out))
        ranges = plan_ranges(logs, begin, until, self.options)
        warn_of_uploads(gaps_of(logs, ranges, left_out))
        if is_first:
            warn_of_topics(self.columns, [name.topic for name, _, _ in ranges])
        return list(plan_tasks(logs, ranges, self.options, {} if is_first else begin))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Records of one task, in a worker process."""
        assert isinstance(partition, RangeTask)
        with TaskStats(self.options.io_stats).written() as stats:
            for part in partition.parts:
                yield from read_range(part, self.options, self.columns, self.corrupt, stats)

    def commit(self, end: Json) -> None:
        """Nothing is kept for a repetition: the log itself has it."""

    def stop(self) -> None:
        """Nothing is held open between triggers."""

    def _look(self) -> dict[TopicPartition, Reach]:
        """How far the partitions go now."""
        return self._reaches.look(self._logs())

    def _starting_offsets(self) -> Offsets:
        # Only here a topic that was named must be there: later it may be deleted.
        self.options.selection.ensure_there(self._all_logs().keys())
        logs = self._logs()
        ensure_assigned(self.options.starting, logs, "starting")
        reaches = self._reaches.look(logs)
        return {name: _starting(name, self.options, logs[name], reach) for name, reach in reaches.items()}

    def _logs(self, left_out: list[Finding] | None = None) -> Logs:
        logs = {name: segments for name, segments in self._all_logs(left_out).items() if self.options.selection.has(name)}
        for name, segments in logs.items():
            _ensure_followed(name, segments)
        return logs

    def _all_logs(self, left_out: list[Finding] | None = None) -> Logs:
        return discover(
            self.options.paths,
            topic=self.options.topic,
            partition=self.options.partition,
            reports=self.options.mode.skips,
            left_out=left_out,
        )

    def _latest(self, begin: Offsets, reaches: Mapping[TopicPartition, Reach]) -> Offsets:
        """How far each partition can be read now: never less far than before, unless it was cut off."""
        fails = self.options.fails_on_data_loss
        for gone in sorted(begin.keys() - reaches.keys()):
            report_gone(gone, begin[gone], self.options)
        latest: Offsets = {}
        for name, reach in reaches.items():
            before = begin.get(name)
            if before is None:
                if reach.latest is not None:
                    latest[name] = reach.latest
            elif reach.end < before:
                told = f"was cut off at offset {reach.end}, and offsets up to {before - 1} were read before"
                if begin == self._initial:
                    told = f"ends at offset {reach.end}, and the query is to begin at {before}"
                report_loss(f"{name} {told}", fails=fails)
                latest[name] = reach.end if reach.latest is None else reach.latest
            else:
                latest[name] = max(before, before if reach.latest is None else reach.latest)
        return latest

    def _admitted(self, begin: Offsets, latest: Offsets, earliest: Offsets, limit: ReadLimit | None) -> Offsets:
        """The part of what there is that the limits let in."""
        limits = self._admission.limits(limit)
        starts = {name: begin.get(name, earliest.get(name, end)) for name, end in latest.items()}
        waiting = {name: max(end - starts[name], 0) for name, end in latest.items()}
        if self._admission.is_too_early(limits, sum(waiting.values())):
            return begin
        if limits.max_offsets is not None:
            taken = shares(limits.max_offsets, waiting)
            latest = {name: starts[name] + taken[name] if waiting[name] else end for name, end in latest.items()}
        if (most := limits.max_bytes) is None:
            return latest
        taken_all = latest
        return _again(lambda: self._within_bytes(starts, taken_all, most))

    def _within_bytes(self, starts: Offsets, latest: Offsets, most: int) -> Offsets:
        logs = self._logs()
        looked_up = {
            name: self._readable(partial(pieces, logs[name], starts[name], end)) for name, end in latest.items() if end > starts[name]
        }
        found = {name: ones for name, ones in looked_up.items() if ones is not None}
        budgets = shares(most, {name: size_of(ones) for name, ones in found.items()})
        ends = {name: self._readable(partial(offset_within, ones, budgets[name])) for name, ones in found.items()}
        return {name: _reached(starts[name], ends.get(name), end) for name, end in latest.items()}

    def _readable(self, look: Callable[[], Found]) -> Found | None:
        """What headers tell; None where they are damaged and the query is to go on: then no limit of bytes is kept."""
        try:
            return look()
        except RecordBatchError:
            if not self.options.mode.skips:
                raise
            return None


def stream_reader(given: Mapping[str, str], columns: Sequence[str], corrupt: CorruptColumn | None = None) -> SegmentStreamReader:
    """The reader of a streaming query.

    Args:
        given: Spark's options; the case of their names means nothing.
        columns: names of record columns.
        corrupt: where the column of damage stands; None for nowhere.

    Raises:
        ValueError: for an unknown option, a bad value or combination, no path, or an option that needs a newer PySpark.
    """
    options = parse_stream_options(given)
    _ensure_limits_are_supported(given)
    return SegmentStreamReader(options, columns, corrupt)


def _ensure_limits_are_supported(given: Mapping[str, str]) -> None:
    """Fail when a limit was asked for that this PySpark does not let a source keep."""
    names = {name.lower() for name in given}
    if (asked := [name for name in TRIGGERS if name.lower() in names]) and not supports_limits():
        import pyspark

        raise ValueError(f"option {', '.join(asked)}: limits of a micro-batch need PySpark 4.2 or newer, and this is {pyspark.__version__}")


def _ensure_followed(name: TopicPartition, segments: Sequence[SegmentFile]) -> None:
    for segment in segments:
        if segment.base_offset is None:
            raise ValueError(f"{segment.path}: a stream follows partitions' directories, and this is a file of its own")
        if segment.path.endswith(".kafka"):
            raise ValueError(f"{segment.path}: Kafka 0.7 has no offsets that a stream could follow; a batch query reads it")
    if name.topic is None or name.partition is None:
        raise ValueError(f"{segments[0].directory}: not named like orders-0; the options topic and partition tell what it holds")


def _starting(name: TopicPartition, options: StreamOptions, segments: Sequence[SegmentFile], reach: Reach) -> int:
    """The first offset of a new query in one partition."""
    limit = options.starting
    if limit.named is not None and limit.offsets is not None:
        offset = limit.offsets[name]
    elif limit.everywhere is not None:
        offset = limit.everywhere
    else:
        offset = _by_time(name, options, segments, reach)
    if offset == EARLIEST:
        return reach.earliest
    return (reach.earliest if reach.latest is None else reach.latest) if offset == LATEST else offset


def _by_time(name: TopicPartition, options: StreamOptions, segments: Sequence[SegmentFile], reach: Reach) -> int:
    """The offset of the first record of a time or later, as Spark's Kafka source asks brokers for it."""
    limit = options.starting
    wanted = limit.timestamp if limit.timestamps is None else limit.timestamps[name]
    assert wanted is not None, "a limit says one of four things"
    if wanted in (EARLIEST, LATEST):
        return wanted
    found = first_offset_at(map(Segment, segments), wanted, _time_lookup(options, reach))
    if found is not None:
        return found
    if limit.no_match == "latest":
        return LATEST
    raise ValueError(
        f"no record of {name} is of time {wanted} or later; the option startingOffsetsByTimestampStrategy=latest begins behind the last one"
    )


def _time_lookup(options: StreamOptions, reach: Reach) -> ReadOptions:
    return ReadOptions(
        on_error="skip" if options.mode.skips else "raise",
        start_offset=reach.earliest,
        end_offset=reach.latest,
        codecs=options.codecs,
        experimental=options.experimental,
        limits=options.limits,
    )


def _may_change(limit: OffsetLimit) -> bool:
    """True when the same words may mean another offset later."""
    said = (limit.everywhere, limit.timestamp, *(limit.named or {}).values())
    return LATEST in said or limit.no_match == "latest"


def _to_json(offsets: Offsets) -> Json:
    parsed: Json = json.loads(write_offsets(offsets))
    return parsed


def _from_json(offsets: Json) -> Offsets:
    return parse_offsets(json.dumps(offsets), "of the checkpoint")


def _again(look: Callable[[], Found]) -> Found:
    """Look at files that a broker may take away in between, or that are written anew in a store; then once more."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return look()
        except (FileNotFoundError, ChangedError):
            time.sleep(_PAUSE)
    return look()


def _reached(start: int, found: int | None, end: int) -> int:
    """The end within a limit; all there is where nothing is known, or where damaged headers tell offsets that were read."""
    return end if found is None or found <= start else min(found, end)
