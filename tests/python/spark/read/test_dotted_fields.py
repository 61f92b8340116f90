"""Fields whose names have dots, in Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import corpus
import logsegment as ls

EVENTS = corpus.TESTS / "finds" / "dotted-names" / "ecs-0"


def test_fields_with_dots_are_named_in_backticks(spark: Any):
    from logsegment.spark import decode_values

    frame = spark.read.format("logsegment").option("values", "json")
    assert frame.load(str(EVENTS)).select("valueRecord.`log.level`").first()[0] == "INFO"
    pruned = frame.option("columns", "offset,valueRecord.`log.level`").load(str(EVENTS))
    assert pruned.columns == ["offset", "valueRecord.`log.level`"]
    assert tuple(pruned.first()) == (0, "INFO")
    schema = pa.schema({"log.level": pa.string(), "message": pa.string()})
    decoded = decode_values(None, values="json", reader_schema=schema, fields=["`log.level`"])
    raw = spark.read.format("logsegment").load(str(EVENTS))
    assert raw.select(decoded("value").alias("v")).first().v.asDict() == {"log.level": "INFO"}
    assert ls.Log(EVENTS).records(values="json", columns=["valueRecord.`log.level`"]).to_pylist() == [{"valueRecord.`log.level`": "INFO"}]
