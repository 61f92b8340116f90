"""A test that skips has failed where REQUIRE_INTEROP says that nothing may be missing; tests/conftest.py sees to it for all of tests/."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corpus

#: Each way to skip, and one that is none.
SKIPPING = {
    "by_call": "def test():\n    pytest.skip('why')\n",
    "by_mark": "@pytest.mark.skipif(True, reason='why')\ndef test():\n    pass\n",
    "by_fixture": "@pytest.fixture\ndef missing():\n    pytest.skip('why')\n\n\ndef test(missing):\n    pass\n",
    "by_import": "pytest.importorskip('no_such_module', reason='why')\n\n\ndef test():\n    pass\n",
    "by_all": "pytestmark = pytest.mark.skip(reason='why')\n\n\ndef test():\n    pass\n",
}
EXPECTED_TO_FAIL = "@pytest.mark.xfail(reason='why')\ndef test():\n    assert False\n"


def run(directory: Path, required: str) -> tuple[int, str]:
    """How pytest ends with the tests of a directory, and what it says."""
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", directory, directory]
    command += ["--continue-on-collection-errors"]
    environment = os.environ | {"REQUIRE_INTEROP": required, "PYTHONPATH": str(corpus.TESTS / "support"), "COLUMNS": "250"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """With a file of tests for each way to skip, and one with a test that is expected to fail."""
    shutil.copy(corpus.TESTS / "conftest.py", tmp_path)
    for way, text in SKIPPING.items():
        (tmp_path / f"test_{way}.py").write_text(f"import pytest\n\n\n{text}")
    (tmp_path / "test_failing.py").write_text(f"import pytest\n\n\n{EXPECTED_TO_FAIL}")
    return tmp_path


def test_skips_are_skips_where_something_may_be_missing(directory: Path):
    code, told = run(directory, "")
    assert (code, "5 skipped, 1 xfailed" in told.splitlines()[-1]) == (0, True), told


def test_a_skip_is_a_failure_where_nothing_may_be_missing(directory: Path):
    """And an expected failure is not a skip."""
    code, told = run(directory, "1")
    assert (code, "1 failed, 1 xfailed, 4 errors" in told.splitlines()[-1]) == (1, True), told
    for way in SKIPPING:
        (line,) = (line for line in told.splitlines() if line.startswith(("FAILED", "ERROR")) and f"test_{way}.py" in line)
        assert "nothing may be missing here (REQUIRE_INTEROP): " in line
        assert "why" in line
