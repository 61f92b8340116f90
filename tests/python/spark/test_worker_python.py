"""Spark's workers run a Python of their own: a script that no environment was activated for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import corpus

pytestmark = pytest.mark.spark

PAYMENTS = corpus.CORPUS / "modern-4.1.0/data/transactions-0"
SCRIPT = """
import sys
from pyspark.sql import SparkSession
{before}
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
{after}
print("rows", spark.read.format("logsegment").load(sys.argv[1]).count())
"""


def run(tmp_path: Path, before: str = "", after: str = "") -> subprocess.CompletedProcess[str]:
    """Run a script with the `python3` of a machine on the PATH, which has none of the environment's packages."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    python = folder / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(before=before, after=after))
    command = [sys.executable, str(script), str(PAYMENTS)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)


def test_register_names_the_python_of_the_workers_and_the_fix(tmp_path: Path):
    done = run(tmp_path, after="import logsegment.spark; logsegment.spark.register(spark)")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: Spark's workers run ")
    assert str(tmp_path / "bin/python3") in last
    assert 'os.environ["PYSPARK_PYTHON"] = sys.executable' in last


def test_the_fix_and_the_example_of_the_readme_work(tmp_path: Path):
    readme = (corpus.TESTS.parent / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r'^os\.environ\["PYSPARK_PYTHON"\].*$', readme, re.MULTILINE)
    done = run(tmp_path, before=f"import os\n{line}", after="import logsegment.spark; logsegment.spark.register(spark)")
    assert done.returncode == 0, done.stderr
    assert "rows 69" in done.stdout
