"""Our two Spark entry points beside the ceiling of Spark's own boundary, on local[2], in one run.

For each entry point and query, ours and the stand-in of the same schema, batch size and row count take turns; the best of
the rounds counts. CPU is that of the JVM and of all its Python workers, from /proc.
Prints [{"corpus", "entry_point", "query", "rows", "ours": {...}, "ceiling": {...}}] as one JSON line.
"""

import argparse
import compileall
import json
import os
import sys
from functools import partial
from pathlib import Path

import logsegment
from benches.paths import ROOT, WORK
from benches.processes import timed
from benches.spark.entry_points import RAW_ROWS_PER_ARROW_BATCH, data_source_frames, map_in_arrow_frames

CORPORA = ["small-none", "small-lz4", "small-zstd"]
SEGMENTS = 8
ENTRY_POINTS = {"data source": data_source_frames, "mapInArrow": map_in_arrow_frames}


def consumed(frame):
    """Keys, values and offsets are really looked at, in the JVM. All columns cross: Spark prunes none of them."""
    frame.selectExpr("sum(length(key))", "sum(length(value))", "max(offset)").collect()


def noop(frame):
    frame.write.format("noop").mode("overwrite").save()


QUERIES = {"consumed": consumed, "noop": noop}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--segments", type=int, default=SEGMENTS)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    spark = session()
    try:
        rows = [row for name in args.corpora.split(",") for row in measure(spark, name, args)]
    finally:
        spark.stop()
    print(json.dumps(rows))


def session(java_options="", jars=None):
    """A local[2] session whose workers find logsegment and the stand-ins; `java_options` are those of its JVM, `jars` are loaded by it."""
    from pyspark.sql import SparkSession

    # As pip leaves a package: where PYTHONDONTWRITEBYTECODE is set, every worker would compile it anew, and not PySpark.
    compileall.compile_dir(Path(logsegment.__file__).parent, quiet=1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master("local[2]").appName("logsegment benches")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.driver.extraJavaOptions": java_options,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(WORK / "spark" / "warehouse"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(RAW_ROWS_PER_ARROW_BATCH),
    }
    if jars is not None:
        options["spark.jars"] = jars
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def measure(spark, name, args):
    directory = WORK / "spark" / name
    for entry_point, make_frames in ENTRY_POINTS.items():
        ours, ceiling, rows = make_frames(spark, name, directory, args.segments)
        for query, run in QUERIES.items():
            print(f"spark: {name}, {entry_point}, {query}", file=sys.stderr)
            pair = take_turns({"ours": ours, "ceiling": ceiling}, run, rows, args.rounds)
            yield {"corpus": name, "entry_point": entry_point, "query": query, "rows": rows, **pair}


def take_turns(frames, run, rows, rounds):
    """Warm each frame up once, then time them in turns; returns {name: best}."""
    for frame in frames.values():
        run(frame)
    runs = {name: [] for name in frames}
    for _ in range(rounds):
        for name, frame in frames.items():
            # The JVM is our child, the workers are its children.
            runs[name].append(timed(partial(run, frame), os.getpid()))
    return {name: summary(found, rows) for name, found in runs.items()}


def summary(runs, rows):
    seconds = min(run["seconds"] for run in runs)
    cpu = min(run["cpu_seconds"] for run in runs)
    return {
        "mrows_s": rows / seconds / 1e6,
        "cpu_us_per_row": cpu / rows * 1e6,
        "seconds": [run["seconds"] for run in runs],
        "cpu_seconds": [run["cpu_seconds"] for run in runs],
        "others_busy": max(run["others_busy"] for run in runs),
    }


if __name__ == "__main__":
    main()
