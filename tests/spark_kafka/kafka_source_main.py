"""The other end of `KafkaSource`: runs in the venv of the PySpark that has Spark's Kafka source.

python kafka_source_main.py JARS MEMORY JAVA_OPTIONS: answers each line of JSON on stdin with one on stdout.
"""

import json
import os
import sys
import time

from pyspark.sql import SparkSession

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "none",
}


def main(jars, memory, java_options):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What Spark prints is no answer.
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars).config("spark.driver.memory", memory)
    for name, value in {**OPTIONS, "spark.driver.extraJavaOptions": java_options}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        print(json.dumps(answer(spark, json.loads(line))), file=answers, flush=True)
    spark.stop()


def answer(spark, request):
    verb = VERBS[request.pop("verb")]
    frame = spark.read.format("kafka").options(**request.pop("options"))
    try:
        return verb(frame.load(), **request)
    except Exception as error:
        return {"error": str(error)[:4000]}


def read(frame, out):
    frame.write.mode("overwrite").parquet(out)
    return {"schema": frame.schema.jsonValue(), "tasks": frame.rdd.getNumPartitions()}


def count(frame):
    return {"rows": frame.count()}


def timed(frame, query):
    start = time.perf_counter()
    QUERIES[query](frame)
    return {"seconds": time.perf_counter() - start}


def consumed(frame):
    frame.selectExpr("sum(length(key))", "sum(length(value))", "max(offset)").collect()


def noop(frame):
    frame.write.format("noop").mode("overwrite").save()


VERBS = {"read": read, "count": count, "time": timed}
QUERIES = {"consumed": consumed, "noop": noop}

if __name__ == "__main__":
    main(*sys.argv[1:])
