"""Options and columns of a write, as Spark's Kafka sink takes them: both are checked before any task runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, get_args

from logsegment._core import encode
from logsegment._encode import CompressionPolicy
from logsegment._options import Compression, EncodeOptions, ReleasedFormat, WrittenFormat
from logsegment._places import absolute
from logsegment._storage import reached
from logsegment.spark.options.names import CORRUPT_RECORD, KAFKA_COMPRESSION, POLICY, WRITE, ensure_known, integer, lowered, warn_of_ignored
from logsegment.spark.options.plugins import plugins_option
from logsegment.spark.options.storage import storage_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Checked options of a write.

    Attributes:
        path: the target, a directory of this machine or a URI of a store.
        topic: topic of all rows, in place of their column.
        partitions: partitions of each topic; None for as many as it has, or one.
        compressed_topics: the topics that are compressed; empty for all.
        segment_bytes: most bytes of a segment.
        encode: how rows become batches.
    """

    path: str
    topic: str | None
    partitions: int | None
    compressed_topics: frozenset[str]
    segment_bytes: int
    encode: EncodeOptions

    @property
    def is_07(self) -> bool:
        """Return True for segments of Kafka 0.7."""
        return self.encode.format == "0.7"


def parse_options(given: Mapping[str, str]) -> WriteOptions:
    """Parse the options of a write; the case of their names means nothing.

    Raises:
        ValueError: for an unknown option, an invalid value, a combination that Kafka refuses, or without a path.
        UnknownCompressionError: for an unknown compression.
        UnsupportedError: for a plugin that is not installed here.
    """
    ensure_known(given, WRITE)
    warn_of_ignored(given, WRITE)
    options = lowered(given)
    compression, topics = _compression(options)
    parsed = WriteOptions(
        path=_target(options),
        topic=options.get("topic"),
        partitions=integer(options, "partitions", at_least=1),
        compressed_topics=topics,
        segment_bytes=integer(options, "segmentBytes", at_least=1) or 1 << 30,
        encode=EncodeOptions(
            format=_format(options),
            compression=compression,
            level=_level(options),
            batch_bytes=integer(options, "batchBytes", at_least=1) or 16384,
            codecs=plugins_option(options),
        ),
    )
    _ensure_legal(parsed)
    return parsed


def _target(options: Mapping[str, str]) -> str:
    path = options.get("path")
    if not path:
        raise ValueError('no path: give one to save() or start(), or as option "path"')
    return absolute(reached(path, storage_options(options)))


def _format(options: Mapping[str, str]) -> WrittenFormat:
    name = options.get("format", "v2").lower()
    # Segments are written for brokers.
    known = get_args(ReleasedFormat)
    if name not in known:
        raise ValueError(f"option format must be one of {', '.join(known)}, not {name!r}")
    return cast(WrittenFormat, name)


def _compression(options: Mapping[str, str]) -> tuple[str, frozenset[str]]:
    """Return the name of a codec or the alias of a plugin, and the topics that are compressed, which only the settings of 0.7 name."""
    of_07 = [name for name in POLICY if name in options]
    if of_07 and "compression" in options:
        raise ValueError(f"options compression and {', '.join(of_07)} both set a codec; pass one of them")
    if of_07:
        policy = CompressionPolicy.from_properties({name: options[name] for name in of_07})
        return policy.codec, policy.topics
    name = options.get("compression", options.get(KAFKA_COMPRESSION, "none"))
    # The case of a codec means nothing, the case of an alias does.
    return name.lower() if name.lower() in get_args(Compression) else name, frozenset()


def _ensure_legal(options: WriteOptions) -> None:
    """Let the encoder refuse what Kafka refuses, before any task runs."""
    import pyarrow as pa

    encode(pa.table({"value": pa.array([], pa.binary())}), options.encode)


def _level(options: Mapping[str, str]) -> int | None:
    """Parse a level, which may be negative for zstd; the encoder checks its range."""
    text = options.get("level")
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ValueError(f"option level must be a whole number, not {text!r}") from None


BYTES = ("string", "binary")
#: The Spark types of the columns. Other columns of a DataFrame are ignored, as by Spark's Kafka sink.
TYPES = {
    "key": BYTES,
    "value": BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "timestampMs": ("bigint",),
    "headers": ("array<struct<key:string,value:binary>>",),
}


def written_columns(schema: StructType, options: WriteOptions) -> list[str]:
    """Return the names of the columns that are written.

    Raises:
        ValueError: without a column `value`, or a topic; for a column of another type, two columns of times, or the corrupt column.
    """
    if CORRUPT_RECORD in schema.fieldNames():
        text = f"column {CORRUPT_RECORD} describes damage, and rows of damage are not records"
        raise ValueError(f'{text}; drop them: .where("{CORRUPT_RECORD} is null").drop("{CORRUPT_RECORD}")')
    found = {field.name: field.dataType.simpleString() for field in schema.fields if field.name in TYPES}
    if options.topic is not None:
        # Spark's Kafka sink ignores the column then.
        found.pop("topic", None)
    if "value" not in found:
        raise ValueError(f"column value is missing; the columns are {', '.join(schema.fieldNames()) or 'none'}")
    if "topic" not in found and options.topic is None:
        raise ValueError("topic is missing; add a column topic, or set the option topic")
    for name, own in found.items():
        if own not in TYPES[name]:
            raise ValueError(f"column {name} must be {' or '.join(TYPES[name])}, not {own}")
    if {"timestamp", "timestampMs"} <= found.keys():
        raise ValueError("columns timestamp and timestampMs both have the timestamp of a record; drop one of them")
    return list(found)
