"""`decode_batches` and the user-defined functions over a column of raw batches, in a real Spark."""

from __future__ import annotations

import doctest
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import building
import corpus
import logsegment as ls
import logsegment.spark
from corpus import BATCH_COLUMNS, Row, rows_of
from logsegment._decode import decoded as read_with
from logsegment._options import ReadOptions
from logsegment.spark import (
    batch_info_udf,
    convert_udf,
    decode_batches,
    decode_udf,
    encode_udf,
    map_in_arrow,
    record_schema,
    register,
    validate_udf,
)

pytestmark = pytest.mark.spark

#: By themselves the bytes of 0.7 are not known for what they are.
CASES = [case for case in corpus.cases() if case.format == "auto"]
OF_0_7 = [case for case in corpus.cases() if case.format == "0.7"]
#: What a raw batch by itself can tell: nothing of its place in a file.
TOLD = [column for column in corpus.RECORD_COLUMNS if column not in ("controlType", "entryPosition", "sequence")]
GOOD = (corpus.CORPUS / "modern-4.1.0/data/codec-lz4-0/00000000000000000000.log").read_bytes()
FIRST_BATCH = GOOD[: rows_of(ls.batches(GOOD))[0]["size"]]
BAD = GOOD[:70] + bytes([GOOD[70] ^ 1]) + GOOD[71:]


@pytest.fixture(scope="module")
def batches() -> list[tuple[int, bytes]]:
    """Every batch of the cases by itself, numbered."""
    return batches_of(CASES)


def batches_of(cases: list[corpus.Case]) -> list[tuple[int, bytes]]:
    found = []
    for number, case in enumerate(cases):
        data = case.read()
        for row in corpus.expected_batches(case):
            found.append((number * 100_000_000 + row["position"], data[row["position"] :][: row["size"]]))
    corpus.seen_all(found, sum(case.batches for case in cases))
    return found


@pytest.fixture(scope="module")
def raw(spark: SparkSession, batches: list[tuple[int, bytes]]) -> DataFrame:
    return frame_of(spark, batches)


@pytest.fixture(scope="module")
def mixed(spark: SparkSession) -> DataFrame:
    """Good, null, bad, empty, cut short, good."""
    return frame_of(spark, list(enumerate([GOOD, None, BAD, b"", GOOD[:9], GOOD])))


def frame_of(spark: SparkSession, values: list[tuple[int, bytes | None]]) -> DataFrame:
    table = pa.table({"id": pa.array([number for number, _ in values], pa.int64()), "batch": pa.array([v for _, v in values], pa.binary())})
    return spark.createDataFrame(table).coalesce(1)


def expected_records(cases: list[corpus.Case] = CASES) -> list[Row]:
    """The truth of all cases, each record with the number of its batch."""
    found = []
    for number, case in enumerate(cases):
        for row in corpus.expected_records(case, control=False):
            found.append({"id": number * 100_000_000 + row["entryPosition"], **{column: row[column] for column in TOLD}})
    return found


def rows(frame: DataFrame) -> list[Row]:
    found = rows_of(frame.toArrow())
    return [row | {"headers": row["headers"] or []} if "headers" in row else row for row in found]


def test_decode_batches_gives_the_expected_records_next_to_kept_columns(raw: DataFrame):
    decode = decode_batches(column="batch", keep=["id"], columns=TOLD)
    frame = raw.mapInArrow(decode, decode.schema(raw.schema))
    assert frame.columns == ["id", *TOLD]
    assert rows(frame) == expected_records()


def test_decode_udf_gives_the_records_of_the_truth(raw: DataFrame):
    lists = raw.select("id", decode_udf(columns=TOLD)("batch").alias("records"))
    assert rows(lists.selectExpr("id", "inline(records)")) == expected_records()


