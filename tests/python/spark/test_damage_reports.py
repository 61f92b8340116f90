"""Batch queries and streams report damage among the wanted offsets once, however they are split into tasks."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import building
import damaged_marker
import logsegment as ls
from growing import GrowingLog
from logsegment import _core
from logsegment.spark import LogSegmentSource
from logsegment.spark.read.plan import OWN_TASKS
from logsegment.spark.stream.reader import RefusedStreamReader

pytest.importorskip("pyspark.sql.streaming.datasource")

Json = dict[str, dict[str, int]]
#: How the tasks of a query are made.
CUTS = [{}, {"maxRecordsPerPartition": "2"}, {"minPartitions": "9"}]


@dataclass
class Read:
    """Offsets of the records, and what is told of damage."""

    offsets: list[int] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)

    def take(self, reader: Any, tasks: list[Any]) -> None:
        rows = [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]
        self.offsets = sorted([*self.offsets, *(row["offset"] for row in rows if row.get("_corrupt_record") is None)])
        self.told += [json.loads(row["_corrupt_record"]) for row in rows if row.get("_corrupt_record") is not None]

    @property
    def positions(self) -> list[int]:
        return [span["position"] for span in self.told]


def at(offset: int) -> str:
    return json.dumps({"orders": {"0": offset}})


def by_batch(root: Path, start: int, end: int | None = None, **options: str) -> Read:
    if end is not None:
        options["endingOffsets"] = at(end)
    source = LogSegmentSource({"path": str(root), "mode": "PERMISSIVE", "startingOffsets": at(start), **options})
    reader = source.reader(source.schema())
    read = Read()
    with warnings.catch_warnings():
        # Of indexes that are missing.
        warnings.simplefilter("ignore")
        read.take(reader, list(reader.partitions()))
    return read


def by_stream(root: Path, start: int, **options: str) -> Read:
    return streamed(root, start, options, is_restarted=False)


def by_restarted_stream(root: Path, start: int, **options: str) -> Read:
    """With each micro-batch anew, from the offsets of its checkpoint."""
    return streamed(root, start, options, is_restarted=True)


def streamed(root: Path, start: int, options: dict[str, str], *, is_restarted: bool) -> Read:
    def reader_of() -> Any:
        source = LogSegmentSource({"path": str(root), "mode": "PERMISSIVE", "startingOffsets": at(start), **options})
        reader = source.streamReader(source.schema())
        if isinstance(reader, RefusedStreamReader):
            raise reader.error
        return reader

    read, reader = Read(), reader_of()
    end: Json = reader.initialOffset()
    assert end == {"orders": {"0": start}}
    while (begin := end) != (end := reader.latestOffset(begin, reader.getDefaultReadLimit())):
        read.take(reader, reader.partitions(begin, end))
        reader = reader_of() if is_restarted else reader
    return read


Query = Callable[..., Read]
QUERIES: list[Query] = [by_batch, by_stream, by_restarted_stream]


@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("snapshots", [True, False])
def test_an_undecided_batch_is_reported_where_a_query_begins_inside_of_it(snapshots: bool, cut: dict[str, str], tmp_path: Path):
    """A batch with the first wanted offset in it begins before that offset."""
    log = damaged_marker.case(tmp_path, "abort to commit", "inside", snapshots=snapshots)
    for start in range(9):
        for end in (start + 1, start + 2, None):
            read = by_batch(log.directory, start, end, isolation="read_committed", **cut)

            def is_wanted(first: int, last: int, start: int = start, end: int | None = end) -> bool:
                return last >= start and (end is None or first < end)

            assert read.offsets == sorted(offset for offset in damaged_marker.CERTAIN if is_wanted(offset, offset)), (start, end)
            doubted = sorted((finding["baseOffset"], finding["lastOffset"]) for finding in read.told if finding["rule"] == "TRX-5")
            assert doubted == [item for item in ((0, 1), (3, 4), (5, 5)) if is_wanted(*item)], (start, end)
            damaged = [finding["rule"] for finding in read.told if finding["rule"] != "TRX-5"]
            assert damaged == ["V2-31"] * is_wanted(damaged_marker.LOST, damaged_marker.LOST), (start, end)


def checksum(data: bytearray, position: int) -> None:
    data[position + 70] ^= 1


def length(data: bytearray, position: int) -> None:
    data[position + 8 : position + 12] = (-5).to_bytes(4, signed=True)


def claim(data: bytearray, position: int) -> None:
    """All offsets behind it."""
    data[position + 23 : position + 27] = (1000).to_bytes(4)


def swallow(data: bytearray, position: int) -> None:
    """All bytes behind it."""
    data[position + 8 : position + 12] = (len(data) - position - 12).to_bytes(4)


def damaged_log(root: Path, harm: Callable[[bytearray, int], None], *, is_indexed: bool = False, **options: Any) -> tuple[GrowingLog, int]:
    """Eight batches of five records, and where the second of them stands, which is damaged."""
    log = GrowingLog(root)
    log.append(5, size=100, **options)
    position = log.segment.stat().st_size
    log.append(*[5] * 7, size=100, **options)
    if is_indexed:
        _core.rebuild_indexes([(log.segment, 0)], log.directory, index_interval_bytes=1)
    data = bytearray(log.segment.read_bytes())
    harm(data, position)
    log.segment.write_bytes(data)
    return log, position


def ensure_told_once(root: Path, position: int, options: dict[str, str]) -> None:
    for start in range(4, 12):
        for query in QUERIES:
            read = query(root, start, **options)
            assert read.offsets == [offset for offset in range(start, 40) if not 5 <= offset < 10], (query, start)
            assert read.positions == [position] * (start < 10), (query, start)


@pytest.mark.slow
@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("harm", [checksum, length, claim, swallow])
def test_damage_is_reported_where_a_query_begins_inside_of_it(harm: Any, cut: dict[str, str], is_indexed: bool, tmp_path: Path):
    _, position = damaged_log(tmp_path, harm, is_indexed=is_indexed)
    ensure_told_once(tmp_path, position, cut)


def test_damage_between_batches_of_magic_3_is_reported_once(tmp_path: Path):
    """What is intact is known by the option of the query."""
    log, position = damaged_log(tmp_path, checksum, format="v3")
    assert log.segment.read_bytes()[16] == 3
    for cut in CUTS:
        ensure_told_once(tmp_path, position, {"format": "v3", **cut})


@pytest.mark.parametrize("limit", ["1", "3", "7"])
def test_damage_that_micro_batches_share_is_reported_by_the_first_of_them(limit: str, tmp_path: Path):
    _, position = damaged_log(tmp_path, checksum)
    for start in range(4, 12):
        for query in (by_stream, by_restarted_stream):
            read = query(tmp_path, start, maxOffsetsPerTrigger=limit)
            assert read.offsets == [offset for offset in range(start, 40) if not 5 <= offset < 10]
            assert read.positions == [position] * (start < 10), (query, start)


@pytest.mark.parametrize("cut", [{}, {"maxRecordsPerPartition": "7"}, {"minPartitions": "5"}], ids=str)
def test_a_batch_that_cannot_be_decompressed_is_reported_after_missing_offsets(cut: dict[str, str], tmp_path: Path):
    """Its checksum is right, so that its header counts: the task of its own offsets reads it."""
    values = [b"value"] * 5
    bad = building.batch(b"this is not gzip at all" * 3, count=5, base_offset=60, attributes=building.GZIP)
    batches = [building.simple_batch(values), bad, building.simple_batch(values, 70)]
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / f"{0:020}.log").write_bytes(b"".join(batches))
    for query in QUERIES:
        for start in (0, 30, 60, 63, 65):
            read = query(tmp_path, start, **cut)
            assert read.offsets == [*range(start, 5), *range(70, 75)], (query, start)
            assert read.positions == [len(batches[0])] * (start < 65), (query, start)


@pytest.mark.parametrize("snapshots", [True, False])
def test_a_task_of_several_partitions_knows_the_transactions_of_each(snapshots: bool, tmp_path: Path):
    count = 2 * OWN_TASKS + 10
    (tmp_path / "logs").mkdir()
    for number in range(count):
        whole = damaged_marker.written(tmp_path / str(number), damaged_marker.entries(), (0, 12, 20), {}, snapshots=snapshots)
        damaged = damaged_marker.case(tmp_path / f"{number} damaged", "abort to commit", "inside", snapshots=snapshots)
        (damaged if number % 5 == 0 else whole).directory.rename(tmp_path / "logs" / f"orders-{number}")
    source = LogSegmentSource({"path": str(tmp_path / "logs"), "mode": "PERMISSIVE", "isolation": "read_committed"})
    reader = source.reader(source.schema())
    found = list(reader.partitions())
    assert any(len({read.partition for _, read in task.parts}) > 1 for task in found)
    rows = [row for task in found for batch in reader.read(task) for row in batch.to_pylist()]
    for number in range(count):
        own = [row for row in rows if row["partition"] == number]
        told = [json.loads(row["_corrupt_record"])["rule"] for row in own if row["_corrupt_record"] is not None]
        assert sorted(told) == (["TRX-5"] * 3 + ["V2-31"] if number % 5 == 0 else [])
        expected = damaged_marker.CERTAIN if number % 5 == 0 else damaged_marker.COMMITTED
        assert [row["offset"] for row in own if row["_corrupt_record"] is None] == sorted(expected)


DAMAGED = [(how, border) for how in damaged_marker.DAMAGE for border in ("inside", "last", "first")]


@pytest.mark.slow
@pytest.mark.parametrize(("how", "border"), DAMAGED)
def test_a_stream_goes_on_past_damage_as_a_batch_query_does(how: str, border: str, tmp_path: Path):
    damaged_marker.case(tmp_path, how, border)
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        expected = by_batch(tmp_path, 0, mode=mode)
        places = sorted((finding["rule"], finding["path"], finding["position"]) for finding in expected.told)
        assert bool(places) == (mode == "PERMISSIVE" and how not in damaged_marker.GONE)
        for query in (by_stream, by_restarted_stream):
            for cut in ({}, {"maxOffsetsPerTrigger": "4"}):
                read = query(tmp_path, 0, mode=mode, **cut)
                assert read.offsets == expected.offsets
                assert sorted((finding["rule"], finding["path"], finding["position"]) for finding in read.told) == places


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize(("how", "border"), DAMAGED)
def test_a_stream_fails_at_damage_as_a_batch_query_does(how: str, border: str, isolation: str, tmp_path: Path):
    damaged_marker.case(tmp_path, how, border)

    def outcome(query: Query) -> list[int] | str | None:
        try:
            return query(tmp_path, 0, mode="FAILFAST", isolation=isolation).offsets
        except ls.RecordBatchError as error:
            return error.rule

    query, stream = outcome(by_batch), outcome(by_stream)
    # The file does not tell that a marker is gone, and only a committed read needs it. No segment but the last may end inside an entry.
    is_read = isolation == "read_uncommitted" and how in damaged_marker.GONE
    assert isinstance(query, str) == (not is_read)
    assert stream == query
