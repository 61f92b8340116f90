"""Simulated histories in a Spark session (tests/simulation/in_spark.py): both readers return the rows of the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_session import columnar_options
from tests.simulation import history, in_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK")
def test_both_readers_return_the_rows_of_the_model(spark, tmp_path: Path):
    laws = [in_spark.law_of(spark, reader) for reader in in_spark.READERS]
    failures = [
        failure
        for seed in range(700_000, 700_010)
        if (failure := history.first_failure(seed, in_spark.steps_for(seed, laws), tmp_path / str(seed)))
    ]
    assert not failures, "\n".join(f"{failure.line}\n{failure.text}" for failure in failures)
