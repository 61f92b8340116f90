"""The offsets that consumer groups have committed, one task for each log of `__consumer_offsets`: `committed_offsets`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from logsegment._places import absolute
from logsegment.analysis.committed_offsets import TOPIC
from logsegment.analysis.committed_offsets import committed_offsets as read
from logsegment.inputs.sources import partitions_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SCHEMA = (
    "`group` string, topic string, partition int, committedOffset long, leaderEpoch int, metadata string, commitTimestamp long, "
    "expireTimestamp long, isPending boolean, recordOffset long, path string"
)


def committed_offsets(spark: SparkSession, path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> DataFrame:
    """Return the offsets that groups have committed as a DataFrame; see `logsegment.committed_offsets`.

    Args:
        spark: the session.
        path: a partition directory, a tree of them or several of these, which lead to the same files on the driver and on all executors.
        options: those of `logsegment.committed_offsets`.

    Raises:
        ValueError: if no log of the path is of `__consumer_offsets`.
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: if a directory cannot be listed.
        pyspark.errors.PythonException: in the query, for damage and files that cannot be read.

    Example:
        >>> from logsegment.spark import committed_offsets
        >>> committed_offsets(spark, "__consumer_offsets-1").where("topic = 'codec-lz4'").select("group", "committedOffset").first()
        Row(group='corpus-group-classic', committedOffset=9)
    """
    places = [absolute(place) for place in _several(path)]
    access = (options.get("storage_options"), options.get("decryption_keys"), options.get("layout"))
    logs = [[file.path for file in files] for _, files in partitions_of(places, access) if files[0].topic in (TOPIC, None)]
    if not logs:
        raise ValueError(f"the path has no log of {TOPIC}")
    return spark.range(0, len(logs), 1, len(logs)).mapInArrow(_OffsetsTask(logs, options).run, SCHEMA)


def _several(path: Any) -> Sequence[Any]:
    return path if isinstance(path, (list, tuple)) else [path]


@dataclass(frozen=True)
class _OffsetsTask:
    """Reads the logs whose numbers come.

    Attributes:
        logs: the files of each.
        options: of the read.
    """

    logs: list[list[str]]
    options: dict[str, Any]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the committed offsets of each log."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(self.logs[number], **self.options).to_arrow().to_batches()
