"""Protobuf schemas that import files which registries have built in, and options that are defined in files that are missing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls

FINDS = corpus.TESTS / "finds"
GOOGLE = ["calendar_period", "color", "date", "datetime", "dayofweek", "decimal", "expr", "fraction", "interval", "latlng"]
GOOGLE += ["localized_text", "money", "month", "phone_number", "postal_address", "quaternion", "timeofday"]
CONFLUENT = {
    "confluent/meta.proto": "confluent_kafka.schema_registry.confluent.meta_pb2",
    "confluent/type/decimal.proto": "confluent_kafka.schema_registry.confluent.type.decimal_pb2",
    "confluent/type/variant.proto": "confluent_kafka.schema_registry.confluent.type.variant_pb2",
}
FILES = {f"google/type/{name}.proto": f"google.type.{name}_pb2" for name in GOOGLE} | CONFLUENT


def decoded(text: str, *values: bytes) -> list[Any]:
    data = ls.encode(pa.table({"value": pa.array(values, "binary")}))
    schemas = ls.schemas.single(text, type="protobuf", framing="none")
    rows = ls.decode(data, values="protobuf", schemas=schemas, columns=["valueRecord"]).to_pylist()
    return [row["valueRecord"] for row in rows]


def filled(message: Any, seed: int) -> Any:
    """Set every field of a message, of a oneof the last one; return the message."""
    for number, field in enumerate(message.DESCRIPTOR.fields, seed):
        if field.message_type is not None and field.is_repeated and field.message_type.GetOptions().map_entry:
            getattr(message, field.name)[f"k{number}"] = f"v{number}"
        elif field.message_type is not None and field.is_repeated:
            filled(getattr(message, field.name).add(), number)
        elif field.message_type is not None:
            filled(getattr(message, field.name), number)
        else:
            value = {"string": f"text {number}", "bytes": b"%d" % number}.get(_kind(field), number)
            if field.is_repeated:
                getattr(message, field.name).extend([value])
            elif field.name == "nanos":
                # Python's times have microseconds.
                setattr(message, field.name, 1000 * value)
            else:
                setattr(message, field.name, value)
    return message


def _kind(field: Any) -> str:
    return {field.TYPE_STRING: "string", field.TYPE_BYTES: "bytes"}.get(field.type, "number")


def agrees(ours: Any, message: Any) -> bool:
    """True if a struct has the fields of a message with their values."""
    kind = message.DESCRIPTOR
    if kind.full_name == "google.protobuf.Timestamp":
        return int(ours.timestamp()) == message.seconds
    if kind.full_name == "google.protobuf.FloatValue":
        return ours == message.value
    names = [field.name for field in kind.fields]
    return list(ours) == names and all(_field_agrees(ours[field.name], message, field) for field in kind.fields)


def _field_agrees(ours: Any, message: Any, field: Any) -> bool:
    theirs = getattr(message, field.name)
    if field.has_presence and not message.HasField(field.name):
        return ours is None
    if field.message_type is None:
        return ours == (list(theirs) if field.is_repeated else theirs)
    if field.is_repeated and field.message_type.GetOptions().map_entry:
        return dict(ours) == dict(theirs)
    if field.is_repeated:
        return all(agrees(item, other) for item, other in zip(ours, theirs, strict=True))
    return agrees(ours, theirs)


@pytest.mark.parametrize("name", FILES)
def test_a_known_file_has_the_types_of_the_real_one(name: str):
    module = pytest.importorskip(FILES[name])
    file = module.DESCRIPTOR
    seen = 0
    for message in file.message_types_by_name.values():
        text = f'syntax = "proto3"; import "{name}"; message M {{ {message.full_name} v = 1; }}'
        value = filled(getattr(module, message.name)(), 1)
        body = value.SerializeToString()
        (ours,) = decoded(text, b"\x0a" + bytes([len(body)]) + body)
        assert agrees(ours["v"], value)
        seen += 1
    for enum in file.enum_types_by_name.values():
        text = f'syntax = "proto3"; import "{name}"; message M {{ {enum.full_name} v = 1; }}'
        values = [value.number for value in enum.values]
        assert [row["v"] for row in decoded(text, *(bytes([8, number]) for number in values))] == [value.name for value in enum.values]
        seen += 1
    assert seen > 0


def test_a_schema_of_a_registry_that_imports_them():
    schemas = ls.schemas.from_log(FINDS / "protobuf-imports" / "_schemas-0")
    (row,) = ls.Log(FINDS / "protobuf-imports" / "debezium-0").records(values="protobuf", schemas=schemas).to_pylist()
    assert row["valueRecord"] == {"id": "bob", "t": 9, "max": {"value": b"09", "precision": 38, "scale": 20}}


def test_unknown_options_are_left_out():
    text = """syntax = "proto3"; import "validate/validate.proto"; import "confluent/meta.proto";
    option (confluent.file_meta) = { doc: "x" }; option java_wrong = "y";
    message M { option (validate.disabled) = true;
      int64 n = 1 [(validate.rules).int64 = { gt: 0 }, (confluent.field_meta).doc = "n", odd = 1];
      enum E { A = 0 [(validate.x) = 1]; }
      oneof o { option (validate.required) = true; string s = 2; }
      repeated int32 p = 3 [packed = false]; }
    service S { rpc Get(Elsewhere) returns (M) { option (google.api.http) = { get: "/" }; } }"""
    assert decoded(text, b"\x08\x05\x18\x07") == [{"n": 5, "s": None, "p": [7]}]


def test_a_file_that_is_missing_is_named():
    for text in ('import "x.proto"; message M { int32 n = 1; }', 'import "x.proto"; message M { X x = 1 [(y.z) = 1]; }'):
        with pytest.raises(ls.UnsupportedError, match=r"\[SCH-6\].*x\.proto"):
            decoded(f'syntax = "proto3"; {text}', b"\x08\x05")
