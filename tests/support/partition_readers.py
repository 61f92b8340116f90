"""The rows of partitions by every API: Python, DuckDB, Polars, Spark batch and stream without a session, and the command line."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import duckdb
import polars as pl

import logsegment as ls
from cli_process import run
from logsegment.spark.options.read import parse_options
from logsegment.spark.read.plan import WantedRows, plan_tasks
from logsegment.spark.stream.reader import stream_reader

#: Rows as an API returns them: topic, partition and offset.
Rows: TypeAlias = list[tuple[str | None, int | None, int]]


@contextmanager
def quiet_about_swaps() -> Iterator[None]:
    """Ignore the warning that a swap was completed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[SEG-17\]")
        yield


def rows_of(table: Any) -> Rows:
    return sorted((row["topic"], row["partition"], row["offset"]) for row in table)


def by_log(paths: list[str], replica: str | None = None) -> Rows:
    columns = ["topic", "partition", "offset"]
    return rows_of(ls.Log(paths, replica=replica).records(columns=columns).read_all().to_pylist())


def by_duckdb(paths: list[str], replica: str | None = None) -> Rows:
    log = ls.Log(paths, replica=replica)  # noqa: F841  DuckDB finds it by its name
    return sorted(duckdb.sql('select topic, partition, "offset" from log').fetchall())


def by_polars(paths: list[str], replica: str | None = None) -> Rows:
    frame = ls.polars.scan(paths, replica=replica).select("topic", "partition", "offset").collect()
    assert isinstance(frame, pl.DataFrame)
    return rows_of(frame.to_dicts())


def by_find(paths: list[str], replica: str | None = None) -> Rows:
    return sorted((place.topic, place.partition, place.offset) for place in ls.find(paths, start_offset=0, replica=replica))


def by_spark(paths: list[str], replica: str | None = None) -> Rows:
    options = {"paths": json.dumps(paths), **({} if replica is None else {"replica": replica})}
    with quiet_about_swaps():
        parts = [part for task in plan_tasks(parse_options(options), WantedRows()) for part in task.parts]
    return sorted((read.topic, read.partition, row["offset"]) for source, read in parts for row in ls.decode(source).read_all().to_pylist())


def by_stream(paths: list[str], replica: str | None = None) -> Rows:
    options = {"paths": json.dumps(paths), "startingOffsets": "earliest", **({} if replica is None else {"replica": replica})}
    columns = ["topic", "partition", "offset"]
    reader = stream_reader(options, columns)
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    with quiet_about_swaps():
        batches = [batch for task in reader.partitions(start, end) for batch in reader.read(task)]
    return rows_of([row for batch in batches for row in batch.to_pylist()])


def by_cat(paths: list[str], replica: str | None = None) -> Rows:
    done = run("cat", *paths, "--columns", "topic,partition,offset", *([] if replica is None else ["--replica", replica]))
    if done.code:
        assert done.code == 2, done.err
        raise ValueError(done.err)
    return rows_of(map(json.loads, done.out.splitlines()))


#: Each takes paths and the option `replica`, and raises ValueError if the read is refused.
READERS: dict[str, Callable[[list[str], str | None], Rows]] = {
    "Log": by_log,
    "DuckDB": by_duckdb,
    "Polars": by_polars,
    "find": by_find,
    "Spark": by_spark,
    "stream": by_stream,
    "cat": by_cat,
}
