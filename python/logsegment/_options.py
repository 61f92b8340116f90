"""Options of calls: their names, values and defaults, and times as callers give them.

A public function builds one `ReadOptions` and hands it on whole, down to the core. `decode` documents each option.
"""

from __future__ import annotations

import operator
import os
import re
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol, Self, TypeAlias, TypedDict, get_args

from logsegment._core import Limits, Transactions, ValueSchemas
from logsegment._value_kinds import PRIMITIVES as PRIMITIVES
from logsegment._value_kinds import Framing as Framing
from logsegment._value_kinds import Integers as Integers
from logsegment._value_kinds import KeyValues as KeyValues
from logsegment._value_kinds import Values as Values
from logsegment._value_kinds import WrittenValues as WrittenValues
from logsegment._value_kinds import ensure_values as ensure_values

Binary: TypeAlias = Literal["binary", "large_binary", "binary_view"]
Isolation: TypeAlias = Literal["read_uncommitted", "read_committed"]
OnError: TypeAlias = Literal["raise", "skip"]
Unreadable: TypeAlias = Literal["raise", "skip"]
#: For one value of an Arrow column.
OnBadValue: TypeAlias = Literal["raise", "skip", "null"]
Depth: TypeAlias = Literal["headers", "metadata", "full"]
Format: TypeAlias = Literal["auto", "sniff", "0.7", "v0", "v1", "v2", "v3"]
WrittenFormat: TypeAlias = Literal["0.7", "v0", "v1", "v2", "v3"]
Compression: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]
#: A `Compression`, or the alias of a plugin.
CompressionName: TypeAlias = str
TimestampType: TypeAlias = Literal["CreateTime", "LogAppendTime"]
LZ4HeaderChecksum: TypeAlias = Literal["correct", "broken"]
LogStartOffset: TypeAlias = Literal["honour", "ignore"]
#: Milliseconds since the epoch, a datetime with a time zone, or a text as the command line takes it.
Timestamp: TypeAlias = int | datetime | str

#: The record columns that `decode` builds by default.
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
#: All columns with what is stored.
RAW_COLUMNS = (
    *COLUMNS,
    "headersRaw",
    "timestampMs",
    "attributes",
    "producerId",
    "producerEpoch",
    "sequence",
    "partitionLeaderEpoch",
    "isTransactional",
    "isControl",
    "controlType",
    "magic",
    "compression",
    "batchBaseOffset",
    "entryPosition",
    "indexInEntry",
)
#: The attributes of `Limits`.
LIMIT_NAMES = ("max_batch_bytes", "max_decompressed_bytes", "max_ratio", "max_records", "max_headers", "max_nesting")
#: The column that `values="internal"` adds.
INTERNAL = "internal"
#: The columns that decoded values and keys add: what they say, and the ids of their schemas.
VALUE_COLUMNS = ("valueRecord", "valueSchemaId")
KEY_COLUMNS = ("keyRecord", "keySchemaId")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
#: Milliseconds of the units of relative times.
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


class CodecRegistry(Protocol):
    """A registry of plugin codecs; `logsegment.plugins` has several."""

    def by_id(self, plugin_id: int, /) -> Any:
        """Return the entry with this id, or None."""

    def by_alias(self, alias: str, /) -> Any:
        """Return the entry with this alias, or None."""


class SchemaSource(Protocol):
    """Schemas with the names that values have for them; `logsegment.schemas` has functions that return them."""

    @property
    def framing(self) -> str:
        """How a value names its schema."""

    def __iter__(self) -> Iterator[Any]:
        """Return the schemas."""

    def versions_of(self, subject: str, /) -> list[tuple[Any, Any]]:
        """Return the versions of a subject with their schemas."""

    def referenced(self, schema: Any, /) -> list[tuple[str, Any]]:
        """Return the schemas that a schema needs."""


def ensure_one_of(argument: str, value: object, known: Sequence[str]) -> None:
    """Raise a ValueError that lists the known values, unless the value is among them."""
    if value not in known:
        names = ", ".join(f'"{name}"' for name in known[:-1])
        raise ValueError(f'{argument} must be {names} or "{known[-1]}", not {value!r}')


def partition_number(given: int | str | None) -> int | None:
    """Return the number of a partition; raise a ValueError for a text that is not a number."""
    if not isinstance(given, str):
        return given
    if not re.fullmatch(r"\d{1,10}", given):
        raise ValueError(f"partition must be a number, not {given!r}")
    return int(given)


