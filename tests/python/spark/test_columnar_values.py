"""Decoded keys and values by the columnar reader: the columns, texts and errors of the Python reader, with the schemas in the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import both_readers
from logsegment.spark import LogSegmentSource
from logsegment.spark.jvm.planning import PlanRequest
from logsegment.spark.jvm.tasks import query_bytes
from logsegment.spark.read.reader import SegmentReader
from spark_session import columnar_options
from values_corpus import VALUES

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

SCHEMAS = {"schemas.path": str(VALUES / "_schemas-0")}
POISON = VALUES / "alpha-avro-poison-0"
KINDS = ("avro", "json", "protobuf", "auto")
#: One of many random schemas in so many.
SAMPLED = 25
PARTITIONS = sorted(path for path in VALUES.glob("alpha-*-0") if path.is_dir())
RANDOM = sorted(VALUES.glob("alpha-*-random-*"))[::SAMPLED]


def ensure_equal(spark: SparkSession, path: Path, **options: str) -> bool:
    """Compare both readers; return True if there are rows."""
    options = SCHEMAS | {"includeHeaders": "true"} | options
    python = both_readers.in_python(path, **options)
    both_readers.ensure_equal(python, both_readers.in_jvm(spark, path, **options), (path, options))
    return not isinstance(python, str) and len(python) > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_decoded_values_are_those_of_the_python_reader(spark: SparkSession, kind: str, mode: str):
    own = [path for path in PARTITIONS if kind in ("auto", path.name.split("-")[1].replace("proto", "protobuf"))]
    assert own
    read = [ensure_equal(spark, path, values=kind, mode=mode) for path in own[:: 3 if kind == "auto" else 1]]
    assert any(read)


@pytest.mark.slow
def test_random_schemas(spark: SparkSession):
    assert len(RANDOM) > 5
    for path in RANDOM:
        ensure_equal(spark, path, values="auto")


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE", "DROPMALFORMED"])
def test_keys_are_decoded_too(spark: SparkSession, mode: str):
    path = VALUES / "alpha-avro-keyed-0"
    assert ensure_equal(spark, path, values="avro", keyValues="avro", mode=mode)
    ensure_equal(spark, path, values="string", keyValues="avro", mode=mode, columns="offset,keyRecord,keySchemaId,valueRecord")
    ensure_equal(spark, path, values="avro", columns="offset,valueSchemaId,value", mode=mode)


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("cut", [{}, {"minPartitions": "3"}, {"batchSize": "2"}], ids=str)
def test_values_that_cannot_be_decoded(spark: SparkSession, mode: str, cut: dict[str, str]):
    if mode == "FAILFAST" and "minPartitions" in cut:
        cut = {}
    ensure_equal(spark, POISON, values="avro", mode=mode, **cut)
    ensure_equal(spark, POISON, values="avro", mode=mode, columns="valueRecord,value", **cut)


def test_a_query_decodes_what_its_rows_need(spark: SparkSession):
    """DROPMALFORMED leaves out records by their values, and texts are about values, whatever columns a query has."""
    options: dict[str, str] = SCHEMAS | {"values": "avro"}
    dropped = both_readers.in_python(POISON, **options, mode="DROPMALFORMED")
    assert not isinstance(dropped, str)
    assert both_readers.frame_of(spark, POISON, **options, mode="DROPMALFORMED").count() == len(dropped)
    whole = both_readers.in_python(POISON, **options, mode="PERMISSIVE")
    assert not isinstance(whole, str)
    assert len(whole) > len(dropped) > 0
    frame = both_readers.frame_of(spark, POISON, **options, mode="PERMISSIVE")
    assert frame.count() == len(whole)
    assert frame.select("_corrupt_record").toArrow().to_pylist() == whole.select(["_corrupt_record"]).to_pylist()
    # Nothing of the values is wanted, so that none is decoded.
    assert both_readers.frame_of(spark, POISON, **options).select("offset").count() == len(whole)


def test_fields_and_nested_values_in_expressions(spark: SparkSession):
    path, options = VALUES / "alpha-avro-alltypes-0", SCHEMAS | {"values": "avro"}
    frames = [spark.read.format("logsegment").options(**options, reader=reader).load(str(path)) for reader in ("python", "columnar")]
    assert frames[0].schema == frames[1].schema
    names = frames[0].schema["valueRecord"].dataType.fieldNames()
    chosen = [frame.orderBy("offset").select(*(f"valueRecord.`{name}`" for name in names)).collect() for frame in frames]
    assert list(map(str, chosen[0])) == list(map(str, chosen[1])) != []
    hashed = [frame.selectExpr("count(*)", "count(distinct to_json(valueRecord))").first() for frame in frames]
    assert hashed[0] == hashed[1]


def test_cached_frames_keep_nested_values(spark: SparkSession):
    frame = both_readers.frame_of(spark, VALUES / "alpha-avro-alltypes-0", **SCHEMAS, values="avro", batchSize="3")
    expected = repr(frame.select("valueRecord").toArrow().to_pylist())
    cached = frame.select("valueRecord").cache()
    try:
        assert cached.count() > 3
        assert repr(cached.toArrow().to_pylist()) == expected
    finally:
        cached.unpersist()


@pytest.mark.parametrize("topic", ["alpha-avro-alltypes-0", "alpha-json-refs-0", "alpha-proto-refs-0"])
def test_an_arrow_function_gets_nested_values(spark: SparkSession, topic: str):
    from pyspark.sql.functions import arrow_udf

    @arrow_udf("string")
    def text(values: pa.Array) -> pa.Array:
        return pa.array([str(value) for value in values.to_pylist()], pa.string())

    def texts(reader: str) -> list[Any]:
        frame: DataFrame = (
            spark.read.format("logsegment").options(**SCHEMAS, values="auto", batchSize="3", reader=reader).load(str(VALUES / topic))
        )
        return [row[0] for row in frame.select(text("valueRecord")).collect()]

    assert texts("python") == texts("columnar") != []


def test_the_schemas_are_in_the_plan_once():
    """Tasks of a stage share them."""
    source = LogSegmentSource({"path": str(VALUES / "alpha-avro-refs-0"), "values": "avro", "minPartitions": "3", **SCHEMAS})
    source.request = PlanRequest("0")
    reader = source.reader(source.schema()).reader  # type: ignore[attr-defined]
    assert isinstance(reader, SegmentReader)
    assert b'"record"' in query_bytes(reader).replace(b" ", b"")
