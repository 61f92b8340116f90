"""The reader of a batch query: tasks on the driver, the rows of each in a worker process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from logsegment._core import FileSource, Finding, RecordBatchError, RecordStream
from logsegment._decode import decoded
from logsegment._errors import in_file
from logsegment._text import count
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import find_segments
from logsegment.spark.options.read import BatchOptions
from logsegment.spark.options.topics import warn_of_topics
from logsegment.spark.read.damage import CorruptColumn, Share, reported_by
from logsegment.spark.read.filters import WantedRows, wanted_by
from logsegment.spark.read.plan import SegmentPart, SegmentTask, plan_tasks
from logsegment.spark.read.task_stats import TaskStats
from logsegment.stores.uri import is_stored

if TYPE_CHECKING:
    import pyarrow as pa


class SegmentReader(DataSourceReader):
    """Reads the chosen columns of segments."""

    def __init__(self, options: BatchOptions, columns: Sequence[str], corrupt: CorruptColumn | None = None) -> None:
        self.options = options
        self.columns = list(columns)
        self.corrupt = corrupt or CorruptColumn(options.mode)
        self.wanted = WantedRows()

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks."""
        tasks = plan_tasks(self.options, self.wanted)
        warn_of_topics(self.columns, [part.topic for task in tasks if isinstance(task, SegmentTask) for part in task.parts])
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task, in a worker process."""
        # Without any task Spark makes one of its own.
        if not isinstance(partition, SegmentTask):
            return
        with TaskStats(self.options.io_stats).written() as stats:
            for part in partition.parts:
                yield from self._rows(part, stats)

    def _rows(self, part: SegmentPart, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        try:
            self._ensure_uncut(part)
            yield from self._batches(part, stats)
        except FileNotFoundError:
            self._report_loss(FileNotFoundError(_loss_of(part.source)))
        except RecordBatchError as error:
            raise in_file(error, str(part.source.path)) from None

    def _batches(self, part: SegmentPart, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        def own(found: list[Finding]) -> list[Finding]:
            (file,) = find_segments(part.source.path)
            return reported_by(found, part.source, Share(file.base_offset or 0, part.start, part.end, part.resumes), self.options)

        place = {"path": str(part.source.path), "topic": part.topic, "partition": part.partition}
        with stats.counting(self._records(part), place) as stream:
            yield from self.corrupt.batches(stream, place, is_cut=part.source.end is not None, choose=own)

    def _ensure_uncut(self, part: SegmentPart) -> None:
        """Report a file that was cut after planning: a read of it would give fewer records without an error."""
        size = Segment(part.source.path).size
        if part.source.end is not None and size < part.source.end:
            what = f"{part.source.path} was cut to {count(size, 'byte')} after the query was planned with {part.source.end:,}"
            self._report_loss(OSError(what))

    def _report_loss(self, lost: OSError) -> None:
        if self.options.fails_on_data_loss:
            raise type(lost)(f"{lost}; set failOnDataLoss to false to read what is left") from None
        warnings.warn(f"{lost}: its records are left out", UserWarning, stacklevel=2)

    def _records(self, part: SegmentPart) -> RecordStream:
        # A piece ends where a batch ends. If it does not, the file has changed, or is damaged.
        is_strict = part.source.end is not None and self.options.fails_on_data_loss and not self.options.read.skips_damage
        options = replace(
            self.options.read,
            columns=self.columns,
            strict_tail=is_strict,
            transactions=part.transactions,
            start_offset=part.start,
            end_offset=part.end,
            topic=part.topic,
            partition=part.partition,
        )
        return decoded(part.source, options)


class PushingReader(SegmentReader):
    """Skips what Spark's filters exclude, if pushdown is switched on. Spark gets all filters back and checks the rows again."""

    @property
    def pushFilters(self) -> Any:
        """Take filters from Spark."""
        return _PushFilters(self)


class _PushFilters:
    """`PushingReader.pushFilters`, which looks to PySpark like the method of its base class while pushdown is switched off.

    PySpark refuses a reader that has a method of its own then, and a source cannot see if pushdown is on.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, reader: PushingReader) -> None:
        self.reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self.reader.wanted = wanted_by(filters)
        if self.reader.wanted != WantedRows():
            # PySpark 4.3 gives a plan with pushed filters to the next query over the same frame too, which then misses rows.
            text = "PySpark uses what one query reads for others over the same loaded frame"
            advice = "load one for each query, and for each side of a union"
            warnings.warn(f"option pushFilters: {text}: {advice}", UserWarning, stacklevel=2)
        return filters


def _loss_of(source: FileSource) -> str:
    """Return why a file that was listed is not there."""
    path = source.path
    if not is_stored(str(path)) and os.path.islink(path):
        return f"{path} is a link to {os.readlink(path)}, where there is nothing"
    return f"{path} was deleted after the query was planned"
