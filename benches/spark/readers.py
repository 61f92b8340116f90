"""The columnar reader beside the one in Python, on local[2], in one run: CPU and time of a row.

Each query runs with both readers in rotating order, and the medians of the rounds count. Python reads narrow queries twice: as Spark asks,
which prunes no column of a Python source, and with the option `columns`. CPU is that of the JVM and of all Python workers, from /proc.
Prints [{"corpus", "query", "rows", "python": {...}, "python with columns": {...} or null, "columnar": {...}}] as one JSON line.
"""

import argparse
import json
import os
import statistics
import sys
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import IntegerType

from benches.paths import WORK
from benches.processes import timed
from benches.segments import write_directory
from benches.spark.measure import noop, session
from logsegment.spark import jar

CORPORA = ["small-none", "small-lz4"]
SEGMENTS = 8


def group(frame):
    frame.groupBy("partition").agg(F.sum(F.length("value"))).collect()


def count(frame):
    frame.where("offset % 2 = 0").agg(F.count("*")).collect()


@arrow_udf(IntegerType())
def length(value: pa.Array) -> pa.Array:
    return pc.binary_length(value)


def arrow_function(frame):
    frame.select(length("value").alias("length")).agg(F.sum("length")).collect()


#: Query, and the columns that it needs; None for all.
QUERIES = {
    "noop": (noop, None),
    "group": (group, "partition,value"),
    "count": (count, "offset"),
    "arrow_udf": (arrow_function, "value"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--segments", type=int, default=SEGMENTS)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    spark = session(jars=jar())
    try:
        rows = [measure(spark, name, query, args) for name in args.corpora.split(",") for query in args.queries.split(",")]
    finally:
        spark.stop()
    print(json.dumps(rows))


def measure(spark, name, query, args):
    directory = WORK / "spark" / name / "bench-0"
    rows = write_directory(name, directory, args.segments)
    run, columns = QUERIES[query]
    print(f"spark readers: {name}, {query}", file=sys.stderr)

    def load(**options):
        return spark.read.format("logsegment").options(**options).load(str(directory))

    frames = {"python": load(reader="python"), "columnar": load(reader="columnar")}
    if columns is not None:
        frames["python with columns"] = load(reader="python", columns=columns)
    found = take_turns(frames, run, rows, args.rounds)
    return {"corpus": name, "query": query, "rows": rows, "python with columns": None, **found}


def take_turns(frames, run, rows, rounds):
    """Warm each frame up twice, then time them in rotating order; returns {name: medians}."""
    for frame in (*frames.values(), *frames.values()):
        run(frame)
    names, runs = list(frames), {name: [] for name in frames}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            # The JVM is our child, the workers are its children.
            runs[name].append(timed(partial(run, frames[name]), os.getpid()))
    return {name: summary(found, rows) for name, found in runs.items()}


def summary(runs, rows):
    def median(key):
        return statistics.median(run[key] for run in runs)

    return {
        "mrows_s": rows / median("seconds") / 1e6,
        "cpu_us_per_row": median("cpu_seconds") / rows * 1e6,
        "cpu_seconds": [run["cpu_seconds"] for run in runs],
        "others_busy": median("others_busy"),
    }


if __name__ == "__main__":
    main()
