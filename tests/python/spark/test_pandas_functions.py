"""Functions of columns where PySpark has no arrow_udf: a pandas_udf gives the same results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Column, DataFrame, SparkSession

import corpus
import logsegment as ls
from logsegment.spark import batch_info_udf, convert_udf, decode_udf, decode_values, encode_udf, functions, validate_udf

pytestmark = pytest.mark.spark
ORDERS = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log"


@pytest.fixture(params=["UTC", "America/New_York"])
def zone(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture
def raw(spark: SparkSession) -> DataFrame:
    whole = ORDERS.read_bytes()
    values = [whole, b"", b"xx", whole[:-3], None]
    return spark.createDataFrame(
        [(row, None if value is None else bytearray(value)) for row, value in enumerate(values)], "id int, batch binary"
    )


def both(monkeypatch: pytest.MonkeyPatch, raw: DataFrame, make: Any) -> tuple[list[Any], list[Any]]:
    """The rows of a function as arrow_udf and as pandas_udf."""
    expected = raw.select("id", make().alias("out")).orderBy("id").collect()
    for name in ("functions", "udf"):
        monkeypatch.setattr(sys.modules[f"logsegment.spark.{name}"], "HAS_ARROW_UDF", False)
    return raw.select("id", make().alias("out")).orderBy("id").collect(), expected


def encoded() -> Column:
    return encode_udf(compression="gzip")(decode_udf(columns=["offset", "timestamp", "key", "value", "headers"], on_error="skip")("batch"))


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    "make",
    [
        lambda: decode_udf(on_error="skip")("batch"),
        lambda: decode_udf(columns=["offset"])("batch"),
        lambda: convert_udf(compression="lz4")("batch"),
        lambda: batch_info_udf()("batch"),
        lambda: validate_udf()("batch"),
        encoded,
    ],
    ids=["decode", "offsets", "convert", "batch_info", "validate", "encode"],
)
def test_results_are_the_same(monkeypatch: pytest.MonkeyPatch, raw: DataFrame, make: Any) -> None:
    found, expected = both(monkeypatch, raw, make)
    assert found == expected
    assert any(row.out for row in expected)
    assert expected[-1].out is None


def test_typed_values(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    schemas = ls.schemas.from_log(corpus.TESTS / "values/_schemas-0")
    raw = spark.read.format("logsegment").load(str(corpus.TESTS / "values/alpha-avro-refs-0")).selectExpr("offset as id", "value")
    raw = raw.union(spark.createDataFrame([(-1, None), (-2, bytearray(b"?"))], raw.schema))
    found, expected = both(monkeypatch, raw, lambda: decode_values(schemas, topic="alpha-avro-refs")("value"))
    assert found == expected
    assert [row.out for row in expected if row.id < 0] == [None, None]
    assert sum(row.out is not None for row in expected) > 10


@pytest.mark.parametrize(("text", "hour"), [("2024-11-03 00:30", 4), ("2024-11-03 02:30", 7)])
def test_times_of_an_older_spark_are_of_the_time_zone_of_the_session(monkeypatch: pytest.MonkeyPatch, text: str, hour: int) -> None:
    monkeypatch.setattr(functions, "_session_zone", lambda: "America/New_York")
    series = pd.Series([[{"timestamp": pd.Timestamp(text), "value": b"x"}, {"timestamp": None, "value": None}], None, []])
    rows = functions.from_series(series).to_pylist()
    assert rows[0][0] == {"timestamp": datetime(2024, 11, 3, hour, 30, tzinfo=UTC), "value": b"x"}
    assert rows[0][1:] == [{"timestamp": None, "value": None}]
    assert rows[1:] == [None, []]


def test_a_time_that_a_clock_shows_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_session_zone", lambda: "America/New_York")
    with pytest.raises(ValueError, match="is ambiguous"):
        functions.from_series(pd.Series([[{"timestamp": pd.Timestamp("2024-11-03 01:30")}]]))
