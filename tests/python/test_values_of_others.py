"""Values that other implementations write, of a thousand schemas: fastavro, its resolution of schemas, and protoc with Google's library."""

from __future__ import annotations

import base64
import io
import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_tools import protoc

import logsegment as ls
from made_schemas import TEXTS, Maker, evolved, proto_text
from values_truth import fits, rows_of

#: Schemas of each kind; each has some values.
AVRO, EVOLVED, PROTOBUF = 700, 300, 60


def framed(schema_id: int, payload: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def written_by_fastavro(schema: Any, values: list[Any]) -> list[bytes]:
    parsed = fastavro.parse_schema(schema)
    payloads = []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        payloads.append(out.getvalue())
    return payloads


def decoded(values: list[bytes], schemas: ls.schemas.SchemaSet, kind: str, **options: Any) -> pa.Table:
    data = ls.encode(pa.table({"value": pa.array(values, pa.binary())}))
    return ls.decode(data, values=kind, schemas=schemas, columns=["valueRecord"], **options).to_pyarrow()


def test_values_of_fastavro_are_read_as_they_were_written() -> None:
    maker = Maker(Random(25))
    made = []
    while len(made) < AVRO:
        schema = maker.schema()
        # Nothing is written for a null, and Confluent's framing has no length for bytes alone.
        if schema in ("null", "bytes") or (isinstance(schema, dict) and schema.get("logicalType") == "decimal"):
            continue
        made.append((schema, [maker.value(schema) for _ in range(4)]))
    schemas = ls.schemas.SchemaSet(tuple(ls.schemas.Schema("AVRO", json.dumps(schema), at) for at, (schema, _) in enumerate(made)))
    for schema_id, (schema, pairs) in enumerate(made):
        payloads = written_by_fastavro(schema, [value for value, _ in pairs])
        table = decoded([framed(schema_id, payload) for payload in payloads], schemas, "avro")
        kind = table.schema.field("valueRecord").type
        found = [record for chunk in table["valueRecord"].chunks for record in rows_of(chunk)]
        for record, (_, cell) in zip(found, pairs, strict=True):
            assert fits(record, cell, kind), (schema, record, cell)
        assert_written_again(table, payloads, ls.schemas.SchemaSet((schemas.schemas[schema_id],)), schema)


def assert_written_again(table: pa.Table, payloads: list[bytes], schemas: ls.schemas.SchemaSet, schema: Any) -> None:
    """What is written of decoded values is read by fastavro as what it wrote itself. JSON text of a recursive type names no branches."""
    if '"again"' in json.dumps(schema):
        return
    new = ls.decode(ls.encode(table, values="avro", schemas=schemas), columns=["value"]).to_pylist()
    parsed = fastavro.parse_schema(schema)
    for before, row in zip(payloads, new, strict=True):
        if row["value"] is None:
            assert before in (b"", b"\0", b"\2", b"\4", b"\6"), schema
            continue
        read = [fastavro.schemaless_reader(io.BytesIO(item), parsed, None) for item in (before, row["value"][5:])]
        assert repr(read[0]) == repr(read[1]) or _has_equal_branches(schema), schema


def _has_equal_branches(schema: Any) -> bool:
    """True for a union with branches of one Arrow type, which cannot be told apart."""
    return any("long" in union and "double" in union for union in unions(schema))


def unions(schema: Any) -> Iterator[list[Any]]:
    """Yield the unions in a schema."""
    if isinstance(schema, list):
        yield schema
        for branch in schema:
            yield from unions(branch)
    elif isinstance(schema, dict):
        inner = [schema.get("items"), schema.get("values"), *(field["type"] for field in schema.get("fields", ()))]
        for item in inner:
            yield from unions(item)


def test_schemas_are_resolved_as_fastavro_resolves_them() -> None:
    maker, compared = Maker(Random(26)), 0
    while compared < EVOLVED:
        writer = maker.record(2)
        reader = evolved(maker, writer)
        if is_ambiguous(reader):
            continue
        values = [maker.value(writer)[0] for _ in range(4)]
        payloads = written_by_fastavro(writer, values)
        parsed = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
        expected = [fastavro.schemaless_reader(io.BytesIO(payload), *parsed) for payload in payloads]
        schemas = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", json.dumps(writer), 1),))
        table = decoded([framed(1, payload) for payload in payloads], schemas, "avro", reader_schema=reader)
        found = table["valueRecord"].to_pylist(maps_as_pydicts="strict")
        for item, other in zip(found, expected, strict=True):
            assert same(item, other), (writer, reader)
        compared += 1


def is_ambiguous(schema: Any) -> bool:
    """True for a union with two branches that a value may be promoted to.

    fastavro takes the first of them; Avro's own ResolvingDecoder, and so we, prefer the branch of the writer's type.
    """
    return any(sum(branch in ("bytes", "string", "long", "double") for branch in union) > 1 for union in unions(schema))


def same(found: Any, expected: Any) -> bool:
    """True for equal values; a union may be a struct of which one member has the value."""
    if plain(found) == plain(expected):
        return True
    if isinstance(found, float) and isinstance(expected, float):
        # fastavro promotes to doubles what becomes a float.
        return struct.pack("f", found) == struct.pack("f", expected)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, str) and isinstance(expected, dict):
        # The JSON text of a recursive type is the writer's.
        return isinstance(json.loads(found), dict)
    if not isinstance(found, dict):
        return False
    if isinstance(expected, dict) and found.keys() == expected.keys():
        return all(same(found[name], expected[name]) for name in found)
    given = [value for value in found.values() if value is not None]
    return len(given) == 1 and same(given[0], expected)


