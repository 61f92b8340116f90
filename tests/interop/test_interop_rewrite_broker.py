"""A 4.3.1 broker on rewritten logs: it keeps every byte, its consumers see the kept records, and producers go on where they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import rows
from kraft import QUIET, VERSION, Broker
from peers import Peer

pytestmark = pytest.mark.interop
DATA = corpus.CORPUS / "modern-4.1.0/data"
PARTITIONS = ("codec-none-0", "codec-zstd-0", "codec-lz4-0", "compacted-0", "idempotent-mixed-codecs-0", "transactions-multi-segment-0")


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Topic -> the rewritten partition, which lost every third key."""
    place = tmp_path_factory.mktemp("rewritten")
    found = {}
    for partition in PARTITIONS:
        ls.rewrite(DATA / partition, place / partition, drop=dropped(partition))
        found[partition] = place / partition / partition
    return found


@pytest.fixture(scope="module")
def broker(new_broker: Callable[[], Broker], directories: dict[str, Path]) -> Iterator[Broker]:
    started = new_broker()
    started.serve(directories)
    yield started
    started.stop()


def dropped(partition: str) -> list[bytes | None]:
    keys = {row["key"] for row in ls.Log(DATA / partition).records(columns=["key"]).to_pylist()}
    return sorted(keys, key=str)[::3]


@pytest.mark.timeout(300)
def test_the_broker_keeps_every_byte(broker: Broker, directories: dict[str, Path]) -> None:
    """Recovery cuts or deletes a segment that it does not like."""
    for topic, directory in directories.items():
        for segment in directory.glob("*.log"):
            assert (broker.partition(topic) / segment.name).read_bytes() == segment.read_bytes(), (topic, segment.name)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_consumers_see_exactly_the_kept_records(
    broker: Broker, peer: Callable[[str], Peer], scratch: Path, directories: dict[str, Path], isolation: Any
) -> None:
    for topic in directories:
        out = scratch / f"{topic}.rows"
        peer(VERSION).ask("consume", broker.servers, topic, isolation, str(out))
        gone = set(dropped(topic))
        source = ls.Log(DATA / topic).records(columns=["offset", "key", "value"], isolation=isolation).to_pylist()
        expected = [(row["offset"], row["key"], row["value"]) for row in source if row["key"] not in gone]
        assert [(row.offset, row.key, row.value) for row in rows.load_rows(out)] == expected, topic
        assert len(expected) < len(source)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_producer_in_an_open_transaction_goes_on(new_broker: Callable[[], Broker], tmp_path: Path, trusted: bool) -> None:
    """Its next record has the old end offset, although all records of the open transaction are gone."""
    from confluent_kafka import Consumer, Producer

    broker = new_broker()
    broker.start()
    broker.create_topics(["orders"])
    options = {"bootstrap.servers": broker.servers, "log_level": 0, "logger": QUIET}
    producer = Producer(options | {"transactional.id": "one", "transaction.timeout.ms": 600_000})
    sent: list[int] = []

    def send(*keys: str) -> None:
        for key in keys:
            producer.produce(
                "orders", key=key, value=f"value of {key}", partition=0, on_delivery=lambda error, message: sent.append(message.offset())
            )
            assert producer.flush(60) == 0

    producer.init_transactions(60)
    producer.begin_transaction()
    send("gone", "kept", "gone")
    producer.commit_transaction(60)
    producer.begin_transaction()
    send("gone", "gone")
    broker.stop()
    done = ls.rewrite(broker.partition("orders"), tmp_path / "clean", drop=["gone"])
    assert (done.dropped, done.files[0].emptied) == (4, 2)
    files = sorted(path for path in (tmp_path / "clean/orders-0").iterdir() if trusted or path.suffix == ".log")
    broker.replace("orders", [path for path in files if path.name != "partition.metadata"], trusted=trusted)
    broker.start()
    send("kept too")
    assert sent[-1] == sent[-2] + 1
    producer.commit_transaction(60)
    consumer = Consumer(options | {"group.id": "g", "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    consumer.subscribe(["orders"])
    read: list[tuple[int, bytes | None]] = []
    while len(read) < 2:
        message = consumer.poll(30)
        assert message is not None
        read.append((message.offset(), message.key()))
    assert message.error() is None
    assert consumer.poll(1) is None
    consumer.close()
    assert read == [(sent[1], b"kept"), (sent[-1], b"kept too")]
