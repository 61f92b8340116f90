"""Options of `records`: those of `decode` that `Segment`, `Log` and their readers hand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypedDict

from logsegment._core import Limits
from logsegment._decode import decode
from logsegment._options import Binary, Decode, Format, Isolation, OnError
from logsegment.plugins.registry import resolver
from logsegment.segment_files.internal_topics import columns_with

if TYPE_CHECKING:
    from logsegment.plugins import Registry


class RecordOptions(TypedDict, total=False):
    """Options of `decode` that `records` hands on."""

    columns: Sequence[str] | None
    binary: Binary
    check_crc: bool
    on_error: OnError
    strict_tail: bool
    control: bool
    batch_size: int
    batch_bytes: int
    threads: int
    format: Format
    experimental: bool
    codecs: Registry | None
    limits: Limits | None
    null_headers: bool
    decode: Decode | None


def ensure_known(options: Mapping[str, object]) -> None:
    """Refuse what is no option of `records`: a misspelt one must not be passed over.

    Raises:
        TypeError: when there is one.
    """
    for name in options.keys() - RecordOptions.__annotations__.keys():
        raise TypeError(f"records() got an unexpected keyword argument {name!r}")


def takes_v3(options: RecordOptions) -> bool:
    """True when batches of magic 3 are wanted, by name or beside others."""
    return options.get("experimental", False) or options.get("format") == "v3"


def lookup_options(options: RecordOptions) -> dict[str, Any]:
    """Those that `Segment.range_to_read` takes."""
    return {"on_error": options.get("on_error", "raise"), "format": options.get("format", "auto")}


def shared_options(options: RecordOptions, isolation: Isolation) -> dict[str, Any]:
    """What `decode_files` is told about all parts, with the defaults of `decode`."""
    columns = columns_with(options.get("decode"), options.get("columns"))
    own = {"columns": columns, "isolation": isolation, "codecs": resolver(options.get("codecs"))}
    return dict(_defaults(), **options) | own


def _defaults() -> dict[str, Any]:
    """The options of `decode` as they are when nobody says anything."""
    parameters = signature(decode).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is Parameter.KEYWORD_ONLY}
