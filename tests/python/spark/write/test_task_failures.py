"""Tasks that fail, workers that die and a disk that is full in a real Spark that tries tasks again: each row once, or one clear error."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
from spark_session import program_environment
from spark_write_faults import ROWS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(660)]
APPLICATION = corpus.TESTS / "support" / "spark_write_faults.py"
#: In a namespace of its own a user who is not root mounts too, where the system lets him.
MOUNT = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs -o size=2m none "$0" && exec "$@"']


def can_mount(place: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*MOUNT, str(place), "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the application says, and the place where it wrote."""
    place, full = tmp_path_factory.mktemp("faults"), tmp_path_factory.mktemp("full")
    command = [sys.executable, str(APPLICATION), str(place)]
    if can_mount(full):
        command = [*MOUNT, str(full), *command, str(full)]
    environment = program_environment(APPLICATION.parent)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return {**json.loads(done.stdout.splitlines()[-1]), "place": place}


def assert_each_row_once(log: Path) -> None:
    rows = ls.Log(log / "t-0").records(columns=["offset", "value"]).to_pyarrow().to_pylist()
    assert [row["offset"] for row in rows] == list(range(ROWS))
    assert sorted(int(row["value"]) for row in rows) == list(range(ROWS))
    assert sorted(path.name for path in log.iterdir()) == [".lock", "t-0"]
    assert len(ls.Log(log)) == 1


def test_a_task_that_failed_once_is_there_once(found: dict[str, Any]):
    assert found["row"] == ""
    assert_each_row_once(found["place"] / "row-log")


def test_a_worker_that_died_with_everything_staged_leaves_nothing(found: dict[str, Any]):
    """The commit met what it staged: three attempts of two tasks, the dead one as large as the one that took its place."""
    assert found["worker"]["told"] == ""
    sizes = {name: size for name, size in found["worker"]["attempts"].items() if size}
    assert len(sizes) == 3
    assert len({name.split("-")[1] for name in sizes}) == 2
    assert_each_row_once(found["place"] / "worker-log")


def test_a_job_that_failed_leaves_nothing(found: dict[str, Any]):
    """Also of a task that Spark did not wait for."""
    assert "fails deliberately" in found["never"]
    assert not any((found["place"] / "never-log").iterdir())


@pytest.mark.parametrize("where", ["task", "commit"])
def test_a_full_disk_is_one_error_and_nothing_is_half_there(found: dict[str, Any], where: str):
    if "full" not in found:
        pytest.skip("this system mounts no tmpfs for the test")
    full = found["full"][where]
    assert full["before"] == ""
    last = [line for line in full["told"].splitlines() if "Error: " in line]
    assert any("OSError: [Errno 28] No space left on device: " in line for line in last), full["told"]
    assert {name for name in full["files"] if "." in name} == {
        ".lock",
        *(f"t-0/{0:020}.{suffix}" for suffix in ("index", "log", "timeindex")),
    }
    assert full["free"] > 1 << 20
