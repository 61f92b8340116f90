"""Times in a log with a damaged length, whichever door goes on past it: it seems to end where a batch does, and hides those before."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from building import resealed
from made_logs import START, make_partition

needs_spark = pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed")

OFFSETS = range(300)
#: Behind which batch after its own a damaged length ends.
HARMS = {"the next batch": 1, "two batches": 2, "the end of the file": None}
#: First and last times, from START on: in a batch that is hidden, in the damaged one, and before and behind both.
TIMES = [(110, None), (None, 110), (110, 116), (100, 125), (50, 112), (50, 250), (200, None), (None, 300)]


@pytest.fixture(params=["index", "no index"])
def indexed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "index")


@pytest.fixture(params=HARMS)
def damaged(request: pytest.FixtureRequest, tmp_path: Path, indexed: bool) -> tuple[Path, list[int]]:
    """A log, and the offsets in its intact batches."""
    make_partition(tmp_path, "orders", 0, [list(OFFSETS)], interval=1)
    log = tmp_path / "orders-0" / f"{0:020}.log"
    rows = ls.batches(log.read_bytes()).to_pylist()
    (at,) = [index for index, row in enumerate(rows) if row["baseOffset"] <= 100 <= row["lastOffset"]]
    last = rows[-1 if HARMS[request.param] is None else at + HARMS[request.param]]
    assert rows[at]["lastOffset"] < 110 <= rows[at + 1]["lastOffset"]
    data = bytearray(log.read_bytes())
    position = rows[at]["position"]
    data[position + 8 : position + 12] = (last["position"] + last["size"] - position - 12).to_bytes(4)
    log.write_bytes(data)
    if not indexed:
        log.with_suffix(".index").unlink()
        log.with_suffix(".timeindex").unlink()
    return log, [offset for offset in OFFSETS if not rows[at]["baseOffset"] <= offset <= rows[at]["lastOffset"]]


def expected(left: list[int], start: int | None, end: int | None) -> list[int]:
    return [offset for offset in left if (start is None or offset >= start) and (end is None or offset < end)]


@needs_spark
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_a_batch_query_finds_them(damaged: tuple[Path, list[int]], mode: str):
    log, left = damaged
    for start, end in TIMES:
        times = {"startingTimestamp": start, "endingTimestamp": end}
        options = {name: str(START + time) for name, time in times.items() if time is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = reader_of(log, mode=mode, **options)
            rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
        assert sorted(row["offset"] for row in rows if not row.get("_corrupt_record")) == expected(left, start, end), (start, end)


@needs_spark
def test_a_stream_begins_there(damaged: tuple[Path, list[int]]):
    log, left = damaged
    for start in (50, 100, 110, 125, 200):
        reader = stream_reader_of(log, mode="PERMISSIVE", startingTimestamp=str(START + start))
        begin = reader.initialOffset()
        assert begin == {"orders": {"0": expected(left, start, None)[0]}}, start
        end = reader.latestOffset(begin, reader.getDefaultReadLimit())
        rows = [row for task in reader.partitions(begin, end) for batch in reader.read(task) for row in batch.to_pylist()]
        assert sorted(row["offset"] for row in rows if not row["_corrupt_record"]) == expected(left, start, None)


@needs_spark
def test_a_stream_does_not_begin_behind_what_may_be_read(damaged: tuple[Path, list[int]]):
    """The broker says that offsets from 115 on may be cut off again."""
    log, left = damaged
    (log.parent.parent / "replication-offset-checkpoint").write_text("0\n1\norders 0 115\n")
    times = {"startingOffsetsByTimestampStrategy": "latest", "upTo": "highWatermark", "mode": "PERMISSIVE"}
    latest = 115
    for start in (110, 114, 115, 200):
        begin = min([*expected(left, start, None), latest])
        reader = stream_reader_of(log, startingTimestamp=str(START + start), **times)
        assert reader.initialOffset() == {"orders": {"0": begin}}, start
    with pytest.raises(ValueError, match="no record of orders-0 has timestamp"):
        stream_reader_of(log, startingTimestamp=str(START + 115), upTo="highWatermark", mode="PERMISSIVE").initialOffset()


@pytest.mark.parametrize("door", [ls.Log, ls.Segment])
def test_records_are_found_by_them(damaged: tuple[Path, list[int]], door: Any):
    log, left = damaged
    opened = door(log.parent if door is ls.Log else log)
    for start, end in TIMES:
        times = {"start_timestamp": start, "end_timestamp": end}
        options = {name: START + time for name, time in times.items() if time is not None}
        for isolation in ("read_uncommitted", "read_committed"):
            stream = opened.records(columns=["offset"], on_error="skip", isolation=isolation, **options)
            assert [row["offset"] for row in stream.read_all().to_pylist()] == expected(left, start, end), (start, end)


def test_without_checksums_the_times_of_damaged_batches_count(tmp_path: Path):
    """As their records do."""
    make_partition(tmp_path, "orders", 0, [list(OFFSETS)])
    log = tmp_path / "orders-0" / f"{0:020}.log"
    (victim,) = [row for row in ls.batches(log.read_bytes()).to_pylist() if row["baseOffset"] <= 100 <= row["lastOffset"]]
    data = bytearray(log.read_bytes())
    data[victim["position"] + 17] ^= 1
    log.write_bytes(data)
    for check_crc, first in ((True, victim["lastOffset"] + 1), (False, 100)):
        stream = ls.Segment(log).records(columns=["offset"], start_timestamp=START + 100, on_error="skip", check_crc=check_crc)
        assert stream.read_all().to_pylist()[0]["offset"] == first


def test_times_of_a_batch_that_is_not_whole_do_not_count(tmp_path: Path):
    """A record is missing at its end, under a right checksum: a read that skips damage gives none of its records."""
    make_partition(tmp_path, "orders", 0, [list(OFFSETS)])
    log = tmp_path / "orders-0" / f"{0:020}.log"
    data = log.read_bytes()
    (victim,) = [row for row in ls.batches(data).to_pylist() if row["baseOffset"] <= 100 <= row["lastOffset"]]
    start, end = victim["position"], victim["position"] + victim["size"]
    entry = bytearray(data[start:end])
    entry[57:61] = (victim["count"] + 1).to_bytes(4)
    log.write_bytes(data[:start] + resealed(bytes(entry)) + data[end:])
    left = [offset for offset in OFFSETS if not victim["baseOffset"] <= offset <= victim["lastOffset"]]
    for time in (victim["baseOffset"], 100, victim["lastOffset"]):
        stream = ls.Segment(log).records(columns=["offset"], start_timestamp=START + time, on_error="skip")
        assert [row["offset"] for row in stream.read_all().to_pylist()] == expected(left, time, None)
        (found, *_) = ls.find(log, start_timestamp=START + time, on_error="skip")
        assert found.offset == victim["lastOffset"] + 1


def reader_of(log: Path, **options: str) -> Any:
    from logsegment.spark import LogSegmentSource

    source = LogSegmentSource({"path": str(log), **options})
    return source.reader(source.schema())


def stream_reader_of(log: Path, **options: str) -> Any:
    from logsegment.spark import LogSegmentSource

    source = LogSegmentSource({"path": str(log.parent.parent), **options})
    return source.streamReader(source.schema())


def test_a_lost_end_of_a_closed_segment_may_have_records_of_a_range_of_times(tmp_path: Path):
    """Headers give the times of all records that are there, and not of a batch that is lost."""
    make_partition(tmp_path, "orders", 0, [[0, 1, 2, 3], [4, 5]], batch_bytes=1, interval=1)
    directory = tmp_path / "orders-0"
    early: dict[str, Any] = {"columns": ["offset"], "start_timestamp": START, "end_timestamp": START + 2}
    assert ls.Log(directory).records(**early).to_pyarrow()["offset"].to_pylist() == [0, 1]
    first = directory / f"{0:020}.log"
    first.write_bytes(first.read_bytes()[:-5])
    with pytest.raises(ls.TruncatedError, match="SEG-23"):
        ls.Log(directory).records(**early).read_all()
    # The offsets of a range need no more than its batches.
    assert ls.Log(directory).records(columns=["offset"], end_offset=2).to_pyarrow()["offset"].to_pylist() == [0, 1]
