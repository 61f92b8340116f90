"""The model of a partition: what producers, cleaner, retention and elections did to it, one step at a time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.simulation.entries import (
    ABORT,
    CODECS,
    COMMIT,
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    Batch,
    Record,
    Shape,
    data_batch,
    marker,
)

START = 1_700_000_000_000
WEEK = 7 * 86_400_000


@dataclass
class Segment:
    """A segment.

    Attributes:
        base: the offset of its name, as the broker gave it.
        tail: the zeros after the last batch of a file that was allocated before it was full.
        is_cleaned: a cleaner wrote the file and its indexes anew.
        name: the offset of the name that the file has; another one than `base` after files were swapped.
    """

    base: int
    batches: list[Batch] = field(default_factory=list)
    tail: bytes = b""
    name: int = -1
    is_cleaned: bool = False

    def __post_init__(self) -> None:
        self.name = self.base

    @property
    def data(self) -> bytes:
        return b"".join(batch.data for batch in self.batches) + self.tail

    @property
    def closed(self) -> list[Batch]:
        """The batches as an API sees them that knows that another segment follows: a torn batch is lost."""
        return [replace(batch, state="lost") if batch.state in ("torn", "swallowing") else batch for batch in self.named]

    @property
    def named(self) -> list[Batch]:
        """The batches as an API sees them that knows the name of the file."""
        if self.name == self.base:
            return self.batches
        return [replace(batch, state="misplaced") if batch.state == "valid" else batch for batch in self.batches]

    @property
    def alone(self) -> list[Batch]:
        """The batches as a reader of one file sees them."""
        return self.batches


@dataclass
class Producer:
    """A producer; `verifies` is true for transactions of version 2, in which each marker raises the epoch."""

    identity: int
    transactional: bool
    verifies: bool
    epoch: int = 0
    sequence: int = 0
    is_open: bool = False


class Partition:
    """A partition as its leader's disk has it.

    Attributes:
        log_start: records below it are deleted.
        keeps_end_of_round: a cleaner keeps the last batch that it has come to, also without records, as Kafka 4 does.
        segment_bytes, segment_ms: sizes and times after which a segment is closed.
        epochs: leader epochs and the offsets at which they began.
        ongoing: the first offsets of open transactions by producer.
        aborted: the entries of transaction indexes by the offsets of their markers: producer, first offset, last stable offset.
        restarts: the ends of the log at which the broker was stopped and started.
        produced: the batches of producers with ids as they were appended, also those that were deleted or cleaned since.
        damaged: descriptions of what was done to the bytes; without one the partition is healthy.
        warned: the log breaks a rule without damage, so that findings of severity warning are right.
        lies: headers under a right checksum claim another "time" or "offset" than the records have.
        sidecars: what became of sidecar files, by name; None for a file that is gone.
        checkpoint: what became of the checkpoint of log start offsets.
        layout: the files of the directory after an interrupted swap, whose names are not those of the segments.
    """

    def __init__(self, chance: random.Random, topic: str = "orders", number: int = 0) -> None:
        self.topic, self.number = topic, number
        self.next_offset = chance.choice([0, 0, 0, chance.randint(1, 5000), 2**31 - 3, 2**40])
        self.first_offset = self.log_start = self.next_offset
        self.segments = [Segment(self.next_offset)]
        self.time = START + chance.randint(0, 10**9)
        self.magic = chance.choice([2] * 8 + [0, 1])
        self.codecs = chance.sample(CODECS[self.magic], chance.randint(1, 3))
        self.timestamp_type = LOG_APPEND_TIME if self.magic and chance.random() < 0.2 else CREATE_TIME
        self.keys = [f"user-{place}".encode() for place in range(chance.randint(1, 8))]
        self.is_compacted = chance.random() < 0.4
        self.epochs: list[tuple[int, int]] = [(0, self.next_offset)]
        self.index_interval = chance.choice([1, 200, 4096])
        self.ongoing: dict[int, int] = {}
        self.aborted: dict[int, tuple[int, int, int]] = {}
        self.restarts: list[int] = []
        self.produced: list[Batch] = []
        self.producers: list[Producer] = []
        self.written = 0
        self.damaged: list[str] = []
        self.warned = False
        self.lies: set[str] = set()
        self.sidecars: dict[str, bytes | None] = {}
        self.checkpoint: bytes | None = None
        self.layout: dict[str, bytes] | None = None
        self.keeps_end_of_round = chance.random() < 0.5
        self.segment_bytes = chance.choice([1 << 30, 1 << 30, 1 << 30, 4000, 2500])
        self.segment_ms = chance.choice([WEEK, WEEK, WEEK, 3000])

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"

    @property
    def batches(self) -> list[Batch]:
        return [batch for segment in self.segments for batch in segment.batches]

    @property
    def rolls(self) -> list[int]:
        """The offsets at which a segment was opened after another one: a broker writes what it knows of producers."""
        return [segment.base for segment in self.segments if segment.base != self.first_offset]

    @property
    def is_open_before(self) -> bool:
        """Whether a transaction is open that began below the first segment, which producer snapshots alone show."""
        ongoing: dict[int, int] = {}
        end = next((batch.base_offset for batch in self.batches if batch.state == "torn"), self.next_offset)
        for batch in self.produced:
            if batch.base_offset >= end:
                break
            if batch.control:
                ongoing.pop(batch.producer_id, None)
            elif batch.transactional:
                ongoing.setdefault(batch.producer_id, batch.base_offset)
        return any(first < self.segments[0].base for first in ongoing.values())

    @property
    def seen(self) -> list[Batch]:
        """The batches as a reader of the partition sees them."""
        *closed, last = self.segments
        return [batch for segment in closed for batch in segment.closed] + last.named

    def shape(self, chance: random.Random, producer: Producer | None = None) -> Shape:
        kind = NO_TIMESTAMP if self.magic == 0 else self.timestamp_type
        shape = Shape(self.magic, chance.choice(self.codecs), kind, leader_epoch=self.epochs[-1][0])
        if producer is None:
            return shape
        return replace(
            shape,
            producer_id=producer.identity,
            producer_epoch=producer.epoch,
            base_sequence=producer.sequence,
            transactional=producer.transactional,
        )

    def records(self, chance: random.Random, count: int) -> list[Record]:
        return [self._record(chance, self.next_offset + place) for place in range(count)]

    def _record(self, chance: random.Random, offset: int) -> Record:
        self.written += 1
        # No two values are the same: a law can name a record by its value.
        value = f"{self.name}/{self.written}/".encode() + chance.randbytes(chance.choice([0, 3, 20, 200]))
        key = chance.choice(self.keys) if self.is_compacted or chance.random() < 0.8 else None
        headers = tuple((chance.choice("abc"), chance.choice([None, b"", b"acme"])) for _ in range(chance.choice([0, 0, 1, 3])))
        is_tombstone = self.is_compacted and chance.random() < 0.2
        return Record(offset, self.time + chance.randint(-50, 50), key, None if is_tombstone else value, headers)

    def put(self, batch: Batch) -> None:
        """Append a batch, in a new segment if the last one is full or old."""
        if self.must_roll(self.segments[-1].batches, batch):
            self.roll()
        self.segments[-1].batches.append(batch)
        self.next_offset = batch.last_offset + 1
        if batch.producer_id >= 0:
            self.produced.append(batch)
        if batch.control:
            first = self.ongoing.pop(batch.producer_id, None)
            if batch.control == ABORT and first is not None:
                stable = min(self.ongoing.values(), default=self.next_offset)
                self.aborted[batch.base_offset] = batch.producer_id, first, stable
        elif batch.transactional:
            self.ongoing.setdefault(batch.producer_id, batch.base_offset)

    def must_roll(self, batches: list[Batch], batch: Batch) -> bool:
        """Whether a batch opens a new segment after a segment of these, as `LogSegment.shouldRoll` in Kafka decides."""
        if not batches:
            return False
        is_full = sum(len(batch.data) for batch in batches) > self.segment_bytes - len(batch.data)
        return is_full or batch.max_timestamp - batches[0].max_timestamp > self.segment_ms

    def verifies(self, chance: random.Random) -> bool:
        """Whether a new producer has transactions of version 2."""
        return chance.random() < 0.5

    def roll(self) -> None:
        if self.segments[-1].batches:
            self.segments.append(Segment(self.next_offset))

    def start_at(self, offset: int) -> None:
        """Raise the log start offset, and delete the segments below it."""
        self.log_start = max(self.log_start, offset)
        while len(self.segments) > 1 and self.segments[1].base <= self.log_start:
            del self.segments[0]
        below = [epoch for epoch, start in self.epochs if start <= self.log_start]
        if below:
            self.epochs = [(below[-1], self.log_start), *(epoch for epoch in self.epochs if epoch[1] > self.log_start)]

    def forget_false_start(self) -> None:
        """Drop a log start offset above the valid batches, which does not count (SEG-20): it would depend on what a damaged header says."""
        if self.damaged and self.log_start > max((batch.last_offset + 1 for batch in self.batches if batch.state == "valid"), default=0):
            self.log_start = self.segments[0].base
        if self.damaged and self.checkpoint is not None and self.checkpoint.startswith(f"0\n1\n{self.topic}".encode()):
            self.checkpoint = None


def append(partition: Partition, chance: random.Random) -> None:
    """Append batches of producers without and with sequences; transactions begin, go on and end among them."""
    for _ in range(chance.choice([1, 1, 2, 4])):
        partition.time += chance.randint(0, 2000)
        if chance.random() < 0.15:
            partition.roll()
        if partition.magic < 2 or chance.random() < 0.5:
            _append_data(partition, chance, None)
        else:
            _produce(partition, chance)


def bad_clock(partition: Partition, chance: random.Random) -> None:
    """Append batches of a producer whose clock is wrong, or counts in another unit."""
    right = partition.time
    partition.time = chance.choice([100, right // 1000, right * 1000, right + 10**12, right - 10**10])
    _append_data(partition, chance, None)
    partition.time = right
    partition.warned = True


def _append_data(partition: Partition, chance: random.Random, producer: Producer | None) -> None:
    shape = partition.shape(chance, producer)
    records = partition.records(chance, chance.choice([1, 1, 2, 3, 8]))
    if shape.magic < 2 and shape.codec == "none":
        for record in records:
            partition.put(data_batch([record], shape))
    else:
        partition.put(data_batch(records, shape))
    if producer is not None:
        producer.sequence += len(records)


def _produce(partition: Partition, chance: random.Random) -> None:
    if len(partition.producers) < 3 and (not partition.producers or chance.random() < 0.3):
        is_transactional = chance.random() < 0.7
        identity = 1000 + partition.written * 10 + len(partition.producers)
        partition.producers.append(Producer(identity, is_transactional, is_transactional and partition.verifies(chance)))
    producer = chance.choice(partition.producers)
    if producer.is_open and chance.random() < 0.5:
        end(partition, chance, producer)
    else:
        _append_data(partition, chance, producer)
        producer.is_open = producer.transactional


def end(partition: Partition, chance: random.Random, producer: Producer) -> None:
    """End the transaction of a producer."""
    if producer.verifies:
        producer.epoch, producer.sequence = producer.epoch + 1, 0
    kind = chance.choice([COMMIT, COMMIT, ABORT])
    partition.put(marker(kind, partition.next_offset, partition.time, partition.shape(chance, producer)))
    producer.is_open = False


def end_all(partition: Partition, chance: random.Random) -> None:
    """End all open transactions."""
    for producer in partition.producers:
        if producer.is_open:
            end(partition, chance, producer)


def roll(partition: Partition, chance: random.Random) -> None:
    partition.roll()


def elect(partition: Partition, chance: random.Random) -> None:
    """Begin a leader epoch."""
    epoch = partition.epochs[-1][0] + chance.randint(1, 3)
    if partition.epochs[-1][1] == partition.next_offset:
        partition.epochs.pop()
    partition.epochs.append((epoch, partition.next_offset))


def retain(partition: Partition, chance: random.Random) -> None:
    """Delete the oldest segments, as retention does."""
    if len(partition.segments) > 1:
        partition.start_at(partition.segments[chance.randrange(1, len(partition.segments))].base)


def delete_records(partition: Partition, chance: random.Random) -> None:
    """Raise the log start offset to any offset."""
    first = partition.segments[0].base
    partition.start_at(chance.randint(first, partition.next_offset))


def truncate(partition: Partition, chance: random.Random) -> None:
    """Cut the log at a batch, as a follower does after an election. Producers that come later are others."""
    batches = [batch for batch in partition.batches if batch.base_offset >= partition.log_start]
    if len(batches) < 2:
        return
    offset = chance.choice(batches[len(batches) // 2 :]).base_offset
    while len(partition.segments) > 1 and partition.segments[-1].base >= offset:
        partition.segments.pop()
    last = partition.segments[-1]
    last.batches = [batch for batch in last.batches if batch.base_offset < offset]
    partition.next_offset = offset
    partition.epochs = [(epoch, start) for epoch, start in partition.epochs if start <= offset] or [(0, partition.segments[0].base)]
    partition.producers.clear()
    partition.produced = [batch for batch in partition.produced if batch.base_offset < offset]
    partition.aborted = {marker: entry for marker, entry in partition.aborted.items() if marker < offset}
    batches = partition.batches
    partition.ongoing = {}
    for batch, fate in zip(batches, fates(batches), strict=True):
        if fate == "open":
            partition.ongoing.setdefault(batch.producer_id, batch.base_offset)
    elect(partition, chance)


def fates(batches: list[Batch]) -> list[str]:
    """Return what became of each batch: "plain", "committed", "aborted" or "open"."""
    found = ["plain"] * len(batches)
    open_places: dict[int, list[int]] = {}
    for place, batch in enumerate(batches):
        if batch.control:
            for earlier in open_places.pop(batch.producer_id, []):
                found[earlier] = "committed" if batch.control == COMMIT else "aborted"
        elif batch.transactional:
            open_places.setdefault(batch.producer_id, []).append(place)
    for places in open_places.values():
        for place in places:
            found[place] = "open"
    return found


def last_stable(batches: list[Batch]) -> int:
    """Return the first offset of an open transaction, or an offset above all."""
    return next((batch.base_offset for batch, fate in zip(batches, fates(batches), strict=True) if fate == "open"), 2**63 - 1)


#: Steps and how often they are drawn.
STEPS: dict[str, tuple[Callable[[Partition, random.Random], None], int]] = {
    "append": (append, 12),
    "roll": (roll, 3),
    "end_all": (end_all, 2),
    "elect": (elect, 1),
    "retain": (retain, 1),
    "delete_records": (delete_records, 1),
    "truncate": (truncate, 1),
    "bad_clock": (bad_clock, 1),
}
