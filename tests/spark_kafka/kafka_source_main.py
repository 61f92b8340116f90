"""The other end of `KafkaSource`: runs in the venv of the PySpark that has Spark's Kafka source.

python kafka_source_main.py JARS MEMORY JAVA_OPTIONS: answers each line of JSON on stdin with one on stdout.
"""

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

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
    try:
        return verb(spark, request.pop("options"), **request)
    except Exception as error:
        return {"error": str(error)[:4000]}


def records(spark, options):
    return spark.read.format("kafka").options(**options).load()


def read(spark, options, out):
    frame = records(spark, options)
    frame.write.mode("overwrite").parquet(out)
    return {"schema": frame.schema.jsonValue(), "tasks": frame.rdd.getNumPartitions()}


def stream(spark, options, out, checkpoint):
    frame = spark.readStream.format("kafka").options(**options).load()
    writing = frame.writeStream.format("parquet").option("path", out).option("checkpointLocation", checkpoint)
    writing.trigger(availableNow=True).start().awaitTermination()
    return {"schema": frame.schema.jsonValue()}


def count(spark, options):
    return {"rows": records(spark, options).count()}


def query(spark, options, name, schema=None):
    """With an Avro schema: values decoded without the five bytes of a registry's framing, which `from_avro` does not know."""
    frame = records(spark, options)
    if schema is not None:
        from pyspark.sql.avro.functions import from_avro

        frame = frame.selectExpr("offset", "substring(value, 6) AS value").select("offset", from_avro("value", schema).alias("valueRecord"))
    return {"answer": QUERIES[name](frame)}


def consumed(frame):
    frame.selectExpr("sum(length(key))", "sum(length(value))", "max(offset)").collect()


def noop(frame):
    frame.write.format("noop").mode("overwrite").save()


def group(frame):
    frame.groupBy("partition").agg(F.sum(F.length("value"))).collect()


def count_even(frame):
    frame.where("offset % 2 = 0").agg(F.count("*")).collect()


def two_fields(frame):
    frame.selectExpr("sum(valueRecord.id)", "sum(valueRecord.amount)").collect()


def rows_as_number(frame):
    """A hash has no maps: those are lists of entries, in their order."""
    entries = "transform(array_sort(map_entries(valueRecord.tags)), entry -> struct(entry.key AS key, entry.value AS value))"
    flat = frame.select("offset", "valueRecord.*", F.expr(entries).alias("entries")).drop("tags")
    return str(flat.selectExpr("count(*) AS rows", "bit_xor(xxhash64(*)) AS hash").first())


VERBS = {"read": read, "stream": stream, "count": count, "query": query}
QUERIES = {
    "consumed": consumed,
    "noop": noop,
    "group": group,
    "count": count_even,
    "two fields": two_fields,
    "rows": rows_as_number,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
