"""What a caller may write for options, and what the core is given."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from logsegment.plugins.absent import Absent

if TYPE_CHECKING:
    from logsegment.plugins import Registry
    from logsegment.plugins.selection import Resolver

Binary: TypeAlias = Literal["binary", "large_binary", "binary_view"]
Isolation: TypeAlias = Literal["read_uncommitted", "read_committed"]
OnError: TypeAlias = Literal["raise", "skip"]
OnBadValue: TypeAlias = Literal["raise", "skip", "null"]
Depth: TypeAlias = Literal["headers", "metadata", "full"]
Decode: TypeAlias = Literal["internal"]
Format: TypeAlias = Literal["auto", "sniff", "0.7", "v0", "v1", "v2", "v3"]
WrittenFormat: TypeAlias = Literal["0.7", "v0", "v1", "v2", "v3"]
Compression: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]
#: A `Compression`, or the alias of a plugin.
CompressionName: TypeAlias = str
TimestampType: TypeAlias = Literal["CreateTime", "LogAppendTime"]
LZ4HeaderChecksum: TypeAlias = Literal["correct", "broken"]


def plugins(registry: Registry | None) -> Resolver | str | None:
    """A registry as the core asks it; of none that has a name the name."""
    if registry is None or isinstance(registry, Absent):
        return None if registry is None else registry.wanted
    from logsegment.plugins.selection import Resolver

    return Resolver(registry)


def brokers_plugins(registry: Registry | None) -> Resolver | str | None:
    """A registry as the core asks it where it does a broker's work."""
    if registry is None or isinstance(registry, Absent):
        return None if registry is None else registry.wanted
    from logsegment.plugins.selection import BrokerResolver

    return BrokerResolver(registry)


def dictionaries(given: Sequence[bytes] | None) -> list[bytes] | None:
    """Dictionaries as bytes, from any buffers."""
    return None if given is None else [bytes(one) for one in given]


def names(columns: Sequence[str] | None) -> list[str] | None:
    """Column names as a list; a single string is a mistake that would be taken letter by letter."""
    if isinstance(columns, str):
        raise TypeError("columns must be a sequence of names, not one string")
    return None if columns is None else list(columns)


def milliseconds(argument: str, time: int | datetime | None) -> int | None:
    """A time as milliseconds since 1970, rounded down. A datetime without a time zone could mean any of them."""
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise ValueError(f"{argument}: a datetime needs a time zone")
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def entry_options(**options: Any) -> dict[str, Any]:
    """Options of the core's verbs about entries, with defaults for those that a verb does not have."""
    defaults: dict[str, Any] = {
        "check_crc": True,
        "on_error": "raise",
        "strict_tail": False,
        "batch_size": 65536,
        "format": "auto",
        "experimental": False,
        "base_position": None,
        "resolve": False,
        "lz4_in_07": False,
        "ignore_lz4_header_checksum": False,
        "allow_dependent_lz4_blocks": False,
        "zstd_dictionaries": None,
        "codecs": None,
        "limits": None,
    }
    taken = defaults | options
    return taken | {"zstd_dictionaries": dictionaries(taken["zstd_dictionaries"]), "codecs": plugins(taken["codecs"])}
