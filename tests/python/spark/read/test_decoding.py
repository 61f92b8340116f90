"""Decoded keys and values in Spark: batch queries, streams and SQL equal what the core decodes and what the truth says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import logsegment as ls
from logsegment.spark.arrow_types import as_spark_array
from logsegment.spark.source import LogSegmentSource
from values_corpus import VALUES, registry, truth_of
from values_truth import fits, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMAS = VALUES / "_schemas-0"
POISON = "alpha-avro-poison-0"


def frame(spark: SparkSession, partition: str, **options: Any) -> DataFrame:
    given = {"values": "avro", "schemas.path": str(SCHEMAS)} | options
    return spark.read.format("logsegment").options(**given).load(str(VALUES / partition))


def decoded(partition: str, column: str = "valueRecord", **options: Any) -> pa.Array:
    """The column of the core, in the types of Spark."""
    stream = ls.Log(VALUES / partition).records(schemas=registry(), columns=[column], **({"values": "avro"} | options))
    return pa.concat_arrays([as_spark_array(chunk) for chunk in stream.to_pyarrow()[column].chunks])


def column(table: pa.Table, name: str = "valueRecord") -> list[Any]:
    return [row for chunk in table[name].chunks for row in rows_of(chunk)]


@pytest.mark.parametrize(
    ("partition", "values"),
    [
        ("alpha-avro-alltypes-0", "avro"),
        ("alpha-avro-extremes-0", "avro"),
        ("alpha-avro-refs-0", "avro"),
        ("alpha-avro-incompatible-0", "avro"),
        ("alpha-avro-keyed-0", "avro"),
        ("alpha-json-refs-0", "json"),
        ("alpha-proto-scalars-0", "protobuf"),
        ("alpha-proto-wkt-0", "protobuf"),
        ("alpha-proto-refs-0", "protobuf"),
        ("alpha-mixed-0", "auto"),
    ],
)
def test_a_query_has_the_columns_of_the_core(spark: SparkSession, partition: str, values: str):
    table = frame(spark, partition, values=values).orderBy("offset").toArrow()
    assert table.schema.names[-2:] == ["valueRecord", "valueSchemaId"]
    # Not a number is not equal to itself.
    assert repr(column(table)) == repr(rows_of(decoded(partition, values=values)))


def test_a_query_equals_the_truth(spark: SparkSession):
    table = frame(spark, "alpha-avro-refs-0").orderBy("offset").toArrow()
    lines = truth_of("alpha-avro-refs-0")
    kind = table.schema.field("valueRecord").type
    assert table["offset"].to_pylist() == [line["offset"] for line in lines]
    assert table["valueSchemaId"].to_pylist() == [line["value"]["id"] for line in lines]
    assert all(fits(row, line["value"]["decoded"], kind) for row, line in zip(column(table), lines, strict=True))


def test_sql_with_a_predicate_on_a_field(spark: SparkSession):
    frame(spark, "alpha-avro-refs-0").createOrReplaceTempView("orders_by_currency")
    found = spark.sql("SELECT offset FROM orders_by_currency WHERE valueRecord.cur = 'JPY' ORDER BY offset").collect()
    wanted = [line["offset"] for line in truth_of("alpha-avro-refs-0") if line["value"]["decoded"]["cur"] == "JPY"]
    assert [row["offset"] for row in found] == wanted != []
    statement = "CREATE OR REPLACE TEMPORARY VIEW typed USING logsegment OPTIONS (path '{}', values 'avro', `schemas.path` '{}')"
    spark.sql(statement.format(VALUES / "alpha-avro-refs-0", SCHEMAS))
    assert spark.sql("SELECT count(*) FROM typed WHERE valueRecord.cur = 'JPY'").first()[0] == len(wanted)


def test_keys_are_decoded_by_their_own_schemas(spark: SparkSession):
    table = frame(spark, "alpha-avro-keyed-0", values="raw", keyValues="avro").orderBy("offset").toArrow()
    assert table.schema.names[-2:] == ["keyRecord", "keySchemaId"]
    truth = [line["key"] for line in truth_of("alpha-avro-keyed-0")]
    assert [(row["keySchemaId"], row["keyRecord"]["id"]) for row in table.select(["keySchemaId", "keyRecord"]).to_pylist()] == [
        (cell["id"], cell["decoded"]["id"]) for cell in truth
    ]


def test_named_fields_are_columns_of_their_own(spark: SparkSession):
    rows = frame(spark, "alpha-avro-refs-0", columns="offset,valueRecord.cur")
    assert rows.columns == ["offset", "valueRecord.cur"]
    assert rows.where("`valueRecord.cur` = 'JPY'").count() > 10
    assert frame(spark, "alpha-avro-refs-0", columns="offset").count() == len(truth_of("alpha-avro-refs-0"))


def test_a_schema_of_the_user_is_checked(spark: SparkSession):
    given = {"values": "avro", "schemas.path": str(SCHEMAS)}
    reader = spark.read.format("logsegment").options(**given)
    path = str(VALUES / "alpha-avro-refs-0")
    assert reader.schema("offset long, `valueRecord.cur` string").load(path).where("`valueRecord.cur` = 'JPY'").count() > 10
    with pytest.raises(Exception, match=r"column valueRecord.cur is string, not int"):
        reader.schema("`valueRecord.cur` int").load(path).count()


def test_the_reader_schema_of_the_caller(spark: SparkSession, tmp_path: Path):
    money = {"type": "record", "name": "Money", "fields": [{"name": "units", "type": "long"}]}
    text = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "total", "type": ["null", money]}]})
    file = tmp_path / "order.avsc"
    file.write_text(text, encoding="utf-8")
    for given in (text, str(file)):
        rows = frame(spark, "alpha-avro-refs-0", readerSchema=given)
        assert rows.schema["valueRecord"].dataType.simpleString() == "struct<total:struct<units:bigint>>"
        assert rows.where("valueRecord.total.units > 0").count() > 10


def refused() -> dict[int, str]:
    stream = ls.Log(VALUES / POISON).records(values="avro", schemas=registry(), on_error="skip", columns=["offset", "valueRecord"])
    stream.read_all()
    return {finding.base_offset: finding.rule for finding in stream.findings if finding.base_offset is not None}


@pytest.mark.parametrize("columns", [None, "value,valueRecord"])
def test_a_poison_value_is_null_with_a_finding_under_permissive(spark: SparkSession, columns: str | None):
    options = {} if columns is None else {"columns": columns}
    # Not as Arrow: Spark's writer loses count of lists in structs that are null.
    rows = frame(spark, POISON, mode="PERMISSIVE", **options).collect()
    assert len(rows) == len(truth_of(POISON))
    bad = [row for row in rows if row["_corrupt_record"] is not None]
    found = [json.loads(row["_corrupt_record"]) for row in bad]
    assert {finding["baseOffset"]: finding["rule"] for finding in found} == refused() != {}
    assert all(row["valueRecord"] is None and row["value"] is not None for row in bad)


def test_dropmalformed_leaves_records_with_poison_values_out(spark: SparkSession):
    offsets = [row["offset"] for row in frame(spark, POISON, mode="DROPMALFORMED").orderBy("offset").collect()]
    assert offsets == [line["offset"] for line in truth_of(POISON) if line["offset"] not in refused()]


def test_failfast_raises_the_typed_error(spark: SparkSession):
    with pytest.raises(Exception, match=r"(?s)CorruptError.*\[SCH-3\].*mode to PERMISSIVE"):
        frame(spark, POISON).collect()


def test_json_needs_no_schemas(spark: SparkSession, tmp_path: Path):
    (tmp_path / "json-0").mkdir()
    table = pa.table({"value": pa.array([b'{"a":1}', b'{"a":2,"b":"x"}'])})
    ls.encode(table, out=str(tmp_path / "json-0" / f"{0:020}.log"))
    rows = spark.read.format("logsegment").option("values", "json").load(str(tmp_path / "json-0"))
    assert [row["a"] for row in rows.where("valueRecord.b = 'x'").select("valueRecord.a").collect()] == [2]


def test_tasks_do_not_carry_the_schemas():
    options = {"path": str(VALUES / "alpha-avro-refs-0"), "values": "avro", "schemas.path": str(SCHEMAS)}
    source = LogSegmentSource(options)
    reader = source.reader(source.schema())
    reads = [read for task in reader.partitions() for _, read in task.parts]  # type: ignore[attr-defined]
    assert reads != []
    assert all(read.value_schemas is None and read.schemas is None for read in reads)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"values": "avro"}, "needs the option schemas.path"),
        ({"values": "avr0"}, "option values must be"),
        ({"keyValues": "internal"}, "option keyValues must be"),
        ({"schemas.path": "x"}, "option schemas.path needs the option values or keyValues"),
        ({"values": "avro", "schemas.path": str(SCHEMAS), "schemas.framing": "x"}, "option schemas.framing must be"),
        ({"values": "avro", "schemas.path": "/no/such/path"}, "no/such/path"),
    ],
)
def test_mistakes_name_the_option(options: dict[str, str], problem: str):
    with pytest.raises((ValueError, OSError), match=problem):
        LogSegmentSource({"path": str(VALUES / "alpha-avro-refs-0"), **options}).schema()


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_a_stream_has_the_same_columns(spark: SparkSession, tmp_path: Path, mode: str):
    shutil.copytree(VALUES / "alpha-avro-refs-0", tmp_path / "log" / "alpha-avro-refs-0")
    options = {"values": "avro", "schemas.path": str(SCHEMAS), "startingOffsets": "earliest", "mode": mode}
    stream = spark.readStream.format("logsegment").options(**options).load(str(tmp_path / "log"))
    query = (
        stream.writeStream.format("parquet")
        .option("compression", "none")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("offset").toArrow()
    assert column(found) == rows_of(decoded("alpha-avro-refs-0"))


def test_times_that_microseconds_cannot_hold_are_null_and_nanoseconds_are_rounded_down():
    array = pa.array([2**63 - 1, 1, None]).view(pa.timestamp("ms", "UTC"))
    assert as_spark_array(array).view(pa.int64()).to_pylist() == [None, 1000, None]
    nanoseconds = pa.array([-1, 1999]).view(pa.timestamp("ns"))
    assert as_spark_array(nanoseconds).view(pa.int64()).to_pylist() == [-1, 1]


def test_items_of_lists_and_maps_are_converted():
    lists = pa.array([[1], None, [2, 3]], pa.list_(pa.timestamp("ms", "UTC")))
    assert as_spark_array(lists.slice(1)).to_pylist() == lists.slice(1).to_pylist()
    maps = pa.array([[("a", b"xy")], None], pa.map_(pa.string(), pa.binary(2)))
    assert as_spark_array(maps).to_pylist() == [[("a", b"xy")], None]
    structs = pa.array([{"at": 1}, None], pa.struct([("at", pa.time32("ms"))]))
    assert as_spark_array(structs.slice(0, 2)).to_pylist() == [{"at": 1}, None]
    assert as_spark_array(structs.slice(1)).to_pylist() == [None]
