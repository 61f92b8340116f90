"""Schemas from files and single ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import logsegment as ls
from values_corpus import VALUES, registry


def test_a_single_schema_from_text_parsed_json_and_a_file(tmp_path: Path):
    path = tmp_path / "order.avsc"
    path.write_text('{"type": "long"}')
    for given in ('{"type": "long"}', {"type": "long"}, path):
        (schema,) = schemas = ls.schemas.single(given)
        assert (schema.type, json.loads(schema.text), schema.id, schemas.framing) == ("AVRO", {"type": "long"}, None, "auto")
    (schema,) = ls.schemas.single("syntax = 'proto3';", type="protobuf", framing="confluent-no-index")
    assert schema.type == "PROTOBUF"


def test_wrong_arguments():
    with pytest.raises(ValueError, match="type must be 'avro', 'json' or 'protobuf', not 'xml'"):
        ls.schemas.single('"int"', type="xml")
    with pytest.raises(ValueError, match="framing must be auto"):
        ls.schemas.single('"int"', framing="confluence")  # type: ignore[arg-type]


def test_files_by_the_ids_of_the_caller(tmp_path: Path):
    guid = "9420cb08-62ae-587f-8b29-c41324ffcbaa"
    (tmp_path / "a.avsc").write_text('"int"')
    (tmp_path / "b.proto").write_text('syntax = "proto3";')
    schemas = ls.schemas.from_directory(tmp_path, ids={7: "a.avsc", "-3": "a.avsc", guid: "b.proto"})
    assert [(schema.id, schema.guid, schema.type) for schema in schemas] == [
        (7, None, "AVRO"),
        (-3, None, "AVRO"),
        (None, guid, "PROTOBUF"),
    ]
    (tmp_path / "schemas.json").write_text(json.dumps({"7": "a.avsc"}))
    assert [item.id for item in ls.schemas.from_directory(tmp_path)] == [7]


def test_files_without_an_index_have_no_ids():
    found = ls.schemas.from_directory(VALUES / "schemas", ids={1: "bare.avsc"})
    assert [item.type for item in found] == ["AVRO"]


def test_an_export_is_read_back_as_the_same_set(tmp_path: Path):
    from logsegment.schemas.directory import written

    files = written(registry(), tmp_path)
    assert len(files) == 461
    assert ls.schemas.from_directory(tmp_path) == registry()


@pytest.mark.parametrize("index", ['[{"file": "a.avsc"}]', "[1]", '{"7": "missing.avsc"}', '{"7": "a.txt"}', "{"])
def test_a_bad_index_is_an_error(index: str, tmp_path: Path):
    (tmp_path / "a.avsc").write_text('"int"')
    (tmp_path / "schemas.json").write_text(index)
    with pytest.raises((ValueError, FileNotFoundError)):
        ls.schemas.from_directory(tmp_path)