def test_entries_of_0_7_are_decoded_when_they_are_named(spark: SparkSession):
    """MAP-1. A value knows nothing of its place in a log, so its offsets count from its own start (L7-22)."""
    frame = frame_of(spark, batches_of(OF_0_7))
    lists = frame.select("id", decode_udf(columns=TOLD, format="0.7")("batch").alias("records"))
    found = rows(lists.selectExpr("id", "inline(records)"))
    places = ("offset", "batchBaseOffset")
    for row, expected in zip(found, expected_records(OF_0_7), strict=True):
        assert row["offset"] - row["batchBaseOffset"] == expected["offset"] - expected["batchBaseOffset"]
        assert {name: row[name] for name in row if name not in places} == {name: expected[name] for name in row if name not in places}
    info = frame.select(batch_info_udf(format="0.7")("batch").alias("info")).select("info.size", "info.crc", "info.compression")
    assert rows_of(info.toArrow()) == [
        {name: row[name] for name in ("size", "crc", "compression")} for case in OF_0_7 for row in corpus.expected_batches(case)
    ]


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_batch_info_gives_the_headers_of_the_truth(raw: DataFrame, kind: Any):
    expected = [row | {"position": 0} for case in CASES for row in corpus.expected_batches(case)]
    frame = raw.select(batch_info_udf(kind=kind)("batch").alias("info")).select("info.*")
    assert frame.columns == BATCH_COLUMNS
    assert rows_of(frame.toArrow()) == expected


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_validate_reports_the_invalid_values(mixed: DataFrame, kind: Any):
    frame = mixed.select("id", validate_udf(kind=kind)("batch").alias("report"))
    reports = [row["report"] for row in frame.orderBy("id").collect()]
    assert reports.pop(1) is None
    assert [report["ok"] for report in reports] == [True, False, True, True, True]
    assert [(found["rule"], found["severity"]) for found in reports[1]["findings"]] == [("V2-31", "error")]
    assert (reports[1]["errors"], reports[0]["findings"]) == (1, [])
    assert [found["severity"] for found in reports[3]["findings"]] == ["info"], "a torn tail"


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_null_gives_null_and_one_bad_value_does_not_fail_the_query(mixed: DataFrame, kind: Any):
    found = mixed.select("id", batch_info_udf(kind=kind)("batch").alias("info")).orderBy("id").collect()
    assert [row["info"] is None for row in found] == [False, True, False, True, True, False]
    assert [row["info"]["isValid"] for row in found if row["info"]] == [True, False, True]


def test_decode_udf_gives_null_for_null_and_for_bad_values(mixed: DataFrame):
    counted = mixed.select("id", F.size(decode_udf(columns=["offset"])("batch")).alias("records"))
    assert [row["records"] for row in counted.orderBy("id").collect()] == [240, None, None, 0, 0, 240]
    rest = mixed.select("id", F.size(decode_udf(columns=["offset"], on_error="skip")("batch")).alias("records"))
    assert [row["records"] for row in rest.orderBy("id").collect()] == [240, None, 239, 0, 0, 240]


@pytest.mark.parametrize(("on_error", "counts"), [("null", {0: 240, 5: 240}), ("skip", {0: 240, 2: 239, 5: 240})])
def test_decode_batches_goes_on_past_bad_values(mixed: DataFrame, on_error: Any, counts: dict[int, int]):
    decode = decode_batches(keep=["id"], columns=["offset"], on_error=on_error)
    found = mixed.mapInArrow(decode, decode.schema(mixed.schema)).groupBy("id").count().collect()
    assert {row["id"]: row["count"] for row in found} == counts


