"""Options of a streaming read: names and defaults of Spark's Kafka source, and where a log ends.

Spark's options go in, checked values come out; what they do stands in the modules beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from logsegment._core import Limits
from logsegment._options import Isolation
from logsegment.spark.options.entry_limits import limits_option
from logsegment.spark.options.modes import ReadMode, parse_mode
from logsegment.spark.options.offsets import LATEST, OffsetLimit, parse_limit
from logsegment.spark.options.plugins import plugins_option
from logsegment.spark.options.read import (
    BATCH_BYTES,
    STREAM,
    boolean,
    ensure_known,
    integer,
    isolation_of,
    lowered,
    paths_of,
    warn_of_ignored,
)
from logsegment.spark.options.topics import Selection, parse_selection
from logsegment.spark.read.task_stats import io_stats_option

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: How far a partition is read: to the high watermark where a broker tells one, or to the end of the log in any case.
UpTo = Literal["highWatermark", "logEnd"]
_UP_TO: dict[str, UpTo] = {"highwatermark": "highWatermark", "logend": "logEnd"}
_DELAY = re.compile(r"([0-9]+)\s*(ms|s|m|min|h|d|)")
_MILLISECONDS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Checked options of a streaming query.

    Attributes:
        paths: as the user gave them.
        selection: which topic-partitions.
        starting: where a new query begins; at the latest offsets by default.
        isolation: as in `logsegment.decode`.
        topic: of files that lie in no partition directory.
        partition: of files that lie in no partition directory.
        max_offsets: most offsets of a micro-batch, shared among partitions by what waits in each.
        min_offsets: a micro-batch waits until there are as many, but no longer than `max_delay_ms`.
        max_delay_ms: milliseconds.
        max_bytes: about how many bytes of segments a micro-batch reads.
        min_partitions: tasks of a micro-batch, at least.
        max_records: most offsets of a task.
        max_partition_bytes: about how many bytes of segments a task reads.
        fails_on_data_loss: whether offsets that are gone end the query.
        up_to: how far a partition is read.
        batch_size: as in `logsegment.decode`.
        batch_bytes: as in `logsegment.decode`.
        experimental: as in `logsegment.decode`.
        mode: what to do at damage.
        io_stats: directory in which tasks tell what they read.
        codecs: registry of plugins; None for none.
        limits: what an entry may claim; None for the defaults.
    """

    paths: tuple[str, ...]
    selection: Selection
    starting: OffsetLimit
    isolation: Isolation = "read_uncommitted"
    topic: str | None = None
    partition: int | None = None
    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = 900_000
    max_bytes: int | None = None
    min_partitions: int | None = None
    max_records: int | None = None
    max_partition_bytes: int = 128 << 20
    fails_on_data_loss: bool = True
    up_to: UpTo = "highWatermark"
    batch_size: int = 65536
    batch_bytes: int = BATCH_BYTES
    experimental: bool = False
    mode: ReadMode = field(default_factory=ReadMode)
    io_stats: str | None = None
    codecs: Registry | None = None
    limits: Limits | None = None


def parse_stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Check the options of a streaming query.

    Args:
        given: Spark's options; the case of their names means nothing.

    Raises:
        ValueError: for an unknown option, a bad value or combination, no path.

    Source: `KafkaSourceProvider.validateStreamOptions` in Spark.
    """
    ensure_known(given, STREAM)
    warn_of_ignored(given, STREAM)
    options = lowered(given)
    least, most = _count(options, "minOffsetsPerTrigger"), _count(options, "maxOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise ValueError(f"option minOffsetsPerTrigger must not be above maxOffsetsPerTrigger: {least} and {most}")
    isolation = isolation_of(options)
    return StreamOptions(
        paths=paths_of(options),
        selection=parse_selection(options),
        starting=parse_limit(options, "starting", LATEST),
        isolation=isolation,
        topic=options.get("topic"),
        partition=integer(options, "partition", at_least=0),
        max_offsets=most,
        min_offsets=least,
        max_delay_ms=_delay(options.get("maxtriggerdelay", "15m")),
        max_bytes=_count(options, "maxBytesPerTrigger"),
        min_partitions=integer(options, "minPartitions", at_least=1),
        max_records=_count(options, "maxRecordsPerPartition"),
        max_partition_bytes=_count(options, "maxPartitionBytes") or 128 << 20,
        fails_on_data_loss=boolean(options, "failOnDataLoss", True),
        up_to=_up_to(options.get("upto", "highWatermark")),
        batch_size=integer(options, "batchSize", at_least=1) or 65536,
        batch_bytes=integer(options, "batchBytes", at_least=1) or BATCH_BYTES,
        experimental=boolean(options, "experimental", False),
        mode=_mode(options, isolation),
        io_stats=io_stats_option(options),
        codecs=plugins_option(options),
        limits=limits_option(options),
    )


def _mode(options: Mapping[str, str], isolation: Isolation) -> ReadMode:
    mode = parse_mode(options)
    if mode.skips and isolation == "read_committed":
        raise ValueError(
            f"option mode: a stream with isolation read_committed takes FAILFAST only, not {mode.name}: "
            "a transaction marker that is lost with a batch would hold it up for ever"
        )
    return mode


def _count(options: Mapping[str, str], name: str) -> int | None:
    return integer(options, name, at_least=1, below=2**63)


def _up_to(text: str) -> UpTo:
    try:
        return _UP_TO[text.lower()]
    except KeyError:
        raise ValueError(f"option upTo must be highWatermark or logEnd, not {text!r}") from None


def _delay(text: str) -> int:
    match = _DELAY.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"option maxTriggerDelay must be a time such as 500ms, 30s, 15m or 1h, not {text!r}")
    return int(match[1]) * _MILLISECONDS[match[2]]
