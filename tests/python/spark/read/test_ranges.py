"""What a batch query reads: rows against a plain model of Spark's Kafka source, bytes against what is wanted, hints against damage.

Without a Spark session: plan and tasks are called as PySpark calls them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as filters_of_spark

import corpus
import logsegment as ls
from logsegment._core import decode_files
from logsegment.partition.reader import Part
from logsegment.spark import LogSegmentSource, record_schema
from logsegment.spark.read.plan import SegmentTask
from made_logs import START, Made, index, make_partition
from rights import closed

COLUMNS = ["topic", "partition", "offset", "timestampMs", "value"]
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Made]]:
    """Two partitions of three segments, the second with gaps as a compacted one has, and one that begins late."""
    root = tmp_path_factory.mktemp("tree")
    made = make_partition(root, "orders", 0, [list(range(100)), list(range(100, 250)), list(range(250, 300))])
    made += make_partition(root, "orders", 1, [list(range(0, 90, 3)), list(range(120, 200, 7)), [500, 501, 777]])
    made += make_partition(root, "late", 0, [list(range(1000, 1100)), list(range(1100, 1150))])
    return root, made


def plan(path: Path, **options: str) -> tuple[Any, list[SegmentTask]]:
    reader = LogSegmentSource({"path": str(path), **options}).reader(record_schema(COLUMNS))
    return reader, [task for task in reader.partitions() if isinstance(task, SegmentTask)]


def rows_of_task(reader: Any, task: SegmentTask) -> Rows:
    return [tuple(row.values()) for batch in reader.read(task) for row in batch.to_pylist()]


def read(path: Path, **options: str) -> Rows:
    reader, tasks = plan(path, **options)
    return [row for task in tasks for row in rows_of_task(reader, task)]


def model(made: list[Made], wanted: Callable[[Made], bool]) -> Rows:
    return sorted(
        (segment.topic, segment.partition, segment.offset, segment.timestamp, segment.value) for segment in made if wanted(segment)
    )


ORDERS_ENDS = {("orders", 0): (0, 300), ("orders", 1): (0, 778), ("late", 0): (1000, 1150)}


def by_offsets(start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> Callable[[Made], bool]:
    """Spark's rule: from the first offset on and before the last, -2 and -1 for what is there."""

    def wanted(record: Made) -> bool:
        first, behind = ORDERS_ENDS[record.topic, record.partition]
        least, most = start[record.topic][str(record.partition)], end[record.topic][str(record.partition)]
        return (first if least == -2 else least) <= record.offset < (behind if most == -1 else most)

    return wanted


@pytest.mark.parametrize("cut", [{}, {"maxRecordsPerPartition": "7"}, {"minPartitions": "40"}], ids=str)
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ({"0": -2, "1": -2}, {"0": -1, "1": -1}),
        ({"0": 0, "1": 3}, {"0": 300, "1": 777}),
        ({"0": 99, "1": 90}, {"0": 101, "1": 121}),
        ({"0": 100, "1": 91}, {"0": 100, "1": 92}),
        ({"0": 250, "1": 778}, {"0": -1, "1": -1}),
        ({"0": 17, "1": 501}, {"0": 251, "1": 502}),
    ],
)
def test_offsets_give_the_rows_that_kafkas_source_gives(tree: Any, start: dict[str, int], end: dict[str, int], cut: dict[str, str]):
    path, made = tree
    told = {"startingOffsets": json.dumps({"orders": start}), "endingOffsets": json.dumps({"orders": end}), "subscribe": "orders"}
    expected = model([segment for segment in made if segment.topic == "orders"], by_offsets({"orders": start}, {"orders": end}))
    assert read(path, **told, **cut) == expected