def _keys(given: str | bytes | Sequence[str | bytes] | None) -> tuple[bytes, ...] | None:
    if given is None:
        return None
    keys = [given] if isinstance(given, str | bytes) else given
    return tuple(key.encode("utf-8", "surrogateescape") if isinstance(key, str) else bytes(key) for key in keys)


class EntryKeywords(TypedDict, total=False):
    """Options of every call that reads entries; `decode` documents them."""

    format: Format
    experimental: bool
    base_position: int | None
    ignore_lz4_header_checksum: bool
    allow_dependent_lz4_blocks: bool
    zstd_dictionaries: Sequence[bytes] | None
    codecs: CodecRegistry | None
    limits: Limits | None


class SkippingKeywords(EntryKeywords, total=False):
    """Options of entries of calls that can skip them; `decode` documents them."""

    unreadable: Unreadable


class ReadKeywords(SkippingKeywords, total=False):
    """Options of every call that reads records of segments; `decode` documents them."""

    columns: Sequence[str] | None
    binary: Binary
    check_crc: bool
    on_error: OnError
    strict_tail: bool
    control: bool
    batch_size: int
    batch_bytes: int
    threads: int
    null_headers: bool
    values: Values
    key_values: KeyValues
    schemas: SchemaSource | None
    reader_schema: Any
    framing: Framing | None
    integers: Integers
    key: str | bytes | Sequence[str | bytes] | None


class ArrayKeywords(SkippingKeywords, total=False):
    """Options of every call that reads records of an Arrow column; `decode` documents them."""

    columns: Sequence[str] | None
    binary: Binary
    check_crc: bool
    strict_tail: bool
    isolation: Isolation
    control: bool
    start_offset: int | None
    end_offset: int | None
    topic: str | None
    partition: int | None
    null_headers: bool
    transactions: Transactions | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """How entries and records are read; `decode` documents each attribute.

    Some attributes are not options of `decode`. `times` are the first timestamp (ms) and the first one that is too late. `share` has the
    offsets of a read that shares a log with others: a batch whose header lies inside is read whole. `value_schemas` and `key_schemas` are
    what `_typed_values.planned` finds. `batches` documents `resolve`. `upload` has the offsets of the upload in tiered storage that the
    source is a copy of.

    Raises:
        TypeError: if `columns` is one string.
        ValueError: if `values` is not a known name.
    """

    columns: Sequence[str] | None = None
    binary: Binary = "binary"
    check_crc: bool = True
    on_error: OnBadValue = "raise"
    unreadable: Unreadable = "raise"
    strict_tail: bool = False
    isolation: Isolation = "read_uncommitted"
    control: bool = False
    start_offset: int | None = None
    end_offset: int | None = None
    share: tuple[int | None, int | None] = (None, None)
    times: tuple[int | None, int | None] = (None, None)
    batch_size: int = 65536
    batch_bytes: int = 1 << 20
    topic: str | None = None
    partition: int | None = None
    threads: int = 1
    null_headers: bool = False
    transactions: Transactions | None = None
    values: Values = "raw"
    key_values: KeyValues = "raw"
    schemas: SchemaSource | None = None
    reader_schema: Any = None
    framing: Framing | None = None
    integers: Integers = "int64"
    key: str | bytes | Sequence[str | bytes] | None = None
    value_schemas: ValueSchemas | None = None
    key_schemas: ValueSchemas | None = None
    resolve: bool = False
    upload: tuple[int, int | None] | None = None
    format: Format = "auto"
    experimental: bool = False
    base_position: int | None = None
    ignore_lz4_header_checksum: bool = False
    allow_dependent_lz4_blocks: bool = False
    zstd_dictionaries: Sequence[bytes] | None = None
    codecs: CodecRegistry | None = None
    limits: Limits | None = None

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise TypeError(f'columns must be a sequence of names, not one string; write columns=["{self.columns}"]')
        if isinstance(self.schemas, str | os.PathLike):
            raise TypeError(
                f"schemas must be a set of schemas, not a path; write schemas=logsegment.schemas.from_path({os.fspath(self.schemas)!r})"
            )
        ensure_values("values", self.values, get_args(Values))
        ensure_values("key_values", self.key_values, get_args(KeyValues))
        if self.framing is not None:
            ensure_one_of("framing", self.framing, get_args(Framing))
        ensure_one_of("integers", self.integers, get_args(Integers))
        columns = None if self.columns is None else tuple(self.columns)
        if self.values != "raw" or self.key_values != "raw":
            columns = with_values(COLUMNS if columns is None else columns, self.values, self.key_values)
        object.__setattr__(self, "key", _keys(self.key))
        dictionaries = None if self.zstd_dictionaries is None else tuple(bytes(dictionary) for dictionary in self.zstd_dictionaries)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "zstd_dictionaries", dictionaries)

    @classmethod
    def of(cls, keywords: type[EntryKeywords], given: Mapping[str, Any], **own: Any) -> Self:
        """Build the options of a call that takes `keywords`, and options of its own.

        Raises:
            TypeError: if an option is not among the keywords.
            ValueError: as `ensure_offsets`.
        """
        for name in given.keys() - keywords.__annotations__.keys():
            raise TypeError(f"got an unexpected keyword argument {name!r}")
        options = cls(**given, **own)
        ensure_offsets(options.start_offset, options.end_offset)
        return options

    def of_every_format(self) -> Self:
        """Return the options of a read of batches of every format of Kafka 0.8 and later, also of those that never shipped."""
        return replace(self, format="auto", experimental=True)

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """The first offset of the batches that the read may need, and the first one after them; None for no bound."""
        return _most(self.start_offset, self.share[0]), _least(self.end_offset, self.share[1])

    def sharing(self, start: int | None, end: int | None) -> Self:
        """Return the options of a read that has only some offsets of those that this read has."""
        return replace(self, share=(_most(start, self.share[0]), _least(end, self.share[1])))

    @property
    def skips_damage(self) -> bool:
        """True if a read goes on after damage."""
        return self.on_error == "skip"

    @property
    def is_typed(self) -> bool:
        """True if keys or values are decoded with schemas."""
        return self.values not in ("raw", INTERNAL) or self.key_values != "raw"

    @property
    def has_internal(self) -> bool:
        """True if the column `internal` is built."""
        return INTERNAL in (self.columns or ())


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionOptions:
    """Options of every reader of partitions, which reads more than one file; `Log` documents each attribute.

    Attributes:
        log_start_offset: "honour" starts each partition at the log start offset that the checkpoint file of its log directory has: a broker
            has deleted the records below it. "ignore" reads these records too.
        replica: which directory is read of a partition that is in several; None for an error.

    Raises:
        ValueError: if `log_start_offset` is not a known name.
        TypeError: if `replica` is not a name or a path.
    """

    log_start_offset: LogStartOffset = "honour"
    replica: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        ensure_one_of("log_start_offset", self.log_start_offset, get_args(LogStartOffset))
        if self.replica is not None and not isinstance(self.replica, str | os.PathLike):
            raise TypeError(f'replica must be "longest", "first" or the path of a directory, not {type(self.replica).__name__}')


