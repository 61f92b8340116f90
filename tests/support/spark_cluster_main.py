"""The application that `tests/python/spark/test_cluster.py` gives to a cluster.

python spark_cluster_main.py MASTER SEGMENTS DIRECTORY: what it found as JSON on stdout.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import logsegment
import short_lived_java
from logsegment.spark import batch_info_udf, convert_udf, decode_batches, decode_udf, encode_udf, rewrite, validate_udf
from spark_cluster_plugins import plugins
from spark_session import WORKER_MODULES, columnar_options

#: The setting of a session that chooses the reader.
READER = "spark.logsegment.reader"
#: Executors are told where the package is: on a real cluster it is installed in the Python that PYSPARK_PYTHON names.
PACKAGES = Path(logsegment.__file__).parents[1]
OPTIONS = {
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": " ".join(short_lived_java.SPARK_OPTIONS),
    "spark.executor.pyspark.memory": "1g",
    "spark.executorEnv.PYTHONPATH": f"{WORKER_MODULES}{os.pathsep}{PACKAGES}",
    # Wait for both executors.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    # A task that takes long beside the others is run a second time, on the other executor.
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "3s",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main(master: str, segments: str, scratch: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("logsegment")
    for name, value in (OPTIONS | columnar_options()).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # All steps but one are of the source in Python.
    spark.conf.set(READER, "python")
    found = {}
    for name, step in STEPS.items():
        print(f"{time.strftime('%X')} {name}", file=sys.stderr, flush=True)
        found[name] = step(spark, segments, Path(scratch))
    spark.stop()
    print(json.dumps(found), file=answers, flush=True)


def rows(spark: SparkSession, segments: str, scratch: Path) -> dict[str, Any]:
    """(topic, partition, records, sum of offsets, bytes of values); and how many executors read at the same time.

    Tasks behind a barrier begin together, one on each executor, however slow one of them is: each has one parent of its workers.
    """

    def rows_of(part: Any) -> Any:
        [directory] = part
        yield os.getppid(), logsegment.Log(directory).records(columns=["offset"]).to_pyarrow().num_rows

    parts = sorted(str(path) for path in Path(segments).iterdir())[:2]
    begun = spark.sparkContext.parallelize(parts, len(parts)).barrier().mapPartitions(rows_of).collect()
    totals = [F.count("*"), F.sum("offset"), F.sum(F.length("value"))]
    found = source(spark, segments).groupBy("topic", "partition").agg(*totals).orderBy("topic", "partition").collect()
    return {"totals": [list(row) for row in found], "executors": len({parent for parent, _ in begun}), "read": [rows for _, rows in begun]}


def columnar(spark: SparkSession, segments: str, scratch: Path) -> dict[str, Any] | None:
    """The totals of `rows` and what a damaged file gives, read by the columnar reader; None where that is not built."""
    if not columnar_options():
        return None
    spark.conf.set(READER, "auto")
    try:
        records = spark.read.format("logsegment").option("reader", "columnar")
        totals = [F.count("*"), F.sum("offset"), F.sum(F.length("value"))]
        found = records.load(segments).groupBy("topic", "partition").agg(*totals).orderBy("topic", "partition").collect()
        return {
            "totals": [list(row) for row in found],
            "damaged": refusal(lambda: records.load(damaged(segments, scratch / "columnar")).count()),
        }
    finally:
        spark.conf.set(READER, "python")


def functions(spark: SparkSession, segments: str, scratch: Path) -> dict[str, Any]:
    """Records, or files, through each function of raw batches."""
    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.log").option("recursiveFileLookup", "true")
    raw = files.load(segments).select("content")
    one = raw.select(
        F.size(decode_udf()("content")).alias("decode_udf"),
        batch_info_udf()("content")["magic"].alias("batch_info_udf"),
        validate_udf()("content")["errors"].alias("validate_udf"),
    )
    sums = one.selectExpr("sum(decode_udf)", "count_if(batch_info_udf = 2)", "count_if(validate_udf = 0)").first()
    packed = raw.select(encode_udf(compression="lz4")(decode_udf()("content")).alias("content"))
    zstd = raw.select(convert_udf(compression="zstd")("content").alias("content"))
    decode = decode_batches(column="content", columns=["offset", "value"])
    counts = [frame.mapInArrow(decode, decode.schema(frame.schema)).count() for frame in (raw, packed, zstd)]
    names = ["decode_udf", "batch_info_udf", "validate_udf", "decode_batches", "encode_udf", "convert_udf"]
    return dict(zip(names, [*sums, *counts], strict=True))


def written(spark: SparkSession, segments: str, scratch: Path) -> list[Any]:
    """(topic, partition, records, first and last offset, bytes of values) of what executors wrote, read again."""
    target = f"{scratch}/written"
    records = source(spark, segments).select("key", "value", "topic", "partition", "timestamp")
    records.write.format("logsegment").option("compression", "lz4").mode("append").save(target)
    return totals_of(source(spark, target))


def streamed(spark: SparkSession, segments: str, scratch: Path) -> dict[str, Any]:
    """The same of what a stream copied in micro-batches of 200 offsets, and how many segments these made of one partition."""
    target = f"{scratch}/streamed"
    reader = spark.readStream.format("logsegment").options(startingOffsets="earliest", maxOffsetsPerTrigger="200")
    records = reader.load(segments).select("key", "value", "topic", "partition", "timestamp")
    writing = records.writeStream.format("logsegment").option("checkpointLocation", f"{scratch}/checkpoint")
    writing.trigger(availableNow=True).start(target).awaitTermination()
    return {"totals": totals_of(source(spark, target)), "segments": len(list(Path(target, "codec-none-0").glob("*.log")))}


def totals_of(records: Any) -> list[Any]:
    totals = [F.count("*"), F.min("offset"), F.max("offset"), F.sum(F.length("value"))]
    return [list(row) for row in records.groupBy("topic", "partition").agg(*totals).orderBy("topic", "partition").collect()]


def speculated(spark: SparkSession, segments: str, scratch: Path) -> dict[str, Any]:
    """One of two tasks sleeps in the midst of its rows, and is run a second time meanwhile: offsets and values of what is there then."""
    target, seen = scratch / "speculated", scratch / "tries"
    seen.mkdir()

    def slow(batches: Any) -> Any:
        task = TaskContext.get()
        for batch in batches:
            yield batch
            if task.partitionId() == 1:
                is_first = not any(seen.iterdir())
                (seen / str(task.taskAttemptId())).touch()
                if is_first:
                    time.sleep(120)

    rows = spark.range(0, 20_000, 1, 2).selectExpr("repeat(cast(id as string), 20) as value").mapInArrow(slow, "value string")
    rows.write.format("logsegment").option("topic", "slow").mode("append").save(str(target))
    found = source(spark, str(target)).selectExpr("offset", "cast(value as string) as value")
    distinct = found.agg(F.count("*"), F.countDistinct("value"), F.countDistinct("offset"), F.max("offset")).first()
    return {"tries": len(list(seen.iterdir())), "rows": list(distinct), "left": sorted(path.name for path in target.iterdir())}


def rewritten(spark: SparkSession, segments: str, scratch: Path) -> dict[str, Any]:
    """Records with these keys dropped on executors; how many, and how many executors worked."""
    keys = source(spark, segments).select("key").where("key is not null").distinct().orderBy("key").limit(40)
    done = rewrite(spark, segments, scratch / "rewritten", drop=keys)
    return {"keys": [bytes(row["key"]).hex() for row in keys.collect()], "dropped": done.dropped, "account": done.to_dict()["files"]}


def faults(spark: SparkSession, segments: str, scratch: Path) -> dict[str, str]:
    """What a user sees of each mistake."""
    (scratch / "bare").mkdir()
    return {
        "missing": refusal(lambda: source(spark, f"{scratch}/nowhere").count()),
        "no log": refusal(lambda: source(spark, f"{scratch}/bare").count()),
        "deleted": refusal(lambda: deleted_after_planning(spark, segments, scratch)),
        "damaged": refusal(lambda: source(spark, damaged(segments, scratch)).count()),
    }


def deleted_after_planning(spark: SparkSession, segments: str, scratch: Path) -> None:
    copy = scratch / "gone-0" / "00000000000000000000.log"
    copy.parent.mkdir()
    copy.write_bytes(first_segment(segments))
    frame = source(spark, str(copy.parent))
    # The tasks are made now, and kept by the data frame.
    frame._jdf.queryExecution().toRdd().getNumPartitions()
    copy.unlink()
    frame.collect()


def damaged(segments: str, scratch: Path) -> str:
    path = scratch / "damaged-0" / "00000000000000000000.log"
    path.parent.mkdir(parents=True)
    data = bytearray(first_segment(segments))
    data[100] ^= 1
    path.write_bytes(data)
    return str(path)


def first_segment(segments: str) -> bytes:
    return min(Path(segments).rglob("*.log")).read_bytes()


def refusal(ask: Callable[[], object]) -> str:
    try:
        ask()
    except PySparkException as error:
        return str(error)
    return ""


def source(spark: SparkSession, path: str) -> Any:
    return spark.read.format("logsegment").load(path)


STEPS = {
    "rows": rows,
    "columnar": columnar,
    "functions": functions,
    "written": written,
    "streamed": streamed,
    "speculated": speculated,
    "rewritten": rewritten,
    "faults": faults,
    "plugins": plugins,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
