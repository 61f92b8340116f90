"""Catalogs and stores that answer with errors: commits that were made, that were not, and of which nobody knows."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corpus
import lake
import logsegment as ls
from logsegment._export import commits

DATA = corpus.CORPUS / "modern-4.1.0/data"
SOURCE = [DATA / "multi-segment-0", DATA / "transactions-0", DATA / "codec-zstd-0"]
ROWS = 288 + 34 + 240
SEEDS = range(12)


class ServerError(Exception):
    """What a catalog answers with."""


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "FIRST_WAIT", 0.0)


Faults = Callable[[str], None]


def faulty_catalog(place: Path, fault: Faults) -> Any:
    """The catalog in a directory; `fault` is called before and after what changes or loads a table, and may raise."""
    from pyiceberg.catalog.sql import SqlCatalog

    class FaultyCatalog(SqlCatalog):
        def commit_table(self, *arguments: Any) -> Any:
            fault("before commit")
            made = super().commit_table(*arguments)
            fault("after commit")
            return made

        def load_table(self, identifier: Any) -> Any:
            fault("load")
            return super().load_table(identifier)

    return FaultyCatalog("default", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")


def given_iceberg(place: Path, fault: Faults) -> Any:
    """A table whose catalog is faulty; it has no rows."""
    ls.export(SOURCE[0], f"iceberg:{place}/kafka.records", end_offset=0)
    working = [False]
    catalog = faulty_catalog(place, lambda when: fault(when) if working[0] else None)
    table = catalog.load_table("kafka.records")
    working[0] = True
    return table


def faulty_delta(monkeypatch: pytest.MonkeyPatch, fault: Faults) -> None:
    """Let commits to Delta tables fail."""
    from deltalake import DeltaTable

    commit = DeltaTable.create_write_transaction

    def failing(self: Any, *arguments: Any, **options: Any) -> None:
        fault("before commit")
        commit(self, *arguments, **options)
        fault("after commit")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", failing)


class Chance:
    """Raises errors now and then, at places of a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.raised: list[str] = []

    def __call__(self, when: str) -> None:
        if self._chance.random() < 0.25:
            self.raised.append(when)
            raise self._chance.choice([ServerError("503"), ConnectionError("reset"), TimeoutError("timed out")])


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_errors_of_a_catalog(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run ends well: nothing is doubled, nothing is lost, whatever an error meant."""
    expected = lake.digest(lake.decoded_rows(SOURCE))
    raised: list[str] = []
    for seed in SEEDS:
        place = tmp_path / f"{seed}"
        chance = Chance(seed)
        with monkeypatch.context() as patch:
            if kind == "delta":
                faulty_delta(patch, chance)
                exported = ls.export(SOURCE, f"delta:{place}", commit_bytes=5000)
                rows = lake.delta_rows(place)
            else:
                exported = ls.export(SOURCE, given_iceberg(place, chance), commit_bytes=5000)
                rows = lake.iceberg_rows(place, "kafka.records")
        assert exported.rows == sum(commit.rows for commit in exported.commits) == len(rows) == ROWS
        assert lake.digest(rows) == expected
        raised += chance.raised
    assert {"before commit", "after commit"} <= set(raised)
    assert len(raised) > 20


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_errors_that_do_not_end(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some attempts the error is raised, with the table; what was committed stays, and a later run adds the rest."""
    made: list[str] = []

    def fault(when: str) -> None:
        made.append(when)
        if made.count("after commit") >= 2:
            raise ServerError("the catalog is down")

    with monkeypatch.context() as patch:
        to: Any = f"delta:{tmp_path}"
        if kind == "delta":
            faulty_delta(patch, fault)
        else:
            to = given_iceberg(tmp_path, fault)
        with pytest.raises(OSError, match="the catalog is down"):
            ls.export(SOURCE, to, commit_bytes=5000)
    to = f"delta:{tmp_path}" if kind == "delta" else f"iceberg:{tmp_path}/kafka.records"
    rest = ls.export(SOURCE, to)
    rows = lake.delta_rows(tmp_path) if kind == "delta" else lake.iceberg_rows(tmp_path, "kafka.records")
    assert 0 < rest.rows < ROWS
    assert lake.digest(rows) == lake.digest(lake.decoded_rows(SOURCE))


def test_an_error_that_is_final_is_raised_at_once(tmp_path: Path) -> None:
    from pyiceberg.exceptions import ForbiddenError

    calls: list[str] = []

    def fault(when: str) -> None:
        if when == "before commit":
            calls.append(when)
            raise ForbiddenError("not allowed")

    with pytest.raises(OSError, match=r"kafka\.records: not allowed"):
        ls.export(SOURCE, given_iceberg(tmp_path, fault))
    assert len(calls) == 1


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_another_run_commits_first(kind: str, tmp_path: Path) -> None:
    """The whole of what a run has read is in the table when it commits, or a part of it."""
    to = f"iceberg:{tmp_path}/kafka.records" if kind == "iceberg" else f"delta:{tmp_path}/delta"
    ls.export(SOURCE, to, end_offset=0)
    for end in (100, 288):
        seen: list[int] = []

        def overtake(commit: Any, end: int = end, seen: list[int] = seen) -> None:
            if not seen:
                seen.append(ls.export(SOURCE, to, end_offset=end).rows)

        ls.export(SOURCE, to, commit_bytes=3000, end_offset=end, on_commit=overtake)
        assert seen[0] > 0
        rows = lake.iceberg_rows(tmp_path, "kafka.records") if kind == "iceberg" else lake.delta_rows(tmp_path / "delta")
        assert lake.digest(rows) == lake.digest(lake.decoded_rows(SOURCE, end_offset=end))


def test_discarded_files_are_removed(tmp_path: Path) -> None:
    """Of a run that fails, and of rows that another run has committed."""
    source = corpus.TESTS.parent / "examples/damaged-0"
    with pytest.raises(ls.ChecksumError):
        ls.export(source, f"delta:{tmp_path}/delta")
    assert not list((tmp_path / "delta").rglob("*.parquet"))
    with pytest.raises(ls.ChecksumError):
        ls.export(source, f"iceberg:{tmp_path}/kafka.records", commit_bytes=1)
    table = lake.iceberg(tmp_path, "kafka.records")
    files = {path.name for path in tmp_path.rglob("logsegment-*.parquet")}
    assert files == {path.rpartition("/")[2] for path in table.inspect.files()["file_path"].to_pylist()}
