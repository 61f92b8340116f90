"""Arrow functions over both readers: the same results, and the same rows beside them. Spark 4.3 gives them batches of the columnar one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf, pandas_udf, udf
from pyspark.sql.types import BinaryType, BooleanType, LongType, StringType, TimestampType

import corpus
from logsegment.spark import record_schema
from spark_session import columnar_options

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

MODERN = corpus.CORPUS / "modern-4.1.0/data"
#: Every type of column, with and without nulls.
COLUMNS = ["key", "value", "offset", "timestamp", "topic", "headers", "producerEpoch", "magic", "isTransactional", "controlType"]
HASH = ("count(*)", "bit_xor(xxhash64(*))")
LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


@arrow_udf(BinaryType())
def same_bytes(value: pa.Array) -> pa.Array:
    return value


@arrow_udf(LongType())
def plus_length(offset: pa.Array, value: pa.Array) -> pa.Array:
    return pc.add(offset, pc.fill_null(pc.binary_length(value), -1).cast(pa.int64()))


@arrow_udf(record_schema(["headers"])["headers"].dataType)
def same_headers(headers: pa.Array) -> pa.Array:
    return headers


@arrow_udf(TimestampType())
def same_time(time: pa.Array) -> pa.Array:
    return time


@arrow_udf(BooleanType())
def negated(flag: pa.Array) -> pa.Array:
    return pc.invert(flag)


@arrow_udf(StringType())
def upper(topic: pa.Array) -> pa.Array:
    return pc.utf8_upper(topic)


@arrow_udf(LongType())
def sum_of_small(epoch: pa.Array, magic: pa.Array) -> pa.Array:
    return pc.add(epoch.cast(pa.int64()), magic.cast(pa.int64()))


@pandas_udf(LongType())
def twice(number: pd.Series) -> pd.Series:
    return number * 2


@udf(LongType())
def one() -> int:
    return 1


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "binary": lambda frame: frame.select("offset", "key", same_bytes("value").alias("out")),
    "two arguments": lambda frame: frame.select(plus_length("offset", "value").alias("out"), "timestamp"),
    "lists of structs": lambda frame: frame.select("offset", same_headers("headers").alias("out"), "headers"),
    "times": lambda frame: frame.select("key", same_time("timestamp").alias("out")),
    "strings": lambda frame: frame.select(upper("topic").alias("out"), "value"),
    "booleans": lambda frame: frame.select("offset", negated("isTransactional").alias("out")),
    "small numbers": lambda frame: frame.select("offset", "magic", sum_of_small("producerEpoch", "magic").alias("out")),
    "pandas": lambda frame: frame.select("value", twice("offset").alias("out")),
    "several functions": lambda frame: frame.select(same_bytes("key").alias("a"), plus_length("offset", "value").alias("b"), "controlType"),
    "no argument": lambda frame: frame.select("offset", "value", one().alias("out")),
    "an expression": lambda frame: frame.select("key", twice(F.col("offset") + 1).alias("out")),
    "one after the other": lambda frame: frame.select(
        "key", twice(plus_length("offset", "value")).alias("out"), same_bytes("value").alias("v")
    ),
    "two kinds": lambda frame: frame.select("offset", twice("offset").alias("a"), same_bytes("key").alias("b"), "topic"),
    "a filter": lambda frame: frame.where("offset % 3 = 0").select("value", twice("offset").alias("out")),
    "a condition": lambda frame: frame.where(twice("offset") > 40).select("key", "value", "headers"),
    "sums": lambda frame: frame.groupBy("topic").agg(F.sum(plus_length("offset", "value")).alias("out")),
}


def load(spark: SparkSession, *paths: Path, reader: str, size: int) -> DataFrame:
    options = {"reader": reader, "batchSize": str(size)}
    return spark.read.format("logsegment").options(**options).schema(record_schema(COLUMNS)).load([str(path) for path in paths])


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan())


@pytest.mark.parametrize("query", QUERIES)
def test_functions_give_equal_rows_with_both_readers(spark: SparkSession, query: str):
    """In many small batches, of which several wait for their results, also after the reader was closed."""
    paths = [MODERN / name for name in ("codec-zstd-0", "edge-records-0", "transactions-multi-segment-0")]
    python, columnar = (QUERIES[query](load(spark, *paths, reader=reader, size=7)) for reader in ("python", "columnar"))
    assert "columnar reader" in plan_of(columnar)
    assert sorted(columnar.toArrow().to_pylist(), key=str) == sorted(python.toArrow().to_pylist(), key=str)


def test_the_plan_has_no_rows_before_the_function(spark: SparkSession):
    frame = load(spark, MODERN / "codec-zstd-0", reader="columnar", size=65536).select(same_bytes("value"), "offset")
    below = plan_of(frame).split("ArrowEvalPython", 1)[1]
    assert "ColumnarToRow" not in below


def test_functions_get_the_large_types_that_spark_declares(spark: SparkSession):
    query = QUERIES["binary"]
    expected = query(load(spark, MODERN / "codec-zstd-0", reader="columnar", size=7)).selectExpr(*HASH).first()
    spark.conf.set(LARGE, "true")
    try:
        assert query(load(spark, MODERN / "codec-zstd-0", reader="columnar", size=7)).selectExpr(*HASH).first() == expected
    finally:
        spark.conf.unset(LARGE)


def test_a_limit_ends_a_task_whose_batches_wait_for_results(spark: SparkSession):
    frame = load(spark, MODERN / "codec-zstd-0", reader="columnar", size=3).select("offset", same_bytes("value").alias("out"))
    assert [row.offset for row in frame.limit(10).collect()] == list(range(10))


def test_functions_get_what_the_library_read(spark: SparkSession):
    """The columns are Arrow's: a batch has as many rows as the reader gave, not as `maxRecordsPerBatch` says for rows."""

    @arrow_udf(LongType())
    def rows(offset: pa.Array) -> pa.Array:
        return pa.array([len(offset)] * len(offset))

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "5")
    try:
        frame = load(spark, MODERN / "codec-zstd-0", reader="columnar", size=65536)
        assert {row.out for row in frame.select(rows("offset").alias("out")).collect()} == {240}
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
