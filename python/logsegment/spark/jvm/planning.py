"""Plans for the columnar reader: a query that Java asks for goes in, tasks for Java or for Python workers come out.

Java sends the option `jvm.plan` with its version and the filters of the query. The first task of the answer is a note: which version
planned, why Python reads the rows, if it does, and what all tasks share. `PythonSource.java` knows the names and the arguments of both
classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from logsegment._core import __version__
from logsegment._options import ReadOptions
from logsegment.spark import datasource as spark
from logsegment.spark.datasource import DataSourceReader, Filter, InputPartition
from logsegment.spark.jvm.tasks import query_bytes, task_bytes
from logsegment.spark.options.names import PLAN
from logsegment.spark.options.plugins import ABSENT
from logsegment.spark.read.plan import SegmentTask, wanted_by
from logsegment.spark.read.reader import SegmentReader

if TYPE_CHECKING:
    import pyarrow as pa

#: The options that the data of a query has, as they are by default.
_PLAIN: dict[str, Any] = {
    name: getattr(ReadOptions(), name)
    for name in (
        "columns",
        "batch_size",
        "batch_bytes",
        "format",
        "quirks",
        "zstd_dictionaries",
        "limits",
        "codecs",
        "null_headers",
        "isolation",
        "on_error",
        "unreadable",
        "value_schemas",
        "key_schemas",
    )
}
_REFUSED = "option reader: the columnar reader does not read this query"
_FILTERS: dict[str, Callable[[Any, Any], Filter]] = {
    kind.__name__: kind
    for kind in (
        spark.EqualTo,
        spark.GreaterThan,
        spark.GreaterThanOrEqual,
        spark.LessThan,
        spark.LessThanOrEqual,
        spark.In,
        spark.StringStartsWith,
        spark.StringEndsWith,
        spark.StringContains,
    )
}


class PlanNote(InputPartition):
    """The part of a plan that all tasks share. It is not a task."""

    def __init__(self, version: str, reason: str | None, query: bytes) -> None:
        self.version = version
        self.reason = reason
        self.query = query

    def __reduce__(self) -> tuple[type[Self], tuple[str, str | None, bytes]]:
        return type(self), (self.version, self.reason, self.query)


class ColumnarTask(InputPartition):
    """A task as the library in the jar reads it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __reduce__(self) -> tuple[type[Self], tuple[bytes]]:
        return type(self), (self.data,)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Request of Java.

    Attributes:
        version: of the jar.
        filters: those of the query on topic, partition, offset and timestamp.
    """

    version: str
    filters: tuple[Filter, ...] = ()

    @classmethod
    def taken(cls, options: dict[str, str]) -> Self | None:
        """Take the request out of the options of a query; None without one: no jar is loaded, or Java plans no batch query."""
        text = next((options.pop(name) for name in list(options) if name.lower() == PLAN), None)
        if text is None:
            return None
        asked = json.loads(text)
        return cls(asked["version"], tuple(_filter(*condition) for condition in asked["filters"]))


class PlanningReader(DataSourceReader):
    """Plans for Java, and reads for it what it does not read itself.

    Args:
        reader: the reader of the query.
        request: of Java.
        reason: why Python reads; None to find that out.
    """

    def __init__(self, reader: DataSourceReader, request: PlanRequest, reason: str | None = None) -> None:
        self.reader = reader
        self.request = request
        self.reason = reason or (python_reason(reader) if isinstance(reader, SegmentReader) else "not a query of records")

    @property
    def pushFilters(self) -> Any:
        """Return the method of the reader: PySpark looks at it."""
        return self.reader.pushFilters

    def partitions(self) -> Sequence[InputPartition]:
        """Return a note and the tasks.

        Raises:
            ValueError: if the jar is of another version.
            OSError, RecordBatchError: as of the reader.
        """
        if self.request.version != __version__:
            raise ValueError(
                f"the jar is of version {self.request.version}, the Python package of version {__version__}; "
                "set spark.jars to logsegment.spark.jar() of this package"
            )
        if self.reason is not None or not isinstance(self.reader, SegmentReader):
            return [PlanNote(__version__, self.reason, b""), *self.reader.partitions()]
        self.reader.wanted = wanted_by(self.request.filters)
        tasks = [task for task in self.reader.partitions() if isinstance(task, SegmentTask)]
        return [PlanNote(__version__, None, query_bytes(self.reader)), *(ColumnarTask(task_bytes(task)) for task in tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task, in a worker process."""
        return self.reader.read(partition)


def python_reason(reader: SegmentReader) -> str | None:
    """Return why Python must read a query, or None if the columnar reader can."""
    options, read = reader.options, reader.options.read
    reasons = {
        "option reader is python": options.reader == "python",
        "plugin codecs": read.codecs != ABSENT,
        "option ioStats": options.io_stats is not None,
        "an option that only Python reads": replace(read, **_PLAIN) != ReadOptions(),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def ensure_columnar(reader: SegmentReader, request: PlanRequest | None) -> None:
    """Refuse a query that asks for the columnar reader and cannot have it.

    Raises:
        ValueError: for such a query. The text names the reason.
    """
    if request is None:
        raise ValueError(
            "option reader: the columnar reader is not loaded; "
            "set spark.jars to logsegment.spark.jar() before the session starts, and see Spark's log if it is set"
        )
    if reason := python_reason(reader):
        raise ValueError(f"{_REFUSED}: {reason}")


def _filter(name: str, column: str, value: Any) -> Filter:
    if name == "Not":
        return spark.Not(_filter(*value))
    values = value if isinstance(value, list) else [value]
    return _FILTERS[name]((column,), tuple(values) if isinstance(value, list) else values[0])
