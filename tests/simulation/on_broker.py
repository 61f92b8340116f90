"""Histories on a real broker: the same steps as requests of Kafka's own clients, and what the model predicts of the broker's files."""

from __future__ import annotations

import random
import re
import shutil
import struct
import time
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rows import Row, save_spec
from tests.simulation import disk
from tests.simulation.entries import CODECS, LOG_APPEND_TIME, Batch
from tests.simulation.partition import Partition, Segment, append, delete_records, elect, end_all
from tests.simulation.truth import require

#: The largest time for which a broker keeps a segment open.
YEARS = 10 * 365 * 86_400_000
STEPS = {"append": (append, 6), "end_all": (end_all, 1), "delete_records": (delete_records, 1)}
#: Files that the model predicts.
PREDICTED = {".index", ".timeindex", ".txnindex", ".log"}
FIELD = re.compile(r"(\w+): (?:OptionalLong[.\[])?(-?\w+)")


@dataclass(frozen=True)
class Clients:
    """What plays requests: `ask` sends a command to the Java clients, `delete_records` asks the broker to delete."""

    ask: Callable[..., str]
    delete_records: Callable[[str, int], None]
    servers: str
    scratch: Path


class Played(Partition):
    """A partition whose batches go to a broker as well, which decides when a segment is full."""

    def __init__(self, seed: int, clients: Clients, *, is_new: bool) -> None:
        chance = random.Random(seed)
        super().__init__(chance, topic=f"history-{seed}")
        self.clients, self.has_version_2, self.keeps_end_of_round = clients, is_new, is_new
        self.next_offset = self.log_start = 0
        self.segments, self.epochs = [Segment(0)], [(0, 0)]
        self.magic = 2
        # A broker forgets producers whose last records are old.
        self.time = time.time_ns() // 1_000_000 - 300_000
        self.codecs = [chance.choice(CODECS[2])]
        self.timestamp_type = LOG_APPEND_TIME if chance.random() < 0.2 else 0
        self.segment_bytes = chance.choice([1 << 20, 4000, 2500])
        self.segment_ms = chance.choice([YEARS, YEARS, 3000])
        names = random.Random(seed).choices(list(STEPS), [weight for _, weight in STEPS.values()], k=chance.randint(2, 8))
        self.steps = [(name, chance.getrandbits(32)) for name in ["append", *names]]
        self.known: set[str] = set()
        self.begun: set[int] = set()

    def config(self, size_option: str) -> dict[str, str]:
        """Return the configuration of the topic."""
        return {
            size_option: str(self.segment_bytes),
            "segment.ms": str(self.segment_ms),
            "index.interval.bytes": str(self.index_interval),
            "message.timestamp.type": "LogAppendTime" if self.timestamp_type else "CreateTime",
        }

    def play(self, steps: list[tuple[str, int]]) -> None:
        for name, seed in steps:
            if name == "delete_records" and self.ongoing:
                continue  # a broker that starts after this refuses the producer
            start = self.log_start
            STEPS[name][0](self, random.Random(seed))
            if self.log_start > start:
                self.clients.delete_records(self.topic, self.log_start)

    def close(self) -> None:
        """End the clients; open transactions stay open."""
        for name in self.known:
            self.clients.ask("close", name)

    def verifies(self, chance: random.Random) -> bool:
        return self.has_version_2

    def roll(self) -> None:
        """Leave it to the broker."""

    def put(self, batch: Batch) -> None:
        super().put(batch)
        ask = self.clients.ask
        if batch.control:
            ask("commit" if batch.control == "COMMIT" else "abort", self._producer(batch))
            end = ask("await", self.clients.servers, self.topic, str(self.next_offset))
            require(int(end) == self.next_offset, "a marker has another offset", self.topic, end, self.next_offset)
            self.begun.discard(batch.producer_id)
            return
        name = self._producer(batch)
        if batch.transactional and batch.producer_id not in self.begun:
            ask("begin", name)
            self.begun.add(batch.producer_id)
        rows = [
            Row(record.offset, record.timestamp, batch.timestamp_type, record.key, record.value, record.headers) for record in batch.records
        ]
        spec = self.clients.scratch / f"{self.topic}.spec"
        save_spec(spec, [rows], 2, batch.codec)
        last = ask("send", name, self.topic, str(spec))
        require(int(last) == batch.last_offset, "the broker gave another offset", self.topic, last, batch.last_offset)

    def _producer(self, batch: Batch) -> str:
        name = f"{self.topic}-{batch.producer_id}"
        if name not in self.known:
            kind = "plain" if batch.producer_id < 0 else "transactional" if batch.transactional else "idempotent"
            self.clients.ask("producer", self.clients.servers, name, self.codecs[0], kind)
            self.known.add(name)
        return name


def restart(partition: Played) -> None:
    """What a stop and a start of the only broker do."""
    partition.restarts.append(partition.next_offset)
    elect(partition, random.Random(0))


def entries_of(dumps: dict[int, str]) -> list[tuple[int, dict[str, str]]]:
    """Return the batches that `kafka-dump-log` prints of segments, each with the offset in the name of its segment."""
    found = []
    for base, text in sorted(dumps.items()):
        for line in text.splitlines():
            if line.startswith("baseOffset: "):
                found.append((base, dict(FIELD.findall(line))))
            elif "coordinatorEpoch: " in line:
                found[-1][1].update(dict(FIELD.findall(line.partition("endTxnMarker: ")[2])))
    return found


