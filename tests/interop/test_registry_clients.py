"""Values with schemas of a registry, of further clients: kafkajs from npm. Those of Confluent are in `test_apicurio.py`."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eras
import logsegment as ls
from made_once import made_once

pytestmark = pytest.mark.interop

KAFKAJS = "@kafkajs/confluent-schema-registry@4.1.0"
RECORD = {
    "type": "record",
    "name": "Everything",
    "namespace": "shop",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "small", "type": "int"},
        {"name": "n", "type": "long"},
        {"name": "ratio", "type": "float"},
        {"name": "exact", "type": "double"},
        {"name": "raw", "type": "bytes"},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "many", "type": {"type": "array", "items": "double"}},
        {"name": "by_name", "type": {"type": "map", "values": "int"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 3}},
        {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "string"}]}},
    ],
}
RECORDS = [
    {
        "flag": number > 0,
        "small": number,
        "n": number * 2**45,
        "ratio": 0.25,
        "exact": 1 / 3,
        "raw": b"\x00\xff",
        "text": text,
        "many": [0.5, number],
        "by_name": {"a": 5, "é": -1},
        "state": "DONE",
        "digest": b"\x80ab",
        "inner": {"x": "é"},
    }
    for number, text in ((1, None), (-128, "é"))
]
OBJECT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Thing",
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer"}, "text": {"type": "string"}, "many": {"type": "array", "items": {"type": "number"}}},
}
OBJECTS = [{"n": 1, "text": "é", "many": [0.5, 2.0]}, {"n": -(2**50), "text": "", "many": []}]
PROTO = """syntax = "proto3";
package shop;
message Thing { int32 n = 1; string text = 2; repeated double many = 3; map<string, int32> counts = 4; Inner inner = 5; bool flag = 6; }
message Inner { string x = 1; }
"""
MESSAGES = [
    {"n": -5, "text": "é", "many": [0.5, -2.0], "counts": {"a": 1}, "inner": {"x": "y"}, "flag": True},
    {"n": 0, "text": "", "many": [], "counts": {}, "inner": {"x": ""}, "flag": True},
]


def installed() -> Path:
    """The folder of the packages of Node.js."""
    eras.need("npm", "node")
    place = eras.WORK / "kafkajs-4.1.0"
    with made_once(place):
        if not place.exists():
            unfinished = place.with_suffix(".unfinished")
            unfinished.mkdir(parents=True, exist_ok=True)
            eras.run(["npm", "install", "--prefix", ".", "--no-audit", "--no-fund", "--ignore-scripts", KAFKAJS], unfinished)
            unfinished.rename(place)
    return place / "node_modules"


def kafkajs(**work: Any) -> Any:
    """What the client answers to `kafkajs_values.js`."""
    environment = os.environ | {"NODE_PATH": str(installed())}
    command = ["node", str(eras.HERE / "kafkajs_values.js")]
    done = subprocess.run(command, input=json.dumps(work, default=buffer), env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def buffer(value: bytes) -> dict[str, Any]:
    """Bytes as `JSON.stringify` writes a Buffer."""
    return {"type": "Buffer", "data": list(value)}


def logged(values: list[bytes]) -> bytes:
    return ls.encode(pa.table({"value": pa.array(values, pa.binary())})) or b""


def bytes_of(data: bytes | None) -> list[bytes]:
    return [row["value"] for row in ls.decode(data or b"", columns=["value"]).to_pylist()]


def decoded(values: list[bytes], kind: Any, schemas: ls.schemas.SchemaSet) -> pa.Table:
    return ls.decode(logged(values), values=kind, schemas=schemas, columns=["valueRecord"]).to_pyarrow()


def rows(table: pa.Table) -> list[Any]:
    return list(table["valueRecord"].to_pylist(maps_as_pydicts="strict"))


def without_zeros(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the fields that are not written."""
    return {name: without_zeros(value) if name == "inner" else value for name, value in message.items() if value not in (0, "", [], {})}


@pytest.mark.parametrize(
    ("kind", "schema", "values", "framing"),
    [
        ("avro", json.dumps(RECORD), RECORDS, "auto"),
        ("json", json.dumps(OBJECT), OBJECTS, "auto"),
        # It writes no message indexes, of which nothing in a value tells.
        ("protobuf", PROTO, MESSAGES, "confluent-no-index"),
    ],
    ids=["avro", "json", "protobuf"],
)
def test_values_of_kafkajs_are_read_and_it_reads_ours(url: str, kind: Any, schema: str, values: list[Any], framing: Any):
    subject = f"kafkajs-{kind}-value"
    (texts,) = kafkajs(url=url, encode=[{"subject": subject, "type": kind.upper(), "schema": schema, "values": values}])
    schemas = ls.schemas.from_registry(url, subjects=[subject], framing=framing)
    theirs = [base64.b64decode(text) for text in texts]
    table = decoded(theirs, kind, schemas)
    assert rows(table) == values
    ours = bytes_of(ls.encode(table, values=kind, schemas=schemas, topic=f"kafkajs-{kind}"))
    found = kafkajs(url=url, decode=[base64.b64encode(one).decode() for one in ours])
    expected = json.loads(json.dumps(values, default=buffer))
    assert found == ([without_zeros(value) for value in expected] if kind == "protobuf" else expected)


def test_kafkajs_reads_our_message_indexes(url: str):
    work = {"subject": "indexed-value", "type": "PROTOBUF", "schema": PROTO, "values": []}
    kafkajs(url=url, encode=[work])
    schemas = ls.schemas.from_registry(url, subjects=["indexed-value"])
    table = pa.table({"valueRecord": pa.array([{"n": -5, "text": "é"}])})
    (ours,) = bytes_of(ls.encode(table, values="protobuf", schemas=schemas, topic="indexed"))
    assert ours[5] == 0
    assert kafkajs(url=url, decode=[base64.b64encode(ours).decode()]) == [{"n": -5, "text": "é"}]