def test_a_bad_value_fails_the_query_when_asked(mixed: DataFrame):
    decode = decode_batches(on_error="raise")
    with pytest.raises(PythonException, match=r"logsegment.ChecksumError: column batch: \[V2-31\] in row 2, at byte 0, base offset 0"):
        mixed.mapInArrow(decode, decode.schema(mixed.schema)).collect()
    with pytest.raises(PythonException, match=r"logsegment.ChecksumError: kafka_decode: \[V2-31\] in row 2, at byte 0"):
        mixed.select(decode_udf(on_error="raise")("batch")).collect()
    with pytest.raises(PythonException, match=r"logsegment.TruncatedError: kafka_batch_info: "):
        mixed.select(batch_info_udf(on_error="raise")("batch")).collect()
    with pytest.raises(PythonException, match=r"logsegment.TruncatedError: kafka_batch_info: "):
        mixed.select(batch_info_udf(kind="pandas", on_error="raise")("batch")["count"]).collect()
    with pytest.raises(PythonException, match=r"logsegment.ChecksumError: kafka_convert: .*row 2"):
        mixed.select(convert_udf(compression="gzip", on_error="raise")("batch")).collect()


def test_an_array_that_kafka_refuses_gives_null_unless_asked(spark: SparkSession):
    """NULL for an array whose offsets do not increase, beside good ones."""
    lists = [[(0, b"a"), (1, b"b")], [(1, b"a"), (0, b"b")], None, [(5, b"c")]]
    schema = "id int, records array<struct<offset:bigint,value:binary>>"
    frame = spark.createDataFrame(list(enumerate(lists)), schema).coalesce(1)
    packed = {row["id"]: row["batch"] for row in frame.select("id", encode_udf()("records").alias("batch")).collect()}
    good = {0: [(0, b"a"), (1, b"b")], 3: [(5, b"c")]}
    assert {number for number, batch in packed.items() if batch is None} == {1, 2}
    for number, expected in good.items():
        found = rows_of(ls.decode(bytes(packed[number]), columns=["offset", "value"]))
        assert [(row["offset"], row["value"]) for row in found] == expected
    with pytest.raises(PythonException, match=r"ValueError: .*row 1"):
        frame.select(encode_udf(on_error="raise")("records")).collect()


def test_codec_options_reach_every_function_of_the_family(spark: SparkSession):
    """LZ4 frames with the header checksum of Kafka 0.8 in messages of magic 1: brokers refuse them, an option reads them (KIP-57)."""
    good = ls.encode(pa.table({"value": [b"v" * 500] * 20}), format="v1", compression="lz4")
    bad = ls.break_lz4(good)
    assert bad != good
    frame = frame_of(spark, [(0, bad)])
    option = {"quirks": {"lz4-header-checksum"}}
    found = frame.select(
        F.size(decode_udf()("batch")).alias("plain"),
        F.size(decode_udf(**option)("batch")).alias("told"),
        validate_udf()("batch")["ok"].alias("plain_ok"),
        validate_udf(**option)("batch")["ok"].alias("told_ok"),
        validate_udf(kind="pandas", **option)("batch")["ok"].alias("pandas_ok"),
        convert_udf()("batch").alias("plain_v2"),
        convert_udf(**option)("batch").alias("told_v2"),
    ).first()
    assert (found["plain"], found["told"]) == (None, 20)
    assert (found["plain_ok"], found["told_ok"], found["pandas_ok"]) == (False, True, True)
    assert found["plain_v2"] is None
    assert ls.decode(bytes(found["told_v2"]), columns=["value"]).to_pyarrow().num_rows == 20
    assert decoded([bad], **option)
    assert not decoded([bad])


def test_registered_functions_take_options(spark: SparkSession):
    register(spark, encode={"compression": "zstd"}, decode={"columns": ["value"]}, validate={"depth": "headers"})
    row = spark.sql("select kafka_encode(array(named_struct('value', cast('v' as binary)))) as batch").first()
    assert rows_of(ls.batches(bytes(row["batch"])))[0]["compression"] == "zstd"
    assert spark.sql("select kafka_decode(kafka_encode(array(named_struct('value', 'v')))) as r").schema[
        "r"
    ].dataType.elementType.names == ["value"]
    with pytest.raises(TypeError, match="colour"):
        register(spark, convert={"colour": "blue"})
    register(spark)


