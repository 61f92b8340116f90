"""Random Avro schemas with values, pairs of compatible schemas, and random files of Protobuf; a seed gives the same ones again.

`value_of` returns a value for a writer and the cell that `values_truth.fits` compares with what was decoded.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

LEAVES: list[Any] = [
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
    {"type": "string", "logicalType": "uuid"},
]
TEXTS = ("", "a", "é", "日本", "🦀", "line\nbreak", "x" * 70)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Maker:
    """Makes schemas and values from one source of chance."""

    rng: Random
    names: int = 0
    #: Records by name, which may contain themselves.
    records: dict[str, Any] = field(default_factory=dict)

    def name(self) -> str:
        self.names += 1
        return f"N{self.names}"

    def schema(self, depth: int = 3) -> Any:
        """Return a schema of any type."""
        kind = self.rng.choice(["record", "record", "array", "map", "union", "enum", "fixed"] if depth > 0 else ["leaf"])
        if self.rng.random() < 0.35:
            kind = "leaf"
        match kind:
            case "record":
                return self.record(depth)
            case "array":
                return {"type": "array", "items": self.schema(depth - 1)}
            case "map":
                return {"type": "map", "values": self.schema(depth - 1)}
            case "union":
                return self.union(depth)
            case "enum":
                return {"type": "enum", "name": self.name(), "symbols": [f"S{at}" for at in range(self.rng.randint(1, 5))]}
            case "fixed":
                return {"type": "fixed", "name": self.name(), "size": self.rng.randint(1, 20)}
        return self.rng.choice(LEAVES)

    def record(self, depth: int = 3) -> Any:
        name = self.name()
        fields = [{"name": f"f{at}", "type": self.schema(depth - 1)} for at in range(self.rng.randint(1, 5))]
        if self.rng.random() < 0.1:
            fields.append({"name": "again", "type": ["null", name]})
        made = {"type": "record", "name": name, "fields": fields}
        self.records[name] = made
        return made

    def union(self, depth: int) -> Any:
        plain = self.rng.sample(["null", "boolean", "long", "double", "string", "bytes"], self.rng.randint(1, 3))
        named = [self.record(depth - 1)] if self.rng.random() < 0.3 else []
        return [*plain, *named] if self.rng.random() < 0.7 else ["null", self.rng.choice(LEAVES[1:])]

    def value(self, schema: Any, depth: int = 0) -> tuple[Any, Any]:
        """Return a value and its cell."""
        if isinstance(schema, list):
            branch = self.rng.randrange(len(schema))
            if depth > 4 and "null" in schema:
                branch = schema.index("null")
            value, cell = self.value(schema[branch], depth + 1)
            is_named = isinstance(schema[branch], dict) and schema[branch]["type"] == "record"
            return ((schema[branch]["name"], value) if is_named else value), {"u": branch, "v": cell}
        if isinstance(schema, str) and schema in self.records:
            return self.value(self.records[schema], depth + 1)
        if isinstance(schema, str):
            return self.plain(schema)
        match schema["type"]:
            case "record":
                pairs = {line["name"]: self.value(line["type"], depth + 1) for line in schema["fields"]}
                return {name: value for name, (value, _) in pairs.items()}, {name: cell for name, (_, cell) in pairs.items()}
            case "array":
                items = [self.value(schema["items"], depth + 1) for _ in range(self.rng.randint(0, 3))]
                return [value for value, _ in items], [cell for _, cell in items]
            case "map":
                found = {key: self.value(schema["values"], depth + 1) for key in self.rng.sample(TEXTS, self.rng.randint(0, 3))}
                cells = [[key, found[key][1]] for key in sorted(found, key=str.encode)]
                return {key: value for key, (value, _) in found.items()}, {"map": cells}
            case "enum":
                symbol = self.rng.choice(schema["symbols"])
                return symbol, symbol
            case "fixed":
                run = self.rng.randbytes(schema["size"])
                return run, {"b64": base64.b64encode(run).decode()}
        return self.logical(schema["logicalType"])

    def plain(self, kind: str) -> tuple[Any, Any]:
        match kind:
            case "null":
                return None, None
            case "boolean":
                value: Any = self.rng.random() < 0.5
            case "int":
                value = self.rng.choice([0, -1, 2**31 - 1, -(2**31), self.rng.randint(-1000, 1000)])
            case "long":
                value = self.rng.choice([0, -1, 2**63 - 1, -(2**63), self.rng.randint(-(10**12), 10**12)])
            case "float":
                value = struct.unpack("f", struct.pack("f", self.rng.choice([0.0, -0.0, 1.5, self.rng.uniform(-1e6, 1e6)])))[0]
            case "double":
                value = self.rng.choice([0.0, -0.0, 5e-324, self.rng.uniform(-1e300, 1e300)])
            case "bytes":
                run = self.rng.randbytes(self.rng.randint(0, 9))
                return run, {"b64": base64.b64encode(run).decode()}
            case _:
                value = self.rng.choice(TEXTS)
        return value, value

    def logical(self, kind: str) -> tuple[Any, Any]:
        number = self.rng.randint(-(10**12), 10**12)
        match kind:
            case "date":
                days = self.rng.randint(-10_000, 40_000)
                return date(1970, 1, 1) + timedelta(days=days), {"date": days}
            case "time-millis" | "time-micros":
                ms = self.rng.randrange(86_400_000)
                clock = time(ms // 3_600_000, ms // 60_000 % 60, ms // 1000 % 60, ms % 1000 * 1000)
                return clock, {"time": ms if kind == "time-millis" else ms * 1000, "unit": "ms" if kind == "time-millis" else "us"}
            case "decimal":
                digits = self.rng.randint(-(10**12) + 1, 10**12 - 1)
                value = Decimal(digits).scaleb(-3)
                return value, {"dec": str(value), "scale": 3}
            case "uuid":
                uuid = UUID(int=self.rng.getrandbits(128))
                return uuid, {"uuid": str(uuid)}
        is_utc, unit = not kind.startswith("local"), "ms" if kind.endswith("millis") else "us"
        moment = _EPOCH + (timedelta(milliseconds=number) if unit == "ms" else timedelta(microseconds=number))
        return moment if is_utc else moment.replace(tzinfo=None), {"ts": number, "unit": unit, "utc": is_utc}


#: What each type is promoted to.
PROMOTIONS = {
    "int": ["long", "float", "double"],
    "long": ["float", "double"],
    "float": ["double"],
    "string": ["bytes"],
}


def evolved(maker: Maker, schema: Any) -> Any:
    """Return a schema that reads values of another one, by Avro's rules of resolution."""
    rng = maker.rng
    if isinstance(schema, list):
        return [*schema, "boolean"] if "boolean" not in schema and rng.random() < 0.4 else schema
    if isinstance(schema, str):
        if schema not in PROMOTIONS or rng.random() < 0.5:
            return ["null", schema] if schema != "null" and schema not in maker.records and rng.random() < 0.2 else schema
        return rng.choice(PROMOTIONS[schema])
    match schema["type"]:
        case "record":
            fields = [
                line | {"type": evolved(maker, line["type"])} for line in schema["fields"] if rng.random() < 0.8 or line["name"] == "again"
            ]
            new = [{"name": f"new{at}", "type": kind, "default": default} for at, (kind, default) in enumerate(rng.sample(DEFAULTS, 2))]
            fields += new[: rng.randint(0 if fields else 1, 2)]
            rng.shuffle(fields)
            return schema | {"fields": fields}
        case "array":
            return schema | {"items": evolved(maker, schema["items"])}
        case "map":
            return schema | {"values": evolved(maker, schema["values"])}
        case "enum":
            return schema | {"symbols": [*schema["symbols"], "MORE"]}
    return schema