class EncodeKeywords(TypedDict, total=False):
    """Options of every call that writes batches; `encode` documents them."""

    format: WrittenFormat
    compression: CompressionName
    level: int | None
    base_offset: int
    batch_bytes: int
    timestamp_type: TimestampType
    log_append_time: Timestamp | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    partition_leader_epoch: int
    metadata_first: bool
    lz4_header_checksum: LZ4HeaderChecksum | None
    codecs: CodecRegistry | None


#: The options of `ReadOptions.of_every_format`, and otherwise the defaults.
EVERY_FORMAT: ReadOptions = ReadOptions().of_every_format()


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodeOptions:
    """How records become batches; `encode` documents each attribute.

    Raises:
        TypeError: if `compression` is None.
    """

    format: WrittenFormat = "v2"
    compression: CompressionName = "none"
    level: int | None = None
    base_offset: int = 0
    batch_bytes: int = 16384
    timestamp_type: TimestampType = "CreateTime"
    log_append_time: Timestamp | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    partition_leader_epoch: int = -1
    metadata_first: bool = False
    lz4_header_checksum: LZ4HeaderChecksum | None = None
    codecs: CodecRegistry | None = None
    on_error: OnBadValue = "raise"

    def __post_init__(self) -> None:
        if self.compression is None:
            raise TypeError('compression must be a name; "none" compresses nothing')
        if self.log_append_time is not None:
            object.__setattr__(self, "log_append_time", milliseconds(self.log_append_time, "log_append_time", rounds_up=False))


