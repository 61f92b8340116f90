"""A real broker starts on what Spark wrote, and its clients return the rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import librdkafka
import rows
from kraft import Broker
from peers import Peer
from rows import CREATE_TIME, Row

pytestmark = [pytest.mark.interop, pytest.mark.spark]
START = 1_700_000_000_000
SCHEMA = "key binary, value binary, headers array<struct<key:string,value:binary>>, timestamp timestamp, topic string"


def written(count: int) -> list[Row]:
    """Tombstones, null keys, headers, in the order of their offsets."""
    found = []
    for index in range(count):
        key = None if index % 5 == 0 else f"key {index}".encode()
        value = None if index % 7 == 0 else b"value %d " % index * (index % 11)
        headers = (("a", b"1"), ("a", None), ("", b"")) if index % 3 == 0 else ()
        found.append(Row(index, START + index, CREATE_TIME, key, value, headers))
    return found


def test_a_broker_starts_on_what_spark_wrote(new_broker: Callable[[], Broker], peer: Callable[[str], Peer], scratch: Path) -> None:
    """Two jobs of two tasks for each codec, in segments of 20 kB. It recovers all logs at the first start."""
    from spark_session import spark_session

    spark = spark_session()
    expected = written(1200)
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    target = scratch / "spark-written"
    for codec in codecs:
        for part in (expected[:700], expected[700:]):
            slices = [(row.key, row.value, list(row.headers) or None, moment(row.timestamp), f"spark-{codec}") for row in part]
            frame = spark.createDataFrame(spark.sparkContext.parallelize(slices, 2), SCHEMA)
            options = {"compression": codec, "segmentBytes": "20000", "batchBytes": "2000"}
            frame.write.format("logsegment").options(**options).mode("append").save(str(target))
    broker = new_broker()
    broker.start()
    topics = [f"spark-{codec}" for codec in codecs]
    broker.create_topics(topics)
    broker.stop()
    for topic in topics:
        files = sorted((target / f"{topic}-0").iterdir())
        assert len([file for file in files if file.suffix == ".log"]) >= 2, "the test is about several segments"
        broker.replace(topic, files)
    broker.start()
    found = librdkafka.consume(broker.servers, topics)
    for topic in topics:
        out = scratch / f"{topic}.rows"
        peer("4.3.1").ask("consume", broker.servers, topic, "read_committed", str(out))
        assert rows.difference(found[topic], expected) is None, topic
        assert rows.difference(rows.load_rows(out), expected) is None, topic
    broker.stop()


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
