"""One jar and one package under older versions of PySpark: both readers give the same rows, plans and errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import corpus
from spark_session import columnar_options

#: Before 4.1 the plan of the jar is another one.
VERSIONS = [version for version in os.environ.get("PYSPARK_VERSIONS", "").split() if version >= "4.1"]
MODERN = corpus.CORPUS / "modern-4.1.0/data"
DAMAGED = corpus.TESTS.parent / "examples/damaged-0"

pytestmark = [
    pytest.mark.interop,
    pytest.mark.nightly,
    pytest.mark.spark,
    pytest.mark.skipif(not VERSIONS, reason="PYSPARK_VERSIONS names no version; `make interop` and `make test-nightly` set it"),
]

SCRIPT = """
import json, sys
import pyarrow as pa, pyarrow.compute as pc
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf
from logsegment.spark import session_options

paths, damaged, written = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
spark = SparkSession.builder.master("local[2]").config(map=settings | session_options()).getOrCreate()
said = {"version": pyspark.__version__}
@arrow_udf("long")
def twice(offset: pa.Array) -> pa.Array:
    return pc.multiply(offset, 2)
for reader in ("python", "columnar"):
    frame = spark.read.format("logsegment").option("reader", reader).option("includeHeaders", "true").load(paths)
    one = said[reader] = {"schema": frame.schema.simpleString()}
    one["rows"] = [str(row) for row in frame.orderBy("topic", "partition", "offset").collect()]
    one["function"] = str(frame.select("key", twice("offset").alias("out")).selectExpr("count(*)", "bit_xor(xxhash64(*))").first())
    one["pushed"] = frame.where("offset >= 100 AND offset < 110").count()
    one["plan"] = str(frame._jdf.queryExecution().executedPlan())
    try:
        spark.read.format("logsegment").option("reader", reader).load(damaged).count()
        one["error"] = None
    except Exception as error:
        one["error"] = next(line.strip() for line in str(error).splitlines() if "ChecksumError" in line)
frame = spark.read.format("logsegment").load(paths)
frame.write.format("logsegment").option("compression", "zstd").mode("append").save(written)
said["written"] = spark.read.format("logsegment").load(written).count()
print(json.dumps(said))
"""


@pytest.mark.parametrize("version", VERSIONS or ["none"])
def test_both_readers_agree(version: str, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        str(packages),
        f"pyspark=={version}",
    ]
    subprocess.run(pip, check=True)
    paths = [str(MODERN / name) for name in ("codec-zstd-0", "codec-none-0")]
    environment = os.environ | {
        "PYTHONPATH": str(packages),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
    }
    environment.pop("SPARK_HOME", None)
    command = [sys.executable, "-c", SCRIPT, json.dumps(paths), str(DAMAGED), str(tmp_path / "written")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    said = json.loads(done.stdout.splitlines()[-1])
    python, columnar = said["python"], said["columnar"]
    assert said["version"] == version
    assert columnar_options(), "the columnar reader is not built: it needs a JDK"
    assert "columnar reader" in columnar["plan"]
    assert "columnar reader" not in python["plan"]
    assert python["schema"] == columnar["schema"]
    assert python["rows"] == columnar["rows"] != []
    assert python["function"] == columnar["function"]
    assert python["pushed"] == columnar["pushed"] > 0
    assert "V2-31" in python["error"]
    assert python["error"] == columnar["error"]
    assert said["written"] == len(python["rows"])