def test_default_columns_are_those_of_kafkas_source_without_the_kept_ones(spark: SparkSession):
    table = pa.table({"topic": ["orders"], "batch": pa.array([GOOD], pa.binary())})
    frame = spark.createDataFrame(table)
    decode = decode_batches(keep=["topic"])
    found = frame.mapInArrow(decode, decode.schema(frame.schema))
    assert found.columns == ["topic", "key", "value", "partition", "offset", "timestamp", "timestampType", "headers"]
    assert [row["topic"] for row in found.select("topic").distinct().collect()] == ["orders"]
    assert found.where("headers is null").count() > 0
    assert found.where("size(headers) = 0").count() == 0


def test_one_call_registers_the_sql_functions(spark: SparkSession, mixed: DataFrame):
    register(spark)
    mixed.createOrReplaceTempView("mixed")
    query = (
        "select kafka_batch_info(batch).count as n, kafka_validate(batch).ok as ok, size(kafka_decode(batch)) as m from mixed order by id"
    )
    found = [tuple(row) for row in spark.sql(query).collect()]
    assert [row[1:] for row in found] == [(True, 240), (None, None), (False, None), (True, 0), (True, 0), (True, 240)]
    assert found[1][0] is None
    assert found[0][0] == found[2][0] == rows_of(ls.batches(GOOD))[0]["count"]
    assert schema_columns(spark.sql("select inline(kafka_decode(batch)) from mixed")) == record_schema().fieldNames()
    with pytest.raises(PythonException, match=r"kafka_convert takes one column; pass its options to .*register\(spark, convert="):
        spark.sql("select kafka_convert(batch, 'v1') from mixed").collect()


def test_null_gives_null_in_every_sql_function(spark: SparkSession):
    register(spark)
    calls = [f"kafka_{name}(cast(null as binary)) is null" for name in ("decode", "convert", "batch_info", "validate")]
    calls.append("kafka_encode(cast(null as array<struct<value:binary>>)) is null")
    assert tuple(spark.sql(f"select {', '.join(calls)} from range(3)").distinct().collect()[0]) == (True,) * 5


def test_a_null_without_a_type_gives_null_in_every_sql_function(spark: SparkSession):
    register(spark)
    calls = [f"kafka_{name}(null) is null" for name in ("decode", "convert", "batch_info", "validate", "encode")]
    assert tuple(spark.sql(f"select {', '.join(calls)} from range(2)").distinct().collect()[0]) == (True,) * 5


def test_a_null_among_records_is_no_record(spark: SparkSession):
    register(spark)
    row = spark.sql("select kafka_encode(array(named_struct('value', 'v'), null)) as some, kafka_encode(array(null)) as only").first()
    assert row is not None
    assert (row["some"], row["only"]) == (None, None)
    lists = pa.array([[{"value": b"v"}, None], [{"value": b"v"}]])
    made = pa.array(ls.encode_array(lists, on_error="null"))
    assert [item is None for item in made.to_pylist()] == [True, False]
    with pytest.raises(ValueError, match="a record is null"):
        ls.encode_array(lists)
    assert pa.array(ls.encode_array(pa.nulls(2))).to_pylist() == [None, None]
    assert pa.array(ls.decode_array(pa.nulls(2))).to_pylist() == [None, None]


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
@pytest.mark.parametrize("base_offset", [9007199254740993, 2**63 - 10])
def test_integers_of_findings_keep_their_digits(spark: SparkSession, kind: Any, base_offset: int):
    """Some findings have no base offset, and NumPy would make floats of all."""
    bad = building.batch(building.records([b"v"]), count=1, base_offset=base_offset, attributes=0x4000)
    frame = spark.createDataFrame([(0, bad), (1, bad + bad[:30])], "id int, batch binary").coalesce(1)
    reports = [row["report"] for row in frame.orderBy("id").select(validate_udf(kind=kind)("batch").alias("report")).collect()]
    assert [found["baseOffset"] for found in reports[0]["findings"]] == [base_offset]
    assert [found["baseOffset"] for found in reports[1]["findings"]] == [base_offset, None]


