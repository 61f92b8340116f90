"""A partition in several directories in Spark: refused in every reader, and read from one directory by the option `replica`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from made_logs import make_partition
from spark_session import columnar_options

pytestmark = pytest.mark.spark

READERS = ["python", pytest.param("columnar", marks=pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built"))]


@pytest.fixture
def jbod(tmp_path: Path) -> Path:
    make_partition(tmp_path / "jbod" / "disk1", "sale", 0, [[0, 1, 2]])
    make_partition(tmp_path / "jbod" / "disk2", "sale", 0, [[0, 1, 2], [3, 4]])
    return tmp_path / "jbod"


@pytest.mark.parametrize("reader", READERS)
def test_a_partition_in_two_directories_needs_the_option_replica(reader: str, jbod: Path, spark: SparkSession):
    query = spark.read.format("logsegment").option("reader", reader)
    with pytest.raises(Exception, match=r"sale-0 is in 2 directories: .*choose one with the option replica"):
        query.load(str(jbod)).count()
    for replica, expected in (("longest", 5), ("first", 3), (str(jbod / "disk1"), 3), (str(jbod / "disk2" / "sale-0"), 5)):
        assert query.option("replica", replica).load(str(jbod)).count() == expected
    shutil.rmtree(jbod / "disk1")
    (jbod / "disk1").symlink_to(jbod / "disk2")
    assert query.load([str(jbod), str(jbod / "disk1")]).count() == 5


def test_a_stream_and_the_views(jbod: Path, tmp_path: Path, spark: SparkSession):
    stream = spark.readStream.format("logsegment").options(startingOffsets="earliest", replica="longest").load(str(jbod))
    query = stream.writeStream.format("memory").queryName("replicas").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(120)
    assert spark.table("replicas").count() == 5

    batches = spark.read.format("logsegment").option("view", "batches").load(str(jbod)).collect()
    assert {row.path.removeprefix(str(jbod)).split("/")[1] for row in batches} == {"disk1", "disk2"}
    found = spark.read.format("logsegment").option("view", "findings").load(str(jbod)).where("rule = 'SEG-18'").collect()
    assert [(row.severity, row.path) for row in found] == [("info", str(jbod / "disk1" / "sale-0"))]
