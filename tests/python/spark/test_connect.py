"""Every API over Spark Connect: a server behind `remote("local[2]")`, in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from corpus import rows_of
from spark_session import columnar_options, program_environment

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(660)]

SEGMENT = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log"
#: Prints what each door gave, as one line of JSON.
SESSION = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

path = sys.argv[1]
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
found = {"connect": type(spark).__module__.startswith("pyspark.sql.connect")}
reader = lambda **options: spark.read.format("logsegment").options(**options).load(path)
found["records"] = reader().count()
found["batches"] = reader(view="batches").count()
found["findings"] = reader(view="findings").where("severity = 'error'").count()
found["permissive"] = reader(mode="PERMISSIVE").columns[-1]

import logsegment.spark as lss

raw = spark.read.format("binaryFile").load(path).select("path", F.col("content").alias("batch"))
decode = lss.decode_batches(keep=["path"], columns=["offset"])
found["decode_batches"] = raw.mapInArrow(decode, decode.schema(raw.schema)).count()
found["decode_udf"] = raw.select(F.size(lss.decode_udf()("batch"))).first()[0]
found["arrow"] = raw.select(lss.batch_info_udf()("batch")["magic"], lss.validate_udf()("batch")["ok"]).first()[:]
found["pandas"] = raw.select(lss.batch_info_udf(kind="pandas")("batch")["magic"], lss.validate_udf(kind="pandas")("batch")["ok"]).first()[:]
packed = raw.select(lss.encode_udf(compression="lz4")(lss.decode_udf()("batch")).alias("batch"))
found["convert"] = packed.select(F.size(lss.decode_udf()(lss.convert_udf(to="v1", allow_loss=True)("batch")))).first()[0]
lss.register(spark)
raw.createOrReplaceTempView("raw")
query = "select kafka_batch_info(batch).magic, kafka_validate(batch).ok, size(kafka_decode(kafka_convert(batch))) from raw"
found["sql"] = spark.sql(query).first()[:]

from logsegment.plugins import FileRegistry, Plugin

registry, target = FileRegistry(sys.argv[2] + "/plugins.json"), sys.argv[2] + "/log"
registry.register([Plugin("bz", {"java": "org.example.Bzip2", "python": "logsegment.plugins.ready:Bzip2"}, "v1.0")])
packed = raw.select(lss.encode_udf(compression="bz", codecs=registry)(lss.decode_udf()("batch")).alias("batch"))
records = packed.select(F.size(lss.decode_udf(codecs=registry)("batch"))).first()[0]
known = {"plugins.path": registry.path}
rows = spark.createDataFrame([("a",), ("b",)], "value string")
rows.write.format("logsegment").options(topic="t", compression="bz", **known).mode("append").save(target)
codecs = spark.read.format("logsegment").options(view="batches", **known).load(target).select("compression").distinct().collect()
found["plugin"] = [records, spark.read.format("logsegment").options(**known).load(target).count(), [row[0] for row in codecs]]
found["hides"] = "plugins" in spark.conf.get("spark.sql.redaction.options.regex")

import os

keys = reader().select("key").where("key is not null").distinct().orderBy("key").limit(5)
done = lss.rewrite(spark, os.path.dirname(path), sys.argv[2] + "/rewritten", drop=keys)
found["rewrite"] = [[bytes(row["key"]).hex() for row in keys.collect()], done.dropped]

if len(sys.argv) > 3:
    # Each session has a class loader of its own for jars that a client adds.
    found["columnar"] = []
    second = spark.newSession()
    for session in (spark, second):
        session.addArtifacts(sys.argv[3])
        rows = session.read.format("logsegment").option("reader", "columnar").load(path)
        found["columnar"].append(rows.selectExpr("count(*)", "max(offset)", "sum(length(value))").first()[:])
    # `stop` would end the server, and a client that is open then asks it again and again.
    second.client.release_session()
    second.client.close()
print("FOUND" + json.dumps(found))
spark.stop()
"""


def test_all_apis_work_over_connect(tmp_path: Path):
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    script = tmp_path / "session.py"
    script.write_text(SESSION)
    done = subprocess.run(
        [sys.executable, str(script), str(SEGMENT), str(tmp_path), *columnar_options().values()],
        env=program_environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line.removeprefix("FOUND") for line in done.stdout.splitlines() if line.startswith("FOUND")]
    table = ls.decode(SEGMENT.read_bytes(), columns=["offset", "value"]).to_pyarrow()
    records, value_bytes = table.num_rows, sum(len(value) for value in table["value"].to_pylist() if value is not None)
    found = json.loads(line)
    keys, dropped = found.pop("rewrite")
    expected = ls.rewrite(SEGMENT.parent, tmp_path / "expected", drop=[bytes.fromhex(key) for key in keys])
    assert dropped == expected.dropped > 0
    for file in expected.files:
        name = Path(file.output or "").relative_to(tmp_path / "expected")
        assert (tmp_path / "rewritten" / name).read_bytes() == (tmp_path / "expected" / name).read_bytes()
    columnar = found.pop("columnar", None)
    assert columnar is None if not columnar_options() else columnar == [[records, records - 1, value_bytes]] * 2
    assert found == {
        "connect": True,
        "records": records,
        "batches": len(rows_of(ls.batches(SEGMENT.read_bytes()))),
        "findings": 0,
        "permissive": "_corrupt_record",
        "decode_batches": records,
        "decode_udf": records,
        "arrow": [2, True],
        "pandas": [2, True],
        "convert": records,
        "sql": [2, True, records],
        "plugin": [records, 2, ["bz"]],
        "hides": True,
    }
