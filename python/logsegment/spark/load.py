"""`load`: log segments as a DataFrame in every Spark, also where there are no data sources in Python."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from logsegment.spark.datasource import HAS_SOURCES, DataSourceReader
from logsegment.spark.source import LogSegmentSource

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PathLike: TypeAlias = str | os.PathLike[str]
Option: TypeAlias = bool | int | float | str


def load(spark: SparkSession, path: PathLike | Sequence[PathLike], **options: Option) -> DataFrame:
    """Read log segments as `spark.read.format("logsegment").options(**options).load(path)` does.

    The source itself reads in PySpark 4.0 and newer. PySpark 3.5 has no data sources in Python: the plan is made here, on the driver, and
    each task is read by `DataFrame.mapInArrow`. Then filters and columns of the query do not reach the files: the options
    `columns`, `startingOffsets` and the others of docs/reference/spark-options.md do.

    Args:
        spark: the session, classic or Connect.
        path: a file, a partition directory, a tree, a pattern or a URI of a store, or several; executors must reach them too.
        options: of the source. A name with a dot is passed as `**{"storage.aws_region": "eu-west-1"}`.

    Returns:
        A DataFrame with the schema of Spark's Kafka source.

    Raises:
        ValueError: if an option is invalid.
        OSError: if a path does not exist or cannot be read.
        RecordBatchError: in PySpark 3.5, if bytes before a time cannot be read; other versions raise an error of PySpark's.
        pyspark.errors.PythonException: in the query, at damage, unless the option `mode` says otherwise.

    Example:
        >>> from logsegment.spark import load
        >>> load(spark, "orders-0", includeHeaders=True).columns[-1]
        'headers'

    Source: `KafkaSourceProvider` in Spark.
    """
    paths = [os.fspath(place) for place in ([path] if isinstance(path, (str, os.PathLike)) else path)]
    texts = texts_of(options)
    if HAS_SOURCES:
        return spark.read.format("logsegment").options(**texts).load(paths[0] if len(paths) == 1 else paths)
    source = LogSegmentSource({**texts, "paths": json.dumps(paths)})
    schema = source.schema()
    reader = source.reader(schema)
    tasks = [pickle.dumps(task) for task in reader.partitions()]
    return spark.range(0, len(tasks), 1, max(len(tasks), 1)).mapInArrow(_Tasks(reader, tasks).read, schema)


def texts_of(options: Mapping[str, Option]) -> dict[str, str]:
    """Return options as Spark passes them."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}


class _Tasks:
    """The tasks of a query, of which each task of Spark reads those whose numbers come."""

    def __init__(self, reader: DataSourceReader, tasks: list[bytes]) -> None:
        self._reader = reader
        self._tasks = tasks

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of tasks."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._reader.read(pickle.loads(self._tasks[number]))
