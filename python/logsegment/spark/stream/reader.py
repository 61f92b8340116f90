"""The reader of a streaming query, which follows partitions.

One reader lives on the driver as long as the query: Spark asks it with each trigger how far the partitions can be read. `read` runs in
worker processes. A query restarts from offsets alone: what a reader keeps only makes it faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import pyspark

from logsegment._core import SegmentFile
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment.partition.reader import PartitionReader
from logsegment.segment_files.log_start import warn_of_log_starts
from logsegment.spark.datasource import DataSourceStreamReader, InputPartition
from logsegment.spark.options.names import TRIGGERS
from logsegment.spark.options.offsets import EARLIEST, LATEST, OffsetLimit, Offsets, by_topic, ensure_assigned, offsets_of
from logsegment.spark.options.read import StreamOptions, parse_stream_options
from logsegment.spark.options.topics import Discovered, TopicPartition, discover, warn_of_topics, warn_of_uploads, warn_of_work
from logsegment.spark.read.bounds import resolved
from logsegment.spark.read.damage import CorruptColumn
from logsegment.spark.read.decoding import Columns, with_schemas
from logsegment.spark.read.task_stats import TaskStats
from logsegment.spark.stream.limits import Admission, supports_limits
from logsegment.spark.stream.partitions import Logs, OffsetTracker, ReadableOffsets, Swaps, bounded, retry_if_files_changed
from logsegment.spark.stream.plan import RangeTask, gaps_of, plan_ranges, plan_tasks, report_gone, report_loss
from logsegment.spark.stream.read import read_range

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:
        # PySpark 4.1 takes all that there is with each trigger.
        SupportsTriggerAvailableNow = object

#: Offsets as PySpark passes them: by topic, and by partition in decimal digits.
Json: TypeAlias = dict[str, Any]


class SegmentStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows partitions.

    Args:
        options: of the query.
        columns: names of record columns.
        corrupt: the corrupt column; None for none.
    """

    def __init__(self, options: StreamOptions, columns: Sequence[str], corrupt: CorruptColumn | None = None) -> None:
        self.options = options
        self.columns = Columns.of(columns, options.read)
        self.corrupt = corrupt or CorruptColumn(options.mode)
        self._tracker = OffsetTracker(options)
        self._swaps = Swaps()
        self._admission = Admission(options)
        self._initial: Offsets | None = None
        self._is_first = False
        self._previous: Offsets | None = None
        self._target: dict[TopicPartition, ReadableOffsets] | None = None
        self._reported: Offsets | None = None

    def initialOffset(self) -> Json:
        """Return where a query without a finished micro-batch in its checkpoint begins."""
        starting = self.options.starting
        self._initial = retry_if_files_changed(self._starting_offsets)
        # PySpark asks again if the first micro-batch is repeated after a failure. If the answer may differ then, the first micro-batch
        # takes nothing, and its offsets in the checkpoint keep the place.
        self._is_first = _may_change(starting)
        return by_topic(self._initial)

    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> Json:
        """Return where the next micro-batch ends."""
        begin = offsets_of(start) if start is not None else self._previous or self._initial or {}
        if self._is_first and begin == self._initial:
            self._is_first = False
            self._previous = begin
            return start if start is not None else by_topic(begin)
        reaches = retry_if_files_changed(self._look)
        latest = self._latest(begin, reaches if self._target is None else bounded(reaches, self._target))
        self._reported = latest
        starts = {name: begin.get(name, reaches[name].earliest if name in reaches else end) for name, end in latest.items()}
        admitted = self._admission.admitted(starts, latest, limit, self._logs)
        end = begin if admitted is None else admitted
        self._previous = end
        # The same JSON means that there is nothing to do.
        return start if start is not None and end == begin else by_topic(end)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit that the options set."""
        return self._admission.default_limit()

    def reportLatestOffset(self) -> Json | None:
        """Return how far the partitions could be read with the last trigger, for the progress of the query."""
        return None if self._reported is None else by_topic(self._reported)

    def prepareForTriggerAvailableNow(self) -> None:
        """Keep how far the partitions can be read now: the query stops there."""
        self._admission.takes_all_at_last = True
        self._target = retry_if_files_changed(self._look)

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """Return the tasks of a micro-batch."""
        begin, until = offsets_of(start), offsets_of(end)
        if begin == until:
            return []
        is_first = begin == self._initial
        if is_first:
            # A repetition of the first micro-batch, which took nothing of partitions whose log start offset has moved on since.
            begin = {name: min(offset, until[name]) for name, offset in begin.items() if name in until}
        found = self._swaps.past(self._discovered)
        ranges = plan_ranges(found.logs, begin, until, self.options)
        warn_of_uploads(gaps_of(found, ranges))
        warn_of_work(found.left_out)
        if is_first:
            warn_of_topics(self.columns.decoded, [name.topic for name, _, _ in ranges])
        return list(plan_tasks(found.logs, ranges, self.options, {} if is_first else begin))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one task, in a worker process."""
        assert isinstance(partition, RangeTask)
        with TaskStats(self.options.io_stats).written() as stats:
            for part in partition.parts:
                yield from read_range(part, self.options, self.columns, self.corrupt, stats)

    def commit(self, end: Json) -> None:
        """Do nothing: a repetition reads the log again."""

    def stop(self) -> None:
        """Do nothing: no file is open between triggers."""

    def _look(self) -> dict[TopicPartition, ReadableOffsets]:
        """Return how far the partitions can be read now."""
        return self._tracker.poll(self._logs())

    def _starting_offsets(self) -> Offsets:
        # Only here a named topic must exist: later it may be deleted.
        logs = self._discovered(requires_topics=True).logs
        ensure_assigned(self.options.starting, logs, "starting")
        reaches = self._tracker.poll(logs)
        return {name: _starting(name, self.options, logs[name], reach) for name, reach in reaches.items()}

    def _logs(self) -> Logs:
        return self._discovered().logs

    def _discovered(self, *, requires_topics: bool = False) -> Discovered:
        found = discover(
            self.options.paths,
            self.options.selection,
            partition=self.options.partitions,
            reports=self.options.read.skips_damage,
            requires_topics=requires_topics,
        ).from_log_starts(self.options.partitions)
        warn_of_log_starts(found.log_starts)
        for name, segments in found.logs.items():
            _ensure_followed(name, segments)
        return found

    def _latest(self, begin: Offsets, reaches: Mapping[TopicPartition, ReadableOffsets]) -> Offsets:
        """Return how far each partition can be read now: not less than before, unless it was cut off."""
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
                text = f"was truncated at offset {reach.end}, and offsets up to {before - 1} were read before"
                if begin == self._initial:
                    text = f"ends at offset {reach.end}, before the starting offset {before}"
                report_loss(f"{name} {text}", fails=fails)
                latest[name] = reach.end if reach.latest is None else reach.latest
            else:
                latest[name] = max(before, before if reach.latest is None else reach.latest)
        return latest


