"""Schemas of keys and values as bytes that the library of the jar parses. `src/jvm/value_schemas.rs` reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack
from typing import TypeVar

from logsegment._core import ValueSchemas
from logsegment._options import ReadOptions

T = TypeVar("T")
#: A number that is not given.
_NONE = -(2**63)


def schemas_bytes(read: ReadOptions) -> bytes:
    """Return the schemas of the values and of the keys of a read as bytes."""
    return _schemas(read.value_schemas) + _schemas(read.key_schemas)


def _schemas(known: ValueSchemas | None) -> bytes:
    """Return the schemas of keys or values; the parts are those of their pickle."""
    if known is None:
        return pack(">q", 0)
    entries, framing, format_, present, newest, reader, messages, main, integers = known.__reduce__()[1]
    return b"".join(
        [
            pack(">q", 1),
            _list(entries, _entry),
            _name(framing),
            _name(format_),
            _list(present, _number),
            _number(_given(newest)),
            pack(">q", 0) if reader is None else pack(">q", 1) + _name(reader[0]) + _name(reader[1]) + _list(reader[2], _named),
            _list(messages, lambda message: _number(message[0]) + _list(message[1], _number)),
            _number(_given(main)),
            _name(integers),
        ]
    )


def _entry(entry: tuple[int | None, bytes | None, str, str, list[tuple[str, str]], list[int]]) -> bytes:
    schema_id, guid, kind, text, referenced, global_ids = entry
    names = [_number(_given(schema_id)), pack(">q", 0) if guid is None else pack(">q", 1) + guid, _name(kind), _name(text)]
    return b"".join([*names, _list(referenced, _named), _list(global_ids, _number)])


def _named(pair: tuple[str, str]) -> bytes:
    return _name(pair[0]) + _name(pair[1])


def _name(text: str) -> bytes:
    return _counted(text.encode())


def _number(number: int) -> bytes:
    return pack(">q", number)


def _list(items: Sequence[T], item: Callable[[T], bytes]) -> bytes:
    return pack(">i", len(items)) + b"".join(map(item, items))


def _given(number: int | None) -> int:
    return _NONE if number is None else number


def _counted(text: bytes) -> bytes:
    return pack(">i", len(text)) + text
