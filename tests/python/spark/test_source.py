"""The data source in a real Spark: rows, types, options, errors."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import corpus
import logsegment as ls
import made_logs
from corpus import CONSUMED_COLUMNS, Case, Row, rows_of
from logsegment.spark import LogSegmentSource, record_schema

pytestmark = pytest.mark.spark

MODERN = corpus.CORPUS / "modern-4.1.0/data"
SEGMENT = MODERN / "codec-none-0/00000000000000000000.log"
KAFKA_COLUMNS = [
    ("key", "binary"),
    ("value", "binary"),
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("timestamp", "timestamp"),
    ("timestampType", "int"),
]
HEADERS = ("headers", "array<struct<key:string,value:binary>>")
#: All that a record row of the truth tells.
TOLD = [column for column in corpus.RECORD_COLUMNS if column != "controlType"]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A segment of which the second batch has a wrong checksum, after an intact one."""
    path = tmp_path_factory.mktemp("damaged") / "orders-5" / "00000000000000000000.log"
    path.parent.mkdir()
    data = bytearray(SEGMENT.read_bytes())
    data[second_batch() + 70] ^= 1
    path.write_bytes(data)
    return path


def second_batch() -> int:
    (case,) = [case for case in corpus.cases() if case.path == SEGMENT]
    return int(corpus.expected_batches(case)[1]["position"])


def load(spark: SparkSession, *paths: Path, columns: list[str] | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("logsegment").options(**options)
    if columns:
        reader = reader.schema(record_schema(columns))
    return reader.load(str(paths[0]) if len(paths) == 1 else [str(path) for path in paths])


def rows(frame: DataFrame) -> list[Row]:
    """Rows as the truth has them; Spark gives null for no headers."""
    found = rows_of(frame.toArrow())
    return [row | {"headers": row["headers"] or []} if "headers" in row else row for row in found]


def by_partition(found: list[Row]) -> dict[tuple[str, int], list[Row]]:
    """Rows of each topic and partition, without these columns."""

    def log(row: Row) -> tuple[str, int]:
        return row["topic"], row["partition"]

    plain = {name: list(group) for name, group in groupby(sorted(found, key=log), log)}
    return {name: [{k: row[k] for k in row if k not in ("topic", "partition")} for row in group] for name, group in plain.items()}


def as_tree(root: Path, cases: list[Case]) -> Path:
    """A tree with one partition for each case, so that one query reads all of them."""
    for index, case in enumerate(cases):
        directory = root / f"case-{index}"
        directory.mkdir()
        name = case.path.name if case.format == "0.7" else "00000000000000000000.log"
        (directory / name).symlink_to(case.path)
    return root


def test_every_case_of_the_corpus_is_read_as_its_truth(spark: SparkSession, tmp_path: Path):
    cases = corpus.cases()
    frame = load(spark, as_tree(tmp_path, cases), columns=["topic", "partition", *TOLD])
    assert frame.rdd.getNumPartitions() < len(cases), "of so many partitions small ones share tasks"
    found = by_partition(rows(frame))
    corpus.seen_all(cases, corpus.manifest()["counts"]["cases"])
    for index, case in enumerate(cases):
        expected = [{column: row[column] for column in TOLD} for row in corpus.expected_records(case, control=False)]
        assert found.pop(("case", index), []) == expected, case
    assert not found


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_partitions_are_read_as_kafkas_consumer_returned_them(spark: SparkSession, isolation: str):
    """TXN-1 to TXN-6, across the borders of segments."""
    wanted = [partition for partition in corpus.partitions() if isolation in partition.consumed]
    directories = [partition.directory for partition in wanted]
    frame = load(spark, *directories, columns=["topic", "partition", *CONSUMED_COLUMNS], isolation=isolation)
    found = by_partition(rows(frame))
    for partition in wanted:
        expected = corpus.expected_consumed(partition.consumed[isolation])
        assert found.pop((partition.topic, partition.partition)) == expected, partition
    assert not found
    corpus.seen_all(wanted, 5)


def test_a_tree_is_found_without_registering_and_has_the_schema_of_kafkas_source(spark: SparkSession):
    frame = load(spark, MODERN)
    assert schema_of(frame.schema) == KAFKA_COLUMNS
    assert all(field.nullable for field in frame.schema)
    segments = [case for case in corpus.cases() if case.set == "modern-4.1.0" and case.kind == "segment"]
    assert frame.count() == sum(len(corpus.expected_records(case, control=False)) for case in segments)
    topics = {row["topic"] for row in frame.select("topic").distinct().collect()}
    assert topics <= {case.partition[0] for case in segments}
    assert {"__consumer_offsets", "codec-zstd", "transactions-multi-segment"} <= topics


def test_headers_are_a_column_when_asked_for(spark: SparkSession):
    frame = load(spark, SEGMENT, includeHeaders="true")
    assert schema_of(frame.schema) == [*KAFKA_COLUMNS, HEADERS]
    element = frame.schema["headers"].dataType
    assert element.containsNull
    assert all(field.nullable for field in element.elementType)
    assert frame.where("size(headers) = 0").count() == 0, "no headers are null, not an empty array"
    assert frame.where("headers is null").count() > 0
    assert frame.where("size(headers) > 0").count() > 0


def test_timestamps_are_what_kafkas_source_gives(spark: SparkSession):
    """V2-16: -1 is a millisecond before the epoch; what does not fit is null."""
    frame = load(spark, MODERN / "edge-records-0", columns=["timestamp", "timestampMs"])
    found = frame.selectExpr("unix_micros(timestamp) as micros", "timestampMs").collect()
    assert len(found) > 50
    assert [row["micros"] for row in found] == [micros(row["timestampMs"]) for row in found]
    assert {-1000, None} <= {row["micros"] for row in found}


def micros(milliseconds: int) -> int | None:
    return milliseconds * 1000 if -(2**63) <= milliseconds * 1000 < 2**63 else None


def test_a_users_schema_is_a_projection_by_name(spark: SparkSession):
    frame = spark.read.format("logsegment").schema("offset bigint, value binary").load(str(SEGMENT))
    whole = rows_of(load(spark, SEGMENT).toArrow())
    assert rows_of(frame.toArrow()) == [{"offset": row["offset"], "value": row["value"]} for row in whole]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("offset bigint, colour string", 'unknown record column "colour"'),
        ("offset int", "column offset is bigint, not int"),
        ("timestamp timestamp_ntz", "column timestamp is timestamp, not timestamp_ntz"),
        ("offset bigint not null", "column offset is nullable"),
    ],
)
def test_a_schema_that_is_not_ours_is_refused(spark: SparkSession, schema: str, message: str):
    with pytest.raises(AnalysisException, match=message):
        spark.read.format("logsegment").schema(schema).load(str(SEGMENT)).count()