@pytest.fixture
def large_types(spark: SparkSession) -> Iterator[None]:
    """Spark hands columns over as large_binary and large_string."""
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    yield
    spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


@pytest.mark.usefixtures("large_types")
def test_every_function_takes_large_arrow_types(spark: SparkSession, mixed: DataFrame):
    lists = mixed.select("id", "batch", decode_udf(columns=["offset", "key", "value", "headers"])("batch").alias("records"))
    found = lists.select(
        F.size("records").alias("records"),
        (encode_udf()("records") == F.lit(ls.encode(ls.decode(GOOD, columns=["offset", "key", "value", "headers"])))).alias("encoded"),
        (convert_udf()("batch") == F.lit(GOOD)).alias("converted"),
        batch_info_udf()("batch")["isValid"].alias("info"),
        batch_info_udf(kind="pandas")("batch")["isValid"].alias("pandas_info"),
        validate_udf()("batch")["ok"].alias("ok"),
        validate_udf(kind="pandas")("batch")["ok"].alias("pandas_ok"),
        "id",
    )
    rows = [tuple(row)[:-1] for row in found.orderBy("id").collect()]
    assert rows[0] == rows[5] == (240, True, True, True, True, True, True)
    assert rows[1] == (None,) * 7
    assert rows[2] == (None, None, False, False, False, False, False)
    decode = decode_batches(keep=["id"], columns=["offset", "topic"], topic="orders")
    assert mixed.mapInArrow(decode, decode.schema(mixed.schema)).where("topic = 'orders'").count() == 480


@pytest.fixture
def new_york(spark: SparkSession) -> Iterator[None]:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.usefixtures("new_york")
def test_the_time_zone_of_the_session_moves_no_time(spark: SparkSession, mixed: DataFrame):
    decode = decode_batches(columns=["timestamp", "timestampMs"])
    told = rows_of(ls.decode(GOOD, columns=["timestampMs"]))
    lists = mixed.where("id = 0").select(decode_udf(columns=["offset", "timestamp", "timestampMs"])("batch").alias("records"))
    times_alone = lists.selectExpr("transform(records, r -> struct(r.timestamp, cast(null as binary) as value)) as records")
    packed = times_alone.select(encode_udf()("records").alias("batch"))
    ways = [mixed.where("id = 0").mapInArrow(decode, decode.schema(mixed.schema)), lists.selectExpr("inline(records)")]
    ways.append(packed.select(decode_udf(columns=["timestamp", "timestampMs"])("batch").alias("records")).selectExpr("inline(records)"))
    for frame in ways:
        found = frame.selectExpr("unix_micros(timestamp) as micros", "timestampMs").collect()
        assert [row["timestampMs"] for row in found] == [row["timestampMs"] for row in told]
        assert [row["micros"] for row in found] == [row["timestampMs"] * 1000 for row in told]


def schema_columns(frame: DataFrame) -> list[str]:
    return frame.columns


def test_encode_udf_writes_what_decode_udf_reads(spark: SparkSession, mixed: DataFrame):
    """The records of Kafka's own batches, through Spark's arrays and back; null for null."""
    lists = mixed.select("id", decode_udf(columns=["offset", "timestamp", "key", "value", "headers"])("batch").alias("records"))
    packed = lists.select("id", encode_udf(compression="lz4", batch_bytes=1 << 20)("records").alias("batch"))
    found = {row["id"]: row["batch"] for row in packed.collect()}
    columns = ["offset", "timestamp", "key", "value", "headers"]
    expected = ls.encode(ls.decode(GOOD, columns=columns), compression="lz4", batch_bytes=1 << 20)
    assert found == {0: expected, 1: None, 2: None, 3: b"", 4: b"", 5: expected}
    assert rows_of(ls.decode(bytes(found[0]), columns=columns)) == rows_of(ls.decode(GOOD, columns=columns))
    register(spark)
    lists.createOrReplaceTempView("lists")
    plain = spark.sql("select kafka_encode(records) as batch from lists where id = 0").first()["batch"]
    assert plain == ls.encode(ls.decode(GOOD, columns=columns))


