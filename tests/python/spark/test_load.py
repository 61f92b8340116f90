"""`load` and `next_offsets`: one DataFrame in every Spark, and where Kafka's source goes on."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import corpus
import logsegment as ls
from logsegment.spark import load, next_offsets

pytestmark = pytest.mark.spark
MODERN = corpus.CORPUS / "modern-4.1.0/data"
ORDERS = MODERN / "codec-zstd-0"
PAYMENTS = MODERN / "transactions-multi-segment-0"
DAMAGED = corpus.TESTS.parent / "examples/damaged-0"


@pytest.fixture
def as_3_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session without data sources in Python."""
    monkeypatch.setattr(sys.modules["logsegment.spark.load"], "HAS_SOURCES", False)


def digest(frame: DataFrame) -> Any:
    texts = [f"to_json({name})" if name == "headers" else name for name in frame.columns]
    return frame.selectExpr("count(*)", f"bit_xor(xxhash64({', '.join(texts)}))").first()


@pytest.mark.usefixtures("as_3_5")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"includeHeaders": True},
        {"columns": "offset,value,timestampMs"},
        {"startingOffsets": '{"codec-zstd":{"0":20},"transactions-multi-segment":{"0":5}}', "minPartitions": 7},
        {"isolation": "read_committed"},
        {"subscribe": "transactions-multi-segment", "endingTimestamp": 1},
    ],
    ids=str,
)
def test_a_plan_of_the_driver_gives_what_the_source_gives(spark: SparkSession, options: dict[str, Any]) -> None:
    paths = [ORDERS, str(PAYMENTS)]
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    source = spark.read.format("logsegment").options(**texts).load([str(path) for path in paths])
    frame = load(spark, paths, **options)
    assert frame.schema == source.schema
    assert digest(frame) == digest(source)


@pytest.mark.usefixtures("as_3_5")
def test_damage_is_reported_as_by_the_source(spark: SparkSession) -> None:
    frame = load(spark, DAMAGED, mode="PERMISSIVE")
    assert digest(frame) == digest(spark.read.format("logsegment").option("mode", "PERMISSIVE").load(str(DAMAGED)))
    with pytest.raises(Exception, match=r"V2-31.*set the option mode"):
        load(spark, DAMAGED).collect()
    with pytest.raises(ValueError, match="unknown option"):
        load(spark, DAMAGED, modes="x")
    with pytest.raises(FileNotFoundError):
        load(spark, "/no/such/directory")


def test_the_source_itself_is_taken_where_it_is(spark: SparkSession) -> None:
    frame = load(spark, ORDERS)
    assert "mapInArrow" not in frame._jdf.queryExecution().toString()
    assert frame.count() == 240