@pytest.mark.parametrize(
    ("start", "end"), [(0, 10**13), (START + 99, START + 251), (START + 1020, START + 1101), (START + 500, START + 10**6), (START, START)]
)
def test_times_give_the_rows_that_kafkas_source_gives(tree: Any, start: int, end: int):
    """A time stands for the first record of that time or later; where there is none, an end is the end of the log."""
    path, made = tree

    def wanted(record: Made) -> bool:
        own = [other for other in made if (other.topic, other.partition) == (record.topic, record.partition)]
        first = min((other.offset for other in own if other.timestamp >= start), default=None)
        behind = min((other.offset for other in own if other.timestamp >= end), default=2**63)
        return first is not None and first <= record.offset < behind

    told = {"startingTimestamp": str(start), "endingTimestamp": str(end), "startingOffsetsByTimestampStrategy": "latest"}
    assert sorted(read(path, **told)) == model(made, wanted)


def test_a_time_that_no_record_reaches_is_an_error_or_nothing(tree: Any):
    path, made = tree
    told = {"subscribe": "late", "startingOffsetsByTimestamp": json.dumps({"late": {"0": START + 5000}})}
    with pytest.raises(
        ValueError, match=f"no record of late-0 has timestamp {START + 5000} ms or later; set startingOffsetsByTimestampStrategy"
    ):
        read(path, **told)
    assert read(path, **told, startingOffsetsByTimestampStrategy="latest") == []
    ending = {"subscribe": "late", "endingOffsetsByTimestamp": json.dumps({"late": {"0": START + 5000}})}
    assert read(path, **ending) == model(made, lambda segment: segment.topic == "late")


@pytest.mark.parametrize("option", ["startingOffsets", "endingOffsets", "startingOffsetsByTimestamp"])
def test_limits_must_name_what_is_read(tree: Any, option: str):
    with pytest.raises(
        ValueError, match=f"option {option} must name all topic-partitions that are read and no others: .*orders-1 is missing"
    ):
        read(tree[0], **{option: '{"orders":{"0":5},"late":{"0":1005}}'})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"startingOffsets": '{"late":{"0":5}}'}, "offset 5 of late-0 was deleted: the log starts at 1000"),
        ({"endingOffsets": '{"late":{"0":2000}}'}, "offsets of late-0 up to 2000 are requested, but the log ends before 1150"),
    ],
)
def test_offsets_that_are_not_there_are_data_loss(tree: Any, options: dict[str, str], told: str):
    path, made = tree
    with pytest.raises(ValueError, match=f"{told}; set failOnDataLoss to false"):
        read(path, subscribe="late", **options)
    with pytest.warns(UserWarning, match=told):
        assert read(path, subscribe="late", failOnDataLoss="false", **options) == model(made, lambda segment: segment.topic == "late")


def test_records_that_were_deleted_on_request_do_not_come_back(tmp_path: Path):
    """SEG-9: the broker says below which offset all is deleted, and keeps the file that holds more."""
    made = make_partition(tmp_path, "orders", 0, [list(range(100)), list(range(100, 250))])
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 70\n")
    there = model(made, lambda record: record.offset >= 70)
    assert read(tmp_path) == there
    assert read(tmp_path, startingTimestamp=str(made[0].timestamp)) == there
    assert read(tmp_path, endingOffsets='{"orders":{"0":60}}') == []
    before = {"startingOffsets": '{"orders":{"0":5}}'}
    with pytest.raises(ValueError, match=r"offset 5 of orders-0 .*starts at 70"):
        read(tmp_path, **before)
    with pytest.warns(UserWarning, match="the log starts at 70"):
        assert read(tmp_path, failOnDataLoss="false", **before) == there


