"""The source beside Spark's own Kafka source: the same options, equal data frames, while the broker runs and after it."""

from __future__ import annotations

from pathlib import Path

import pytest

import streams
from cases import EVERYTHING, MANY, OFFSETS, REFUSED, STREAMS, TASKS, TIMES, TOPICS
from differential import Differential

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(900)]
ALL_TOPICS = {"subscribePattern": "t-.*"}
QUESTIONS = {name: ALL_TOPICS | options for name, options in EVERYTHING.items()} | TOPICS | OFFSETS | TIMES | TASKS
#: Asked again when the broker has stopped.
AFTERWARDS = [*EVERYTHING, "inside of transactions", "times", "in holes"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_while_the_broker_runs(differential: Differential, name: str) -> None:
    assert differential.difference(name, QUESTIONS[name]) is None


@pytest.mark.parametrize(("name", "least"), [("minPartitions", 7), ("maxRecordsPerPartition", 15), ("both", 8)])
def test_at_least_as_many_tasks(differential: Differential, name: str, least: int) -> None:
    """Spark 4.0 does not know maxRecordsPerPartition: its records are equal, its tasks are not."""
    tasks = differential.ours(TASKS[name]).rdd.getNumPartitions()
    assert tasks >= max(least, differential.theirs(name, TASKS[name])["tasks"])


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(differential: Differential, name: str) -> None:
    ours, theirs = differential.refusals(REFUSED[name])
    assert theirs, "Kafka's source reads"
    assert ours, f"ours reads, and Kafka's source says {theirs[:500]}"


@pytest.mark.parametrize("name", STREAMS)
def test_the_same_micro_batches(differential: Differential, name: str, tmp_path: Path) -> None:
    assert streams.difference(differential, STREAMS[name], tmp_path) is None


def test_a_checkpoint_of_kafkas_source_goes_on(differential: Differential, tmp_path: Path) -> None:
    """A query that only changes its format and gets a path reads nothing again and leaves nothing out."""
    options = MANY | {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "250"}
    assert streams.taken_over(differential, options, tmp_path, after=2) is None


def test_the_same_after_the_broker(differential: Differential) -> None:
    """Its last words are in the files now: checkpoints, snapshots, indexes cut to their length."""
    differential.broker.stop()
    differences = {name: differential.difference(name, QUESTIONS[name]) for name in AFTERWARDS}
    assert differences == dict.fromkeys(AFTERWARDS)
