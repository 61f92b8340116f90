"""What `load`, the functions and `next_offsets` answer under one version of PySpark, as one line of JSON; for test_pyspark_functions.py.

python pyspark_functions_main.py CORPUS DAMAGED WORK
"""

import json
import sys
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame, SparkSession

from logsegment.spark import (
    batch_info_udf,
    convert_udf,
    decode_batches,
    decode_udf,
    encode_udf,
    load,
    next_offsets,
    register,
    validate_udf,
)

SETTINGS = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "America/New_York"}
HAS_SOURCES = not pyspark.__version__.startswith("3.")


def main(corpus: str, damaged: str, work: str) -> None:
    spark = SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate()
    paths = [f"{corpus}/codec-zstd-0", f"{corpus}/transactions-multi-segment-0"]
    said = {"version": pyspark.__version__}
    for name, options in {"all": {"includeHeaders": True}, "committed": {"isolation": "read_committed"}}.items():
        frame = load(spark, paths, **options)
        said[name] = [frame.schema.simpleString(), digest(frame)]
    until = next_offsets(spark, paths)
    said["until"] = [until, load(spark, paths, endingOffsets=until).count()]
    try:
        load(spark, damaged).count()
    except Exception as error:
        said["error"] = next(line for line in str(error).splitlines() if "ChecksumError" in line)
    said |= functions(spark, Path(corpus))
    if HAS_SOURCES:
        said |= written(spark, load(spark, paths[0], includeHeaders=True), paths[0], work)
    print(json.dumps(said))


def functions(spark: SparkSession, corpus: Path) -> dict[str, object]:
    whole = bytearray((corpus / "codec-zstd-0/00000000000000000000.log").read_bytes())
    raw = spark.createDataFrame([(1, whole), (2, None), (3, bytearray(b"xx")), (4, whole[:-3])], "id int, batch binary")
    records = decode_udf(columns=["offset", "timestamp", "key", "value", "headers"], on_error="skip")("batch")
    made = {
        "decode_udf": decode_udf(on_error="skip")("batch"),
        "encode_udf": encode_udf(compression="zstd")(records),
        "convert_udf": convert_udf(compression="lz4")("batch"),
        "batch_info_udf": batch_info_udf()("batch"),
        "validate_udf": validate_udf()("batch"),
    }
    said = {name: digest(raw.select("id", column.alias("out"))) for name, column in made.items()}
    decode = decode_batches(column="batch", keep=["id"])
    said["decode_batches"] = digest(raw.mapInArrow(decode, decode.schema(raw.schema)))
    register(spark)
    register(spark)
    raw.createOrReplaceTempView("raw")
    said["sql"] = digest(
        spark.sql("select id, kafka_decode(batch) out, kafka_validate(batch).ok ok, kafka_convert(batch) converted from raw where id <> 2")
    )
    return said


def written(spark: SparkSession, frame: DataFrame, path: str, work: str) -> dict[str, object]:
    frame.write.format("logsegment").option("compression", "zstd").mode("append").save(f"{work}/batch")
    stream = spark.readStream.format("logsegment").option("startingOffsets", "earliest").option("upTo", "logEnd")
    records = stream.option("includeHeaders", "true").load(path)
    sink = records.writeStream.format("logsegment").option("checkpointLocation", f"{work}/checkpoint").option("path", f"{work}/stream")
    sink.trigger(availableNow=True).start().awaitTermination()
    return {
        "batch": digest(load(spark, f"{work}/batch", includeHeaders=True)),
        "stream": digest(load(spark, f"{work}/stream", includeHeaders=True)),
        "checkpoint": next_offsets(spark, checkpoint=f"{work}/checkpoint"),
    }


def digest(frame: DataFrame) -> str:
    texts = [f"to_json(struct({name}))" for name in frame.columns]
    return str(frame.selectExpr("count(*)", f"bit_xor(xxhash64({', '.join(texts)}))").first()[:])


main(*sys.argv[1:])
