"""The log cleaner: a step that compacts the segments of a partition, and the rows that a compaction leaves."""

from __future__ import annotations

import random

from tests.simulation.entries import Batch, Record, cleaned
from tests.simulation.partition import Partition, fates, last_stable
from tests.simulation.truth import FOREVER, Row, rows_of

DELETE_RETENTION = 86_400_000


def latest(batches: list[Batch], log_start: int, end: int = FOREVER) -> dict[bytes, int]:
    """Return the offset of the latest record of each key up to an offset; records of aborted transactions do not count."""
    found: dict[bytes, int] = {}
    stable = last_stable(batches)
    for batch, fate in zip(batches, fates(batches), strict=True):
        if batch.control is None and fate != "aborted" and batch.base_offset < stable and batch.last_offset <= end:
            found |= {record.key: record.offset for record in batch.records if record.key is not None and record.offset >= log_start}
    return found


def stays(record: Record, batch: Batch, kept: dict[bytes, int], now: int) -> bool:
    """Whether a cleaner keeps a record of a batch that is not of an aborted transaction."""
    if record.key is None or kept.get(record.key, -1) > record.offset:
        return False
    return record.value is not None or batch.horizon is None or batch.horizon >= now


def compacted_rows(batches: list[Batch], log_start: int, now: int) -> list[Row]:
    """Return the rows of data that a compaction of a whole log leaves."""
    batches = [batch for batch in batches if batch.state != "torn"]
    kept, stable = latest(batches, log_start), last_stable(batches)
    found = []
    for batch, fate in zip(batches, fates(batches), strict=True):
        if batch.control is not None:
            continue
        rows = [row for row in rows_of([batch]) if row[0] >= log_start]
        if batch.base_offset < stable:
            by_offset = {record.offset: record for record in batch.records}
            rows = [row for row in rows if fate != "aborted" and stays(by_offset[row[0]], batch, kept, now)]
        found += rows
    return found


def compact(partition: Partition, chance: random.Random) -> None:
    """Compact the closed segments up to the first open transaction, as the log cleaner does, and merge some of them."""
    if partition.magic < 2 or not partition.is_compacted:
        return
    batches = partition.batches
    stable = last_stable(batches)
    clean = [segment for segment in partition.segments[:-1] if all(batch.last_offset < stable for batch in segment.batches)]
    if not clean or partition.log_start >= min(stable, partition.segments[-1].base):
        return
    ends_at = clean[-1].batches[-1].last_offset if clean[-1].batches else clean[-1].base
    kept = latest(batches, partition.log_start, ends_at)
    state = dict(zip(map(id, batches), fates(batches), strict=True))
    last_of = last_batches(batches)
    if partition.keeps_end_of_round and clean[-1].batches:
        last_of.add(id(clean[-1].batches[-1]))
    begun: set[int] = set()
    for segment in clean:
        segment.is_cleaned = True
        segment.batches = [
            changed
            for batch in segment.batches
            if (changed := _cleaned(partition, batch, kept, state[id(batch)] == "aborted", last_of, begun)) is not None
        ]
    if len(clean) > 1 and chance.random() < 0.6:
        first, *others = clean
        first.batches += [batch for segment in others for batch in segment.batches]
        partition.segments = [segment for segment in partition.segments if not any(segment is other for other in others)]


def last_batches(batches: list[Batch]) -> set[int]:
    """Return the ids of the batches that tell the state of each producer: of its last records, or a marker that raised its epoch."""
    found: dict[int, Batch] = {}
    for batch in batches:
        before = found.get(batch.producer_id)
        if batch.producer_id >= 0 and (not batch.control or before is None or batch.producer_epoch > before.producer_epoch):
            found[batch.producer_id] = batch
    return {id(batch) for batch in found.values()}


def _cleaned(
    partition: Partition, batch: Batch, kept: dict[bytes, int], is_aborted: bool, last_of: set[int], begun: set[int]
) -> Batch | None:
    """Return what is left of a batch. The last one of a producer (`last_of`) stays without records, so that its state is known.

    A marker stays until a cleaner has met no batch of its transaction, and then as long as a tombstone. `begun` has the producers with
    batches of a transaction before this one.
    """
    horizon = partition.time + DELETE_RETENTION
    if batch.control:
        if batch.producer_id in begun:
            begun.discard(batch.producer_id)
            return batch
        partition.aborted.pop(batch.base_offset, None)
        if batch.horizon is None:
            return cleaned(batch, batch.records, horizon)
        if batch.horizon >= partition.time:
            return batch
        return cleaned(batch, ()) if id(batch) in last_of else None
    if batch.transactional:
        begun.add(batch.producer_id)
    records = [record for record in batch.records if not is_aborted and stays(record, batch, kept, partition.time)]
    if not records and id(batch) not in last_of:
        return None
    sets_horizon = batch.horizon is None and any(record.value is None for record in records)
    if len(records) == len(batch.records) and not sets_horizon:
        return batch
    return cleaned(batch, records, horizon if sets_horizon else None)


def wait(partition: Partition, chance: random.Random) -> None:
    """Let the days pass that a cleaner keeps tombstones."""
    if all(fate != "open" for fate in fates(partition.batches)):
        partition.time += 2 * DELETE_RETENTION
        # A truncation may open a transaction again, which then hangs.
        partition.warned = True
