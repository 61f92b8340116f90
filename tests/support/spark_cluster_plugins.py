"""Plugin codecs on a cluster: the part of `spark_cluster_main.py` that reads, decodes and writes with them.

Executors have the package, and from `addPyFile` the modules of the codecs. They are given no path of a registry that they could open.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import building
import counted_registry
import logsegment as ls
import plugin_codecs
from logsegment.plugins import Entry, FileRegistry, Plugin
from logsegment.spark import decode_batches, decode_udf, encode_udf

CLASSES = {"sent": "plugin_codecs:Deflate", "raising": "plugin_codecs:Raising", "gone": "no.such:Gone"}
#: Modules that the registry may name.
ALLOWED = ["plugin_codecs", "no.*"]
#: Values that a function decodes, each a batch of its own.
BATCHES = 400


def plugins(spark: SparkSession, segments: str, scratch: Path) -> dict[str, Any]:
    """What was written, read and decoded with a registry in a file that only the driver sees, and what faults look like."""
    for module in (plugin_codecs, counted_registry):
        spark.sparkContext.addPyFile(str(module.__file__))
    registry = FileRegistry(scratch / "plugins.json", allow=ALLOWED)
    registry.register([Plugin(alias, {"java": f"org.example.{alias}", "python": name}, "v1.0") for alias, name in CLASSES.items()])
    target, hidden = scratch / "packed", scratch / "hidden.json"
    records = spark.read.format("logsegment").load(segments).select("key", "value", "topic", "partition", "timestamp")
    options = {"compression": "sent", "plugins.path": registry.path, "plugins.allow": ",".join(ALLOWED)}
    records.write.format("logsegment").options(**options).mode("append").save(str(target))
    frames = planned(spark, registry, target)
    for alias in ("raising", "gone"):
        fault(scratch / alias / f"{alias}-0", registry.by_alias(alias))
    broken = load(spark, scratch / "raising", registry)
    gone = load(spark, scratch / "gone", registry)
    rest = load(spark, scratch / "raising", registry, mode="DROPMALFORMED")
    for frame in (broken, gone, rest):
        plan(frame)
    # What the driver read travels with the tasks: nobody needs the file.
    os.rename(registry.path, hidden)
    found: dict[str, Any] = {name: totals(frame) for name, frame in frames.items()}
    before = executors(spark)
    found["refused"] = {name: refusal(frame.collect) for name, frame in (("raising", broken), ("gone", gone))}
    found["rest"] = [bytes(row["value"]).decode() for row in rest.orderBy("offset").collect()]
    found["lost executors"] = sorted(before - executors(spark))
    os.rename(hidden, registry.path)
    codecs = {row["compression"] for path in target.rglob("*.log") for row in ls.batches(path.read_bytes(), codecs=registry).to_pylist()}
    return found | {"codecs": sorted(codecs), "readings": counted(spark, scratch / "readings")}


def planned(spark: SparkSession, registry: FileRegistry, target: Path) -> dict[str, DataFrame]:
    """The same records by each way of reading them; the driver has planned the tasks of all."""
    raw = spark.read.format("binaryFile").option("pathGlobFilter", "*.log").option("recursiveFileLookup", "true").load(str(target))
    by_udf = raw.select(decode_udf(columns=["offset", "value"], codecs=registry)("content").alias("records"))
    again = by_udf.select(encode_udf(compression="sent", codecs=registry)("records").alias("content"))
    by_map = decode_batches(column="content", columns=["offset", "value"], codecs=registry)
    frames = {
        "source": load(spark, target, registry).select("offset", "value"),
        "decode_udf": by_udf.selectExpr("inline(records)"),
        "encode_udf": again.mapInArrow(by_map, by_map.schema(again.schema)).select("offset", "value"),
    }
    for frame in frames.values():
        plan(frame)
    return frames


def load(spark: SparkSession, path: Path, registry: FileRegistry, **options: str) -> DataFrame:
    return (
        spark.read.format("logsegment")
        .options(**{"plugins.path": registry.path, "plugins.allow": ",".join(ALLOWED)})
        .options(**options)
        .load(str(path))
    )


def plan(frame: DataFrame) -> None:
    """Let the driver make the tasks, which the frame keeps."""
    frame._jdf.queryExecution().toRdd().getNumPartitions()


def totals(frame: DataFrame) -> list[int]:
    """Records, sum of offsets, bytes of values."""
    return list(frame.agg(F.count("*"), F.sum("offset"), F.sum(F.length("value"))).collect()[0])


def fault(directory: Path, entry: Entry | None) -> None:
    """A partition of three batches: plain, one that names this plugin, plain."""
    assert entry is not None
    batches = [
        building.batch(building.record(value=value), count=1, base_offset=offset, attributes=attributes)
        for offset, (value, attributes) in enumerate(((b"first", 0), (b"packed", entry.plugin_id << 8 | 5), (b"last", 0)))
    ]
    directory.mkdir(parents=True)
    (directory / "00000000000000000000.log").write_bytes(b"".join(batches))


def executors(spark: SparkSession) -> set[int]:
    """The processes whose Python workers run tasks."""

    def parent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"parent": [os.getppid()]})

    return {row["parent"] for row in spark.range(0, 8, 1, 8).mapInArrow(parent, "parent bigint").collect()}


def refusal(ask: Callable[[], object]) -> str:
    try:
        ask()
    except PySparkException as error:
        return str(error)
    return ""


def counted(spark: SparkSession, directory: Path) -> dict[str, Any]:
    """Batches in many tasks, by a registry that every process reads for itself: by which it was read, and how often."""
    directory.mkdir()
    registry = counted_registry.counted_registry(str(directory), Entry(3, "sent", CLASSES["sent"], "v1.0"))
    packed = ls.encode(pa.table({"value": [b"order"]}), compression="sent", codecs=plugin_codecs.registry(sent=plugin_codecs.Deflate))
    raw = spark.range(0, BATCHES, 1, 8).select(F.lit(packed).alias("batch"))
    values = raw.select(decode_udf(columns=["value"], codecs=registry)("batch").alias("records")).selectExpr("inline(records)")
    decoded = values.where("value = cast('order' as binary)").count()
    read = counted_registry.readings(directory)
    return {"decoded": decoded, "driver": read.count(os.getpid()), "readings": len(read), "processes": len(set(read))}
