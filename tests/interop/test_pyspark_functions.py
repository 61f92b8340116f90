"""`load`, the functions of columns and `next_offsets` under older versions of PySpark: the results of the newest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import corpus
import eras
import logsegment
from made_once import made_once

VERSIONS = os.environ.get("PYSPARK_VERSIONS", "").split()
#: PySpark 3.5 and 4.0 do not work with newer ones.
PACKAGES = ("pandas>=2.2,<3", "numpy<2.4", "pyarrow>=18")
SCRIPT = Path(__file__).with_name("pyspark_functions_main.py")

pytestmark = [
    pytest.mark.interop,
    pytest.mark.nightly,
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not VERSIONS, reason="PYSPARK_VERSIONS names no version; `make interop` and `make test-nightly` set it"),
]


def python(version: str) -> Path:
    """The Python of an environment with this PySpark."""
    place = eras.WORK / f"pyspark-functions-{version}"
    found, whole = place / "bin" / "python", place / "whole"
    with made_once(place):
        if not whole.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
            pip = [str(found), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"pyspark=={version}", *PACKAGES]
            subprocess.run(pip, check=True)
            whole.touch()
    return found


def answers(interpreter: Path | str, work: Path) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "VIRTUAL_ENV")} | {
        "PYTHONPATH": str(Path(logsegment.__file__).parents[1]),
        "PYSPARK_PYTHON": str(interpreter),
        "PYSPARK_DRIVER_PYTHON": str(interpreter),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
    }
    places = [corpus.CORPUS / "modern-4.1.0/data", corpus.TESTS.parent / "examples/damaged-0", work]
    command = [str(interpreter), str(SCRIPT), *map(str, places)]
    done = subprocess.run(command, env=environment, cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@cache
def newest(work: Path) -> dict[str, Any]:
    return answers(sys.executable, work)


@pytest.mark.parametrize("version", VERSIONS or ["none"])
def test_results_are_those_of_the_newest(version: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = answers(python(version), tmp_path)
    expected = newest(tmp_path_factory.getbasetemp())
    assert found.pop("version") == version
    assert "V2-31" in found["error"]
    assert found == {name: expected[name] for name in found}
    assert ("stream" in found) == (not version.startswith("3."))
