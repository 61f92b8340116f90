"""Typed columns into keys and values: what `decode` read is written again, and read by others; framings, subjects, errors."""

from __future__ import annotations

import io
import json
import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import logsegment as ls
from values_corpus import VALUES, cases, registry
from values_truth import rows_of

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}]}
COLUMNS = ["value", "valueRecord", "valueSchemaId"]
#: Partitions whose values have one schema that a registry gave an id.
SINGLE = [case for case in cases() if case["format"] in ("avro", "json", "protobuf") and "/" not in case["partition"]]


def named(text: Any, schema_id: int = 7, kind: str = "AVRO") -> ls.schemas.Schema:
    return ls.schemas.Schema(kind, text if isinstance(text, str) else json.dumps(text), schema_id)


def values_of(data: bytes) -> list[bytes | None]:
    return [row["value"] for row in ls.decode(data, columns=["value"]).to_pylist()]


def written(record: Any, schema: Any, values: str = "avro", kind: pa.DataType | None = None, **options: Any) -> list[bytes | None]:
    table = pa.table({"valueRecord": pa.array([record], kind)})
    return values_of(ls.encode(table, values=values, schema=schema, **options))


def decoded(partition: str, kind: str) -> dict[tuple[int, str | None], pa.Table]:
    """The values of a partition by the schema and, of Protobuf, the message that they have."""
    read = ls.Log(VALUES / partition).records(values=kind, schemas=registry(), on_error="skip", columns=COLUMNS)
    table = read.to_pyarrow()
    table = table.filter(pc.and_(pc.is_valid(table["valueRecord"]), pc.is_valid(table["valueSchemaId"])))
    found = table.schema.field("valueRecord").type
    names = [field.name for field in found] if pa.types.is_struct(found) else []
    if names and all(name.startswith("schema_") for name in names):
        members = {}
        for name in names:
            number, _, message = name.removeprefix("schema_").partition("_")
            member = table.set_column(1, "valueRecord", pc.struct_field(table["valueRecord"], [name]))
            members[int(number), message or None] = member.filter(pc.is_valid(member["valueRecord"]))
        return {key: member for key, member in members.items() if len(member)}
    ids = pc.unique(table["valueSchemaId"])
    return {(ids[0].as_py(), None): table} if len(ids) == 1 else {}


def only(partition: str, kind: str) -> pa.Table | None:
    """The values of a partition that have one schema."""
    found = decoded(partition, kind)
    return next(iter(found.values())) if len(found) == 1 else None


def comparable(table: pa.Table) -> str:
    """The values as text: NaN equals NaN, and the order of JSON texts' maps does not count."""

    def ordered(value: Any) -> Any:
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                return json.dumps(json.loads(value), sort_keys=True)
            except ValueError:
                return value
        if isinstance(value, dict):
            return {name: ordered(item) for name, item in value.items()}
        return [ordered(item) for item in value] if isinstance(value, list | tuple) else value

    return repr([ordered(record) for chunk in table["valueRecord"].chunks for record in rows_of(chunk)])


@pytest.mark.slow
def test_what_was_decoded_is_written_again() -> None:
    seen: dict[str, int] = {}
    for case in SINGLE:
        partition, kind = case["partition"], case["format"]
        if partition == "alpha-proto-recursive-0":
            continue
        for (schema_id, message), table in decoded(partition, kind).items():
            name = None if message is None else message.replace("_", ".")
            data = ls.encode(table, values=kind, schema=schema_id, schemas=registry(), message=name)
            again = ls.decode(data, values=kind, schemas=registry(), columns=COLUMNS).to_pyarrow()
            assert comparable(again) == comparable(table), (partition, message)
            assert again["valueSchemaId"].to_pylist() == table["valueSchemaId"].to_pylist()
            seen[kind] = seen.get(kind, 0) + 1
    print(seen)
    assert seen["avro"] > 340
    assert seen["protobuf"] > 60
    assert seen["json"] >= 5


def test_fastavro_reads_what_is_written_and_what_was_there_alike() -> None:
    compared = 0
    for case in SINGLE:
        if case["format"] != "avro" or "-random-" not in case["partition"] or (table := only(case["partition"], "avro")) is None:
            continue
        schema = registry().by_id(table["valueSchemaId"][0].as_py())
        assert schema is not None
        parsed = fastavro.parse_schema(json.loads(schema.text))

        def read(value: bytes, parsed: Any = parsed) -> Any:
            return fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed, None)

        new = values_of(ls.encode(table, values="avro", schema=schema, schemas=registry()))
        for before, after in zip(table["value"].to_pylist(), new, strict=True):
            assert after is not None
            assert after[:5] == before[:5]
            assert repr(read(after)) == repr(read(before)), case["partition"]
            compared += 1
    assert compared > 3000


