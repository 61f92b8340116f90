"""The files that a broker has of a partition: segments, indexes, snapshots and checkpoints."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import building
from tests.simulation.partition import Partition, Segment

CHECKPOINT = "log-start-offset-checkpoint"
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def write(partition: Partition, root: Path) -> Path:
    """Write the directory of a partition, and the checkpoint of the log directory above it; return the first."""
    directory = root / partition.name
    directory.mkdir(parents=True)
    for name, data in files(partition).items():
        (directory / name).write_bytes(data)
    if partition.checkpoint is not None:
        (root / CHECKPOINT).write_bytes(partition.checkpoint)
    elif partition.log_start > partition.segments[0].base:
        (root / CHECKPOINT).write_text(f"0\n1\n{partition.topic} {partition.number} {partition.log_start}\n")
    return directory


def files(partition: Partition) -> dict[str, bytes]:
    """Return the files of the directory by their names."""
    if partition.layout is not None:
        return dict(partition.layout)
    found = {}
    for segment in partition.segments:
        found[f"{segment.name:020}.log"] = segment.data
        name = f"{segment.base:020}"
        if segment.base + 2**31 - 1 > partition.next_offset:
            found[f"{name}.index"], found[f"{name}.timeindex"] = indexes(
                segment, partition.index_interval, () if segment.is_cleaned else partition.restarts
            )
    found |= transaction_indexes(partition)
    found |= {f"{base:020}.snapshot": producer_snapshot(partition, base) for base in partition.rolls}
    epochs = partition.epochs
    found["leader-epoch-checkpoint"] = f"0\n{len(epochs)}\n".encode() + b"".join(b"%d %d\n" % pair for pair in epochs)
    found["partition.metadata"] = f"version: 0\ntopic_id: {TOPIC_ID}".encode()
    for name, data in partition.sidecars.items():
        if data is None:
            found.pop(name, None)
        elif name in found:
            found[name] = data
    return found


def indexes(segment: Segment, interval: int, restarts: Sequence[int] = ()) -> tuple[bytes, bytes]:
    """Return the offset index and the time index, as `LogSegment.append` in Kafka fills them.

    A broker that stops notes the largest time, and after its start it has forgotten the bytes since the last entry of the index.
    """
    offsets, times = b"", b""
    position = since = 0
    largest, at, noted = -1, segment.base, -1
    for batch in segment.batches:
        if batch.base_offset in restarts and position:
            since = 0
            if largest > noted:
                times += struct.pack(">qi", largest, at - segment.base)
                noted = largest
        if batch.max_timestamp > largest:
            largest, at = batch.max_timestamp, batch.last_offset
        if since > interval:
            offsets += struct.pack(">ii", batch.last_offset - segment.base, position)
            if largest > noted:
                times += struct.pack(">qi", largest, at - segment.base)
                noted = largest
            since = 0
        since += len(batch.data)
        position += len(batch.data)
    if largest > noted:
        times += struct.pack(">qi", largest, at - segment.base)
    return offsets, times


def producer_snapshot(partition: Partition, end: int) -> bytes:
    """Return the file `.snapshot` with what a broker knew of producers before an offset (`ProducerStateEntry` in Kafka)."""
    known: dict[int, list[int]] = {}
    for batch in partition.produced:
        if batch.base_offset >= end:
            break
        epoch, sequence, last, delta, _, coordinator, first = known.get(batch.producer_id, [batch.producer_epoch, -1, -1, 0, -1, -1, -1])
        if epoch != batch.producer_epoch:
            sequence, last, delta = -1, -1, 0
        if batch.control:
            coordinator, first = struct.unpack(">hi", batch.records[0].value or b"")[1], -1
        else:
            last, delta = batch.last_offset, batch.last_offset - batch.base_offset
            sequence = batch.base_sequence + delta
            first = batch.base_offset if batch.transactional and first < 0 else first
        known[batch.producer_id] = [batch.producer_epoch, sequence, last, delta, batch.max_timestamp, coordinator, first]
    entries = b"".join(struct.pack(">qhiqiqiq", producer, *state) for producer, state in known.items())
    body = struct.pack(">i", len(known)) + entries
    return struct.pack(">hI", 1, building.crc32c(body)) + body


def transaction_indexes(partition: Partition) -> dict[str, bytes]:
    """Return the files `.txnindex`: aborted transactions by the segment of their marker."""
    found: dict[str, bytes] = {}
    for marker, (producer, first, stable) in partition.aborted.items():
        # A marker whose segment is lost or deleted is in no index.
        if marker < partition.segments[0].base:
            continue
        base = max(segment.base for segment in partition.segments if segment.base <= marker)
        entry = struct.pack(">hqqqq", 0, producer, first, marker, stable)
        found[f"{base:020}.txnindex"] = found.get(f"{base:020}.txnindex", b"") + entry
    return found
