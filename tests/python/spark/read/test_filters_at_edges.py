"""A filter gives the rows that it gives after a full read, with literals at all edges of times and offsets, and zones on both sides."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import building
import logsegment as ls
import made_logs
from damage import search
from logsegment._core import __version__
from logsegment.spark import LogSegmentSource, record_schema
from logsegment.spark.jvm.planning import PlanningReader, PlanRequest
from logsegment.spark.read.plan import SegmentTask
from slow import slow_after
from spark_session import columnar_options

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(*date: int) -> int:
    return (datetime(*date, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)


#: Times in their own batches: of overflows of other clients, of clocks before standard time, the ends of the calendar, and beyond.
TIMES = [
    -(2**63),
    milliseconds(1, 1, 1),
    milliseconds(1500, 1, 3),
    milliseconds(1523, 6, 1, 12),
    milliseconds(1582, 10, 10),
    milliseconds(1816, 3, 30, 5, 56, 8),
    milliseconds(1883, 11, 18, 20),
    -2,
    -1,
    0,
    milliseconds(2026, 1, 1),
    milliseconds(9999, 12, 31, 23, 59, 59),
    milliseconds(9999, 12, 31, 23, 59, 59) + 1000,
    2**63 - 1,
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("edges") / "edges-0"
    directory.mkdir()
    # The order of times is not that of offsets.
    record = building.record(b"k", b"v")
    batches = [building.batch(record, count=1, base_offset=at, base_timestamp=time) for at, time in enumerate([*TIMES[::2], *TIMES[1::2]])]
    (directory / f"{0:020}.log").write_bytes(b"".join(batches))
    made_logs.index(directory)
    return directory


LITERALS = ["0001-01-01", "1500-01-02", "1582-10-12", "1883-11-18 12:00:00", "1969-12-31 23:59:59.999", "9999-12-31 23:59:59"]


@pytest.mark.spark
@pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK")
@pytest.mark.parametrize("zone", slow_after(1, ["America/Los_Angeles", "UTC", "Asia/Kolkata"]))
def test_no_literal_changes_what_the_columnar_reader_gives(spark: SparkSession, log: Path, zone: str):
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frames = {reader: spark.read.format("logsegment").options(reader=reader).load(str(log)) for reader in ("python", "columnar")}
        conditions = [f"timestamp {sign} '{literal}'" for literal in LITERALS for sign in (">=", "<")]
        conditions += ["timestamp = '1500-01-03'", "timestamp in ('1500-01-03', '0001-01-01')", "not (timestamp > '1500-01-02')"]
        conditions += [f"offset {sign} {number}" for sign in ("<=", ">=", "<", ">") for number in (2**63 - 1, -(2**63) + 1, 3)]
        conditions += [f"{2**63 - 1} >= offset", "offset in (0, 9223372036854775807)", "offset between 2 and 9223372036854775807"]
        for condition in conditions:
            found = {
                name: [row.offset for row in frame.where(condition).select("offset").orderBy("offset").collect()]
                for name, frame in frames.items()
            }
            assert found["columnar"] == found["python"], condition
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


#: Spark's names of the comparisons that give bounds.
TESTS: dict[str, Any] = {
    "GreaterThan": lambda own, asked: own > asked,
    "GreaterThanOrEqual": lambda own, asked: own >= asked,
    "LessThan": lambda own, asked: own < asked,
    "LessThanOrEqual": lambda own, asked: own <= asked,
    "EqualTo": lambda own, asked: own == asked,
}
EDGES = [-(2**63), -(2**63) + 1, -1, 0, 3, 2**63 - 2, 2**63 - 1]
micros = st.sampled_from([time * 1000 for time in TIMES if abs(time) < 2**53] + EDGES).flatmap(
    lambda time: st.integers(max(time - 1001, -(2**63)), min(time + 1001, 2**63 - 1))
)


@search
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(sorted(TESTS)), st.just("timestamp"), micros),
            st.tuples(st.sampled_from(sorted(TESTS)), st.just("offset"), st.one_of(st.sampled_from(EDGES), st.integers(-2, 20))),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_a_plan_leaves_out_no_row_for_which_the_filters_hold(log: Path, filters: list[tuple[str, str, int]]):
    options = {"path": str(log), "jvm.plan": json.dumps({"version": __version__, "filters": filters})}
    request = PlanRequest.taken(options)
    assert request is not None
    reader: Any = LogSegmentSource(options).reader(record_schema(["offset"]))
    planned = PlanningReader(reader, request, "rows are read here")
    from logsegment.spark.read.plan import wanted_by

    reader.wanted = wanted_by(request.filters)
    tasks = [task for task in planned.partitions() if isinstance(task, SegmentTask)]
    found = {row["offset"] for task in tasks for batch in reader.read(task) for row in batch.to_pylist()}
    rows = pa.table(ls.decode(ls.FileSource(log / f"{0:020}.log"), columns=["offset", "timestamp"]))
    times = rows["timestamp"].cast(pa.int64()).to_pylist()
    for offset, time in zip(rows["offset"].to_pylist(), times, strict=True):
        own = {"timestamp": time, "offset": offset}
        if all(own[column] is not None and TESTS[name](own[column], value) for name, column, value in filters):
            assert offset in found, filters


def test_one_batch_is_not_cut_into_more_tasks_than_it_has_bytes(tmp_path: Path):
    """A header claims 2^31-1 offsets."""
    directory = tmp_path / "huge-0"
    directory.mkdir()
    data = bytearray(ls.encode(pa.table({"value": [b"v"]})) or b"")
    data[23:27] = (2**31 - 2).to_bytes(4)
    (directory / f"{0:020}.log").write_bytes(building.resealed(bytes(data)))
    for most in ("1", "1000", str(2**20)):
        reader: Any = LogSegmentSource({"path": str(directory), "maxRecordsPerPartition": most}).reader(record_schema(["offset"]))
        tasks = reader.partitions()
        assert len(tasks) <= len(data) - 61
        assert [row["offset"] for task in tasks for batch in reader.read(task) for row in batch.to_pylist()] == [0]
