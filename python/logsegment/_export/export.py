"""Write logs into tables of a data lake: `export`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Unpack

from logsegment._decode import decoded, ensure_topic_names
from logsegment._export.arrow_types import lake_schema
from logsegment._export.commits import persistently
from logsegment._export.exporter import ExportOptions, OnCommit, TableExport, TableResult
from logsegment._export.log_reader import ExportedPartition, ReadBounds, sources_of
from logsegment._export.result import Export
from logsegment._export.tables import LakeTable, TablePlan, TargetOptions
from logsegment._export.targets import tables_by_topic
from logsegment._export.transforms import BY_DAY, transforms_of
from logsegment._options import (
    COLUMNS,
    EntryKeywords,
    Framing,
    Integers,
    Isolation,
    KeyValues,
    LogStartOffset,
    OnError,
    PartitionOptions,
    ReadOptions,
    SchemaSource,
    Timestamp,
    Unreadable,
    Values,
    ensure_offsets,
    partition_number,
    time_bounds,
)
from logsegment._storage import Keys, StorageOptions
from logsegment._text import listed
from logsegment._typed_values import planned
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, LogSource, inputs_of
from logsegment.segment_files.discovery import Topics

#: The least memory of an export: the libraries alone take most of it.
LEAST_MEMORY = 320 << 20


def export(
    source: LogSource,
    to: Any,
    *,
    columns: Sequence[str] | None = None,
    values: Values = "raw",
    key_values: KeyValues = "raw",
    schemas: SchemaSource | None = None,
    reader_schema: Any = None,
    framing: Framing | None = None,
    integers: Integers = "int64",
    isolation: Isolation = "read_committed",
    start_offset: int | None = None,
    end_offset: int | None = None,
    start_timestamp: Timestamp | None = None,
    end_timestamp: Timestamp | None = None,
    topic: Topics = None,
    partition: int | str | None = None,
    replica: str | os.PathLike[str] | None = None,
    log_start_offset: LogStartOffset = "honour",
    partition_by: Sequence[str] = BY_DAY,
    commit_bytes: int = 512 << 20,
    memory: int = 512 << 20,
    evolve: bool = False,
    trust_commits_only: bool = False,
    clean: bool = False,
    clean_hours: float = 24,
    on_error: OnError = "raise",
    unreadable: Unreadable = "raise",
    check_crc: bool = True,
    storage_options: StorageOptions | None = None,
    target_options: TargetOptions | None = None,
    decryption_keys: Keys | None = None,
    layout: str | None = None,
    on_commit: OnCommit | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Export:
    """Append the records of logs to tables of Iceberg or Delta, each offset once, or write a new directory of partitioned Parquet.

    Every commit carries the offsets that the table has so far, for each topic and partition. A run appends only what is missing: after an
    interruption, of a log that grew, of a second replica, or next to another run. If the newest commit of an export is gone, or if other
    writers added rows since, the columns topic, partition and offset are read instead.

    Args:
        source: a file, a partition directory, a tree, a pattern, a URI of a store, a `Log`, or a buffer with the bytes of a segment; or
            several.
        to: `"iceberg:CATALOG/NAMESPACE.TABLE"`, `"delta:URI"` or `"parquet:DIR"` (a new directory); or a PyIceberg or deltalake table. The
            catalog is a name in PyIceberg's configuration, or a directory (with `/` or `.` at its start, or that exists) with a catalog of
            SQLite. With `{topic}` in it, each topic has a table of its own; the name of an Iceberg table has `_` for each dot of the topic.
        columns: columns of the table; see `decode`. None for the eight columns of `decode`, and those of typed values.
        values: see `decode`. Typed values of several topics need `{topic}` in `to`.
        key_values: see `decode`.
        schemas: see `decode`.
        reader_schema: see `decode`.
        framing: see `decode`.
        integers: see `decode`.
        isolation: "read_committed" exports committed records, up to the first open transaction. A table has one isolation.
        start_offset: first offset of each partition.
        end_offset: end of the offsets of each partition (exclusive).
        start_timestamp: begin at the first record of this time or later; see `Log.records`.
        end_timestamp: only records before this time, and then none before `start_timestamp`.
        topic: see `Log`.
        partition: see `Log`.
        replica: see `Log`.
        log_start_offset: see `Log`, which has its own.
        partition_by: transforms of Iceberg: `"day(timestamp)"` (UTC), `"hour(timestamp)"`, `"bucket(16, key)"`, `"truncate(4, topic)"`, or
            the name of a column. An existing table keeps its own. Delta has a column for each, such as `timestamp_day`.
        commit_bytes: about how many bytes of Parquet each commit adds.
        memory: bytes that the process may use; at least 320 MiB. One record or batch that is larger takes more.
        evolve: add columns that an existing table lacks.
        trust_commits_only: never read columns of the table to find what it has; a table with rows that no commit explains is an error.
        clean: at the end, remove data files of interrupted exports: files with names of ours that no commit names and that are old enough.
        clean_hours: how old these files must be.
        on_error: "raise" ends at damage; what was committed before stays. "skip" reports damaged offsets, also in the commit, and a later
            run with a repaired segment adds them.
        unreadable: see `decode`.
        check_crc: see `decode`.
        storage_options: options of the store of the source; see `Log`. Without `target_options` they are also those of a Delta table.
        target_options: properties of the catalog of PyIceberg, or options of the store of a Delta table.
        decryption_keys: see `Segment`.
        layout: see `Log`.
        on_commit: is called with each commit.
        observer: gets the findings about partitions before a file is read; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        An `Export`.

    Raises:
        RecordBatchError: at damage.
        FileNotFoundError: if the source has no segments.
        FileExistsError: if the directory of Parquet exists.
        OSError: if a file cannot be read or written, or a table, catalog or store fails.
        ValueError, TypeError: if an argument is invalid, or the table cannot take the columns.
        ImportError: if pyarrow, PyIceberg or deltalake is not installed.

    Example:
        >>> import logsegment as ls
        >>> exported = ls.export("orders-0", "iceberg:./lake/kafka.orders")
        >>> exported.rows, exported.starting_offsets
        (240, '{"orders":{"0":240}}')
        >>> ls.export("orders-0", "iceberg:./lake/kafka.orders").rows
        0

    Source: the specifications of Iceberg and Delta; KIP-98 for isolation.
    """
    _ensure_pyarrow()
    read = ReadOptions.of(
        EntryKeywords,
        options,
        columns=columns,
        values=values,
        key_values=key_values,
        schemas=schemas,
        reader_schema=reader_schema,
        framing=framing,
        integers=integers,
        isolation=isolation,
        on_error=on_error,
        unreadable=unreadable,
        check_crc=check_crc,
    )
    ensure_offsets(start_offset, end_offset)
    bounds = ReadBounds(start_offset, end_offset, time_bounds(start_timestamp, end_timestamp))
    _ensure_sizes(commit_bytes, memory, clean_hours)
    how = ExportOptions(read, bounds, commit_bytes, memory, trust_commits_only, on_commit)
    partitions = PartitionOptions(log_start_offset=log_start_offset, replica=replica)
    access = (storage_options, decryption_keys, layout)
    inputs = inputs_of(source, access, selection=(topic, partition_number(partition)), options=partitions, observer=observer)
    inputs.ensure_segments(options)
    findings = inputs.observed(observer, warns=True)
    if isinstance(partition_by, str):
        raise TypeError(f'partition_by must be a sequence of transforms, not one string; write partition_by=["{partition_by}"]')
    shape = _Shape(tuple(partition_by), evolve, clean_hours * 3600 if clean else None)
    done = _exported(inputs, to, how, shape, _target_options(to, target_options, storage_options))
    done.findings[:0] = findings
    return done


@dataclass(frozen=True)
class _Shape:
    """How tables are made and cleaned.

    Attributes:
        partition_by: as the caller gave it.
        evolve: add missing columns.
        clean_seconds: how old data files must be that are removed; None to remove none.
    """

    partition_by: tuple[str, ...]
    evolve: bool
    clean_seconds: float | None


def _exported(inputs: Inputs, to: Any, how: ExportOptions, shape: _Shape, options: TargetOptions) -> Export:
    """Export the segments of a source; the tables are those of its topics."""
    sources = sources_of(inputs)
    ensure_topic_names(how.read, [file for source in sources for file in source.files])
    table_of, is_by_topic = tables_by_topic(to, options)
    topics = list(dict.fromkeys(source.partition[0] for source in sources))
    if how.read.is_typed and len(topics) > 1 and not is_by_topic:
        raise ValueError(
            f"values: {listed(topics, 4)} have different columns; write {{topic}} in the target, so that each topic has a table"
        )
    groups = [[topic] for topic in topics] if is_by_topic else [topics]
    results: list[TableResult] = []
    removed: list[str] = []
    with ExitStack() as stack:
        tables = [table_of(group[0]) for group in groups]
        if len({table.name for table in tables}) < len(tables):
            raise ValueError(f"two topics have one table: {listed(sorted(table.name for table in tables), 4)}")
        for table, group in zip(tables, groups, strict=True):
            own = [source for source in sources if source.partition[0] in group]
            stack.enter_context(table.writing())
            results.append(TableExport(table, own, _prepared(table, own, how, shape)).run())
            removed += _cleaned(table, shape.clean_seconds)
    return Export.of(results, removed)


def _prepared(table: LakeTable, sources: Sequence[ExportedPartition], how: ExportOptions, shape: _Shape) -> ExportOptions:
    """Prepare a table; return the options of its export, with the schemas of keys and values."""
    import pyarrow as pa

    names = how.read.columns or COLUMNS
    dotted = [name for name in names if "." in name]
    if dotted:
        raise ValueError(f"columns: a table has structs, not columns with dots: {', '.join(dotted)}")
    places = [(source.partition[0], file.source()) for source in sources for file in source.files]
    read = planned(replace(how.read, columns=tuple(names)), places)
    with decoded(b"", replace(read, topic=sources[0].partition[0], isolation="read_uncommitted")) as nothing:
        schema = lake_schema(pa.schema(nothing.schema), names, has_times=table.has_times)
    transforms = transforms_of(shape.partition_by, names)
    plan = TablePlan(schema, transforms, shape.partition_by == BY_DAY, shape.evolve)
    persistently(lambda: table.prepare(plan))
    return replace(how, read=read)


def _cleaned(table: LakeTable, seconds: float | None) -> list[str]:
    """Remove data files of interrupted exports; return their paths."""
    paths = [] if seconds is None else table.orphans(seconds)
    for path in paths:
        table.remove(path)
    return paths


def _target_options(to: Any, given: TargetOptions | None, storage_options: StorageOptions | None) -> TargetOptions:
    if given is not None:
        return given
    return storage_options or {} if isinstance(to, str) and to.startswith("delta:") else {}


def _ensure_sizes(commit_bytes: int, memory: int, clean_hours: float) -> None:
    if commit_bytes < 1:
        raise ValueError(f"commit_bytes must be at least 1: {commit_bytes}")
    if memory < LEAST_MEMORY:
        raise ValueError(f"memory must be at least {LEAST_MEMORY} (320 MiB): {memory}")
    if clean_hours < 0:
        raise ValueError(f"clean_hours must not be negative: {clean_hours}")


def _ensure_pyarrow() -> None:
    try:
        import pyarrow as pyarrow
    except ImportError:
        raise ImportError("export needs pyarrow: pip install 'logsegment[iceberg]' or 'logsegment[delta]'") from None
