"""A 4.3.1 broker deletes records on request: what its consumers get is what every API reads of its disk, and what copies hold."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

import cli_process
import librdkafka
import logsegment as ls
from kraft import QUIET, Broker
from log_starts import CHECKPOINT, offsets_of, read_by_every_api, write_by_every_verb, write_checkpoint

pytestmark = pytest.mark.interop
START = 1_700_000_000_000
#: Topic -> the offset below which records are deleted, in the middle of a batch, of a segment, and at the end. -1 is the high watermark.
DELETED = {"packed": 37, "rolled": 150, "emptied": -1, "untouched": None}
COUNT = 200
PROPERTIES = "log.flush.start.offset.checkpoint.interval.ms=500\n"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, new_broker: object) -> Iterator[Broker]:
    started = Broker(tmp_path_factory.mktemp("log-start") / "broker", PROPERTIES)
    started.start()
    started.create_topics(["packed", "emptied", "untouched"])
    started.create_topics(["rolled"], **{"segment.ms": "60000"})
    for topic in DELETED:
        produce(started, topic)
    admin = started.admin()
    for topic, offset in DELETED.items():
        if offset is not None:
            for done in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
                done.result(30)
    yield started
    started.stop()


def produce(broker: Broker, topic: str) -> None:
    own = Producer({"bootstrap.servers": broker.servers, "linger.ms": 1000, "compression.type": "zstd", "logger": QUIET})
    for number in range(COUNT):
        own.produce(topic, b"value %d" % number, b"key %d" % (number % 7), 0, timestamp=START + number * 1000)
        if number % 50 == 49:
            assert own.flush(30) == 0


@pytest.fixture(scope="module")
def served(broker: Broker) -> dict[str, list[int]]:
    """The offsets that a consumer gets. Afterwards the broker is stopped, so that its disk does not change."""
    found = {topic: [row.offset for row in rows] for topic, rows in librdkafka.consume(broker.servers, DELETED).items()}
    broker.stop()
    return found


@pytest.mark.timeout(300)
def test_every_api_reads_what_a_consumer_gets(broker: Broker, served: dict[str, list[int]]) -> None:
    assert {topic: (len(offsets), offsets[:1]) for topic, offsets in served.items()} == {
        "packed": (163, [37]),
        "rolled": (50, [150]),
        "emptied": (0, []),
        "untouched": (200, [0]),
    }
    for topic, expected in served.items():
        for name, found in read_by_every_api(broker.partition(topic)).items():
            assert found == expected, (topic, name)
        assert ls.stats(broker.partition(topic)).records == len(expected), topic
    done = cli_process.run("cat", broker.partition("packed"))
    assert "37 records below the log start offset 37" in done.err


@pytest.mark.timeout(300)
def test_a_healthy_disk_has_no_warning(broker: Broker, served: dict[str, list[int]]) -> None:
    done = cli_process.run("verify", "--fail-on", "warning", broker.logs)
    assert done.code == 0, done.text
    assert "SEG-19" in done.text


@pytest.mark.timeout(600)
def test_copies_hold_what_a_consumer_gets(broker: Broker, served: dict[str, list[int]], scratch: Path) -> None:
    copies = {}
    for topic in ("packed", "rolled", "emptied"):
        for verb, copy in write_by_every_verb(broker.partition(topic), scratch / f"copies-of-{topic}").items():
            assert offsets_of(ls.Log(copy)) == served[topic], (topic, verb)
            if " " not in verb:
                copies[f"{topic}-{verb}"] = copy / f"{topic}-0"
    broker.serve(copies)
    found = librdkafka.consume(broker.servers, copies)
    ends = {name: end_of(broker, name) for name in copies}
    broker.stop()
    for name in copies:
        assert [row.offset for row in found[name]] == served[name.partition("-")[0]], name
    # A copy of a log without records goes on where the log ended.
    assert set(ends.values()) == {COUNT}


def end_of(broker: Broker, topic: str) -> int:
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": "none", "logger": QUIET})
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1]
    finally:
        consumer.close()


@pytest.mark.timeout(600)
def test_a_broker_on_files_that_contradict_a_log(broker: Broker, served: dict[str, list[int]]) -> None:
    """SEG-20 and SEG-21: what a broker does with them, and what is read of them."""
    (broker.logs / CHECKPOINT).write_bytes(b"\x2f\x18\xd0\x94")
    with pytest.raises(AssertionError, match="the broker ended"):
        broker.start()
    broker.stop()
    (broker.logs / CHECKPOINT).write_bytes(b"")
    with pytest.warns(UserWarning, match="SEG-21"):
        read = offsets_of(ls.Log(broker.partition("packed")))
    broker.start()
    found = [row.offset for row in librdkafka.consume(broker.servers, ["packed"])["packed"]]
    broker.stop()
    assert found == read == list(range(COUNT))
    write_checkpoint(broker.logs, "packed-0", COUNT + 1)
    with pytest.warns(UserWarning, match=rf"SEG-20.*deletes all segments, with {COUNT} records"):
        assert offsets_of(ls.Log(broker.partition("packed"))) == read
    kept = shutil.copytree(broker.partition("packed"), broker.directory / "kept/packed-0")
    broker.start()
    found = [row.offset for row in librdkafka.consume(broker.servers, ["packed"])["packed"]]
    broker.stop()
    assert found == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert offsets_of(ls.Log(broker.partition("packed"))) == []
    assert offsets_of(ls.Log(kept)) == read
