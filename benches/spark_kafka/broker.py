"""A broker that serves segments made here, and Spark's own Kafka source: the fixtures of the tests, on other topics.

Records are 100 bytes of key and value in batches of 16 KiB, as a producer with its defaults fills them.
"""

import sys
from contextlib import contextmanager

import pyarrow as pa

import logsegment as ls
from benches.paths import ROOT, WORK
from benches.segments import entries, moved

sys.path[:0] = [str(ROOT / "tests" / name) for name in ("interop", "spark_kafka", "support")]
from kafka_source import KafkaSource  # noqa: E402
from kraft import Broker  # noqa: E402

KEY = "user-%06d"
#: 89 bytes, of which a codec can save about as much as of logs.
VALUE = '{"id":%09d,"sum":%06d,"state":"%s","store":"web","token":"%016x"}'
STATES = ("accepted", "shipped_", "returned")
TIME = 1_700_000_000_000
BATCH_BYTES = 16_384
PARTITIONS = 2


def record(number):
    token = number * 0x9E3779B97F4A7C15 % 2**64
    key = KEY % (number * 7919 % 1_000_000)
    return key, VALUE % (number, token % 1_000_000, STATES[token % 3], token)


def write_segments(codec, directory, rows):
    """One segment of at least this many rows for each partition, below `directory`; returns ([path of each], rows of each)."""
    return repeated(encoded(codec), directory / codec, rows)


def repeated(segment, directory, rows):
    """As `write_segments`, of the batches of `one`, again and again."""
    per_round = sum(count for _, _, count in entries(segment))
    rounds = -(-rows // per_round)
    paths = []
    for partition in range(PARTITIONS):
        path = directory / str(partition) / f"{0:020}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for index in range(rounds):
                file.write(moved(segment, index * per_round))
        paths.append(path)
    return paths, rounds * per_round


def encoded(codec):
    keys, values = zip(*map(record, range(100_000)), strict=True)
    if any(len(key) + len(value) != 100 for key, value in zip(keys, values, strict=True)):
        raise SystemExit("a record is not of 100 bytes")
    columns = {"offset": range(len(keys)), "key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())}
    columns["timestampMs"] = [TIME + number for number in range(len(keys))]
    return ls.encode(pa.table(columns), compression=codec, batch_bytes=BATCH_BYTES, partition_leader_epoch=0)


class FastBroker(Broker):
    """With the whole compiler: the tests' brokers live too short for it."""

    def java_options(self):
        return ["-Xmx1g", "-Djava.awt.headless=true"]


@contextmanager
def serving(segments, directory, java_options):
    """A broker with a topic `bench-<name>` for each name in `segments`, and the source beside it, whose JVM has `java_options`."""
    broker = FastBroker(directory / "broker")
    broker.start()
    for name in segments:
        broker.create_topics([f"bench-{name}"], PARTITIONS)
    broker.stop()
    for name, paths in segments.items():
        for partition, path in enumerate(paths):
            broker.replace(f"bench-{name}", [path], partition)
    broker.start()
    source = KafkaSource(directory / "source", memory="4g", java_options=java_options)
    try:
        yield broker, source
    finally:
        source.close()
        broker.stop()


def scratch():
    return WORK / "spark_kafka"
