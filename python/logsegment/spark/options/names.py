"""Names of the options, by entry point: `read` with its views, `readStream`, `write`.

PySpark makes a source before it says which entry point will be used. So an option that no entry point has fails when the source is made,
an option of other entry points when this one is used. Options for a connection with brokers are ignored, with one warning.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from logsegment._options import LIMIT_NAMES, ClusterView
from logsegment.analysis.cluster import VIEWS as TABLES
from logsegment.spark.options.codecs import CODECS
from logsegment.spark.options.plugins import PLUGINS, is_plugin_setting
from logsegment.spark.options.topics import STRATEGIES

View: TypeAlias = Literal["records", "batches", "findings"]

#: Prefixes of the options of Spark's Kafka source for a connection with brokers.
BROKER_OPTIONS = ("kafka.", "kafkaconsumer.", "fetchoffset.", "groupidprefix")
#: Kafka's own names of our options `isolation` and `compression`. Ignoring them would change the rows, or what is written.
KAFKA_ISOLATION = "kafka.isolation.level"
KAFKA_COMPRESSION = "kafka.compression.type"
#: The option that Spark adds for a table.
TABLE = "provider"
NO_TABLES = (
    "Tables of Spark's catalog (CREATE TABLE, saveAsTable) are not supported, "
    "temporary views are (CREATE TEMPORARY VIEW ... USING logsegment)"
)
#: Private keys of tiered storage.
KEYS = "keys"
#: The template of the names of objects in tiered storage.
LAYOUT = "layout"
#: Options of the store, by the names of object_store.
STORAGE_PREFIX = "storage."
PATHS = ("path", "paths", KEYS, LAYOUT)
#: Directory for the counters of tasks.
IO_STATS = "ioStats"
#: What the columnar reader asks for; see `jvm.planning`.
PLAN = "jvm.plan"
#: What to do at damage.
MODE = ("mode", "columnNameOfCorruptRecord")
#: Spark's name of the column, unless the option sets another one.
CORRUPT_RECORD = "_corrupt_record"
#: The arguments of `logsegment.Limits`, with a prefix.
LIMIT_PREFIX = "limits."
ENTRY_LIMITS = tuple(f"{LIMIT_PREFIX}{name}" for name in LIMIT_NAMES)
#: How keys and values are decoded.
VALUES = ("values", "keyValues", "schemas.path", "schemas.framing", "readerSchema", "integers")
_COLUMNS = ("includeHeaders", "columns", *VALUES)
_BATCHES = ("isolation", "topic", "partition", "batchSize", "batchBytes", "format", "unreadable", *CODECS)
#: How a partition is read; which directory of a partition that is in several.
LOG_START = "logStartOffset"
REPLICA = "replica"
RECORDS = (*STRATEGIES, REPLICA, LOG_START, *_COLUMNS, *_BATCHES, *MODE, IO_STATS, *ENTRY_LIMITS, *PLUGINS)
STARTS = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy")
ENDS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
TASKS = ("failOnDataLoss", "minPartitions", "maxRecordsPerPartition", "maxPartitionBytes")
#: How much a trigger takes: a batch query ignores them with a warning, as in Spark.
TRIGGERS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxBytesPerTrigger")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The options of an entry point.

    Attributes:
        name: for messages.
        known: options that it has.
        ignored: options of other entry points that it ignores.
        honoured: Kafka's own names of options, each with our options that take precedence over it.
    """

    name: str
    known: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    honoured: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def ignores(self, name: str, given: Collection[str]) -> bool:
        """Return True for an option for brokers that is ignored, given the names of all options in lower case."""
        ours = dict(self.honoured).get(name)
        return _is_for_brokers(name) and (ours is None or any(other in given for other in ours))


_ISOLATION = ((KAFKA_ISOLATION, ("isolation",)),)
BATCH = EntryPoint("a batch query", (*PATHS, *RECORDS, *STARTS, *TASKS, *ENDS, "pushFilters", "reader", "view"), TRIGGERS, _ISOLATION)
VIEWED = (*PATHS, *STRATEGIES, "view", "topic", "partition", "checkCrc", "format", "unreadable", *CODECS, *ENTRY_LIMITS)
#: Views of anything but records.
VIEWS: dict[View, EntryPoint] = {
    "batches": EntryPoint("the view batches", (*VIEWED, "batchSize", *MODE, IO_STATS, *PLUGINS)),
    "findings": EntryPoint("the view findings", (*VIEWED, "depth", IO_STATS, *PLUGINS)),
}
#: Views of a cluster.
CLUSTER_VIEWS: dict[ClusterView, EntryPoint] = {name: EntryPoint(f"the view {name}", (*PATHS, "view", *ENTRY_LIMITS)) for name in TABLES}
STREAM = EntryPoint("a streaming query", (*PATHS, *RECORDS, *STARTS, *TASKS, *TRIGGERS, "upTo", "view"), ("pushFilters",), _ISOLATION)
#: Options that Spark adds to a stream.
OF_STREAMS = ("checkpointLocation", "queryName", "outputMode")
#: The settings of the 0.7 producer in the place of `compression`.
POLICY = ("compression.codec", "compressed.topics")
WRITTEN = ("topic", "partitions", "format", "compression", "level", "batchBytes", "segmentBytes", *POLICY, *PLUGINS)
WRITE = EntryPoint("a write", ("path", *WRITTEN, *OF_STREAMS), ("includeHeaders",), ((KAFKA_COMPRESSION, ("compression", *POLICY)),))
ENTRY_POINTS = (BATCH, *VIEWS.values(), *CLUSTER_VIEWS.values(), STREAM, WRITE)


