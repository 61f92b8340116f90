"""The application that `test_plugin_topics.py` gives to a standalone cluster, whose executors know of a registry where its brokers are.

python plugin_cluster_main.py MASTER TARGET SECURE KNOWN: options of a registry as JSON, with TLS and SASL and without, through a proxy that
counts. What it found as JSON on stdout.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from logsegment.plugins import TopicRegistry
from logsegment.spark import decode_udf
from spark_cluster_main import OPTIONS

#: Records, tasks that write them, and the least tasks that read them.
RECORDS, WRITERS, READERS = 400, 4, 20


def main(master: str, target: str, secure: str, known: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("plugins")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.range(0, RECORDS, 1, WRITERS).selectExpr("cast(concat('order ', id) as binary) as value")
    options = {"topic": "orders", "compression": "small", "batchBytes": "200", "segmentBytes": "800"}
    rows.write.format("logsegment").options(**options, **json.loads(secure)).mode("append").save(target)
    found = {"secure": values(spark, target, json.loads(secure)), "known": [], "by function": 0}
    for _ in range(3):
        found["known"].append(len(values(spark, target, json.loads(known))["values"]))
    registry = TopicRegistry(json.loads(known)["plugins.kafka.bootstrap.servers"])
    raw = spark.read.format("binaryFile").option("pathGlobFilter", "*.log").load(f"{target}/orders-0").repartition(8)
    decode = decode_udf(columns=["value"], codecs=registry)
    found["by function"] = raw.select(decode("content").alias("records")).selectExpr("inline(records)").count()
    spark.stop()
    print(json.dumps(found), file=answers, flush=True)


def values(spark: SparkSession, target: str, options: dict[str, str]) -> dict[str, Any]:
    """What is read, in how many tasks, and by how many executors: each has one parent of its workers."""

    def with_parent(batches: Any) -> Any:
        for batch in batches:
            yield batch.append_column("parent", pa.array([os.getppid()] * batch.num_rows, pa.int64()))

    read = spark.read.format("logsegment").options(minPartitions=str(READERS), **options).load(target).select("value")
    rows = read.mapInArrow(with_parent, "value binary, parent bigint").collect()
    return {
        "values": sorted(bytes(row["value"]).decode() for row in rows),
        "tasks": read.rdd.getNumPartitions(),
        "executors": len({row["parent"] for row in rows}),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