def test_a_time_is_looked_for_behind_what_was_deleted_on_request(tmp_path: Path):
    """`LogSegment.findOffsetByTimestamp` in Kafka begins at the start of the log, and times need not grow."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    times = pa.array([START + step for step in (50, 60, 70, 10, 20, 30, 80, 5)], pa.int64())
    table = pa.table({"offset": range(len(times)), "timestampMs": times, "value": [b"v"] * len(times)})
    for batch_bytes in (1, 1 << 20):
        ls.encode(table, batch_bytes=batch_bytes, out=directory / f"{0:020}.log", overwrite=True)
        index(directory)
        (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 3\n")
        assert [row[2] for row in read(tmp_path, startingTimestamp=str(START + 55))] == [6, 7]
        # The last record is early enough: the later ones before it do not end the read.
        assert [row[2] for row in read(tmp_path, endingTimestamp=str(START + 55))] == [3, 4, 5, 7]
        assert [row[2] for row in read(tmp_path, startingTimestamp=str(START + 15), endingTimestamp=str(START + 75))] == [4, 5, 7]
        (tmp_path / "log-start-offset-checkpoint").unlink()
        assert [row[2] for row in read(tmp_path, startingTimestamp=str(START + 55))] == list(range(1, 8))


def times_of_late(time: int) -> str:
    return json.dumps({"late": {"0": time}})


@pytest.mark.parametrize(("start", "end", "is_all"), [("-2", None, True), ("-1", None, False), (None, "-1", True), (None, "-2", False)])
@pytest.mark.parametrize("is_for_each", [False, True])
def test_minus_one_and_minus_two_mean_latest_and_earliest_among_times_too(
    tree: Any, start: str | None, end: str | None, is_all: bool, is_for_each: bool
):
    """Spark hands times on to the brokers, and these take them so (`ListOffsetsRequest`)."""
    path, made = tree
    names = ("startingOffsetsByTimestamp", "endingOffsetsByTimestamp") if is_for_each else ("startingTimestamp", "endingTimestamp")
    given = {name: text for name, text in zip(names, (start, end), strict=True) if text is not None}
    told = {name: times_of_late(int(text)) if is_for_each else text for name, text in given.items()}
    assert read(path, subscribe="late", **told) == model(made, lambda segment: is_all and segment.topic == "late")


@pytest.mark.parametrize(
    ("options", "start", "end", "names"),
    [
        (
            {"startingTimestamp": str(START + 1100), "endingOffsets": '{"late":{"0":1020}}'},
            1100,
            1020,
            ("startingTimestamp", "endingOffsets"),
        ),
        (
            {"startingOffsets": '{"late":{"0":1100}}', "endingOffsetsByTimestamp": times_of_late(START + 1099)},
            1100,
            1099,
            ("startingOffsets", "endingOffsetsByTimestamp"),
        ),
        (
            {"startingOffsetsByTimestamp": times_of_late(START + 1100), "endingOffsets": '{"late":{"0":1003}}'},
            1100,
            1003,
            ("startingOffsetsByTimestamp", "endingOffsets"),
        ),
    ],
)
def test_a_start_that_turns_out_to_be_behind_its_end_is_an_error(
    tree: Any, options: dict[str, str], start: int, end: int, names: tuple[str, str]
):
    """As in Spark, where it was an assertion before 4.1: nothing would be read without a word."""
    told = f"late-0: offsets from {start} to {end}: option {names[0]} must not be after {names[1]}$"
    with pytest.raises(ValueError, match=told):
        read(tree[0], subscribe="late", **options)
    for sizes in ({"minPartitions": "50"}, {"maxRecordsPerPartition": "10"}):
        # Where Spark's Kafka source silently reads nothing of the partition.
        with pytest.raises(ValueError, match=told):
            read(tree[0], subscribe="late", **options, **sizes)
    same = {"startingTimestamp": str(START + 1100), "endingTimestamp": str(START + 1100)}
    assert read(tree[0], subscribe="late", **same) == []


def test_a_start_behind_the_log_is_data_loss(tree: Any):
    options = {"subscribe": "late", "startingOffsets": '{"late":{"0":2000}}'}
    told = "offsets of late-0 from 2000 on are requested, but the log ends before 1150"
    with pytest.raises(ValueError, match=told):
        read(tree[0], **options)
    with pytest.warns(UserWarning, match=told):
        assert read(tree[0], failOnDataLoss="false", **options) == []
    assert read(tree[0], subscribe="late", startingOffsets='{"late":{"0":1150}}') == []


def test_tasks_hold_at_most_the_records_that_were_asked_for(tree: Any):
    path, made = tree
    reader, tasks = plan(path, maxRecordsPerPartition="7")
    sizes = [len(rows_of_task(reader, task)) for task in tasks]
    assert sum(sizes) == len(made)
    assert max(sizes) == 7
    dense = [task for task in tasks if task.parts[0][1].topic == "late" or task.parts[0][1].partition == 0]
    assert len(dense) == sum(-(-count // 7) for count in (100, 150, 50, 100, 50))
    assert len(tasks) - len(dense) < 85, "gaps between batches make no tasks"


def test_min_partitions_cuts_where_batches_begin(tree: Any):
    _, tasks = plan(tree[0], minPartitions="20", subscribe="orders")
    assert 16 <= len(tasks) <= 28
    for task in tasks:
        for source, _ in task.parts:
            assert ls.batches(source, check_crc=True, strict_tail=True).num_rows >= 1


def test_offsets_of_a_file_in_no_partition_directory_need_a_name_for_it(tree: Any, tmp_path: Path):
    shutil.copy(tree[0] / "orders-0" / f"{100:020}.log", tmp_path / "dump.bin")
    told = {"startingOffsets": '{"orders":{"0":120}}', "endingOffsets": '{"orders":{"0":123}}'}
    with pytest.raises(ValueError, match="options topic and partition"):
        read(tmp_path / "dump.bin", **told)
    with pytest.warns(UserWarning, match="indexes are unusable"):
        rows = read(tmp_path / "dump.bin", topic="orders", partition="0", **told)
    assert [row[:3] for row in rows] == [("orders", 0, offset) for offset in (120, 121, 122)]


def test_columns_are_those_of_the_option(tree: Any):
    source = LogSegmentSource({"path": str(tree[0]), "columns": "offset, value"})
    assert source.schema() == record_schema(["offset", "value"])
    source.reader(source.schema())
    with pytest.raises(ValueError, match="option columns"):
        source.reader(record_schema(["offset"]))


def test_segments_of_kafka_0_7_begin_and_end_where_messages_do():
    """Offsets of 0.7 are positions: a start is held against where entries start (SEG-1)."""
    directory = min(path.parent for path in (corpus.CORPUS / "legacy-0.7.2").rglob("*.kafka"))
    whole = ls.Log(directory).records(columns=["offset", "entryPosition", "value"]).read_all().to_pylist()
    files = sorted(directory.glob("*.kafka"))
    assert len(files) >= 1
    source = LogSegmentSource({"path": str(directory), "topic": "t", "partition": "0"})
    reader = source.reader(record_schema(["offset", "entryPosition", "value"]))
    found = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
    assert found == whole


# What is read


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One segment of about 48 MiB, with an index entry for every batch of 16 KiB."""
    root = tmp_path_factory.mktemp("large")
    make_partition(root, "big", 0, [list(range(40_000))], value_bytes=1200, batch_bytes=16384, interval=4096)
    return root / "big-0"