DEFAULTS: list[tuple[Any, Any]] = [
    ("int", 5),
    ("string", "é"),
    (["null", "long"], None),
    ({"type": "array", "items": "int"}, [1, 2]),
    ("boolean", True),
    ("double", 1.5),
]

SCALARS = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
)


def proto_text(rng: Random) -> str:
    """Return a file of proto3 with every scalar: plain, optional, repeated, in a oneof and in maps, and messages inside of messages."""
    numbers = iter(rng.sample(range(1, 19_000), 120))
    lines = [f"  {kind} plain_{kind} = {next(numbers)};" for kind in SCALARS]
    for kind in rng.sample(SCALARS, 6):
        lines.append(f"  optional {kind} maybe_{kind} = {next(numbers)};")
    for kind in rng.sample(SCALARS, 6):
        lines.append(f"  repeated {kind} many_{kind} = {next(numbers)};")
    for kind in rng.sample(SCALARS, 4):
        key = rng.choice([item for item in SCALARS if item not in ("double", "float", "bytes")])
        lines.append(f"  map<{key}, {kind}> map_{key}_{kind} = {next(numbers)};")
    choice = "".join(f" {kind} one_{kind} = {next(numbers)};" for kind in rng.sample(SCALARS, 4))
    lines.append(f"  oneof choice {{{choice} }}")
    lines += [
        f"  Inner inner = {next(numbers)};",
        f"  repeated Inner inners = {next(numbers)};",
        f"  map<string, Inner> by_name = {next(numbers)};",
    ]
    lines += [f"  Colour colour = {next(numbers)};", "  enum Colour { NONE = 0; RED = 1; BLUE = 7; }"]
    inner = "".join(f" {kind} {kind}_ = {at + 1};" for at, kind in enumerate(rng.sample(SCALARS, 3)))
    rng.shuffle(lines)
    return 'syntax = "proto3";\npackage made;\nmessage Outer {\n' + "\n".join(lines) + f"\n  message Inner {{{inner} }}\n}}\n"