def test_next_offsets_are_the_end_of_history_and_the_start_of_what_follows(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "orders-0"
    shutil.copytree(ORDERS, log)
    until = next_offsets(spark, log)
    assert until == '{"orders":{"0":240}}'
    ls.encode(pa.table({"value": [b"late"]}), base_offset=240, out=log / f"{240:020}.log")
    assert load(spark, log, endingOffsets=until).count() == 240
    assert [row.value for row in load(spark, log, startingOffsets=until).select("value").collect()] == [b"late"]
    assert json.loads(next_offsets(spark, tmp_path, subscribe="orders")) == ls.Log(log).next_offsets() == {"orders": {"0": 241}}


def test_committed_reads_go_on_at_the_first_open_transaction(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "paid-0"
    log.mkdir()
    records = pa.table({"value": [b"1", b"2"]})
    with (log / f"{0:020}.log").open("wb") as file:
        ls.encode(records, base_offset=0, out=file)
        ls.encode(records, base_offset=2, out=file, transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
        ls.encode(records, base_offset=4, out=file)
    assert next_offsets(spark, log) == '{"paid":{"0":6}}'
    assert next_offsets(spark, log, isolation="read_committed") == '{"paid":{"0":2}}'
    assert ls.Log(log).next_offsets(isolation="read_committed") == {"paid": {"0": 2}}


def test_only_valid_batches_count(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "orders-0"
    shutil.copytree(ORDERS, log)
    segment = log / f"{0:020}.log"
    whole = segment.read_bytes()
    last = ls.batches(segment).to_pylist()[-1]
    segment.write_bytes(whole[:-3])
    assert next_offsets(spark, log) == json.dumps({"orders": {"0": last["baseOffset"]}}, separators=(",", ":"))
    segment.write_bytes(whole[:-3] + b"\xff\xff\xff")
    assert json.loads(next_offsets(spark, log)) == {"orders": {"0": last["baseOffset"]}}
    segment.write_bytes(whole[: last["position"]] + b"\xff" * 100)
    with pytest.raises(ls.RecordBatchError, match=str(segment)):
        next_offsets(spark, log)
    assert json.loads(next_offsets(spark, log, mode="PERMISSIVE")) == {"orders": {"0": last["baseOffset"]}}


def test_deleted_records_stay_deleted(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "orders-0"
    shutil.copytree(ORDERS, log)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 100\n")
    assert next_offsets(spark, log) == '{"orders":{"0":240}}'
    assert load(spark, log).count() == 140


def test_names_without_a_partition_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copy(ORDERS / f"{0:020}.log", tmp_path / "copy.log")
    with pytest.raises(ValueError, match="no topic, partition and offset"):
        next_offsets(spark, tmp_path / "copy.log")
    with pytest.raises(ValueError, match="no topic, partition and offset"):
        ls.Log(tmp_path / "copy.log").next_offsets()


def test_a_checkpoint_gives_what_the_stream_has_read(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("logsegment").option("startingOffsets", "earliest").option("upTo", "logEnd").load(str(ORDERS))
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert next_offsets(spark, checkpoint=tmp_path / "checkpoint") == '{"codec-zstd":{"0":240}}'
    assert next_offsets(spark, checkpoint=f"file://{tmp_path}/checkpoint") == '{"codec-zstd":{"0":240}}'


@pytest.mark.parametrize(
    ("version", "line"),
    [("v1", '{"b": {"1": 3}, "a": {"0": 7}}'), ("v2", '0:{"b": {"1": 3}, "a": {"0": 7}}'), ("v2", 'name:{"b":{"1":3},"a":{"0":7}}')],
)
def test_both_versions_of_the_log_of_offsets(spark: SparkSession, tmp_path: Path, version: str, line: str) -> None:
    checkpoint(tmp_path, {1: f'{version}\n{{"conf":{{}}}}\n{line}', 2: f"{version}\n{{}}\n{line.replace('7', '9')}"}, [0, 1])
    assert next_offsets(spark, checkpoint=tmp_path) == '{"a":{"0":7},"b":{"1":3}}'


@pytest.mark.parametrize(
    ("offsets", "commits", "message"),
    [
        ({}, [], "no checkpoint with a finished micro-batch"),
        ({0: "v1\n{}\n{}"}, [1], "not there"),
        ({0: 'v1\n{}\n{"logOffset":3}'}, [0], "0 streams of logsegment"),
        ({0: 'v1\n{}\n{"a":{"0":1}}\n{"b":{"0":1}}'}, [0], "2 streams of logsegment"),
    ],
)
def test_other_checkpoints_are_refused(
    spark: SparkSession, tmp_path: Path, offsets: dict[int, str], commits: list[int], message: str
) -> None:
    checkpoint(tmp_path, offsets, commits)
    with pytest.raises(ValueError, match=message):
        next_offsets(spark, checkpoint=tmp_path)


def test_a_path_or_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="either a path or checkpoint="):
        next_offsets(spark)
    with pytest.raises(TypeError, match="either a path or checkpoint="):
        next_offsets(spark, tmp_path, checkpoint=tmp_path)


def checkpoint(directory: Path, offsets: dict[int, str], commits: list[int]) -> None:
    for name, files in (("offsets", offsets), ("commits", dict.fromkeys(commits, "v1\n{}"))):
        (directory / name).mkdir()
        for number, text in files.items():
            (directory / name / str(number)).write_text(text)
