"""Offsets of the records that every API reads of a log directory with one partition, which must agree about its log start offset."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import cli_process
import logsegment as ls

CHECKPOINT = "log-start-offset-checkpoint"


def write_checkpoint(root: Path, partition: str, offset: int) -> None:
    topic, _, number = partition.rpartition("-")
    (root / CHECKPOINT).write_text(f"0\n1\n{topic} {number} {offset}\n")


def offsets_of(log: ls.Log, **options: Any) -> list[int]:
    return [row["offset"] for row in log.records(columns=["offset"], **options).to_pylist()]


def read_by_every_api(root: Path) -> dict[str, list[int]]:
    """Return the offsets of the data records of one partition, whose directory `root` is or holds, by the name of the API."""
    import duckdb

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        log = ls.Log(root)
        return {
            "Log": offsets_of(log),
            **{f"Log of {path.name}": offsets_of(ls.Log(path)) for path in root.iterdir() if path.is_dir()},
            "Log, skipping damage": offsets_of(log, on_error="skip"),
            "polars.scan": ls.polars.scan(root).select("offset").collect()["offset"].to_list(),
            "DuckDB": [row[0] for row in duckdb.sql('select "offset" from log').fetchall()],
            "find": [place.offset for place in ls.find(root, start_offset=0) if place.control_type is None],
            "cat": [row["offset"] for row in cli_process.run("cat", root, "--columns", "offset").lines],
            "cat --tail": [row["offset"] for row in cli_process.run("cat", root, "--columns", "offset", "--tail", "1000000").lines],
            "find on the command line": [
                row["offset"] for row in cli_process.run("find", root, "--offset", "0..", "--json").lines if row["controlType"] is None
            ],
            "follow": [
                row["offset"] for row in cli_process.run("follow", root, "--offset", "0", "--idle-exit", "0", "--columns", "offset").lines
            ],
            **read_by_spark(root),
        }


def read_by_spark(root: Path, **options: str) -> dict[str, list[int]]:
    """Return the offsets that a batch query and a stream read, both without a session."""
    from logsegment.spark import LogSegmentSource, record_schema

    schema = record_schema(["offset"])
    batch = LogSegmentSource({"path": str(root), **options}).reader(schema)
    stream = LogSegmentSource({"path": str(root), "startingOffsets": "earliest", "upTo": "logEnd", **options}).streamReader(schema)
    start = stream.initialOffset()
    end = stream.latestOffset(start, stream.getDefaultReadLimit())

    def offsets(reader: Any, tasks: Any) -> list[int]:
        return [row["offset"] for task in tasks for rows in reader.read(task) for row in rows.to_pylist()]

    return {"Spark batch": offsets(batch, batch.partitions()), "Spark stream": offsets(stream, stream.partitions(start, end))}


def write_by_every_verb(root: Path, out: Path) -> dict[str, Path]:
    """Return the directories that every verb which keeps all records writes of a log directory, by the name of the verb."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    ls.rewrite(root, out / "rewrite", drop=[b"no such key"])
    ls.split(root, out / "split", bytes=1 << 30)
    ls.join(root, out / "join")
    for verb, arguments in {
        "convert": ["--compression", "gzip"],
        "rewrite -o": ["--drop", "key=no such key"],
        "split -o": ["--at-offset", "1"],
        "join -o": [],
    }.items():
        done = cli_process.run(verb.split()[0], root, *arguments, "--output", out / verb, "--quiet")
        assert done.code == 0, (verb, done.err)
    return {path.name: path for path in out.iterdir()}
