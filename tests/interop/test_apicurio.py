"""Schemas of a registry that runs: Apicurio from Maven Central, by the API that it shares with Confluent's registry."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from grpc_tools import protoc

import logsegment as ls
from apicurio import register
from registry_values import OBJECT, bytes_of, logged

MONEY = {"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "units", "type": "long"}]}
ORDER = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "total", "type": "shop.Money"}]}
WIDER = {"type": "record", "name": "Item", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "x"}]}
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "a", "type": "int"}]}


def test_what_was_registered_is_read_and_decodes(url: str):
    assert len(ls.schemas.from_registry(url)) == 0
    register(url, "money", MONEY)
    order = register(url, "orders-value", ORDER, references=[{"name": "shop.Money", "subject": "money", "version": 1}])
    first, second = register(url, "items-value", ITEM), register(url, "items-value", WIDER)
    found = ls.schemas.from_registry(url)
    assert found.subjects == ["items-value", "money", "orders-value"]
    assert [version.version for version, _ in found.versions_of("items-value")] == [1, 2]
    values = [b"\0" + first.to_bytes(4, "big") + b"\x0e", b"\0" + second.to_bytes(4, "big") + b"\x10\x02y"]
    rows = ls.decode(ls.encode(pa.table({"value": values})), values="avro", schemas=found, topic="items", columns=["valueRecord"])
    assert [row["valueRecord"] for row in rows.to_pylist()] == [{"a": 7, "b": "x"}, {"a": 8, "b": "y"}]
    one = ls.encode(pa.table({"value": [b"\0" + order.to_bytes(4, "big") + b"\x06"]}))
    rows = ls.decode(io.BytesIO(one or b""), values="avro", schemas=found, topic="orders", columns=["valueRecord"])
    assert rows.to_pylist() == [{"valueRecord": {"total": {"units": 3}}}]


def test_deleted_versions_are_in_it_with_their_state(url: str):
    schema_id = register(url, "gone-value", ITEM | {"name": "Gone"})
    assert httpx.delete(f"{url}/subjects/gone-value").is_success
    found = ls.schemas.from_registry(url)
    kept = [version.state for version, _ in found.versions_of("gone-value")]
    assert kept in ([], ["deleted"])
    assert (found.by_id(schema_id) is not None) == bool(kept)


def test_encode_registers_a_schema_only_if_it_is_asked(url: str):
    table = pa.table({"valueRecord": [{"a": 7}]})
    schemas = ls.schemas.from_registry(url)
    text = json.dumps(ITEM | {"name": "Written"})
    data = ls.encode(table, values="avro", schema=text, schemas=schemas, topic="written", register=True)
    found = ls.schemas.from_registry(url, subjects=["written-value"])
    assert [json.loads(schema.text) for _, schema in found.versions_of("written-value")] == [json.loads(text)]
    again = ls.encode(table, values="avro", schemas=found, topic="written")
    assert again == data
    assert ls.decode(data, values="avro", schemas=found, columns=["valueRecord"]).to_pylist() == [{"valueRecord": {"a": 7}}]
    with pytest.raises(OSError, match=r"refuses /subjects/written-value/versions: 4\d\d"):
        schemas.register("written-value", ls.schemas.Schema("AVRO", "{"))


RECORD = {
    "type": "record",
    "name": "Everything",
    "fields": [
        {"name": "n", "type": "long"},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "many", "type": {"type": "array", "items": "double"}},
        {"name": "by_name", "type": {"type": "map", "values": "int"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "bytes"}]}},
    ],
}
AT = datetime(2024, 5, 6, 7, 8, 9, 10, UTC)
VALUES = [
    {"n": number, "text": text, "many": [0.5, number], "by_name": {"a": 5}, "state": "DONE", "at": AT, "inner": {"x": b"\x00\xff"}}
    for number, text in ((1, None), (-(2**62), "é"))
]
PROTO = """syntax = "proto3";
message Other { int32 z = 1; }
message Thing { sint64 n = 1; string text = 2; repeated double many = 3; map<string, int32> by_name = 4; optional bytes maybe = 5; }
"""


@pytest.fixture
def client(url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": url}) as client:
        yield client


def columns_of(data: bytes, kind: str, url: str) -> list[dict[str, Any]]:
    read = ls.decode(data, values=kind, schemas=ls.schemas.from_registry(url), columns=["valueRecord"])
    return [row["valueRecord"] for row in read.to_pyarrow().to_pylist(maps_as_pydicts="strict")]


def test_values_of_confluents_serializers_are_read_and_their_deserializers_read_ours(url: str, client: SchemaRegistryClient):
    context = SerializationContext("peer", MessageField.VALUE)
    writer = AvroSerializer(client, json.dumps(RECORD))
    data = logged([writer(value, context) for value in VALUES])
    assert columns_of(data, "avro", url) == VALUES
    table = ls.decode(data, values="avro", schemas=ls.schemas.from_registry(url), columns=["valueRecord"]).to_pyarrow()
    ours = bytes_of(ls.encode(table, values="avro", schemas=ls.schemas.from_registry(url), topic="peer"))
    assert [AvroDeserializer(client)(item, context) for item in ours] == VALUES

    context = SerializationContext("json-peer", MessageField.VALUE)
    things = [{"n": 1, "text": "é", "many": [0.5, 2.0]}, {"n": 2}]
    written = [JSONSerializer(json.dumps(OBJECT), client)(thing, context) for thing in things]
    found = columns_of(logged(written), "json", url)
    assert found == [thing | {"text": thing.get("text"), "many": thing.get("many")} for thing in things]
    table = pa.table({"valueRecord": pa.array(found)})
    ours = bytes_of(ls.encode(table, values="json", schemas=ls.schemas.from_registry(url), topic="json-peer"))
    assert [JSONDeserializer(json.dumps(OBJECT))(item, context) for item in ours] == things


def test_messages_of_confluents_serializer_are_read_and_its_deserializer_reads_ours(url: str, client: SchemaRegistryClient, tmp_path: Path):
    (tmp_path / "thing_peer.proto").write_text(PROTO)
    assert protoc.main(["protoc", f"-I{tmp_path}", f"--python_out={tmp_path}", "thing_peer.proto"]) == 0
    spec = spec_from_file_location("thing_peer_pb2", tmp_path / "thing_peer_pb2.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    context = SerializationContext("proto-peer", MessageField.VALUE)
    messages = [module.Thing(n=-5, text="é", many=[0.5], by_name={"a": 1}, maybe=b""), module.Thing()]
    serializer = ProtobufSerializer(module.Thing, client, {"use.deprecated.format": False})
    found = columns_of(logged([serializer(message, context) for message in messages]), "protobuf", url)
    assert found == [
        {"n": -5, "text": "é", "many": [0.5], "by_name": {"a": 1}, "maybe": b""},
        {"n": 0, "text": "", "many": [], "by_name": {}, "maybe": None},
    ]
    schemas = ls.schemas.from_registry(url)
    kind = pa.struct({"n": pa.int64(), "text": pa.string(), "by_name": pa.map_(pa.string(), pa.int32())})
    table = pa.table({"valueRecord": pa.array([{"n": -5, "text": "é", "by_name": [("a", 1)]}], kind)})
    (ours,) = bytes_of(ls.encode(table, values="protobuf", schemas=schemas, topic="proto-peer", message="Thing"))
    deserializer = ProtobufDeserializer(module.Thing, {"use.deprecated.format": False}, client)
    assert deserializer(ours, context) == module.Thing(n=-5, text="é", by_name={"a": 1})
