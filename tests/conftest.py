"""Where all that the tests can ask for is there (REQUIRE_INTEROP, as CI sets it), a test that skips has failed."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def judged(report: Report) -> Report:
    """The same report, failed when it was skipped for want of something. What is expected to fail is no skip."""
    if os.environ.get("REQUIRE_INTEROP") and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"nothing may be missing here (REQUIRE_INTEROP): {why}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of a test."""
    return judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Of a file that is skipped as a whole."""
    return judged((yield))


#: Files that take longest, first to last. Workers begin with them, so that none is left alone with one at the end.
LONGEST = (
    "tests/spark_kafka/test_spark_kafka.py",
    "tests/python/test_docs.py",
    "tests/interop/",
    "tests/python/spark/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first; the others stay in the order of their names."""

    def place(item: pytest.Item) -> int:
        return next((place for place, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))

    items.sort(key=place)