def test_topic_and_partition_of_a_bare_file_come_from_options(spark: SparkSession, tmp_path: Path):
    bare = tmp_path / "dump.bin"
    bare.symlink_to(SEGMENT)
    unnamed = load(spark, bare).select("topic", "partition").distinct().collect()
    assert [tuple(row) for row in unnamed] == [(None, None)]
    named = load(spark, bare, SEGMENT, topic="orders", partition="7").select("topic", "partition").distinct().collect()
    assert {tuple(row) for row in named} == {("orders", 7), ("codec-none", 0)}


def test_damage_is_one_message_with_file_position_and_rule(spark: SparkSession, damaged: Path):
    with pytest.raises(PythonException) as caught:
        load(spark, damaged).count()
    message = str(caught.value)
    begin = f"logsegment.ChecksumError: {damaged}: [V2-31] at byte {second_batch()}, base offset 1, field crc: checksum mismatch"
    assert begin in message
    assert len([line for line in message.splitlines() if "Error" in line]) == 1


def test_a_missing_path_fails_at_load(spark: SparkSession, tmp_path: Path):
    with pytest.raises(AnalysisException, match=rf"No such file or directory: '{tmp_path}/gone'"):
        load(spark, tmp_path / "gone")


def test_a_directory_without_segments_fails_when_planned(spark: SparkSession, tmp_path: Path):
    with pytest.raises(AnalysisException, match=rf"no log segments .*{tmp_path}"):
        load(spark, tmp_path).count()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"hello\n", "notes.bin: .*not a log segment: looks like text"),
        (b"PAR1" * 100, "notes.bin: .*not a log segment: looks like a Parquet file"),
        (b"\x01" + bytes(7) + b"\x7f" * 500, "notes.bin: not a log segment, or damaged at its start: .*COD-6"),
        (bytes(8) + (5000).to_bytes(4) + bytes(20), "notes.bin: not a log segment: it has no complete entry"),
    ],
)
def test_a_named_file_that_is_not_a_log_is_an_error(spark: SparkSession, tmp_path: Path, data: bytes, told: str):
    (tmp_path / "notes.bin").write_bytes(data)
    with pytest.raises(AnalysisException, match=told):
        load(spark, tmp_path / "notes.bin").count()
    for sound in (SEGMENT.read_bytes(), SEGMENT.read_bytes()[:-3], b"", bytes(4096)):
        (tmp_path / "notes.bin").write_bytes(sound)
        assert (load(spark, tmp_path / "notes.bin").count() > 0) == any(sound)