def _most(*bounds: int | None) -> int | None:
    return max((bound for bound in bounds if bound is not None), default=None)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def with_values(columns: Sequence[str], values: Values, key_values: KeyValues = "raw") -> tuple[str, ...]:
    """Return the columns of a read, with the columns that `values` and `key_values` add last unless one of them is among the columns."""
    added: list[str] = []
    if values == INTERNAL:
        added += [INTERNAL]
    elif values != "raw" and not any(map(is_of_values, columns)):
        added += VALUE_COLUMNS[:1] if values in PRIMITIVES else VALUE_COLUMNS
    if key_values != "raw" and not any(map(is_of_keys, columns)):
        added += KEY_COLUMNS[:1] if key_values in PRIMITIVES else KEY_COLUMNS
    return (*columns, *(name for name in added if name not in columns))


def is_of_values(column: str) -> bool:
    """Return True for a column of decoded values."""
    return column in VALUE_COLUMNS or column.startswith(f"{VALUE_COLUMNS[0]}.")


def is_of_keys(column: str) -> bool:
    """Return True for a column of decoded keys."""
    return column in KEY_COLUMNS or column.startswith(f"{KEY_COLUMNS[0]}.")


def ensure_offsets(start: int | None, end: int | None, names: tuple[str, str] = ("start_offset", "end_offset")) -> None:
    """Raise a ValueError for a range of offsets that starts after its end, or for a negative offset; a TypeError for another type than int.

    An empty range is valid.

    Args:
        start: first offset (inclusive), or None.
        end: first offset after the range, or None.
        names: the arguments, for the error.
    """
    for name, offset in zip(names, (start, end), strict=True):
        if offset is not None and not hasattr(offset, "__index__"):
            raise TypeError(f"{name} must be an integer: {offset!r}")
        if offset is not None and offset < 0:
            raise ValueError(f"{name} must not be negative: {offset}")
    ensure_ordered(start, end, names)


def ensure_ordered(start: int | None, end: int | None, names: tuple[str, str] = ("start_timestamp", "end_timestamp")) -> None:
    """Raise a ValueError for a range of offsets, or of times in milliseconds, that starts after its end. An empty range is valid.

    Args:
        start: where it starts (inclusive), or None.
        end: where it ends (exclusive), or None.
        names: the arguments, for the error.
    """
    if start is not None and end is not None and start > end:
        raise ValueError(f"{names[0]} must not be after {names[1]}: {start} and {end}")


def time_bounds(start: Timestamp | None, end: Timestamp | None) -> tuple[int | None, int | None]:
    """Return the arguments `start_timestamp` and `end_timestamp` as milliseconds.

    Raises:
        TypeError: if one is not a time.
        ValueError: if a datetime has no time zone, or the range starts after its end.
    """
    first = None if start is None else milliseconds(start, "start_timestamp")
    last = None if end is None else milliseconds(end, "end_timestamp")
    ensure_ordered(first, last)
    return first, last


def parsed_time(text: str, now: int | None = None) -> int | datetime:
    """Parse a time: milliseconds since 1970, ISO 8601 (UTC if it names no zone), or relative to `now` (`-2h`; None for the clock).

    Raises:
        ValueError: if the text is not a time.
    """
    if re.fullmatch(r"-?\d+", text):
        # More digits than 64 bits have are out of their range.
        return int(text) if len(text) < 21 else 2**63
    if found := re.fullmatch(r"-(\d{1,15})([smhdw])", text):
        start = now if now is not None else clock.time_ns() // 1_000_000
        return start - int(found[1]) * _UNITS[found[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither milliseconds nor a time such as 2026-01-31T12:00:00Z or -2h") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def milliseconds(time: Timestamp, argument: str = "timestamp", *, rounds_up: bool = True) -> int:
    """Return a time as milliseconds since the epoch.

    Args:
        time: milliseconds, an aware datetime, or a text.
        argument: its name, for errors.
        rounds_up: count a part of a millisecond as a whole one, as the bound of a range of times needs it.

    Raises:
        TypeError: if it is not a time.
        ValueError: if a datetime has no time zone, or a text is not a time.
    """
    if isinstance(time, str):
        try:
            time = parsed_time(time)
        except ValueError as error:
            raise ValueError(f"{argument}: {error}") from None
    if not isinstance(time, datetime):
        if not hasattr(time, "__index__"):
            kinds = "milliseconds (int), a datetime with a time zone or a text such as 2026-01-31T12:00:00Z"
            raise TypeError(f"{argument} must be {kinds}, not {type(time).__name__}")
        return operator.index(time)
    if time.tzinfo is None:
        raise ValueError(f"{argument}: a datetime needs a time zone; pass tzinfo=datetime.UTC, or call its astimezone()")
    return -((_EPOCH - time) // _MILLISECOND) if rounds_up else (time - _EPOCH) // _MILLISECOND
