"""The log of a Delta table: its commits from the newest one back, and the statistics of files that a commit adds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import unquote

from logsegment._export.tables import FILE_NAME, KEY_COLUMNS

_LOG = "_delta_log"
#: Longer texts have no bounds in the statistics.
_LONGEST = 32


@dataclass(frozen=True)
class DeltaCommit:
    """A commit of the log.

    Attributes:
        version: that it made.
        info: its metadata.
        added: paths of the files that it added with new rows, each with the values of its partition.
    """

    version: int
    info: dict[str, Any]
    added: dict[str, dict[str, str | None]]

    @property
    def before(self) -> int | None:
        """The version that it was made of; None if the log does not show it."""
        if self.info.get("operation") != "RESTORE":
            return self.version - 1
        restored = self.info.get("operationParameters", {}).get("version")
        return None if restored in (None, "", "null") else int(restored)


class DeltaLog:
    """Reads the commits of a table.

    Args:
        files: the `pyarrow.fs.FileSystem` of the table.
    """

    def __init__(self, files: Any) -> None:
        self._files = files

    def commits(self, version: int) -> Iterator[DeltaCommit]:
        """Yield the commits that a version is made of, the newest first, as far as the log was not cleaned."""
        current: int | None = version
        while current is not None and current >= 0:
            commit = self._commit(current)
            if commit is None:
                return
            yield commit
            current = commit.before

    def named_files(self) -> set[str]:
        """Return the names of the files of exports that the log has, also of those that were removed."""
        from pyarrow.fs import FileSelector

        names: set[str] = set()
        for entry in self._files.get_file_info(FileSelector(_LOG, recursive=True)):
            if entry.base_name.endswith(".json"):
                names |= set(FILE_NAME.findall(self._read(entry.path).decode()))
            elif entry.base_name.endswith(".parquet"):
                names |= self._in_checkpoint(entry.path)
        return names

    def key_rows(self, added: Mapping[str, Mapping[str, str | None]]) -> Iterator[Any]:
        """Yield topic, partition and offset of the rows of files.

        Raises:
            ValueError: if a file lacks one of these columns.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
        for path, values in added.items():
            with self._files.open_input_file(path) as file, pq.ParquetFile(file) as parquet:
                stored = [name for name in KEY_COLUMNS if name not in values]
                lacking = [name for name in stored if name not in parquet.schema_arrow.names]
                if lacking:
                    raise ValueError(f"{path} lacks the columns {', '.join(lacking)}")
                for batch in parquet.iter_batches(columns=stored):
                    columns = {
                        name: batch.column(name).cast(kind)
                        if name in stored
                        else pa.array([values[name]] * batch.num_rows, pa.string()).cast(kind)
                        for name, kind in types.items()
                    }
                    yield pa.RecordBatch.from_pydict(columns)

    def _commit(self, version: int) -> DeltaCommit | None:
        try:
            text = self._read(f"{_LOG}/{version:020}.json")
        except FileNotFoundError:
            return None
        info: dict[str, Any] = {}
        added = {}
        for line in text.splitlines():
            action = json.loads(line) if line.strip() else {}
            info = action.get("commitInfo") or info
            add = action.get("add")
            if add is not None and add.get("dataChange", True):
                added[unquote(add["path"])] = dict(add.get("partitionValues") or {})
        return DeltaCommit(version, info, added)

    def _in_checkpoint(self, path: str) -> set[str]:
        import pyarrow.parquet as pq

        names: set[str] = set()
        with self._files.open_input_file(path) as file, pq.ParquetFile(file) as parquet:
            kinds = [kind for kind in ("add", "remove") if kind in parquet.schema_arrow.names]
            for batch in parquet.iter_batches(columns=[f"{kind}.path" for kind in kinds]):
                for kind in kinds:
                    names |= {unquote(row["path"]).rpartition("/")[2] for row in batch.column(kind).to_pylist() if row and row.get("path")}
        return names

    def _read(self, path: str) -> bytes:
        with self._files.open_input_stream(path) as file:
            data: bytes = file.read()
        return data


def statistics_of(metadata: Any) -> str:
    """Return the statistics of a file by its footer, as JSON of an action that adds it."""
    bounds: dict[str, tuple[Any, Any]] = {}
    nulls: dict[str, int] = {}
    without: set[str] = set()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            name, statistics = column.path_in_schema, column.statistics
            if "." in name or statistics is None or not statistics.has_null_count:
                without.add(name)
                continue
            nulls[name] = nulls.get(name, 0) + statistics.null_count
            if not statistics.has_min_max:
                without |= {name} if statistics.null_count < column.num_values else set()
                continue
            first, last = bounds.get(name, (statistics.min, statistics.max))
            bounds[name] = min(first, statistics.min), max(last, statistics.max)
    known = {name: pair for name, pair in bounds.items() if name not in without and all(map(_is_bound, pair))}
    found = {
        "numRecords": metadata.num_rows,
        "minValues": {name: _text(first) for name, (first, _) in known.items()},
        "maxValues": {name: _text(last) for name, (_, last) in known.items()},
        "nullCount": {name: number for name, number in nulls.items() if "." not in name and name not in without},
    }
    return json.dumps(found, separators=(",", ":"))


def _is_bound(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    return isinstance(value, (int, date, datetime))


def _text(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value.astimezone(UTC) if value.tzinfo else value
        return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}{'Z' if value.tzinfo else ''}"
    return value.isoformat() if isinstance(value, date) else value
