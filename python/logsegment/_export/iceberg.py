"""Iceberg tables through PyIceberg: data files with field ids, and commits that carry the state of the export in the snapshot summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from logsegment._core import InternalError
from logsegment._export.arrow_types import misfits, missing_fields
from logsegment._export.state import COMMIT, OFFSETS, ExportState
from logsegment._export.tables import (
    FILE_NAME,
    KEY_COLUMNS,
    CommitConflict,
    LakeTable,
    PartitionValues,
    RowRange,
    TableColumns,
    TablePlan,
    WrittenFile,
    naming_table,
)
from logsegment._export.transforms import Transform

#: PyIceberg commits again by itself after a conflict, which would commit the state of before.
_NO_RETRIES = {"commit.retry.num-retries": "0"}
#: Of a new table: each commit makes a file of metadata, which has all commits.
NEW_PROPERTIES = {"write.metadata.delete-after-commit.enabled": "true"}
_MERGING = "commit.manifest-merge.enabled"


class IcebergTable(LakeTable):
    """A table of an Iceberg catalog.

    Args:
        name: as the caller wrote it.
        load: returns the PyIceberg table; raises `NoSuchTableError` without one.
        create: creates the table from an Arrow schema and fields of a partitioning; returns it.
    """

    def __init__(self, name: str, load: Callable[[], Any], create: Callable[[Any, Sequence[Transform]], Any]) -> None:
        super().__init__(name)
        self._load = load
        self._create = create
        self._table: Any = None

    def prepare(self, plan: TablePlan) -> None:
        """Create the table, or check that it can take the columns; see `LakeTable.prepare`."""
        from pyiceberg.exceptions import NoSuchTableError

        with naming_table(self.name):
            try:
                self._load_newest()
            except NoSuchTableError:
                self._create(plan.schema, plan.transforms)
                self._load_newest()
            self._ensure_fits(plan.schema, evolve=plan.evolve)
            fields = self._table.spec().fields
            own = tuple(map(self._transform, fields))
            if not plan.is_default and [*map(_kind, own)] != [*map(_kind, plan.transforms)]:
                there = ", ".join(map(str, fields)) or "nothing"
                raise ValueError(f"partition_by: {self.name} is partitioned otherwise: {there}; leave partition_by out")
            self.columns = TableColumns(_file_schema(self._table, plan.schema.names), own)
            properties = self._table.metadata.properties
            level = properties.get("write.parquet.compression-level")
            codec = properties.get("write.parquet.compression-codec", "zstd")
            self.compression = ("none" if codec == "uncompressed" else codec, None if level is None else int(level))

    def refresh(self) -> None:
        """Load the newest version of the table."""
        with naming_table(self.name):
            self._load_newest()

    def _load_newest(self) -> None:
        table = self._load()
        table.metadata = table.metadata.model_copy(update={"properties": table.metadata.properties | _NO_RETRIES})
        self._table = table

    def state(self) -> ExportState | None:
        """Return the state of the newest commit of an export among the ancestors of the current snapshot."""
        for snapshot in self._ancestors():
            state = ExportState.from_properties(_summary(snapshot))
            if state is not None:
                return state
        return None

    def commit_of(self, commit_id: str) -> int | None:
        """Return the snapshot of a commit of an export, if it is among the ancestors of the current snapshot."""
        return next((int(snapshot.snapshot_id) for snapshot in self._ancestors() if _summary(snapshot).get(COMMIT) == commit_id), None)

    @property
    def layout(self) -> object:
        """The ids of schema and partitioning."""
        metadata = self._table.metadata
        return metadata.table_uuid, metadata.current_schema_id, metadata.default_spec_id

    def other_rows(self) -> Iterator[Any] | None:
        """Return the rows of files that other writers added since the newest commit of an export; see `LakeTable.other_rows`."""
        others: set[int] = set()
        for snapshot in self._ancestors():
            if OFFSETS in _summary(snapshot):
                break
            if snapshot.summary is None or snapshot.summary.operation.value in ("append", "overwrite"):
                others.add(snapshot.snapshot_id)
        else:
            with naming_table(self.name):
                has_rows = any(task.file.record_count for task in self._table.scan().plan_files())
            return self.rows(KEY_COLUMNS) if has_rows else None
        paths = self._files_of(others) if others else set()
        return self._scanned(KEY_COLUMNS, None, paths) if paths else None

    def _files_of(self, snapshots: set[int]) -> set[str]:
        """Return the paths of the files that the table has and that some snapshots added."""
        with naming_table(self.name):
            table = self._table
            manifests = table.current_snapshot().manifests(table.io)
            entries = (entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io))
            return {entry.data_file.file_path for entry in entries if entry.snapshot_id in snapshots and entry.data_file.content.value == 0}

    def rows(self, columns: Sequence[str], wanted: RowRange | None = None) -> Iterator[Any]:
        """Yield rows of the table, file by file; see `LakeTable.rows`."""
        return self._scanned(columns, wanted)

    def _scanned(self, columns: Sequence[str], wanted: RowRange | None, paths: set[str] | None = None) -> Iterator[Any]:
        """Yield rows, of these files only if paths are given."""
        from pyiceberg.io.pyarrow import ArrowScan

        known = self._table.schema().column_names
        unknown = [column for column in columns if column not in known]
        if unknown:
            raise ValueError(f"{self.name} lacks the columns {', '.join(unknown)}")
        with naming_table(self.name):
            scan = self._table.scan(row_filter=_filter(wanted), selected_fields=tuple(columns))
            reader = ArrowScan(self._table.metadata, self._table.io, scan.projection(), scan.row_filter, scan.case_sensitive)
            for task in scan.plan_files():
                # Of several files, the reader has all rows in memory.
                if paths is None or task.file.file_path in paths:
                    yield from reader.to_record_batches([task])

    def new_file(self, values: PartitionValues, name: str) -> tuple[str, Any]:
        """Return the path and the open output of a new data file."""
        with naming_table(self.name):
            key = self._key(values) if values else None
            path = self._table.location_provider().new_data_location(name, key)
            return path, self._table.io.new_output(path).create()

    def commit(self, files: Sequence[WrittenFile], state: ExportState, commit_id: str) -> int:
        """Add files in a snapshot that has the state in its summary; return the id of the snapshot."""
        from pyiceberg.exceptions import CommitFailedException

        table = self._table
        parent = table.current_snapshot()
        with naming_table(self.name):
            transaction = table.transaction()
            update = transaction.update_snapshot(snapshot_properties=state.to_properties(commit_id))
            merges = str(table.metadata.properties.get(_MERGING)).lower() == "true"
            with update.merge_append() if merges else update.fast_append() as append:
                for file in files:
                    append.append_data_file(self._data_file(file))
            try:
                transaction.commit_transaction()
            except CommitFailedException as error:
                raise CommitConflict(str(error)) from None
        own = table.current_snapshot()
        if (
            own is None
            or _summary(own).get(COMMIT) != commit_id
            or own.parent_snapshot_id != (None if parent is None else parent.snapshot_id)
        ):
            raise InternalError(f"{self.name}: PyIceberg committed on top of another snapshot than the one that was loaded")
        self.refresh()
        return int(own.snapshot_id)

    def remove(self, path: str) -> None:
        """Remove a data file."""
        self._table.io.delete(path)

    def orphans(self, seconds: float) -> list[str]:
        """Return data files of exports that no snapshot names."""
        from pyarrow.fs import FileSelector, FileType

        with naming_table(self.name):
            table = self._table
            root = table.metadata.properties.get("write.data.path") or f"{table.location().rstrip('/')}/data"
            scheme, host, path = table.io.parse_location(root, table.io.properties)
            files = table.io.fs_by_scheme(scheme, host)
            found = files.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
            latest = time.time() - seconds
            old = [
                entry.path
                for entry in found
                if entry.type == FileType.File and FILE_NAME.fullmatch(entry.base_name) and (entry.mtime_ns or 0) / 1e9 < latest
            ]
            named = self._named() if old else set()
            start = root[: len(root) - len(path)]
            return [f"{start}{place}" for place in sorted(old) if place.rpartition("/")[2] not in named]

    def _named(self) -> set[str]:
        """Return the names of all files of exports that a snapshot has."""
        table, seen, names = self._table, set(), set()
        for snapshot in table.metadata.snapshots:
            for manifest in snapshot.manifests(table.io):
                if manifest.manifest_path in seen:
                    continue
                seen.add(manifest.manifest_path)
                for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                    names.add(entry.data_file.file_path.rpartition("/")[2])
        return names

    def _ancestors(self) -> Iterator[Any]:
        """Yield the current snapshot, its parent and so on, as far as they are not expired."""
        by_id = {snapshot.snapshot_id: snapshot for snapshot in self._table.metadata.snapshots}
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            yield snapshot
            snapshot = by_id.get(snapshot.parent_snapshot_id)

    def _ensure_fits(self, schema: Any, *, evolve: bool) -> None:
        """Check the columns of the table; add missing ones if it is allowed.

        Raises:
            ValueError: if columns are missing, or have other types.
        """
        missing = [*missing_fields(schema, _arrow_schema(self._table))]
        if missing and not evolve:
            raise ValueError(f"{self.name} lacks the columns {', '.join(missing)}; pass evolve=True (--evolve) to add them")
        if missing:
            with self._table.update_schema() as update:
                update.union_by_name(schema)
            self.refresh()
        wrong = [*misfits(schema, _arrow_schema(self._table))]
        if wrong:
            raise ValueError(f"{self.name} cannot take the columns: {'; '.join(wrong)}")

    def _transform(self, field: Any) -> Transform:
        kind, _, number = str(field.transform).partition("[")
        column = self._table.schema().find_column_name(field.source_id)
        names: Any = {"identity", "year", "month", "day", "hour", "bucket", "truncate", "void"}
        if kind not in names or column is None:
            raise ValueError(f"{self.name} is partitioned by {field.transform}, which is not supported")
        known: Any = kind
        return Transform(column, known, int(number.rstrip("]")) if number else None, field.name)

    def _key(self, values: PartitionValues) -> Any:
        """Return the key of a partition."""
        from pyiceberg.partitioning import PartitionFieldValue, PartitionKey

        spec = self._table.spec()
        fields = [PartitionFieldValue(field, value) for field, value in zip(spec.fields, values, strict=True)]
        return PartitionKey(fields, spec, self._table.schema())

    def _data_file(self, file: WrittenFile) -> Any:
        """Return the entry of a manifest for a file, with the statistics of its footer."""
        from pyiceberg.io.pyarrow import compute_statistics_plan, data_file_statistics_from_parquet_metadata, parquet_path_to_id_mapping
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

        metadata = self._table.metadata
        schema = self._table.schema()
        statistics = data_file_statistics_from_parquet_metadata(
            parquet_metadata=file.metadata,
            stats_columns=compute_statistics_plan(schema, metadata.properties),
            parquet_column_mapping=parquet_path_to_id_mapping(schema),
        )
        return DataFile.from_args(
            _table_format_version=metadata.format_version,
            content=DataFileContent.DATA,
            file_path=file.path,
            file_format=FileFormat.PARQUET,
            partition=self._key(file.values).partition if file.values else Record(),
            file_size_in_bytes=file.size,
            sort_order_id=None,
            spec_id=metadata.default_spec_id,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )


def _kind(transform: Transform) -> tuple[object, ...]:
    return transform.column, transform.kind, transform.number


def _filter(wanted: RowRange | None) -> Any:
    """Return the expression of a range of rows."""
    from pyiceberg.expressions import AlwaysTrue, And, EqualTo, GreaterThanOrEqual, LessThan

    if wanted is None:
        return AlwaysTrue()
    topic, number = wanted.partition
    bounds = GreaterThanOrEqual("offset", wanted.start), LessThan("offset", wanted.end)
    return And(EqualTo("topic", topic), EqualTo("partition", number), *bounds)


def _summary(snapshot: Any) -> dict[str, str]:
    return {} if snapshot.summary is None else dict(snapshot.summary.additional_properties)


def _arrow_schema(table: Any) -> Any:
    """Return the schema of a table with the types that Arrow uses by default."""
    import pyarrow as pa
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return pa.schema([_plain_field(field) for field in schema_to_pyarrow(table.schema())])


def _file_schema(table: Any, names: Sequence[str]) -> Any:
    """Return the schema of data files with some columns of a table, with the ids of the fields."""
    import pyarrow as pa

    schema = _arrow_schema(table)
    return pa.schema([schema.field(name) for name in schema.names if name in names])


def _plain_field(field: Any) -> Any:
    return field.with_type(_plain_type(field.type))


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field))
    if types.is_large_string(kind):
        return pa.string()
    return pa.binary() if types.is_large_binary(kind) else kind


def new_schema(schema: Any, transforms: Sequence[Transform]) -> tuple[Any, Any]:
    """Return the schema and the partitioning of a new table; its catalog gives the fields other ids."""
    from pyiceberg.io.pyarrow import pyarrow_to_schema
    from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
    from pyiceberg.transforms import parse_transform

    numbered = pyarrow_to_schema(_numbered(schema))
    fields = []
    for place, transform in enumerate(transforms):
        number = "" if transform.number is None else f"[{transform.number}]"
        source = numbered.find_field(transform.column).field_id
        made = parse_transform(f"{transform.kind}{number}")
        fields.append(PartitionField(source, PARTITION_FIELD_ID_START + place, made, transform.name))
    return numbered, PartitionSpec(*fields)


def _numbered(schema: Any) -> Any:
    """Return an Arrow schema with an id for each field, also inside of structs."""
    import pyarrow as pa

    ids = count(1)

    def with_id(field: Any) -> Any:
        return field.with_type(inside(field.type)).with_metadata({"PARQUET:field_id": str(next(ids))})

    def inside(kind: Any) -> Any:
        if pa.types.is_struct(kind):
            return pa.struct([with_id(field) for field in kind])
        if pa.types.is_list(kind):
            return pa.list_(with_id(kind.value_field))
        if pa.types.is_map(kind):
            return pa.map_(with_id(kind.key_field), with_id(kind.item_field))
        return kind

    return pa.schema([with_id(field) for field in schema])
