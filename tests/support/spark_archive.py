"""Write the archive of Spark's classes that `short_lived_java.SPARK_OPTIONS` names: a JVM reads them from it in half of the time.

    python tests/support/spark_archive.py

A driver runs queries of the kinds that tests run, and writes the archive when it ends. `make test` calls this once for a PySpark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import short_lived_java
from corpus import CORPUS


def main() -> None:
    archive = short_lived_java.SPARK_ARCHIVE
    unfinished = archive.with_suffix(".unfinished")
    archive.parent.mkdir(parents=True, exist_ok=True)
    options = [*short_lived_java.OPTIONS, *short_lived_java.SILENT, f"-XX:ArchiveClassesAtExit={unfinished}"]
    os.environ["SPARK_SUBMIT_OPTS"] = " ".join(options)
    # Says, among other things, which classes it leaves out.
    log = archive.with_suffix(".log")
    with log.open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    with tempfile.TemporaryDirectory() as scratch:
        run_queries(Path(scratch))
    unfinished.rename(archive)


def run_queries(scratch: Path) -> None:
    from logsegment.spark import LogSegmentSource
    from spark_session import spark_session

    spark = spark_session()
    process: subprocess.Popen[bytes] = spark.sparkContext._gateway.proc
    spark.dataSource.register(LogSegmentSource)
    logs = str(CORPUS / "modern-4.1.0/data/codec-zstd-0")
    rows = spark.read.format("logsegment").load(logs)
    rows.groupBy("partition").count().orderBy("partition").collect()
    rows.toArrow()
    rows.selectExpr("CAST(value AS STRING) AS text").write.parquet(str(scratch / "rows"))
    spark.read.parquet(str(scratch / "rows")).mapInArrow(lambda batches: batches, "text STRING").count()
    stream = spark.readStream.format("logsegment").option("startingOffsets", "earliest").load(logs)
    query = (
        stream.writeStream.format("parquet").option("path", str(scratch / "stream")).option("checkpointLocation", str(scratch / "offsets"))
    )
    query.trigger(availableNow=True).start().awaitTermination()
    spark.stop()
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


if __name__ == "__main__":
    sys.exit(main())
