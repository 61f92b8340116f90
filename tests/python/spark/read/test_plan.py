"""Options and planning of the data source, and what a task does, without a Spark session."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from corpus import CONSUMED_COLUMNS, Partition, rows_of
from logsegment._options import ReadOptions
from logsegment.partition.reader import Part
from logsegment.spark import LogSegmentSource, record_schema
from logsegment.spark.options.offsets import EARLIEST, LATEST, OffsetLimit
from logsegment.spark.options.plugins import ABSENT
from logsegment.spark.options.read import BatchOptions, parse_options
from logsegment.spark.options.topics import local_paths
from logsegment.spark.read.plan import OWN_TASKS, SegmentTask
from made_logs import make_partition

MODERN = corpus.CORPUS / "modern-4.1.0/data"
SEGMENT = MODERN / "codec-none-0/00000000000000000000.log"


def tasks(*paths: Path, **options: str) -> list[SegmentTask]:
    source = LogSegmentSource({"paths": _json(paths), **options})
    return source.reader(source.schema()).partitions()


def parts(*paths: Path, **options: str) -> list[Part]:
    return [part for task in tasks(*paths, **options) for part in task.parts]


def _json(paths: tuple[Path, ...]) -> str:
    return "[" + ", ".join(f'"{path}"' for path in paths) + "]"


def test_defaults_are_those_of_kafkas_source():
    assert parse_options({"path": "/a"}) == BatchOptions(
        paths=("/a",),
        read=ReadOptions(isolation="read_uncommitted", batch_size=65536, batch_bytes=4 << 20, null_headers=True, codecs=ABSENT),
        starting=OffsetLimit(everywhere=EARLIEST),
        ending=OffsetLimit(everywhere=LATEST),
        fails_on_data_loss=True,
        include_headers=False,
    )


def test_the_case_of_names_means_nothing():
    given = {"PATH": "/a", "INCLUDEHEADERS": "TRUE", "Isolation": "READ_COMMITTED", "batchsize": "7", "batchBYTES": "9"}
    parsed = parse_options(given)
    assert (parsed.include_headers, parsed.read.isolation, parsed.read.batch_size, parsed.read.batch_bytes) == (
        True,
        "read_committed",
        7,
        9,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("includeHeaders", "yes"),
        ("isolation", "committed"),
        ("batchSize", "0"),
        ("batchSize", "many"),
        ("batchBytes", "-1"),
        ("partition", "-1"),
        ("partition", str(2**31)),
        ("kafka.isolation.level", "none"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_option(name: str, value: str):
    with pytest.raises(ValueError, match=f"option {'isolation' if name.startswith('kafka') else name} must be"):
        parse_options({"path": "/a", name: value})


def test_a_number_that_is_too_large_is_rejected():
    with pytest.raises(ValueError, match="option batchBytes must be 2147483647 at most, not '4294967296'"):
        parse_options({"path": "/a", "batchBytes": str(1 << 32)})


def test_unknown_options_are_errors():
    with pytest.raises(ValueError, match=r"unknown option colour, startingOffset \(did you mean startingOffsets\?\)"):
        parse_options({"path": "/a", "startingOffset": "1", "colour": "red"})


@pytest.mark.parametrize(("name", "near"), [("includeHeader", "includeHeaders"), ("isolatoin", "isolation"), ("batch_size", "batchSize")])
def test_an_unknown_option_names_the_one_that_was_meant(name: str, near: str):
    with pytest.raises(ValueError, match=rf"unknown option {name} \(did you mean {near}\?\); the options are"):
        parse_options({"path": "/a", name: "1"})


def test_options_about_brokers_are_ignored_with_one_warning():
    given = {
        "path": "/a",
        "kafka.bootstrap.servers": "host:9092",
        "kafka.group.id": "g",
        "kafka.compression.type": "zstd",
        "groupIdPrefix": "p",
        "kafkaConsumer.pollTimeoutMs": "1",
        "fetchOffset.numRetries": "3",
    }
    with pytest.warns(UserWarning, match="fetchOffset.numRetries, ") as caught:
        assert parse_options(given) == parse_options({"path": "/a"})
    assert len(caught) == 1


def test_kafkas_own_isolation_level_is_not_ignored():
    """It would silently change the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_options({"path": "/a", "kafka.isolation.level": "read_committed"}).read.isolation == "read_committed"


