"""Exports that are killed at any moment and started again, and exports that run at the same time: nothing is doubled, nothing is lost."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import corpus
import export_runs
import lake

#: Every codec, transactions, compaction, several segments, and logs of Kafka 0.8 to 2.4.
NAMES = {
    "modern-4.1.0": [
        *("codec-none-0", "codec-gzip-0", "codec-snappy-0", "codec-lz4-0", "codec-zstd-0", "transactions-0", "transactions-1"),
        *("transactions-multi-segment-0", "compacted-0", "compacted-transactions-0", "multi-segment-0", "multi-segment-1"),
        *("logappendtime-0", "idempotent-mixed-codecs-0", "edge-records-0"),
    ],
    "legacy-0.8.2.2": ["compacted-gzip-0", "many-tiny-0"],
    "legacy-0.11.0.3": ["upgraded-v0-v1-v2-0", "compacted-none-0"],
    "legacy-2.4.1": ["from-client-0.8.2.2-to-format-0.10.2-0"],
}
SOURCE = [str(corpus.CORPUS / name / "data" / partition) for name, partitions in NAMES.items() for partition in partitions]
#: How often exports are killed: `make interop` sets it to 200.
KILLS = int(os.environ.get("EXPORT_KILLS", "8"))
OPTIONS = {"commit_bytes": 10_000}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[export_runs.Exports]:
    with export_runs.exports(tmp_path_factory.mktemp("exports")) as running:
        yield running


def rows_of(kind: str, place: Path) -> list[lake.Row]:
    return lake.iceberg_rows(place, "kafka.records") if kind == "iceberg" else lake.delta_rows(place)


def target(kind: str, place: Path) -> str:
    return f"iceberg:{place}/kafka.records" if kind == "iceberg" else f"delta:{place}"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_killed_exports(kind: str, runs: export_runs.Exports, tmp_path: Path) -> None:
    expected = lake.decoded_rows(SOURCE)
    begun = time.monotonic()
    whole = runs.run(SOURCE, target(kind, tmp_path / "whole"), **OPTIONS)
    duration = time.monotonic() - begun
    assert whole["rows"] == len(expected)
    assert len(whole["commits"]) > 10
    chance = random.Random(KILLS)
    killed = finished = 0
    while killed < KILLS:
        # Some exports are killed a few times, others again and again.
        place, pace = tmp_path / f"{finished}", chance.choice([1.0, 0.5, 0.1])
        result = {"killed": True}
        while killed < KILLS:
            process = runs.start(SOURCE, target(kind, place), **OPTIONS)
            result = runs.kill(process, chance.uniform(0, pace * duration))
            if "killed" not in result:
                break
            killed += 1
        if "killed" in result:
            result = runs.run(SOURCE, target(kind, place), **OPTIONS)
        assert "error" not in result, result
        finished += 1
        rows = rows_of(kind, place)
        assert len(rows) == len(set(lake.offsets_of(rows))) == len(expected)
        assert lake.digest(rows) == lake.digest(expected)
        assert runs.run(SOURCE, target(kind, place))["rows"] == 0
    assert killed == KILLS


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_two_exports_at_once(kind: str, runs: export_runs.Exports, tmp_path: Path) -> None:
    """Both end well or one fails; a further run adds what is missing."""
    expected = lake.decoded_rows(SOURCE)
    for number in range(2):
        to = target(kind, tmp_path / f"{number}")
        orders = [SOURCE, SOURCE[::-1]]
        processes = [runs.start(source, to, **OPTIONS) for source in orders]
        results = [runs.wait(process) for process in processes]
        assert any("error" not in result for result in results), results
        last = runs.run(SOURCE, to)
        rows = rows_of(kind, tmp_path / f"{number}")
        assert len(rows) == len(set(lake.offsets_of(rows))) == len(expected), results
        assert lake.digest(rows) == lake.digest(expected)
        added = sum(result.get("rows", 0) for result in (*results, last))
        assert added == len(rows) or any("error" in result for result in results)
