"""librdkafka, by its Python package: what a broker holds as this client reads it, and what it sends."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from kraft import QUIET
from rows import NO_TIMESTAMP_TYPE, Row

#: librdkafka's kinds of timestamp: not available, create time, log append time.
KINDS = {0: NO_TIMESTAMP_TYPE, 1: 0, 2: 1}


def consume(servers: str, topics: Iterable[str], *, seconds: float = 60) -> dict[str, list[Row]]:
    """Partition 0 of each topic from its start to its end. The rows of a topic that could not be read end at the fault, which is raised."""
    found: dict[str, list[Row]] = {topic: [] for topic in topics}
    waiting = set(found)
    consumer = new_consumer(servers)
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in found])
        deadline = time.monotonic() + seconds
        while waiting:
            assert time.monotonic() < deadline, f"librdkafka did not reach the end of {sorted(waiting)}"
            for message in consumer.consume(500, timeout=0.5):
                if message.error() is None:
                    found[message.topic()].append(row(message))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    waiting.discard(message.topic())
                else:
                    raise ValueError(f"{message.topic()}: {message.error()}")
    finally:
        consumer.close()
    return found


def first_from(servers: str, topic: str, offset: int, *, seconds: float = 60) -> Row:
    """The first record that a fetch from this offset of partition 0 gives."""
    consumer = new_consumer(servers)
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = consumer.poll(seconds)
        assert message is not None, f"{topic}: nothing came from offset {offset}"
        assert message.error() is None, f"{topic}: {message.error()}"
        return row(message)
    finally:
        consumer.close()


def offset_for_time(servers: str, topic: str, timestamp: int, *, seconds: float = 60) -> int:
    """What the broker answers to the question for the first record of this time or later in partition 0; -1 when there is none."""
    consumer = new_consumer(servers)
    try:
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, timestamp)], timeout=seconds)
        assert found.error is None, found.error
        return int(found.offset)
    finally:
        consumer.close()


def new_consumer(servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "logsegment-interop",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            "fetch.wait.max.ms": 50,
            "logger": QUIET,
        }
    )


def produce(servers: str, topic: str, batches: Sequence[Sequence[Row]], codec: str) -> None:
    """Send these records to partition 0, each batch apart from the others."""
    failures: list[KafkaError] = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "compression.type": codec,
            "linger.ms": 5000,
            "batch.num.messages": 100_000,
            "message.max.bytes": 1_000_000,
            "batch.size": 900_000,
            "logger": QUIET,
        }
    )
    for batch in batches:
        for record in batch:
            headers = list(record.headers)
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=0,
                timestamp=record.timestamp,
                headers=headers,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        assert producer.flush(30) == 0, f"{topic}: not all was delivered"
    assert not failures, failures


def row(message: Message) -> Row:
    kind, timestamp = message.timestamp()
    headers = tuple((key, value) for key, value in message.headers() or ())
    offset = message.offset()
    assert offset is not None
    return Row(offset, timestamp if KINDS[kind] >= 0 else -1, KINDS[kind], message.key(), message.value(), headers)
