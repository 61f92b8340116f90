"""The batch data source: PySpark's classes around `logsegment.decode`.

PySpark makes a source on the driver, asks it for tasks, and runs `read` in a worker process for each. One thread decodes in a task, files
are read by position (a mapping of a file that a broker cuts would kill the worker), and nothing starts at import, since workers are forked.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    Filter,
    InputPartition,
)

from logsegment._core import FileSource, Finding, RecordBatchError, RecordStream, Transactions
from logsegment._decode import decode
from logsegment._errors import in_file
from logsegment._options import ReadOptions as CoreReadOptions
from logsegment._options import with_values
from logsegment._text import count
from logsegment.log.neighbours import committed_transactions
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import find_segments, segments_beside
from logsegment.spark.options.modes import CorruptColumn, parse_mode
from logsegment.spark.options.paths import local_paths
from logsegment.spark.options.read import (
    ReadOptions,
    boolean,
    columns_option,
    ensure_known_somewhere,
    ensure_no_table,
    lowered,
    parse_options,
    paths_of,
    values_option,
)
from logsegment.spark.read.damage import Share, told_by
from logsegment.spark.read.filters import Wanted, wanted_by
from logsegment.spark.read.plan import SegmentPart, SegmentTask, plan_tasks
from logsegment.spark.read.task_stats import TaskStats
from logsegment.spark.read.views import view_of, view_reader, view_schema
from logsegment.spark.read.warnings import warn_of_shared_plan, warn_of_topics
from logsegment.spark.schema import HEADERS, KAFKA_COLUMNS, columns_of, record_schema
from logsegment.stores.uri import is_stored

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class LogSegmentSource(DataSource):
    """Log segments with the schema of Spark's Kafka source.

    Options: those of Spark's Kafka source that mean something for files, and some of our own; docs/guide/spark.md has a table of them.

    Example:
        >>> records = spark.read.format("logsegment").load(directory)
        >>> records.columns
        ['key', 'value', 'topic', 'partition', 'offset', 'timestamp', 'timestampType']
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self.given = dict(options)
        ensure_no_table(self.given)
        ensure_known_somewhere(self.given)
        paths_of(lowered(self.given))

    @cached_property
    def read_options(self) -> ReadOptions:
        """The options of a batch query, checked."""
        return parse_options(self.given)

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` takes."""
        return "logsegment"

    def schema(self) -> StructType:
        """Columns when the user names none by `schema`. A path where there is nothing fails here, at `load`."""
        options = lowered(self.given)
        local_paths(paths_of(options))
        if view_of(self.given) != "records":
            return view_schema(self.given)
        named = columns_option(options)
        usual = [*KAFKA_COLUMNS, HEADERS] if boolean(options, "includeHeaders", False) else [*KAFKA_COLUMNS]
        chosen = usual if named is None else list(named)
        return parse_mode(options).widened(record_schema(with_values(chosen, values_option(options))))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        if view_of(self.given) != "records":
            return view_reader(self.given, schema)
        options = self.read_options
        wanted, corrupt = options.mode.split(schema, (*KAFKA_COLUMNS, HEADERS))
        kind = PushingReader if options.push_filters else SegmentReader
        return kind(options, self._columns(wanted), corrupt)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader that follows partitions, of the columns in `schema`."""
        from logsegment.spark.stream.refused import RefusedStreamReader

        try:
            return self._stream_reader(schema)
        except Exception as error:
            return RefusedStreamReader(error)

    def _stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        # Not for batch queries, whose every process would wait for it.
        from logsegment.spark.stream.reader import stream_reader

        if (view := view_of(self.given)) != "records":
            raise ValueError(f"option view: a stream gives records, and {view} only a batch query")
        wanted, corrupt = parse_mode(lowered(self.given)).split(schema, (*KAFKA_COLUMNS, HEADERS))
        return stream_reader(self.given, self._columns(wanted), corrupt)

    def _columns(self, schema: StructType) -> list[str]:
        options = lowered(self.given)
        named = columns_option(options)
        if named is not None:
            named = with_values(named, values_option(options))
        if named is not None and named != tuple(schema.fieldNames()):
            raise ValueError(f"option columns names {', '.join(named)}, but the schema {', '.join(schema.fieldNames())}")
        return columns_of(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer of rows of this schema."""
        from logsegment.spark.write import SegmentWriter

        return SegmentWriter(self.given, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """A writer of the batches of a stream."""
        from logsegment.spark.write import SegmentStreamWriter

        return SegmentStreamWriter(self.given, schema, overwrite)


class SegmentReader(DataSourceReader):
    """Reads the chosen columns of segments."""

    def __init__(self, options: ReadOptions, columns: list[str], corrupt: CorruptColumn | None = None) -> None:
        self.options = options
        self.columns = columns
        self.corrupt = corrupt or CorruptColumn(options.mode)
        self.wanted = Wanted()

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        tasks = plan_tasks(self.options, self.wanted)
        warn_of_topics(self.columns, [part.topic for task in tasks if isinstance(task, SegmentTask) for part in task.parts])
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Records of one task, in a worker process."""
        # Spark makes a task of nothing when there is nothing to read.
        if not isinstance(partition, SegmentTask):
            return
        with TaskStats(self.options.io_stats).written() as stats:
            for part in partition.parts:
                yield from self._rows(part, stats)

    def _rows(self, part: SegmentPart, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        try:
            self._ensure_there(part)
            yield from self._batches(part, stats)
        except FileNotFoundError:
            self._report_loss(FileNotFoundError(_loss_of(part.source)))
        except RecordBatchError as error:
            raise in_file(error, str(part.source.path)) from None

    def _batches(self, part: SegmentPart, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        def own(found: list[Finding]) -> list[Finding]:
            (file,) = find_segments(part.source.path)
            share = Share(file.base_offset or 0, part.start, part.end, part.resumes)
            return told_by(found, part.source, share, limits=self.options.limits, experimental=self.options.experimental)

        place = {"path": str(part.source.path), "topic": part.topic, "partition": part.partition}
        with stats.counting(self._records(part), str(part.source.path), part.topic, part.partition) as stream:
            yield from self.corrupt.batches(stream, place, is_cut=part.source.end is not None, choose=own)

    def _ensure_there(self, part: SegmentPart) -> None:
        """A file that was cut since would silently give fewer records."""
        size = Segment(part.source.path).size
        if part.source.end is not None and size < part.source.end:
            what = f"{part.source.path} was cut to {count(size, 'byte')} after the query was planned with {part.source.end:,}"
            self._report_loss(OSError(what))

    def _report_loss(self, lost: OSError) -> None:
        if self.options.fail_on_data_loss:
            raise type(lost)(f"{lost}; set failOnDataLoss to false to read what is left") from None
        warnings.warn(f"{lost}: its records are left out", UserWarning, stacklevel=2)

    def _records(self, part: SegmentPart) -> RecordStream:
        return decode(
            part.source,
            columns=self.columns,
            # A piece ends where a batch ends. If it does not, the file is not what it was, or damaged.
            strict_tail=part.source.end is not None and self.options.fail_on_data_loss and not self.options.mode.skips,
            on_error=self.options.mode.on_error,
            isolation=self.options.isolation,
            transactions=self._transactions(part),
            start_offset=part.start,
            end_offset=part.end,
            topic=part.topic,
            partition=part.partition,
            batch_size=self.options.batch_size,
            batch_bytes=self.options.batch_bytes,
            experimental=self.options.experimental,
            null_headers=True,
            codecs=self.options.codecs,
            limits=self.options.limits,
        )

    def _transactions(self, part: SegmentPart) -> Transactions | None:
        if part.transactions is not None or self.options.isolation != "read_committed":
            return part.transactions
        return transactions_of(part, is_recovering=self.options.mode.skips, experimental=self.options.experimental)


def _loss_of(source: FileSource) -> str:
    """Why a file that was listed is not there."""
    path = source.path
    if not is_stored(str(path)) and os.path.islink(path):
        return f"{path} is a link to {os.readlink(path)}, where there is nothing"
    return f"{path} was deleted after the query was planned"


class _PushFilters:
    """`PushingReader.pushFilters`, which PySpark takes for the one of its base class while pushdown is switched off.

    It refuses a reader that has a method of its own then, and tells no source whether pushdown is on.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, reader: PushingReader) -> None:
        self.reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self.reader.wanted = wanted_by(filters)
        if self.reader.wanted != Wanted():
            warn_of_shared_plan()
        return filters


class PushingReader(SegmentReader):
    """Spares what Spark's filters do not want, where pushdown is switched on. All filters are given back: Spark checks the rows again."""

    @property
    def pushFilters(self) -> Any:
        """Take filters from Spark."""
        return _PushFilters(self)


def transactions_of(part: SegmentPart, *, is_recovering: bool = False, experimental: bool = False) -> Transactions:
    """What a committed read of a part must know: from the producer snapshot of its segment, and the markers from there on.

    Raises:
        OSError: when a file cannot be read.
    """
    (segment,) = find_segments(part.source.path)
    if segment.path.endswith(".kafka"):
        return Transactions([])
    beside = segments_beside(segment)
    start = part.start if part.start is not None else segment.base_offset
    behind = [other.base_offset for other in beside if other.base_offset is not None and other.base_offset > (segment.base_offset or 0)]
    end = part.end if part.end is not None else min(behind, default=None)
    read = CoreReadOptions(start_offset=start, end_offset=end, on_error="skip" if is_recovering else "raise", experimental=experimental)
    return committed_transactions(beside, read)
