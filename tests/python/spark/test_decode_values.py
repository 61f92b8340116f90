"""`decode_values`: structs of the keys and values of Spark's Kafka source, by the ids in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import logsegment as ls
from logsegment._arrays import decode_values_array
from logsegment._options import ReadOptions
from logsegment._typed_values import planned
from logsegment.spark import decode_values
from values_corpus import VALUES, registry, truth_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REFS = "alpha-avro-refs"
POISON = "alpha-avro-poison"


def raw(spark: SparkSession, topic: str) -> DataFrame:
    """The columns of Spark's Kafka source."""
    return spark.read.format("logsegment").option("includeHeaders", "true").load(str(VALUES / f"{topic}-0"))


@pytest.mark.parametrize("topic", [REFS, "alpha-avro-alltypes", "alpha-avro-incompatible"])
def test_the_structs_are_those_of_the_source(spark: SparkSession, topic: str):
    ours = raw(spark, topic).select("offset", decode_values(registry(), topic=topic)("value", "headers").alias("valueRecord"))
    options = {"values": "avro", "schemas.path": str(VALUES / "_schemas-0"), "columns": "offset,valueRecord"}
    source = spark.read.format("logsegment").options(**options).load(str(VALUES / f"{topic}-0"))
    assert ours.schema == source.schema
    assert list(map(str, ours.orderBy("offset").collect())) == list(map(str, source.orderBy("offset").collect())) != []


@pytest.mark.parametrize(("topic", "values"), [("alpha-json-refs", "json"), ("alpha-proto-refs", "protobuf")])
def test_json_and_protobuf(spark: SparkSession, topic: str, values: Any):
    schemas = registry()
    reader = schemas.versions_of(f"{topic}-value")[-1][1] if values == "protobuf" else None
    function = decode_values(schemas, topic=topic, values=values, reader_schema=reader)
    ours = raw(spark, topic).orderBy("offset").select(function("value", "headers").alias("valueRecord"))
    options = {"values": values, "schemas.path": str(VALUES / "_schemas-0"), "columns": "offset,valueRecord"}
    source = spark.read.format("logsegment").options(**options).load(str(VALUES / f"{topic}-0")).orderBy("offset")
    assert ours.schema["valueRecord"] == source.schema["valueRecord"]
    assert ours.toArrow()["valueRecord"].equals(source.toArrow()["valueRecord"])


def test_protobuf_needs_the_schema_of_the_reader():
    with pytest.raises(ValueError, match=r"not known: pass reader_schema=$"):
        decode_values(registry(), topic="alpha-proto-refs", values="protobuf")


def test_keys_and_named_fields(spark: SparkSession):
    keys = decode_values(registry(), topic="alpha-avro-keyed", part="key", fields=["id"])
    rows = raw(spark, "alpha-avro-keyed").orderBy("offset").select(keys("key").alias("key")).collect()
    truth = [line["key"]["decoded"]["id"] for line in truth_of("alpha-avro-keyed-0")]
    assert [row["key"].asDict() for row in rows] == [{"id": item} for item in truth]


def test_a_bad_value_is_null_or_fails_the_query(spark: SparkSession):
    rows = raw(spark, POISON).select("offset", decode_values(registry(), topic=POISON)("value").alias("one"))
    stream = ls.Log(VALUES / f"{POISON}-0").records(values="avro", schemas=registry(), on_error="skip", columns=["offset", "valueRecord"])
    nulls = stream.to_pyarrow()
    refused = [offset for offset, item in zip(nulls["offset"].to_pylist(), nulls["valueRecord"].is_null().to_pylist(), strict=True) if item]
    assert sorted(row["offset"] for row in rows.where("one is null").collect()) == refused != []
    raising = raw(spark, POISON).select(decode_values(registry(), topic=POISON, on_error="raise")("value"))
    with pytest.raises(Exception, match=r"(?s)decode_values: \[SCH-[1-5]\] in row \d+"):
        raising.collect()


def test_headers_name_schemas():
    long = ls.schemas.Schema("AVRO", '"long"', 7, guid="00010203-0405-0607-0809-0a0b0c0d0e0f")
    known = planned(ReadOptions(values="avro", schemas=ls.schemas.SchemaSet((long,))), [(None, b"")])
    kind = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))
    headers = pa.array([[{"key": b"__value_schema_id", "value": bytes([1, *range(16)])}], None], kind)
    values = pa.array([b"\x0e", b"\0\0\0\0\7\x10"])
    assert known.value_schemas is not None
    assert pa.array(decode_values_array(values, headers, schemas=known.value_schemas)).to_pylist() == [7, 8]
    with pytest.raises(ValueError, match="headers: 1 rows, but the values have 2"):
        decode_values_array(values, headers.slice(1), schemas=known.value_schemas)
    with pytest.raises(ValueError, match="headers: a column of list"):
        decode_values_array(values, pa.array([1, 2]), schemas=known.value_schemas)
    with pytest.raises(ls.InvalidError, match=r"\[SCH-2\] in row 1") as error:
        decode_values_array(pa.array([None, b"\0\0\0\0\x09\x10"]), schemas=known.value_schemas, on_error="raise")
    assert error.value.row == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "the schemas of the values are not known"),
        ({"topic": "nowhere"}, "the schemas of the values are not known"),
        ({"topic": REFS, "part": "both"}, "part must be"),
        ({"topic": REFS, "on_error": "skip"}, "on_error must be"),
        ({"topic": REFS, "values": "raw"}, "a kind with schemas"),
        ({"topic": REFS, "fields": ["nope"]}, "no field nope"),
        ({"topic": REFS, "part": "key", "reader_schema": '"long"'}, "reader_schema is the schema of values"),
    ],
)
def test_mistakes_are_found_when_the_function_is_made(options: dict[str, Any], problem: str):
    with pytest.raises(ValueError, match=problem):
        decode_values(registry(), **options)
