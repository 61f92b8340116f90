"""The source beside Spark's own Kafka source: the same options, equal data frames, while the broker runs and after it."""

from __future__ import annotations

import pytest

from cases import EVERYTHING
from differential import Differential

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
#: The topics as directories, and as Spark's Kafka source names them.
DIRECTORIES, TOPICS = "t-*-[0-9]", {"subscribePattern": "t-.*"}


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_same_while_the_broker_runs(differential: Differential, name: str) -> None:
    assert differential.difference(name, EVERYTHING[name], directories=DIRECTORIES, more=TOPICS) is None


def test_the_same_after_the_broker(differential: Differential) -> None:
    """Its last words are in the files now: checkpoints, snapshots, indexes cut to their length."""
    differential.broker.stop()
    differences = {
        name: differential.difference(name, options, directories=DIRECTORIES, more=TOPICS) for name, options in EVERYTHING.items()
    }
    assert differences == dict.fromkeys(EVERYTHING)
