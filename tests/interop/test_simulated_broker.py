"""Histories of tests/simulation on real brokers: consumers, the brokers' own files and `kafka-dump-log` agree with the model."""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

import pytest

import dump_log
import eras
import peers
from kraft import BEFORE_4, VERSION, Broker
from rows import load_rows
from tests.simulation import history, laws, on_broker
from tests.simulation.cleaner import compact
from tests.simulation.laws import Scene
from tests.simulation.on_broker import Clients, Played
from tests.simulation.truth import Query, expected, require

pytestmark = pytest.mark.interop
#: Histories on each release; `make interop` plays 200. A broker gets so many at once.
HISTORIES = int(os.environ.get("BROKER_HISTORIES", "12"))
FIRST, AT_ONCE = 300_000, 40
GROUPS = [range(first, min(first + AT_ONCE, FIRST + HISTORIES)) for first in range(FIRST, FIRST + HISTORIES, AT_ONCE)]
PROPERTIES = """log.cleaner.enable=true
log.cleaner.backoff.ms=100
log.cleaner.dedupe.buffer.size=4194304
log.segment.delete.delay.ms=0
log.initial.task.delay.ms=500
log.retention.check.interval.ms=500
producer.id.expiration.ms=2147483647
transaction.max.timeout.ms=3600000
"""
#: The cleaner has finished if its checkpoint has not changed for so long; it looks for work ten times a second.
QUIET_SECONDS = 4
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0"}
READS = (
    laws.decode,
    laws.validate,
    laws.batches,
    laws.segment_records,
    laws.log_records,
    laws.polars_scan,
    laws.find,
    laws.cat,
    laws.verify,
)


