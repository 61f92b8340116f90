"""Protobuf keys and values as columns: the partitions of the corpus equal their truth, refusals included."""

from __future__ import annotations

import base64
import json
import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from logsegment._options import ReadOptions
from logsegment._typed_values import planned
from values_corpus import VALUES, cases, registry, truth_of
from values_truth import fits, rows_of

CASES = [case["partition"] for case in cases() if case["format"] == "protobuf"]
RANDOM = [partition for partition in CASES if "-random-" in partition]
NAMED = [partition for partition in CASES if partition not in RANDOM]

TEXT = """
syntax = "proto3";
message M {
  int32 a = 1;
  optional string b = 2;
  M2 inner = 3;
  repeated int32 many = 4;
  map<int32, string> named = 5;
  oneof one { string left = 6; M2 right = 7; }
  enum State { NEW = 0; PAID = 1; }
  State state = 8;
}
message M2 { int32 x = 1; int32 y = 2; }
"""


def segment(*values: bytes | None) -> bytes:
    data = ls.encode(pa.table({"value": pa.array(values, "binary")}))
    assert data is not None
    return data


def one(value: bytes, text: str = TEXT, **options: Any) -> Any:
    schemas = ls.schemas.single(text, "protobuf")
    rows = ls.decode(segment(value), values="protobuf", schemas=schemas, columns=["valueRecord"], **options)
    return rows.to_pyarrow().to_pylist()[0]["valueRecord"]


def agrees(found: Any, cell: Any, kind: pa.DataType) -> bool:
    """A value of a column is that of the truth."""
    if isinstance(cell, dict) and pa.types.is_struct(kind) and tuple(cell) not in TAGGED:
        inner = {kind.field(at).name: kind.field(at).type for at in range(kind.num_fields)}
        return found is not None and found.keys() == cell.keys() and all(agrees(found[name], cell[name], inner[name]) for name in cell)
    if isinstance(cell, dict) and tuple(cell) in TAGGED:
        return _agrees_tagged(found, cell, kind)
    if isinstance(cell, list) and pa.types.is_list(kind):
        return len(found) == len(cell) and all(agrees(item, other, kind.value_type) for item, other in zip(found, cell, strict=True))
    if isinstance(cell, int) and pa.types.is_string(kind):
        # An enum's number without a name.
        return bool(found == str(cell))
    return fits(found, cell, kind)


TAGGED = {("pbts",), ("pbdur",), ("any",), ("wrap",), ("json",), ("map",)}


def _agrees_tagged(found: Any, cell: dict[str, Any], kind: pa.DataType) -> bool:
    ((tag, value),) = cell.items()
    match tag:
        case "pbts":
            return bool(found == value[0] * 10**9 + value[1])
        case "pbdur":
            return bool(found == {"seconds": value[0], "nanos": value[1]})
        case "any":
            return bool(found == {"type_url": value[0], "value": base64.b64decode(value[1])})
        case "wrap":
            return agrees(found, value, kind)
        case "json":
            return bool(json.loads(found) == value)
    pairs = dict(found)
    return len(found) == len(value) and all(agrees(pairs.get(key), item, kind.item_type) for key, item in value)


def disagreements(partition: str, values: Any = "protobuf") -> list[int]:
    schemas = replace(registry(), framing="confluent-no-index") if "kafkajs" in partition else registry()
    columns = ["offset", "valueRecord", "valueSchemaId"]
    stream = ls.Log(VALUES / partition).records(values=values, schemas=schemas, on_error="skip", columns=columns)
    table = stream.to_pyarrow()
    refused = {finding.base_offset for finding in stream.findings}
    kind = table.schema.field("valueRecord").type
    records = [record for chunk in table["valueRecord"].chunks for record in rows_of(chunk)]
    lines = truth_of(partition)
    assert len(lines) == len(records) > 0
    bad = []
    for line, record in zip(lines, records, strict=True):
        cell = line["value"]
        if cell is None or "error" in cell:
            is_right = record is None and (line["offset"] in refused) == (cell is not None)
        else:
            inner, found = kind, record
            if kind.field(0).name.startswith("schema_"):
                ((name, found),) = [(name, value) for name, value in record.items() if value is not None]
                inner = kind.field(name).type
            is_right = line["offset"] not in refused and agrees(found, cell["decoded"], inner)
        if not is_right:
            bad.append(line["offset"])
    return bad


@pytest.mark.parametrize("partition", NAMED)
def test_a_partition_equals_its_truth(partition: str):
    assert disagreements(partition) == []


