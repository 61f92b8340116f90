"""Committed offsets read from a broker's disk are those that the broker gives its groups: KIP-98, played by a real client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import logsegment as ls
from kraft import QUIET, Broker

pytestmark = pytest.mark.interop
TOPIC = "orders"
PARTITIONS = 3


@pytest.fixture(scope="module")
def broker(new_broker: Callable[[], Broker]) -> Iterator[Broker]:
    started = new_broker()
    try:
        started.start()
        started.create_topics([TOPIC], partitions=PARTITIONS)
        yield started
    finally:
        started.stop()


def settings(broker: Broker, **options: Any) -> dict[str, Any]:
    common = {"bootstrap.servers": broker.servers, "log_level": 0, "logger": QUIET}
    return common | {name.replace("_", "."): value for name, value in options.items()}


def commit(broker: Broker, group: str, offset: int, partition: int = 0) -> None:
    """Commit at once, as a consumer does."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(settings(broker, group_id=group, enable_auto_commit=False))
    consumer.commit(offsets=[TopicPartition(TOPIC, partition, offset)], asynchronous=False)
    consumer.close()


def transaction(broker: Broker, name: str, group: str, offset: int, partition: int = 0) -> Any:
    """Begin a transaction and send an offset in it; return its producer."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer(settings(broker, transactional_id=name))
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, value=b"x", partition=partition)
    consumer = Consumer(settings(broker, group_id=group, enable_auto_commit=False))
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, partition, offset)], consumer.consumer_group_metadata(), 60)
    producer.flush(60)
    consumer.close()
    return producer


def told_by_the_broker(broker: Broker, groups: list[str]) -> dict[tuple[str, str, int], int]:
    from confluent_kafka import ConsumerGroupTopicPartitions

    admin = broker.admin()
    found: dict[tuple[str, str, int], int] = {}
    for group in groups:
        ((_, asked),) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], require_stable=False).items()
        for partition in asked.result(60).topic_partitions:
            if partition.offset >= 0:
                found[group, partition.topic, partition.partition] = partition.offset
    return found


def read(broker: Broker) -> dict[tuple[str, str, int], int]:
    offsets = ls.committed_offsets(broker.logs)
    found = {(offset.group, offset.topic, offset.partition): offset.committed_offset for offset in offsets}
    assert offsets.findings == []
    return found


def test_the_disk_says_what_the_broker_says(broker: Broker) -> None:
    """Committed, aborted and pending transactions, plain commits of other groups after an open one, and a deleted group."""
    groups = ["committed", "aborted", "pending", "plain", "mixed", "deleted", "only-pending"]
    for group in ("aborted", "pending", "plain", "deleted"):
        commit(broker, group, 1)
    commit(broker, "mixed", 1)
    transaction(broker, "t-committed", "committed", 5).commit_transaction(60)
    transaction(broker, "t-aborted", "aborted", 500).abort_transaction(60)
    transaction(broker, "t-mixed", "mixed", 7, 1).commit_transaction(60)
    pending = [transaction(broker, "t-pending", "pending", 500), transaction(broker, "t-only", "only-pending", 3, 2)]
    # After two transactions that are open.
    commit(broker, "plain", 9, 2)
    commit(broker, "mixed", 4)
    admin = broker.admin()
    for asked in admin.delete_consumer_groups(["deleted"]).values():
        asked.result(60)
    told = told_by_the_broker(broker, groups)
    assert told["aborted", TOPIC, 0] == told["pending", TOPIC, 0] == 1
    assert (told["plain", TOPIC, 2], told["committed", TOPIC, 0]) == (9, 5)
    wait_until(lambda: read(broker) == told)
    assert read(broker) == told
    waiting = {offset.group for offset in ls.committed_offsets(broker.logs) if offset.is_pending}
    assert waiting == {"pending"}
    for producer in pending:
        producer.commit_transaction(60)
    told = told_by_the_broker(broker, groups)
    assert told["pending", TOPIC, 0] == 500
    broker.stop()
    assert read(broker) == told


def wait_until(holds: Callable[[], bool]) -> None:
    """What a broker answers may be written a moment later."""
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.2)