@pytest.mark.parametrize(
    ("framing", "prefix"),
    [
        ("auto", b"\0\0\0\0\x07"),
        ("confluent", b"\0\0\0\0\x07"),
        ("apicurio", b"\0\0\0\0\0\0\0\0\x07"),
        ("none", b""),
        ("single-object", b"\xc3\x01"),
    ],
)
def test_a_framing_is_before_the_payload(framing: Any, prefix: bytes) -> None:
    schemas = ls.schemas.SchemaSet((named(ORDER),), framing) if framing != "none" else ls.schemas.single(ORDER)
    table = pa.table({"valueRecord": [{"id": 1, "note": "x"}]})
    data = ls.encode(table, values="avro", schemas=schemas)
    (value,) = values_of(data)
    assert value is not None
    assert value.startswith(prefix)
    assert value.endswith(b"\x02\x02\x02x")
    assert ls.decode(data, values="avro", schemas=schemas, columns=["valueRecord"]).to_pylist() == [{"valueRecord": {"id": 1, "note": "x"}}]


def test_a_message_of_apicurios_framing_has_its_name_before_it() -> None:
    schema = ls.schemas.Schema("PROTOBUF", 'syntax = "proto3"; message A {} message Thing { int32 n = 1; }', 7)
    table = pa.table({"valueRecord": pa.array([{"n": 5}])})
    schemas = ls.schemas.SchemaSet((schema,), "apicurio")
    data = ls.encode(table, values="protobuf", schemas=schemas, message="Thing")
    assert values_of(data) == [b"\0" + bytes(7) + b"\x07\x07\n\x05Thing\x08\x05"]
    assert ls.decode(data, values="protobuf", schemas=schemas, columns=["valueRecord"]).to_pylist() == [{"valueRecord": {"n": 5}}]
    with pytest.raises(ValueError, match="not written with global ids"):
        ls.encode(table, values="protobuf", schemas=ls.schemas.SchemaSet((schema,), "apicurio-global"), message="Thing")


def test_keys_values_and_other_columns_go_together() -> None:
    table = pa.table(
        {
            "keyRecord": pa.array(["a", None]),
            "valueRecord": pa.array([{"id": 1, "note": None}, None]),
            "value": pa.array([b"ignored", b"ignored"]),
            "offset": pa.array([7, 9]),
            "timestampMs": pa.array([1, 2]),
            "headers": pa.array([[{"key": "h", "value": b"x"}], []]),
        }
    )
    options = {"values": "avro", "key_values": "avro", "schema": named(ORDER), "key_schema": named('"string"', 8)}
    rows = ls.decode(ls.encode(table, **options), columns=["key", "value", "offset", "timestampMs", "headers"]).to_pylist()
    assert rows == [
        {
            "key": b"\0\0\0\0\x08\x02a",
            "value": b"\0\0\0\0\x07\x02\0",
            "offset": 7,
            "timestampMs": 1,
            "headers": [{"key": "h", "value": b"x"}],
        },
        {"key": None, "value": None, "offset": 9, "timestampMs": 2, "headers": []},
    ]


def test_a_long_table_is_written_in_parts() -> None:
    count = 10_000
    table = pa.table({"valueRecord": pa.array([{"id": at, "note": None} for at in range(count)])})
    data = ls.encode(table, values="avro", schema=named(ORDER), compression="zstd")
    schemas = ls.schemas.SchemaSet((named(ORDER),))
    read = ls.decode(data, values="avro", schemas=schemas, columns=["offset", "valueRecord.id"]).to_pyarrow()
    assert read["offset"].to_pylist() == read["valueRecord.id"].to_pylist() == list(range(count))
    bad = pa.table({"valueRecord": pa.array([{"id": at if at < count - 1 else None, "note": None} for at in range(count)])})
    with pytest.raises(ValueError, match=r"row 9999: .*id: null does not fit the type long"):
        ls.encode(bad, values="avro", schema=named(ORDER))


