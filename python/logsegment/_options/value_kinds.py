"""Kinds of keys and values, and how values name their schemas: the names that every API takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

#: Types of Kafka's own serializers.
Primitive: TypeAlias = Literal["string", "long", "int", "short", "float", "double", "uuid"]
#: Keys of windows of Kafka Streams.
WindowKey: TypeAlias = Literal[
    "windowed(string)",
    "windowed(long)",
    "windowed(int)",
    "windowed(short)",
    "windowed(float)",
    "windowed(double)",
    "windowed(uuid)",
    "session(string)",
    "session(long)",
    "session(int)",
    "session(short)",
    "session(float)",
    "session(double)",
    "session(uuid)",
]
Values: TypeAlias = Literal["raw", "internal", "auto", "avro", "json", "protobuf", Primitive, WindowKey]
KeyValues: TypeAlias = Literal["raw", "auto", "avro", "json", "protobuf", Primitive, WindowKey]
#: How a value names its schema; `decode` has the meaning of each.
Framing: TypeAlias = Literal[
    "auto",
    "none",
    "confluent",
    "confluent-no-index",
    "guid",
    "apicurio",
    "apicurio-global",
    "glue",
    "single-object",
    "container",
]
#: The column of an integer of JSON whose schema has no bounds.
Integers: TypeAlias = Literal["int64", "decimal"]
WrittenValues: TypeAlias = Literal["raw", "avro", "json", "protobuf"]
#: The values of `values` and `key_values` that need no schemas: types of Kafka's own serializers, and keys of windows.
PRIMITIVES: frozenset[str] = frozenset((*get_args(Primitive), *get_args(WindowKey)))


def ensure_values(argument: str, value: object, known: Sequence[str]) -> None:
    """Raise a ValueError unless the value is a known kind of values; its text does not repeat each type within a window."""
    if value not in known:
        names = ", ".join(f'"{name}"' for name in known if name not in get_args(WindowKey))
        raise ValueError(f'{argument} must be {names}, "windowed(TYPE)" or "session(TYPE)", not {value!r}')
