"""`logsegment.spark.rewrite`: the output of `logsegment.rewrite`, one task a partition, committed as a whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import corpus
import logsegment as ls
import object_store
from logsegment._options import EntryKeywords, ReadOptions
from logsegment._rewrite.partitions import RewriteOptions
from logsegment.segment_files.discovery import found_in
from logsegment.spark import rewrite
from logsegment.spark.rewriting import _Task
from logsegment.spark.write import journal
from made_logs import make_partition
from spark_session import program_environment

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


def test_an_expression_travels_to_the_tasks(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    early = pc.field("offset") < 20
    done = rewrite(spark, source, tmp_path / "out", drop=early)
    expected = ls.rewrite(source, tmp_path / "expected", drop=early)
    assert files(tmp_path / "out") == files(tmp_path / "expected")
    assert done.dropped == expected.dropped > 0


def test_options_of_the_store_reach_the_tasks(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(DATA / "multi-segment-1", tmp_path / "bucket/multi-segment-1")
    expected = ls.rewrite(tmp_path / "bucket", tmp_path / "expected", keep=pc.field("offset") < 20)
    with object_store.serving(tmp_path / "bucket", is_bucket=True) as environment:
        options = {"aws_endpoint": environment["AWS_ENDPOINT_URL"], "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        done = rewrite(spark, "s3://bucket", tmp_path / "out", keep=pc.field("offset") < 20, storage_options=options)
    assert files(tmp_path / "out") == files(tmp_path / "expected")
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


def test_two_attempts_of_a_task_do_not_share_files(source: Path, tmp_path: Path) -> None:
    """Spark runs a slow task a second time while the first attempt goes on, and may take the rows of either."""
    segments, _ = found_in(source / "multi-segment-1", has_patterns=False)
    (tmp_path / "staging").mkdir()
    places = (str(tmp_path / "staging"), str(tmp_path / "out"))
    task = _Task([segments], ReadOptions.of(EntryKeywords, {}), RewriteOptions(), places, lambda: {"drop": ["a"]})
    number = pa.RecordBatch.from_pydict({"id": [0]})
    first, second = (next(task.run(iter([number]))).to_pylist() for _ in range(2))
    assert first[0]["staged"] != second[0]["staged"]
    assert len({row["staged"] for row in first}) == 1
    ls.rewrite(source / "multi-segment-1", tmp_path / "expected", drop=["a"])
    for rows in (first, second):
        assert files(tmp_path / "staging" / rows[0]["staged"]) == files(tmp_path / "expected")


KILLED = """
import os, sys
from pyspark.sql import SparkSession
from logsegment.spark import rewrite

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
spark = builder.getOrCreate()
spark.range(2).mapInArrow(lambda batches: batches, "id long").collect()
import logsegment as ls
print("READY", flush=True)
rewrite(spark, sys.argv[1], sys.argv[2], drop=ls.Selection(offsets=(0, 3000)))
print("DONE", flush=True)
sys.stdin.read()
"""


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.timeout(1200)
def test_a_killed_driver_leaves_all_partitions_or_none(tmp_path: Path) -> None:
    for number in range(6):
        segments = [list(range(start, start + 4000)) for start in range(0, 12000, 4000)]
        make_partition(tmp_path / "in", "orders", number, segments, value_bytes=1000)
    before = files(tmp_path / "in")
    whole = Path(tmp_path / "whole")
    ls.rewrite(tmp_path / "in", whole, drop=ls.Selection(offsets=(0, 3000)))
    duration = 0.0
    seen = []
    for number, share in enumerate([None, 0.2, 0.5, 0.8, 0.95]):
        out = tmp_path / f"out-{number}"
        with driver(tmp_path / "main.py", tmp_path / "in", out) as process:
            begun = time.monotonic()
            if share is None:
                assert process.stdout is not None
                assert process.stdout.readline() == b"DONE\n"
                duration = time.monotonic() - begun
            else:
                time.sleep(share * duration)
            os.killpg(process.pid, signal.SIGKILL)
        was_pending = journal.is_pending(str(out))
        if out.exists():
            journal.recover(str(out))
        left = {name: data for name, data in (files(out) if out.exists() else {}).items() if not name.startswith("_staging-")}
        assert left in ({}, files(whole)), (number, was_pending)
        seen.append(bool(left))
        assert files(tmp_path / "in") == before
    assert seen[0]
    assert not all(seen)


@contextmanager
def driver(script: Path, *arguments: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver with its JVM and workers in a process group of their own, about to rewrite."""
    script.write_text(KILLED)
    command = [sys.executable, str(script), *map(str, arguments)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=program_environment(), start_new_session=True, **streams)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"READY\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