def test_kafkas_own_isolation_level_is_rejected_where_it_is_not_used():
    given = {"path": "/a", "isolation": "read_committed", "Kafka.Isolation.Level": "read_uncommitted"}
    with pytest.warns(UserWarning, match=r": Kafka\.Isolation\.Level$"):
        assert parse_options(given).read.isolation == "read_committed"


def test_no_path_is_an_error():
    with pytest.raises(ValueError, match="no path"):
        parse_options({})


def test_file_uris_and_patterns_are_paths(tmp_path: Path):
    for name in ("a b-0", "c-0", "d"):
        (tmp_path / name).mkdir()
    uri = (tmp_path / "a b-0").as_uri()
    assert "%20" in uri
    assert local_paths((uri, f"file:{tmp_path}/d", f"{tmp_path}/*-0")) == [f"{tmp_path}/{name}" for name in ("a b-0", "d", "a b-0", "c-0")]
    with pytest.raises(FileNotFoundError, match="no file or directory matches"):
        local_paths((f"{tmp_path}/*-9",))


def test_a_segment_that_two_paths_lead_to_is_read_once():
    found = parts(SEGMENT.parent, SEGMENT, MODERN / "codec-zstd-0")
    assert [source for source, _ in found] == [
        ls.FileSource(str(SEGMENT), offsets=(0, None)),
        ls.FileSource(str(MODERN / "codec-zstd-0" / SEGMENT.name), offsets=(0, None)),
    ]


def test_tasks_travel_by_pickle():
    found = tasks(MODERN / "transactions-multi-segment-0", isolation="read_committed", minPartitions="3")
    assert len(found) > 1
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("partition", [p for p in corpus.partitions() if "read_committed" in p.consumed], ids=str)
def test_a_segment_read_alone_knows_the_transactions_of_its_partition(partition: Partition):
    """TXN-1: one that begins or ends in another segment, as when one file of many is loaded."""
    expected = corpus.expected_consumed(partition.consumed["read_committed"])
    found = [row for case in partition.segments for row in read(case.path, isolation="read_committed")]
    assert found == expected


def test_a_part_gets_only_the_transactions_that_touch_it():
    found = parts(MODERN / "transactions-multi-segment-0", isolation="read_committed")
    whole = ls.scan_transactions([source for source, _ in found])
    told = [set(read.transactions.aborted) for _, read in found if read.transactions is not None]
    assert set().union(*told) == set(whole.aborted)
    assert any(len(value) < len(whole.aborted) for value in told)


def small_segments(root: Path, count: int, *partitions: str) -> None:
    """Segments of ten offsets each."""
    for name in partitions:
        topic, _, number = name.rpartition("-")
        make_partition(root, topic, int(number), [list(range(first, first + 10)) for first in range(0, count * 10, 10)])


