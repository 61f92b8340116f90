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
    command = [sys.executable, "-m", "pytest", "-q", "-rsf", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", directory, directory]
    environment = os.environ | {"REQUIRE_INTEROP": required, "PYTHONPATH": str(corpus.TESTS / "support")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copy(corpus.TESTS / "conftest.py", tmp_path)
    return tmp_path


@pytest.mark.parametrize("way", SKIPPING)
def test_a_skip_is_a_failure_where_nothing_may_be_missing(way: str, directory: Path):
    (directory / "test_skipping.py").write_text(f"import pytest\n\n\n{SKIPPING[way]}")
    code, told = run(directory, "")
    assert (code in (0, 5), "1 skipped" in told) == (True, True), told
    code, told = run(directory, "1")
    assert (code, "skipped" in told.splitlines()[-1]) == (2 if way == "by_import" else 1, False), told
    assert "nothing may be missing here (REQUIRE_INTEROP): " in told
    assert "why" in told


def test_an_expected_failure_is_not_a_skip(directory: Path):
    (directory / "test_failing.py").write_text(f"import pytest\n\n\n{EXPECTED_TO_FAIL}")
    code, told = run(directory, "1")
    assert (code, "1 xfailed" in told) == (0, True), told
