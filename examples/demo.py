"""Read a real segment twice, in plain Python and on Spark, and say whether both saw the same records.

The segment was written by a real Kafka 4.1 broker: idempotent and transactional producers, all codecs, commit and abort markers.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import logsegment as ls

PARTITION = Path(__file__).resolve().parent.parent / "tests/corpus/modern-4.1.0/data/transactions-0"
COLUMNS = ["topic", "partition", "offset", "key", "value"]


def main() -> int:
    """Print both readings; exit with 1 when they differ."""
    plain = in_python()
    print(f"Python: {len(plain)} committed records, offsets {plain[0][2]} to {plain[-1][2]}, digest {digest(plain)}")
    spark = on_spark()
    print(f"Spark:  {len(spark)} committed records, offsets {spark[0][2]} to {spark[-1][2]}, digest {digest(spark)}")
    print("the same records" if plain == spark else "the records differ")
    return 0 if plain == spark else 1


def in_python() -> list[tuple[object, ...]]:
    """The committed records of the partition, through `logsegment.decode`."""
    sources = [ls.FileSource(str(path)) for path in sorted(PARTITION.glob("*.log"))]
    transactions = ls.scan_transactions(sources)
    rows: list[tuple[object, ...]] = []
    for source in sources:
        stream = ls.decode(
            source, columns=COLUMNS, isolation="read_committed", transactions=transactions, topic="transactions", partition=0
        )
        rows += [tuple(row[name] for name in COLUMNS) for row in stream.read_all().to_pylist()]
    return rows


def on_spark() -> list[tuple[object, ...]]:
    """The same through `spark.read.format("logsegment")`."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").appName("demo").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        df = spark.read.format("logsegment").option("isolation", "read_committed").load(str(PARTITION))
        df.printSchema()
        rows = df.select(*COLUMNS).orderBy("offset").collect()
    finally:
        spark.stop()
    return [tuple(bytes(value) if isinstance(value, bytearray) else value for value in row) for row in rows]


def digest(rows: list[tuple[object, ...]]) -> str:
    """A short name for the content."""
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
