"""The batch data source: PySpark's classes around `logsegment.decode`.

PySpark makes a source on the driver, asks it for tasks, and runs `read` in a worker process for each. One thread decodes in a task, files
are read by position (a mapping of a file that a broker cuts would kill the worker), and nothing starts at import, since workers are forked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import logsegment as ls
from logsegment.spark.errors import located
from logsegment.spark.options import ReadOptions, local_paths, parse_options
from logsegment.spark.plan import SegmentTask, plan_tasks
from logsegment.spark.schema import HEADERS, KAFKA_COLUMNS, columns_of, record_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class LogSegmentSource(DataSource):
    """Log segments with the schema of Spark's Kafka source.

    Options: `includeHeaders` ("false"), `isolation` ("read_uncommitted"), `batchSize` (65536 rows), `batchBytes` (1 MiB), `topic` and
    `partition` for files that lie in no partition directory.

    Example:
        >>> records = spark.read.format("logsegment").load(directory)
        >>> records.columns
        ['key', 'value', 'topic', 'partition', 'offset', 'timestamp', 'timestampType']
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self.read_options = parse_options(options)

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` takes."""
        return "logsegment"

    def schema(self) -> StructType:
        """Columns when the user names none. A path where there is nothing fails here, at `load`."""
        local_paths(self.read_options.paths)
        return record_schema([*KAFKA_COLUMNS, HEADERS] if self.read_options.include_headers else KAFKA_COLUMNS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        return SegmentReader(self.read_options, columns_of(schema))


class SegmentReader(DataSourceReader):
    """Reads the chosen columns of segments."""

    def __init__(self, options: ReadOptions, columns: list[str]) -> None:
        self.options = options
        self.columns = columns

    def partitions(self) -> list[InputPartition]:
        """One task a segment."""
        return plan_tasks(self.options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Records of one task, in a worker process."""
        assert isinstance(partition, SegmentTask)
        try:
            for batch in self._records(partition):
                yield batch.to_pyarrow()
        except ls.RecordBatchError as error:
            raise located(error, str(partition.source.path)) from None

    def _records(self, task: SegmentTask) -> ls.RecordStream:
        return ls.decode(
            task.source,
            columns=self.columns,
            isolation=self.options.isolation,
            transactions=task.transactions,
            topic=task.topic,
            partition=task.partition,
            batch_size=self.options.batch_size,
            batch_bytes=self.options.batch_bytes,
            null_headers=True,
        )