class RefusedStreamReader(DataSourceStreamReader):
    """Raises an error when PySpark calls it.

    PySpark replaces an error of `DataSource.streamReader` by an UnboundLocalError when it stops the missing reader.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error

    def initialOffset(self) -> NoReturn:
        """Raise."""
        raise self.error

    def latestOffset(self, start: Any = None, limit: Any = None) -> NoReturn:
        """Raise."""
        raise self.error

    def partitions(self, start: Any, end: Any) -> NoReturn:
        """Raise."""
        raise self.error

    def read(self, partition: Any) -> NoReturn:
        """Raise."""
        raise self.error

    def stop(self) -> None:
        """Do nothing."""


def stream_reader(
    given: Mapping[str, str], columns: Sequence[str], corrupt: CorruptColumn | None = None, *, decoding: ReadOptions | None = None
) -> SegmentStreamReader:
    """Return the reader of a streaming query.

    Args:
        given: Spark's options; the case of their names means nothing.
        columns: names of record columns.
        corrupt: the corrupt column; None for none.
        decoding: has the schemas of keys and values; None for none.

    Raises:
        ValueError: for an unknown option, an invalid value or combination, without a path, or for an option that needs a newer PySpark.
    """
    options = parse_stream_options(given)
    _ensure_limits_are_supported(given)
    if decoding is not None:
        options = replace(options, read=with_schemas(options.read, decoding))
    return SegmentStreamReader(options, columns, corrupt)


def _ensure_limits_are_supported(given: Mapping[str, str]) -> None:
    """Refuse a limit that this PySpark does not let a source keep."""
    names = {name.lower() for name in given}
    if (asked := [name for name in TRIGGERS if name.lower() in names]) and not supports_limits():
        raise ValueError(f"option {', '.join(asked)}: limits of a micro-batch need PySpark 4.2 or newer, found {pyspark.__version__}")


def _ensure_followed(name: TopicPartition, segments: Sequence[SegmentFile]) -> None:
    """Refuse files that a stream cannot follow."""
    for segment in segments:
        if segment.base_offset is None:
            raise ValueError(f"{segment.path}: not a directory; a stream follows the directories of partitions")
        if is_of_0_7(segment.path):
            raise ValueError(f"{segment.path}: Kafka 0.7 has no offsets for a stream; read it with a batch query")
    if name.topic is None or name.partition is None:
        raise ValueError(f"{segments[0].directory}: not named like orders-0; set the options topic and partition")


def _starting(name: TopicPartition, options: StreamOptions, segments: Sequence[SegmentFile], reach: ReadableOffsets) -> int:
    """Return the first offset of a new query in one partition."""

    def find(timestamp: int) -> int | None:
        read = replace(options.read, start_offset=reach.earliest, end_offset=reach.latest)
        return PartitionReader.of(segments, read).place_at(timestamp)

    offset = resolved(name, options.starting, "starting", find)
    if offset == EARLIEST:
        return reach.earliest
    return (reach.earliest if reach.latest is None else reach.latest) if offset == LATEST else offset


def _may_change(limit: OffsetLimit) -> bool:
    """Return True if the limit may mean another offset later."""
    values = (limit.everywhere, limit.timestamp, *(limit.named or {}).values())
    return LATEST in values or limit.no_match == "latest"
