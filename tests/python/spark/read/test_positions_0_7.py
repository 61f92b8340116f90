"""Segments of Kafka 0.7 in Spark, whose offsets are positions: a query begins and ends where an entry starts (L7-1)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

import corpus
import logsegment as ls
from logsegment.segment_files.discovery import find_segments
from logsegment.spark import record_schema

pytestmark = pytest.mark.spark

COLUMNS = ["topic", "partition", "offset", "entryPosition", "indexInEntry", "value"]
DATA = corpus.CORPUS / "legacy-0.7.2/data"


def whole(directory: Path) -> list[tuple[int, corpus.Row]]:
    """Every record, and the position in the partition at which its entry starts."""
    rows = []
    for segment in find_segments(directory):
        for row in ls.decode(ls.FileSource(segment.path), columns=COLUMNS[2:]).to_pyarrow().to_pylist():
            rows.append(((segment.base_offset or 0) + row["entryPosition"], row))
    return rows


def load(spark: SparkSession, directory: Path, start: int, end: int) -> list[corpus.Row]:
    topic, _, partition = directory.name.rpartition("-")
    ends = {"startingOffsets": start, "endingOffsets": end}
    options = {name: json.dumps({topic: {partition: offset}}) for name, offset in ends.items()}
    frame = spark.read.format("logsegment").options(**options).schema(record_schema(COLUMNS)).load(str(directory))
    found = [row.asDict() for row in frame.collect()]
    assert {(row["topic"], row["partition"]) for row in found} <= {(topic, int(partition))}
    kept = [{name: row[name] for name in COLUMNS[2:]} for row in found]
    return sorted(({**row, "value": bytes(row["value"])} for row in kept), key=lambda row: (row["offset"], row["indexInEntry"]))


def in_order(rows: list[corpus.Row]) -> list[corpus.Row]:
    return sorted(rows, key=lambda row: (row["offset"], row["indexInEntry"]))


@pytest.mark.parametrize("name", ["codec-none-0", "mixed-codecs-0", "multi-segment-0"])
def test_a_query_begins_and_ends_where_entries_start(spark: SparkSession, name: str):
    rows = whole(DATA / name)
    starts = sorted({start for start, _ in rows})
    assert len(starts) > 4
    for first, last in ((0, len(starts) - 1), (1, len(starts) // 2), (len(starts) // 2, -1)):
        start, end = starts[first], starts[last]
        expected = [row for position, row in rows if start <= position < end]
        assert load(spark, DATA / name, start, end) == in_order(expected)
        assert load(spark, DATA / name, start, -1) == in_order([row for position, row in rows if position >= start])


def test_the_offset_of_a_message_is_where_a_query_goes_on(spark: SparkSession):
    """As a consumer of 0.7 commits it: the position behind what it read. Nothing comes twice."""
    rows = whole(DATA / "codec-none-0")
    read = rows[3][1]["offset"]
    assert load(spark, DATA / "codec-none-0", read, -1) == in_order([row for _, row in rows[4:]])


def test_inside_of_a_compressed_entry_a_query_begins_with_its_first_message_again(spark: SparkSession):
    """All messages of a wrapper but the last have its own position for an offset."""
    rows = whole(DATA / "codec-gzip-0")
    at = next(index for index, (_, row) in enumerate(rows) if row["indexInEntry"] == 1)
    wrapper = rows[at][1]["entryPosition"]
    assert rows[at - 1][1]["offset"] == wrapper
    again = load(spark, DATA / "codec-gzip-0", rows[at - 1][1]["offset"], -1)
    assert again == in_order([row for position, row in rows if position >= wrapper])
    assert rows[at - 1][1] in again


@pytest.mark.parametrize("edge", ["starting", "ending"])
def test_a_position_inside_of_an_entry_is_refused(spark: SparkSession, edge: str):
    name = "multi-segment-0"
    starts = sorted({start for start, _ in whole(DATA / name)})
    before, behind = starts[-2], starts[-1]
    limits = (before + 1, -1) if edge == "starting" else (0, before + 1)
    told = f"option {edge}Offsets: no entry of multi-segment-0 starts at {before + 1}; the nearest are {before} and {behind}"
    with pytest.raises(AnalysisException, match=told):
        load(spark, DATA / name, *limits)


def test_a_stream_says_that_it_cannot_follow_them(spark: SparkSession, tmp_path: Path):
    shutil.copytree(DATA / "codec-none-0", tmp_path / "codec-none-0")
    query: Any = spark.readStream.format("logsegment").option("startingOffsets", "earliest").load(str(tmp_path))
    with pytest.raises(StreamingQueryException, match=r"Kafka 0\.7 .*a batch query"):
        query.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).trigger(
            availableNow=True
        ).start().awaitTermination()
