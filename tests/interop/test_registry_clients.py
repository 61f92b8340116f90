"""Values with schemas of a registry, of further clients: kafkajs from npm, and Apicurio's serializers of two ages from Maven Central.

The clients of Confluent are in `test_apicurio.py`.
"""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastavro
import httpx
import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

import eras
import logsegment as ls
import short_lived_java
from made_once import made_once
from registry_values import OBJECT, bytes_of, logged

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


#: Apicurio's serializers. The poms of 3.0.7 to 3.0.9 name a parent that is not in Maven Central.
SERDES = {
    3: eras.Era(
        "apicurio-serdes-3.1.7",
        tuple(f"io.apicurio:apicurio-registry-{kind}-serde-kafka:3.1.7" for kind in ("avro", "jsonschema", "protobuf")),
        (),
    ),
    2: eras.Era(
        "apicurio-serdes-2.6.13",
        tuple(f"io.apicurio:apicurio-registry-serdes-{kind}-serde:2.6.13.Final" for kind in ("avro", "jsonschema", "protobuf")),
        (),
    ),
}
LONG_IDS = {"apicurio.registry.id-handler": "io.apicurio.registry.serde.Legacy8ByteIdHandler"}
HEADERS, NO_HEADERS = ({"apicurio.registry.headers.enabled": is_on} for is_on in (True, False))
GLOBAL, CONTENT = ({"apicurio.registry.use-id": kind} for kind in ("globalId", "contentId"))
INDEXES = {"apicurio.registry.serde.send-type-ref": False, "apicurio.registry.serde.send-indexes": True}
#: The age and the options of serializers, and the framing by which their values are read.
FORMS: dict[str, tuple[int, dict[str, Any], Any]] = {
    "3": (3, {}, "auto"),
    "3-apicurio": (3, {}, "apicurio"),
    "3-long": (3, LONG_IDS, "auto"),
    "3-long-apicurio": (3, LONG_IDS, "apicurio"),
    "3-headers": (3, HEADERS, "auto"),
    "3-global": (3, GLOBAL, "apicurio-global"),
    "3-long-global": (3, LONG_IDS | GLOBAL, "apicurio-global"),
    "3-headers-global": (3, HEADERS | GLOBAL, "auto"),
    "3-indexes": (3, INDEXES, "confluent"),
    "2": (2, {}, "auto"),
    "2-headers-content": (2, CONTENT, "apicurio"),
    "2-long": (2, NO_HEADERS | CONTENT, "auto"),
    "2-long-global": (2, NO_HEADERS, "apicurio-global"),
}


def apicurio_serdes(age: int, url: str, works: list[dict[str, Any]]) -> Any:
    """What serializers or deserializers of an age answer to `ApicurioValues.java`."""
    usual = {
        "apicurio.registry.url": url.replace("ccompat/v7", f"registry/v{age}"),
        "apicurio.registry.find-latest": True,
        # They find a map of a message unlike itself.
        "apicurio.registry.serde.validation-enabled": False,
    }
    given = [work | {"config": usual | work["config"]} for work in works]
    command = ["java", *short_lived_java.OPTIONS, "-cp", eras.resolved(SERDES[age]), str(eras.JAVA_SOURCES / "ApicurioValues.java")]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@cache
def messages() -> tuple[Any, str]:
    """The descriptor of the file `PROTO` as protoc compiles it, and the same in base64."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "thing.proto").write_text(PROTO)
        assert protoc.main(["protoc", f"-I{place}", f"--descriptor_set_out={place / 'thing.set'}", "thing.proto"]) == 0
        (file,) = FileDescriptorSet.FromString((place / "thing.set").read_bytes()).file
    return file, base64.b64encode(file.SerializeToString()).decode()


def written(schema: Any, value: Any) -> str:
    """A value in Avro's encoding, in base64."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return base64.b64encode(out.getvalue()).decode()


#: Messages as bytes: two of `Thing`, and one of `Inner`.
THINGS = [b"\x08\x05\x12\x02\xc3\xa9\x22\x05\x0a\x01a\x10\x01\x2a\x03\x0a\x01y", b""]
INNER = b"\x0a\x02xy"
READ_THINGS = [
    {"n": 5, "text": "é", "many": [], "counts": {"a": 1}, "inner": {"x": "y"}, "flag": False},
    {"n": 0, "text": "", "many": [], "counts": {}, "inner": None, "flag": False},
]


@pytest.fixture(scope="module")
def subjects(url: str) -> str:
    """A registry with schemas whose ids are not their global ids, each for keys and values of the topic of its format."""
    for kind, schema in (("avro", json.dumps(RECORD)), ("json", json.dumps(OBJECT)), ("protobuf", PROTO)):
        for subject in (f"other-{kind}", f"serdes-{kind}-key", f"serdes-{kind}-value"):
            body = {"schema": schema, "schemaType": kind.upper()}
            answer = httpx.post(f"{url}/subjects/{subject}/versions", json=body)
            assert answer.is_success, answer.text
    return url


