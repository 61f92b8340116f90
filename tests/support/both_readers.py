"""One query with each reader for Spark: rows as an Arrow table, or the error as the last line of a traceback shows it."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from logsegment.spark import LogSegmentSource

Outcome = pa.Table | str


def frame_of(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    """A query that the columnar reader reads, or that fails."""
    return spark.read.format("logsegment").options(**options, reader="columnar").load(str(path))


def in_python(path: Path | str, **options: str) -> Outcome:
    """The outcome of the Python reader, in this process."""
    source = LogSegmentSource({"path": str(path), **options})
    try:
        with warnings.catch_warnings(action="ignore"):
            schema = source.schema()
            reader = source.reader(schema)
            batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    except Exception as error:
        return traceback.format_exception_only(error)[-1].strip()
    return pa.Table.from_batches(batches, to_arrow_schema(schema, timezone="UTC")).combine_chunks()


def in_jvm(spark: SparkSession, path: Path | str, **options: str) -> Outcome:
    """The outcome of the columnar reader."""
    try:
        return frame_of(spark, path, **options).toArrow().combine_chunks()
    except (PythonException, AnalysisException) as error:
        return str(error)


def ensure_equal(python: Outcome, columnar: Outcome, what: object = "") -> None:
    """Compare the rows and their order, or the error."""
    if isinstance(python, str) or isinstance(columnar, str):
        assert isinstance(python, str), (what, columnar)
        assert isinstance(columnar, str), (what, python)
        assert python in columnar, what
        return
    assert python.schema.equals(columnar.schema), what
    # NaN is equal to itself as text only.
    assert python.equals(columnar) or repr(plain_rows(python)) == repr(plain_rows(columnar)), what


def plain_rows(table: pa.Table) -> list[list[Any]]:
    """The columns as Python objects; numbers for times, of which Python does not have all."""
    return [[plain(value) for value in column] for column in table.columns]


def plain(value: pa.Scalar) -> Any:
    if not value.is_valid:
        return None
    if isinstance(value, pa.StructScalar):
        return {name: plain(value[name]) for name in value}
    if isinstance(value, pa.ListScalar):
        return [plain(item) for item in value.values]
    return value.value if isinstance(value, pa.Date32Scalar | pa.TimestampScalar) else value.as_py()
