"""JSON texts in Spark that columns hold badly: integers of more than 64 bits, deep texts, names with U+0000."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import corpus

FINDS = corpus.TESTS / "finds"
BEYOND = 10**21 + 1


def read(spark: Any, path: Path, **options: str) -> Any:
    return spark.read.format("logsegment").options(values="json", **options).load(str(path))


def test_integers_above_64_bits_are_exact(spark: Any, tmp_path: Path):
    from pyspark.sql.functions import col, lit

    from logsegment.spark import decode_values

    wei = FINDS / "json-integers" / "wei-0"
    frame = read(spark, wei)
    assert [tuple(row) for row in frame.select("offset", "valueRecord.n").collect()] == [(0, BEYOND), (1, 5)]
    schema = tmp_path / "n.json"
    schema.write_text(json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}}))
    options = {"schemas.path": str(schema), "mode": "PERMISSIVE"}
    kept = read(spark, wei, **options).selectExpr("valueRecord is null", "valueRecord.n", "_corrupt_record like '%SCH-3%'").collect()
    assert [tuple(row) for row in kept] == [(False, None, True), (False, 5, None)]
    exact = read(spark, wei, **options, integers="decimal").select("valueRecord.n", "_corrupt_record").collect()
    assert [tuple(row) for row in exact] == [(BEYOND, None), (5, None)]
    decoded = decode_values(None, values="json", reader_schema=schema, integers="decimal")
    values = spark.range(1).select(decoded(lit(b'{"n":%d}' % BEYOND)).alias("v"))
    assert values.select(col("v.n")).first()[0] == Decimal(BEYOND)
    decoded = decode_values(None, values="json", reader_schema=schema, on_error="raise")
    beyond = spark.range(1).select(decoded(lit(b'{"n":%d}' % BEYOND)).alias("v"))
    with pytest.raises(Exception, match="does not fit the column of 64 bits"):
        beyond.select(col("v.n")).collect()
    with pytest.raises(Exception, match="option integers needs the option values"):
        spark.read.format("logsegment").options(integers="decimal").load(str(wei)).collect()


@pytest.mark.parametrize(("name", "rule"), [("json-deep-record", "SCH-5"), ("json-nul-key", "SCH-3")])
def test_one_bad_text_is_one_null(spark: Any, name: str, rule: str):
    rows = read(spark, FINDS / name / "x-0", mode="PERMISSIVE").selectExpr("valueRecord.a", f"_corrupt_record like '%{rule}%'").collect()
    assert [tuple(row) for row in rows] == [(0, None), (1, None), (2, None), (None, True)]
    kept = spark.read.format("logsegment").options(values="auto").load(str(FINDS / name / "x-0")).select("valueRecord.a").collect()
    assert [row.a for row in kept] == [0, 1, 2, None]
