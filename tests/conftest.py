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
