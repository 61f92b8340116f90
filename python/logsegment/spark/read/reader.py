"""The reader of a batch query: options go in, tasks come out, and a task becomes rows in a worker process.

`logsegment.spark.read.plan` makes the tasks.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from logsegment._core import FileSource, Finding, RecordBatchError, decode_files
from logsegment._options import ReadOptions
from logsegment._places import is_stored
from logsegment._text import count
from logsegment.log.segment import Segment
from logsegment.partition.reader import Part
from logsegment.segment_files.discovery import find_segments
from logsegment.spark.datasource import DataSourceReader, Filter, InputPartition
from logsegment.spark.options.read import BatchOptions
from logsegment.spark.options.topics import warn_of_topics
from logsegment.spark.read.damage import CorruptColumn, Share, failed, reported_by
from logsegment.spark.read.decoding import Columns, with_schemas
from logsegment.spark.read.plan import SegmentTask, WantedRows, plan_tasks, wanted_by
from logsegment.spark.read.task_stats import TaskStats
from logsegment.spark.task_errors import shown_alone

if TYPE_CHECKING:
    import pyarrow as pa


class SegmentReader(DataSourceReader):
    """Reads the chosen columns of segments."""

    def __init__(self, options: BatchOptions, columns: Sequence[str], corrupt: CorruptColumn | None = None) -> None:
        self.columns = Columns.of(columns, options.read)
        self.options = replace(options, read=replace(options.read, columns=self.columns.decoded))
        self.corrupt = corrupt or CorruptColumn(options.mode)
        self.wanted = WantedRows()

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks.

        Raises:
            OSError: if a path does not exist or cannot be read.
            ValueError: if the options do not fit what is there.
            RecordBatchError: if bytes before a time cannot be read.
        """
        try:
            # Schemas travel with the reader, once, and not with each task.
            bare = replace(self.options, read=with_schemas(self.options.read, ReadOptions()))
            tasks = plan_tasks(bare, self.wanted)
        except RecordBatchError as error:
            raise failed(error, self.options) from None
        warn_of_topics(self.options.read.columns or (), [read.topic for task in tasks for _, read in task.parts])
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task, in a worker process."""
        # Without any task Spark makes one of its own.
        if not isinstance(partition, SegmentTask):
            return
        with TaskStats(self.options.io_stats).written() as stats:
            for number, part in enumerate(partition.parts):
                yield from self._rows(part, stats, resumes=number in partition.resumed)

    def _rows(self, part: Part, stats: TaskStats, *, resumes: bool) -> Iterator[pa.RecordBatch]:
        source, _ = part
        try:
            self._ensure_uncut(source)
            yield from self._batches(part, stats, resumes=resumes)
        except FileNotFoundError:
            self._report_loss(FileNotFoundError(_loss_of(source)))
        except RecordBatchError as error:
            raise failed(error, self.options, str(source.path)) from None

    def _batches(self, part: Part, stats: TaskStats, *, resumes: bool) -> Iterator[pa.RecordBatch]:
        source, read = part

        def own(found: list[Finding]) -> list[Finding]:
            (file,) = find_segments(source.path)
            return reported_by(found, source, Share(file.base_offset or 0, *read.bounds, resumes), self.options)

        place = {"path": str(source.path), "topic": read.topic, "partition": read.partition}
        decoding = with_schemas(read, self.options.read)
        with stats.counting(decode_files([(source, decoding)], decoding), place) as stream:
            shape = self.columns.shape
            yield from self.corrupt.batches(stream, place, is_cut=source.end is not None, shape=shape, choose=own)

    def _ensure_uncut(self, source: FileSource) -> None:
        """Report a file that was cut after planning: a read of it would give fewer records without an error."""
        size = Segment(source.path).size
        least = source.start if source.end is None else source.end
        if size < least:
            what = f"{source.path} was truncated to {count(size, 'byte')} after the query was planned with {least:,}"
            self._report_loss(OSError(what))

    def _report_loss(self, lost: OSError) -> None:
        if self.options.fails_on_data_loss:
            raise shown_alone(type(lost)(f"{lost}; set failOnDataLoss to false to read the remaining records")) from None
        warnings.warn(f"{lost}: its records are left out", UserWarning, stacklevel=2)


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
            text = "PySpark reuses the plan of one query for others over the same DataFrame"
            advice = "load one DataFrame per query, and per side of a union"
            warnings.warn(f"option pushFilters: {text}: {advice}", UserWarning, stacklevel=2)
        return filters


def _loss_of(source: FileSource) -> str:
    """Return why a file that was listed is not there."""
    path = source.path
    if not is_stored(str(path)) and os.path.islink(path):
        return f"{path} is a dangling link to {os.readlink(path)}"
    return f"{path} was deleted after the query was planned"
