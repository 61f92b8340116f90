"""The settings by which docs/how-to/run-on-a-cluster.md spares Arrow's checks in the JVM change no row: a session of its own has them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from spark_session import program_environment

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

GUIDE = corpus.TESTS.parent / "docs/how-to/run-on-a-cluster.md"
#: Prints the rows of each door, and what the JVM says of its settings, as one line of JSON.
SESSION = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from logsegment.spark import decode_batches

path, settings = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
spark = builder.config("spark.driver.extraJavaOptions", settings).getOrCreate()
arrow = spark._jvm.org.apache.arrow
raw = spark.read.format("binaryFile").load(path).select(F.col("content").alias("batch"))
decode = decode_batches(columns=["offset", "key", "value", "headers"])
frames = {
    "source": spark.read.format("logsegment").option("includeHeaders", "true").load(path),
    "decode_batches": raw.mapInArrow(decode, decode.schema(raw.schema)),
}
text = lambda value: None if value is None else bytes(value).decode()
found = {
    name: [
        [row.offset, text(row.key), text(row.value), None if not row.headers else [[h.key, text(h.value)] for h in row.headers]]
        for row in frame.orderBy("offset").collect()
    ]
    for name, frame in frames.items()
}
found["isBoundsChecked"] = arrow.memory.BoundsChecking.BOUNDS_CHECKING_ENABLED
found["isNullChecked"] = arrow.vector.NullCheckingForGet.NULL_CHECKING_ENABLED
print(json.dumps(found))
"""
KEYS = [None, b"", b"k" * 40, b"a"]
VALUES = [b"v", None, b"", None, b"w" * 300]
HEADERS = [None, [{"key": "h", "value": None}], [{"key": "", "value": b""}, {"key": "i", "value": b"1"}]]
ROWS = 60_000


def settings() -> str:
    (found,) = re.findall(r"`(-Darrow[^`]*)`", GUIDE.read_text())
    return str(found)


def record(number: int) -> dict[str, Any]:
    return {
        "offset": number,
        "key": KEYS[number % len(KEYS)],
        "value": VALUES[number % len(VALUES)],
        "headers": HEADERS[number % len(HEADERS)],
    }


def told(row: dict[str, Any]) -> list[Any]:
    def text(value: bytes | None) -> str | None:
        return None if value is None else value.decode()

    headers = row["headers"] and [[header["key"], text(header["value"])] for header in row["headers"]]
    return [row["offset"], text(row["key"]), text(row["value"]), headers]


def test_rows_with_nulls_are_the_same_without_arrows_checks(tmp_path: Path) -> None:
    """Keys, values and headers that are null or empty, through the data source and through mapInArrow."""
    path = tmp_path / "nulls-0" / f"{0:020}.log"
    path.parent.mkdir()
    rows = [record(number) for number in range(ROWS)]
    path.write_bytes(ls.encode(pa.Table.from_pylist(rows), compression="lz4"))
    command = [sys.executable, "-c", SESSION, str(path), settings()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=program_environment())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["isBoundsChecked"], found["isNullChecked"]) == (False, False)
    expected = [told(row) for row in rows]
    assert found["source"] == expected
    assert found["decode_batches"] == expected
