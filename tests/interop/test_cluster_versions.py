"""Killed brokers of Kafka 3.9 and 4.0: their disks show what they answered."""

from __future__ import annotations

from pathlib import Path

import pytest

import eras
import kraft
import logsegment as ls
from cluster_answers import PROPERTIES, answers
from test_cluster_broker import same
from test_cluster_three_brokers import agree

pytestmark = [pytest.mark.interop, pytest.mark.nightly]
KAFKA_4_0 = eras.Era("4.0.0", ("org.apache.kafka:kafka_2.13:4.0.0", "org.apache.kafka:kafka-tools:4.0.0"), ())


LACKS = {kraft.BEFORE_4: "share,consumer,group-configs", KAFKA_4_0: "share"}


@pytest.mark.parametrize("era", LACKS, ids=lambda era: era.version)
def test_an_older_release(era: eras.Era, tmp_path: Path) -> None:
    broker = kraft.Broker(tmp_path / "broker", PROPERTIES, era)
    try:
        broker.start()
        with answers(broker.servers, tmp_path, "setup", lacks=LACKS[era]) as told:
            assert broker.process is not None
            broker.process.kill()
            broker.process.wait()
        dead = ls.cluster(broker.logs)
        assert [finding.message for finding in dead.findings if finding.severity != "info"] == []
        agree(dead, told)
        here = {(row["topic"], row["partition"]) for row in told["ends"]}
        same([row for row in dead.partitions.to_pylist() if (row["topic"], row["partition"]) in here], told["ends"])
    finally:
        broker.stop()
