"""Rewrite the partitions of a tree in parallel, one task a partition: `rewrite`."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from uuid import uuid4

from pyspark.sql import DataFrame

from logsegment._core import SegmentFile
from logsegment._options import CompressionName, EntryKeywords, LogStartOffset, MaskWith, PartitionOptions, ReadOptions
from logsegment._places import absolute, is_stored, redacted_uri
from logsegment._rewrite.account import Rewrite, RewrittenFile
from logsegment._rewrite.partitions import RewriteOptions, RewriteWork, rewrite_partition
from logsegment._rewrite.rewrite import ensure_meant, ensure_outside
from logsegment._rewrite.selection import Selection, core_selection
from logsegment._storage import StorageOptions, reached
from logsegment.segment_files.log_start import files_of_partitions
from logsegment.segment_files.output_directory import ensure_own_directories
from logsegment.segment_files.output_names import directory_name
from logsegment.spark.write import journal, places
from logsegment.spark.write.journal import Move
from logsegment.spark.write.writer import locked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

#: What a task returns: the number of its partition, where the attempt staged it, and the account of one file, pickled.
_SCHEMA = "partition long, staged string, account binary"


def rewrite(
    spark: SparkSession,
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    keep: DataFrame | Selection | Any = None,
    drop: DataFrame | Selection | Any = None,
    tombstone: DataFrame | Selection | Any = None,
    mask: DataFrame | Selection | Any = None,
    mask_with: MaskWith = "empty",
    mask_key: bytes | None = None,
    compression: CompressionName | None = None,
    allow_loss: bool = False,
    allow_lower_end: bool = False,
    log_start_offset: LogStartOffset = "honour",
    replica: str | os.PathLike[str] | None = None,
    storage_options: StorageOptions | None = None,
    **options: Unpack[EntryKeywords],
) -> Rewrite:
    """Rewrite the partitions of a tree, as `logsegment.rewrite` does, with one task for each partition.

    The tasks stage their partitions in `dst`, and the driver commits them by the journal of the sink: all become visible, or none. `dst`
    must lead to one directory on the driver and on all executors. Keys travel to the tasks as Arrow.

    Args:
        spark: the session.
        src: a partition directory or a tree of them, also in a store or in tiered storage.
        dst: a directory, which is made. It must not hold the partitions that are written.
        keep, drop, tombstone, mask: as in `logsegment.rewrite`; also a DataFrame with the keys in its column `key`, or in its only column.
        mask_with, mask_key, compression, allow_loss, allow_lower_end, log_start_offset, replica: as in `logsegment.rewrite`.
        storage_options: options of the store of `src`; see `logsegment.Log`.
        options: options of entries; see `logsegment.decode`.

    Returns:
        A `Rewrite` with the account of every file.

    Raises:
        ValueError, TypeError: if an argument is invalid.
        FileExistsError: if `dst` holds one of the partitions.
        pyspark.errors.PythonException: if a task failed; nothing is visible then.
        OSError: if a file cannot be read or written.

    Example:
        >>> from logsegment.spark import rewrite
        >>> keys = spark.createDataFrame([("user-16",), ("user-17",)], "key string")
        >>> done = rewrite(spark, "orders-0", "cleaned", drop=keys)
        >>> done.records
        240
    """
    src = reached(src, storage_options)
    files, findings = files_of_partitions(src, PartitionOptions(log_start_offset=log_start_offset, replica=replica))
    target = os.path.abspath(os.fspath(dst))
    if is_stored(os.fspath(dst)):
        raise ValueError(f"{redacted_uri(os.fspath(dst))}: a rewrite writes to a directory of this machine, or of a shared file system")
    ensure_outside(target, src)
    ensure_own_directories(files)
    partitions = [list(group) for _, group in groupby(files, lambda file: absolute(file.directory))]
    given = {"keep": keep, "drop": drop, "tombstone": tombstone, "mask": mask}
    how = RewriteOptions(
        mask_with=mask_with,
        mask_key=mask_key,
        compression=compression,
        allow_loss=allow_loss,
        allow_lower_end=allow_lower_end,
        is_threaded=False,
    )
    selections = {name: _selection(selection) for name, selection in given.items() if selection is not None}
    # Fails here, not in a task, for selections that are invalid.
    ensure_meant(_with_selections(how, selections))
    job = places.new_job()
    staging = places.staging(target, job)
    task = _Task(partitions, ReadOptions.of(EntryKeywords, options), how, (staging, target), _broadcast(spark, selections))
    os.makedirs(staging)
    try:
        rows = spark.range(0, len(partitions), 1, len(partitions)).mapInArrow(task.run, _SCHEMA).collect()
        with locked(target):
            journal.recover(target)
            staged = {row["partition"]: row["staged"] for row in rows}
            journal.commit(target, job, [_move(files, staged[number], (job, target)) for number, files in enumerate(partitions)], None)
    finally:
        if not journal.is_pending(target):
            places.remove_leftovers(target, job)
    done = [pickle.loads(row["account"]) for row in sorted(rows, key=lambda row: row["partition"])]
    return Rewrite(done, os.fspath(dst), False, partition_findings=findings)


@dataclass(frozen=True)
class _Task:
    """What a task does with the numbers of its partitions.

    Attributes:
        partitions: the segments of each.
        read: how entries are read.
        options: what becomes of records, without the selections.
        directories: where partitions are staged, and where they will be.
        selections: gives what records are meant.
    """

    partitions: list[list[SegmentFile]]
    read: ReadOptions
    options: RewriteOptions
    directories: tuple[str, str]
    selections: Callable[[], dict[str, Any]]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rewrite the partitions of a task, and yield the account of each file."""
        import pyarrow as pa

        work = RewriteWork(self.read, _with_selections(self.options, self.selections()))
        for batch in batches:
            for number in batch.column(0).to_pylist():
                staged, done = self._rewrite(number, work)
                accounts = [pickle.dumps(account) for account in done]
                columns = [
                    pa.array([number] * len(accounts), pa.int64()),
                    pa.array([staged] * len(accounts)),
                    pa.array(accounts, pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(columns, ["partition", "staged", "account"])

    def _rewrite(self, number: int, work: RewriteWork) -> tuple[str, list[RewrittenFile]]:
        staging, target = self.directories
        # Two attempts of a task may run at once. Each has a directory of its own, and the attempt counts whose rows Spark takes.
        staged = f"{number}-{uuid4().hex}"
        above = Path(staging, staged)
        above.mkdir()
        return staged, list(rewrite_partition(self.partitions[number], work, above, target))


def _with_selections(options: RewriteOptions, given: dict[str, Any]) -> RewriteOptions:
    found: dict[str, Any] = {name: core_selection(selection) for name, selection in given.items()}
    return replace(options, **found)


def _selection(given: Any) -> Any:
    """Return a selection that a task can be sent: keys of a DataFrame as Arrow.

    Raises:
        ValueError: if no column of a DataFrame is named key, and there are several.
    """
    if not isinstance(given, DataFrame):
        return given
    if "key" not in given.columns and len(given.columns) != 1:
        raise ValueError(f"the keys: no column is named key, and there are {len(given.columns)} columns")
    column = "key" if "key" in given.columns else given.columns[0]
    return given.select(column).toArrow().column(0)


def _broadcast(spark: SparkSession, selections: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Return what gives the selections in a task. Spark Connect has no broadcasts, and sends them with each task."""
    try:
        sent = spark.sparkContext.broadcast(selections)
    except Exception:  # PySparkAttributeError or JVM_ATTRIBUTE_NOT_SUPPORTED, by the version of Spark.
        return lambda: selections
    return lambda: sent.value


def _move(files: list[SegmentFile], staged: str, job: tuple[str, str]) -> Move:
    (name, target), partition = job, directory_name(files[0])
    if os.path.lexists(os.path.join(target, partition)):
        raise FileExistsError(errno.EEXIST, "the partition exists", os.path.join(target, partition))
    return Move("install", os.path.join(places.staging_name(name), staged, partition), partition)
