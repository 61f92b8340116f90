"""JSON keys and values as columns: the partitions of the corpus equal their truth, and schemas are given, registered or inferred."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run
from logsegment._options import ReadOptions
from logsegment._typed_values import planned
from values_corpus import VALUES, cases, registry, truth_of
from values_truth import rows_of

CASES = [case["partition"] for case in cases() if case["format"] == "json"]
ORDERS = ("alpha-json-orders-0", "alpha-json-header-0")
BIG = pa.decimal128(38, 0)


def segment(*values: bytes | None, keys: Any = None) -> bytes:
    table = pa.table({"value": pa.array(values, "binary"), "key": pa.array(keys or [None] * len(values), "binary")})
    data = ls.encode(table)
    assert data is not None
    return data


def one(text: str | bytes, schema: Any = None, **options: Any) -> Any:
    value = text if isinstance(text, bytes) else text.encode()
    schemas = None if schema is None else ls.schemas.single(schema, "json")
    return (
        ls.decode(segment(value), values="json", schemas=schemas, columns=["valueRecord"], **options)
        .to_pyarrow()
        .to_pylist()[0]["valueRecord"]
    )


def equals(found: Any, cell: Any, kind: pa.DataType) -> bool:
    """A value of a column equals a JSON value; a name that is not there is null."""
    if found is None or cell is None:
        return found is None and cell is None
    if pa.types.is_struct(kind):
        inner = {kind.field(at).name: kind.field(at).type for at in range(kind.num_fields)}
        return cell.keys() <= inner.keys() and all(equals(found[name], cell.get(name), inner[name]) for name in inner)
    if pa.types.is_map(kind):
        return dict(found) == cell and len(found) == len(cell)
    if pa.types.is_list(kind):
        return len(found) == len(cell) and all(equals(item, other, kind.value_type) for item, other in zip(found, cell, strict=True))
    if pa.types.is_string(kind) and not isinstance(cell, str):
        return bool(json.loads(found) == cell)
    # A column of JSON text has the quotes of a text too.
    return bool(found == cell) or (pa.types.is_string(kind) and found == json.dumps(cell, ensure_ascii=False))


def disagreements(partition: str, **options: Any) -> list[int]:
    stream = ls.Log(VALUES / partition).records(
        values="json", schemas=registry(), on_error="skip", columns=["offset", "valueRecord", "valueSchemaId"], **options
    )
    table = stream.to_pyarrow()
    refused = {finding.base_offset for finding in stream.findings}
    kind = table.schema.field("valueRecord").type
    records = [record for chunk in table["valueRecord"].chunks for record in rows_of(chunk)]
    found = dict(zip(table["offset"].to_pylist(), zip(records, table["valueSchemaId"].to_pylist(), strict=True), strict=True))
    bad = []
    for line in truth_of(partition):
        cell, (record, schema_id) = line["value"] or {"decoded": None}, found.pop(line["offset"])
        if "error" in cell:
            is_right = "either" in cell or (line["offset"] in refused and record is None)
        else:
            is_right = line["offset"] not in refused and cell.get("id", schema_id) == schema_id and equals(record, cell["decoded"], kind)
        if not is_right:
            bad.append(line["offset"])
    assert not found
    return bad


def orders_with_big_numbers() -> Any:
    """The schema of the orders, with bounds of numbers that 64 bits do not hold."""
    orders = registry().by_id(402)
    assert orders is not None
    schema = json.loads(orders.text)
    schema["properties"]["big"]["maximum"] = 2**80
    return schema


@pytest.mark.parametrize("partition", [item for item in CASES if item not in ORDERS])
def test_a_partition_equals_its_truth(partition: str):
    assert disagreements(partition) == []


@pytest.mark.parametrize("partition", ORDERS)
def test_numbers_of_more_than_64_bits_need_a_decimal(partition: str):
    assert disagreements(partition, reader_schema=orders_with_big_numbers()) == []
    decoded = {line["offset"]: line["value"]["decoded"] for line in truth_of(partition)}
    beyond = [offset for offset, cell in decoded.items() if not -(2**63) <= cell.get("big", 0) < 2**63]
    assert disagreements(partition) == beyond != []
    assert disagreements(partition, integers="decimal") == []


def test_the_types_of_a_json_schema():
    properties = {
        "whole": {"type": "integer"},
        "huge": {"type": "integer", "maximum": 2**70},
        "real": {"type": "number"},
        "either": {"type": ["integer", "number", "null"]},
        "mixed": {"type": ["integer", "string"]},
        "state": {"enum": ["new", "paid", None]},
        "open": {"type": "object"},
        "tuple": {"type": "array", "items": [{"type": "integer"}]},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "null_or": {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"x": {"type": "integer"}}}]},
        "self": {"$ref": "#"},
    }
    value = {
        "whole": 2.0,
        "huge": 2**65,
        "real": 1,
        "either": 1,
        "mixed": "a",
        "state": "new",
        "open": {"k": [1.50]},
        "tuple": [1],
        "map": {"a": True, "b": None},
        "null_or": {"x": 3, "unknown": 4},
        "self": {"whole": 1},
    }
    found = one(json.dumps(value), {"type": "object", "properties": properties})
    assert found == value | {
        "huge": Decimal(2**65),
        "mixed": '"a"',
        "open": '{"k": [1.5]}',
        "tuple": "[1]",
        "map": [("a", True), ("b", None)],
        "null_or": {"x": 3},
        "self": '{"whole": 1}',
    }
    assert isinstance(found["either"], float)


def test_an_arrow_schema_reads_text_as_times_bytes_and_decimals():
    reader = pa.schema(
        {
            "at": pa.timestamp("us", "UTC"),
            "local": pa.timestamp("ms"),
            "day": pa.date32(),
            "price": pa.decimal128(9, 2),
            "small": pa.int32(),
            "raw": pa.binary(),
            "items": pa.list_(pa.struct({"n": pa.uint64()})),
        }
    )
    text = (
        '{"at":"2024-01-02T05:04:05.000006+02:00","local":"2024-01-02T03:04:05.006","day":"1969-12-31","price":1.250e1,"small":7,'
        '"raw":"AAE=","items":[{"n":18446744073709551615}]}'
    )
    assert one(text, reader_schema=reader) == {
        "at": datetime(2024, 1, 2, 3, 4, 5, 6, UTC),
        "local": datetime(2024, 1, 2, 3, 4, 5, 6000),
        "day": date(1969, 12, 31),
        "price": Decimal("12.50"),
        "small": 7,
        "raw": b"\0\1",
        "items": [{"n": 2**64 - 1}],
    }
    with pytest.raises(ls.CorruptError, match=r"\[SCH-3\].*not a decimal of 9 digits"):
        one('{"price":0.001}', reader_schema=reader)
    with pytest.raises(ValueError, match="not decoded to Interval"):
        one("1", reader_schema=pa.schema({"x": pa.month_day_nano_interval()}))


def test_the_schema_is_inferred_where_none_is_given():
    texts = [b'{"a":1,"b":null,"c":[{"d":"x"}]}', b'{"a":2.5,"b":18446744073709551615,"c":[],"e":[true]}', None]
    stream = ls.decode(segment(*texts), values="json", columns=["valueRecord"])
    assert pa.schema(stream).field("valueRecord").type == pa.struct(
        {
            "a": pa.float64(),
            "b": BIG,
            "c": pa.list_(pa.field("element", pa.struct({"d": pa.string()}))),
            "e": pa.list_(pa.field("element", pa.bool_())),
        }
    )
    assert [row["valueRecord"] for row in stream.to_pyarrow().to_pylist()] == [
        {"a": 1.0, "b": None, "c": [{"d": "x"}], "e": None},
        {"a": 2.5, "b": Decimal(2**64 - 1), "c": [], "e": [True]},
        None,
    ]
    mixed = ls.decode(segment(b'{"a":1}', b'"x"', b"{"), values="json", columns=["valueRecord"], on_error="skip")
    assert [row["valueRecord"] for row in mixed.to_pylist()] == ['{"a":1}', '"x"', None]
    assert [finding.rule for finding in mixed.findings] == ["SCH-3"]


def test_framing_is_cut_off_where_no_schemas_are_given():
    partition = VALUES / "alpha-json-kafkajs-0"
    found = ls.Log(partition).records(values="json", columns=["valueRecord.n"]).to_pyarrow()
    assert found["valueRecord.n"].to_pylist() == [line["value"]["decoded"]["n"] for line in truth_of(partition.name)]


def test_keys_are_decoded_and_options_are_pickled():
    data = segment(b"1", keys=[b'{"k":1}'])
    stream = ls.decode(data, key_values="json", columns=["keyRecord.k", "keySchemaId"])
    assert stream.to_pylist() == [{"keyRecord.k": 1, "keySchemaId": None}]
    options = ReadOptions(values="json", schemas=registry(), columns=["valueRecord.a"])
    file = str(next((VALUES / "alpha-json-evolution-0").glob("*.log")))
    again = pickle.loads(pickle.dumps(planned(options, [("alpha-json-evolution", file)])))
    from logsegment._core import decode

    assert decode(file, again).to_pyarrow()["valueRecord.a"].to_pylist() == [
        line["value"]["decoded"].get("a") for line in truth_of("alpha-json-evolution-0")
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"b":' + "[" * 200 + "]" * 200 + "}", "not of the type"),
        ('{"b":' + "[" * 1_000_000, "not of the type"),
        ('{"a":1,"a":2}', "is there twice"),
        ('{"a":"x"}', "not of the type"),
        ('{"a":1}x', "trailing"),
        ('{"a":1', "EOF"),
        (b'{"b":"\xff"}', "not UTF-8"),
        ('{"b":"\\ud800"}', "escape"),
        ("", "EOF"),
    ],
)
def test_bad_texts_are_refused(text: Any, problem: str):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    with pytest.raises(ls.CorruptError, match=rf"\[SCH-3\].*{problem}"):
        one(text, schema)
    # Of any type, the same texts are kept as they are if they are JSON.
    if "there twice" not in problem and "fit" not in problem and text != '{"a":"x"}':
        with pytest.raises(ls.CorruptError):
            one(text, {})


def test_wide_structs_cost_a_budget():
    wide = {"type": "object", "properties": {f"f{number}": {"type": "integer"} for number in range(15_000)}}
    with pytest.raises(ls.LimitError, match=r"\[SCH-5\].*max_value_items"):
        one("[" + "{}," * 5_000 + "{}]", {"type": "array", "items": wide})


def test_schemas_that_cannot_be_used():
    with pytest.raises(ValueError, match="no field z"):
        ls.decode(segment(b"1"), values="json", schemas=ls.schemas.single({"type": "integer"}, "json"), columns=["valueRecord.z"])
    with pytest.raises(ValueError, match=r"\$ref #/nope is not there"):
        one("1", reader_schema={"$ref": "#/nope"})
    with pytest.raises(ls.UnsupportedError, match=r"\[SCH-6\].*of type AVRO, not JSON"):
        ls.decode(segment(b"1"), values="json", schemas=ls.schemas.single('"int"'), columns=["valueRecord"]).to_pylist()


def test_cat_prints_json_values_without_schemas():
    done = run("cat", VALUES / "alpha-json-evolution-0", "--values", "json", "--columns", "offset,valueRecord.b", "-n", "2")
    assert done.code == 0
    assert [line["valueRecord.b"] for line in done.lines] == [
        line["value"]["decoded"]["b"] for line in truth_of("alpha-json-evolution-0")[:2]
    ]
