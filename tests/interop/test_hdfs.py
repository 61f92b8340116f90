"""HDFS alone: paths as Hadoop's shell sees them, Spark, and a name node that is gone. test_every_store.py has the rest.

It is Hadoop's mini cluster, on loopback. The process that reads has no Java.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

import corpus
import eras
import every_store
import hdfs_server
import logsegment as ls
from logsegment._core import Place
from logsegment.spark import register
from loopback import free_port
from spark_session import spark_session

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
DATA = corpus.CORPUS / "modern-4.1.0/data"
NAMES = ("codec-none-0", "codec-zstd-0", "transactions-multi-segment-0")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hdfs_server.Server]:
    eras.need(*hdfs_server.NEEDED_COMMANDS)
    running = hdfs_server.Server(tmp_path_factory.mktemp("hdfs"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions of the corpus."""
    place = tmp_path_factory.mktemp("here") / "kafka"
    for name in NAMES:
        shutil.copytree(DATA / name, place / name)
    return place


@pytest.fixture(scope="module")
def there(server: hdfs_server.Server, here: Path) -> str:
    """The same below `/kafka` in HDFS."""
    every_store.send(here, every_store.Store("hdfs", server.uri("kafka"), {}))
    return server.uri("kafka")


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    session = spark_session()
    register(session)
    return session


def values(log: str) -> list[tuple[int, str]]:
    rows = ls.Log(log).records(columns=["offset", "value"]).to_pyarrow().to_pylist()
    return [(row["offset"], row["value"].decode()) for row in rows]


def names(uri: str) -> list[str]:
    return [entry.name for entry in Place(uri).entries()]


def test_paths_count_from_the_root(server: hdfs_server.Server, here: Path, there: str) -> None:
    """And not from the directory of the user. Hadoop's shell sees each file where its URI says, and no others."""
    assert server.tree("/kafka") == sorted(f"/kafka/{path.relative_to(here)}" for path in here.rglob("*"))
    assert names(there) == sorted(NAMES)
    assert "kafka" in names(server.uri()) == [entry.name for entry in Place(server.uri().rstrip("/")).entries()]
    assert names(there.replace("//", "//another@")) == names(there)


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(ls.__file__).parents[1])}


def test_spark_reads_the_files_there(spark: SparkSession, here: Path, there: str) -> None:
    def read(place: str) -> list[tuple[Any, ...]]:
        frame = spark.read.format("logsegment").option("isolation", "read_committed").load(place)
        totals = [expr(text) for text in ("count(*)", "sum(offset)", "sum(length(value))")]
        return [tuple(row) for row in frame.groupBy("topic", "partition").agg(*totals).orderBy("topic", "partition").collect()]

    assert read(there) == read(str(here))
    assert len(read(there)) == len(NAMES)


@pytest.fixture(scope="module")
def written(server: hdfs_server.Server, spark: SparkSession) -> str:
    """A log to which Spark appended twice."""
    uri = server.uri("written")
    for _ in range(2):
        append(spark, uri, tasks=1)
    return uri


def append(spark: SparkSession, uri: str, tasks: int) -> None:
    frame = spark.range(0, 100, 1, tasks).selectExpr("cast(id as string) as value", "0 as partition")
    frame.write.format("logsegment").option("topic", "orders").mode("append").save(uri)


def test_spark_appends_and_refuses_a_second_task(server: hdfs_server.Server, spark: SparkSession, written: str) -> None:
    """Nothing of the commits and of the refused write is left."""
    refused = "tasks 0 and 1 both have rows of orders-0: offsets cannot be changed in a store"
    with pytest.raises(Exception, match=refused):
        append(spark, written, tasks=2)
    assert values(f"{written}/orders-0") == [(offset, str(offset % 100)) for offset in range(200)]
    suffixes = ("index", "log", "timeindex")
    files = [f"orders-0/{base:020}.{suffix}" for base in (0, 100) for suffix in suffixes]
    assert server.tree("/written") == [f"/written/{name}" for name in ("orders-0", *files)]


def test_a_stream_of_spark_follows(spark: SparkSession, written: str, tmp_path: Path) -> None:
    batches: list[int] = []
    stream = spark.readStream.format("logsegment").options(startingOffsets="earliest", maxOffsetsPerTrigger="150").load(written)
    writing = stream.writeStream.foreachBatch(lambda batch, number: batches.append(batch.count()))
    writing.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert batches == [150, 50]


@pytest.mark.parametrize("ask", ["ls.Log({})", "Place({}).exists()", "Place({}).open()"])
def test_a_name_node_that_is_gone_is_a_connection_error(ask: str) -> None:
    """Within two minutes. A writer that took it for an empty directory would begin a log anew."""
    uri = f"hdfs://127.0.0.1:{free_port()}/orders-0"
    told = f"try: {ask.format('sys.argv[1]')}\nexcept ConnectionError as error: print(error)"
    told = f"import sys, logsegment as ls\nfrom logsegment._core import Place\n{told}"
    done = subprocess.run([sys.executable, "-c", told, uri], env=environment(), capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith(f"'{uri}'"), done.stderr[-4000:]
    assert "the store does not respond" in done.stdout
