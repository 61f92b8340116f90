"""Values whose format is detected one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import logsegment as ls
from cli_process import run
from values_corpus import VALUES, registry, truth_of
from values_truth import fits

MIXED = "alpha-mixed-0"


def segment(*values: bytes | None) -> bytes:
    data = ls.encode(pa.table({"value": pa.array(values, "binary")}))
    assert data is not None
    return data


def counts(stream: Any) -> tuple[int, int, int, int]:
    stats = stream.io_stats
    return stats.avro_values, stats.json_values, stats.protobuf_values, stats.raw_values


def test_the_formats_of_one_topic_are_columns_next_to_each_other():
    stream = ls.Log(VALUES / MIXED).records(
        values="auto", schemas=registry(), columns=["offset", "valueRecord", "valueSchemaId"], on_error="skip"
    )
    table = stream.to_pyarrow()
    kind = table.schema.field("valueRecord").type
    refused = {finding.base_offset for finding in stream.findings}
    found = {"json": 0, "avro": 0, "protobuf": 0}
    for row, line in zip(table.to_pylist(), truth_of(MIXED), strict=True):
        cell = line["value"]
        form = "json" if "json" in cell else "protobuf" if "message" in cell else "avro"
        found[form] += 1
        assert (row["offset"], row["valueSchemaId"]) == (line["offset"], cell["id"])
        if line["offset"] in refused:
            continue
        name = f"schema_{cell['id']}"
        given = [member for member, value in row["valueRecord"].items() if value is not None]
        assert given == [name]
        assert fits(row["valueRecord"][name], cell["decoded"], kind.field(name).type)
    assert counts(stream)[:2] == (found["avro"], found["json"])


def test_values_without_a_schema_are_json_or_raw():
    values = [b'{"a":1}', b"plain", None, b"", b"[1]", b"\xff"]
    for schemas in (None, registry()):
        stream = ls.decode(segment(*values), values="auto", schemas=schemas, columns=["valueRecord"])
        assert [row["valueRecord"] for row in stream.to_pylist()] == ['{"a":1}', None, None, None, "[1]", None]
        assert counts(stream) == (0, 2, 0, 3)
        assert stream.findings == []
    named = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", '"long"', 7),))
    both = ls.decode(segment(b'{"a":1}', b"\0\0\0\0\7\x0e", b"x"), values="auto", schemas=named, columns=["valueRecord"])
    assert [row["valueRecord"] for row in both.to_pylist()] == [
        {"schema_7": None, "json": {"a": 1}},
        {"schema_7": 7, "json": None},
        None,
    ]
    assert counts(both) == (1, 1, 0, 1)


def test_a_value_of_an_unknown_schema_is_null():
    stream = ls.decode(segment(b"\0\0\0\0\7\x0e", b"\0\0"), values="auto", schemas=registry(), columns=["valueRecord"])
    assert [row["valueRecord"] for row in stream.to_pylist()] == [None, None]
    assert stream.unknown_schemas == ["the id 7"]


def test_a_single_schema_has_its_own_format():
    schemas = ls.schemas.single('"long"')
    assert ls.decode(segment(b"\x0e"), values="auto", schemas=schemas, columns=["valueRecord"]).to_pylist() == [{"valueRecord": 7}]
    wanted = ls.schemas.Schema("JSON", '{"type": "object", "properties": {"a": {"type": "number"}}}')
    stream = ls.decode(segment(b'{"a":1}'), values="auto", reader_schema=wanted, columns=["valueRecord.a"])
    assert stream.to_pyarrow().to_pylist() == [{"valueRecord.a": 1.0}]


def test_cat_says_once_what_it_detected():
    arguments = VALUES / "alpha-avro-refs-0", "--values", "auto", "--schemas", VALUES / "_schemas-0"
    done = run("cat", *arguments)
    assert (done.code, len(done.lines)) == (0, 250)
    assert done.err.count("detected values: 250 avro") == 1
    assert done.lines[0]["valueRecord"].keys() == {"lines", "total", "cur"}
    assert "detected" not in run("cat", *arguments, "--quiet").err
