"""`encode_array`: lists of records in a column to raw batches, one result per value; and the policy that says which topics are packed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls

SEGMENT = (corpus.CORPUS / "modern-4.1.0/data/edge-records-0/00000000000000000000.log").read_bytes()
COLUMNS = ["offset", "timestampMs", "key", "value", "headersRaw"]
RECORD = pa.struct([("key", pa.binary()), ("value", pa.binary())])


def whole(batches: list[dict[str, Any]]) -> list[bytes]:
    return [SEGMENT[batch["position"] : batch["position"] + batch["size"]] for batch in batches if batch["baseTimestamp"] >= -1]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_each_value_becomes_the_batches_of_its_records(codec: Any):
    values = [value for value in whole(ls.batches(SEGMENT).to_pylist()) if is_writable(value)]
    assert len(values) > 5
    lists = pa.array(ls.decode_array(pa.array([None, *values, b""], pa.binary()), columns=COLUMNS))
    raw = pa.array(ls.encode_array(lists, compression=codec))
    assert raw.type == pa.binary()
    assert raw[0].as_py() is None
    assert raw[-1].as_py() == b""
    assert pa.array(ls.decode_array(raw, columns=COLUMNS)).to_pylist() == lists.to_pylist()


def is_writable(value: bytes) -> bool:
    """V2-17: writers refuse times below -1."""
    return all(time >= -1 for time in ls.decode(value, columns=["timestampMs"]).to_pyarrow()["timestampMs"].to_pylist())


def test_offsets_and_sequences_begin_anew_with_each_value():
    lists = pa.array([[{"value": b"a"}, {"value": b"b"}], [{"value": b"c"}]], pa.list_(RECORD))
    raw = pa.array(ls.encode_array(lists, base_offset=40, producer_id=1, producer_epoch=0, base_sequence=7)).to_pylist()
    batches = [ls.batches(value).to_pylist()[0] for value in raw]
    assert [(batch["baseOffset"], batch["lastOffset"], batch["baseSequence"]) for batch in batches] == [(40, 41, 7), (40, 40, 7)]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_lists_may_be_sliced_and_large(kind: Any):
    lists = pa.array([[{"value": b"x"}], [{"value": b"a"}], None, [{"value": b"b"}], [{"value": b"y"}]], kind(RECORD)).slice(1, 3)
    raw = pa.array(ls.encode_array(lists)).to_pylist()
    assert raw == [ls.encode(pa.table({"value": [b"a"]})), None, ls.encode(pa.table({"value": [b"b"]}))]


def test_chunks_are_one_column():
    chunks = pa.chunked_array([[[{"value": b"a"}], None], [[{"value": b"b"}]]], pa.list_(RECORD))
    assert pa.array(ls.encode_array(chunks)).to_pylist() == [
        ls.encode(pa.table({"value": [b"a"]})),
        None,
        ls.encode(pa.table({"value": [b"b"]})),
    ]


def test_errors_say_the_value_and_the_record():
    item = pa.struct([("value", pa.binary()), ("timestampMs", pa.int64())])
    lists = pa.array([[], [{"value": b"a", "timestampMs": 0}, {"value": b"b", "timestampMs": -2}]], pa.list_(item))
    with pytest.raises(ValueError, match=r"\[V2-17\] in row 1, record 1: Invalid negative timestamp -2"):
        ls.encode_array(lists)


@pytest.mark.parametrize("array", [pa.array([b"raw"]), pa.array([[b"raw"]]), pa.array([{"value": b"v"}])])
def test_other_columns_are_refused(array: pa.Array):
    with pytest.raises(ValueError, match="lists of record structs"):
        ls.encode_array(array)
    with pytest.raises(TypeError, match="__arrow_c_array__"):
        ls.encode_array(b"bytes")


# The policy.


@pytest.mark.parametrize(
    ("codec", "topics", "expected"),
    [
        ("none", [], {"a": "none", "b": "none"}),
        ("none", ["a"], {"a": "none", "b": "none"}),
        ("gzip", [], {"a": "gzip", "b": "gzip"}),
        ("gzip", ["a"], {"a": "gzip", "b": "none", "A": "none", " a": "none"}),
    ],
)
def test_l7_29_codec_and_topics_decide(codec: Any, topics: list[str], expected: dict[str, str]):
    policy = ls.CompressionPolicy(codec, topics)
    assert {topic: policy.codec_for(topic) for topic in expected} == expected


@pytest.mark.parametrize(
    ("properties", "policy"),
    [
        ({}, ls.CompressionPolicy()),
        ({"compression.codec": "1"}, ls.CompressionPolicy("gzip")),
        ({"compression.codec": "3"}, ls.CompressionPolicy("lz4")),
        ({"compression.codec": "2", "compressed.topics": ""}, ls.CompressionPolicy("snappy")),
        ({"compression.codec": "1", "compressed.topics": "a,b,,c"}, ls.CompressionPolicy("gzip", ["a", "b", "c"])),
        ({"compression.codec": "1", "compressed.topics": "a, b"}, ls.CompressionPolicy("gzip", ["a", " b"])),
    ],
)
def test_l7_28_properties_of_the_producer(properties: dict[str, str], policy: ls.CompressionPolicy):
    assert ls.CompressionPolicy.from_properties(properties) == policy


def test_policies_refuse_what_is_no_codec():
    with pytest.raises(ls.UnknownCompressionError, match="Unknown compression name: brotli"):
        ls.CompressionPolicy("brotli")  # type: ignore[arg-type]
    for codec in ("4", "gzip", "-1"):
        with pytest.raises(ValueError, match="is an unknown compression codec"):
            ls.CompressionPolicy.from_properties({"compression.codec": codec})
    with pytest.raises(TypeError, match="not one string"):
        ls.CompressionPolicy("gzip", "orders")