def only_part(task: SegmentTask) -> Part:
    """Return the part of a task that reads one segment."""
    (part,) = task.parts
    return part


def read_bytes(task: SegmentTask) -> tuple[int, int]:
    """Bytes and records that a task reads, by the counters of the decode."""
    part = only_part(task)
    with decode_files([part], part[1]) as stream:
        for _ in stream:
            pass
        return stream.io_stats.bytes_read, stream.io_stats.records


@pytest.mark.parametrize("first", [0, 17_003, 39_600])
def test_one_percent_of_the_offsets_reads_two_percent_of_the_bytes_in_two_tasks(large: Path, first: int):
    size = (large / f"{0:020}.log").stat().st_size
    told = {"startingOffsets": f'{{"big":{{"0":{first}}}}}', "endingOffsets": f'{{"big":{{"0":{first + 400}}}}}'}
    _, tasks = plan(large, **told)
    assert len(tasks) <= 2
    counted = [read_bytes(task) for task in tasks]
    assert sum(records for _, records in counted) == 400
    assert sum(count for count, _ in counted) <= size * 0.02 + 2 * 16384


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One segment of about 48 MiB, each record in a batch of its own, whose header has its time."""
    root = tmp_path_factory.mktemp("apart")
    make_partition(root, "big", 0, [list(range(40_000))], value_bytes=1200, batch_bytes=1, interval=4096)
    return root / "big-0"


@pytest.mark.parametrize("first", [0, 17_003, 39_600])
def test_one_percent_of_the_times_reads_two_percent_of_the_bytes(apart: Path, first: int):
    """Where headers give the times of all records. Of several records in a batch, a later batch may have an earlier one."""
    size = (apart / f"{0:020}.log").stat().st_size
    _, tasks = plan(apart, startingTimestamp=str(START + first), endingTimestamp=str(START + first + 400))
    counted = [read_bytes(task) for task in tasks]
    assert sum(records for _, records in counted) == 400
    assert sum(count for count, _ in counted) <= size * 0.02 + 2 * 16384


def test_pushed_filters_spare_bytes_inside_a_file(large: Path):
    size = (large / f"{0:020}.log").stat().st_size
    moment = datetime.fromtimestamp((START + 39_600) / 1000, UTC)
    for filters in (
        [filters_of_spark.GreaterThan(("offset",), 17_000), filters_of_spark.LessThanOrEqual(("offset",), 17_400)],
        [filters_of_spark.In(("offset",), (17_000, 17_399))],
        [filters_of_spark.GreaterThanOrEqual(("timestamp",), moment)],
    ):
        reader = LogSegmentSource({"path": str(large), "pushFilters": "true"}).reader(record_schema(COLUMNS))
        with pytest.warns(UserWarning, match="option pushFilters"):
            assert reader.pushFilters(filters) == filters, "Spark checks the rows again"
        counted = [read_bytes(task) for task in reader.partitions()]
        assert 400 <= sum(records for _, records in counted) <= 500
        assert sum(count for count, _ in counted) <= size * 0.02 + 2 * 16384


def test_filters_that_spare_nothing_give_no_warning(large: Path):
    """Spark pushes `IS NOT NULL` with every comparison: alone it changes nothing of what is read."""
    told = [filters_of_spark.IsNotNull((name,)) for name in ("topic", "partition", "offset", "timestamp")]
    told += [filters_of_spark.Not(filters_of_spark.IsNull(("topic",))), filters_of_spark.EqualNullSafe(("partition",), None)]
    reader = LogSegmentSource({"path": str(large), "pushFilters": "true"}).reader(record_schema(COLUMNS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reader.pushFilters(told) == told
    for item in (filters_of_spark.EqualTo(("topic",), "big"), filters_of_spark.Not(filters_of_spark.In(("partition",), (7,)))):
        with pytest.warns(UserWarning, match="option pushFilters"):
            reader.pushFilters([*told, item])


def test_a_large_segment_becomes_several_tasks(large: Path, monkeypatch: pytest.MonkeyPatch):
    """So that one hot partition uses all cores; no task is very small."""
    size = (large / f"{0:020}.log").stat().st_size
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for options, least, most in (({}, 2, 4), ({"maxPartitionBytes": str(4 << 20)}, 10, 14), ({"minPartitions": "30"}, 27, 33)):
        _, tasks = plan(large, **options)
        assert least <= len(tasks) <= most
        sources = [only_part(task)[0] for task in tasks]
        assert [source.start for source in sources] == [0, *(source.end for source in sources[:-1])]
        assert sources[-1].end is None
        assert size - sources[-1].start > size / len(tasks) / 4


@pytest.mark.parametrize("is_indexed", [True, False])
def test_pieces_of_a_large_segment_are_the_whole(large: Path, tmp_path: Path, is_indexed: bool):
    shutil.copytree(large, tmp_path / "big-0")
    if not is_indexed:
        (tmp_path / "big-0" / f"{0:020}.index").unlink()
        with pytest.warns(UserWarning, match="indexes are unusable"):
            reader, tasks = plan(tmp_path / "big-0", maxPartitionBytes=str(5 << 20), columns=",".join(COLUMNS))
    else:
        reader, tasks = plan(tmp_path / "big-0", maxPartitionBytes=str(5 << 20))
    offsets = [row[2] for task in tasks for row in rows_of_task(reader, task)]
    assert offsets == list(range(40_000))


# Hints


def damaged_copies(tree: Path, root: Path, count: int) -> Iterator[tuple[str, Path]]:
    """Copies of a tree, each with one file beside a log cut, changed, made empty, lost, or of another segment."""
    chance = random.Random(0)
    for number in range(count):
        copy = root / f"copy-{number}"
        shutil.copytree(tree, copy)
        victims = sorted(path for path in copy.rglob("*") if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"))
        victim = chance.choice(victims)
        data = bytearray(victim.read_bytes())
        how = chance.choice(["lost", "empty", "cut", "flipped", "garbage", "swapped"])
        if how == "lost":
            victim.unlink()
        elif how == "swapped":
            other = chance.choice([path for path in victims if path.suffix == victim.suffix])
            victim.write_bytes(other.read_bytes())
        elif how == "garbage":
            victim.write_bytes(chance.randbytes(chance.randrange(1, 200)))
        else:
            if how == "flipped" and data:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            victim.write_bytes(b"" if how == "empty" else data[: chance.randrange(len(data) + 1)] if how == "cut" else data)
        yield f"{how} {victim.relative_to(copy)}", copy


def test_damaged_indexes_never_change_a_result(tree: Any, tmp_path: Path):
    path = tree[0]
    queries = [
        {"startingTimestamp": str(START + 130), "startingOffsetsByTimestampStrategy": "latest"},
        {"subscribe": "orders", "startingOffsets": '{"orders":{"0":120,"1":30}}', "endingOffsets": '{"orders":{"0":260,"1":500}}'},
        {"maxRecordsPerPartition": "30"},
        {"minPartitions": "30"},
    ]
    expected = [sorted(read(path, **query)) for query in queries]
    for what, copy in damaged_copies(path, tmp_path, 40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [sorted(read(copy, **query)) for query in queries] == expected, what
        shutil.rmtree(copy)


def test_damaged_files_never_change_what_is_committed(tmp_path: Path):
    """Transactions across segments (TXN-1), by snapshots and markers, whatever stands beside the logs."""
    source = corpus.CORPUS / "modern-4.1.0/data"
    for name in ("transactions-multi-segment-0", "transactions-multi-segment-1"):
        shutil.copytree(source / name, tmp_path / "sound" / name)
    queries = [{}, {"maxRecordsPerPartition": "5"}, {"minPartitions": "30"}]
    expected = [sorted(read(tmp_path / "sound", isolation="read_committed", **query)) for query in queries]
    assert expected[0] == expected[1] == expected[2]
    assert 0 < len(expected[0]) < len(read(tmp_path / "sound"))
    for what, copy in damaged_copies(tmp_path / "sound", tmp_path, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [sorted(read(copy, isolation="read_committed", **query)) for query in queries] == expected, what
        shutil.rmtree(copy)


def test_a_damaged_index_is_reported_once(tree: Any, tmp_path: Path):
    shutil.copytree(tree[0] / "orders-0", tmp_path / "orders-0")
    (tmp_path / "orders-0" / f"{100:020}.index").write_bytes(b"\x00" * 11)
    told = {"startingOffsets": '{"orders":{"0":120}}', "endingOffsets": '{"orders":{"0":130}}'}
    with pytest.warns(UserWarning, match=rf"indexes are unusable, batch headers are read instead: .*{100:020}.index@.*SEG-") as caught:
        read(tmp_path, **told)
    assert len(caught) == 1
    index(tmp_path / "orders-0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(tmp_path, **told)


def misplace(path: Path, by: int) -> None:
    """Let every entry of a well-formed index lead elsewhere."""
    data = bytearray(path.read_bytes())
    for start in range(4, len(data), 8):
        data[start : start + 4] = (int.from_bytes(data[start : start + 4]) + by).to_bytes(4)
    path.write_bytes(data)


def test_the_indexes_of_an_active_segment_are_no_reason_to_warn(tmp_path: Path):
    """SEG-5 as information: a broker that runs keeps room for more entries, in zeros."""
    make_partition(tmp_path, "orders", 0, [list(range(100))], interval=1)
    for suffix in (".index", ".timeindex"):
        with (tmp_path / "orders-0" / f"{0:020}{suffix}").open("ab") as file:
            file.write(bytes(1200))
    assert {found.rule for found in ls.Segment(tmp_path / "orders-0" / f"{0:020}.log")._lookup.index_findings} == {"SEG-5"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read(tmp_path, startingOffsets='{"orders":{"0":90}}', endingTimestamp=str(START + 95))
    assert [row[2] for row in rows] == list(range(90, 95))


def test_a_well_formed_index_that_leads_nowhere_is_reported(tree: Any, tmp_path: Path):
    """As that of another segment, or of the log before it was compacted (IDX-2)."""
    shutil.copytree(tree[0] / "orders-0", tmp_path / "orders-0")
    segment = tmp_path / "orders-0" / f"{100:020}.log"
    index(tmp_path / "orders-0", 1)
    told = {"startingOffsets": '{"orders":{"0":180}}', "endingOffsets": '{"orders":{"0":190}}'}
    sound = read(tmp_path, **told)
    misplace(segment.with_suffix(".index"), 3)
    with pytest.warns(UserWarning, match=rf"indexes are unusable, batch headers are read instead: .*{100:020}.index@.*IDX-2") as caught:
        assert read(tmp_path, **told) == sound
    assert len(caught) == 1
    index(tmp_path / "orders-0", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(tmp_path, **told) == sound


def test_an_index_that_ends_long_before_its_log_is_reported(large: Path, tmp_path: Path):
    """IDX-6: as a copy that was taken earlier than the log."""
    shutil.copytree(large, tmp_path / "big-0")
    stale = tmp_path / "big-0" / f"{0:020}.index"
    stale.write_bytes(stale.read_bytes()[:80])
    told = {"startingOffsets": '{"big":{"0":39000}}', "endingOffsets": '{"big":{"0":39010}}'}
    with pytest.warns(UserWarning, match=r"indexes are unusable.*IDX-6"):
        assert [row[2] for row in read(tmp_path, **told)] == list(range(39000, 39010))


def test_equal_times_and_one_that_is_far_ahead_make_no_index_stale(tmp_path: Path):
    """A broker adds no entry where times do not grow, however long the log."""
    directory = tmp_path / "calm-0"
    directory.mkdir()
    rows = 20_000
    times = [START] * (rows - 1) + [START + 1]
    values = [bytes(1000)] * rows
    table = pa.table({"offset": range(rows), "timestampMs": times, "value": pa.array(values, pa.binary())})
    ls.encode(table, out=directory / f"{0:020}.log", overwrite=True)
    index(directory)
    segment = ls.Segment(directory / f"{0:020}.log")
    assert segment.size > 17 << 20
    assert len(segment.time_index) == 2
    path = segment.path.replace(".log", ".timeindex")
    Path(path).write_bytes(Path(path).read_bytes()[:12])
    stream = ls.Segment(segment.path).records(columns=["offset"], start_timestamp=START + 1)
    assert stream.to_pyarrow()["offset"].to_pylist() == [rows - 1]
    assert segment._lookup.position_for_timestamp(START + 1)
    assert segment._lookup.index_findings == []
    assert [found.rule for found in segment.validate(depth="headers").findings] == []


def test_indexes_of_brokers_are_not_suspected():
    seen = 0
    for partition in corpus.partitions():
        for path in sorted(partition.directory.glob("*.index")):
            segment = ls.Segment(path.with_suffix(".log"))
            offsets = [offset for offset, _ in segment.offset_index]
            for offset in [*offsets, *(other + 1 for other in offsets)]:
                segment._lookup.byte_range(offset, offset + 1)
            for timestamp, _ in segment.time_index:
                segment._lookup.position_for_timestamp(timestamp)
                segment._lookup.position_for_timestamp(min(timestamp + 1, 2**63 - 1))
            # Logs of Kafka 0.8 have no .timeindex, which is IDX-1 and says nothing against the .index.
            assert [
                found.rule for found in segment._lookup.index_findings if found.rule.startswith("IDX") and found.rule != "IDX-1"
            ] == [], path
            seen += 1
    assert seen > 5


# Losses and refusals


def test_a_segment_that_is_deleted_after_planning_is_one_clear_error(tree: Any, tmp_path: Path):
    shutil.copytree(tree[0] / "orders-0", tmp_path / "orders-0")
    for fail in ("true", "false"):
        reader, tasks = plan(tmp_path, failOnDataLoss=fail)
        log = tmp_path / "orders-0" / f"{100:020}.log"
        kept = log.read_bytes()
        log.unlink()
        if fail == "true":
            with pytest.raises(FileNotFoundError, match=rf"{log} was deleted after the query was planned; set failOnDataLoss to false"):
                [row for task in tasks for row in rows_of_task(reader, task)]
        else:
            with pytest.warns(UserWarning, match="was deleted after the query was planned"):
                offsets = [row[2] for task in tasks for row in rows_of_task(reader, task)]
            assert offsets == [*range(100), *range(250, 300)]
        log.write_bytes(kept)


def test_a_segment_that_is_cut_after_planning_is_one_clear_error(tree: Any, tmp_path: Path):
    shutil.copytree(tree[0] / "orders-0", tmp_path / "orders-0")
    reader, tasks = plan(tmp_path, endingOffsets='{"orders":{"0":299}}')
    log = tmp_path / "orders-0" / f"{250:020}.log"
    (first, *_) = (row["size"] for row in ls.batches(ls.FileSource(log)).to_pylist())
    os.truncate(log, first)
    with pytest.raises(OSError, match=rf"{log} was truncated to {first:,} bytes after the query was planned"):
        [row for task in tasks for row in rows_of_task(reader, task)]


def test_missing_paths_and_directories_without_logs_are_errors(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="missing-0"):
        LogSegmentSource({"path": str(tmp_path / "missing-0")}).schema()
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").touch()
    with pytest.raises(FileNotFoundError, match="no log segments"):
        plan(tmp_path / "empty")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a system without owners of files")
def test_permission_denied_is_an_error_that_names_the_file(tree: Any, tmp_path: Path):
    directory = tmp_path / "orders-0"
    shutil.copytree(tree[0] / "orders-0", directory)
    with closed(directory), pytest.raises(PermissionError, match=str(directory)):
        plan(directory)


def outcome(path: Path, **options: str) -> Rows | None:
    """The rows; None for an error about the bytes."""
    try:
        return sorted(read(path, **options))
    except ls.RecordBatchError:
        return None


def test_a_damaged_log_gives_no_fewer_rows_in_pieces(tree: Any, tmp_path: Path):
    """What fails as a whole fails in pieces. A length that leads behind the end is a torn tail of the whole, and an error of a piece."""
    chance = random.Random(1)
    failed = 0
    shutil.copytree(tree[0] / "orders-0", tmp_path / "orders-0")
    log = tmp_path / "orders-0" / f"{100:020}.log"
    sound = log.read_bytes()
    starts = [row["position"] for row in ls.batches(ls.FileSource(log)).to_pylist()]
    for number in range(60):
        data = bytearray(sound)
        # Half of the damage is in the lengths, which say where the next batch begins.
        at = chance.choice(starts) + 8 + chance.randrange(4) if number % 2 else chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
        log.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = outcome(tmp_path)
            for options in ({"minPartitions": "30"}, {"maxRecordsPerPartition": "40"}):
                assert outcome(tmp_path, **options) in (whole, None), f"byte {at}"
        failed += whole is None
    assert failed >= 30
