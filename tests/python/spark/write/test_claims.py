"""Claims of tasks that write to a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faulty_place import replace_methods
from logsegment._core import Place

pytest.importorskip("pyspark.sql.datasource")

from logsegment.spark.write import places, task
from logsegment.spark.write.task import RENEWED_AFTER, Claims

TARGET = "s3://bucket"
JOB = "0" * 32
ATTEMPT = "task-0-1-first"


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, as_bucket: Any) -> None:
    as_bucket(tmp_path)


def files(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.is_file())


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def claims_of(clock: Clock) -> Claims:
    claims = Claims(places.claims(places.staging(TARGET, JOB), JOB), ATTEMPT, clock)
    claims.claim(["orders-0"])
    return claims


def test_a_claim_of_a_job_that_was_given_up_is_not_renewed(tmp_path: Path):
    clock = Clock()
    claims = claims_of(clock)
    places.remove_staging(TARGET, JOB)
    claims.claim([])
    clock.now += RENEWED_AFTER
    with pytest.raises(FileNotFoundError, match="the job was aborted"):
        claims.claim([])
    assert files(tmp_path) == []


def test_a_store_that_does_not_answer_when_a_claim_is_renewed_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    claims = claims_of(clock)
    put: list[str] = []
    for is_answering in (False, True):

        def exists(place: Place, is_answering: bool = is_answering) -> bool:
            if not is_answering:
                raise ConnectionError("nobody there")
            return True

        replace_methods(monkeypatch, task, exists=exists, put=lambda place, data: put.append(place.path))
        clock.now += RENEWED_AFTER
        claims.claim([])
        assert len(put) == is_answering


@pytest.mark.parametrize("late", [0, 1])
def test_what_is_sent_while_a_job_is_removed_is_removed_or_missed_by_its_task(late: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A directory of a store is listed, and what was listed is removed afterwards: the task sends in between."""
    claims = claims_of(Clock())
    sent = tmp_path / places.staging_name(JOB) / ATTEMPT / "00000000000000000000.log"
    is_kept: list[bool] = []

    def listed_and_removed(place: Place, *, tree: bool) -> None:
        assert tree
        listed = [path for path in (tmp_path / place.key).rglob("*") if path.is_file()]
        if len(is_kept) == late:
            sent.parent.mkdir(parents=True, exist_ok=True)
            sent.write_bytes(b"a")
        try:
            claims.ensure_kept()
            is_kept.append(True)
        except FileNotFoundError:
            is_kept.append(False)
        for path in listed:
            path.unlink()

    replace_methods(monkeypatch, places, remove=listed_and_removed)
    places.remove_staging(TARGET, JOB)
    assert is_kept == [True, False]
    # Behind the last listing it is for the task, which knows that the job was given up.
    assert files(tmp_path) == [sent.name] * late