def test_logical_types_take_what_python_has_for_them() -> None:
    logical = {
        "day": {"type": "int", "logicalType": "date"},
        "ms": {"type": "long", "logicalType": "timestamp-millis"},
        "us": {"type": "long", "logicalType": "timestamp-micros"},
        "local": {"type": "long", "logicalType": "local-timestamp-micros"},
        "clock": {"type": "int", "logicalType": "time-millis"},
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        "fixed": {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2},
        "uuid": {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
    }
    schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in logical.items()]}
    moment = datetime(2024, 5, 6, 7, 8, 9, 123000, UTC)
    record = {
        "day": date(1969, 12, 31),
        "ms": moment,
        "us": moment,
        "local": moment.replace(tzinfo=None),
        "clock": time(1, 2, 3, 4000),
        "price": Decimal("-12.30"),
        "fixed": Decimal("12.3"),
        "uuid": "12345678-1234-5678-1234-567812345678",
    }
    (value,) = written(record, named(schema))
    assert value is not None
    read = fastavro.schemaless_reader(io.BytesIO(value[5:]), fastavro.parse_schema(schema), None)
    assert read == record | {"uuid": UUID(record["uuid"]).bytes}


def test_unions_take_a_struct_of_branches_or_the_plain_value() -> None:
    union = [
        "null",
        "long",
        "string",
        {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]},
        {"type": "array", "items": "int"},
    ]
    schema = {"type": "record", "name": "R", "fields": [{"name": "u", "type": union}]}
    parsed = fastavro.parse_schema(schema)
    branches = pa.struct({"long": pa.int64(), "string": pa.string(), "A": pa.struct({"x": pa.int32()}), "array": pa.list_(pa.int32())})
    kind = pa.struct({"u": branches})
    for given, expected in [
        ({"long": 5}, 5),
        ({"string": "s"}, "s"),
        ({"A": {"x": 1}}, {"x": 1}),
        ({"array": []}, []),
        (None, None),
        ({}, None),
    ]:
        (value,) = written({"u": given}, named(schema), kind=kind)
        assert value is not None
        assert fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed, None) == {"u": expected}
    assert written({"u": "s"}, named(schema)) == [b"\0\0\0\0\x07\x04\x02s"]
    with pytest.raises(ValueError, match="u: two branches of the union have a value"):
        written({"u": {"long": 5, "string": "s"}}, named(schema), kind=kind)


def test_a_field_that_the_column_lacks_has_its_default() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": 5}, {"name": "b", "type": ["null", "int"]}]}
    kind = pa.struct({"b": pa.int32()})
    assert written({"b": 1}, named(schema), kind=kind) == [b"\0\0\0\0\x07\x0a\x02\x02"]
    with pytest.raises(ValueError, match="id: the column has no such field"):
        written({"note": "x"}, named(ORDER))
    with pytest.raises(ValueError, match='the schema has no field "more"'):
        written({"id": 1, "note": None, "more": 2}, named(ORDER))


