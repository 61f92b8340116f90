"""Our source beside Spark's own Kafka source, over the same topics of one broker, each in a Spark of its own on local[2], in one run.

Theirs asks the broker, ours reads the broker's directory, and the stand-in of benches/spark yields the same rows ready made. They take
turns in every order, since who comes after another JVM's turn finds the caches cold; the best of the rounds counts. Queries are of
seconds, so that planning and the start of tasks, about 0.2 s in each, are a small part; both JVMs have compiled what they run before
the first is timed, or the codecs that come first would flatter one side. CPU is that of each Spark's JVM and its Python workers; the
broker's is told apart. Plain Python decodes the same files with the same options on one thread.
Prints [{"codec", "query", "rows", "ours": {...}, "ceiling": {...}, "kafka": {...}, "plain_cpu_us_per_row"}] as one JSON line.
"""

import argparse
import json
import shutil
import sys
import time
from functools import partial
from itertools import cycle, islice, permutations

import logsegment as ls
from benches.processes import timed
from benches.spark.doors import source_frames
from benches.spark.measure import QUERIES, session, summary
from benches.spark_kafka.broker import PARTITIONS, scratch, serving, write_segments
from benches.thresholds import CODECS
from logsegment.spark.schema import KAFKA_COLUMNS

ROWS = 4_000_000  # in each of the partitions
FIRST_WARM_UPS = 6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--rows", type=int, default=ROWS, help="at least so many in each partition")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--java-options", default="", help="of both JVMs")
    args = parser.parse_args()
    directory = scratch()
    shutil.rmtree(directory, ignore_errors=True)
    segments = {codec: write_segments(codec, directory / "segments", args.rows) for codec in args.codecs.split(",")}
    spark = session(args.java_options)
    try:
        with serving({codec: paths for codec, (paths, _) in segments.items()}, directory, args.java_options) as (broker, source):
            shutil.rmtree(directory / "segments")
            bench = Bench(spark, broker, source, args.rounds)
            found = [row for codec, (_, rows) in segments.items() for row in bench.measure(codec, rows * PARTITIONS)]
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)
    print(json.dumps(found))


class Bench:
    """What all measurements share: the three processes and the number of rounds."""

    def __init__(self, spark, broker, source, rounds):
        self.spark = spark
        self.jvm = spark.sparkContext._gateway.proc.pid
        self.broker = broker
        self.source = source
        self.rounds = rounds
        self.warm_ups = FIRST_WARM_UPS

    def measure(self, codec, rows):
        topic = f"bench-{codec}"
        logs = [self.broker.partition(topic, partition) for partition in range(PARTITIONS)]
        ours, ceiling, _ = source_frames(self.spark, logs, rows, self.broker.directory / f"{codec}.arrow")
        options = {"kafka.bootstrap.servers": self.broker.servers, "subscribe": topic}
        plain = min(plain_cpu_seconds(topic, logs, rows) for _ in range(self.rounds))
        for query, run in QUERIES.items():
            print(f"spark_kafka: {codec}, {query}", file=sys.stderr)
            runs = {
                "ours": (partial(run, ours), self.jvm),
                "ceiling": (partial(run, ceiling), self.jvm),
                "kafka": (partial(self.source.time, options, query), self.source.process.pid),
            }
            turns = self.take_turns(runs, rows)
            yield {"codec": codec, "query": query, "rows": rows, **turns, "plain_cpu_us_per_row": plain / rows * 1e6}

    def take_turns(self, runs, rows):
        """Warm each up, then time them in turns."""
        for run, _ in [*runs.values()] * self.warm_ups:
            run()
        self.warm_ups = 1
        found = {name: [] for name in runs}
        for order in islice(cycle(permutations(runs)), self.rounds):
            for name in order:
                run, root = runs[name]
                found[name].append(timed(run, root, self.broker.process.pid))
        return {name: told(turns, rows) for name, turns in found.items()}


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
            stream = ls.decode(source, columns=KAFKA_COLUMNS, topic=topic, partition=partition, null_headers=True)
            seen += sum(batch.num_rows for batch in stream)
    seconds = time.process_time() - start
    if seen != rows:
        raise SystemExit(f"{seen} rows instead of {rows}")
    return seconds


if __name__ == "__main__":
    main()
