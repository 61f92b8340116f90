"""`logsegment.spark.rewrite`: the output of `logsegment.rewrite`, one task a partition, committed as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import corpus
import logsegment as ls
from logsegment.spark import rewrite
from made_logs import make_partition

DATA = corpus.CORPUS / "modern-4.1.0/data"


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("codec-zstd-0", "transactions-multi-segment-0", "multi-segment-1"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).symlink_to(DATA / name)
    return tmp_path / "in"


def test_it_writes_what_rewrite_writes(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    keys = sorted({row["key"] for row in ls.Log(source).records(columns=["key"]).to_pylist() if row["key"]})[::3]
    frame = spark.createDataFrame([(bytearray(key),) for key in keys], "key binary")
    done = rewrite(spark, source, tmp_path / "out", drop=frame)
    expected = ls.rewrite(source, tmp_path / "expected", drop=keys)
    assert files(tmp_path / "out") == files(tmp_path / "expected")
    assert [file.ranges for file in done.files] == [file.ranges for file in expected.files]
    assert done.dropped == expected.dropped > 0


def test_existing_partitions_and_damage_leave_everything_as_it_was(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    (tmp_path / "out/codec-zstd-0").mkdir(parents=True)
    with pytest.raises(FileExistsError):
        rewrite(spark, source, tmp_path / "out", drop=["a"])
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name != ".lock"] == ["codec-zstd-0"]
    make_partition(source, "broken", 0, [[0, 1]])
    segment = source / "broken-0/00000000000000000000.log"
    segment.write_bytes(segment.read_bytes()[:-1] + b"\xff")
    with pytest.raises(Exception, match="ChecksumError"):
        rewrite(spark, source, tmp_path / "other", drop=["a"])
    assert not [path for path in (tmp_path / "other").iterdir() if path.name != ".lock"]


def test_mistakes_fail_on_the_driver(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to do"):
        rewrite(spark, source, tmp_path / "out")
    with pytest.raises(ValueError, match="inside the source"):
        rewrite(spark, source, source / "out", drop=["a"])
    with pytest.raises(ValueError, match="no column is named key"):
        rewrite(spark, source, tmp_path / "out", drop=spark.createDataFrame([("a", "b")], "x string, y string"))
    assert not (tmp_path / "out").exists()
