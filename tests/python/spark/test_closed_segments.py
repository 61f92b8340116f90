"""A segment that another one follows and that ends inside a batch, or in zeros, is damage for Spark too (SEG-23): batch, stream, views."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import corpus
from logsegment._core import RecordBatchError
from logsegment.spark import LogSegmentSource
from logsegment.spark.stream.reader import SegmentStreamReader

pytestmark = pytest.mark.spark

FLIP = corpus.TESTS / "finds/closed-segment-cut/flip-0"
#: What is done with the first segment of three batches of 120 bytes, and the offsets that are left.
KINDS = {"flip": [0, 2, 3, 4, 5], "cut": [0, 1, 3, 4, 5], "zeros": [0, 3, 4, 5]}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def damaged(kind: str, tmp_path: Path) -> Path:
    directory = tmp_path / "t-0"
    shutil.copytree(FLIP, directory)
    log = directory / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    if kind != "flip":
        data[129] ^= 1
        data[240 + 30 if kind == "cut" else 120 :] = b"" if kind == "cut" else bytes(240)
    log.write_bytes(data)
    return directory


def load(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("logsegment").options(**options).load(str(path))


def test_a_batch_query_fails_or_skips(spark: SparkSession, damaged: Path, kind: str):
    for options in ({}, {"minPartitions": "4"}, {"isolation": "read_committed"}, {"view": "batches"}):
        with pytest.raises(Exception, match=r"TruncatedError: .*t-0/0+\.log: \[SEG-23\]"):
            load(spark, damaged, **options).count()
    dropped = load(spark, damaged, mode="DROPMALFORMED")
    assert sorted(row.offset for row in dropped.select("offset").collect()) == KINDS[kind]
    rows = load(spark, damaged, mode="PERMISSIVE").select("offset", "_corrupt_record").collect()
    assert sorted(row.offset for row in rows if row._corrupt_record is None) == KINDS[kind]
    (bad,) = [json.loads(row._corrupt_record) for row in rows if row._corrupt_record is not None]
    assert (bad["rule"], bad["severity"]) == ("SEG-23", "error")
    findings = load(spark, damaged, view="findings").where("rule = 'SEG-23'").collect()
    assert [(row.severity, row.position) for row in findings] == [("error", bad["position"])]


def test_a_stream_fails_or_skips(damaged: Path, kind: str):
    def read(**options: str) -> list[int]:
        source = LogSegmentSource({"path": str(damaged), "startingOffsets": "earliest", **options})
        reader = source.streamReader(source.schema())
        assert isinstance(reader, SegmentStreamReader)
        end = reader.latestOffset({}, reader.getDefaultReadLimit())
        assert end == {"t": {"0": 6}}
        return [row["offset"] for task in reader.partitions({}, end) for batch in reader.read(task) for row in batch.to_pylist()]

    with pytest.raises(RecordBatchError, match=r"t-0/0+\.log: \[SEG-23\]"):
        read()
    assert read(mode="DROPMALFORMED") == KINDS[kind]
