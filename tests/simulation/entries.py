"""Batches with the records that they were made from: what a reader must return is never asked of a reader."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import lz4.frame
import pyarrow as pa
import zstandard

import building
import logsegment as ls

#: Codecs by the magic of an entry; Kafka writes zstd in magic 2 alone.
CODECS = {0: ("none", "gzip", "snappy", "lz4"), 1: ("none", "gzip", "snappy", "lz4"), 2: ("none", "gzip", "snappy", "lz4", "zstd")}
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ABORT, COMMIT = "ABORT", "COMMIT"
NO_TIMESTAMP, CREATE_TIME, LOG_APPEND_TIME = -1, 0, 1


@dataclass(frozen=True)
class Record:
    """A record as its producer wrote it; of markers, key and value are those of Kafka."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True)
class Batch:
    """An entry of a log: a record batch, or an entry of a message set.

    Attributes:
        data: its bytes on the disk.
        last_offset: that of the header, which compaction keeps.
        control: "ABORT" or "COMMIT" for a marker.
        horizon: the delete horizon that a cleaner has set.
        is_alone: the only batch of its segment, when its base offset was damaged: a reader trusts that offset or the name of the file.
        emptied_timestamp: the largest time of the records that a cleaner has taken out of a batch without records.
        state: "valid", "lost" (every reader reports it, and none returns its records), or "unsure" (a field without a checksum is
            damaged, so that a reader may return its records with other offsets, or reports it).
    """

    data: bytes
    base_offset: int
    last_offset: int
    records: tuple[Record, ...]
    magic: int = 2
    codec: str = "none"
    timestamp_type: int = CREATE_TIME
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: str | None = None
    leader_epoch: int = -1
    horizon: int | None = None
    state: str = "valid"
    is_alone: bool = False
    emptied_timestamp: int = -1

    @property
    def max_timestamp(self) -> int:
        return max((record.timestamp for record in self.records), default=self.emptied_timestamp)


@dataclass(frozen=True)
class Shape:
    """How records become a batch."""

    magic: int = 2
    codec: str = "none"
    timestamp_type: int = CREATE_TIME
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    leader_epoch: int = -1


def data_batch(records: Sequence[Record], shape: Shape) -> Batch:
    """Return a batch of records with consecutive offsets, as a producer sends it and a broker stores it."""
    if shape.magic < 2:
        shape = replace(shape, producer_id=-1, producer_epoch=-1, base_sequence=-1, transactional=False, leader_epoch=-1)
    stored = tuple(_as_stored(record, records, shape) for record in records)
    first, last = stored[0].offset, stored[-1].offset
    data = _message(stored[0], shape) if shape.magic < 2 and shape.codec == "none" else _encoded(stored, shape)
    return Batch(data, first, last, stored, **vars(shape))


def marker(kind: str, offset: int, timestamp: int, shape: Shape) -> Batch:
    """Return the batch of a transaction marker."""
    key, value = struct.pack(">hh", 0, (ABORT, COMMIT).index(kind)), struct.pack(">hi", 0, 0)
    data = building.batch(
        building.record(key, value),
        count=1,
        base_offset=offset,
        attributes=building.TRANSACTIONAL | building.CONTROL | (building.LOG_APPEND_TIME if shape.timestamp_type else 0),
        base_timestamp=timestamp,
        producer_id=shape.producer_id,
        producer_epoch=shape.producer_epoch,
        leader_epoch=shape.leader_epoch,
    )
    shape = replace(shape, magic=2, codec="none", base_sequence=-1, transactional=True)
    return Batch(data, offset, offset, (Record(offset, timestamp, key, value),), control=kind, **vars(shape))


def cleaned(batch: Batch, records: Sequence[Record], horizon: int | None = None) -> Batch:
    """Return the batch of magic 2 with these of its records, as a cleaner writes it."""
    codec = batch.codec
    base = batch.records[0].timestamp if batch.records and records else batch.max_timestamp
    largest = max((record.timestamp for record in records), default=base)
    attributes = CODECS[2].index(codec) | (building.LOG_APPEND_TIME if batch.timestamp_type else 0)
    attributes |= building.TRANSACTIONAL if batch.transactional else 0
    attributes |= building.CONTROL if batch.control else 0
    horizon = batch.horizon if horizon is None else horizon
    if horizon is not None:
        attributes |= building.DELETE_HORIZON
        base = horizon
    written = b"".join(
        building.record(
            record.key,
            record.value,
            [(name.encode(), content) for name, content in record.headers],
            offset_delta=record.offset - batch.base_offset,
            timestamp_delta=record.timestamp - base,
        )
        for record in records
    )
    data = building.batch(
        compressed(codec, written) if records else b"",
        count=len(records),
        base_offset=batch.base_offset,
        attributes=attributes if records else attributes & ~7,
        last_offset_delta=batch.last_offset - batch.base_offset,
        base_timestamp=base,
        max_timestamp=largest,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        leader_epoch=batch.leader_epoch,
    )
    return replace(
        batch, data=data, records=tuple(records), codec=codec if records else "none", horizon=horizon, emptied_timestamp=batch.max_timestamp
    )


def compressed(codec: str, data: bytes) -> bytes:
    if codec == "gzip":
        return gzip.compress(data, 1, mtime=0)
    if codec == "snappy":
        return pa.compress(data, codec="snappy", asbytes=True)
    if codec == "lz4":
        return lz4.frame.compress(data, store_size=False)
    return zstandard.compress(data, 1) if codec == "zstd" else data


def _as_stored(record: Record, records: Sequence[Record], shape: Shape) -> Record:
    """Return the record as a reader returns it: a broker's time for all of a batch, and no headers or times in old formats."""
    if shape.timestamp_type == LOG_APPEND_TIME:
        record = replace(record, timestamp=max(other.timestamp for other in records))
    if shape.magic < 2:
        record = replace(record, headers=(), timestamp=record.timestamp if shape.magic else -1)
    return record


def _message(record: Record, shape: Shape) -> bytes:
    attributes = building.LOG_APPEND_TIME if shape.timestamp_type == LOG_APPEND_TIME else 0
    return building.message(
        record.value, magic=shape.magic, key=record.key, offset=record.offset, attributes=attributes, timestamp=record.timestamp
    )


def _encoded(records: Sequence[Record], shape: Shape) -> bytes:
    columns = {
        "key": pa.array([record.key for record in records], pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
    }
    options: dict[str, object] = {}
    if shape.magic:
        columns["timestampMs"] = pa.array([record.timestamp for record in records], pa.int64())
    if shape.magic == 2:
        headers = [[{"key": name, "value": content} for name, content in record.headers] for record in records]
        columns["headers"] = pa.array(headers, HEADERS)
        options |= {"producer_id": shape.producer_id, "producer_epoch": shape.producer_epoch, "base_sequence": shape.base_sequence}
        options |= {"transactional": shape.transactional, "partition_leader_epoch": shape.leader_epoch}
    if shape.timestamp_type == LOG_APPEND_TIME:
        options |= {"timestamp_type": "LogAppendTime", "log_append_time": records[0].timestamp}
    first = records[0].offset
    encoded = ls.encode(
        pa.table(columns), format=f"v{shape.magic}", compression=shape.codec, base_offset=first, batch_bytes=1 << 30, **options
    )
    assert encoded is not None
    return encoded
