"""Typed values beside Spark's `from_avro` over its own Kafka source, one topic of one broker, each in a Spark of its own, in one run.

Ours is `format("logsegment").option("values", "avro")` over the broker's directory. `from_avro` does not know Confluent's framing, so that
it gets each value of the Kafka source without its first 5 bytes. Both give the same rows, which is checked first. The values are those of
benches/spark/values.py, written by fastavro, in batches of lz4, 100,000 of them again and again.
Prints [{"query", "rows", "value_bytes", "ours": {...}, "kafka": {...}}] as one JSON line.
"""

import argparse
import json
import shutil
import sys
from functools import partial

import pyarrow.parquet as pq

import logsegment as ls
from benches.spark.measure import noop, session
from benches.spark.values import SCHEMA, write_rows
from benches.spark_kafka.broker import BATCH_BYTES, PARTITIONS, repeated, scratch, serving
from benches.spark_kafka.measure import take_turns, told

CODEC = "lz4"
DIFFERENT_VALUES = 100_000
FIRST_WARM_UPS = 3


def two_fields(frame):
    frame.selectExpr("sum(`valueRecord.id`)", "sum(`valueRecord.amount`)").collect()


#: Query, and the columns that it needs; None for the offset and all fields.
QUERIES = {"noop": (noop, None), "two fields": (two_fields, "valueRecord.id,valueRecord.amount")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_500_000, help="at least so many in each partition")
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    directory = scratch() / "values"
    shutil.rmtree(directory, ignore_errors=True)
    one, size = encoded()
    paths, rows = repeated(one, directory / "segments", args.rows)
    spark = session()
    try:
        with serving({"values": paths}, directory, "") as (broker, source):
            bench = Bench(spark, broker, source, directory)
            bench.ensure_equal()
            print(json.dumps([bench.measure(query, rows * PARTITIONS, args.rounds) | {"value_bytes": size} for query in QUERIES]))
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)


def encoded():
    """Batches of framed values, and the mean bytes of a value."""
    place, size = write_rows(DIFFERENT_VALUES)
    values = pq.read_table(place, columns=["offset", "value"])
    return ls.encode(values, compression=CODEC, batch_bytes=BATCH_BYTES, partition_leader_epoch=0), size // DIFFERENT_VALUES


class Bench:
    """The broker, both Sparks, and the directory of schemas that ours reads."""

    def __init__(self, spark, broker, source, directory):
        self.spark = spark
        self.jvm = spark.sparkContext._gateway.proc.pid
        self.broker = broker
        self.source = source
        self.schemas = directory / "order.avsc"
        self.schemas.write_text(json.dumps(SCHEMA))

    def frame(self, columns=None):
        logs = [str(self.broker.partition("bench-values", partition)) for partition in range(PARTITIONS)]
        options = {"values": "avro", "schemas.path": str(self.schemas), "schemas.framing": "confluent"}
        return self.spark.read.format("logsegment").options(**options, columns=columns or "offset,valueRecord").load(logs)

    def theirs(self, query):
        options = {"kafka.bootstrap.servers": self.broker.servers, "subscribe": "bench-values"}
        return self.source.query(options, query, json.dumps(SCHEMA))

    def ensure_equal(self):
        entries = "transform(array_sort(map_entries(valueRecord.tags)), entry -> struct(entry.key AS key, entry.value AS value)) AS entries"
        flat = self.frame().selectExpr("offset", "valueRecord.*", entries).drop("tags")
        ours, theirs = str(flat.selectExpr("count(*) AS rows", "bit_xor(xxhash64(*)) AS hash").first()), self.theirs("rows")
        if ours != theirs:
            raise SystemExit(f"the rows differ: ours {ours}, theirs {theirs}")

    def measure(self, query, rows, rounds):
        print(f"spark_kafka values: {query}", file=sys.stderr)
        run, columns = QUERIES[query]
        runs = {
            "ours": (partial(run, self.frame(columns)), self.jvm),
            "kafka": (partial(self.theirs, query), self.source.process.pid),
        }
        turns = take_turns(runs, rounds, FIRST_WARM_UPS, self.broker)
        return {"query": query, "rows": rows, **{name: told(found, rows) for name, found in turns.items()}}


if __name__ == "__main__":
    main()
