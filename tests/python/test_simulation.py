"""Histories of simulated logs with fixed seeds (tests/simulation, docs/project/simulation.md), and the seeds of those that once failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from slow import slow_after
from tests.simulation import history

#: A function runs in a worker of its own. Nightly runs go on for an hour.
SEEDS = 50


def assert_laws_hold(first: int, directory: Path) -> None:
    failures = [failure for seed in range(first, first + SEEDS) if (failure := history.run(seed, directory / str(seed)))]
    assert not failures, "\n".join(f"{failure.line}\n{failure.text}" for failure in failures)


@pytest.mark.parametrize("first", slow_after(1, [0, SEEDS]))
def test_laws_hold_in_the_first_histories(first: int, tmp_path: Path):
    assert_laws_hold(first, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", [1000, 1000 + SEEDS])
def test_laws_hold_in_more_histories(first: int, tmp_path: Path):
    assert_laws_hold(first, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", [2000, 2000 + SEEDS])
def test_laws_hold_in_still_more_histories(first: int, tmp_path: Path):
    assert_laws_hold(first, tmp_path)


def test_a_seed_repeats_its_history():
    assert history.steps_of(7) == history.steps_of(7) != history.steps_of(8)


def test_a_broken_law_is_reported_with_few_steps(tmp_path: Path):
    """A law that no log of more than one batch keeps: the history is shrunk to the steps that break it."""

    def has_one_batch(scene: history.Scene) -> None:
        assert len(scene.batches) <= 1

    names = ["append", "roll", "elect", "append", "roll"]
    steps = [history.Step(name, seed, ((has_one_batch, 0),)) for seed, name in enumerate(names)]
    failure = history.first_failure(1, steps, tmp_path / "1")
    assert failure is not None
    shrunk = history.shrink(failure, tmp_path / "1")
    assert shrunk.line == f"seed=1 step={len(shrunk.steps)} law=has_one_batch path={tmp_path / '1'}"
    assert {step.action for step in shrunk.steps} <= {"append", "roll"}
    assert len(shrunk.steps) <= 2
    assert list((tmp_path / "1/disk").glob("*/*.log"))
