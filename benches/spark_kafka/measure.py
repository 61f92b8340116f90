"""Our two readers beside Spark's own Kafka source, over the same topics of one broker, each in a Spark of its own on local[2], in one run.

Theirs asks the broker, ours read the broker's directory, and the stand-in of benches/spark yields the same rows ready made. They take
turns in rotating order, since who comes after another JVM's turn finds the caches cold; the best of the rounds counts. Queries are of
seconds, so that planning and the start of tasks, about 0.2 s in each, are a small part; both JVMs have compiled what they run before
the first is timed, or the codecs that come first would flatter one side. CPU is that of each Spark's JVM and its Python workers; the
broker's is told apart. Plain Python decodes the same files with the same options on one thread.
Narrow queries are those of benches/spark/readers.py, in which the Python reader has the option `columns`.
Prints [{"codec", "query", "rows", "ours": {...}, "columnar": {...}, "ceiling": {...}, "kafka": {...}, "plain_cpu_us_per_row"}] as one JSON
line; narrow queries have no ceiling and no plain decoding, and with --without-columnar nothing has "columnar".
"""

import argparse
import json
import shutil
import sys
import time
from functools import partial

import logsegment as ls
from benches.processes import timed
from benches.spark.entry_points import source_frames
from benches.spark.measure import QUERIES, session, summary
from benches.spark.readers import QUERIES as READER_QUERIES
from benches.spark_kafka.broker import PARTITIONS, scratch, serving, write_segments
from benches.thresholds import CODECS, SPARK_KAFKA_NARROW
from logsegment.spark import jar
from logsegment.spark.schema import KAFKA_COLUMNS

ROWS = 4_000_000  # in each of the partitions
FIRST_WARM_UPS = 6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--rows", type=int, default=ROWS, help="at least so many in each partition")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--java-options", default="", help="of both JVMs")
    parser.add_argument("--without-columnar", action="store_true", help="the Python reader and full rows alone")
    args = parser.parse_args()
    directory = scratch()
    shutil.rmtree(directory, ignore_errors=True)
    segments = {codec: write_segments(codec, directory / "segments", args.rows) for codec in args.codecs.split(",")}
    spark = session(args.java_options, None if args.without_columnar else jar())
    try:
        with serving({codec: paths for codec, (paths, _) in segments.items()}, directory, args.java_options) as (broker, source):
            shutil.rmtree(directory / "segments")
            bench = Bench(spark, broker, source, args)
            found = [row for codec, (_, rows) in segments.items() for row in bench.measure(codec, rows * PARTITIONS)]
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)
    print(json.dumps(found))


class Bench:
    """What all measurements share: the three processes, the number of rounds, and whether the columnar reader takes part."""

    def __init__(self, spark, broker, source, args):
        self.spark = spark
        self.jvm = spark.sparkContext._gateway.proc.pid
        self.broker = broker
        self.source = source
        self.rounds = args.rounds
        self.has_columnar = not args.without_columnar
        self.warm_ups = FIRST_WARM_UPS

    def measure(self, codec, rows):
        logs = [self.broker.partition(f"bench-{codec}", partition) for partition in range(PARTITIONS)]
        ours, ceiling, _ = source_frames(self.spark, logs, rows, self.broker.directory / f"{codec}.arrow")
        plain = min(plain_cpu_seconds(f"bench-{codec}", logs, rows) for _ in range(self.rounds))
        columnar = {"columnar": self.frame(logs, reader="columnar")} if self.has_columnar else {}
        for query, run in QUERIES.items():
            turns = self.take_turns(codec, query, run, {"ours": ours, "ceiling": ceiling, **columnar})
            yield self.row(codec, query, rows, turns) | {"plain_cpu_us_per_row": plain / rows * 1e6}
        for query in SPARK_KAFKA_NARROW if self.has_columnar else []:
            run, columns = READER_QUERIES[query]
            frames = {"ours": self.frame(logs, reader="python", columns=columns), **columnar}
            yield self.row(codec, query, rows, self.take_turns(codec, query, run, frames))

    def frame(self, logs, **options):
        return self.spark.read.format("logsegment").options(**options).load([str(log) for log in logs])

    def row(self, codec, query, rows, turns):
        return {"codec": codec, "query": query, "rows": rows, **{name: told(found, rows) for name, found in turns.items()}}

    def take_turns(self, codec, query, run, frames):
        print(f"spark_kafka: {codec}, {query}", file=sys.stderr)
        options = {"kafka.bootstrap.servers": self.broker.servers, "subscribe": f"bench-{codec}"}
        runs = {name: (partial(run, frame), self.jvm) for name, frame in frames.items()}
        runs["kafka"] = (partial(self.source.query, options, query), self.source.process.pid)
        warm_ups, self.warm_ups = self.warm_ups, 1
        return take_turns(runs, self.rounds, warm_ups, self.broker)


def take_turns(runs, rounds, warm_ups, broker):
    """Warm up each of {name: (run, root of its processes)}, then time them in rotating order; returns {name: what each run cost}."""
    for run, _ in [*runs.values()] * warm_ups:
        run()
    names, found = list(runs), {name: [] for name in runs}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            run, root = runs[name]
            found[name].append(timed(run, root, broker.process.pid))
    return found


def told(turns, rows):
    broker = min(turn["beside_cpu_seconds"] for turn in turns)
    return {**summary(turns, rows), "broker_cpu_us_per_row": broker / rows * 1e6}


def plain_cpu_seconds(topic, logs, rows):
    """CPU of this process to decode what a task of the source decodes, with its options."""
    start = time.process_time()
    seen = 0
    for partition, log in enumerate(logs):
        for path in sorted(log.glob("*.log")):
            source = ls.FileSource(path)
            stream = ls.decode(source, columns=KAFKA_COLUMNS, topic=topic, partition=partition)
            seen += sum(batch.num_rows for batch in stream)
    seconds = time.process_time() - start
    if seen != rows:
        raise SystemExit(f"{seen} rows instead of {rows}")
    return seconds


if __name__ == "__main__":
    main()