def test_convert_udf_converts_every_value_by_itself(spark: SparkSession, mixed: DataFrame):
    """Another codec, null for what is bad; a zstd batch on the way down is bad unless another codec is named."""
    converted = mixed.select("id", convert_udf(compression="gzip")("batch").alias("batch"))
    found = {row["id"]: row["batch"] for row in converted.collect()}
    assert found[0] == found[5] == ls.convert(GOOD, compression="gzip").data
    assert found[1] is None
    assert found[2] is None
    assert found[3] == b""
    register(spark)
    mixed.createOrReplaceTempView("raw_batches")
    same = spark.sql("select kafka_convert(batch) as batch from raw_batches where id in (0, 2) order by id").collect()
    assert [row["batch"] for row in same] == [GOOD, BAD], "what is wanted already is copied and not looked into"
    with pytest.raises(PythonException, match=r"CNV-7.* row 0: .*would lose"):
        mixed.where("id = 0").select(convert_udf(to="v0", compression="gzip", on_error="raise")("batch")).collect()
    with pytest.raises(ls.UnknownCompressionError):
        convert_udf(compression="brotli")
    for to, compression in (("v1", "zstd"), ("0.7", "zstd")):
        with pytest.raises(ValueError, match=r"V2-60|L7-5"):
            convert_udf(to=to, compression=compression)


def test_what_kafka_refuses_fails_at_once_or_in_the_query(spark: SparkSession):
    with pytest.raises(ValueError, match="ZStandard compression is not supported for magic 1"):
        encode_udf(format="v1", compression="zstd")
    frame = spark.sql("select array(named_struct('value', cast('v' as binary), 'timestampMs', bigint(-2))) as records")
    with pytest.raises(PythonException, match=r"V2-17.* row 0, .*Invalid negative timestamp -2"):
        frame.select(encode_udf(on_error="raise")("records")).collect()


def test_a_column_of_another_type_is_rejected_with_the_name_of_the_function(mixed: DataFrame):
    text = mixed.selectExpr("id", "cast(id as string) as text")
    of_kinds = [make(kind=kind) for make in (batch_info_udf, validate_udf) for kind in ("arrow", "pandas")]
    for function in (decode_udf(), convert_udf(), *of_kinds):
        with pytest.raises(PythonException, match=r"ValueError: kafka_\w+: .*column of type binary, .*not \w*Utf8"):
            text.select(function("text").alias("found")).collect()
    with pytest.raises(PythonException, match=r"ValueError: kafka_encode: .*not Utf8"):
        text.select(encode_udf()("text")).collect()


def test_mistakes_are_found_before_the_query_runs(raw: DataFrame):
    with pytest.raises(ValueError, match="kept and decoded: offset"):
        decode_batches(keep=["offset"], columns=["offset"])
    with pytest.raises(ValueError, match='unknown record column "colour"'):
        decode_batches(columns=["colour"])
    with pytest.raises(TypeError, match="check_crcs"):
        decode_batches(check_crcs=False)
    with pytest.raises(TypeError, match="not one string"):
        decode_batches(keep="id")
    with pytest.raises(ValueError, match="on_error must be"):
        decode_udf(on_error="ignore")
    with pytest.raises(ValueError, match="kind must be"):
        batch_info_udf(kind="polars")
    with pytest.raises(KeyError, match="colour"):
        decode_batches(keep=["colour"]).schema(raw.schema)


def decoded(values: list[bytes | None], **options: Any) -> list[Row]:
    """Rows of `decode_batches` without Spark."""
    batch = pa.record_batch({"id": pa.array(range(len(values)), pa.int32()), "batch": pa.array(values, pa.binary())})
    decode = decode_batches(keep=["id"], **options)
    made = list(decode(iter([batch])))
    assert all(0 < item.num_rows <= map_in_arrow.ROWS for item in made)
    return [row for item in made for row in rows_of(pa.Table.from_batches([item]))]


