"""The application of `tests/python/spark/write/test_task_failures.py`: a Spark that tries tasks again writes while something goes wrong.

python spark_write_faults.py PLACE [FULL]: what it found as JSON on stdout; FULL is a directory on a file system of 2 MiB.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.functions import udf
from pyspark.sql.types import StructType

from logsegment.spark import LogSegmentSource, register
from logsegment.spark.write import SegmentWriter, places

ROWS = 40_000


def main(place: str, full: str | None = None) -> None:
    builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false").config("spark.driver.memory", "512m")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    spark.dataSource.register(MortalSource)
    found = {"row": row_fails(spark, place), "worker": worker_dies(spark, place), "never": job_fails(spark, place)}
    if full is not None:
        found["full"] = {"task": disk_is_full(spark, full, 8 << 20), "commit": disk_is_full(spark, full, 1 << 20)}
    spark.stop()
    print(json.dumps(found))


def is_first(place: str, name: str) -> bool:
    """True for whoever asks first."""
    try:
        os.close(os.open(os.path.join(place, name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def written(frame: DataFrame, target: str, kind: str = "logsegment") -> str:
    """What a user is told, or nothing."""
    try:
        frame.write.format(kind).option("topic", "t").mode("append").save(target)
    except Exception as error:
        return str(error)
    return ""


def numbers(spark: SparkSession, told: Callable[[int], str]) -> DataFrame:
    return spark.range(0, ROWS, 1, 2).select(udf(told)("id").alias("value"))


def row_fails(spark: SparkSession, place: str) -> str:
    """The first try of a task fails after it wrote half of its rows."""

    def once(number: int) -> str:
        if number == 19_999 and is_first(place, "row"):
            raise ValueError("the first attempt fails")
        return str(number)

    return written(numbers(spark, once), f"{place}/row-log")


def job_fails(spark: SparkSession, place: str) -> str:
    """All tries of a task fail."""

    def never(number: int) -> str:
        if number == 19_999:
            raise ValueError("fails deliberately")
        return str(number)

    return written(numbers(spark, never), f"{place}/never-log")


def worker_dies(spark: SparkSession, place: str) -> dict[str, Any]:
    """The worker process of a task is killed when all of its rows are staged."""
    os.environ["LOGSEGMENT_TESTS_PLACE"] = place
    told = written(numbers(spark, str), f"{place}/worker-log", "mortal")
    return {"told": told, "attempts": json.loads(Path(place, "attempts").read_text())}


class MortalWriter(SegmentWriter):
    """Staging done, the first worker dies. The commit writes down what attempts left."""

    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        super().__init__(given, schema, overwrite)
        self.place = os.path.dirname(self.staging.options.path)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        message = super().write(iterator)
        if is_first(self.place, "worker"):
            os.kill(os.getpid(), signal.SIGKILL)
        return message

    def commit(self, messages: Any) -> None:
        staging = Path(places.staging(self.staging.options.path, self.staging.job))
        left = {attempt.name: sum(file.stat().st_size for file in attempt.iterdir()) for attempt in staging.iterdir()}
        Path(self.place, "attempts").write_text(json.dumps(left))
        super().commit(messages)


class MortalSource(LogSegmentSource):
    @classmethod
    def name(cls) -> str:
        return "mortal"

    def writer(self, schema: StructType, overwrite: bool) -> SegmentWriter:
        return MortalWriter(self.given, schema, overwrite)


def disk_is_full(spark: SparkSession, full: str, size: int) -> dict[str, Any]:
    """Rows of so many bytes in all. What was there before stays, nothing else does, and there is room again."""
    frame = spark.range(0, size >> 10, 1, 2).selectExpr("repeat(cast(id % 10 as string), 1024) as value")
    target = f"{full}/log-{size}"
    before = written(frame.limit(10), target)
    told = written(frame, target)
    files = sorted(str(path.relative_to(target)) for path in Path(target).rglob("*"))
    return {"before": before, "told": told, "files": files, "free": os.statvfs(full).f_bavail * os.statvfs(full).f_bsize}


if __name__ == "__main__":
    main(*sys.argv[1:])
