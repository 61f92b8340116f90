"""The data source "logsegment" of `spark.read`, `spark.readStream` and `write`: options and schemas go in, readers and writers come out.

PySpark makes a source on the driver, asks its reader for tasks, and runs `read` in a worker process for each task. One thread decodes in a
task, and no thread starts at import, since workers are forked. Files are read by position: a mapping of a file that a broker cuts would
kill the worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from logsegment._options import ReadOptions
from logsegment.spark.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from logsegment.spark.jvm.planning import PlanningReader, PlanRequest, ensure_columnar
from logsegment.spark.options.names import boolean, ensure_known_somewhere, ensure_no_table, lowered
from logsegment.spark.options.read import columns_option, parse_mode, parse_options, paths_of, view_of
from logsegment.spark.options.storage import with_settings
from logsegment.spark.options.topics import local_paths
from logsegment.spark.options.values import with_decoded
from logsegment.spark.read.damage import CorruptColumn, split, widened
from logsegment.spark.read.decoding import find_schemas, with_schemas
from logsegment.spark.read.reader import PushingReader, SegmentReader
from logsegment.spark.read.views import view_reader, view_schema
from logsegment.spark.schema import HEADERS, KAFKA_COLUMNS, columns_of, schema_of
from logsegment.spark.stream.reader import RefusedStreamReader, stream_reader
from logsegment.spark.write.writer import SegmentStreamWriter, SegmentWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class LogSegmentSource(DataSource):
    """Log segments with the schema of Spark's Kafka source.

    Options: those of Spark's Kafka source that apply to files, and some of logsegment; docs/how-to/read-with-spark.md lists them.

    Example:
        >>> records = spark.read.format("logsegment").load(directory)
        >>> records.columns
        ['key', 'value', 'topic', 'partition', 'offset', 'timestamp', 'timestampType']
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        given = with_settings(options)
        super().__init__(given)
        self.given = given
        self.request = PlanRequest.taken(self.given)
        ensure_no_table(self.given)
        ensure_known_somewhere(self.given)
        paths_of(lowered(self.given))
        self._decoding: ReadOptions | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name that `spark.read.format` takes."""
        return "logsegment"

    def schema(self) -> StructType:
        """Return the columns if the user names none by `schema`. A path that does not exist fails here, at `load`."""
        options = lowered(self.given)
        local_paths(paths_of(options))
        if view_of(self.given) != "records":
            return view_schema(self.given)
        named = columns_option(options)
        usual = [*KAFKA_COLUMNS, HEADERS] if boolean(options, "includeHeaders", False) else [*KAFKA_COLUMNS]
        chosen = usual if named is None else list(named)
        read = replace(self._decoded(), columns=with_decoded(chosen, options))
        return widened(schema_of(read), parse_mode(options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the columns in `schema`."""
        if view_of(self.given) != "records":
            view = view_reader(self.given, schema)
            return view if self.request is None else PlanningReader(view, self.request, f"view {view_of(self.given)}")
        options = parse_options(self.given)
        kind = PushingReader if options.push_filters else SegmentReader
        options = replace(options, read=with_schemas(options.read, self._decoded()))
        reader = kind(options, *self._columns(schema))
        if options.reader == "columnar":
            ensure_columnar(reader, self.request)
        return reader if self.request is None else PlanningReader(reader, self.request)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return a reader of the columns in `schema` that follows partitions."""
        try:
            if (view := view_of(self.given)) != "records":
                raise ValueError(f"option view must be records in a stream, not {view}; {view} needs a batch query")
            return stream_reader(self.given, *self._columns(schema), decoding=self._decoded())
        except Exception as error:
            return RefusedStreamReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return a writer of rows of this schema."""
        return SegmentWriter(self.given, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return a writer of the batches of a stream."""
        return SegmentStreamWriter(self.given, schema, overwrite)

    def _decoded(self) -> ReadOptions:
        """Return the schemas of keys and values, found once: PySpark plans with the source that answered for the schema."""
        if self._decoding is None:
            self._decoding = find_schemas(lowered(self.given))
        return self._decoding

    def _columns(self, schema: StructType) -> tuple[Sequence[str], CorruptColumn]:
        """Return the names of the record columns in `schema`, and the corrupt column."""
        options = lowered(self.given)
        wanted, corrupt = split(schema, parse_mode(options), (*KAFKA_COLUMNS, HEADERS))
        named = columns_option(options)
        if named is not None:
            named = with_decoded(named, options)
        if named is not None and named != tuple(wanted.fieldNames()):
            raise ValueError(f"option columns names {', '.join(named)}, but the schema {', '.join(wanted.fieldNames())}")
        return columns_of(wanted, self._decoded()), corrupt
