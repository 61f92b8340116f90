"""Compaction against the log cleaner of a 4.3.1 broker: 40 partitions with transactions, producers, gaps and tombstones.

Differences that are wanted: the broker merges segments and leaves the active one alone, so that the last segment here is not compacted.
The delete horizon counts from each one's own clock.

A broker of Kafka 4 has no cleaner for magic 0 and 1: it writes them anew as magic 2 (CMP-9). There the peer is `MemoryRecords.filterTo` of
3.9.1, which does keep the magic, under the rule of `Cleaner`: the latest record of each key stays, and no record without a key.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import logsegment as ls
from kraft import Broker
from made_logs import index
from peers import Peer, Refused
from rewritten_logs import magic_of, make_log, make_segments

pytestmark = pytest.mark.interop
TOPICS = [f"compacted-{seed}" for seed in range(40)]
CLEANER = """log.cleaner.enable=true
log.cleaner.backoff.ms=100
log.cleaner.min.cleanable.ratio=0.0
log.cleaner.dedupe.buffer.size=4194304
producer.id.expiration.ms=2147483647
"""
HEADER = ["baseOffset", "lastOffset", "count", "producerId", "producerEpoch", "baseSequence", "lastSequence", "partitionLeaderEpoch"]
HEADER += ["isTransactional", "isControl", "maxTimestamp", "timestampType", "compression"]
RECORD = ["offset", "key", "value", "timestampMs", "headers", "sequence", "controlType"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Topic -> a partition directory."""
    root, now = tmp_path_factory.mktemp("dirty"), time.time_ns() // 1_000_000 - 60_000
    found = {}
    for seed, topic in enumerate(TOPICS):
        found[topic] = root / f"{topic}-0"
        found[topic].mkdir()
        for base, data in make_segments(seed, now):
            (found[topic] / f"{base:020d}.log").write_bytes(data)
        index(found[topic])
    return found


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory, sources: dict[str, Path]) -> Callable[[str], list[Path]]:
    """The segments of a topic that the broker has cleaned, by its name."""
    broker = Broker(tmp_path_factory.mktemp("cleaner") / "broker", CLEANER)
    broker.start()
    broker.create_topics(sources, **{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0", "file.delete.delay.ms": "0"})
    broker.stop()
    for topic, directory in sources.items():
        broker.replace(topic, active(directory))
    broker.start()
    ends = {f"{topic} 0 {end_of(directory)}" for topic, directory in sources.items()}
    checkpoint, deadline = broker.logs / "cleaner-offset-checkpoint", time.monotonic() + 120
    while not checkpoint.exists() or not ends <= set(checkpoint.read_text().splitlines()):
        assert time.monotonic() < deadline, (ends - set(checkpoint.read_text().splitlines()), broker.tail())
        time.sleep(0.2)
    broker.stop()
    return lambda topic: [path for path in sorted(broker.partition(topic).glob("*.log")) if int(path.stem) < end_of(sources[topic])]


def active(directory: Path) -> list[Path]:
    """The segments of a directory, and an active one with one record that is in no transaction."""
    path = directory.parent / f"active-{directory.name}" / f"{end_of(directory):020d}.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(ls.encode(pa.table({"key": [b"last"], "value": [b"last"]}), base_offset=end_of(directory), partition_leader_epoch=5))
    return [*sorted(directory.glob("*.log")), path]


def end_of(directory: Path) -> int:
    return max(row["lastOffset"] for path in directory.glob("*.log") for row in ls.batches(path).to_pylist()) + 1


@pytest.mark.timeout(300)
def test_a_broker_cleans_to_the_same_log(cleaned: Callable[[str], list[Path]], sources: dict[str, Path], tmp_path: Path) -> None:
    dropped = emptied = 0
    for topic, directory in sources.items():
        done = ls.compact(directory, tmp_path / topic)
        ours = sorted((tmp_path / topic / directory.name).glob("*.log"))
        theirs = cleaned(topic)
        assert rows(ours, HEADER) == rows(theirs, HEADER), topic
        assert records(ours) == records(theirs), topic
        assert [row["deleteHorizonMs"] is None for row in batches(ours)] == [row["deleteHorizonMs"] is None for row in batches(theirs)], (
            topic
        )
        dropped += done.dropped
        emptied += sum(file.emptied for file in done.files)
    assert dropped > 1000
    assert emptied > 10


@pytest.mark.timeout(300)
def test_old_formats_are_cleaned_as_by_kafka_3_9(peer: Callable[[str], Peer], scratch: Path, tmp_path: Path) -> None:
    seen = {"same bytes": 0, "same batches": 0, "refused": 0, "dropped": 0}
    for seed in (seed for seed in range(500) if magic_of(seed) < 2):
        made = make_log(seed)
        source = tmp_path / f"in/{seed}/old-0/{0:020d}.log"
        source.parent.mkdir(parents=True)
        source.write_bytes(made.data)
        theirs = scratch / "compacted.log"
        try:
            peer("3.9.1").ask("compact", str(source), str(theirs))
        except Refused:
            with pytest.raises(ls.LossError):
                ls.compact(source.parent, tmp_path / f"out/{seed}")
            seen["refused"] += 1
            continue
        done = ls.compact(source.parent, tmp_path / f"out/{seed}")
        ours = tmp_path / f"out/{seed}/old-0/{0:020d}.log"
        if ours.read_bytes() == theirs.read_bytes():
            seen["same bytes"] += 1
        else:
            assert rows([ours], [*HEADER, "magic"]) == rows([theirs], [*HEADER, "magic"]), seed
            assert records([ours]) == records([theirs]), seed
            seen["same batches"] += 1
        seen["dropped"] += done.dropped
    assert min(seen.values()) > 0, seen
    assert seen["dropped"] > 1000


def batches(paths: list[Path]) -> list[dict[str, object]]:
    return [row for path in paths for row in ls.batches(path).to_pylist()]


def rows(paths: list[Path], names: list[str]) -> list[list[object]]:
    return [[row[name] for name in names] for row in batches(paths)]


def records(paths: list[Path]) -> list[dict[str, object]]:
    return [row for path in paths for row in ls.decode(path, columns=RECORD, control=True).to_pylist()]
