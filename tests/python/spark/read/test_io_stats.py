"""What tasks tell of themselves by the option `ioStats`, in a real Spark: a part of a large segment reads a part of its bytes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession

import corpus
import logsegment as ls
from growing import GrowingLog
from made_logs import index

pytestmark = pytest.mark.spark

SEGMENT = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log"
PLACE = ["stage", "task", "attempt", "path", "topic", "partition"]
SIZE = 128 << 20
INTERVAL = 4096


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A segment of 128 MiB with its indexes, and how many records it has: one batch again and again, each time with its own base offset,
    which no checksum covers (V2-31)."""
    directory = tmp_path_factory.mktemp("large") / "big-0"
    directory.mkdir()
    batch = bytearray(ls.encode(pa.table({"value": pa.array([b"v" * 90] * 150, pa.binary())}), batch_bytes=1 << 20))
    repeats = SIZE // len(batch)
    with (directory / f"{0:020}.log").open("wb") as file:
        for number in range(repeats):
            batch[:8] = (number * 150).to_bytes(8)
            file.write(batch)
    index(directory, INTERVAL)
    return directory, repeats * 150


def load(spark: SparkSession, path: Path, stats: Path, **options: str) -> DataFrame:
    return spark.read.format("logsegment").options(**options).option("ioStats", str(stats)).load(str(path))


def told(stats: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(stats.glob("task-*.json")) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("place", [0.0, 0.437, 0.99])
def test_one_percent_of_the_offsets_reads_two_percent_of_the_bytes_in_two_tasks(
    spark: SparkSession, large: tuple[Path, int], tmp_path: Path, place: float
):
    path, records = large
    size = (path / f"{0:020}.log").stat().st_size
    start, count = int(records * place), records // 100
    ends = {"startingOffsets": f'{{"big":{{"0":{start}}}}}', "endingOffsets": f'{{"big":{{"0":{start + count}}}}}'}
    frame = load(spark, path, tmp_path / "stats", columns="offset", **ends)
    assert tuple(frame.selectExpr("count(*)", "min(offset)", "max(offset)").first()) == (count, start, start + count - 1)
    lines = told(tmp_path / "stats")
    assert len({(line["stage"], line["task"]) for line in lines}) <= 2
    assert sum(line["bytes_read"] for line in lines) <= size * 0.02 + INTERVAL
    assert sum(line["records"] for line in lines) == count


def test_each_task_leaves_a_file_that_spark_reads(spark: SparkSession, large: tuple[Path, int], tmp_path: Path):
    path, records = large
    size = (path / f"{0:020}.log").stat().st_size
    frame = load(spark, path, tmp_path / "stats", columns="offset", minPartitions="4")
    tasks = frame.rdd.getNumPartitions()
    frame.write.format("noop").mode("overwrite").save()
    assert len(list((tmp_path / "stats").iterdir())) == tasks >= 4
    stats = spark.read.json(str(tmp_path / "stats"))
    assert {*PLACE, *ls.decode(b"").io_stats} == set(stats.columns)
    assert stats.where("topic = 'big' and partition = 0 and attempt = 0").select("task").distinct().count() == tasks
    assert tuple(stats.selectExpr("sum(bytes_read)", "sum(records)").first()) == (size, records)
    assert {row.path for row in stats.select("path").collect()} == {str(path / f"{0:020}.log")}


def test_a_query_without_the_option_writes_nothing(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written = tmp_path / "never"
    monkeypatch.chdir(tmp_path)
    spark.read.format("logsegment").load(str(SEGMENT)).count()
    assert not written.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_failing_task_reports_what_it_did_before(spark: SparkSession, tmp_path: Path):
    rows = corpus.rows_of(ls.batches(SEGMENT.read_bytes()))
    data = bytearray(SEGMENT.read_bytes())
    data[rows[-1]["position"] + 70] ^= 1
    damaged = tmp_path / "orders-0" / SEGMENT.name
    damaged.parent.mkdir()
    damaged.write_bytes(data)
    with pytest.raises(PythonException, match="V2-31"):
        load(spark, damaged, tmp_path / "stats").count()
    (line,) = told(tmp_path / "stats")
    assert 0 < line["bytes_read"] <= len(data)
    assert line["path"] == str(damaged)


@pytest.mark.parametrize(("view", "counter"), [("batches", "entries_read"), ("findings", "bytes_read")])
def test_views_list_each_segment_of_a_task(spark: SparkSession, tmp_path: Path, view: str, counter: str):
    frame = load(spark, SEGMENT.parents[1], tmp_path / "stats", view=view, subscribe="codec-zstd,codec-lz4")
    frame.count()
    lines = told(tmp_path / "stats")
    assert {line["topic"] for line in lines} == {"codec-zstd", "codec-lz4"}
    assert len({line["task"] for line in lines}) == 1
    assert all(line[counter] > 0 for line in lines)
    assert all(line["bytes_inflated"] == 0 for line in lines) == (view == "batches")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_s_h5_findings_of_metadata_unpack_the_metadata_alone(spark: SparkSession, tmp_path: Path, codec: str):
    """S-H5: the view stops as soon as the metadata of a batch of v3 is read, and its counters show it."""
    noise = random.Random(5)
    source = pa.table({"value": [noise.randbytes(5000) for _ in range(200)]})
    path = tmp_path / "topic-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(ls.encode(source, format="v3", metadata_first=True, compression=codec, batch_bytes=1 << 18))
    batches = ls.batches(path.read_bytes(), format="v3").num_rows
    inflated = {}
    for depth in ("metadata", "full"):
        frame = load(spark, path, tmp_path / depth, view="findings", depth=depth, format="v3")
        # Files that are missing beside it are told too.
        assert frame.where("severity = 'error'").count() == 0
        (line,) = told(tmp_path / depth)
        assert line["records"] == 200
        inflated[depth] = line["bytes_inflated"]
    assert inflated["full"] > 1_000_000
    # A step of gzip is 4 KiB; the others end a block behind the metadata.
    assert inflated["metadata"] <= (batches * 4096 if codec == "gzip" else 200 * 12)


def test_tasks_of_a_stream_write_statistics_too(spark: SparkSession, tmp_path: Path):
    log = GrowingLog(tmp_path / "logs")
    log.append(*[10] * 5)
    log.roll()
    log.append(10)
    stream = spark.readStream.format("logsegment").option("startingOffsets", "earliest").option("ioStats", str(tmp_path / "stats"))
    query = stream.load(str(log.root)).writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()
    lines = told(tmp_path / "stats")
    assert sum(line["records"] for line in lines) == 60
    assert {Path(line["path"]).name for line in lines} == {f"{0:020}.log", f"{50:020}.log"}


def test_a_store_is_no_place_for_it(spark: SparkSession):
    with pytest.raises(AnalysisException, match=r"option ioStats must be .*not s3://bucket/stats"):
        spark.read.format("logsegment").option("ioStats", "s3://bucket/stats").load(str(SEGMENT)).count()