def works(config: dict[str, Any], *, is_key: bool = False) -> list[dict[str, Any]]:
    """What serializers with these options write: records, objects, and messages of two types."""
    encoded = [[base64.b64encode(item).decode() for item in some] for some in (THINGS, [INNER])]
    things, inner = ({"schema": messages()[1], "message": number, "values": values} for number, values in enumerate(encoded))
    avro = {"schema": json.dumps(RECORD), "values": [written(RECORD, value) for value in RECORDS]}
    kinds = (("avro", avro), ("json", {"values": OBJECTS}), ("protobuf", things), ("protobuf", inner))
    return [{"kind": kind, "topic": f"serdes-{kind}", "config": config, "isKey": is_key} | work for kind, work in kinds]


@pytest.fixture(scope="module")
def answers(subjects: str) -> dict[str, list[list[dict[str, Any]]]]:
    """The records of each form: those of Avro, of JSON, and of two messages."""
    found = {}
    for age in SERDES:
        forms = {name: works(config) for name, (of, config, _) in FORMS.items() if of == age}
        answered = iter(apicurio_serdes(age, subjects, [work for some in forms.values() for work in some]))
        found |= {name: [next(answered) for _ in some] for name, some in forms.items()}
    return found


def logged_records(records: list[dict[str, Any]], part: str = "value") -> bytes:
    """Records with what a serializer made for a key or a value."""
    headers = [[{"key": name, "value": base64.b64decode(value)} for name, value in record["headers"]] for record in records]
    columns = {"value": pa.nulls(len(records), pa.binary())}
    columns[part] = pa.array([base64.b64decode(record["value"]) for record in records], pa.binary())
    kind = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
    return ls.encode(pa.table(columns | {"headers": pa.array(headers, kind)})) or b""


@pytest.mark.parametrize("form", FORMS)
def test_values_of_apicurios_serializers_are_read(subjects: str, answers: dict[str, list[Any]], form: str):
    _, _, framing = FORMS[form]
    schemas = ls.schemas.from_registry(subjects, framing=framing)
    avro, objects, things, inner = answers[form]

    def read(records: list[dict[str, Any]], kind: Any) -> list[Any]:
        columns = ["valueRecord", "valueSchemaId"]
        return rows(ls.decode(logged_records(records), values=kind, schemas=schemas, columns=columns).to_pyarrow())

    assert read(avro, "avro") == RECORDS
    assert read(objects, "json") == OBJECTS
    both = read(things + inner, "protobuf")
    (schema_id,) = {schema.id for schema in schemas if schema.type == "PROTOBUF"}
    assert [item[f"schema_{schema_id}_Thing"] for item in both] == [*READ_THINGS, None]
    assert [item[f"schema_{schema_id}_Inner"] for item in both] == [None, None, {"x": "xy"}]
    assert read(things, "protobuf") == READ_THINGS


@pytest.mark.parametrize("age", SERDES)
def test_keys_of_apicurios_serializers_are_read(subjects: str, age: int):
    schemas = ls.schemas.from_registry(subjects)
    avro, _, _, inner = apicurio_serdes(age, subjects, works(HEADERS | GLOBAL, is_key=True))
    for records, kind, expected in ((avro, "avro", RECORDS), (inner, "protobuf", [{"x": "xy"}])):
        data = logged_records(records, "key")
        found = ls.decode(data, key_values=kind, schemas=schemas, columns=["keyRecord"]).to_pyarrow()
        assert found["keyRecord"].to_pylist(maps_as_pydicts="strict") == expected


def test_global_ids_are_not_taken_for_ids(subjects: str, answers: dict[str, list[Any]]):
    schemas = ls.schemas.from_registry(subjects)
    for records, kind in zip(answers["3-headers-global"], ("AVRO", "JSON", "PROTOBUF", "PROTOBUF"), strict=True):
        ids = {int.from_bytes(base64.b64decode(dict(record["headers"])["apicurio.value.globalId"]), "big") for record in records}
        (schema,) = (schema for schema in schemas if schema.type == kind)
        assert ids <= set(schema.global_ids)
        assert len(schema.global_ids) == 3
        assert schema.id not in ids


def test_apicurios_deserializers_read_ours(subjects: str):
    things = pa.struct({"n": pa.int32(), "text": pa.string()})
    kinds = {"by_name": pa.map_(pa.string(), pa.int32())}
    fields = {name: pa.array([item[name] for item in RECORDS], kinds.get(name)) for name in RECORDS[0]}
    records = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    columns = {"avro": records, "json": pa.array(OBJECTS), "protobuf": pa.array([{"n": 5, "text": "é"}], things)}
    expected = {"avro": [written(RECORD, value) for value in RECORDS], "json": OBJECTS, "protobuf": ["CAUSAsOp"]}
    asked, wanted = [], []
    for framing, kind in (("confluent", "avro"), ("confluent", "json"), *(("apicurio", kind) for kind in columns)):
        schemas = ls.schemas.from_registry(subjects, framing=framing)
        config = LONG_IDS if framing == "apicurio" else {}
        data = ls.encode(pa.table({"valueRecord": columns[kind]}), values=kind, schemas=schemas, topic=f"serdes-{kind}")
        ours = [{"value": base64.b64encode(item).decode(), "headers": []} for item in bytes_of(data)]
        asked.append({"kind": kind, "topic": f"serdes-{kind}", "config": config, "records": ours})
        wanted.append(expected[kind])
    assert apicurio_serdes(3, subjects, asked) == wanted


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
    found = kafkajs(url=url, decode=[base64.b64encode(item).decode() for item in ours])
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
