"""Detected framings, local schemas, unknown schemas and Kafka's own serializers in Spark."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa

import corpus
import logsegment as ls

FINDS = corpus.TESTS / "finds"
START = 1_700_000_000_000


def read(spark: Any, path: Path, **options: str) -> Any:
    return spark.read.format("logsegment").options(**options).load(str(path))


def test_values_of_unknown_schemas_and_names_twice_are_null(spark: Any):
    rows = read(spark, FINDS / "auto" / "counts-0", values="auto").select("offset", "valueRecord").collect()
    assert [tuple(row) for row in rows] == [(0, None), (1, None)]
    twice = read(spark, FINDS / "auto-duplicate-name" / "au-dup-0", values="auto").select("valueRecord.a")
    assert [row.a for row in twice.collect()] == [1, None, None]


def test_a_framing_is_detected_or_named(spark: Any):
    messages = FINDS / "messages"
    for more in ({}, {"schemas.framing": "confluent"}):
        frame = read(spark, messages / "t1-0", **{"values": "avro", "schemas.path": str(messages / "user.avsc"), **more})
        assert frame.selectExpr("valueRecord.num").first()[0] == 7


def test_workers_need_no_files_of_local_schemas(spark: Any):
    orders = FINDS / "local-schemas"
    frame = read(spark, orders / "p-raw-0", **{"values": "protobuf", "schemas.path": str(orders / "protos" / "order.proto")})
    assert frame.selectExpr("valueRecord.items[0].sku").first()[0] == "sku-9"


def test_types_of_kafkas_serializers(spark: Any, tmp_path: Path):
    path = tmp_path / "counts-0" / "00000000000000000000.log"
    path.parent.mkdir()
    table = pa.table({"key": [b"k" + struct.pack(">q", START)], "value": [struct.pack(">h", 5)]})
    path.write_bytes(ls.encode(table) or b"")
    frame = read(spark, path.parent, values="short", keyValues="windowed(string)")
    row = frame.selectExpr("valueRecord", "keyRecord.key", "unix_millis(keyRecord.windowStart) as start").first()
    assert (row.valueRecord, row.key, row.start) == (5, "k", START)
