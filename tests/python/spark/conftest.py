"""The Spark session of the tests, and the readers with which tests of reads run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
#: Test files of batch queries: each test runs with both readers.
BOTH = {
    "test_closed_segments.py",
    "test_damage_reports.py",
    "test_source.py",
    "read/test_decoding.py",
    "read/test_detected_values.py",
    "read/test_dotted_fields.py",
    "read/test_modes.py",
    "read/test_offset_options.py",
    "read/test_options.py",
    "read/test_plan.py",
    "read/test_positions_0_7.py",
    "read/test_ranges.py",
    "read/test_tiered.py",
    "read/test_unusual_json.py",
    "read/test_views.py",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "spark" in metafunc.fixturenames and Path(metafunc.module.__file__).relative_to(HERE).as_posix() in BOTH:
        metafunc.parametrize("spark", ["python", "auto"], indirect=True, scope="session")


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> SparkSession:
    """A session on this machine in which nothing of logsegment is registered.

    Its reader is the columnar one, where that is built and can read a query; with the parameter "python" it is the one in Python.
    """
    # Without pyspark, the files that need it are skipped, and the others still run.
    from spark_session import columnar_options, spark_session

    reader = getattr(request, "param", "auto")
    session = spark_session()
    if hasattr(request, "param") and reader == "auto" and not columnar_options():
        pytest.skip("the columnar reader is not built: it needs a JDK")
    session.conf.set("spark.logsegment.reader", reader)
    return session
