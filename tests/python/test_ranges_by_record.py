"""Ranges of offsets and times are of each record: headers under a right checksum may claim other offsets (FND-2) and times (FND-16).

A header may leave a batch out undecompressed where the pages say so. Every record of an opened batch is compared, in every API.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import building
import logsegment as ls
import made_logs
from cli_process import offsets, run
from damage import long_search

pl = pytest.importorskip("polars")

FINDS = Path(__file__).parent.parent / "finds"
CLOCKS = FINDS / "one-clock/ns-0"
OFFSETS = FINDS / "offset-lies/t-0"
TIMES = FINDS / "time-lies/t-0"
MAXIMA = FINDS / "max-timestamp/maxlow-0"
START = 1_767_225_600_000


def at(directory: Path) -> Path:
    return directory / f"{0:020}.log"


def given_offsets(stream: Any) -> list[int]:
    return [row["offset"] for row in stream.to_pylist()]


def spark_rows(directory: Path, **options: str) -> list[int]:
    """The offsets of a batch query, in this process."""
    pytest.importorskip("pyspark")
    from logsegment.spark import LogSegmentSource, record_schema

    reader: Any = LogSegmentSource({"path": str(directory), **options}).reader(record_schema(["offset"]))
    with warnings.catch_warnings(action="ignore"):
        # Some of these logs have no indexes.
        return [row["offset"] for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]


# Records of an opened batch are compared one by one.


def by_offsets(directory: Path, start: int, end: int) -> dict[str, list[int]]:
    """The offsets from `start` to before `end` that each API gives."""
    frame = ls.polars.scan(directory, columns=["offset"]).filter(pl.col("offset").is_between(start, end - 1))
    limits = {"startingOffsets": json.dumps({"t": {"0": start}}), "endingOffsets": json.dumps({"t": {"0": end}})}
    return {
        "decode": given_offsets(ls.decode(ls.FileSource(at(directory)), columns=["offset"], start_offset=start, end_offset=end)),
        "Log": given_offsets(ls.Log(directory).records(columns=["offset"], start_offset=start, end_offset=end)),
        "Segment": given_offsets(ls.Segment(at(directory)).records(columns=["offset"], start_offset=start, end_offset=end)),
        "skip": given_offsets(ls.Log(directory).records(columns=["offset"], start_offset=start, end_offset=end, on_error="skip")),
        "polars": frame.collect()["offset"].to_list(),
        "find": [place.offset for place in ls.find(directory, start_offset=start, end_offset=end)],
        "spark": spark_rows(directory, **limits),
    }


@pytest.mark.parametrize(("start", "end", "expected"), [(10, 13, [10, 12]), (11, 13, [12]), (0, 12, [10]), (12, 200, [110, 12])])
def test_a_range_of_offsets_gives_no_other_record(start: int, end: int, expected: list[int]):
    """The header claims 10 to 12, the records have 10, 110 and 12."""
    if end == 200:
        # A query that ends after the log is data loss.
        assert given_offsets(ls.Log(OFFSETS).records(columns=["offset"], start_offset=start, end_offset=end)) == expected
    else:
        assert by_offsets(OFFSETS, start, end) == dict.fromkeys(by_offsets(OFFSETS, start, end), expected)
    assert sorted(offsets(run("cat", OFFSETS, "--offset", f"{start}..{end}", "--columns", "offset"))) == sorted(expected)


def test_without_a_range_every_record_is_given_once_however_a_read_is_divided():
    assert given_offsets(ls.Log(OFFSETS).records(columns=["offset"])) == [10, 110, 12]
    for options in ({}, {"maxRecordsPerPartition": "1"}, {"maxRecordsPerPartition": "2"}, {"minPartitions": "5"}):
        assert sorted(spark_rows(OFFSETS, **options)) == [10, 12, 110], options


# Erasing looks at each record.


def rewritten(directory: Path, **how: Any) -> list[int]:
    """The offsets that are left."""
    return given_offsets(ls.decode(ls.rewrite(at(directory).read_bytes(), **how).data, columns=["offset"]))


def test_erasing_by_offsets_and_times_looks_at_each_record():
    assert rewritten(OFFSETS, drop=ls.Selection(offsets=(10, 13))) == [110]
    assert rewritten(OFFSETS, keep=ls.Selection(offsets=(10, 13))) == [10, 12]
    assert rewritten(OFFSETS, keep=ls.Selection(offsets=110)) == [110]
    rows = ls.decode(at(TIMES).read_bytes(), columns=["offset", "timestampMs"]).to_pylist()
    late = max(row["timestampMs"] for row in rows)
    assert late > max(row["maxTimestamp"] for row in ls.batches(at(TIMES).read_bytes()).to_pylist())
    for first in sorted({row["timestampMs"] for row in rows}):
        is_late = [row["offset"] for row in rows if row["timestampMs"] >= first]
        assert rewritten(TIMES, keep=ls.Selection(times=(first, None))) == is_late
        assert rewritten(TIMES, drop=ls.Selection(times=(first, None))) == [row["offset"] for row in rows if row["offset"] not in is_late]


def test_the_command_line_erases_by_each_record(tmp_path: Path):
    assert run("rewrite", OFFSETS, "--output", tmp_path / "o", "--drop", "offsets=10..13").code == 0
    assert given_offsets(ls.Log(tmp_path / "o").records(columns=["offset"])) == [110]
    assert run("rewrite", TIMES, "--output", tmp_path / "t", "--drop", "times=1700000001000..").code == 0
    left = ls.Log(tmp_path / "t").records(columns=["timestampMs"]).to_pylist()
    assert left
    assert all(row["timestampMs"] < 1_700_000_001_000 for row in left)


def test_an_expression_erases_the_record_that_it_selects_and_not_another_one_at_its_offset():
    records = [building.record(b"k", b"v%d" % number, offset_delta=delta) for number, delta in enumerate([0, 0, 2])]
    data = building.batch(b"".join(records), count=3)
    done = ls.rewrite(data, drop=pc.field("value") == pa.scalar(b"v1"))
    assert [row["value"] for row in ls.decode(done.data, columns=["value"]).to_pylist()] == [b"v0", b"v2"]
    old = b"".join(building.message_0_7(b"m%d" % number) for number in range(3))
    done = ls.rewrite(old, drop=pc.field("value") == pa.scalar(b"m1"), format="0.7", allow_loss=True)
    assert [row["value"] for row in ls.decode(done.data, columns=["value"], format="0.7").to_pylist()] == [b"m0", b"m2"]


# One bad clock.


def by_times(directory: Path, start: int | None, end: int) -> dict[str, list[int]]:
    """The offsets of a range of times that each API gives."""
    own = {name: time for name, time in (("start_timestamp", start), ("end_timestamp", end)) if time is not None}
    limits = {"startingTimestamp": start, "endingTimestamp": end}
    options = {name: str(time) for name, time in limits.items() if time is not None}
    since = [] if start is None else ["--since", str(start)]
    found = run("find", directory, *since, "--until", str(end), "--json")
    is_wanted = pl.col("timestampMs").is_between(-(2**62) if start is None else start, end - 1)
    return {
        "Log": given_offsets(ls.Log(directory).records(columns=["offset"], **own)),
        "Segment": given_offsets(ls.Segment(at(directory)).records(columns=["offset"], **own)),
        "skip": given_offsets(ls.Log(directory).records(columns=["offset"], on_error="skip", **own)),
        "find": [place.offset for place in ls.find(directory, **own)],
        "find verb": offsets(found),
        "cat": offsets(run("cat", directory, *since, "--until", str(end), "--columns", "offset")),
        "polars": ls.polars.scan(directory, columns=["offset", "timestampMs"]).filter(is_wanted).collect()["offset"].to_list(),
        "spark": spark_rows(directory, **options),
    }


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, START + 5_000, [0, 2]),
        (START, START + 10_000, [0, 2, 3]),
        (START, START + 4_001, [0, 2]),
        (START + 1, START + 10_000, [2, 3]),
    ],
)
def test_a_time_in_nanoseconds_hides_no_record_before_and_after_it(start: int | None, end: int, expected: list[int]):
    assert by_times(CLOCKS, start, end) == dict.fromkeys(by_times(CLOCKS, start, end), expected)


@pytest.mark.parametrize(
    ("time", "unit"),
    [
        (START * 1_000_000, "nanoseconds"),
        (START * 1_000, "microseconds"),
        (START // 1_000, "seconds"),
        (-1, None),
        (0, None),
        (10**9 - 10**8, None),
    ],
)
def test_validate_names_the_unit_of_a_time_that_no_clock_shows(time: int, unit: str | None):
    """TIME-1, in batches and messages, in their headers and in their records."""
    records = [building.record(b"k", b"v", offset_delta=delta, timestamp_delta=own - START) for delta, own in enumerate([START, time])]
    batch = building.batch(b"".join(records), count=2, base_timestamp=START, max_timestamp=max(START, time))
    appended = building.batch(
        building.records([b"v"]), count=1, base_timestamp=START, max_timestamp=time, attributes=building.LOG_APPEND_TIME
    )
    for data, depth in ((batch, "full"), (batch, "metadata"), (appended, "full"), (appended, "headers")):
        found = [finding for finding in ls.validate(data, depth=depth).findings if finding.rule == "TIME-1"]
        assert [(finding.severity, unit in finding.message if unit else None) for finding in found] == [("warning", True)] * (
            unit is not None
        ), depth
    message = building.message(b"v", magic=1, timestamp=time)
    assert [finding.rule for finding in ls.validate(message).findings if finding.rule == "TIME-1"] == ["TIME-1"] * (unit is not None)


def test_verify_warns_of_the_bad_clock_and_of_nothing_else():
    done = run("verify", CLOCKS, "--json", "--fail-on", "warning")
    assert done.code == 1
    assert "nanoseconds" in done.text
    assert run("verify", CLOCKS).code == 0


# A maximum that is not the maximum.


def test_a_missing_maximum_leaves_no_batch_out(tmp_path: Path):
    data = bytearray(at(MAXIMA).read_bytes())
    rows = ls.batches(bytes(data)).to_pylist()
    for row in rows:
        entry = bytearray(data[row["position"] : row["position"] + row["size"]])
        entry[35:43] = (-1).to_bytes(8, signed=True)
        data[row["position"] : row["position"] + row["size"]] = building.resealed(bytes(entry))
    directory = tmp_path / "hidden-0"
    directory.mkdir()
    at(directory).write_bytes(data)
    made_logs.index(directory)
    times = {row["offset"]: row["timestampMs"] for row in ls.decode(bytes(data), columns=["offset", "timestampMs"]).to_pylist()}
    for since in (START, START + 5_000, START + 15_500, START + 29_000):
        expected = [offset for offset, time in times.items() if time >= since]
        assert given_offsets(ls.Log(directory).records(columns=["offset"], start_timestamp=since)) == expected
        assert ls.Log(directory).offset_for_timestamp(since) == expected[0]
        frame = ls.polars.scan(directory, columns=["offset", "timestampMs"]).filter(pl.col("timestampMs") >= since)
        assert frame.collect()["offset"].to_list() == expected
        assert offsets(run("cat", directory, "--since", str(since), "--columns", "offset")) == expected
        assert [place.offset for place in ls.find(directory, start_timestamp=since)] == expected
        assert spark_rows(directory, startingTimestamp=str(since)) == expected
        assert rewritten(directory, keep=ls.Selection(times=(since, None))) == expected


# Generated logs, of which headers claim what they like.


@dataclass(frozen=True)
class Written:
    """A batch, and what is in it."""

    first: int
    last: int
    largest: int
    records: tuple[tuple[int, int], ...]
    appended: bool

    @property
    def times(self) -> list[tuple[int, int]]:
        """Offset and time of each record, as consumers get them."""
        return [(offset, self.largest if self.appended else time) for offset, time in self.records]

    @property
    def data(self) -> bytes:
        records = [
            building.record(b"k", b"v", offset_delta=offset - self.first, timestamp_delta=time - START) for offset, time in self.records
        ]
        return building.batch(
            b"".join(records),
            count=len(records),
            base_offset=self.first,
            last_offset_delta=self.last - self.first,
            base_timestamp=START,
            max_timestamp=self.largest,
            attributes=building.LOG_APPEND_TIME if self.appended else 0,
        )


@dataclass
class Generated:
    """A log of several batches in the order of their headers."""

    batches: list[Written] = field(default_factory=list)

    @property
    def records(self) -> list[tuple[int, int]]:
        return [item for batch in self.batches for item in batch.times]

    def within(self, start: int, end: int) -> list[int]:
        """The offsets from `start` to before `end` in batches of which the header claims one of them."""
        batches = [batch for batch in self.batches if batch.last >= start and batch.first < end]
        return [offset for batch in batches for offset, _ in batch.times if start <= offset < end]

    def between(self, since: int, until: int) -> list[int]:
        """The offsets of a range of times, from the first batch on whose header reaches its beginning."""

        def reaches(batch: Written) -> bool:
            # A batch whose header has no time is opened.
            is_opened = batch.largest == -1 and not batch.appended
            return batch.largest >= since or (is_opened and any(time >= since for _, time in batch.times))

        reaching = (at for at, item in enumerate(self.batches) if reaches(item))
        batches = self.batches[next(reaching, len(self.batches)) :]
        return [offset for batch in batches for offset, time in batch.times if time != -1 and since <= time < until]


@st.composite
def logs(draw: st.DrawFn) -> Generated:
    made, first = Generated(), 0
    for _ in range(draw(st.integers(1, 5))):
        length = draw(st.integers(1, 4))
        appended = draw(st.integers(0, 3)) == 0
        lies = draw(st.booleans())
        offset = st.integers(max(first - 6, 0), first + 12) if lies else st.none()
        time = st.one_of(st.integers(START, START + 20), st.sampled_from([-1, 0, START * 1_000_000, START // 1_000]))
        records = tuple((draw(offset) if lies else first + at, draw(time)) for at in range(length))
        largest = max(time for _, time in records)
        claims = draw(st.sampled_from([largest, largest, -1, START + 5]))
        made.batches.append(
            Written(first, first + length - 1, draw(st.integers(START, START + 20)) if appended else claims, records, appended)
        )
        first += length + draw(st.integers(0, 2))
    return made


Check = Callable[[Path], None]


def checked(log: Generated, check: Check) -> None:
    with TemporaryDirectory() as root:
        directory = Path(root) / "t-0"
        directory.mkdir()
        at(directory).write_bytes(b"".join(batch.data for batch in log.batches))
        made_logs.index(directory, interval=1)
        check(directory)


@long_search
@given(logs(), st.integers(0, 12), st.integers(1, 12))
def test_any_range_of_offsets_is_of_each_record(log: Generated, start: int, length: int):
    expected = log.within(start, start + length)
    own = {"start_offset": start, "end_offset": start + length}

    def check(directory: Path) -> None:
        for source in (at(directory).read_bytes(), ls.FileSource(at(directory))):
            assert given_offsets(ls.decode(source, columns=["offset"], **own)) == expected
        assert given_offsets(ls.decode(at(directory).read_bytes(), columns=["offset"], threads=2, **own)) == expected
        for on_error in ("raise", "skip"):
            assert given_offsets(ls.Log(directory).records(columns=["offset"], on_error=on_error, **own)) == expected
        assert given_offsets(ls.Segment(at(directory)).records(columns=["offset"], isolation="read_committed", **own)) == expected
        is_wanted = pl.col("offset").is_between(start, start + length - 1)
        assert ls.polars.scan(directory, columns=["offset"]).filter(is_wanted).collect()["offset"].to_list() == expected
        assert [place.offset for place in ls.find(directory, **own)] == expected
        selection = ls.Selection(offsets=(start, start + length))
        every = [offset for offset, _ in log.records]
        assert rewritten(directory, keep=selection) == [offset for offset in every if start <= offset < start + length]
        assert rewritten(directory, drop=selection) == [offset for offset in every if not start <= offset < start + length]

    checked(log, check)


@long_search
@given(logs(), st.integers(-1, 21), st.integers(1, 22))
def test_any_range_of_times_is_of_each_record(log: Generated, since: int, length: int):
    since, until = START + since, START + since + length
    expected = log.between(since, until)
    in_range = [offset for offset, time in log.records if time != -1 and since <= time < until]

    def is_right(found: list[int]) -> bool:
        """A read may begin before the first batch that it must have: then it has records of earlier batches that are in the range."""
        return len(found) >= len(expected) and found == in_range[len(in_range) - len(found) :]

    def check(directory: Path) -> None:
        own = {"start_timestamp": since, "end_timestamp": until}
        for on_error in ("raise", "skip"):
            assert is_right(given_offsets(ls.Log(directory).records(columns=["offset"], on_error=on_error, **own)))
        assert is_right([place.offset for place in ls.find(directory, **own)])
        early = [offset for offset, time in log.records if time != -1 and time < until]
        assert given_offsets(ls.Log(directory).records(columns=["offset"], end_timestamp=until)) == early
        assert [place.offset for place in ls.find(directory, end_timestamp=until)] == early
        selection = ls.Selection(times=(since, until))
        is_in = [time != -1 and since <= time < until for _, time in log.records]
        assert rewritten(directory, keep=selection) == [offset for (offset, _), own in zip(log.records, is_in, strict=True) if own]
        assert rewritten(directory, drop=selection) == [offset for (offset, _), own in zip(log.records, is_in, strict=True) if not own]

    checked(log, check)


@long_search
@given(logs(), st.integers(1, 6))
def test_a_read_that_is_divided_gives_every_record_once(log: Generated, most: int):
    """Tasks of a batch query, micro-batches of a stream, and records that follow others."""
    pytest.importorskip("pyspark")
    every = sorted(offset for offset, _ in log.records)

    def check(directory: Path) -> None:
        for options in ({"maxRecordsPerPartition": str(most)}, {"minPartitions": str(most)}):
            assert sorted(spark_rows(directory, **options)) == every
        assert sorted(streamed(directory, most)) == every

    checked(log, check)


def streamed(directory: Path, most: int) -> Iterator[int]:
    """The offsets of micro-batches of at most so many offsets."""
    from logsegment.spark import LogSegmentSource, record_schema

    source = LogSegmentSource({"path": str(directory), "maxOffsetsPerTrigger": str(most), "startingOffsets": "earliest"})
    reader: Any = source.streamReader(record_schema(["offset"]))
    begin = reader.initialOffset()
    while (end := reader.latestOffset(begin, reader.getDefaultReadLimit())) != begin:
        for task in reader.partitions(begin, end):
            for batch in reader.read(task):
                yield from (row["offset"] for row in batch.to_pylist())
        begin = end
