"""The Spark session of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """A session on this machine in which nothing of logsegment is registered."""
    # Without pyspark, the files that need it are skipped, and the others still run.
    from spark_session import spark_session

    return spark_session()
