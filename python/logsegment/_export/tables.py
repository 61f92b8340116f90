"""Tables that an export writes to: what every kind of table does, and the files that wait for a commit."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from logsegment._core import InternalError
from logsegment._export.state import ExportState, Partition
from logsegment._export.transforms import Transform

#: Values of the fields of a partitioning, as Iceberg stores them.
PartitionValues: TypeAlias = tuple[Any, ...]
#: The names of our data files; `--clean` removes no others.
FILE_NAME = re.compile(r"logsegment-[0-9a-f]{32}-\d{5,}\.parquet")
#: Columns by which a table without commits of an export is searched for what it has.
KEY_COLUMNS = ("topic", "partition", "offset")


class LakeTableError(OSError):
    """A table, its catalog or its store cannot be used. The text begins with the table."""


class CommitConflict(Exception):
    """Another writer changed the table since it was loaded. Nothing was committed."""


@dataclass(frozen=True)
class WrittenFile:
    """A data file that no commit names yet.

    Attributes:
        path: as the table knows it.
        values: of the partition.
        rows: number of rows.
        size: bytes.
        metadata: the footer, as `pyarrow.parquet.FileMetaData`.
    """

    path: str
    values: PartitionValues
    rows: int
    size: int
    metadata: Any = field(repr=False)


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table that an export writes.

    Attributes:
        file_schema: of the data files.
        transforms: of the fields of the partitioning.
    """

    file_schema: Any
    transforms: tuple[Transform, ...]


@dataclass(frozen=True)
class TablePlan:
    """The columns and the partitioning that an export needs.

    Attributes:
        schema: the Arrow schema of what is exported.
        transforms: the partitioning of a new table.
        is_default: the caller did not choose the partitioning, so that an existing table may have another one.
        evolve: add missing columns to an existing table.
    """

    schema: Any
    transforms: tuple[Transform, ...]
    is_default: bool
    evolve: bool


class LakeTable(ABC):
    """A table of a data lake. Methods raise a `LakeTableError` if the library, the catalog or the store fails.

    Attributes:
        name: of the table, as the caller wrote it.
        columns: what is written; known after `prepare`.
    """

    #: Tables have a type for times of a day.
    has_times = True
    #: The compression of data files, and its level.
    compression: tuple[str, int | None] = ("zstd", None)
    columns: TableColumns

    def __init__(self, name: str) -> None:
        self.name = name

    def writing(self) -> AbstractContextManager[object]:
        """Return a context in which the table is prepared and files are committed."""
        return nullcontext()

    @abstractmethod
    def prepare(self, plan: TablePlan) -> None:
        """Create the table, or check that it can take the columns.

        Raises:
            ValueError: if the table cannot take the columns; the text has their names.
        """

    @abstractmethod
    def refresh(self) -> None:
        """Load the newest version of the table."""

    @abstractmethod
    def state(self) -> ExportState | None:
        """Return the state that the newest commit of an export has among those that the loaded version is made of; None without one."""

    @abstractmethod
    def commit_of(self, commit_id: str) -> int | None:
        """Return the id of the commit of an export if the loaded version is made of it; otherwise None."""

    @abstractmethod
    def other_rows(self) -> Iterator[Any] | None:
        """Return the rows that other writers added since the newest commit of an export, with `KEY_COLUMNS`; None if there are none.

        Without a commit of an export, these are all rows.
        """

    @property
    @abstractmethod
    def layout(self) -> object:
        """A value that changes when the columns or the partitioning of the loaded version do."""

    @abstractmethod
    def rows(self, columns: Sequence[str], wanted: RowRange | None = None) -> Iterator[Any]:
        """Yield rows of the loaded version as `pyarrow.RecordBatch`, in no order.

        Args:
            columns: the columns; those that the table lacks are a ValueError.
            wanted: a range of offsets of a partition; None for all rows.
        """

    @abstractmethod
    def new_file(self, values: PartitionValues, name: str) -> tuple[str, Any]:
        """Return the path and the open output of a new data file of a partition."""

    @abstractmethod
    def commit(self, files: Sequence[WrittenFile], state: ExportState, commit_id: str) -> int:
        """Add files to the loaded version of the table, with the state; return the id of the commit.

        Raises:
            CommitConflict: if the loaded version is not the newest one. Nothing was committed.
        """

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a data file that no commit names."""

    @abstractmethod
    def orphans(self, seconds: float) -> list[str]:
        """Return the data files of exports that no version of the table names, and that are older than this."""


@dataclass(frozen=True)
class RowRange:
    """Offsets of a partition, from `start` to before `end`."""

    partition: Partition
    start: int
    end: int


#: Errors of our own or of Python that name their problem themselves.
_CLEAR = (OSError, ValueError, TypeError, ImportError, MemoryError, AttributeError, NameError, InternalError, CommitConflict)


@contextmanager
def naming_table(name: str) -> Iterator[None]:
    """Raise errors of a library as a `LakeTableError` with the name of the table.

    Raises:
        LakeTableError: for an error of a library.
    """
    try:
        yield
    except _CLEAR:
        raise
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise LakeTableError(f"{name}: {text}") from error


#: What the options of a catalog or a store are given as.
TargetOptions: TypeAlias = Mapping[str, str]
