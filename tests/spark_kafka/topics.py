"""What the broker holds: one topic for each thing that is easy to read differently."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from confluent_kafka import Producer, TopicPartition

import corpus
import librdkafka
import logsegment as ls
import rows
from kraft import QUIET, Broker

#: Milliseconds. Records are seconds apart, so that a segment holds few of them.
START = 1_700_000_000_000
SEVERAL_SEGMENTS = {"segment.ms": "60000"}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
#: Topic -> (partitions, configuration). All names begin alike, for one pattern.
TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    **{f"t-{codec}": (1, {}) for codec in CODECS},
    "t-many": (3, SEVERAL_SEGMENTS),
    "t-appended": (1, {"message.timestamp.type": "LogAppendTime"}),
    "t-transactions": (2, SEVERAL_SEGMENTS),
    "t-compacted": (1, SEVERAL_SEGMENTS | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}),
    "trimmed": (1, SEVERAL_SEGMENTS),
    "t-untimed": (1, {}),
    "t-magic0": (1, {}),
    "t-magic1": (1, {}),
    "t-empty": (2, {}),
}
#: Written by brokers of their time.
OLD = {"t-magic0": "legacy-0.10.2.2/data/format-0.9.0-0", "t-magic1": "legacy-0.10.2.2/data/codec-gzip-0"}
SEGMENT = "00000000000000000000.log"
#: A cleaner that comes at once, checkpoints that are soon written.
PROPERTIES = """
log.cleaner.enable=true
log.cleaner.dedupe.buffer.size=4194304
log.cleaner.backoff.ms=200
log.flush.start.offset.checkpoint.interval.ms=500
replica.high.watermark.checkpoint.interval.ms=500
"""


def fill(broker: Broker, scratch: Path) -> list[Producer]:
    """Start the broker and give it every topic. One transaction is open for as long as the result is held."""
    broker.start()
    for topic, (partitions, config) in TOPICS.items():
        broker.create_topics([topic], partitions, **config)
    broker.stop()
    plant(broker, scratch)
    broker.start()
    for codec in CODECS:
        librdkafka.produce(broker.servers, f"t-{codec}", rows.batches("v2"), codec)
    librdkafka.produce(broker.servers, "t-appended", rows.batches("v2"), "lz4")
    produce_spread(broker, "t-many", 400)
    produce_transactions(broker)
    produce_trimmed(broker)
    produce_compacted(broker)
    return [open_transaction(broker)]


def plant(broker: Broker, scratch: Path) -> None:
    """What no producer of today can send."""
    untimed = scratch / SEGMENT
    columns = {
        "offset": range(20),
        "value": [b"%d" % n for n in range(20)],
        "timestampMs": [-1 if n < 10 else START + n for n in range(20)],
    }
    untimed.write_bytes(ls.encode(pa.table(columns), compression="zstd", partition_leader_epoch=0))
    broker.replace("t-untimed", [untimed])
    for topic, directory in OLD.items():
        broker.replace(topic, sorted((corpus.CORPUS / directory).glob("*.log")))


def produce_spread(broker: Broker, topic: str, count: int) -> None:
    """Times rise in the first partitions, and jump back and forth in the third."""
    own = producer(broker, **{"compression.type": "lz4"})
    for number in range(count):
        for partition in range(TOPICS[topic][0]):
            late = number * 37 % 100 if partition == 2 else number
            value = b"%d-%d" % (partition, number)
            own.produce(topic, value, b"k%d" % (number % 7), partition, timestamp=START + late * 1000)
        if number % 20 == 19:
            flush(own)


def produce_transactions(broker: Broker) -> None:
    """Transactions over segments and partitions, some of them aborted, with plain records between."""
    transactional = [transactional_producer(broker, f"spark-kafka-{n}") for n in range(2)]
    plain = producer(broker)
    for number in range(16):
        one = transactional[number % 2]
        one.begin_transaction()
        for piece in range(3):
            time_ms = START + (number * 4 + piece) * 10_000
            for partition in range(2):
                one.produce("t-transactions", b"transaction %d %d" % (number, piece), partition=partition, timestamp=time_ms)
            flush(one)
            plain.produce("t-transactions", b"plain %d %d" % (number, piece), partition=piece % 2, timestamp=time_ms + 1)
            flush(plain)
        if number % 3 == 1:
            one.abort_transaction()
        else:
            one.commit_transaction()


def open_transaction(broker: Broker) -> Producer:
    """A transaction without an end, and a plain record after its first one."""
    hung, plain = transactional_producer(broker, "spark-kafka-open"), producer(broker)
    hung.begin_transaction()
    for number, own in enumerate([hung, plain]):
        own.produce("t-transactions", b"open %d" % number, partition=0, timestamp=START + 900_000 + number)
        flush(own)
    return hung


def produce_trimmed(broker: Broker) -> None:
    """The first records are deleted on a user's word: the broker raises the log start offset and keeps the file that holds more."""
    produce_spread(broker, "trimmed", 200)
    # The answer comes only as long as who asked is there.
    admin = broker.admin()
    for deleted in admin.delete_records([TopicPartition("trimmed", 0, 70)]).values():
        deleted.result(30)
    await_checkpoint(broker, "log-start-offset-checkpoint", "trimmed 0 70")


def produce_compacted(broker: Broker) -> None:
    """Each key many times, some deleted; then wait until the cleaner has been there."""
    own = producer(broker, **{"compression.type": "zstd"})
    for number in range(400):
        value = None if number % 50 == 7 else b"value %d" % number
        own.produce("t-compacted", value, b"key %d" % (number % 30), 0, timestamp=START + number * 1000)
        if number % 10 == 9:
            flush(own)
    await_checkpoint(broker, "cleaner-offset-checkpoint", "t-compacted 0")


def await_checkpoint(broker: Broker, name: str, line: str) -> None:
    path = broker.logs / name
    wait_until(lambda: path.exists() and line in path.read_text(), f"no {line!r} in {name}")


def producer(broker: Broker, **options: object) -> Producer:
    return Producer({"bootstrap.servers": broker.servers, "linger.ms": 20, "logger": QUIET, **options})


def transactional_producer(broker: Broker, name: str) -> Producer:
    made = producer(broker, **{"transactional.id": name, "transaction.timeout.ms": 600_000})
    made.init_transactions(60)
    return made


def flush(own: Producer) -> None:
    assert own.flush(30) == 0, "not all was delivered"


def wait_until(true: Callable[[], bool], otherwise: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.1)
