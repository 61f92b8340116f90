"""How values name their schemas: detected next to one schema, or named by `framing=`, `--framing` and `schemas.framing`."""

from __future__ import annotations

import json
import pickle
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run
from logsegment._options import ReadOptions
from logsegment._typed_values import planned

FINDS = corpus.TESTS / "finds" / "messages"
USER = FINDS / "user.avsc"
GUID = bytes(range(16))
PROTO = 'syntax = "proto3"; message A { int32 n = 1; } message B { string s = 1; message C { int32 m = 1; } }'
SCHEMA = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}, {"name": "num", "type": ["int", "null"]}]}
ADA = {"name": "Ada", "num": 7}
BARE = bytes.fromhex("0641646100 0e")
#: Each framing of the same value.
FRAMED = {
    "none": BARE,
    "confluent": b"\0\0\0\0\7" + BARE,
    "guid": b"\1" + GUID + BARE,
    "apicurio": b"\0\0\0\0\0\0\0\0\7" + BARE,
    "glue": b"\3\0" + GUID + BARE,
}


def segment(*values: bytes, headers: Any = None) -> bytes:
    columns: dict[str, Any] = {"value": pa.array(values, "binary")}
    if headers is not None:
        columns["headers"] = [headers] * len(values)
    data = ls.encode(pa.table(columns))
    assert data is not None
    return data


def container(*values: Any, schema: Any = SCHEMA, codec: str = "null") -> bytes:
    """An Avro container file with one block; fastavro writes no zstandard, so the block is compressed here."""
    out = BytesIO()
    for value in values:
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    body = out.getvalue()
    packed = {
        "null": lambda: body,
        "deflate": lambda: zlib.compress(body)[2:-4],
        "snappy": lambda: pa.Codec("snappy").compress(body, asbytes=True) + zlib.crc32(body).to_bytes(4, "big"),
        "zstandard": lambda: pa.Codec("zstd").compress(body, asbytes=True),
    }[codec]()
    head = long(2) + text(b"avro.codec") + text(codec.encode()) + text(b"avro.schema") + text(json.dumps(schema).encode()) + long(0)
    return b"Obj\1" + head + GUID + long(len(values)) + text(packed) + GUID


def long(value: int) -> bytes:
    """A positive number as Avro writes it."""
    left, raw = 2 * value, bytearray()
    while left > 0x7F:
        raw.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*raw, left])


def text(raw: bytes) -> bytes:
    return long(len(raw)) + raw


def decoded(data: bytes, schemas: Any, kind: Any = "avro", **options: Any) -> tuple[list[Any], dict[str, int]]:
    stream = ls.decode(data, values=kind, schemas=schemas, columns=["valueRecord"], **options)
    return [row["valueRecord"] for row in stream.to_pylist()], stream.framings


@pytest.mark.parametrize("topic", ["t1-0", "glue-0"])
@pytest.mark.parametrize("kind", ["avro", "auto"])
def test_a_framing_next_to_one_schema_is_detected_and_reported_once(topic: str, kind: Any):
    stream = ls.Log(FINDS / topic).records(values=kind, schemas=ls.schemas.single(USER), columns=["valueRecord"])
    assert stream.to_pylist() == [{"valueRecord": ADA}]
    name = "glue" if topic == "glue-0" else "confluent"
    assert stream.framings == {name: 1}
    done = run("cat", FINDS / topic, "--values", kind, "--schemas", USER)
    assert (done.code, done.lines[0]["valueRecord"]) == (0, ADA)
    assert done.err.count(f"detected framing: {name} (1 value)") == 1


def test_each_framing_is_detected_and_can_be_named():
    schemas = ls.schemas.single(USER)
    values, framings = decoded(segment(*FRAMED.values()), schemas)
    assert values == [ADA] * len(FRAMED)
    assert framings == {name: 1 for name in FRAMED if name != "none"}
    for name, raw in FRAMED.items():
        assert decoded(segment(raw), schemas, framing=name) == ([ADA], {})
        # Confluent's has GUIDs too, Apicurio's ids of 4 bytes.
        also = {"confluent": "guid", "apicurio": "confluent"}.get(name)
        others = [other for item, other in FRAMED.items() if item not in (name, also)]
        stream = ls.decode(segment(*others), values="avro", schemas=schemas, framing=name, columns=["valueRecord"], on_error="skip")  # type: ignore[arg-type]
        assert stream.to_pylist() == [{"valueRecord": None}] * len(others)
    with pytest.raises(ValueError, match="framing must be"):
        decoded(b"", schemas, framing="confluence")


def test_the_error_of_a_named_framing_names_the_other_one():
    for name in ("confluent", "glue"):
        with pytest.raises(ls.CorruptError, match=rf"--framing {name}\)"):
            decoded(segment(FRAMED[name]), ls.schemas.single(USER), framing="none")


