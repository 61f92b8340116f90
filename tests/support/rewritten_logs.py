"""Logs of every kind that a cleaner meets, made from a seed: codecs, magics, producers, transactions, gaps, timestamp types."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pyarrow as pa

import logsegment as ls

TIME = 1_700_000_000_000
CODECS = {0: ("none", "gzip", "snappy", "lz4"), 1: ("none", "gzip", "snappy", "lz4"), 2: ("none", "gzip", "snappy", "lz4", "zstd")}


@dataclass
class MadeLog:
    """A log, the keys to drop, and what of it must not be found afterwards."""

    magic: int
    data: bytes
    drop: list[bytes | None]
    erased: list[bytes]
    has_nulls: bool


def magic_of(seed: int) -> int:
    """Return the magic of the log of a seed: of four seeds, one each has magic 0 and 1, and two have 2."""
    return (0, 1, 2, 2)[seed % 4]


def make_log(seed: int) -> MadeLog:
    """Return the log of a seed."""
    chance, magic = random.Random(seed), magic_of(seed)
    maker = Maker(chance, magic)
    parts = [maker.part() for _ in range(chance.randint(1, 12))]
    drop = [key for key in maker.keys if chance.random() < chance.choice([0.1, 0.5, 0.9])]
    erased = [value for key, value in maker.written if key in drop and value]
    return MadeLog(magic, b"".join(parts), drop, erased, maker.has_nulls)


def make_segments(seed: int, time: int) -> list[tuple[int, bytes]]:
    """Return base offset and bytes of the segments of a log of magic 2 without open transactions, from `time` on."""
    maker = Maker(random.Random(seed), 2, time)
    segments = []
    for _ in range(maker.chance.randint(2, 4)):
        base = maker.offset
        segments.append((base, b"".join(maker.part() for _ in range(maker.chance.randint(1, 10)))))
    last, data = segments[-1]
    segments[-1] = (last, data + b"".join(maker.marker(producer) for producer in sorted(maker.open)))
    return segments


class Maker:
    """Makes batch after batch of one log."""

    def __init__(self, chance: random.Random, magic: int, time: int = TIME) -> None:
        self.time = time
        self.chance = chance
        self.magic = magic
        self.offset = chance.randint(0, 1000)
        self.keys: list[bytes | None] = [f"user-{number}".encode() for number in range(chance.randint(1, 12))]
        self.keys += [None] if chance.random() < 0.5 else []
        self.has_nulls = chance.random() < 0.2
        self.written: list[tuple[bytes | None, bytes | None]] = []
        self.sequences = {7: 0, 8: 0}
        self.open: set[int] = set()

    def part(self) -> bytes:
        """Return one to several batches, or the end of a transaction."""
        if self.chance.random() < 0.3:
            self.offset += self.chance.randint(1, 50)
        if self.open and self.chance.random() < 0.4:
            return self.marker(self.chance.choice(sorted(self.open)))
        return self._records()

    def _records(self) -> bytes:
        count = self.chance.randint(1, 20)
        options: dict[str, object] = {"compression": self.chance.choice(CODECS[self.magic])}
        if self.magic and self.chance.random() < 0.3:
            options |= {"timestamp_type": "LogAppendTime", "log_append_time": self.time + self.offset}
        if self.magic == 2:
            options |= {"partition_leader_epoch": self.chance.randint(0, 5)}
            if self.chance.random() < 0.6:
                options |= self._producer(count)
        keys = [self.chance.choice(self.keys) for _ in range(count)]
        values = [self._value() for _ in range(count)]
        self.written += zip(keys, values, strict=True)
        holes = "producer_id" not in options and self.chance.random() < 0.3
        offsets = [self.offset + number * (2 if holes else 1) for number in range(count)]
        columns = {
            "offset": pa.array(offsets, pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "timestampMs": pa.array([self.time + self.chance.randint(-1000, 1000) for _ in range(count)], pa.int64()),
        }
        if self.magic == 2 and self.chance.random() < 0.5:
            headers = [
                [{"key": "tenant", "value": self.chance.choice([None, b"", b"acme"])}] * self.chance.randint(0, 3) for _ in range(count)
            ]
            columns["headers"] = pa.array(headers, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
        self.offset = offsets[-1] + 1
        return ls.encode(pa.table(columns), format=f"v{self.magic}", batch_bytes=1 << 20, **options)

    def _producer(self, count: int) -> dict[str, object]:
        producer = self.chance.choice([7, 8])
        sequence = self.sequences[producer]
        self.sequences[producer] += count
        # Producer 7 writes transactions, producer 8 is idempotent alone.
        if producer == 7:
            self.open.add(7)
        return {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence, "transactional": producer == 7}

    def marker(self, producer: int) -> bytes:
        """Return the end of a transaction."""
        self.open.remove(producer)
        columns = {
            "offset": [self.offset],
            "value": pa.array([None], pa.binary()),
            "controlType": [self.chance.choice(["COMMIT", "ABORT"])],
            "timestampMs": [self.time + self.offset],
        }
        self.offset += 1
        return ls.encode(pa.table(columns), transactional=True, producer_id=producer, producer_epoch=0, partition_leader_epoch=0)

    def _value(self) -> bytes | None:
        if self.has_nulls and self.chance.random() < 0.3:
            return None
        # Long and different enough that no other record and no compressed stream holds it by chance.
        return self.chance.randbytes(12) if self.chance.random() < 0.9 else b""
