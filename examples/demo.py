"""`make demo`: one real log segment, read in plain Python and by Spark on this machine; fails if they do not agree.

python examples/demo.py [SEGMENT]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import logsegment as ls

ROOT = Path(__file__).resolve().parents[1]
#: Written by a Kafka 4.1 broker: zstd, null and empty keys and values, headers.
SEGMENT = ROOT / "tests/corpus/modern-4.1.0/data/codec-zstd-0/00000000000000000000.log"
SHOWN = 5
NEXT = """
Type next:
  source .venv/bin/activate
  logsegment verify examples/damaged-0        what is wrong with a damaged segment, and which offsets are safe
  python -m logsegment.sample kafka           the files that all examples of docs/ read
  make test                                   every test: about an hour; Maven, Go and npm for all of them"""


def main() -> int:
    segment = Path(sys.argv[1] if len(sys.argv) > 1 else SEGMENT).resolve()
    print("Python: validate and decode a segment that a broker wrote", flush=True)
    report = ls.validate(ls.FileSource(segment))
    print(f"{segment}\n{segment.stat().st_size} bytes, {report.io_stats['entries_read']} batches\n\nlogsegment.validate\n{report!r}\n")
    from_python = python_rows(segment)
    show("Python: ls.decode", from_python)
    print("Spark: read it on this machine, about ten seconds", flush=True)
    from_spark = spark_rows(segment)
    show('Spark: spark.read.format("logsegment").load(...)', from_spark)
    if from_python != from_spark or not from_python:
        print(f"DIFFERENT: {len(from_python)} records from Python, {len(from_spark)} from Spark", file=sys.stderr)
        return 1
    print(f"The same {len(from_python)} records both ways.\n{NEXT}")
    return 0


def python_rows(segment: Path) -> list[tuple]:
    """Every record as (offset, timestamp, key, value, headers)."""
    table = ls.decode(ls.FileSource(segment), columns=["offset", "timestampMs", "key", "value", "headers"]).to_pyarrow()
    return [
        (row["offset"], row["timestampMs"], row["key"], row["value"], [(header["key"], header["value"]) for header in row["headers"]])
        for row in table.to_pylist()
    ]


def spark_rows(segment: Path) -> list[tuple]:
    """The same through Spark's rows. The source is not registered: PySpark finds it."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}
    spark = SparkSession.builder.master("local[2]").appName("logsegment demo").config(map=quiet).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        records = spark.read.format("logsegment").option("includeHeaders", "true").load(str(segment))
        records.printSchema()
        milliseconds = "unix_millis(timestamp) as timestampMs"
        found = records.selectExpr("offset", milliseconds, "key", "value", "headers").orderBy("offset").collect()
    finally:
        spark.stop()
    return [
        (row.offset, row.timestampMs, plain(row.key), plain(row.value), [(header.key, plain(header.value)) for header in row.headers or []])
        for row in found
    ]


def plain(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)


def show(title: str, rows: list[tuple]) -> None:
    print(title)
    for offset, timestamp, key, value, headers in rows[:SHOWN]:
        print(f"  {offset:5} {timestamp} {brief(key):12} {brief(value):44} {len(headers)} headers")
    print(f"  ... {len(rows)} records\n")


def brief(value: bytes | None) -> str:
    text = "null" if value is None else value.decode("utf-8", "backslashreplace")
    return text if len(text) <= 40 else f"{text[:40]}..."


if __name__ == "__main__":
    sys.exit(main())