@dataclass(frozen=True)
class Stage:
    """Histories that were played on a broker, which is stopped: the model, the broker's directory, what consumers got."""

    partitions: list[Played]
    broker: Broker
    clients: Clients
    consumed: dict[tuple[str, str], list[tuple[object, ...]]]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((version, seeds), id=f"{version}-{seeds[0]}", marks=pytest.mark.nightly if version != VERSION else ())
        for version in (VERSION, BEFORE_4.version)
        for seeds in GROUPS
    ],
)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    eras.need(*eras.NEEDED_COMMANDS)
    version, seeds = request.param
    is_new = version == VERSION
    scratch = tmp_path_factory.mktemp("histories")
    broker = Broker(scratch / "broker", PROPERTIES, eras.ERAS[VERSION] if is_new else BEFORE_4)
    peer = peers.java(VERSION, scratch)
    clients = Clients(peer.ask, lambda topic, offset: deleted(broker, topic, offset), broker.servers, scratch)
    partitions = [Played(seed, clients, is_new=is_new) for seed in seeds]
    try:
        broker.start()
        for partition in partitions:
            broker.create_topics([partition.topic], **partition.config("internal.segment.bytes" if is_new else "segment.bytes"))
        for partition in partitions:
            partition.play(partition.steps[: len(partition.steps) // 2])
        broker.stop()
        broker.start()
        for partition in partitions:
            on_broker.restart(partition)
            partition.play(partition.steps[len(partition.steps) // 2 :])
        consumed = consume(partitions, clients)
        wait_for_deletions(broker, partitions)
        for partition in partitions:
            partition.close()
        broker.stop()
        yield Stage(partitions, broker, clients, consumed)
    finally:
        peer.close()
        broker.stop()


def deleted(broker: Broker, topic: str, offset: int) -> None:
    from confluent_kafka import TopicPartition

    admin = broker.admin()
    (done,) = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    done.result(60)


def consume(partitions: list[Played], clients: Clients) -> dict[tuple[str, str], list[tuple[object, ...]]]:
    """Return what Kafka's consumer gets of each topic, by topic and isolation."""
    found = {}
    for partition in partitions:
        for isolation in ("read_uncommitted", "read_committed"):
            out = clients.scratch / "consumed.rows"
            clients.ask("consume", clients.servers, partition.topic, isolation, str(out))
            rows = load_rows(out)
            found[partition.topic, isolation] = [
                (row.offset, row.timestamp, row.timestamp_type, row.key, row.value, row.headers) for row in rows
            ]
    return found


def wait_for_deletions(broker: Broker, partitions: list[Played]) -> None:
    """Wait until no closed segment lies below the log start offset."""
    deadline = time.monotonic() + 60
    for partition in partitions:
        while len([base for base in bases(broker, partition) if base <= partition.log_start]) > 1:
            assert time.monotonic() < deadline, (partition.name, partition.log_start, bases(broker, partition))
            time.sleep(0.2)


def bases(broker: Broker, history: Played) -> list[int]:
    return sorted(int(file.stem) for file in broker.partition(history.topic).glob("*.log"))


def dumps_of(stage: Stage, history: Played) -> dict[int, str]:
    """Return what `kafka-dump-log` prints of each segment, by its base offset; it complains of nothing."""
    found = {}
    for base in bases(stage.broker, history):
        out = stage.clients.scratch / "dump.txt"
        stage.clients.ask("dump", str(stage.broker.partition(history.topic) / f"{base:020}.log"), str(out))
        found[base] = out.read_text(errors="replace")
    return found


def agree(stage: Stage, one: Played, root: Path, predicted: Set[str] = on_broker.PREDICTED) -> None:
    """Require that the broker's files, its consumers and every API of this package agree with the model."""
    directory = stage.broker.partition(one.topic)
    dumps = dumps_of(stage, one)
    on_broker.adopt(one, directory, dumps)
    on_broker.files_agree(one, directory, predicted)
    parsed = [dump_log.parsed(text) for text in dumps.values()]
    require(not any(dump.complaints for dump in parsed), "kafka-dump-log complains", one.name, [dump.complaints for dump in parsed])
    sizes = [
        (record.offset, size(record.key), size(record.value)) for batch in one.batches for record in batch.records if not batch.control
    ]
    markers = {batch.base_offset for batch in one.batches if batch.control}
    printed = [record for dump in parsed for record in dump.records if record[0] not in markers]
    require(printed == sizes, "kafka-dump-log has other records", one.name, printed, sizes)
    for isolation in ("read_uncommitted", "read_committed"):
        rows = [row[:-1] for row in expected(one.batches, Query(isolation=isolation), one.log_start)]
        require(stage.consumed[one.topic, isolation] == rows, "the consumer has other rows", one.name, isolation)
    copy = on_broker.copied(one, stage.broker.logs, root)
    for number, law in enumerate(READS):
        text = history.check(law, Scene(one, copy, root / "scratch", random.Random(number)))
        require(text is None, f"law {law.__name__}", one.name, text[-900:] if text else text)


def size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


@pytest.mark.timeout(900)
def test_histories_on_a_broker_are_those_of_the_model(stage: Stage, tmp_path: Path):
    failures = []
    for partition in stage.partitions:
        try:
            agree(stage, partition, tmp_path / partition.topic)
            on_broker.rolls_agree(partition)
        except AssertionError as error:
            failures.append(f"{partition.name} {partition.steps}: {error}")
    assert not failures, "\n".join([f"{len(failures)} failures in {tmp_path}", *failures[:10]])
    cleaned = [partition for partition in stage.partitions if partition.is_compacted]
    stage.broker.start()
    wait_for_cleaner(stage.broker, cleaned)
    consumed = consume(cleaned, stage.clients)
    stage.broker.stop()
    # Before Kafka 4 a cleaner wrote one entry of an index for many batches.
    predicted = on_broker.PREDICTED if stage.broker.era is not BEFORE_4 else {".txnindex", ".log"}
    after = Stage(cleaned, stage.broker, stage.clients, consumed)
    for segment in cleaned:
        on_broker.restart(segment)
        compact(segment, random.Random(0))
        try:
            agree(after, segment, tmp_path / f"cleaned-{segment.topic}", predicted)
        except AssertionError as error:
            failures.append(f"cleaned {segment.name} {segment.steps}: {error}")
    assert not failures, "\n".join([f"{len(failures)} failures in {tmp_path}", *failures[:10]])
    assert [item for item in cleaned if len(item.segments) > 1] or HISTORIES < 12


def wait_for_cleaner(broker: Broker, partitions: list[Played]) -> None:
    """Make the topics compacted ones, and wait until the cleaner has nothing to do."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    resources = [
        ConfigResource(
            ResourceType.TOPIC,
            partition.topic,
            incremental_configs=[ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in COMPACT.items()],
        )
        for partition in partitions
    ]
    admin = broker.admin()
    for done in admin.incremental_alter_configs(resources).values() if resources else ():
        done.result(60)
    checkpoint, deadline = broker.logs / "cleaner-offset-checkpoint", time.monotonic() + QUIET_SECONDS
    before = ""
    while time.monotonic() < deadline:
        time.sleep(0.2)
        if checkpoint.exists() and checkpoint.read_text() != before:
            before, deadline = checkpoint.read_text(), time.monotonic() + QUIET_SECONDS


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
