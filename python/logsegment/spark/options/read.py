"""Options of reads: Spark's strings go in, one checked dataclass for each kind of read comes out.

Names and defaults are those of Spark's Kafka source, with some of our own; `names` lists them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from logsegment._core import Limits
from logsegment._options import (
    ClusterView,
    Depth,
    Isolation,
    LogStartOffset,
    MixedFormat,
    OnError,
    PartitionOptions,
    ReadOptions,
    Unreadable,
)
from logsegment._places import absolute, is_stored, redacted_uri, to_internal_uri
from logsegment._storage import all_reached, reached
from logsegment.spark.options.codecs import codec_options
from logsegment.spark.options.limits import limits_of
from logsegment.spark.options.names import (
    BATCH,
    CLUSTER_VIEWS,
    CORRUPT_RECORD,
    IO_STATS,
    KAFKA_ISOLATION,
    KEYS,
    LAYOUT,
    LOG_START,
    NO_TABLES,
    REPLICA,
    STREAM,
    VIEWS,
    EntryPoint,
    View,
    boolean,
    ensure_known,
    integer,
    lowered,
    warn_of_ignored,
)
from logsegment.spark.options.offsets import LATEST, OffsetLimit, batch_limits, parse_limit
from logsegment.spark.options.plugins import plugins_option
from logsegment.spark.options.storage import storage_options
from logsegment.spark.options.topics import TopicPartition, TopicSelection, parse_selection
from logsegment.spark.options.values import schemas_options
from logsegment.tiered.keys import is_bare_key

Mode: TypeAlias = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
MODES: tuple[Mode, ...] = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
#: Which reader reads a batch query: the columnar one where it can, always Python, or the columnar one or an error.
ReaderName: TypeAlias = Literal["auto", "python", "columnar"]
READERS: tuple[ReaderName, ...] = ("auto", "python", "columnar")
DEPTHS: tuple[Depth, ...] = ("headers", "metadata", "full")
#: How far a stream reads a partition: to the high watermark if its broker wrote one, or to the end of the log in any case.
UpTo: TypeAlias = Literal["highWatermark", "logEnd"]
#: Bytes of an Arrow batch. In batches of 1 MiB small records took 5 to 15 % more CPU a row on their way to the JVM.
BATCH_BYTES = 4 << 20
PARTITION_BYTES = 128 << 20

_UP_TO: dict[str, UpTo] = {"highwatermark": "highWatermark", "logend": "logEnd"}
_LEVELS: dict[str, Isolation] = {"read_uncommitted": "read_uncommitted", "read_committed": "read_committed"}
_DELAY = re.compile(r"([0-9]+)\s*(ms|s|m|min|h|d|)")
_MILLISECONDS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class ReadMode:
    """Reaction to damage: the options `mode` and `columnNameOfCorruptRecord` of Spark's file sources.

    FAILFAST fails. PERMISSIVE goes on at the next valid batch and adds a row for each skipped place; see `read.damage`. DROPMALFORMED goes
    on without these rows. A torn tail is not damage.

    Attributes:
        name: the option `mode`.
        column: name of the corrupt column; it is filled if it is among the columns of the read.
    """

    name: Mode = "FAILFAST"
    column: str = CORRUPT_RECORD

    @property
    def on_error(self) -> OnError:
        """Return the option of the same name of `logsegment.decode`."""
        return "raise" if self.name == "FAILFAST" else "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Options that all reads share.

    Attributes:
        paths: as the user gave them.
        selection: which topic-partitions.
        mode: what to do at damage.
        read: how entries and records are read.
        io_stats: directory for the counters of tasks.
        partitions: how partitions are read.
    """

    paths: tuple[str, ...]
    selection: TopicSelection = field(default_factory=TopicSelection)
    mode: ReadMode = field(default_factory=ReadMode)
    read: ReadOptions = field(default_factory=ReadOptions)
    io_stats: str | None = None
    partitions: PartitionOptions = field(default_factory=PartitionOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuery(SourceOptions):
    """Options that batch queries and streams of records share.

    Attributes:
        starting: where the query begins.
        min_partitions: least number of tasks.
        max_records: most offsets of a task.
        max_partition_bytes: about how many bytes of segments a task reads.
        fails_on_data_loss: missing offsets end the query.
    """

    starting: OffsetLimit = field(default_factory=OffsetLimit)
    min_partitions: int | None = None
    max_records: int | None = None
    max_partition_bytes: int = PARTITION_BYTES
    fails_on_data_loss: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(RecordQuery):
    """Options of a batch query of records.

    Attributes:
        ending: where the query ends.
        include_headers: the column `headers` is among the usual ones.
        columns: names of the columns; None for the usual ones.
        push_filters: use the filters that Spark pushes down.
        reader: which reader reads the rows.
    """

    ending: OffsetLimit = field(default_factory=OffsetLimit)
    include_headers: bool = False
    columns: tuple[str, ...] | None = None
    push_filters: bool = False
    reader: ReaderName = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions(RecordQuery):
    """Options of a streaming query.

    Attributes:
        max_offsets: most offsets of a micro-batch, shared among partitions in proportion to the offsets that wait in each.
        min_offsets: a micro-batch waits for this many offsets, but not longer than `max_delay_ms`.
        max_delay_ms: milliseconds.
        max_bytes: about how many bytes of segments a micro-batch reads.
        up_to: how far a partition is read.
    """

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = 900_000
    max_bytes: int | None = None
    up_to: UpTo = "highWatermark"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions(SourceOptions):
    """Options of a view other than `records`.

    Attributes:
        view: which one.
        depth: as in `logsegment.validate`.
    """

    view: View
    depth: Depth


def parse_options(given: Mapping[str, str]) -> BatchOptions:
    """Parse the options of a batch query.

    Args:
        given: Spark's options; the case of their names means nothing.

    Raises:
        ValueError: for an unknown option, an invalid value or combination, or without a path.
    """
    options = _checked(given, BATCH)
    starting, ending = batch_limits(options)
    return BatchOptions(
        **_shared(options, _record_options(options)),
        **_of_records(options),
        starting=starting,
        ending=ending,
        include_headers=boolean(options, "includeHeaders", False),
        columns=columns_option(options),
        push_filters=boolean(options, "pushFilters", False),
        reader=_reader(options.get("reader", "auto")),
    )


def parse_stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Parse the options of a streaming query, as `parse_options` does.

    Source: `KafkaSourceProvider.validateStreamOptions` in Spark.
    """
    options = _checked(given, STREAM)
    least, most = _large(options, "minOffsetsPerTrigger"), _large(options, "maxOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise ValueError(f"option minOffsetsPerTrigger must not be above maxOffsetsPerTrigger: {least} and {most}")
    parsed = StreamOptions(
        **_shared(options, _record_options(options)),
        **_of_records(options),
        starting=parse_limit(options, "starting", LATEST),
        max_offsets=most,
        min_offsets=least,
        max_delay_ms=_delay(options.get("maxtriggerdelay", "15m")),
        max_bytes=_large(options, "maxBytesPerTrigger"),
        up_to=_up_to(options.get("upto", "highWatermark")),
    )
    if parsed.read.skips_damage and parsed.read.isolation == "read_committed":
        raise ValueError(
            f"option mode must be FAILFAST in a stream with isolation read_committed, not {parsed.mode.name}: "
            "a transaction whose marker is lost would block the stream"
        )
    return parsed


def parse_decoding(options: Mapping[str, str]) -> SourceOptions | None:
    """Parse what is needed to find the schemas of keys and values; None if none are decoded with schemas.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: if an option is invalid.
        OSError: if the schemas cannot be read.
    """
    decoding = schemas_options(options)
    return SourceOptions(**_shared(options, decoding)) if decoding else None


def view_of(given: Mapping[str, str]) -> View | ClusterView:
    """Parse the option `view`.

    Raises:
        ValueError: if it is not a view.
    """
    text = lowered(given).get("view", "records").strip().lower()
    names: tuple[View | ClusterView, ...] = ("records", *VIEWS, *CLUSTER_VIEWS)
    view = next((known for known in names if known == text), None)
    if view is None:
        raise ValueError(f"option view must be {', '.join(names[:-1])} or {names[-1]}, not {text!r}")
    return view


def parse_cluster_view(given: Mapping[str, str]) -> tuple[ClusterView, tuple[str, ...], Limits | None]:
    """Parse the options of a view of a cluster: its name, the paths, and the limits of entries.

    Raises:
        ValueError: for an option that the view does not have, an invalid value, or without a path.
    """
    view, options = view_of(given), lowered(given)
    name = next(known for known in CLUSTER_VIEWS if known == view)
    ensure_known(given, CLUSTER_VIEWS[name])
    return name, paths_of(options), limits_of(options)


def parse_view(given: Mapping[str, str]) -> ViewOptions:
    """Parse the options of a view other than `records`.

    Raises:
        ValueError: for an option that the view does not have, an invalid value, or without a path.
    """
    name, options = view_of(given), lowered(given)
    view = next(known for known in VIEWS if known == name)
    ensure_known(given, VIEWS[view])
    depth = options.get("depth", "full").strip().lower()
    if depth not in DEPTHS:
        raise ValueError(f"option depth must be headers, metadata or full, not {options['depth']!r}")
    # A query of batch headers reads few bytes, a verification of checksums all of them.
    read = {"check_crc": boolean(options, "checkCrc", view == "findings")}
    return ViewOptions(**_shared(options, read), view=view, depth=depth)


def parse_mode(options: Mapping[str, str]) -> ReadMode:
    """Parse the options `mode` and `columnNameOfCorruptRecord`.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: for an unknown mode, or an empty name.
    """
    text = options.get("mode", "FAILFAST").strip().upper()
    if text not in MODES:
        raise ValueError(f"option mode must be {', '.join(MODES[:-1])} or {MODES[-1]}, not {options['mode']!r}")
    column = options.get("columnnameofcorruptrecord", CORRUPT_RECORD)
    if not column:
        raise ValueError("option columnNameOfCorruptRecord must be the name of a column, not ''")
    return ReadMode(text, column)


def paths_of(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of a read, with keys and layout of tiered storage if the options `keys` and `layout` have them.

    Spark passes one path as `path`, several as a JSON array in `paths`.

    Raises:
        ValueError: if there is no path, or the layout is invalid.
    """
    paths = [options["path"]] if "path" in options else []
    paths += json.loads(options.get("paths", "[]"))
    if not paths:
        raise ValueError(f'no path; pass one to load() or save(), or as option "path". {NO_TABLES}')
    keys, layout = keys_option(options), options.get(LAYOUT)
    found = [to_internal_uri(path) if is_stored(path) else path for path in all_reached(paths, storage_options(options))]
    if keys is None and layout is None:
        return tuple(os.fspath(path) for path in found)
    return tuple(os.fspath(reached(absolute(path), None, keys, layout)) for path in found)


def keys_option(options: Mapping[str, str]) -> dict[str, str] | None:
    """Parse the option `keys`: files of the private keys of tiered storage, by the ids of the keys.

    Raises:
        ValueError: if it is not a JSON object of ids and files. The error does not show the value, which may be a key.
    """
    if KEYS not in options:
        return None
    try:
        keys = json.loads(options[KEYS])
    except ValueError:
        keys = None
    is_good = isinstance(keys, dict) and all(key.strip() and isinstance(file, str) and file for key, file in keys.items())
    if not isinstance(keys, dict) or not is_good or any("-----BEGIN" in file or is_bare_key(file) for file in keys.values()):
        raise ValueError('option keys must be JSON like {"key1": "/secrets/key1.pem"}: ids of keys, and files that the executors can read')
    return keys


def columns_option(options: Mapping[str, str]) -> tuple[str, ...] | None:
    """Parse the option `columns`: names with commas between them.

    Raises:
        ValueError: if there is no name in it, or one twice.
    """
    if "columns" not in options:
        return None
    names = tuple(name for part in options["columns"].split(",") if (name := part.strip()))
    if not names or len(set(names)) < len(names):
        raise ValueError(f"option columns must be different names of columns with commas between them, not {options['columns']!r}")
    return names


def _checked(given: Mapping[str, str], entry_point: EntryPoint) -> dict[str, str]:
    """Return the options with names in lower case; refuse unknown ones and warn of ignored ones."""
    ensure_known(given, entry_point)
    warn_of_ignored(given, entry_point)
    return lowered(given)


def _shared(options: Mapping[str, str], own: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the attributes of `SourceOptions`; `own` has options of reading that not all reads share."""
    mode = parse_mode(options)
    read = ReadOptions(
        on_error=mode.on_error,
        unreadable=_unreadable(options),
        batch_size=integer(options, "batchSize", at_least=1) or 65536,
        format=_format(options.get("format", "auto")),
        codecs=plugins_option(options),
        **codec_options(options),
        limits=limits_of(options),
        **own,
    )
    return {
        "paths": paths_of(options),
        "selection": parse_selection(options, TopicPartition(options.get("topic"), integer(options, "partition", at_least=0))),
        "mode": mode,
        "read": read,
        "io_stats": _io_stats(options),
        "partitions": PartitionOptions(log_start_offset=_log_start(options.get(LOG_START.lower(), "honour")), replica=_replica(options)),
    }


def _replica(options: Mapping[str, str]) -> str | None:
    """Parse the option `replica`."""
    text = options.get(REPLICA)
    if text is not None and not text.strip():
        raise ValueError(f"option {REPLICA} must be longest, first or the path of a directory, not {text!r}")
    return text


def _record_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Parse the options of reading records."""
    batch_bytes = integer(options, "batchBytes", at_least=1) or BATCH_BYTES
    return {"isolation": _isolation(options), "batch_bytes": batch_bytes, "null_headers": True}


def _of_records(options: Mapping[str, str]) -> dict[str, Any]:
    """Parse the attributes of `RecordQuery` without `starting`."""
    return {
        "min_partitions": integer(options, "minPartitions", at_least=1),
        "max_records": _large(options, "maxRecordsPerPartition"),
        "max_partition_bytes": _large(options, "maxPartitionBytes") or PARTITION_BYTES,
        "fails_on_data_loss": boolean(options, "failOnDataLoss", True),
    }


def _large(options: Mapping[str, str], name: str) -> int | None:
    return integer(options, name, at_least=1, below=2**63)


def _isolation(options: Mapping[str, str]) -> Isolation:
    """Parse our option, or Kafka's own name of it."""
    text = options.get("isolation", options.get(KAFKA_ISOLATION, "read_uncommitted"))
    try:
        return _LEVELS[text.lower()]
    except KeyError:
        raise ValueError(f"option isolation must be read_uncommitted or read_committed, not {text!r}") from None


def _log_start(text: str) -> LogStartOffset:
    name: LogStartOffset | None = next((arg for arg in get_args(LogStartOffset) if arg == text.strip().lower()), None)
    if name is None:
        raise ValueError(f"option {LOG_START} must be honour or ignore, not {text!r}")
    return name


def _unreadable(options: Mapping[str, str]) -> Unreadable:
    text = options.get("unreadable", "raise").strip().lower()
    name: Unreadable | None = next((arg for arg in get_args(Unreadable) if arg == text), None)
    if name is None:
        raise ValueError(f"option unreadable must be raise or skip, not {options['unreadable']!r}")
    return name


def _format(text: str) -> MixedFormat:
    name: MixedFormat | None = next((known for known in get_args(MixedFormat) if known == text.strip().lower()), None)
    if name is None:
        raise ValueError(f"option format must be {' or '.join(get_args(MixedFormat))}, not {text!r}")
    return name


def _reader(text: str) -> ReaderName:
    name: ReaderName | None = next((known for known in READERS if known == text.strip().lower()), None)
    if name is None:
        raise ValueError(f"option reader must be auto, python or columnar, not {text!r}")
    return name


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


def _io_stats(options: Mapping[str, str]) -> str | None:
    text = options.get(IO_STATS.lower())
    if text is None:
        return None
    if not text:
        raise ValueError(f"option {IO_STATS} must be a directory, not ''")
    place = to_internal_uri(text)
    if is_stored(place):
        raise ValueError(f"option {IO_STATS} must be a directory of a mounted file system, not {redacted_uri(place)}")
    return os.path.abspath(place)