@pytest.mark.parametrize(
    ("record", "kind", "problem"),
    [
        ({"id": 1.5, "note": None}, None, "id: a floating-point number does not fit the type long"),
        ({"id": 1, "note": 3}, None, "note: an integer does not fit the type string"),
        ({"id": 1, "note": b"\xff"}, None, "note: bytes does not fit the type string"),
        ({"id": 1 << 63, "note": None}, pa.struct({"id": pa.uint64(), "note": pa.string()}), "id: an integer does not fit the type long"),
        ([1], None, "a list does not fit the type Order"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_with_its_place(record: Any, kind: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"row 0: valueRecord cannot be written with its schema: {problem}"):
        written(record, named(ORDER), kind=kind)


def test_a_schema_is_found_by_id_by_subject_by_text_or_alone() -> None:
    schemas = registry()
    newest = [schema for version, schema in schemas.versions_of("alpha-avro-refs-value") if version.state == "live"][-1]
    table = only("alpha-avro-refs-0", "avro")
    assert table is not None
    by_id = ls.encode(table, values="avro", schema=newest.id, schemas=schemas)
    assert by_id == ls.encode(table, values="avro", topic="alpha-avro-refs", schemas=schemas)
    assert by_id == ls.encode(table, values="avro", schema=newest, schemas=schemas)
    (value,) = written({"id": 1, "note": None}, json.dumps(ORDER), schemas=ls.schemas.SchemaSet((named(ORDER, 9),)))
    assert value == b"\0\0\0\0\x09\x02\0"
    assert written({"id": 1, "note": None}, ORDER, schemas=ls.schemas.single(ORDER)) == [b"\x02\0"]


def test_json_is_written_with_and_without_a_schema() -> None:
    record = {"a": 1, "b": None, "c": [1.5], "d": {"e": "x"}}
    assert written(record, None, "json") == [b'{"a":1,"b":null,"c":[1.5],"d":{"e":"x"}}']
    schema = {
        "type": "object",
        "required": ["must"],
        "properties": {
            "any": {},
            "day": {"type": "string"},
            "may": {"type": "integer"},
            "must": {"type": ["null", "integer"]},
            "n": {"type": "number"},
        },
    }
    record = {"any": '{"k": [1]}', "day": date(2024, 1, 31), "may": None, "must": None, "n": Decimal("1.10")}
    (value,) = written(record, named(schema, kind="JSON"), "json")
    assert value == b'\0\0\0\0\x07{"any":{"k": [1]},"day":"2024-01-31","must":null,"n":1.10}'
    with pytest.raises(ValueError, match="n: JSON has no number NaN"):
        written(record | {"n": float("nan")}, named(schema, kind="JSON"), "json")
    with pytest.raises(ValueError, match=r"any: .* is not JSON"):
        written(record | {"any": "no"}, named(schema, kind="JSON"), "json")


PROTO = """
syntax = "proto3";
package shop;
message First { int32 a = 1; }
message Outer {
  message Inner { string name = 1; map<string, int64> counts = 2; oneof one { bool yes = 3; double no = 4; } }
  repeated Inner all = 1;
}
"""


def test_a_message_of_protobuf_is_named_by_its_index() -> None:
    schema = named(PROTO, kind="PROTOBUF")
    assert written({"a": 150}, schema, "protobuf") == [b"\0\0\0\0\x07\0\x08\x96\x01"]
    inner = {"name": "x", "counts": [("k", 1)], "yes": None, "no": -0.0}
    kind = pa.struct({"name": pa.string(), "counts": pa.map_(pa.string(), pa.int64()), "yes": pa.bool_(), "no": pa.float64()})
    (value,) = written(inner, schema, "protobuf", kind, message="Outer.Inner")
    assert value is not None
    assert value.startswith(b"\0\0\0\0\x07\x04\x02\0")
    assert value == written(inner, schema, "protobuf", kind, message="shop.Outer.Inner")[0]
    table = pa.table({"valueRecord": pa.array([inner], kind)})
    data = ls.encode(table, values="protobuf", schema=schema, message="Outer.Inner")
    read = ls.decode(data, values="protobuf", schemas=ls.schemas.SchemaSet((schema,)), columns=["valueRecord"]).to_pylist()
    assert repr(read) == repr([{"valueRecord": inner}])
    with pytest.raises(ValueError, match='two fields of the oneof "one" have a value'):
        written(inner | {"yes": True}, schema, "protobuf", kind, message="Outer.Inner")
    with pytest.raises(ValueError, match='the schema has no message "Nobody"'):
        written(inner, schema, "protobuf", kind, message="Nobody")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"schema": "x"}, 'schema is given, but values is "raw"'),
        ({"values": "internal"}, 'values must be "raw", "avro", "json" or "protobuf"'),
        ({"values": "avro"}, "schema is missing; pass schema="),
        ({"values": "avro", "schema": ORDER}, "schema has no id for the bytes before each value"),
        ({"values": "json", "schema": named(ORDER)}, "schema is of type AVRO, but values is 'json'"),
        ({"values": "avro", "schema": 5, "schemas": ls.schemas.single(ORDER)}, "no schema of schemas= has the id 5"),
        ({"values": "avro", "schema": named("{")}, "schema: not JSON"),
        ({"values": "avro", "schema": named(ORDER), "message": "M"}, "a schema of type AVRO has no messages"),
        ({"values": "avro", "schema": named(ORDER), "register": True}, "register: pass topic="),
        ({"values": "avro", "schema": named(ORDER), "register": True, "topic": "t"}, "register: pass schemas="),
    ],
)
def test_options_that_do_not_fit_are_errors(options: dict[str, Any], problem: str) -> None:
    table = pa.table({"valueRecord": [{"id": 1, "note": None}], "value": [b""]})
    with pytest.raises(ValueError, match=problem):
        ls.encode(table, **options)


def test_the_typed_column_must_be_there_and_of_a_type_that_is_written() -> None:
    with pytest.raises(ValueError, match='the column "valueRecord" is missing'):
        ls.encode(pa.table({"value": [b""]}), values="avro", schema=named(ORDER))
    kind = pa.struct({"id": pa.duration("s"), "note": pa.string()})
    with pytest.raises(ValueError, match=r"of type .* cannot be written with a schema"):
        written({"id": None, "note": None}, named(ORDER), kind=kind)


def test_a_set_that_is_not_of_a_registry_registers_nothing() -> None:
    schemas = pickle.loads(pickle.dumps(registry()))
    with pytest.raises(ValueError, match="were not read from a registry"):
        written({"id": 1, "note": None}, ORDER, schemas=schemas, topic="new", register=True)
