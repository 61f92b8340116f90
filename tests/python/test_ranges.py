"""A range that starts after its end, and a negative offset, are errors in every API; a range that starts at its end is empty."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cli_process
import logsegment as ls
from logsegment._core import FileSource
from made_logs import START, make_partition

READS: dict[str, Callable[[Path, Any], Any]] = {
    "decode": lambda log, how: ls.decode(segment_of(log), **how).read_all(),
    "decode of a file": lambda log, how: ls.decode(FileSource(segment_of(log)), **how).read_all(),
    "decode_array": lambda log, how: ls.decode_array(pa.array([segment_of(log).read_bytes()]), **how),
    "Segment.records": lambda log, how: ls.Segment(segment_of(log)).records(**how).read_all(),
    "Segment.batches": lambda log, how: ls.Segment(segment_of(log)).batches(**how),
    "Log.records": lambda log, how: ls.Log(log).records(**how).read_all(),
    "Log.batches": lambda log, how: ls.Log(log).batches(**how),
    "find": lambda log, how: list(ls.find(log, **how)),
}
OF_TIMES = ("Segment.records", "Log.records", "find")


def segment_of(log: Path) -> Path:
    return log / f"{0:020}.log"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ranges")
    make_partition(root, "orders", 0, [list(range(20))])
    return root / "orders-0"


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"start_offset": 9, "end_offset": 8}, "start_offset must not be after end_offset: 9 and 8"),
        ({"start_offset": -1}, "start_offset must not be negative: -1"),
        ({"end_offset": -2}, "end_offset must not be negative: -2"),
    ],
)
def test_invalid_ranges_of_offsets(log: Path, read: str, how: dict[str, int], told: str):
    with pytest.raises(ValueError, match=told):
        READS[read](log, how)


@pytest.mark.parametrize("read", OF_TIMES)
@pytest.mark.parametrize(
    "times", [(START + 9, START + 8), (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)), (START + 90, START)]
)
def test_invalid_ranges_of_times(log: Path, read: str, times: tuple[Any, Any]):
    with pytest.raises(ValueError, match="start_timestamp must not be after end_timestamp"):
        READS[read](log, {"start_timestamp": times[0], "end_timestamp": times[1]})


def test_a_negative_offset_of_a_search(log: Path):
    with pytest.raises(ValueError, match="offset must not be negative: -1"):
        ls.find(log, offset=-1)
    with pytest.raises(ValueError, match="start_offset must not be negative"):
        ls.Segment(segment_of(log)).offset_for_timestamp(0, start_offset=-1)
    with pytest.raises(ValueError, match="offset must not be negative"):
        ls.inspect(segment_of(log).read_bytes(), offset=-1)
    with pytest.raises(ValueError, match="offsets must not be negative"):
        ls.split(log, log.parent / "cut", offsets=[5, -1])
    with pytest.raises(ValueError, match="offsets must not be negative"):
        ls.rewrite(log, drop=ls.Selection(offsets=-1), dry_run=True)


@pytest.mark.parametrize("read", ["decode", "Segment.records", "Log.records"])
def test_empty_ranges_give_no_rows(log: Path, read: str):
    assert READS[read](log, {"start_offset": 7, "end_offset": 7}).num_rows == 0
    if read in OF_TIMES:
        assert READS[read](log, {"start_timestamp": START + 3, "end_timestamp": START + 3}).num_rows == 0
    assert list(ls.find(log, start_offset=7, end_offset=7)) == []


def test_a_filter_of_polars_may_be_negative(log: Path):
    import polars as pl

    assert ls.polars.scan(log).filter(pl.col("offset") >= -5).collect().height == 20
    assert ls.polars.scan(log).filter((pl.col("offset") >= 5) & (pl.col("offset") < 3)).collect().height == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["cat", "--since", "2026-01-02", "--until", "2026-01-01"],
        ["cat", "--since", "5", "--until", "4"],
        ["find", "--since", "5", "--until", "4"],
        ["cat", "--offset", "9..8"],
        ["cat", "--offset=-3"],
        ["cat", "--offset=-3..5"],
        ["find", "--offset", "9..8"],
        ["follow", "--offset", "-1"],
        ["rewrite", "--drop", "times=5..4", "--dry-run"],
        ["rewrite", "--drop", "offsets=5..4", "--dry-run"],
    ],
)
def test_invalid_ranges_are_usage_errors(log: Path, arguments: list[str]):
    assert cli_process.run(arguments[0], log, *arguments[1:]).code == 2


def test_an_empty_range_of_times_is_none(log: Path):
    done = cli_process.run("cat", log, "--since", "5", "--until", "5")
    assert (done.code, done.out) == (0, b"")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"startingTimestamp": "5", "endingTimestamp": "4"}, "startingTimestamp must not be after endingTimestamp"),
        ({"startingTimestamp": "5", "endingOffsetsByTimestamp": '{"orders":{"0":4}}'}, "startingTimestamp must not be after"),
        ({"startingOffsetsByTimestamp": '{"orders":{"0":5}}', "endingTimestamp": "4"}, "startingOffsetsByTimestamp must not be after"),
        ({"startingOffsetsByTimestamp": '{"orders":{"0":5}}', "endingOffsetsByTimestamp": '{"orders":{"0":4}}'}, "must not be after"),
        ({"startingOffsets": '{"orders":{"0":9}}', "endingOffsets": '{"orders":{"0":8}}'}, "must not be after"),
        ({"startingOffsets": '{"orders":{"0":-3}}'}, "-3 for orders-0 is not an offset"),
        ({"startingTimestamp": str(START + 9), "endingOffsets": '{"orders":{"0":8}}'}, "must not be after"),
        ({"startingOffsets": '{"orders":{"0":9}}', "endingTimestamp": str(START + 8)}, "must not be after"),
    ],
)
def test_invalid_ranges_of_spark(log: Path, options: dict[str, str], told: str):
    from logsegment.spark import LogSegmentSource

    def planned() -> Any:
        source = LogSegmentSource({"path": str(log), **options})
        return source.reader(source.schema()).partitions()

    with pytest.raises(ValueError, match=told):
        planned()


@pytest.mark.parametrize(
    "options", [{"startingTimestamp": "-2", "endingTimestamp": "-1"}, {"startingTimestamp": "5", "endingTimestamp": "-1"}]
)
def test_special_times_of_spark_stay(log: Path, options: dict[str, str]):
    from logsegment.spark import LogSegmentSource

    source = LogSegmentSource({"path": str(log), **options})
    reader = source.reader(source.schema())
    assert sum(rows.num_rows for task in reader.partitions() for rows in reader.read(task)) == 20
