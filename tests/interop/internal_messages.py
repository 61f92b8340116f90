"""Records of internal topics with random content, written by Kafka's own schemas: those in the jars, not our tables of them."""

from __future__ import annotations

import importlib.util
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import eras

Schema = dict[str, Any]

#: Where Kafka keeps the classes that are made of the schemas.
PACKAGES = {
    "__consumer_offsets": "org.apache.kafka.coordinator.group.generated",
    "__share_group_state": "org.apache.kafka.coordinator.share.generated",
    "__transaction_state": "org.apache.kafka.coordinator.transaction.generated",
    "__cluster_metadata": "org.apache.kafka.common.metadata",
    "__remote_log_metadata": "org.apache.kafka.server.log.remote.metadata.storage.generated",
}
NUMBERS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q"}


def tool() -> ModuleType:
    """tools/message_tables.py, which finds the schemas."""
    spec = importlib.util.spec_from_file_location("message_tables", eras.ROOT / "tools" / "message_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Message:
    """The fields of a key or of a value: the class that reads them, their version, their bytes."""

    kind: str
    version: int
    body: bytes


@dataclass(frozen=True)
class Made:
    """A record, and what its parts are."""

    topic: str
    type: str
    key: bytes | None
    value: bytes
    key_message: Message | None
    value_message: Message


def jars() -> list[Path]:
    return [Path(jar) for jar in eras.resolved(eras.ERAS["4.3.1"]).split(":")]


def records(seed: int, each: int) -> Iterator[Made]:
    """Records of every type and version of every topic."""
    tables, dice = tool(), random.Random(seed)
    for name, jar in (tables.COORDINATORS | tables.METADATA).items():
        topic = f"__{name}"
        schemas = tables.schemas_in(jars(), jar)
        keys = {schema["apiKey"]: schema for schema in schemas if schema["type"] == "coordinator-key"}
        for schema in schemas:
            if schema["type"] not in ("coordinator-value", "metadata"):
                continue
            first, last = tables.versions(schema["validVersions"])
            for version in [version for version in range(first, last + 1) for _ in range(each)]:
                yield _record(tables, topic, keys.get(schema["apiKey"]), schema, version, dice)


def _record(tables: ModuleType, topic: str, key: Schema | None, schema: Schema, version: int, dice: random.Random) -> Made:
    package, number = PACKAGES[topic], schema["apiKey"]
    value = Message(f"{package}.{schema['name']}", version, _Writer(tables, schema, version, dice).out)
    if schema["type"] == "metadata":
        head = b"\x01" + uvarint(number) + uvarint(version)
        return Made(topic, tables.constant(schema["name"]), None, head + value.body, None, value)
    assert key is not None
    keyed = Message(f"{package}.{key['name']}", 0, _Writer(tables, key, 0, dice).out)
    name = tables.constant(schema["name"].removesuffix("Value"))
    return Made(topic, name, struct.pack(">h", number) + keyed.body, struct.pack(">h", version) + value.body, keyed, value)


class _Writer:
    """Writes one message: `out` is its bytes."""

    def __init__(self, tables: ModuleType, schema: Schema, version: int, dice: random.Random) -> None:
        self.version = version
        self.dice = dice
        self.has: Callable[[str | None], bool] = lambda text: text is not None and _within(version, *tables.versions(text))
        self.is_flexible = self.has(schema["flexibleVersions"])
        self.common = {row["name"]: row["fields"] for row in schema.get("commonStructs", [])}
        self.out = self.fields(schema["fields"])

    def fields(self, fields: list[Schema]) -> bytes:
        there = [field for field in fields if self.has(field.get("versions", field.get("taggedVersions")))]
        tagged = [field for field in there if self.has(field.get("taggedVersions"))]
        plain = b"".join(self.value(field["type"], field, may_be_null=self.may_be_null(field)) for field in there if field not in tagged)
        if not self.is_flexible:
            return plain
        chosen = [(field["tag"], self.tagged(field)) for field in tagged]
        chosen = sorted(item for item in chosen if self.dice.random() < 0.7)
        # A tag of a version to come, which every reader passes over.
        chosen += [(5000, b"later")] if self.dice.random() < 0.2 else []
        return plain + uvarint(len(chosen)) + b"".join(uvarint(tag) + uvarint(len(body)) + body for tag, body in chosen)

    def tagged(self, field: Schema) -> bytes:
        """A field of the tag buffer, where a struct that may be null begins with an unsigned varint."""
        if not self.is_struct(field["type"]) or not self.may_be_null(field):
            return self.value(field["type"], field, may_be_null=self.may_be_null(field))
        return b"\x00" if self.dice.random() < 0.3 else b"\x01" + self.value(field["type"], field, may_be_null=False)

    def is_struct(self, kind: str) -> bool:
        return not kind.startswith("[]") and kind not in NUMBERS and kind not in ("bool", "float64", "uuid", "string", "bytes")

    def may_be_null(self, field: Schema) -> bool:
        return self.has(field.get("nullableVersions"))

    def value(self, kind: str, field: Schema, *, may_be_null: bool) -> bytes:
        dice = self.dice
        if may_be_null and dice.random() < 0.3:
            return self.null(kind)
        if kind in NUMBERS:
            size = struct.calcsize(NUMBERS[kind])
            return dice.randbytes(size) if dice.random() < 0.7 else struct.pack(NUMBERS[kind], dice.choice([0, 1]))
        match kind:
            case "bool":
                return dice.choice([b"\x00", b"\x01"])
            case "float64":
                return struct.pack(">d", dice.choice([0.0, 1.0, -2.5, 1e7, 123456789.125, 1e-9, dice.random()]))
            case "uuid":
                return dice.randbytes(16) if dice.random() < 0.8 else bytes(16)
            case "string":
                text = "".join(dice.choices('ab "\\/\n\u00e9\u20ac\U0001f600', k=dice.choice([0, 3, 50]))).encode()
                return (self.length(len(text)) if self.is_flexible else struct.pack(">h", len(text))) + text
            case "bytes":
                content = dice.randbytes(dice.choice([0, 1, 5, 150]))
                return self.length(len(content)) + content
        if kind.startswith("[]"):
            count = dice.choice([0, 1, 3])
            return self.length(count) + b"".join(self.value(kind[2:], field, may_be_null=False) for _ in range(count))
        inner = self.fields(field.get("fields") or self.common[kind])
        return b"\x01" + inner if may_be_null else inner

    def length(self, length: int) -> bytes:
        return uvarint(length + 1) if self.is_flexible else struct.pack(">i", length)

    def null(self, kind: str) -> bytes:
        if self.is_struct(kind):
            return b"\xff"
        if self.is_flexible:
            return b"\x00"
        return b"\xff\xff" if kind == "string" else b"\xff" * 4


def _within(version: int, first: int, last: int) -> bool:
    return first <= version <= last


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
