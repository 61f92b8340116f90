"""The tasks of docs/tutorial/first-attempts.md: few lines each, and they run with the packages that they name.

Here they run with the Python of the tests; `make wheel-attempts` runs them in an environment for each extra.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import first_attempts
from slow import slow_after

ATTEMPTS = first_attempts.attempts()
EXTRAS = sorted({attempt.extra for attempt in ATTEMPTS} - {"spark"})


def run(extra: str) -> list[str]:
    """Run the tasks of an extra in a process of its own, as a user does; return the titles of those that passed."""
    done = subprocess.run(
        [sys.executable, first_attempts.__file__, extra],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.partition("ok: ")[2] for line in done.stdout.splitlines() if "ok: " in line]


def titles(extra: str) -> list[str]:
    return [attempt.title for attempt in ATTEMPTS if attempt.extra == extra]


def test_there_are_fourteen_tasks_of_at_most_five_lines():
    assert len(ATTEMPTS) == 14
    assert {attempt.title: len(attempt.code_lines) for attempt in ATTEMPTS if not 1 <= len(attempt.code_lines) <= 5} == {}


@pytest.mark.parametrize("extra", slow_after(1, EXTRAS))
def test_tasks_run(extra: str):
    assert run(extra) == titles(extra) != []


@pytest.mark.spark
@pytest.mark.slow
def test_tasks_with_spark_run():
    assert run("spark") == titles("spark") != []


def test_the_overview_links_every_task():
    overview = first_attempts.PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    anchors = [attempt.title.lower().replace(" ", "-") for attempt in ATTEMPTS]
    assert [anchor for anchor in anchors if overview.count(f"(#{anchor})") != 1] == []
