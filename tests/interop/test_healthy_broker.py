"""The disk of a healthy broker gives no warning: it compacts, rolls, aborts, expires producers and deletes records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from cli_process import run
from kraft import QUIET, Broker

pytestmark = pytest.mark.interop

PROPERTIES = """log.cleaner.enable=true
log.cleaner.backoff.ms=200
log.cleaner.min.cleanable.ratio=0.0001
log.cleaner.delete.retention.ms=200
log.segment.delete.delay.ms=1000
log.initial.task.delay.ms=500
log.retention.check.interval.ms=500
offsets.topic.segment.bytes=1048576
producer.id.expiration.ms=1500
producer.id.expiration.check.interval.ms=300
transactional.id.expiration.ms=8000
transaction.remove.expired.transaction.cleanup.interval.ms=500
transaction.abort.timed.out.transaction.cleanup.interval.ms=300
"""
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0001", "segment.ms": "400", "delete.retention.ms": "0"}
HOUR = 3_600_000
ROUNDS = 6


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, new_broker: Callable[[], Broker]) -> Iterator[Broker]:
    started = Broker(tmp_path_factory.mktemp("healthy") / "broker", PROPERTIES)
    try:
        started.start()
        started.create_topics(["compacted"], partitions=2, **COMPACTED)
        started.create_topics(["events"], partitions=2, **COMPACTED | {"segment.ms": str(4 * HOUR)})
        started.create_topics(["kept"], partitions=2, **COMPACTED | {"delete.retention.ms": "86400000"})
        started.create_topics(["appended"], **COMPACTED, **{"message.timestamp.type": "LogAppendTime"})
        started.create_topics(["deleted", "plain"], **{"segment.ms": "400"})
        work(started)
        yield started
    finally:
        started.stop()


def producer(broker: Broker, **options: Any):
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": broker.servers, "log_level": 0, "linger.ms": 0, "enable.idempotence": True, "logger": QUIET}
    return Producer(settings | {name.replace("_", "."): value for name, value in options.items()})


def work(broker: Broker) -> None:
    """Several producers at once."""
    with ThreadPoolExecutor(7) as pool:
        tasks = [pool.submit(transactional, broker, f"txn-{number}", topic) for number, topic in enumerate(TOPICS)]
        tasks += [pool.submit(idempotent, broker, number) for number in range(2)]
        for task in tasks:
            task.result()
    delete_records(broker)
    wait_until_compacted(broker)


TOPICS = ("compacted", "events", "kept", "kept", "appended")


def transactional(broker: Broker, name: str, topic: str) -> None:
    """Commit and abort, and leave a transaction open until the coordinator aborts it; twice under one name, with the next epochs."""
    for life in range(2):
        own = producer(broker, transactional_id=name)
        own.init_transactions(60)
        for at in range(ROUNDS):
            own.begin_transaction()
            write(own, topic, at, begin=stamp(topic, life * ROUNDS + at))
            if at % 3 == 2:
                own.abort_transaction(60)
            else:
                own.commit_transaction(60)
            # Longer than the broker remembers a producer.
            time.sleep(2 if at == 3 else 0.05)
        left = producer(broker, transactional_id=name, transaction_timeout_ms=3000)
        left.init_transactions(60)
        left.begin_transaction()
        left.produce(topic, key="left", value=b"open", partition=0)
        left.flush(60)
        time.sleep(5)


def stamp(topic: str, hour: int) -> int:
    """Times of events are those of yesterday, hours apart; the others are those of the clock."""
    now = time.time_ns() // 1_000_000
    return now - 24 * HOUR + hour * HOUR if topic == "events" else now


def write(own: Any, topic: str, at: int, *, begin: int) -> None:
    for number in range(20):
        partition = number % 2 if topic != "appended" else 0
        # Every third transaction has keys of its own, so that compaction keeps its batches and takes out those of the next ones.
        key = f"{at}-{number}" if at % 3 == 0 else f"{number % 7}"
        time_of_event = begin + number * (HOUR // 6 if topic == "events" else 1)
        own.produce(topic, key=key, value=f"{at}-{number}" * 20, timestamp=time_of_event, partition=partition)
        if number % 5 == 4:
            own.flush(60)


def idempotent(broker: Broker, number: int) -> None:
    """Write to every topic, and pause for longer than the broker remembers a producer."""
    own = producer(broker)
    for at in range(ROUNDS * 2):
        for topic in ("compacted", "kept", "events", "deleted", "plain"):
            write(own, topic, at, begin=stamp(topic, at)) if topic not in ("deleted", "plain") else write_one(own, topic, at)
        if at % 4 == 3:
            time.sleep(2.5)


def write_one(own: Any, topic: str, at: int) -> None:
    for number in range(20):
        own.produce(topic, key=f"{number}", value=b"x" * 100, timestamp=stamp(topic, at), partition=0)
    own.flush(30)


def delete_records(broker: Broker) -> None:
    from confluent_kafka import TopicPartition

    admin = broker.admin()
    for asked in admin.delete_records([TopicPartition("deleted", 0, 201)]).values():
        asked.result(30)


def wait_until_compacted(broker: Broker) -> None:
    """Until the cleaner has left gaps, and files to delete are gone."""
    deadline = time.monotonic() + 60
    while not all(has_gaps(broker, topic) for topic in ("compacted", "kept")):
        assert time.monotonic() < deadline, "the broker does not compact"
        time.sleep(0.5)
    # Until transactional ids expire, and files to delete are gone.
    time.sleep(9)


def has_gaps(broker: Broker, topic: str) -> bool:
    return any(later["baseOffset"] > earlier["lastOffset"] + 1 for earlier, later in pairwise(entries(broker, topic)))


def entries(broker: Broker, topic: str) -> list[dict[str, Any]]:
    return [row for path in sorted(broker.partition(topic).glob("*.log")) for row in ls.batches(path).to_pylist()]


def warnings(place: Path) -> list[str]:
    done = run("verify", "--json", "--fail-on", "warning", place)
    found = [
        f"{row['file']}: {row['rule']} {row['message']}" for row in done.lines if row["type"] == "finding" and row["severity"] != "info"
    ]
    return found or ([] if done.code == 0 else [f"exit code {done.code}: {done.err}"])


def test_the_work_is_what_the_tests_are_about(broker: Broker) -> None:
    rows = entries(broker, "compacted")
    assert len(list(broker.partition("compacted").glob("*.log"))) >= 2
    assert {row["isControl"] for row in rows} == {True, False}
    states = {transaction.state for transaction in ls.transactions([broker.partition("events", number) for number in range(2)])}
    assert states == {"committed", "aborted"}
    assert any(row["isControl"] for row in entries(broker, "kept"))


def test_a_running_broker_gives_no_warning(broker: Broker) -> None:
    own = producer(broker, transactional_id="open", transaction_timeout_ms=60_000)
    own.init_transactions(30)
    own.begin_transaction()
    write(own, "events", 0, begin=stamp("events", 0))
    write(own, "compacted", 0, begin=stamp("compacted", 0))
    assert warnings(broker.logs) == []
    done = run("txn", "--json", "--all", broker.logs)
    assert done.code == 0
    assert {row["state"] for row in done.lines} >= {"committed", "open"}
    assert [row for row in done.lines if row["durationMs"] > 10 * 60_000] == []
    own.commit_transaction(30)


def test_the_disk_after_a_clean_stop_gives_no_warning(broker: Broker) -> None:
    broker.stop()
    assert warnings(broker.logs) == []
    names = {path.name for path in broker.logs.iterdir() if path.is_dir()}
    assert {"__transaction_state-0", "__cluster_metadata-0"} <= names
    done = run("txn", "--json", "--all", broker.logs)
    assert {row["state"] for row in done.lines} == {"committed", "aborted"}
    for topic in ("compacted", "kept", "events"):
        assert [finding for finding in ls.Log(broker.partition(topic)).validate().findings if finding.severity != "info"] == []
