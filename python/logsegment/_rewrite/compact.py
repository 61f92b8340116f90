"""Compact logs by key, by the rules of a broker's log cleaner: `compact`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from logsegment._core import CompactionRound, PartitionEnd, SegmentFile
from logsegment._options import CompressionName, EntryKeywords, LogStartOffset, PartitionOptions, ReadOptions, Timestamp, milliseconds
from logsegment._output import output_directory
from logsegment._places import absolute
from logsegment._rewrite.account import Rewrite, RewrittenFile
from logsegment._rewrite.partitions import (
    RewriteOptions,
    RewriteWork,
    rewrite_partition,
    snapshot_before,
    sources_of,
)
from logsegment._rewrite.rewrite import new_directory, observed_work
from logsegment._storage import Keys, StorageOptions
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import LogSource, inputs_of
from logsegment.segment_files.discovery import Topics, find_segments
from logsegment.segment_files.output_directory import ensure_own_directories
from logsegment.segment_files.output_names import directory_name

#: Kafka's `log.cleaner.dedupe.buffer.size`.
MEMORY = 128 << 20
#: Kafka's `delete.retention.ms`.
DELETE_RETENTION_MS = 86_400_000


@dataclass(frozen=True)
class Deletion:
    """When tombstones and markers may go.

    Attributes:
        memory: bytes of the offset map.
        now: the time of the compaction, in milliseconds.
        retention_ms: how long a tombstone stays after the first compaction that sees it.
    """

    memory: int
    now: int
    retention_ms: int


def compact(
    source: LogSource,
    out: str | os.PathLike[str] | None = None,
    *,
    memory: int = MEMORY,
    delete_retention_ms: int = DELETE_RETENTION_MS,
    now: Timestamp | None = None,
    compression: CompressionName | None = None,
    allow_lower_end: bool = False,
    dry_run: bool = False,
    log_start_offset: LogStartOffset = "honour",
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Rewrite:
    """Compact partitions by key, as the log cleaner of a broker does.

    Of each key the latest record stays, and records without a key go. A tombstone stays until its delete horizon, which the first
    compaction sets to `now` plus `delete_retention_ms` (KIP-534). Records of aborted transactions go, and so do markers of transactions of
    which nothing is left, after their delete horizon. From the first open transaction on everything stays. Batches are kept as in
    `rewrite`. Unlike a broker, `compact` compacts the last segment too, keeps the borders of segments and the formats of entries, and
    keeps tombstones of magic 0 and 1.

    Memory is bounded by `memory`: an offset map of 24 bytes for each slot, of which nine of ten are used, so that the default of 128 MiB
    holds 5 million keys. A partition with more keys is compacted in rounds, as in a broker: each round reads and writes the part before
    its last key again, so that it needs the disk space of the partition twice.

    Args:
        source: a partition directory or a tree of them, also in tiered storage; a pattern (`orders-*`) or a `Log`; or a list of these.
        out: a new directory, with a directory for each partition, with indexes, snapshots and the leader epoch checkpoint.
        memory: bytes of the offset map; `log.cleaner.dedupe.buffer.size`.
        delete_retention_ms: how long tombstones stay; the topic's `delete.retention.ms`.
        now: the time of the compaction; that of the clock by default.
        compression: codec of the batches that are written anew; None keeps the codec of each batch.
        allow_lower_end: as in `rewrite`.
        dry_run: return the account, and write nothing but temporary files.
        log_start_offset: as in `rewrite`.
        topic: only the partitions of this topic, or of these.
        partition: only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects of tiered storage; see `Log`.
        observer: gets the `RewrittenFile` of each file as soon as it is written; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        A `Rewrite`. With several rounds, `files` has the account of each round.

    Raises:
        LossError, RecordBatchError: as `rewrite`.
        ValueError, TypeError: if an argument is invalid.
        FileExistsError: if the output exists.
        OSError: if a file cannot be read or written.

    Example:
        >>> import logsegment as ls
        >>> done = ls.compact("orders-0", dry_run=True)
        >>> done.records
        240

    Source: `Cleaner`, `CleanedTransactionMetadata` and `SkimpyOffsetMap` in Kafka; KIP-58, KIP-98, KIP-534.
    """
    if memory < 1 or delete_retention_ms < 0:
        raise ValueError("memory must be at least 1, and delete_retention_ms at least 0")
    clock = time.time_ns() // 1_000_000 if now is None else milliseconds(now, "now")
    how = RewriteOptions(compression=compression, allow_lower_end=allow_lower_end)
    work = observed_work(RewriteWork(ReadOptions.of(EntryKeywords, options), how, dry_run), observer)
    inputs = inputs_of(
        source,
        (storage_options, decryption_keys, layout),
        selection=(topic, None if partition is None else int(partition)),
        options=PartitionOptions(log_start_offset=log_start_offset, replica=replica),
        observer=observer,
    )
    if not inputs.files or not all(segment.is_listed for segment in inputs.segments):
        raise TypeError("compact needs the path of a partition directory, or of a tree of them")
    findings = inputs.observed(observer)
    deletion = Deletion(memory, clock, delete_retention_ms)
    if dry_run:
        return Rewrite(compact_partitions(inputs.files, work, deletion, None, None), None, True, partition_findings=findings)
    place = new_directory(out, inputs)
    with output_directory(place) as hidden:
        done = compact_partitions(inputs.files, work, deletion, hidden, place)
    return Rewrite(done, place, False, partition_findings=findings)


def compact_partitions(
    files: Sequence[SegmentFile], work: RewriteWork, deletion: Deletion, target: Path | None, output: str | None
) -> list[RewrittenFile]:
    """Compact partitions.

    Args:
        files: partition by partition, in the order of their offsets.
        work: what is done.
        deletion: when tombstones go, and how much memory the map may take.
        target: an existing directory, below which each partition gets its own; None for a dry run.
        output: the name that the directory will have, for the account.

    Raises:
        ValueError: if a file has no name of a segment, two partitions would share a directory, or memory does not hold the keys of a batch.
        RecordBatchError, OSError: as `compact`.
    """
    ensure_own_directories(files)
    done: list[RewrittenFile] = []
    for _, group in groupby(files, lambda file: absolute(file.directory)):
        with TemporaryDirectory(prefix=".rounds-", dir=target) as scratch:
            done += _compact_partition(list(group), work, deletion, (target, output, Path(scratch)))
    return done


def _compact_partition(files: list[SegmentFile], work: RewriteWork, deletion: Deletion, places: Any) -> list[RewrittenFile]:
    target, output, scratch = places
    done: list[RewrittenFile] = []
    first_offset = files[0].log_start or 0
    for number in count():
        sources = sources_of(files)
        end = PartitionEnd(sources, work.read, snapshot_before(files[0]))
        now = (deletion.now, deletion.retention_ms)
        found = CompactionRound(sources, work.read, end, first_offset, deletion.memory, now)
        if not found.is_full:
            return [*done, *rewrite_partition(files, replace(work, round=found), target, output)]
        if found.latest_offset is None or found.latest_offset < first_offset:
            raise ValueError(f"memory: {deletion.memory} bytes do not hold the keys of one batch")
        above = scratch / str(number)
        above.mkdir()
        done += rewrite_partition(files, replace(work, round=found, is_dry=False), above, os.fspath(above))
        first_offset = found.latest_offset + 1
        files = [file.replaced(known_size=None) for file in find_segments(above / directory_name(files[0]))]
    raise AssertionError("unreachable")