def test_small_segments_of_a_partition_share_a_task_in_the_order_of_their_offsets(tmp_path: Path):
    """Spark needs about 0.1 s for a task; Spark's Kafka source has one for each partition at least."""
    small_segments(tmp_path, 100, "orders-0", "orders-1")
    found = tasks(tmp_path)
    assert [len(task.parts) for task in found] == [64, 36, 64, 36]
    assert [{(read.topic, read.partition) for _, read in task.parts} for task in found] == [{("orders", 0)}] * 2 + [{("orders", 1)}] * 2
    offsets = [row["offset"] for batch in batches(tmp_path, subscribe="orders") for row in batch.to_pylist()]
    assert offsets == [*range(1000), *range(1000)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions with a segment each: three times as many as have tasks of their own, and some."""
    root = tmp_path_factory.mktemp("many")
    small_segments(root, 1, *(f"orders-{number}" for number in range(3 * OWN_TASKS + 8)))
    return root


def test_a_partition_has_a_task_of_its_own_where_there_are_not_very_many(tmp_path: Path):
    small_segments(tmp_path, 1, *(f"orders-{number}" for number in range(OWN_TASKS)))
    assert [len(task.parts) for task in tasks(tmp_path)] == [1] * OWN_TASKS


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_of_very_many_partitions_the_small_ones_share_tasks(many: Path, isolation: str):
    found = tasks(many, isolation=isolation)
    assert OWN_TASKS <= len(found) <= OWN_TASKS + 8
    assert [read.partition for task in found for _, read in task.parts] == list(range(3 * OWN_TASKS + 8))
    rows = [row for batch in batches(many, isolation=isolation) for row in batch.to_pylist()]
    assert [(row["partition"], row["offset"]) for row in rows] == [(part, at) for part in range(3 * OWN_TASKS + 8) for at in range(10)]


@pytest.mark.slow
def test_very_many_files_do_not_make_very_many_tasks(tmp_path: Path):
    """Of partitions and of segments of one alike: each task starts a Python worker, and each is one that `limit(n).count()` waits for."""
    small_segments(tmp_path, 1, "orders-0")
    data = (tmp_path / "orders-0" / f"{0:020}.log").read_bytes()
    count = 100 * OWN_TASKS
    for number in range(1, count):
        (tmp_path / f"orders-{number}").mkdir()
        (tmp_path / f"orders-{number}" / f"{0:020}.log").write_bytes(data)
    found = tasks(tmp_path)
    assert OWN_TASKS <= len(found) <= OWN_TASKS + 8
    assert [read.partition for task in found for _, read in task.parts] == list(range(count))
    assert len(tasks(tmp_path, minPartitions=str(3 * OWN_TASKS))) >= 3 * OWN_TASKS


def test_very_many_partitions_have_as_many_tasks_as_were_asked_for(many: Path):
    count = 3 * OWN_TASKS + 8
    assert count // 2 <= len(tasks(many, minPartitions=str(count // 2))) <= count
    assert len(tasks(many, minPartitions=str(count))) == count
    # Only the file tells how many offsets there are where the end is not named.
    assert len(tasks(many, maxRecordsPerPartition="20")) == count
    ends = json.dumps({"orders": dict.fromkeys(map(str, range(count)), 10)})
    assert {len(task.parts) for task in tasks(many, maxRecordsPerPartition="20", endingOffsets=ends)} == {2}


def test_a_large_segment_among_very_many_small_ones_has_tasks_of_its_own(tmp_path: Path):
    small_segments(tmp_path, 1, *(f"orders-{number}" for number in range(2 * OWN_TASKS)))
    make_partition(tmp_path, "payments", 0, [list(range(100))], value_bytes=1000)
    found = [[(read.topic, read.partition) for _, read in task.parts] for task in tasks(tmp_path)]
    assert found[-1] == [("payments", 0)]
    assert max(map(len, found)) > 1


def test_segments_share_a_task_up_to_its_bytes(tmp_path: Path):
    small_segments(tmp_path, 12, "orders-0")
    size = (tmp_path / "orders-0" / f"{10:020}.log").stat().st_size
    for most in (1, 3, 5):
        found = tasks(tmp_path, maxPartitionBytes=str(most * size + size // 2))
        assert max(len(task.parts) for task in found) == most
        assert len(found) == -(-12 // most)


@pytest.mark.parametrize(("least", "most"), [(1, 1), (4, 4), (5, 6), (12, 12)])
def test_min_partitions_says_how_many_tasks_are_left(tmp_path: Path, least: int, most: int):
    small_segments(tmp_path, 12, "orders-0")
    found = tasks(tmp_path, minPartitions=str(least))
    assert least <= len(found) <= most
    assert sum(batch.num_rows for batch in batches(tmp_path, minPartitions=str(least))) == 120


def test_empty_segments_share_a_task_with_others(tmp_path: Path):
    small_segments(tmp_path, 3, "orders-0")
    for offset in (30, 40):
        (tmp_path / "orders-0" / f"{offset:020}.log").touch()
    assert [len(task.parts) for task in tasks(tmp_path)] == [5]
    for path in (tmp_path / "orders-0").glob("*.log"):
        path.write_bytes(b"")
    assert [len(task.parts) for task in tasks(tmp_path, minPartitions="9")] == [5]
    assert list(batches(tmp_path)) == []


def test_tasks_of_several_segments_hold_at_most_the_offsets_that_were_asked_for(tmp_path: Path):
    small_segments(tmp_path, 12, "orders-0")
    found = tasks(tmp_path, maxRecordsPerPartition="30")
    # Of the last segment only the file tells where it ends.
    assert [len(task.parts) for task in found] == [3, 3, 3, 2, 1]
    found = tasks(tmp_path, maxRecordsPerPartition="30", startingOffsets='{"orders":{"0":25}}', endingOffsets='{"orders":{"0":105}}')
    assert [len(task.parts) for task in found] == [3, 3, 3]
    (_, first), (_, last) = found[0].parts[0], found[-1].parts[-1]
    assert (first.start_offset, last.end_offset) == (25, 105)


def test_a_segment_that_is_gone_costs_its_task_nothing_else(tmp_path: Path):
    small_segments(tmp_path, 5, "orders-0")
    source = LogSegmentSource({"path": str(tmp_path), "failOnDataLoss": "false", "columns": "offset"})
    reader = source.reader(source.schema())
    (task,) = reader.partitions()
    (tmp_path / "orders-0" / f"{20:020}.log").unlink()
    with pytest.warns(UserWarning, match=f"{20:020}.log was deleted after the query was planned"):
        found = [offset for batch in reader.read(task) for offset in batch["offset"].to_pylist()]
    assert found == [*range(20), *range(30, 50)]


def test_batches_keep_to_the_options():
    limited = [batch.num_rows for batch in batches(SEGMENT, batchSize="7")]
    assert sum(limited) == 240
    assert max(limited) == 7
    assert len(list(batches(SEGMENT))) < len(list(batches(SEGMENT, batchBytes="1000"))) < 241


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_task_decodes_on_its_own_thread():
    """In a process of its own: in this one, other libraries start threads when they like."""
    code = """
import os, sys
from logsegment.spark import LogSegmentSource
source = LogSegmentSource({"path": sys.argv[1]})
reader = source.reader(source.schema())
tasks, read = reader.partitions(), 0
before = len(os.listdir("/proc/self/task"))
for task in tasks:
    for batch in reader.read(task):
        read += batch.num_rows
        assert len(os.listdir("/proc/self/task")) == before
print(read)
"""
    done = subprocess.run([sys.executable, "-c", code, MODERN / "large-records-0"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_damage_in_a_task_keeps_class_and_attributes(tmp_path: Path):
    path = tmp_path / "bad.log"
    data = bytearray(SEGMENT.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(ls.ChecksumError, match=rf"^{path}: \[V2-31\] at byte 0") as caught:
        list(batches(path))
    assert (caught.value.rule, caught.value.position, caught.value.base_offset) == ("V2-31", 0, 0)


def batches(path: Path, **options: str):
    source = LogSegmentSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    for task in reader.partitions():
        yield from reader.read(task)


def read(path: Path, **options: str) -> list[corpus.Row]:
    reader = LogSegmentSource({"path": str(path), **options}).reader(record_schema(CONSUMED_COLUMNS))
    found = [row for task in reader.partitions() for batch in reader.read(task) for row in rows_of(batch_table(batch))]
    return [row | {"headers": row["headers"] or []} for row in found]


def batch_table(batch: object):
    import pyarrow as pa

    return pa.Table.from_batches([batch])