def test_a_dangling_link_is_an_error(spark: SparkSession, tmp_path: Path):
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / f"{0:020}.log").symlink_to(SEGMENT)
    (directory / f"{240:020}.log").symlink_to(tmp_path / "nowhere")
    with pytest.raises(AnalysisException, match=rf"{240:020}.log: skipped, .*; set failOnDataLoss to false"):
        load(spark, directory).count()
    assert load(spark, directory, failOnDataLoss="false").count() == 240


def test_a_table_of_the_catalog_is_refused_with_what_there_is_instead(spark: SparkSession, tmp_path: Path):
    told = r"Tables of Spark's catalog .* are not supported, temporary views are \(CREATE TEMPORARY VIEW"
    with pytest.raises(AnalysisException, match=told):
        spark.sql(f"create table logs using logsegment options (path '{SEGMENT}')")
    rows = spark.createDataFrame([("a",)], "value string").write.format("logsegment").option("topic", "t").mode("append")
    with pytest.raises(AnalysisException, match=told):
        rows.saveAsTable("pathless")
    # Spark tells nobody that a write to a path is for a table.
    rows.option("path", str(tmp_path)).saveAsTable("written")
    try:
        with pytest.raises(AnalysisException, match=told):
            spark.table("written").count()
    finally:
        spark.sql("drop table if exists written")


def test_an_unknown_option_fails_at_load(spark: SparkSession):
    with pytest.raises(AnalysisException, match=r"unknown option isolatoin \(did you mean isolation\?\)"):
        load(spark, SEGMENT, isolatoin="read_committed")


def test_a_segment_deleted_after_planning_is_named(spark: SparkSession, tmp_path: Path):
    going = tmp_path / "orders-0" / "00000000000000000000.log"
    going.parent.mkdir()
    going.write_bytes(SEGMENT.read_bytes())
    frame = load(spark, tmp_path)
    assert frame.rdd.getNumPartitions() == 1  # finds the segments; collect() runs this same plan
    going.unlink()
    with pytest.raises(PythonException, match=rf"FileNotFoundError: .*{going}"):
        frame.collect()