def plain(value: Any) -> Any:
    """A value in a form that does not depend on the library."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    return str(value) if type(value).__name__ == "UUID" else value


def compiled(text: str, folder: Path) -> Any:
    """The class that protoc and Google's library have for a message."""
    (folder / "made.proto").write_text(text, encoding="utf-8")
    out = folder / "made.bin"
    assert protoc.main(["protoc", f"-I{folder}", f"--descriptor_set_out={out}", "made.proto"]) == 0
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("made.Outer"))


def descriptor(made: Any) -> bytes:
    """The descriptor of the file of a message."""
    found = descriptor_pb2.FileDescriptorProto()
    made.DESCRIPTOR.file.CopyToProto(found)
    return found.SerializeToString()


def scalar(rng: Random, kind: int) -> Any:
    """A value of a field by the number of its type in descriptors."""
    return {
        1: lambda: rng.choice([0.0, -0.0, rng.uniform(-1e9, 1e9)]),
        2: lambda: rng.choice([0.0, 1.5, -2.25]),
        8: lambda: rng.random() < 0.5,
        9: lambda: rng.choice(TEXTS),
        12: lambda: rng.randbytes(rng.randint(0, 5)),
        14: lambda: rng.choice([0, 1, 7, 99]),
        **dict.fromkeys((3, 16, 18), lambda: rng.choice([0, -1, 2**63 - 1, -(2**63)])),
        **dict.fromkeys((5, 15, 17), lambda: rng.choice([0, -1, 2**31 - 1, -(2**31)])),
        **dict.fromkeys((4, 6), lambda: rng.choice([0, 1, 2**64 - 1])),
        **dict.fromkeys((7, 13), lambda: rng.choice([0, 1, 2**32 - 1])),
    }[kind]()


def fill(rng: Random, message: Any) -> None:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.3:
            continue
        held = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = field.message_type.fields
            for _ in range(rng.randint(0, 3)):
                if value.message_type is not None:
                    fill(rng, held[scalar(rng, key.type)])
                else:
                    held[scalar(rng, key.type)] = scalar(rng, value.type)
        elif field.is_repeated:
            for _ in range(rng.randint(0, 3)):
                if field.message_type is not None:
                    fill(rng, held.add())
                else:
                    held.append(scalar(rng, field.type))
        elif field.message_type is not None:
            held.SetInParent()
            fill(rng, held)
        else:
            setattr(message, field.name, scalar(rng, field.type))


def seen(message: Any) -> dict[str, Any]:
    """What a column has for a message."""
    found = {}
    for field in message.DESCRIPTOR.fields:
        held = getattr(message, field.name)
        names = {} if field.enum_type is None else {value.number: value.name for value in field.enum_type.values}
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            is_message = field.message_type.fields[1].message_type is not None
            found[field.name] = {key: seen(held[key]) if is_message else held[key] for key in held}
        elif field.is_repeated:
            found[field.name] = [seen(item) if field.message_type is not None else item for item in held]
        elif field.has_presence and not message.HasField(field.name):
            found[field.name] = None
        elif field.message_type is not None:
            found[field.name] = seen(held)
        else:
            found[field.name] = names.get(held, str(held)) if names else held
    return found


def test_messages_of_protoc_are_read_as_they_were_written_and_written_again(tmp_path: Path) -> None:
    rng = Random(27)
    for number in range(PROTOBUF):
        text = proto_text(rng)
        made = compiled(text, tmp_path)
        messages = [made() for _ in range(5)]
        for message in messages:
            fill(rng, message)
        # Confluent's serializer for Python registers a descriptor, not the text.
        registered = text if number % 2 else base64.b64encode(descriptor(made)).decode()
        schemas = ls.schemas.SchemaSet((ls.schemas.Schema("PROTOBUF", registered, number),))
        table = decoded([framed(number, b"\0" + message.SerializeToString()) for message in messages], schemas, "protobuf")
        found = table["valueRecord"].to_pylist(maps_as_pydicts="strict")
        for record, message in zip(found, messages, strict=True):
            assert plain(record) == plain(seen(message)), text
        again = ls.decode(ls.encode(table, values="protobuf", schemas=schemas), columns=["value"]).to_pylist()
        for row, message in zip(again, messages, strict=True):
            assert made.FromString(row["value"][6:]) == message, text
