"""Schema files that see the files around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run

FINDS = corpus.TESTS / "finds"
PROTOS = FINDS / "local-schemas" / "protos"
ORDERS = FINDS / "local-schemas" / "p-raw-0"
ORDER = {"id": "o-1", "items": [{"sku": "sku-9"}], "total": {"units": 12}}


def written(directory: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return directory


def values_of(schemas: ls.schemas.SchemaSet, *values: bytes, kind: Any = "auto", **options: Any) -> list[Any]:
    data = ls.encode(pa.table({"value": pa.array(values, "binary")}))
    rows = ls.decode(data, values=kind, schemas=schemas, columns=["valueRecord"], **options).to_pylist()
    return [row["valueRecord"] for row in rows]


def avro(schema: Any, value: Any) -> bytes:
    from io import BytesIO

    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


@pytest.mark.parametrize("given", [PROTOS / "order.proto", str(PROTOS / "order.proto"), PROTOS])
def test_imports_are_found_next_to_the_file(given: Any):
    schemas = ls.schemas.from_path(given)
    (row,) = ls.Log(ORDERS).records(values="protobuf", schemas=schemas).to_pylist()
    assert row["valueRecord"] == ORDER
    done = run("cat", ORDERS, "--values", "protobuf", "--schemas", given)
    assert (done.code, done.lines[0]["valueRecord"]) == (0, ORDER)


def test_imports_are_relative_to_the_directories_above(tmp_path: Path):
    head = 'syntax = "proto3"; package shop;'
    written(
        tmp_path,
        {
            "protos/shop/order.proto": f"""{head} // import "not/this.proto";
            import public "shop/item.proto"; /* import "nor.proto"; */ import 'money.proto';
            message Order {{ Item item = 1; Money total = 2; string import = 3; }}""",
            "protos/shop/item.proto": f'{head} import "shop/money.proto"; message Item {{ Money price = 1; }}',
            "protos/shop/money.proto": f"{head} message Money {{ int64 units = 1; }}",
        },
    )
    schemas = ls.schemas.single(tmp_path / "protos" / "shop" / "order.proto")
    assert values_of(schemas, bytes.fromhex("0a040a02080512020807")) == [
        {"item": {"price": {"units": 5}}, "total": {"units": 7}, "import": ""}
    ]
    (schema,) = schemas
    assert [name for name, _ in schema.imports] == ["shop/item.proto", "shop/money.proto", "money.proto"]


def test_names_of_avro_are_those_of_other_files(tmp_path: Path):
    money = {"type": "record", "name": "Money", "namespace": "shared", "fields": [{"name": "units", "type": "long"}]}
    item = {"type": "record", "name": "Item", "namespace": "shop", "fields": [{"name": "price", "type": "shared.Money"}]}
    fields = [{"name": "items", "type": {"type": "array", "items": "Item"}}, {"name": "total", "type": ["null", "shared.Money"]}]
    order = {"type": "record", "name": "Order", "namespace": "shop", "fields": fields}
    written(tmp_path, {"order.avsc": order, "item.avsc": item, "common/money.avsc": money, "broken.avsc": "{"})
    value = {"items": [{"price": {"units": 3}}], "total": {"units": 3}}
    raw = avro([money, item, order], ("shop.Order", value))[1:]
    assert values_of(ls.schemas.single(tmp_path / "order.avsc"), raw) == [value]
    (tmp_path / "broken.avsc").unlink()
    # Of a directory, the schema that no other one needs is that of all values.
    whole = ls.schemas.from_path(tmp_path)
    assert (len(whole), whole.main and json.loads(whole.main.text)["name"]) == (2, "Order")
    assert values_of(whole, raw) == [value]
    assert values_of(whole, b"\0\0\0\0\x09" + raw, kind="avro") == [value]


def test_references_of_json_schema_are_relative_or_ids(tmp_path: Path):
    name = {"$id": "https://example.org/name", "type": "string"}
    item = {
        "type": "object",
        "properties": {"sku": {"$ref": "../name.json"}, "size": {"$ref": "#/$defs/s"}},
        "$defs": {"s": {"type": "integer"}},
    }
    properties = {"item": {"$ref": "parts/item.json"}, "by": {"$ref": "https://example.org/name"}}
    written(tmp_path, {"order.json": {"type": "object", "properties": properties}, "parts/item.json": item, "name.json": name})
    schemas = ls.schemas.single(tmp_path / "order.json")
    assert values_of(schemas, b'{"item":{"sku":"a","size":2},"by":"x"}') == [{"by": "x", "item": {"size": 2, "sku": "a"}}]


def test_names_of_files_are_ids(tmp_path: Path):
    guid = "9420cb08-62ae-587f-8b29-c41324ffcbaa"
    written(tmp_path, {"7.avsc": '"long"', f"{guid}.avsc": '"int"', "8.json": {"type": "object", "properties": {"a": {"type": "integer"}}}})
    schemas = ls.schemas.from_path(tmp_path)
    assert {(schema.id, schema.guid, schema.type) for schema in schemas} == {(7, None, "AVRO"), (None, guid, "AVRO"), (8, None, "JSON")}
    values = values_of(schemas, b"\0\0\0\0\7\x0e", b'\0\0\0\0\x08{"a":1}', b"\0\0\0\0\x09x")
    assert [{name: item for name, item in (value or {}).items() if item is not None} for value in values] == [
        {"schema_7": 7},
        {"schema_8": {"a": 1}},
        {},
    ]
    # The only file is also the schema of values that name none, but not of those that name another one.
    (tmp_path / "8.json").unlink()
    (tmp_path / f"{guid}.avsc").unlink()
    alone = ls.schemas.from_path(tmp_path)
    assert values_of(alone, b"\0\0\0\0\7\x0e", b"\x0e", kind="avro") == [7, 7]
    with pytest.raises(ls.InvalidError, match=r"\[SCH-2\].*the id 9"):
        values_of(alone, b"\0\0\0\0\x09\x0e", kind="avro")


def test_a_directory_is_read_below_if_it_has_no_schemas_itself(tmp_path: Path):
    written(tmp_path, {"a/b/order.avsc": '"long"', "topic-0/x.json": "{}"})
    assert [schema.text for schema in ls.schemas.from_path(tmp_path)] == ['"long"']


def test_a_path_is_opened_and_the_error_of_a_text_names_type(tmp_path: Path):
    path = written(tmp_path, {"order.proto": 'syntax = "proto3"; message M { int32 n = 1; }'}) / "order.proto"
    assert next(iter(ls.schemas.single(str(path)))).type == "PROTOBUF"
    with pytest.raises(FileNotFoundError, match=r"missing\.avsc"):
        ls.schemas.single("missing.avsc")
    with pytest.raises(ValueError, match='pass type="protobuf"'):
        ls.schemas.single(path.read_text())
    with pytest.raises(ValueError, match='pass type="json"'):
        ls.schemas.single({"type": "object", "properties": {}})
    with pytest.raises(TypeError, match="schema must be a path"):
        ls.schemas.single(7)  # type: ignore[arg-type]