@pytest.fixture(scope="module")
def zeros(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A value of 50 MiB of one byte, which zstd packs 20,000 times smaller, between others."""
    path = tmp_path_factory.mktemp("zeros") / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    values = [b"before", bytes(50 << 20), b"behind"]
    rows = [pa.table({"value": [item], "timestampMs": [1000 + number]}) for number, item in enumerate(values)]
    path.write_bytes(b"".join(ls.encode(item, compression="zstd", base_offset=number) for number, item in enumerate(rows)))
    made_logs.index(path.parent)
    return path.parent


def test_limits_are_options_of_every_read(spark: SparkSession, zeros: Path):
    """COD-6: a limit is not damage, so that no mode skips it, and the error names the options that help."""
    low = {"limits.max_ratio": "10000"}
    for mode in ("FAILFAST", "PERMISSIVE", "DROPMALFORMED"):
        with pytest.raises(PythonException, match=r"LimitError: .* is over the limit max_ratio = 10000") as raised:
            load(spark, zeros, mode=mode, **low).count()
        assert "set the option limits.max_ratio to raise the limit, or the option unreadable to skip" in str(raised.value)
        assert "PERMISSIVE" not in str(raised.value)
        assert load(spark, zeros, mode=mode, unreadable="skip", **low).where("value is not null").count() == 2
    skipped = load(spark, zeros, mode="PERMISSIVE", unreadable="skip", **low).where("_corrupt_record is not null")
    assert [json.loads(row["_corrupt_record"])["rule"] for row in skipped.collect()] == ["COD-6"]
    for text in ("unlimited", "1000000", "40000"):
        assert load(spark, zeros, **{"limits.max_ratio": text}).selectExpr("sum(length(value))").first()[0] == (50 << 20) + 12
    refused = load(spark, zeros, view="findings", **low).where("rule = 'COD-6' and severity = 'error'")
    assert [row["message"].split(" limit ")[1].split()[0] for row in refused.collect()] == ["max_ratio"]
    assert load(spark, zeros, view="findings", **low, unreadable="skip").where("severity = 'error'").count() == 0
    assert load(spark, zeros, view="findings", **{"limits.max_ratio": "unlimited"}).where("rule = 'COD-6'").count() == 0
    assert load(spark, zeros, view="batches").count() == 3
    with pytest.raises(PythonException, match=r"LimitError: .* is over the limit max_batch_bytes = 80"):
        load(spark, zeros, view="batches", **{"limits.max_batch_bytes": "80"}).count()


def test_the_error_of_a_task_begins_with_what_is_wrong(spark: SparkSession, zeros: Path, tmp_path: Path):
    """And not with the traceback of a worker."""
    damaged = tmp_path / "orders-0" / f"{0:020}.log"
    damaged.parent.mkdir()
    content = bytearray(next(zeros.glob("*.log")).read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    for path, options, told in (
        (zeros, {"limits.max_ratio": "10000"}, "logsegment.LimitError: "),
        (damaged, {}, "logsegment.ChecksumError: "),
    ):
        with pytest.raises(PythonException) as raised:
            load(spark, path, reader="python", **options).count()
        text = str(raised.value)
        assert "Traceback" not in text
        assert next(line for line in text.splitlines() if line.startswith("logsegment.")).startswith(told)
    assert "set the option mode to PERMISSIVE or DROPMALFORMED to skip damage" in text


def test_limits_are_options_of_a_stream(spark: SparkSession, zeros: Path, tmp_path: Path):
    stream = spark.readStream.format("logsegment").option("startingOffsets", "earliest").option("limits.max_ratio", "unlimited")
    sizes: list[int] = []
    query = stream.load(str(zeros)).writeStream.foreachBatch(lambda rows, _: sizes.append(rows.count()))
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    assert sizes == [3]


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        ("limits.max_ratio", "many", "option limits.max_ratio must be a whole number or unlimited, not 'many'"),
        ("limits.max_ratio", "0", "option limits.max_ratio must be at least 1"),
        ("limits.max_records", "-1", "option limits.max_records must be a whole number or unlimited, not '-1'"),
        ("limits.max_batch_bytes", str(2**64), "option limits.max_batch_bytes must be a whole number or unlimited"),
        ("limits.max_value", "1", "unknown option limits.max_value"),
        ("max_ratio", "1", r"unknown option max_ratio \(did you mean limits.max_ratio\?\)"),
    ],
)
def test_an_invalid_limit_is_rejected(spark: SparkSession, option: str, text: str, told: str):
    with pytest.raises(AnalysisException, match=told):
        load(spark, SEGMENT, **{option: text}).count()


def test_a_limit_below_what_is_there_names_the_batch_whatever_is_looked_up(tmp_path: Path):
    """Plans of a query look batches up; whether one is too large its task says."""
    values = pa.table({"offset": range(100), "timestampMs": range(1000, 1100), "value": [b"v" * 100] * 100})
    path = tmp_path / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    ls.encode(values, batch_bytes=500, out=path)
    made_logs.index(path.parent)
    asked = [{"startingOffsets": '{"orders":{"0":50}}'}, {"minPartitions": "5"}, {"maxRecordsPerPartition": "7"}]
    for options in asked:
        source = LogSegmentSource({"path": str(path), "limits.max_records": "2", **options})
        reader = source.reader(source.schema())
        with pytest.raises(ls.LimitError, match="over the limit max_records = 2"):
            [list(reader.read(task)) for task in reader.partitions()]


def test_a_time_is_looked_up_under_the_limits_of_the_query(zeros: Path):
    (path,) = zeros.glob("*.log")
    segment = ls.Segment(path)
    with pytest.raises(ls.LimitError, match="max_ratio"):
        segment.offset_for_timestamp(1001, limits=ls.Limits(max_ratio=10_000))
    assert segment.offset_for_timestamp(1001, limits=ls.Limits(max_ratio="unlimited")) == 1
    source = LogSegmentSource({"path": str(path), "startingTimestamp": "1001", "columns": "offset", "limits.max_ratio": "unlimited"})
    reader = source.reader(source.schema())
    assert [row["offset"] for task in reader.partitions() for rows in reader.read(task) for row in rows.to_pylist()] == [1, 2]


def test_an_empty_segment_and_a_torn_tail_are_no_errors(spark: SparkSession, tmp_path: Path):
    for partition, data in enumerate([b"", SEGMENT.read_bytes()[: second_batch() + 30]]):
        directory = tmp_path / f"t-{partition}"
        directory.mkdir()
        (directory / "00000000000000000000.log").write_bytes(data)
    assert [tuple(row) for row in load(spark, tmp_path).select("partition", "offset").collect()] == [(1, 0)]


def test_looking_for_sources_imports_nothing_heavy():
    """PySpark imports every pyspark_* module when it looks for a data source."""
    heavy = "import sys, pyspark_logsegment; print(sorted({'pandas', 'numpy', 'pyarrow', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def schema_of(schema: StructType) -> list[tuple[str, Any]]:
    return [(field.name, field.dataType.simpleString()) for field in schema]


def test_arrow_schema_is_exactly_what_pyspark_demands():
    """Spark 4.2 and newer refuse a batch whose types differ in anything; older ones misread it."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from logsegment.spark import LogSegmentSource

    source = LogSegmentSource({"path": str(SEGMENT), "includeHeaders": "true"})
    reader = source.reader(source.schema())
    batch = next(reader.read(reader.partitions()[0]))
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema.equals(to_arrow_schema(source.schema(), timezone="UTC"))
