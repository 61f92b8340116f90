"""Warnings of Spark queries, in a process of their own: they come from Spark's planning workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import corpus

pytestmark = [pytest.mark.spark, pytest.mark.slow]

#: Three segments, so that a warning from a task would show more than once.
DIRECTORIES = [corpus.CORPUS / f"modern-4.1.0/data/codec-{codec}-0" for codec in ("none", "lz4", "zstd")]
SESSION = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
for view in ("records", "batches", "findings"):
    # Each is told under a name of its own: a worker that plans several queries tells the same text once.
    options = {"view": view, f"kafka.of.{view}": "mine", "groupIdPrefix": "mine"}
    frame = spark.read.format("logsegment").options(**options).load(sys.argv[1:])
    frame.groupBy("topic").count().collect()
spark.stop()
"""


def test_options_for_brokers_give_one_warning_a_query(tmp_path: Path):
    script = tmp_path / "session.py"
    script.write_text(SESSION)
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(script), *map(str, DIRECTORIES)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line for line in (done.stdout + done.stderr).splitlines() if "logsegment reads files, not brokers" in line]
    assert len(told) == 3, "one for each query:\n" + "\n".join(told)
    assert sorted(line.rpartition(", ")[2] for line in told) == ["kafka.of.batches", "kafka.of.findings", "kafka.of.records"]
    assert all("groupidprefix" in line for line in told)
