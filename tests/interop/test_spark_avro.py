"""`decode_values` and Spark's own `from_avro`: the same rows of values that fastavro wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import eras

#: The newest release whose jar is in Maven Central; it runs in newer releases of Spark too.
SPARK_AVRO = eras.Era("4.2.0", ("org.apache.spark:spark-avro_2.13:4.2.0",), ())


def test_values_equal_those_of_from_avro():
    pytest.importorskip("fastavro")
    eras.need("java", "mvn")
    jars = ",".join(eras.resolved(SPARK_AVRO).split(os.pathsep))
    command = [sys.executable, "-m", "benches.spark.values", "--avro-jar", jars, "--rows", "2000", "--rounds", "1"]
    # The run compares all rows before it measures, and fails where they differ.
    done = subprocess.run(command, cwd=eras.ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert [row["rows"] for row in json.loads(done.stdout)] == [2000, 2000]
