"""Names that options may have, and what they take from packages above: registries of codecs, schemas."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias, get_args

from logsegment._options.times import ensure_ordered

Binary: TypeAlias = Literal["binary", "large_binary", "binary_view"]
Isolation: TypeAlias = Literal["read_uncommitted", "read_committed"]
OnError: TypeAlias = Literal["raise", "skip"]
Unreadable: TypeAlias = Literal["raise", "skip"]
#: For one value of an Arrow column.
OnBadValue: TypeAlias = Literal["raise", "skip", "null"]
Depth: TypeAlias = Literal["headers", "metadata", "full"]
#: The tables of a `Cluster`.
ClusterView: TypeAlias = Literal[
    "topics", "brokers", "configs", "acls", "quotas", "scram", "features", "partitions", "groups", "lag", "transactions", "producers"
]
#: The order of the entries that `salvage` writes.
Order: TypeAlias = Literal["input", "offset"]
#: What `rewrite` writes in place of masked values.
MaskWith: TypeAlias = Literal["null", "empty", "hash"]
Format: TypeAlias = Literal["auto", "sniff", "0.7", "v0", "v1", "v2", "v3"]
#: The formats of a log whose entries are each of their own: those of every release, or the proposal KIP-931 besides.
MixedFormat: TypeAlias = Literal["auto", "v3"]
#: Formats that a release of Kafka writes.
ReleasedFormat: TypeAlias = Literal["0.7", "v0", "v1", "v2"]
#: The formats that `convert` writes.
WrittenFormat: TypeAlias = Literal[ReleasedFormat, "v3"]
Compression: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]
#: A `Compression`, or the alias of a plugin.
CompressionName: TypeAlias = str
TimestampType: TypeAlias = Literal["CreateTime", "LogAppendTime"]
LZ4HeaderChecksum: TypeAlias = Literal["correct", "broken"]
#: Deviations from Kafka's formats that a reader accepts if it is asked to.
Quirk: TypeAlias = Literal["lz4-header-checksum", "lz4-dependent-blocks"]
LogStartOffset: TypeAlias = Literal["honour", "ignore"]

#: The attributes of `Limits`.
LIMIT_NAMES = ("max_batch_bytes", "max_decompressed_bytes", "max_ratio", "max_records", "max_headers", "max_nesting")


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


def ensure_quirks(argument: str, given: Collection[str]) -> tuple[Quirk, ...]:
    """Return quirks in the order of their declaration, each once.

    Raises:
        TypeError: if the quirks are one string.
        ValueError: if a name is unknown. The error lists the known names.
    """
    if isinstance(given, str):
        raise TypeError(f'{argument} must be a set of names, not one string; write {argument}={{"{given}"}}')
    names = tuple(given)
    for name in names:
        ensure_one_of(argument, name, get_args(Quirk))
    return tuple(quirk for quirk in get_args(Quirk) if quirk in names)


def partition_number(given: int | str | None) -> int | None:
    """Return the number of a partition; raise a ValueError for a text that is not a number."""
    if not isinstance(given, str):
        return given
    if not re.fullmatch(r"\d{1,10}", given):
        raise ValueError(f"partition must be a number, not {given!r}")
    return int(given)


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
