"""A process with streaming queries, to be killed: each micro-batch is written as one Parquet directory named by its number.

python stream_query.py SPEC, where SPEC is a JSON file: work, now (bool), queries as name -> options with path. A file `stop` in the
directory work ends the process as a user would; `ready` tells how many micro-batches this process has finished.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("topic", "partition", "offset", "cast(cast(substring(value, 1, 12) as string) as long) as number")


def main(spec_path: str) -> None:
    spec = json.loads(Path(spec_path).read_text())
    work = Path(spec["work"])
    builder = SparkSession.builder.master("local[2]").appName("logsegment stream")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    queries = []
    for name, options in spec["queries"].items():
        queries.append(start(spark, work, name, options, now=spec["now"]))
        # The JVM waits ten seconds, whatever one sets, until the Python process of a source speaks: they shall not start all at once.
        while queries[-1].isActive and queries[-1].lastProgress is None:
            time.sleep(0.05)
    # Without "now" one that ends has failed, and so has the process.
    are_running = any if spec["now"] else all
    while are_running(query.isActive for query in queries):
        (work / "ready.new").write_text(str(min(int((query.lastProgress or {"batchId": -1})["batchId"]) for query in queries)))
        (work / "ready.new").rename(work / "ready")
        if (work / "stop").exists():
            for query in queries:
                query.stop()
            break
        time.sleep(0.2)
    for query in queries:
        if (error := query.exception()) is not None:
            raise error
        query.stop()
    spark.stop()


def start(spark: SparkSession, work: Path, name: str, options: dict[str, str], *, now: bool):
    def write(batch: DataFrame, number: int) -> None:
        # A repeated micro-batch takes the place of what there is of it.
        batch.selectExpr(*COLUMNS).write.mode("overwrite").parquet(str(work / "sink" / name / f"batch-{number}"))

    trigger = {"availableNow": True} if now else {"processingTime": "500 milliseconds"}
    stream = spark.readStream.format("logsegment").options(**options).load()
    return stream.writeStream.foreachBatch(write).option("checkpointLocation", str(work / "checkpoint" / name)).trigger(**trigger).start()


OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
    # For how long a Python worker and the JVM wait for each other's first words. The default, 15 s, is short for a machine under load.
    "spark.python.authenticate.socketTimeout": "300s",
    # Nothing of the sink hangs on a native library that each new process unpacks and may take for another system's.
    "spark.sql.parquet.compression.codec": "uncompressed",
}

if __name__ == "__main__":
    main(sys.argv[1])
