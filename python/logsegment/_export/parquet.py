"""Partitioned Parquet in a new directory, by pyarrow: `topic=T/timestamp_day=2026-01-31/*.parquet`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from logsegment._export.state import ExportState
from logsegment._export.tables import LakeTable, PartitionValues, RowRange, TableColumns, TablePlan, WrittenFile
from logsegment._export.transforms import Transform
from logsegment._output import local_path, output_directory

#: The value of null in the name of a directory, as Hive has it.
NULL = "__HIVE_DEFAULT_PARTITION__"


class ParquetDirectory(LakeTable):
    """A new directory of Parquet files, which appears when it is complete. The topic is in the names of directories only.

    Args:
        name: as the caller wrote it.
        directory: its path.
    """

    def __init__(self, name: str, directory: str) -> None:
        super().__init__(name)
        self._directory = directory
        self._root = Path(directory)
        self._commits = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write to a hidden directory, which gets its name at the end.

        Raises:
            FileExistsError: if the directory exists and is not empty.
            ValueError: if the directory is in an object store.
        """
        with output_directory(local_path(self._directory), may_be_empty=True) as hidden:
            self._root = hidden
            yield

    def prepare(self, plan: TablePlan) -> None:
        """Set the columns: those of the file are without the ones that directories name."""
        import pyarrow as pa

        by_topic = Transform("topic")
        transforms = (by_topic, *(transform for transform in plan.transforms if transform != by_topic))
        named = {transform.column for transform in transforms if transform.kind == "identity"}
        self.columns = TableColumns(pa.schema([field for field in plan.schema if field.name not in named]), transforms)

    def new_file(self, values: PartitionValues, name: str) -> tuple[str, Any]:
        """Return the path and the open output of a new file."""
        import pyarrow as pa

        place = self._root / partition_path(self.columns.transforms, values)
        place.mkdir(parents=True, exist_ok=True)
        return str(place / name), pa.OSFile(str(place / name), "wb")

    def commit(self, files: Sequence[WrittenFile], state: ExportState, commit_id: str) -> int:
        """Count a commit: all files appear together at the end."""
        self._commits += 1
        return self._commits

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    @property
    def layout(self) -> object:
        """Nothing else changes the directory."""
        return None

    def refresh(self) -> None:
        """Do nothing: the directory is new."""

    def state(self) -> None:
        """Return None: the directory is new."""

    def commit_of(self, commit_id: str) -> None:
        """Return None: nothing else commits."""

    def other_rows(self) -> None:
        """Return None: the directory is new."""

    def rows(self, columns: Sequence[str], wanted: RowRange | None = None) -> Iterator[Any]:
        """Yield nothing: the directory is new."""
        return iter(())

    def orphans(self, seconds: float) -> list[str]:
        """Return nothing: the directory is complete or absent."""
        return []


def partition_path(transforms: Sequence[Transform], values: PartitionValues) -> str:
    """Return the directories of a partition: `topic=orders/timestamp_day=2026-01-31`."""
    parts = []
    for transform, value in zip(transforms, values, strict=True):
        text = transform.text(value)
        parts.append(f"{quote(transform.name)}={NULL if text is None else quote(text, safe=' ')}")
    return "/".join(parts)
