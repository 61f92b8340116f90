"""Delta tables through deltalake: data files by pyarrow, and commits that carry the state of the export in their metadata."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlparse

from logsegment._core import InternalError
from logsegment._export.arrow_types import misfits, missing_fields, plain_rows
from logsegment._export.delta_log import DeltaLog, statistics_of
from logsegment._export.parquet import partition_path
from logsegment._export.state import COMMIT, OFFSETS, ExportState
from logsegment._export.tables import (
    FILE_NAME,
    KEY_COLUMNS,
    CommitConflict,
    LakeTable,
    LakeTableError,
    PartitionValues,
    RowRange,
    TableColumns,
    TablePlan,
    TargetOptions,
    WrittenFile,
    naming_table,
)
from logsegment._export.transforms import Transform

#: Features of writers that ask nothing of files that are only added.
_FEATURES = frozenset(
    {
        "appendOnly",
        "invariants",
        "changeDataFeed",
        "deletionVectors",
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "domainMetadata",
    }
)
#: The type of the partition column of a transform; that of identity is the type of its column.
_COLUMN_TYPES = {"day": "date32", "year": "int32", "month": "string", "hour": "string", "bucket": "int32"}


class DeltaLakeTable(LakeTable):
    """A table of Delta Lake.

    A partitioning by a transform has a column of its own, such as `timestamp_day`: Delta has no hidden partitioning.

    Args:
        name: as the caller wrote it.
        uri: of the table.
        options: of its store.
        table: the deltalake table, if it is loaded.
    """

    has_times = False

    def __init__(self, name: str, uri: str, options: TargetOptions, table: Any = None) -> None:
        super().__init__(name)
        self._uri = uri
        self._options = dict(options)
        self._table = table
        self._files = _filesystem(uri, self._options)
        self._log = DeltaLog(self._files)

    def prepare(self, plan: TablePlan) -> None:
        """Create the table, or check that it can take the columns; see `LakeTable.prepare`."""
        from deltalake import DeltaTable

        with naming_table(self.name):
            if self._table is None and not DeltaTable.is_deltatable(self._uri, self._options):
                self._create(plan)
            self.refresh()
            self._ensure_supported()
            self._ensure_fits(plan)
            own = self._transforms(plan.schema)
            if not plan.is_default and [transform.name for transform in own] != [transform.name for transform in plan.transforms]:
                there = ", ".join(transform.name for transform in own) or "nothing"
                raise ValueError(f"partition_by: {self.name} is partitioned otherwise: {there}; leave partition_by out")
            self.columns = TableColumns(self._file_schema(plan.schema, own), own)

    def refresh(self) -> None:
        """Load the newest version of the table."""
        from deltalake import DeltaTable

        with naming_table(self.name):
            if self._table is None:
                self._table = DeltaTable(self._uri, storage_options=self._options or None)
            else:
                self._table.update_incremental()

    def state(self) -> ExportState | None:
        """Return the state of the newest commit of an export that the version is made of."""
        with naming_table(self.name):
            infos = (commit.info for commit in self._log.commits(self._table.version()))
            return next((state for info in infos if (state := ExportState.from_properties(info)) is not None), None)

    def commit_of(self, commit_id: str) -> int | None:
        """Return the version of a commit of an export; None if the loaded version is not made of it."""
        with naming_table(self.name):
            commits = self._log.commits(self._table.version())
            return next((commit.version for commit in commits if commit.info.get(COMMIT) == commit_id), None)

    @property
    def layout(self) -> object:
        """Schema, partitioning and protocol."""
        metadata = self._table.metadata()
        return metadata.id, self._table.schema().to_json(), tuple(metadata.partition_columns), self._table.protocol()

    def other_rows(self) -> Iterator[Any] | None:
        """Return the rows of files that other writers added since the newest commit of an export; see `LakeTable.other_rows`."""
        with naming_table(self.name):
            added: dict[str, dict[str, str | None]] = {}
            for commit in self._log.commits(self._table.version()):
                if OFFSETS in commit.info:
                    break
                added |= commit.added
            else:
                return self.rows(KEY_COLUMNS) if self._table.file_uris() else None
            active = {unquote(path).rpartition("/")[2] for path in self._table.file_uris()}
            if any(path.rpartition("/")[2] not in active for path in added):
                # They were rewritten since.
                return self.rows(KEY_COLUMNS)
            return self._log.key_rows(added) if added else None

    def rows(self, columns: Sequence[str], wanted: RowRange | None = None) -> Iterator[Any]:
        """Yield rows of the table; see `LakeTable.rows`."""
        import pyarrow as pa

        known = [field.name for field in self._table.schema().fields]
        unknown = [column for column in columns if column not in known]
        if unknown:
            raise ValueError(f"{self.name} lacks the columns {', '.join(unknown)}")
        with naming_table(self.name):
            reader = self._table.scan(columns=list(columns), predicate=_predicate(wanted))
            yield from map(plain_rows, pa.RecordBatchReader.from_stream(reader))

    def new_file(self, values: PartitionValues, name: str) -> tuple[str, Any]:
        """Return the path and the open output of a new data file; the path is below the table."""
        with naming_table(self.name):
            # The names of directories mean nothing; values are in the commit.
            place = re.sub(r"[^\w=./ -]|%..", "_", partition_path(self.columns.transforms, values))
            path = f"{place}/{name}" if place else name
            self._files.create_dir(place, recursive=True) if place else None
            return path, self._files.open_output_stream(path)

    def commit(self, files: Sequence[WrittenFile], state: ExportState, commit_id: str) -> int:
        """Add files in the next version of the table, with the state in the metadata of the commit; return the version."""
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError

        base = self._table.version()
        # A commit that deltalake moves to a later version would carry the state of before.
        properties = CommitProperties(
            custom_metadata=state.to_properties(commit_id),
            max_commit_retries=0,
            app_transactions=[
                Transaction(f"logsegment:{topic}-{partition}", ranges.end or 0) for (topic, partition), ranges in state.ranges.items()
            ],
        )
        with naming_table(self.name):
            names = list(self._table.metadata().partition_columns)
            try:
                self._table.create_write_transaction(
                    [*map(self._added, files)],
                    mode="append",
                    schema=self._table.schema(),
                    partition_by=names,
                    commit_properties=properties,
                )
            except CommitFailedError as error:
                raise CommitConflict(str(error)) from None
        self.refresh()
        if self.commit_of(commit_id) != base + 1:
            raise InternalError(f"{self.name}: deltalake committed to another version than {base + 1}")
        return int(base + 1)

    def remove(self, path: str) -> None:
        """Remove a data file."""
        self._files.delete_file(path)

    def orphans(self, seconds: float) -> list[str]:
        """Return data files of exports that no commit in the log names."""
        from pyarrow.fs import FileSelector, FileType

        with naming_table(self.name):
            latest = time.time() - seconds
            found = self._files.get_file_info(FileSelector("", recursive=True))
            old = [
                entry.path
                for entry in found
                if entry.type == FileType.File and FILE_NAME.fullmatch(entry.base_name) and (entry.mtime_ns or 0) / 1e9 < latest
            ]
            named = self._log.named_files() | {unquote(path).rpartition("/")[2] for path in self._table.file_uris()} if old else set()
            return [path for path in sorted(old) if path.rpartition("/")[2] not in named]

    def _create(self, plan: TablePlan) -> None:
        import pyarrow as pa
        from deltalake import DeltaTable

        own = [
            pa.field(field.name, _column_type(field))
            for field in plan.transforms
            if field.kind != "identity" and field.kind in _COLUMN_TYPES
        ]
        odd = [field.name for field in plan.transforms if field.kind in ("truncate", "void")]
        odd += [
            field.name for field in plan.transforms if field.kind == "identity" and pa.types.is_binary(plan.schema.field(field.column).type)
        ]
        if odd:
            raise ValueError(f"partition_by: Delta has no partition column for {', '.join(odd)}")
        columns = [field.name for field in plan.transforms]
        DeltaTable.create(
            self._uri,
            pa.schema([*plan.schema, *own]),
            mode="ignore",
            partition_by=columns or None,
            storage_options=self._options or None,
        )

    def _ensure_supported(self) -> None:
        """Raise for a table whose files must be more than written.

        Raises:
            LakeTableError: if it is such a table.
        """
        metadata, protocol = self._table.metadata(), self._table.protocol()
        checked = {"checkConstraints", "generatedColumns", "identityColumns", "columnMapping"}
        problems = sorted(set(protocol.writer_features or ()) - _FEATURES - checked)
        problems += [key for key in metadata.configuration if key.startswith("delta.constraints.")]
        problems += ["columnMapping"] if metadata.configuration.get("delta.columnMapping.mode", "none") != "none" else []
        for field in self._table.schema().fields:
            problems += [key for key in field.metadata if key in ("delta.generationExpression", "delta.identity.start", "delta.invariants")]
        if problems:
            raise LakeTableError(f"{self.name} has features that are not supported: {', '.join(problems)}")

    def _ensure_fits(self, plan: TablePlan) -> None:
        """Check the columns of the table; add missing ones if it is allowed.

        Raises:
            ValueError: if columns are missing, or have other types.
        """
        from deltalake import write_deltalake

        missing = [*missing_fields(plan.schema, self._arrow_schema())]
        if missing and not plan.evolve:
            raise ValueError(f"{self.name} lacks the columns {', '.join(missing)}; pass evolve=True (--evolve) to add them")
        if missing:
            write_deltalake(self._table, plan.schema.empty_table(), mode="append", schema_mode="merge")
            self.refresh()
        own = {name for name in self._table.metadata().partition_columns if name not in plan.schema.names}
        wrong = [*misfits(plan.schema, _without(self._arrow_schema(), own))]
        if wrong:
            raise ValueError(f"{self.name} cannot take the columns: {'; '.join(wrong)}")

    def _arrow_schema(self) -> Any:
        import pyarrow as pa

        return pa.schema(self._table.schema().to_arrow())

    def _file_schema(self, schema: Any, transforms: Sequence[Transform]) -> Any:
        """Return the schema of data files, without the columns of the partitioning."""
        named = {transform.name for transform in transforms}
        import pyarrow as pa

        return pa.schema([field for field in self._arrow_schema() if field.name in schema.names and field.name not in named])

    def _transforms(self, schema: Any) -> tuple[Transform, ...]:
        """Return the partitioning of the table, by the names of its columns."""
        found = []
        for name in self._table.metadata().partition_columns:
            if name in schema.names:
                found.append(Transform(name))
                continue
            column, _, kind = re.sub(r"_bucket_(\d+)$", r"_bucket", name).rpartition("_")
            number = re.search(r"_bucket_(\d+)$", name)
            if kind not in _COLUMN_TYPES or column not in schema.names:
                raise ValueError(f"{self.name} is partitioned by {name}, which is not exported")
            known: Any = kind
            found.append(Transform(column, known, int(number[1]) if number else None))
        return tuple(found)

    def _added(self, file: WrittenFile) -> Any:
        """Return the action that adds a file."""
        from deltalake.transaction import AddAction

        texts = {}
        for transform, value in zip(self.columns.transforms, file.values, strict=True):
            texts[transform.name] = transform.text(value)
        return AddAction(file.path, file.size, texts, int(time.time() * 1000), True, statistics_of(file.metadata))


def delta_table(name: str, uri: str, options: TargetOptions) -> LakeTable:
    """Return a table by its URI or path.

    Raises:
        ImportError: if deltalake is not installed.
    """
    try:
        import deltalake as deltalake
    except ImportError:
        raise ImportError("export to Delta needs deltalake: pip install 'logsegment[delta]'") from None
    place = uri if "://" in uri or uri.startswith("file:") else os.path.abspath(uri)
    return DeltaLakeTable(name, place, options)


def given_delta_table(table: Any) -> LakeTable:
    """Return a deltalake table that the caller loaded."""
    uri = table.table_uri
    return DeltaLakeTable(f"delta:{uri}", uri, table._storage_options or {}, table)


def _filesystem(uri: str, options: TargetOptions) -> Any:
    """Return the files of a table; paths are below it."""
    from pyarrow import fs

    if "://" in uri and not uri.startswith("file:"):
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(uri, dict(options)))
    path = unquote(urlparse(uri).path) if uri.startswith("file:") else uri
    return fs.SubTreeFileSystem(path, fs.LocalFileSystem())


def _predicate(wanted: RowRange | None) -> str | None:
    """Return the SQL of a range of rows."""
    if wanted is None:
        return None
    topic, number = wanted.partition
    text = topic.replace("'", "''")
    return f'"topic" = \'{text}\' AND "partition" = {number} AND "offset" >= {wanted.start} AND "offset" < {wanted.end}'


def _column_type(transform: Transform) -> Any:
    import pyarrow as pa

    return getattr(pa, _COLUMN_TYPES[transform.kind])()


def _without(schema: Any, names: set[str]) -> Any:
    import pyarrow as pa

    return pa.schema([field for field in schema if field.name not in names])
