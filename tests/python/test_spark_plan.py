"""Options and planning of the data source, and what a task does, without a Spark session."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from corpus import CONSUMED_COLUMNS, Partition, rows_of
from logsegment.spark import LogSegmentSource, record_schema
from logsegment.spark.offsets import EARLIEST, LATEST, OffsetLimit
from logsegment.spark.options import ReadOptions, parse_options
from logsegment.spark.paths import local_paths
from logsegment.spark.plan import SegmentTask
from logsegment.spark.plugins import ABSENT
from logsegment.spark.source import transactions_of

MODERN = corpus.CORPUS / "modern-4.1.0/data"
SEGMENT = MODERN / "codec-none-0/00000000000000000000.log"


def tasks(*paths: Path, **options: str) -> list[SegmentTask]:
    source = LogSegmentSource({"paths": _json(paths), **options})
    return source.reader(source.schema()).partitions()


def _json(paths: tuple[Path, ...]) -> str:
    return "[" + ", ".join(f'"{path}"' for path in paths) + "]"


def test_defaults_are_those_of_kafkas_source():
    assert parse_options({"path": "/a"}) == ReadOptions(
        paths=("/a",),
        starting=OffsetLimit(everywhere=EARLIEST),
        ending=OffsetLimit(everywhere=LATEST),
        fail_on_data_loss=True,
        include_headers=False,
        isolation="read_uncommitted",
        batch_size=65536,
        batch_bytes=4 << 20,
        topic=None,
        partition=None,
        codecs=ABSENT,
    )


def test_the_case_of_names_means_nothing():
    given = {"PATH": "/a", "INCLUDEHEADERS": "TRUE", "Isolation": "READ_COMMITTED", "batchsize": "7", "batchBYTES": "9"}
    parsed = parse_options(given)
    assert (parsed.include_headers, parsed.isolation, parsed.batch_size, parsed.batch_bytes) == (True, "read_committed", 7, 9)


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


def test_unknown_options_are_errors():
    with pytest.raises(ValueError, match=r"unknown option colour, startingOffset \(did you mean startingOffsets\?\);"):
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
        "groupIdPrefix": "p",
        "kafkaConsumer.pollTimeoutMs": "1",
        "fetchOffset.numRetries": "3",
    }
    with pytest.warns(UserWarning, match="ignored fetchOffset.numRetries, groupIdPrefix, kafka.bootstrap.servers, ") as caught:
        assert parse_options(given) == parse_options({"path": "/a"})
    assert len(caught) == 1


def test_kafkas_own_isolation_level_is_not_ignored():
    """It would silently change the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_options({"path": "/a", "kafka.isolation.level": "read_committed"}).isolation == "read_committed"


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
    found = tasks(SEGMENT.parent, SEGMENT, MODERN / "codec-zstd-0")
    assert [task.source for task in found] == [
        ls.FileSource(str(SEGMENT)),
        ls.FileSource(str(MODERN / "codec-zstd-0" / SEGMENT.name)),
    ]


def test_tasks_travel_by_pickle():
    found = tasks(MODERN / "transactions-multi-segment-0", isolation="read_committed")
    assert len(found) > 1
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("partition", [p for p in corpus.partitions() if "read_committed" in p.consumed], ids=str)
def test_a_segment_read_alone_knows_the_transactions_of_its_partition(partition: Partition):
    """TXN-1: one that begins or ends in another segment, as when one file of many is loaded."""
    expected = corpus.expected_consumed(partition.consumed["read_committed"])
    found = [row for case in partition.segments for row in read(case.path, isolation="read_committed")]
    assert found == expected


def test_a_task_is_told_only_of_the_transactions_that_touch_it():
    found = tasks(MODERN / "transactions-multi-segment-0", isolation="read_committed")
    whole = ls.scan_transactions([task.source for task in found])
    told = [set(transactions_of(task).aborted) for task in found]
    assert set().union(*told) == set(whole.aborted)
    assert any(len(one) < len(whole.aborted) for one in told)


def test_batches_keep_to_the_options():
    limited = [batch.num_rows for batch in batches(SEGMENT, batchSize="7")]
    assert sum(limited) == 240
    assert max(limited) == 7
    assert len(list(batches(SEGMENT))) < len(list(batches(SEGMENT, batchBytes="1000"))) < 241


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_task_decodes_on_its_own_thread():
    before = len(os.listdir("/proc/self/task"))
    for _ in batches(MODERN / "large-records-0"):
        assert len(os.listdir("/proc/self/task")) == before


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
