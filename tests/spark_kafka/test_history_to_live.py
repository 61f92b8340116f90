"""History from the disk of a broker at work, then Spark's own Kafka source: each record once, wherever the cut is."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import eras
from kafka_source import KafkaSource
from kraft import Broker
from logsegment.spark import load, next_offsets
from streaming import QUICK, TOPICS, Load

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(1800)]
RUNS = int(os.environ.get("HISTORY_RUNS", "5"))
#: What is deleted is older than the time between a plan and the start of the live query.
RETENTION = {"short-lived": {"retention.bytes": str(32 << 20)}}
READ = ("kept", "short-lived", "paid")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Load]]:
    """A broker with a producer that goes on, rolls of segments, retention and transactions."""
    eras.need(*eras.NEEDED_COMMANDS)
    broker = Broker(tmp_path_factory.mktemp("history") / "broker", QUICK)
    broker.start()
    try:
        for topic in READ:
            broker.create_topics([topic], **TOPICS[topic] | RETENTION.get(topic, {}))
        broker.create_topics(["compacted"], **TOPICS["compacted"])
        producing = Load(broker)
        time.sleep(15)
        yield broker, producing
        producing.stop()
    finally:
        broker.stop()


@pytest.mark.parametrize("run", range(RUNS))
def test_each_record_once(spark: SparkSession, kafka_source: KafkaSource, busy: tuple[Broker, Load], tmp_path: Path, run: int) -> None:
    broker, producing = busy
    time.sleep(random.Random(run).uniform(0, 3))
    options = {"subscribe": ",".join(READ), "isolation": "read_committed"}
    until = next_offsets(spark, broker.logs, **options)
    time.sleep(random.Random(run).uniform(0, 2))
    history = load(spark, broker.logs, endingOffsets=until, failOnDataLoss=False, columns="topic,offset", **options).collect()
    live_options = {
        "kafka.bootstrap.servers": broker.servers,
        "subscribe": options["subscribe"],
        "startingOffsets": until,
        "kafka.isolation.level": "read_committed",
    }
    kafka_source.read(live_options, tmp_path / "live")
    live = pq.read_table(tmp_path / "live", columns=["topic", "offset"]).to_pylist()
    for topic in READ:
        before = [row.offset for row in history if row.topic == topic]
        after = [row["offset"] for row in live if row["topic"] == topic]
        assert after, topic
        counts = Counter([*before, *after])
        assert set(counts.values()) == {1}
        # Retention deletes what is oldest, also while the query runs: what the broker still had is there without a hole.
        first = min(counts) if topic == "short-lived" else 0
        expected = {offset for offset in dict(producing.delivered[topic]) if first <= offset <= max(after)}
        assert set(counts) == expected