def test_glue_compresses_with_zlib_and_names_schemas_by_guid(tmp_path: Path):
    (tmp_path / "00010203-0405-0607-0809-0a0b0c0d0e0f.avsc").write_text(USER.read_text())
    (tmp_path / "9420cb08-62ae-587f-8b29-c41324ffcbaa.avsc").write_text('"long"')
    packed = b"\3\5" + GUID + zlib.compress(BARE)
    for schemas, kind in ((ls.schemas.from_directory(tmp_path), "avro"), (ls.schemas.from_directory(tmp_path), "auto")):
        assert decoded(segment(packed, FRAMED["glue"]), schemas, kind)[0] == [ADA, ADA]
    assert decoded(segment(packed), ls.schemas.single(USER))[0] == [ADA]
    bomb = b"\3\5" + GUID + zlib.compress(bytes(80 << 20))
    with pytest.raises(ls.LimitError, match=r"\[SCH-5\]"):
        decoded(segment(bomb), ls.schemas.single(USER), framing="glue")
    for broken in (packed[:-3], b"\3\5" + GUID + b"x", b"\3\5" + GUID):
        with pytest.raises(ls.RecordBatchError, match=r"\[SCH-3\]"):
            decoded(segment(broken), ls.schemas.single(USER), framing="glue")


def test_glue_numbers_the_messages_of_protobuf_by_their_names():
    schemas = ls.schemas.single(PROTO, type="protobuf")
    values, _ = decoded(
        segment(*(b"\3\0" + GUID + item for item in (b"\0\x08\5", b"\1\x0a\1x", b"\2\x08\6"))), schemas, "protobuf", framing="glue"
    )
    assert [next(item for item in value.values() if item is not None) for value in values] == [{"n": 5}, {"s": "x"}, {"m": 6}]


def test_messages_of_protobuf_next_to_one_schema():
    schemas = ls.schemas.single(PROTO, type="protobuf")
    one = {"bare": b"\x08\5", "first": b"\0\0\0\0\7\0\x08\5", "no index": b"\0\0\0\0\7\x08\5"}
    for raw in one.values():
        assert decoded(segment(raw), schemas, "protobuf")[0] == [{"n": 5}]
    values, framings = decoded(segment(one["first"], b"\0\0\0\0\7\2\2\x0a\1x"), schemas, "protobuf")
    assert [next(item for item in value.values() if item is not None) for value in values] == [{"n": 5}, {"s": "x"}]
    assert framings == {"confluent": 2}


def test_an_id_in_a_header_next_to_one_schema():
    headers = [{"key": "__value_schema_id", "value": b"\1" + GUID}]
    values, framings = decoded(segment(BARE, headers=headers), ls.schemas.single(USER))
    assert (values, framings) == ([ADA], {"header": 1})


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_container_files_have_their_schemas(codec: str):
    raw = container(ADA, codec=codec)
    if codec == "null":
        assert list(fastavro.reader(BytesIO(raw))) == [ADA]
    other = {"type": "record", "name": "Other", "fields": [{"name": "x", "type": "double"}]}
    assert decoded(segment(raw), None, framing="container") == ([ADA], {})
    assert decoded(segment(raw), ls.schemas.single(USER), framing="container")[0] == [ADA]
    values, _ = decoded(segment(raw, container({"x": 0.5}, schema=other, codec=codec)), None, framing="container")
    assert [[item for item in value.values() if item is not None] for value in values] == [[ADA], [{"x": 0.5}]]
    assert decoded(segment(raw, b"{}"), None, "auto")[0][0] is not None
    # The writer's schema is resolved to the one that is given.
    wider = {"type": "record", "name": "User", "fields": [{"name": "num", "type": ["long", "null"]}]}
    assert decoded(segment(raw), ls.schemas.single(wider), framing="container")[0] == [{"num": 7}]


def test_broken_container_files_are_errors():
    two = container(ADA, ADA)
    with pytest.raises(ls.CorruptError, match="2 values in the Avro container file"):
        decoded(segment(two), None, framing="container")
    good = container(ADA)
    for cut in range(4, len(good)):
        with pytest.raises(ls.RecordBatchError, match=r"\[SCH-[123]\]"):
            decoded(segment(good[:cut]), ls.schemas.single(USER), framing="container")


def test_detection_is_pickled_with_a_plan():
    read = planned(ReadOptions(values="avro", schemas=ls.schemas.single(USER)), [(None, segment(BARE))])
    again = pickle.loads(pickle.dumps(read))
    rows = ls._decode.core_decode(segment(*FRAMED.values()), again)  # type: ignore[attr-defined]
    assert [row["valueRecord"] for row in rows.to_pylist()] == [ADA] * len(FRAMED)


def test_a_json_error_names_the_number_and_its_place():
    with pytest.raises(ls.CorruptError, match="NaN is not a number of JSON: line 1 column 7"):
        ls.Log(FINDS / "nan-0").records(values="json").to_pylist()
    for word in ("Infinity", "-Infinity", "NaN"):
        for kind, schemas in (("json", None), ("json", ls.schemas.single('{"type": "object"}', type="json"))):
            with pytest.raises(ls.CorruptError, match=rf"{word} is not a number of JSON: line 2 column \d"):
                ls.decode(segment(b'{"a": 1,\n "b": [' + word.encode() + b"]}"), values=kind, schemas=schemas).to_pylist()  # type: ignore[arg-type]


def test_encode_writes_the_payload_alone_next_to_one_schema():
    table = pa.table({"valueRecord": [ADA]})
    data = ls.encode(table, values="avro", schemas=ls.schemas.single(USER))
    assert ls.decode(data, columns=["value"]).to_pylist() == [{"value": BARE}]
