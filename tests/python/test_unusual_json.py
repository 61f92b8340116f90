"""JSON texts that columns hold badly: integers of more than 64 bits, deep texts, names with U+0000, several texts in a value."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run

FINDS = corpus.TESTS / "finds"
WEI = FINDS / "json-integers" / "wei-0"
DEEP = FINDS / "json-deep-record" / "x-0"
NUL = FINDS / "json-nul-key" / "x-0"
BIG = pa.decimal128(38, 0)
BEYOND = 10**21 + 1
#: An integer without bounds, and one whose bounds 64 bits hold.
UNBOUNDED = {"type": "object", "properties": {"n": {"type": "integer"}, "small": {"type": "integer", "minimum": 0, "maximum": 9}}}


def segment(*texts: str | bytes) -> bytes:
    values = [text if isinstance(text, bytes) else text.encode() for text in texts]
    data = ls.encode(pa.table({"value": pa.array(values, "binary")}))
    assert data is not None
    return data


def read(source: Any, values: Any = "json", **options: Any) -> tuple[list[Any], Any]:
    options = {"columns": ["valueRecord"]} | options
    stream = ls.decode(source, values=values, **options)
    return [row[options["columns"][0]] for row in stream.to_pyarrow().to_pylist()], stream


def nested(levels: int) -> str:
    return '{"c":' * (levels - 1) + '{"c":1}' + "}" * (levels - 1)


@pytest.mark.parametrize("values", ["json", "auto"])
def test_an_inferred_column_of_integers_above_64_bits_is_a_decimal(values: Any):
    stream = ls.Log(WEI).records(values=values, columns=["valueRecord.n"])
    assert pa.schema(stream).field(0).type == BIG
    assert [row["valueRecord.n"] for row in stream.to_pyarrow().to_pylist()] == [Decimal(BEYOND), Decimal(5)]
    texts = f'{{"n":[-{BEYOND}],"m":{2**63}}}', '{"n":[1],"m":null}'
    assert read(segment(*texts), values)[0] == [{"n": [Decimal(-BEYOND)], "m": Decimal(2**63)}, {"n": [Decimal(1)], "m": None}]
    # With a fraction in the same place it is a double, as in Spark; the digits of a text are no number.
    assert read(segment(f'{{"n":{BEYOND}}}', '{"n":0.5}', f'{{"s":"{BEYOND}"}}'), values)[0][1:] == [
        {"n": 0.5, "s": None},
        {"n": None, "s": str(BEYOND)},
    ]


@pytest.mark.parametrize("values", ["json", "auto"])
@pytest.mark.parametrize("digits", [39, 400])
def test_a_number_above_38_digits_alone_is_null(values: Any, digits: int):
    data = segment(f'{{"a":{{"n":{10 ** (digits - 1)}}},"b":1}}', '{"a":{"n":5},"b":2}')
    rows, stream = read(data, values)
    assert rows == [{"a": {"n": None}, "b": 1}, {"a": {"n": Decimal(5)}, "b": 2}]
    (finding,) = stream.findings
    assert (finding.rule, finding.base_offset) == ("SCH-3", 0)
    assert "a.n: 1000000000" in finding.message


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_schema_without_bounds_loses_no_record(on_error: str):
    schemas = ls.schemas.single(UNBOUNDED, "json")
    data = segment(f'{{"n":{BEYOND},"small":1}}', f'{{"n":{2**63},"small":99999999999999999999}}', '{"n":7,"small":2}')
    rows, stream = read(data, schemas=schemas, on_error=on_error)
    assert rows == [{"n": None, "small": 1}, {"n": None, "small": None}, {"n": 7, "small": 2}]
    assert [(finding.rule, finding.severity) for finding in stream.findings] == [("SCH-3", "warning")] * 2
    assert f'n: {BEYOND} does not fit the column of 64 bits; pass integers="decimal"' in stream.findings[0].message
    assert "(and 1 more)" in stream.findings[1].message
    rows, stream = read(data, schemas=schemas, integers="decimal", on_error=on_error)
    assert [row["n"] for row in rows] == [Decimal(BEYOND), Decimal(2**63), Decimal(7)]
    kind = pa.schema(stream).field("valueRecord").type
    assert (kind.field("n").type, kind.field("small").type) == (BIG, pa.int64())


def test_the_option_integers_is_that_of_every_reader(tmp_path: Path):
    path = tmp_path / "n-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(segment('{"n":5}', '{"n":6}'))
    options: Any = {"values": "json", "integers": "decimal", "columns": ["valueRecord.n"]}
    for stream in (ls.decode(path, **options), ls.Log(path.parent).records(**options), ls.Segment(path).records(**options)):
        assert pa.schema(stream).field(0).type == BIG
    assert ls.polars.scan(path.parent, values="json", integers="decimal").collect()["valueRecord"].struct.field("n").dtype == pl.Decimal(
        38, 0
    )
    with pytest.raises(ValueError, match="integers must be"):
        ls.decode(path, values="json", integers="exact")  # type: ignore[arg-type]
    schema = tmp_path / "n.json"
    schema.write_text(json.dumps(UNBOUNDED))
    arguments = "--values", "json", "--columns", "valueRecord.n", "--schemas", schema
    path.write_bytes(segment(f'{{"n":{BEYOND}}}'))
    exact = run("cat", path, *arguments, "--integers", "decimal")
    assert (exact.code, exact.out) == (0, f'{{"valueRecord.n":"{BEYOND}"}}\n'.encode())
    for policy in ("raise", "skip"):
        null = run("cat", path, *arguments, "--on-error", policy)
        assert (null.code, null.lines) == (0, [{"valueRecord.n": None}])
        assert "--integers decimal" in null.err
    useless = run("cat", path, "--integers", "decimal")
    assert (useless.code, "--integers needs --values" in useless.err) == (2, True)


def test_versions_of_a_schema_with_and_without_bounds_are_one_column():
    bounded = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}}}
    versions = ls.schemas.SchemaSet(tuple(ls.schemas.Schema("JSON", json.dumps(text), at) for at, text in enumerate([bounded, UNBOUNDED])))
    data = segment(b"\0\0\0\0\0" + b'{"n":5}', b"\0\0\0\0\1" + f'{{"n":{BEYOND}}}'.encode())
    assert read(data, schemas=versions, integers="decimal")[0] == [{"n": Decimal(5), "small": None}, {"n": Decimal(BEYOND), "small": None}]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("values", ["json", "auto"])
@pytest.mark.parametrize(("partition", "rule"), [(DEEP, "SCH-5"), (NUL, "SCH-3")])
def test_one_bad_text_is_one_null_with_a_finding(partition: Path, rule: str, values: Any, on_error: Any):
    log = ls.Log(partition)
    for columns in (["valueRecord"], ["valueRecord.a", "valueRecord.b"]):
        stream = log.records(values=values, columns=columns, on_error=on_error)
        rows = [tuple((row.get("valueRecord") or row).values()) for row in stream.to_pyarrow().to_pylist()]
        assert rows[:3] == [(0, "x"), (1, "x"), (2, "x")]
        assert set(rows[3]) == {None}
        assert [(finding.rule, finding.severity, finding.base_offset) for finding in stream.findings] == [(rule, "warning", 3)]
    table = log.records(values=values, columns=["valueRecord"], on_error=on_error).to_pyarrow()
    assert duckdb.from_arrow(table).aggregate("sum(valueRecord.a)").fetchall() == [(3,)]
    frame = ls.polars.scan(partition, values=values, on_error=on_error).collect()
    assert frame["valueRecord"].struct.field("a").to_list() == [0, 1, 2, None]
    done = run("cat", partition, "--values", values, "--columns", "valueRecord.a", "--on-error", on_error)
    assert [line["valueRecord.a"] for line in done.lines] == [0, 1, 2, None]
    assert f"[{rule}]" in done.err


def test_what_is_no_json_still_ends_a_read():
    with pytest.raises(ls.CorruptError, match=r"\[SCH-3\].*record with offset 1"):
        read(segment('{"a":1}', '{"a":'))


@pytest.mark.parametrize("levels", [60, 61, 127, 128, 5000])
def test_texts_of_60_levels_are_columns(levels: int):
    deep = nested(levels)
    rows, stream = read(segment('{"a":1}', deep), "auto")
    assert rows[0]["a"] == 1
    if levels <= 60:
        assert json.loads(deep)["c"]["c"] == rows[1]["c"]["c"]
        assert stream.findings == []
    else:
        assert (rows[1], [finding.rule for finding in stream.findings]) == (None, ["SCH-5"])
    lists, stream = read(segment("[]", "[" * levels + "]" * levels), "json")
    assert (lists[1] is None) == (levels > 60)


def test_bytes_that_are_not_json_are_no_deep_text():
    rows, stream = read(segment(b'{"a":1}', b"[" * 100, b"[" * 100 + b"\0" + b"]" * 100), "auto")
    assert (rows, stream.findings) == ([{"a": 1}, None, None], [])


@pytest.mark.parametrize("values", ["json", "auto"])
def test_a_byte_order_mark_is_skipped(values: Any):
    rows, stream = read(segment(b'\xef\xbb\xbf{"a":1}', b'{"a":2}'), values, on_error="raise")
    assert (rows, stream.findings) == ([{"a": 1}, {"a": 2}], [])
    assert read(segment(b"\xef\xbb\xbf[1]", b'{"a":2}'), values)[0] == ["[1]", '{"a":2}']


def test_several_texts_in_a_value_are_refused_by_name():
    data = segment('{"a":1}', '{"a":2}\n{"a":3}\n')
    for values in ("json", "auto"):
        rows, stream = read(data, values, on_error="skip")
        assert rows == [{"a": 1}, None]
        assert "2 JSON documents in one value" in stream.findings[0].message
    with pytest.raises(ls.CorruptError, match=r"\[SCH-3\].*2 JSON documents in one value"):
        read(data)
    # Numbers are rather lines of another format.
    assert read(segment('{"a":1}', "1 2"), "auto")[1].findings == []
