"""`decode_values` beside Spark's `from_avro` over the rows of the Kafka source, on local[2], in one run.

`from_avro` does not know Confluent's framing, so that it gets the value without its first 5 bytes. The rows are a Parquet file with the
columns of the Kafka source, cached in memory: no broker and no segment is read. Both sides give the same rows, which is checked first.
Values are written by fastavro. Maven brings the jar of spark-avro.
Prints [{"rows", "value_bytes", "query", "decode_values": {...}, "from_avro": {...}, "ratio"}] as one JSON line; the ratio is of rows per
second.
"""

import argparse
import io
import json
import random
import sys

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

import logsegment as ls
from benches.paths import ROOT, WORK
from benches.spark.measure import noop, session, take_turns
from logsegment.spark import decode_values

sys.path[:0] = [str(ROOT / "tests" / name) for name in ("interop", "support")]
import eras  # noqa: E402

#: The newest release whose jar is in Maven Central.
SPARK_AVRO = "4.2.0"

SCHEMA = {
    "type": "record",
    "name": "Order",
    "namespace": "bench",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "paid", "type": "boolean"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "SENT", "DONE"]}},
        {"name": "tags", "type": {"type": "map", "values": "long"}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}, {"name": "price", "type": "double"}],
                },
            },
        },
    ],
}
SCHEMA_ID = 7


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    place, size = write_rows(args.rows)
    spark = session(jars=",".join(eras.spark_avro(SPARK_AVRO)))
    try:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
        frames = frames_of(spark, place)
        ensure_equal(frames)
        queries = {"all fields": (frames, noop), "two fields": (frames_of(spark, place, ["id", "amount"]), two_fields)}
        rows = [measured(name, take_turns(both, run, args.rows, args.rounds)) for name, (both, run) in queries.items()]
    finally:
        spark.stop()
    print(json.dumps([{"rows": args.rows, "value_bytes": size} | row for row in rows]))


def measured(query, found):
    return {"query": query, **found, "ratio": found["decode_values"]["mrows_s"] / found["from_avro"]["mrows_s"]}


def two_fields(frame):
    frame.selectExpr("sum(order.id)", "sum(order.amount)").collect()


def frames_of(spark, place, fields=None):
    """Return the decoded frames: the same rows, decoded by each side."""
    from pyspark.sql.avro.functions import from_avro

    rows = spark.read.parquet(str(place)).repartition(2).cache()
    rows.count()
    schemas = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", json.dumps(SCHEMA), SCHEMA_ID),), "confluent")
    cut = rows.selectExpr("substring(value, 6) AS value")
    return {
        "decode_values": rows.select(decode_values(schemas, fields=fields)("value").alias("order")),
        "from_avro": cut.select(from_avro("value", json.dumps(SCHEMA)).alias("order")),
    }


def ensure_equal(frames):
    ours, theirs = (frame.select("order.*").drop("tags").orderBy("id") for frame in frames.values())
    assert ours.exceptAll(theirs).count() == theirs.exceptAll(ours).count() == 0
    ours, theirs = (frame.selectExpr("order.id", "sort_array(map_entries(order.tags)) AS tags") for frame in frames.values())
    assert ours.exceptAll(theirs).count() == theirs.exceptAll(ours).count() == 0


def write_rows(count):
    place = WORK / "spark" / f"avro-{count}.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    parsed, rng = fastavro.parse_schema(SCHEMA), random.Random(7)
    values = [framed(parsed, order(rng, number)) for number in range(count)]
    table = {"key": pa.nulls(count, pa.binary()), "value": pa.array(values, pa.binary()), "offset": pa.array(range(count), pa.int64())}
    pq.write_table(pa.table(table), place, compression="none")
    print(f"spark values: {count} rows of {sum(map(len, values)) // count} bytes", file=sys.stderr)
    return place, sum(map(len, values))


def framed(schema, record):
    out = io.BytesIO(b"\0" + SCHEMA_ID.to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, schema, record)
    return out.getvalue()


def order(rng, number):
    return {
        "id": number,
        "customer": f"customer {rng.randrange(100_000)}",
        "amount": rng.random() * 1000,
        "paid": rng.random() < 0.5,
        "note": None if rng.random() < 0.5 else "left at the door",
        "at": 1_700_000_000_000_000 + number,
        "state": rng.choice(["NEW", "SENT", "DONE"]),
        "tags": {f"tag{at}": rng.randrange(1000) for at in range(rng.randrange(3))},
        "lines": [{"sku": f"sku-{rng.randrange(10_000)}", "count": at, "price": rng.random()} for at in range(rng.randrange(1, 5))],
    }


if __name__ == "__main__":
    main()
