"""`decode_values` and Spark's own `from_avro`: the same rows of values that fastavro wrote."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import eras


def test_values_equal_those_of_from_avro():
    pytest.importorskip("fastavro")
    eras.need("java", "mvn")
    command = [sys.executable, "-m", "benches.spark.values", "--rows", "2000", "--rounds", "1"]
    # The run compares all rows before it measures, and fails where they differ.
    done = subprocess.run(command, cwd=eras.ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert [row["rows"] for row in json.loads(done.stdout)] == [2000, 2000]
