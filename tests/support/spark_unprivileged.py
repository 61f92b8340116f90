"""A Spark session to which files can be refused also where tests run as root; prints what each query said, as JSON.

python spark_unprivileged.py DIRECTORY, in which `file-0` holds a segment that nobody may read, `closed-0` is a directory that nobody may
list, and to `kept` and `logs/t-0` nobody may write.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Of prctl, and the capabilities by which root reads what it may not.
PR_CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2


def main(directory: Path) -> None:
    from pyspark.sql import SparkSession

    from spark_session import OPTIONS

    builder = SparkSession.builder.master("local[1]")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def load(name: str, **options: str) -> Any:
        return spark.read.format("logsegment").options(**options).load(str(directory / name))

    def stream(name: str) -> None:
        frame = spark.readStream.format("logsegment").option("startingOffsets", "earliest").load(str(directory / name))
        query = frame.writeStream.format("noop").option("checkpointLocation", str(directory / f"checkpoint of {name}"))
        query.trigger(availableNow=True).start().awaitTermination()

    def write(name: str) -> None:
        rows = spark.range(3).selectExpr("cast(id as string) as value").coalesce(1)
        rows.write.format("logsegment").option("topic", "t").mode("append").save(str(directory / name))

    told = {
        "file": said(load("file-0").count),
        "directory": said(lambda: load("closed-0").count()),
        "stream of file": said(lambda: stream("file-0")),
        "stream of directory": said(lambda: stream("closed-0")),
        "write": said(lambda: write("kept")),
        "write behind a log": said(lambda: write("logs")),
        "findings": [row.asDict() for row in load("file-0", view="findings").select("rule", "severity", "message", "path").collect()],
    }
    spark.stop()
    print(json.dumps(told))


def said(query: Callable[[], Any]) -> str:
    try:
        return f"no error but {query()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    if os.geteuid() == 0 and "--dropped" not in sys.argv:
        for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        # A process gets the capabilities that are left when it begins.
        os.execv(sys.executable, [sys.executable, *sys.argv, "--dropped"])
    main(Path(sys.argv[1]))
