"""`next_offsets`: where a query of Spark's Kafka source goes on after the records in files, or after a stream over them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from logsegment._core import Place
from logsegment._storage import reached
from logsegment.partition.log_end import GrowingLog
from logsegment.spark.load import Option, PathLike, texts_of
from logsegment.spark.options.names import lowered
from logsegment.spark.options.offsets import by_topic, offsets_of
from logsegment.spark.options.read import parse_options
from logsegment.spark.options.storage import storage_options, with_settings
from logsegment.spark.options.topics import discover

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def next_offsets(
    spark: SparkSession, path: PathLike | Sequence[PathLike] | None = None, *, checkpoint: PathLike | None = None, **options: Option
) -> str:
    """Return the offsets at which Spark's Kafka source goes on after the files, as JSON of its option `startingOffsets`.

    For a query over history, ask first, and pass the answer to the query as `endingOffsets` and to the Kafka source as `startingOffsets`:
    what is appended meanwhile is then read once. For a stream, stop it and pass its checkpoint.

    Args:
        spark: the session.
        path: as of `load`. The offset of a partition is the one after its last valid batch; with `isolation="read_committed"` that of its
            first open transaction, if one is open. It is never below the log start offset.
        checkpoint: instead of a path, the directory of a stream's checkpoint: the offsets of its last finished micro-batch.
        options: as of `load`; `startingOffsets` and the like do not count. With a checkpoint, only options of its store.

    Raises:
        ValueError: if an option is invalid, a file has no topic and partition, or the checkpoint has no finished micro-batch of one stream
            of logsegment.
        OSError: if a path does not exist or cannot be read.
        RecordBatchError: if the end of a partition is damaged, unless the option `mode` says to go on.

    Example:
        >>> from logsegment.spark import load, next_offsets
        >>> until = next_offsets(spark, "orders-0")
        >>> until
        '{"orders":{"0":240}}'
        >>> load(spark, "orders-0", endingOffsets=until).count()
        240
        >>> live = spark.readStream.format("kafka").option("startingOffsets", until)  # doctest: +SKIP

    Source: `KafkaSourceProvider` and `OffsetSeqLog` in Spark.
    """
    given = texts_of(options)
    if (path is None) == (checkpoint is None):
        raise TypeError("next_offsets takes either a path or checkpoint=")
    offsets = _committed(os.fspath(checkpoint), given) if checkpoint is not None else _at_ends(path, given)
    return json.dumps(offsets, separators=(",", ":"))


def _at_ends(path: Any, given: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the next offsets of the partitions of a path."""
    paths = [path] if isinstance(path, (str, os.PathLike)) else path
    options = parse_options(with_settings({**given, "paths": json.dumps([os.fspath(place) for place in paths])}))
    found = discover(options.paths, options.selection, partition=options.partitions, reports=options.read.skips_damage)
    logs = found.from_log_starts(options.partitions).logs
    for name, files in logs.items():
        if name.topic is None or name.partition is None or files[-1].base_offset is None:
            raise ValueError(f"{files[-1].path}: its name has no topic, partition and offset")
    return by_topic({name: GrowingLog(options.read).next_read_offset(files) for name, files in logs.items()})


def _committed(checkpoint: str, given: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the offsets of the last finished micro-batch of a checkpoint."""
    place = Place(reached(checkpoint.removeprefix("file://"), storage_options(lowered(given))))
    finished = [int(name) for name in place.joined("commits").names() if name.isdecimal()] if place.joined("commits").exists() else []
    if not finished:
        raise ValueError(f"{checkpoint}: no checkpoint with a finished micro-batch")
    text = place.joined("offsets").joined(str(max(finished))).read()
    if text is None:
        raise ValueError(f"{checkpoint}: the offsets of the finished micro-batch {max(finished)} are not there")
    found = [offsets for offsets in map(_stream_offsets, text.decode().splitlines()[2:]) if offsets is not None]
    if len(found) != 1:
        raise ValueError(f"{checkpoint}: {len(found)} streams of logsegment instead of one")
    return found[0]


def _stream_offsets(line: str) -> dict[str, dict[str, int]] | None:
    """Return the offsets of a line of a checkpoint, which a stream of logsegment wrote; None for those of another source.

    Version 2 of Spark's log of offsets has the name of the source and a colon before them.
    """
    try:
        return by_topic(offsets_of(json.loads(line[max(line.find("{"), 0) :])))
    except (ValueError, TypeError, AttributeError):
        return None
