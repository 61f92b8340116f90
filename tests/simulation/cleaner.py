"""The log cleaner: a step that compacts the segments of a partition, and the rows that a compaction leaves."""

from __future__ import annotations

import random

from tests.simulation.entries import Batch, Record, cleaned
from tests.simulation.partition import Partition, fates, last_stable
from tests.simulation.truth import Row, rows_of

DELETE_RETENTION = 86_400_000


def latest(batches: list[Batch], log_start: int) -> dict[bytes, int]:
    """Return the offset of the latest record of each key; records of aborted transactions do not count."""
    found: dict[bytes, int] = {}
    stable = last_stable(batches)
    for batch, fate in zip(batches, fates(batches), strict=True):
        if batch.control is None and fate != "aborted" and batch.base_offset < stable:
            found |= {record.key: record.offset for record in batch.records if record.key is not None and record.offset >= log_start}
    return found


def stays(record: Record, batch: Batch, kept: dict[bytes, int], now: int) -> bool:
    """Whether a cleaner keeps a record of a batch that is not of an aborted transaction."""
    if record.key is None or kept.get(record.key) != record.offset:
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
    if not clean:
        return
    ends_at = clean[-1].batches[-1].last_offset if clean[-1].batches else clean[-1].base
    kept = latest([batch for batch in batches if batch.last_offset <= ends_at], partition.log_start)
    state = dict(zip(map(id, batches), fates(batches), strict=True))
    last_of = {batch.producer_id: id(batch) for batch in batches if batch.producer_id >= 0 and not batch.control}
    for segment in clean:
        segment.batches = [
            changed
            for batch in segment.batches
            if (changed := _cleaned(partition, batch, kept, state[id(batch)] == "aborted", last_of)) is not None
        ]
    if len(clean) > 1 and chance.random() < 0.6:
        first, *others = clean
        first.batches += [batch for segment in others for batch in segment.batches]
        partition.segments = [segment for segment in partition.segments if not any(segment is other for other in others)]


def _cleaned(partition: Partition, batch: Batch, kept: dict[bytes, int], is_aborted: bool, last_of: dict[int, int]) -> Batch | None:
    """Return what is left of a batch; the last one of a producer stays without records, so that its sequence is known."""
    horizon = partition.time + DELETE_RETENTION
    if batch.control:
        return batch if batch.horizon is not None else cleaned(batch, batch.records, horizon)
    records = [record for record in batch.records if not is_aborted and stays(record, batch, kept, partition.time)]
    if not records and last_of.get(batch.producer_id) != id(batch):
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
