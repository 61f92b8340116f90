"""A stream over a damaged log: `mode` as in a batch query, and each damaged place told once, over micro-batches and tasks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import logsegment as ls
from growing import GrowingLog
from logsegment import _core
from logsegment.spark import LogSegmentSource
from logsegment.spark.source import RefusedStreamReader
from spark_session import spark_session

pytestmark = pytest.mark.spark

Row = dict[str, Any]
#: Batches of a log, and the second and the sixth of them, which are damaged.
COUNTS = [5, 5, 5, 5, 5, 5, 5, 5]
LEFT = [offset for offset in range(40) if not 5 <= offset < 10 and not 25 <= offset < 30]


@pytest.fixture
def log(tmp_path: Path) -> GrowingLog:
    log = GrowingLog(tmp_path / "logs")
    log.append(*COUNTS, size=100)
    return log


def damage(log: GrowingLog, kind: str, batch: int) -> int:
    """Where the damaged batch stands."""
    rows = ls.batches(ls.FileSource(log.segment)).to_pylist()
    position = rows[batch]["position"]
    data = bytearray(log.segment.read_bytes())
    if kind == "checksum":
        data[position + 70] ^= 1
    elif kind == "length":
        data[position + 8 : position + 12] = (-5).to_bytes(4, signed=True)
    elif kind == "claim":
        # It claims the offsets of all batches behind it.
        data[position + 23 : position + 27] = (1000).to_bytes(4)
    else:
        # It ends where the log ends, so that intact batches seem to be a part of it.
        data[position + 8 : position + 12] = (len(data) - position - 12).to_bytes(4)
    log.segment.write_bytes(data)
    return int(position)


def reader_of(log: GrowingLog, **options: str) -> Any:
    source = LogSegmentSource({"path": str(log.root), "startingOffsets": "earliest", **options})
    reader = source.streamReader(source.schema())
    if isinstance(reader, RefusedStreamReader):
        raise reader.error
    return reader


def read(log: GrowingLog, **options: str) -> tuple[list[int], list[Row]]:
    """Offsets of all records, and what is told of damage, over as many micro-batches and tasks as the options make."""
    reader = reader_of(log, **options)
    end, rows = reader.initialOffset(), []
    while (start := end) != (end := reader.latestOffset(start, reader.getDefaultReadLimit())):
        rows += [row for task in reader.partitions(start, end) for batch in reader.read(task) for row in batch.to_pylist()]
    told = [json.loads(row["_corrupt_record"]) for row in rows if row.get("_corrupt_record")]
    assert all(row["value"] is None for row in rows if row.get("_corrupt_record"))
    return sorted(row["offset"] for row in rows if not row.get("_corrupt_record")), told


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"maxOffsetsPerTrigger": "3"},
        {"maxRecordsPerPartition": "2"},
        {"maxOffsetsPerTrigger": "7", "minPartitions": "3"},
        {"maxBytesPerTrigger": "900"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["checksum", "length", "claim", "swallow"])
def test_valid_batches_are_read_and_damage_is_reported_once(log: GrowingLog, kind: str, options: dict[str, str], is_indexed: bool):
    if is_indexed:
        _core.rebuild_indexes([(log.segment, 0)], log.directory, index_interval_bytes=1)
    places = {damage(log, "checksum", 1), damage(log, kind, 5)} if kind != "swallow" else {damage(log, kind, 5)}
    left = LEFT if kind != "swallow" else sorted({*LEFT, *range(5, 10)})
    found, told = read(log, mode="PERMISSIVE", **options)
    assert found == left
    assert sorted(span["position"] for span in told) == sorted(places)
    assert {row["path"] for row in told} == {str(log.segment)}
    assert read(log, mode="DROPMALFORMED", **options) == (left, [])


def test_damage_at_the_end_is_reported_when_the_log_goes_on(log: GrowingLog):
    """Until then nobody knows whether its bytes are still on their way."""
    damage(log, "length", 7)
    reader = reader_of(log, mode="PERMISSIVE")
    end = reader.latestOffset(reader.initialOffset(), None)
    assert end == {"orders": {"0": 35}}
    log.append(5, size=100)
    again = reader.latestOffset(end, None)
    assert again == {"orders": {"0": 45}}
    rows = [row for task in reader.partitions(end, again) for batch in reader.read(task) for row in batch.to_pylist()]
    assert [row["offset"] for row in rows if row["_corrupt_record"] is None] == list(range(40, 45))
    assert len(rows) == 6


def test_failfast_is_the_default(log: GrowingLog):
    damage(log, "checksum", 1)
    for options in ({}, {"mode": "FAILFAST"}):
        with pytest.raises(ls.ChecksumError, match=r"V2-31.*; set the option mode to PERMISSIVE or DROPMALFORMED to skip damage$"):
            read(log, **options)
    with pytest.raises(ls.ChecksumError, match="V2-31") as raised:
        read(log, isolation="read_committed")
    assert "PERMISSIVE" not in str(raised.value), "a committed stream takes FAILFAST only"


def test_failfast_ends_at_an_entry_that_covers_valid_batches(log: GrowingLog):
    """No batch after it would ever be read, so that it cannot be taken for one that is still being written."""
    damage(log, "swallow", 5)
    with pytest.raises(ls.RecordBatchError, match=rf"{re.escape(str(log.segment))}.*set the option mode to PERMISSIVE"):
        read(log)


def test_a_committed_stream_takes_failfast_only(log: GrowingLog):
    with pytest.raises(ValueError, match=r"FAILFAST .*isolation read_committed, not PERMISSIVE"):
        reader_of(log, mode="PERMISSIVE", isolation="read_committed")
    reader_of(log, mode="FAILFAST", isolation="read_committed")


@pytest.mark.slow
def test_spark_streams_past_damage(tmp_path: Path):
    spark: SparkSession = spark_session()
    log = GrowingLog(tmp_path / "logs")
    log.append(*COUNTS, size=100)
    place = damage(log, "checksum", 1)
    rows: list[Any] = []

    def run(**options: str) -> list[Any]:
        def write(batch: DataFrame, number: int) -> None:
            rows.extend(batch.collect())

        rows.clear()
        stream = spark.readStream.format("logsegment").options(startingOffsets="earliest", **options).load(str(log.root))
        query = stream.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "-".join(["checkpoint", *options])))
        query.trigger(availableNow=True).start().awaitTermination()
        return rows

    with pytest.raises(StreamingQueryException, match=r"ChecksumError: .*orders-0/0+\.log: \[V2-31\]"):
        run()
    told = run(mode="PERMISSIVE", columnNameOfCorruptRecord="bad", maxOffsetsPerTrigger="7")
    assert sorted(row.offset for row in told if row.bad is None) == [offset for offset in range(40) if not 5 <= offset < 10]
    (bad,) = [row for row in told if row.bad is not None]
    assert (bad.topic, bad.partition, bad.offset, json.loads(bad.bad)["position"]) == ("orders", 0, 5, place)