def test_partitions_of_random_schemas_equal_their_truth():
    assert len(RANDOM) == 60
    assert {partition: found for partition in RANDOM if (found := disagreements(partition))} == {}


def test_several_messages_are_columns_next_to_each_other_and_fields_are_chosen():
    path = VALUES / "alpha-proto-nested-0"
    stream = ls.Log(path).records(values="protobuf", schemas=registry(), columns=["valueRecord.schema_409_First.a"])
    want = [line["value"]["decoded"].get("a") if line["value"]["message"] == "alpha.nested.First" else None for line in truth_of(path.name)]
    assert stream.to_pyarrow()["valueRecord.schema_409_First.a"].to_pylist() == want
    options = planned(ReadOptions(values="protobuf", schemas=registry(), columns=["valueRecord"]), [(None, str(next(path.glob("*.log"))))])
    from logsegment._core import decode

    again = decode(str(next(path.glob("*.log"))), pickle.loads(pickle.dumps(options))).to_pyarrow()
    whole = ls.Log(path).records(values="protobuf", schemas=registry(), columns=["valueRecord"]).to_pyarrow()
    # Not a number is not equal to itself.
    assert repr(again.to_pylist()) == repr(whole.to_pylist())


EMPTY = {"a": 0, "b": None, "inner": None, "many": [], "named": [], "left": None, "right": None, "state": "NEW"}


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (b"", {}),
        (b"\x08\x01\x08\x02", {"a": 2}),
        (b"\x12\x00", {"b": ""}),
        # Two parts of one message are one message.
        (b"\x1a\x02\x08\x01\x1a\x02\x10\x02", {"inner": {"x": 1, "y": 2}}),
        # Packed and loose, mixed.
        (b"\x22\x02\x01\x02\x20\x03\x22\x00\x22\x01\x04", {"many": [1, 2, 3, 4]}),
        # The last entry of a key counts; key and value may be missing.
        (b"\x2a\x05\x08\x01\x12\x01a\x2a\x05\x08\x01\x12\x01b\x2a\x00", {"named": [(1, "b"), (0, "")]}),
        # The last member of a oneof counts.
        (b"\x32\x01l\x3a\x02\x08\x01", {"right": {"x": 1, "y": 0}}),
        (b"\x3a\x02\x08\x01\x32\x01l", {"left": "l"}),
        (b"\x40\x01", {"state": "PAID"}),
        (b"\x40\x07", {"state": "7"}),
        # An unknown field, an unknown group, and a known field of another wire type.
        (b"\x98\x06\x01\x9b\x06\x08\x01\x9c\x06\x0d\x01\x00\x00\x00", {}),
        # int32 as ten bytes.
        (b"\x08" + b"\xff" * 9 + b"\x01", {"a": -1}),
    ],
)
def test_fields_of_the_wire(value: bytes, changes: dict[str, Any]):
    assert one(value) == EMPTY | changes


def test_hostile_values_are_refused_in_bounded_memory():
    with pytest.raises(ls.CorruptError, match=r"\[SCH-3\].*cut short: 2147483648"):
        one(b"\x12\x80\x80\x80\x80\x08x")
    with pytest.raises(ls.LimitError, match=r"\[SCH-5\].*max_value_depth"):
        one(b"\x9b\x06" * 100_000)
    deep = 'syntax = "proto3"; message D { D next = 1; }'
    value = b""
    for _ in range(2_000):
        length, size = b"", len(value)
        while size >= 0x80:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        value = b"\x0a" + length + bytes([size]) + value
    with pytest.raises(ls.LimitError, match=r"\[SCH-5\].*max_value_depth"):
        one(value, deep)
    wide = (
        'syntax = "proto3"; message W { repeated I many = 1; } message I {' + "".join(f"int64 f{n} = {n + 1};" for n in range(9_000)) + "}"
    )
    with pytest.raises(ls.LimitError, match=r"\[SCH-5\].*max_value_items"):
        one(b"\x0a\x00" * 5_000, wide)


@pytest.mark.parametrize("text", ["message", 'syntax = "proto3";', 'syntax = "proto3"; import "x.proto"; message M {}', "{" * 100_000])
def test_bad_schemas_are_refused(text: str):
    with pytest.raises(ls.UnsupportedError, match=r"\[SCH-6\]"):
        one(b"", text)


def test_auto_decodes_all_three_formats_of_one_topic():
    stream = ls.Log(VALUES / "alpha-mixed-0").records(values="auto", schemas=registry(), columns=["valueRecord"])
    stream.read_all()
    stats = stream.io_stats
    assert stats.avro_values + stats.json_values + stats.protobuf_values == 300
    assert disagreements("alpha-mixed-0", "auto") == []
