"""How all tests run: the Java of Spark, which tests a worker of pytest-xdist takes together, and what a skipped test counts for."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from typing import TYPE_CHECKING, TypeVar

import pytest

import short_lived_java

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

for variable, options in short_lived_java.SPARK_VARIABLES.items():
    os.environ.setdefault(variable, " ".join(options))

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def judged(report: Report) -> Report:
    """Return the report, failed if the test was skipped although REQUIRE_INTEROP says that everything is there, as CI sets it."""
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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Distribute as tests/support/scheduling.py says where the command line says `--dist loadfile`."""
    from scheduling import FileScheduling

    return FileScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


#: Files that take longest, first to last: those that wait for servers come before those that compute. Workers begin with them, so that
#: none is left alone with one at the end.
LONGEST = (
    "tests/interop/test_hdfs.py",
    "tests/python/spark/test_cluster.py",
    "tests/python/spark/test_columnar.py",
    "tests/interop/test_s3_store.py",
    "tests/interop/test_plugin_topics.py",
    "tests/python/spark/test_rewrite.py",
    "tests/python/test_docs.py",
    "tests/interop/",
    "tests/python/spark/",
    "tests/python/tiered/test_damaged_chunks.py",
)


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: there is none among twenty thousand that stay, and a look at all takes seconds."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage of the tests alone from here on. What hands them to workers never comes here; it makes hardly any."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a Spark session. Put the files that take longest first; the others stay in the order of their names."""

    def place(item: pytest.Item) -> int:
        return next((place for place, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))

    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    items.sort(key=place)