@pytest.fixture(params=["large values are streamed", "groups of one", "short batches", "more than a column holds"])
def another_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way that values may take, with limits lowered so that small ones take it."""
    if request.param == "large values are streamed":
        monkeypatch.setattr(map_in_arrow, "LARGE_BYTES", 1000)
    if request.param == "short batches":
        monkeypatch.setattr(map_in_arrow, "ROWS", 7)
    if request.param == "more than a column holds":
        monkeypatch.setattr(map_in_arrow, "explode_array", refuse_full_columns)
    else:
        monkeypatch.setattr(map_in_arrow, "GROUP_BYTES", 1000)


def refuse_full_columns(array: pa.Array, options: ReadOptions) -> Any:
    if len(array):
        raise ls.LimitError("2^31-1 bytes or rows of one array")


def read(data: bytes, **options: Any) -> ls.RecordStream:
    return read_with(data, ReadOptions(**options))


@pytest.mark.usefixtures("another_way")
@pytest.mark.parametrize("on_error", ["null", "skip"])
def test_every_way_gives_the_same_rows(on_error: Any):
    values = [b"", GOOD, None, BAD, GOOD[:100], GOOD]
    whole = rows_of(read(GOOD, null_headers=True))
    rest = rows_of(read(BAD, null_headers=True, on_error="skip")) if on_error == "skip" else []
    expected = [{"id": number} | row for number, found in [(1, whole), (3, rest), (5, whole)] for row in found]
    assert decoded(values, on_error=on_error) == expected


@pytest.mark.usefixtures("another_way")
def test_every_way_raises_the_same_error():
    with pytest.raises(ls.ChecksumError, match=r"^column batch.* row 3.* at byte 0"):
        decoded([GOOD, None, GOOD, BAD], on_error="raise")


def test_a_giant_input_becomes_batches_that_fit_the_cache():
    """Spark hands over 10,000 values at a time."""
    batch = pa.record_batch({"batch": pa.array([GOOD] * 500, pa.binary())})
    sizes = [item.num_rows for item in decode_batches(columns=["offset", "value"])(iter([batch]))]
    assert sum(sizes) == 500 * 240
    assert max(sizes) * len(GOOD) / 240 <= map_in_arrow.GROUP_BYTES


@pytest.mark.parametrize("name", [None, *logsegment.spark.__all__])
def test_docstrings_are_complete_and_their_examples_run(
    spark: SparkSession, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0", tmp_path / "orders-0")
    for partition in ("_schemas-0", "alpha-avro-refs-0"):
        (tmp_path / partition).symlink_to(corpus.TESTS / "values" / partition)
    (tmp_path / "__consumer_offsets-1").symlink_to(corpus.CORPUS / "modern-4.1.0/data/__consumer_offsets-1")
    monkeypatch.chdir(tmp_path)
    text = (getattr(logsegment.spark, name) if name else logsegment.spark).__doc__
    if name in ("decode_batches", "decode_udf", "encode_udf", "convert_udf", "batch_info_udf", "validate_udf", "record_schema"):
        assert [part for part in ("Args:", "Returns:", "Raises:", "Example:") if part not in text] == []
    names = {"spark": spark, "raw": frame_of(spark, [(1, FIRST_BATCH)]), "directory": str(corpus.CORPUS / "modern-4.1.0/data/codec-lz4-0")}
    test = doctest.DocTestParser().get_doctest(text, names, name or "logsegment.spark", None, 0)
    report: list[str] = []
    run = [example for example in test.examples if not example.options.get(doctest.SKIP)]
    assert doctest.DocTestRunner().run(test, out=report.append)[:2] == (0, len(run)), "".join(report)
    assert test.examples or name == "BatchDecoder"
