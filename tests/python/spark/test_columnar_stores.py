"""The columnar reader over a store and over tiered storage, here and in the store: the rows and the errors of the Python reader."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession

import corpus
import hostile
import object_store
import tiered_corpus as tiered
from made_logs import make_partition
from spark_session import columnar_options

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

#: What a record of every format has.
COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
#: Every how many hostile files one is read.
SAMPLED = 25


class Store:
    """A directory that stands for every bucket."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.root = root
        self.options = {
            "storage.aws_endpoint": environment["AWS_ENDPOINT_URL"],
            "storage.aws_access_key_id": environment["AWS_ACCESS_KEY_ID"],
            "storage.aws_secret_access_key": environment["AWS_SECRET_ACCESS_KEY"],
            "storage.aws_region": environment["AWS_REGION"],
        }

    def load(self, spark: SparkSession, path: str, **options: str) -> DataFrame:
        return spark.read.format("logsegment").options(**self.options, **options).load(f"s3://bucket/{path}")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    root = tmp_path / "store"
    root.mkdir()
    with object_store.serving(root, is_bucket=True) as environment:
        yield Store(root, environment)


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


def rows(frame: DataFrame) -> str:
    return str(frame.selectExpr("count(*)", "bit_xor(xxhash64(*))").first())


def outcome(frame: DataFrame) -> tuple[str, str]:
    """The rows, or the class and the file of the error."""
    try:
        return "rows", rows(frame)
    except (PythonException, AnalysisException, Exception) as error:
        text = str(error)
        (line, *_) = [line for line in text.splitlines() if "Error: " in line]
        return line.rpartition("Error: ")[0].rpartition(".")[2], line.rpartition("Error: ")[2].split("; ")[0]


def test_both_readers_give_the_rows_of_the_corpus_in_a_store(spark: SparkSession, store: Store):
    for index, case in enumerate(corpus.cases()):
        directory = store.root / f"corpus/case-{index}"
        directory.mkdir(parents=True)
        shutil.copyfile(case.path, directory / (case.path.name if case.format == "0.7" else f"{0:020}.log"))
    here = spark.read.format("logsegment").option("includeHeaders", "true").load(str(store.root / "corpus")).select(*COLUMNS)
    frames = [store.load(spark, "corpus", reader=reader, includeHeaders="true").select(*COLUMNS) for reader in ("python", "columnar")]
    assert "columnar reader" in plan_of(frames[1])
    assert rows(frames[0]) == rows(frames[1]) == rows(here)
    assert frames[1].count() > 10_000


@pytest.mark.parametrize("place", ["here", "store"])
def test_encrypted_uploads_are_read_with_the_data_keys_of_their_segments(place: str, spark: SparkSession, store: Store, tmp_path: Path):
    for name, key in tiered.KEYS.items():
        (tmp_path / name).write_bytes(key)
    keys = json.dumps({name: str(tmp_path / name) for name in tiered.KEYS})
    shutil.copytree(tiered.BUCKET, store.root / "uploads")

    def load(reader: str) -> DataFrame:
        if place == "store":
            return store.load(spark, "uploads", reader=reader, keys=keys)
        return spark.read.format("logsegment").options(reader=reader, keys=keys).load(str(store.root / "uploads"))

    frames = [load(reader) for reader in ("python", "columnar")]
    plan = plan_of(frames[1])
    assert "columnar reader" in plan
    assert not tiered.leaks(plan, json.loads(keys))
    assert rows(frames[0]) == rows(frames[1])
    assert {row.partition: row["count"] for row in frames[1].groupBy("partition").count().collect()} == dict.fromkeys(range(1, 14), 200)
    # Pieces of a segment, and filters by the indexes.
    assert [row.offset for row in frames[1].filter("partition = 4 and offset between 1300 and 1302").collect()] == [1300, 1301, 1302]


def test_tasks_need_no_private_key(spark: SparkSession, tmp_path: Path):
    """The driver reads it when it plans."""
    key = tmp_path / "key1.der"
    key.write_bytes(tiered.KEYS["key1"])
    folder = str(tiered.folder("zstdenc"))
    manifest = json.loads(next(Path(folder).glob("*.rsm-manifest")).read_text())
    assert manifest["encryption"]["dataKey"].startswith("key1:")
    options = {"keys": json.dumps({"key1": str(key)}), "reader": "columnar"}
    planned = spark.read.format("logsegment").options(**options).load(folder)._jdf.queryExecution()
    planned.executedPlan().toString()
    partitions = planned.executedPlan().execute().getNumPartitions()
    key.unlink()
    assert partitions >= 1
    assert planned.toRdd().count() == 200


def test_damage_in_a_store_is_the_error_of_the_python_reader(spark: SparkSession, store: Store):
    files = [case.path for case in hostile.cases() if not case.is_bomb][::SAMPLED]
    for index, path in enumerate(files):
        directory = store.root / f"hostile-{index}-0"
        directory.mkdir()
        shutil.copyfile(path, directory / (path.name if path.suffix == ".kafka" else f"{0:020}.log"))
    met = set()
    for index, path in enumerate(files):
        python, columnar = (outcome(store.load(spark, f"hostile-{index}-0", reader=reader)) for reader in ("python", "columnar"))
        assert columnar == python, path
        met.add(python[0])
    assert len(met) > 2


def test_an_object_that_is_cut_or_removed_after_the_plan_is_an_error(spark: SparkSession, store: Store):
    make_partition(store.root, "orders", 0, [list(range(2000))], value_bytes=200)
    log = store.root / "orders-0" / f"{0:020}.log"
    data = log.read_bytes()
    for change, text in (
        (lambda: log.write_bytes(data[:50_000]), "was truncated to"),
        (log.unlink, "was deleted after the query was planned"),
    ):
        log.write_bytes(data)
        frame = store.load(spark, "orders-0", reader="columnar", minPartitions="3")
        execution = frame._jdf.queryExecution()
        assert execution.executedPlan().execute().getNumPartitions() == 3
        change()
        with pytest.raises(Exception, match=text) as raised:
            execution.toRdd().count()
        assert "s3://bucket/orders-0" in str(raised.value)
        assert "secret" not in str(raised.value)
