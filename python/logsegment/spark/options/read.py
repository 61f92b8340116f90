"""Options of the data source: names and defaults of Spark's Kafka source and sink, and some of our own.

One table for each door (`read`, `readStream`, `write`), since PySpark makes a source before it says which door will be opened: what no door
knows fails when the source is made, what this door does not know when it is opened. What belongs to a connection with brokers means nothing
here and is passed over with one warning.
"""

from __future__ import annotations

import difflib
import json
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from logsegment._core import Limits
from logsegment._options import Isolation, Values
from logsegment.spark.options.entry_limits import ENTRY_LIMITS, limits_option
from logsegment.spark.options.modes import MODE_OPTIONS, ReadMode, parse_mode
from logsegment.spark.options.offsets import OffsetLimit, batch_limits
from logsegment.spark.options.plugins import PLUGINS, is_plugin_setting, plugins_option
from logsegment.spark.options.topics import STRATEGIES, Selection, parse_selection
from logsegment.spark.read.task_stats import IO_STATS, io_stats_option
from logsegment.stores.uri import absolute

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: Of Spark's Kafka source; they say how to talk to brokers.
BROKER_OPTIONS = ("kafka.", "kafkaconsumer.", "fetchoffset.", "groupidprefix")
#: Kafka's own names of our options `isolation` and `compression`: passed over, they would change the rows, or what is written.
KAFKA_ISOLATION = "kafka.isolation.level"
KAFKA_COMPRESSION = "kafka.compression.type"

#: What Spark tells a source of a table.
TABLE = "provider"
NO_TABLES = (
    "Tables of Spark's catalog (CREATE TABLE, saveAsTable) are not supported, "
    "temporary views are (CREATE TEMPORARY VIEW ... USING logsegment)"
)
#: Private keys of tiered storage.
KEYS = "keys"
PATHS = ("path", "paths", KEYS)
#: Of all that reads records.
RECORDS = (
    *STRATEGIES,
    "includeHeaders",
    "isolation",
    "topic",
    "partition",
    "batchSize",
    "batchBytes",
    "columns",
    "values",
    "experimental",
    *MODE_OPTIONS,
    IO_STATS,
    *ENTRY_LIMITS,
    *PLUGINS,
)
LIMITS = (
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxPartitionBytes",
)
ENDS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
#: How much a trigger takes: Spark passes over them, with a warning, in a batch query.
TRIGGERS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxBytesPerTrigger")


@dataclass(frozen=True, slots=True)
class Door:
    """What a way in takes.

    Attributes:
        name: for messages.
        known: options that mean something.
        ignored: options that mean something elsewhere only, and do no harm here.
        honoured: Kafka's own names of options that are known, each with those in whose place alone it is taken.
    """

    name: str
    known: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    honoured: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def ignores(self, name: str, given: Collection[str]) -> bool:
        """Whether an option for brokers means nothing here, beside the others that are given, all in lower case."""
        said = dict(self.honoured).get(name)
        return _is_for_brokers(name) and (said is None or any(other in given for other in said))


#: Kafka's own name beside ours, of all doors that give records.
ISOLATION = ((KAFKA_ISOLATION, ("isolation",)),)
BATCH = Door("a batch query", (*PATHS, *RECORDS, *LIMITS, *ENDS, "pushFilters", "view"), TRIGGERS, ISOLATION)
#: Of the views, which give something else than records.
VIEWED = (*PATHS, *STRATEGIES, "view", "topic", "partition", "checkCrc", "experimental", *ENTRY_LIMITS)
BATCHES_VIEW = Door("the view batches", (*VIEWED, "batchSize", *MODE_OPTIONS, IO_STATS, *PLUGINS))
FINDINGS_VIEW = Door("the view findings", (*VIEWED, "depth", IO_STATS, *PLUGINS))
STREAM = Door("a streaming query", (*PATHS, *RECORDS, *LIMITS, *TRIGGERS, "upTo", "view"), ("pushFilters",), ISOLATION)
#: What Spark itself hands on with a stream.
OF_STREAMS = ("checkpointLocation", "queryName", "outputMode")
#: The settings of the 0.7 producer in the place of `compression`.
POLICY = ("compression.codec", "compressed.topics")
WRITTEN = ("topic", "partitions", "format", "compression", "level", "batchBytes", "segmentBytes", *POLICY, *PLUGINS)
WRITE = Door("a write", ("path", *WRITTEN, *OF_STREAMS), ("includeHeaders",), ((KAFKA_COMPRESSION, ("compression", *POLICY)),))
DOORS = (BATCH, BATCHES_VIEW, FINDINGS_VIEW, STREAM, WRITE)