def lowered(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options with names in lower case, as the parsers take them."""
    return {name.lower(): value for name, value in given.items()}


def ensure_no_table(given: Mapping[str, str]) -> None:
    """Refuse a table of Spark's catalog.

    Raises:
        ValueError: for a table.
    """
    if TABLE in lowered(given):
        raise ValueError(f"{NO_TABLES}: read and write by path")


def ensure_known_somewhere(given: Mapping[str, str]) -> None:
    """Refuse an option that no entry point has.

    Raises:
        ValueError: for such an option; it suggests the nearest name.
    """
    known = list(dict.fromkeys(name for entry_point in ENTRY_POINTS for name in entry_point.known))
    spelt = {name.lower() for name in known}
    _refuse([name for name in given if name.lower() not in spelt and not _is_anyones(name)], known)


def ensure_known(given: Mapping[str, str], entry_point: EntryPoint) -> None:
    """Refuse an option that this entry point does not have.

    Raises:
        ValueError: for such an option; it suggests the nearest name, or names the entry points that have the option.
    """
    ensure_known_somewhere(given)
    spelt = {name.lower() for name in (*entry_point.known, *entry_point.ignored)}
    for name in sorted(given):
        if name.lower() in spelt or _is_anyones(name):
            continue
        others = {other.name: known for other in ENTRY_POINTS for known in other.known if known.lower() == name.lower()}
        text = f"option {min(others.values())} is not valid in {entry_point.name}, only in {' or '.join(others)}"
        raise ValueError(f"{text}; the options are {', '.join(entry_point.known)}")


def warn_of_ignored(given: Mapping[str, str], entry_point: EntryPoint) -> None:
    """Warn once of the options that are ignored."""
    for_brokers = sorted(name for name in given if entry_point.ignores(name.lower(), lowered(given)))
    elsewhere = sorted(name for name in given if name.lower() in map(str.lower, entry_point.ignored))
    texts = [f"logsegment reads files, not brokers; ignored options: {', '.join(for_brokers)}"] if for_brokers else []
    texts += [f"ignored in {entry_point.name}: {', '.join(elsewhere)}"] if elsewhere else []
    if texts:
        warnings.warn("; ".join(texts), UserWarning, stacklevel=4)


def boolean(options: Mapping[str, str], name: str, default: bool) -> bool:
    """Parse an option that is true or false.

    Raises:
        ValueError: if it is neither.
    """
    text = options.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise ValueError(f"option {name} must be true or false, not {text!r}")
    return text == "true"


def integer(options: Mapping[str, str], name: str, at_least: int, below: int = 2**31) -> int | None:
    """Parse an option that is a whole number; None if it is not given.

    Raises:
        ValueError: if it is not a whole number, or too small or large.
    """
    text = options.get(name.lower())
    if text is None:
        return None
    digits = text.strip()
    if not digits.isdecimal() or int(digits) < at_least:
        raise ValueError(f"option {name} must be a whole number from {at_least} on, not {text!r}")
    if int(digits) >= below:
        raise ValueError(f"option {name} must be {below - 1} at most, not {text!r}")
    return int(digits)


def _refuse(unknown: Collection[str], known: Collection[str]) -> None:
    if unknown:
        text = ", ".join(_with_near(name, known) for name in sorted(unknown))
        raise ValueError(f"unknown option {text}; the options are {', '.join(known)}")


def _with_near(name: str, known: Collection[str]) -> str:
    """Return the name, and the nearest option."""
    spelt = {name.lower(): name for name in known}
    near = difflib.get_close_matches(name.lower(), spelt, n=1, cutoff=0.7)
    return f"{name} (did you mean {spelt[near[0]]}?)" if near else name


def _is_anyones(name: str) -> bool:
    """Return True for a name that is not listed here: brokers, librdkafka or a store know it."""
    return _is_for_brokers(name) or is_plugin_setting(name) or name.lower().startswith(STORAGE_PREFIX)


def _is_for_brokers(name: str) -> bool:
    return name.lower().startswith(BROKER_OPTIONS)
