"""Schemas of keys and values for a query that Java plans: the library in the jar does not find them.

Java sends the option `jvm.plan` with its version. The only task of the answer is a note with the version and the schemas.
`PythonSource.java` knows the name and the arguments of its class.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from logsegment._core import __version__
from logsegment._options import ReadOptions
from logsegment.spark.datasource import DataSourceReader, InputPartition
from logsegment.spark.jvm.schemas import schemas_bytes
from logsegment.spark.options.names import PLAN

if TYPE_CHECKING:
    import pyarrow as pa


class SchemasNote(InputPartition):
    """The schemas of a query as the library in the jar reads them."""

    def __init__(self, version: str, schemas: bytes) -> None:
        self.version = version
        self.schemas = schemas

    def __reduce__(self) -> tuple[type[Self], tuple[str, bytes]]:
        return type(self), (self.version, self.schemas)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Request of Java.

    Attributes:
        version: of the jar.
    """

    version: str

    @classmethod
    def taken(cls, options: dict[str, str]) -> Self | None:
        """Take the request out of the options of a query; None without one: Java does not ask for schemas."""
        text = next((options.pop(name) for name in list(options) if name.lower() == PLAN), None)
        return None if text is None else cls(json.loads(text)["version"])


class SchemasReader(DataSourceReader):
    """Answers Java.

    Args:
        read: the options of the query, with the schemas of its keys and values.
        request: of Java.
    """

    def __init__(self, read: ReadOptions, request: PlanRequest) -> None:
        self.options = read
        self.request = request

    def partitions(self) -> Sequence[InputPartition]:
        """Return the note.

        Raises:
            ValueError: if the jar is of another version.
        """
        if self.request.version != __version__:
            raise ValueError(
                f"the jar is of version {self.request.version}, the Python package of version {__version__}; "
                "set spark.jars to logsegment.spark.jar() of this package"
            )
        return [SchemasNote(__version__, schemas_bytes(self.options))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Raise an error: Java reads the rows."""
        raise NotImplementedError("the columnar reader reads the rows of this query")


def ensure_not_columnar(reader: str) -> None:
    """Refuse a query that asks for the columnar reader and reached Python.

    Raises:
        ValueError: for such a query.
    """
    if reader == "columnar":
        raise ValueError(
            "option reader: the columnar reader is not loaded; "
            "set spark.jars to logsegment.spark.jar() before the session starts, and see Spark's log if it is set"
        )