def adopt(partition: Played, directory: Path, dumps: dict[int, str]) -> None:
    """Require that the batches in the broker's files are those of the model; give these the bytes, ids and times that a broker decides."""
    batches = [batch for batch in partition.batches if batch.last_offset >= min(dumps)]
    found = entries_of(dumps)
    places = [[batch.base_offset for batch in batches], [int(fields["baseOffset"]) for _, fields in found]]
    require(places[0] == places[1], "other batches", partition.name, *places)
    data = {base: (directory / f"{base:020}.log").read_bytes() for base in dumps}
    cleaned = {segment.base for segment in partition.segments if segment.is_cleaned}
    segments = {base: Segment(base, is_cleaned=base in cleaned) for base in sorted(dumps)}
    identities: dict[int, int] = {}
    for batch, (base, fields) in zip(batches, found, strict=True):
        expected, actual = predicted(batch), printed(fields)
        require(expected == actual, "the broker has another batch", partition.name, expected, actual)
        segments[base].batches.append(adopted(batch, fields, data[base]))
        identities[batch.producer_id] = int(fields["producerId"])
    partition.segments = list(segments.values())
    partition.aborted = {marker: (identities.get(entry[0], entry[0]), *entry[1:]) for marker, entry in partition.aborted.items()}
    partition.next_offset = max(partition.next_offset, *segments)


def predicted(batch: Batch) -> dict[str, Any]:
    """Return the fields of a batch that do not depend on the broker."""
    sequence = batch.base_sequence
    return {
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": len(batch.records),
        "baseSequence": sequence,
        "producerEpoch": batch.producer_epoch,
        "isTransactional": batch.transactional,
        "isControl": batch.control is not None,
        "hasHorizon": batch.horizon is not None,
        "isLogAppendTime": batch.timestamp_type == LOG_APPEND_TIME,
        "codec": batch.codec,
        "isValid": True,
        "isNumbered": batch.producer_id >= 0,
        "timestamp": None if batch.control or batch.timestamp_type or batch.horizon or not batch.records else batch.max_timestamp,
    }


def printed(fields: dict[str, str]) -> dict[str, Any]:
    """Return the same fields as `kafka-dump-log` prints them."""
    is_control, has_horizon = fields["isControl"] == "true", fields["deleteHorizonMs"] != "empty"
    is_timed = is_control or "LogAppendTime" in fields or has_horizon or fields["count"] == "0"
    numbers = {name: int(fields[name]) for name in ("baseOffset", "lastOffset", "count", "baseSequence", "producerEpoch")}
    return numbers | {
        "isTransactional": fields["isTransactional"] == "true",
        "isControl": is_control,
        "hasHorizon": has_horizon,
        "isLogAppendTime": "LogAppendTime" in fields,
        "codec": fields["compresscodec"].lower(),
        "isValid": fields["isvalid"] == "true",
        "isNumbered": fields["producerId"] != "-1",
        "timestamp": None if is_timed else int(fields["CreateTime"]),
    }


def adopted(batch: Batch, fields: dict[str, str], data: bytes) -> Batch:
    position, size = int(fields["position"]), int(fields["size"])
    stamp = int(fields.get("LogAppendTime") or fields.get("CreateTime") or -1)
    records = batch.records
    if batch.control or batch.timestamp_type:
        records = tuple(replace(record, timestamp=stamp) for record in records)
    if batch.control:
        records = (replace(records[0], value=struct.pack(">hi", 0, int(fields["coordinatorEpoch"]))),)
    return replace(
        batch,
        data=data[position : position + size],
        records=records,
        producer_id=int(fields["producerId"]),
        leader_epoch=int(fields["partitionLeaderEpoch"]),
        horizon=int(fields["deleteHorizonMs"]) if batch.horizon is not None else None,
    )


def rolls_agree(partition: Played) -> None:
    """Require that each segment of the broker begins where the model closes the one before."""
    for number, segment in enumerate(partition.segments):
        for place, batch in enumerate(segment.batches):
            before = segment.batches[:place]
            if place == 0 and number:
                before = partition.segments[number - 1].batches
            require(partition.must_roll(before, batch) == (place == 0 and number > 0), "a roll", partition.name, batch.base_offset)


def files_agree(partition: Played, directory: Path, predicted: Set[str] = PREDICTED) -> None:
    """Require that the broker's own files of these kinds are those that the model writes."""
    theirs = {file.name: file.read_bytes() for file in directory.iterdir() if file.suffix in predicted}
    theirs = {name: data for name, data in theirs.items() if data or not name.endswith(".txnindex")}
    ours = disk.files(partition)
    for name in sorted({*theirs, *(name for name in ours if Path(name).suffix in predicted)}):
        require(theirs.get(name) == ours.get(name), "another file", partition.name, name, theirs.get(name), ours.get(name))
    starts = [int(line.split()[1]) for line in (directory / "leader-epoch-checkpoint").read_text().splitlines()[2:]]
    require(starts == [start for _, start in partition.epochs], "other leader epochs", partition.name, starts, partition.epochs)


def copied(partition: Played, logs: Path, root: Path) -> Path:
    """Copy the directory of the broker and its log start offset below `root`, as laws expect it; return it."""
    checkpoint = (logs / disk.CHECKPOINT).read_text().splitlines()[2:]
    starts = [int(line.split()[2]) for line in checkpoint if line.split()[0] == partition.topic]
    wanted = [partition.log_start] if partition.log_start > partition.segments[0].base else []
    require(starts == wanted, "another log start offset", partition.name, starts, wanted)
    shutil.copytree(logs / partition.name, root / partition.name)
    if starts:
        (root / disk.CHECKPOINT).write_text(f"0\n1\n{partition.topic} 0 {starts[0]}\n")
    return root / partition.name