#: Of an Arrow batch. In batches of 1 MiB small records took 5 to 15 % more CPU a row on their way to the JVM.
BATCH_BYTES = 4 << 20

_LEVELS: dict[str, Isolation] = {"read_uncommitted": "read_uncommitted", "read_committed": "read_committed"}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Checked options of a batch query. `topic` and `partition` are for files that lie in no partition directory."""

    paths: tuple[str, ...]
    selection: Selection = field(default_factory=Selection)
    starting: OffsetLimit = field(default_factory=OffsetLimit)
    ending: OffsetLimit = field(default_factory=OffsetLimit)
    include_headers: bool = False
    columns: tuple[str, ...] | None = None
    isolation: Isolation = "read_uncommitted"
    topic: str | None = None
    partition: int | None = None
    fail_on_data_loss: bool = True
    min_partitions: int | None = None
    max_records: int | None = None
    max_partition_bytes: int = 128 << 20
    batch_size: int = 65536
    batch_bytes: int = BATCH_BYTES
    push_filters: bool = False
    experimental: bool = False
    mode: ReadMode = field(default_factory=ReadMode)
    io_stats: str | None = None
    codecs: Registry | None = None
    limits: Limits | None = None


def parse_options(given: Mapping[str, str]) -> ReadOptions:
    """Check the options of a batch query.

    Args:
        given: Spark's options; the case of their names means nothing.

    Raises:
        ValueError: for an unknown option, a bad value or combination, no path.
    """
    ensure_known(given, BATCH)
    warn_of_ignored(given, BATCH)
    options = lowered(given)
    starting, ending = batch_limits(options)
    return ReadOptions(
        paths=paths_of(options),
        selection=parse_selection(options),
        starting=starting,
        ending=ending,
        include_headers=boolean(options, "includeHeaders", False),
        columns=columns_option(options),
        isolation=isolation_of(options),
        topic=options.get("topic"),
        partition=integer(options, "partition", at_least=0),
        fail_on_data_loss=boolean(options, "failOnDataLoss", True),
        min_partitions=integer(options, "minPartitions", at_least=1),
        max_records=integer(options, "maxRecordsPerPartition", at_least=1, below=2**63),
        max_partition_bytes=integer(options, "maxPartitionBytes", at_least=1, below=2**63) or 128 << 20,
        batch_size=integer(options, "batchSize", at_least=1) or 65536,
        batch_bytes=integer(options, "batchBytes", at_least=1) or BATCH_BYTES,
        push_filters=boolean(options, "pushFilters", False),
        experimental=boolean(options, "experimental", False),
        mode=parse_mode(options),
        io_stats=io_stats_option(options),
        codecs=plugins_option(options),
        limits=limits_option(options),
    )


def lowered(given: Mapping[str, str]) -> dict[str, str]:
    """The options with names in lower case, as the parsers want them."""
    return {name.lower(): value for name, value in given.items()}


def ensure_no_table(given: Mapping[str, str]) -> None:
    """Fail when Spark asks for a table of its catalog.

    Raises:
        ValueError: with what there is in its place.
    """
    if TABLE in lowered(given):
        raise ValueError(f"{NO_TABLES}: read and write by path")


def ensure_known_somewhere(given: Mapping[str, str]) -> None:
    """Fail for an option that no door knows.

    Raises:
        ValueError: with the name that was probably meant.
    """
    known = list(dict.fromkeys(name for door in DOORS for name in door.known))
    spelt = {name.lower() for name in known}
    _refuse([name for name in given if name.lower() not in spelt and not _is_anyones(name)], known)


def ensure_known(given: Mapping[str, str], door: Door) -> None:
    """Fail for an option that this door does not know.

    Raises:
        ValueError: with the name that was probably meant, or the door that the option belongs to.
    """
    ensure_known_somewhere(given)
    spelt = {name.lower() for name in (*door.known, *door.ignored)}
    for name in sorted(given):
        if name.lower() in spelt or _is_anyones(name):
            continue
        others = {other.name: known for other in DOORS for known in other.known if known.lower() == name.lower()}
        told = f"option {min(others.values())} means nothing in {door.name}, but in {' or '.join(others)}"
        raise ValueError(f"{told}; the options are {', '.join(door.known)}")


def warn_of_ignored(given: Mapping[str, str], door: Door) -> None:
    """Say once which options are passed over."""
    for_brokers = sorted(name for name in given if door.ignores(name.lower(), lowered(given)))
    elsewhere = sorted(name for name in given if name.lower() in map(str.lower, door.ignored))
    told = [f"logsegment has to do with files, not brokers: ignored {', '.join(for_brokers)}"] if for_brokers else []
    told += [f"ignored in {door.name}: {', '.join(elsewhere)}"] if elsewhere else []
    if told:
        warnings.warn("; ".join(told), UserWarning, stacklevel=4)


def paths_of(options: Mapping[str, str]) -> tuple[str, ...]:
    """Spark gives one path as `path`, several as a JSON array in `paths`. With option `keys` they bring these along.

    Raises:
        ValueError: when there is none.
    """
    paths = [options["path"]] if "path" in options else []
    paths += json.loads(options.get("paths", "[]"))
    if not paths:
        raise ValueError(f'no path: give one to load() or save(), or as option "path". {NO_TABLES}')
    keys = keys_option(options)
    if keys is None:
        return tuple(paths)
    from logsegment.tiered.uri import tiered

    return tuple(tiered(absolute(path), keys) for path in paths)


def keys_option(options: Mapping[str, str]) -> dict[str, str] | None:
    """Files of the private keys of tiered storage, by the ids of the keys; None when the option is not given.

    Raises:
        ValueError: when it is no JSON object of ids and files. The value is not told: it may be a key.
    """
    if KEYS not in options:
        return None
    from logsegment.tiered.keys import is_bare_key

    try:
        keys = json.loads(options[KEYS])
    except ValueError:
        keys = None
    is_good = isinstance(keys, dict) and all(key.strip() and isinstance(file, str) and file for key, file in keys.items())
    if not isinstance(keys, dict) or not is_good or any("-----BEGIN" in file or is_bare_key(file) for file in keys.values()):
        raise ValueError('option keys must be JSON like {"key1": "/secrets/key1.pem"}: ids of keys, and files that the executors can read')
    return keys


def columns_option(options: Mapping[str, str]) -> tuple[str, ...] | None:
    """Names of columns with commas between them; None when the option is not given.

    Raises:
        ValueError: when there is no name in it.
    """
    if "columns" not in options:
        return None
    names = tuple(name for part in options["columns"].split(",") if (name := part.strip()))
    if not names or len(set(names)) < len(names):
        raise ValueError(f"option columns must be different names of columns with commas between them, not {options['columns']!r}")
    return names


def values_option(options: Mapping[str, str]) -> Values:
    """Return the value of the option `values`.

    Raises:
        ValueError: if it is not a known name.
    """
    known: tuple[Values, ...] = get_args(Values)
    for value in known:
        if options.get("values", "raw").lower() == value:
            return value
    raise ValueError(f"option values must be {' or '.join(get_args(Values))}, not {options['values']!r}")


def isolation_of(options: Mapping[str, str]) -> Isolation:
    """Ours, or Kafka's own name of it.

    Raises:
        ValueError: when it is none.
    """
    text = options.get("isolation", options.get(KAFKA_ISOLATION, "read_uncommitted"))
    try:
        return _LEVELS[text.lower()]
    except KeyError:
        raise ValueError(f"option isolation must be read_uncommitted or read_committed, not {text!r}") from None


def boolean(options: Mapping[str, str], name: str, default: bool) -> bool:
    """The value of an option that is true or false.

    Raises:
        ValueError: when it is neither.
    """
    text = options.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise ValueError(f"option {name} must be true or false, not {text!r}")
    return text == "true"


def integer(options: Mapping[str, str], name: str, at_least: int, below: int = 2**31) -> int | None:
    """The value of an option that is a whole number; None when it is not given.

    Raises:
        ValueError: when it is none, or too small or large.
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
        told = ", ".join(_with_near(name, known) for name in sorted(unknown))
        raise ValueError(f"unknown option {told}; the options are {', '.join(known)}")


def _with_near(name: str, known: Collection[str]) -> str:
    """The name, and the option that was probably meant."""
    spelt = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), spelt, n=1, cutoff=0.7)
    return f"{name} (did you mean {spelt[near[0]]}?)" if near else name


def _is_anyones(name: str) -> bool:
    """True for a name that is in no table: whoever is spoken to knows it."""
    return _is_for_brokers(name) or is_plugin_setting(name)


def _is_for_brokers(name: str) -> bool:
    return name.lower().startswith(BROKER_OPTIONS)
