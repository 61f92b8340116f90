"""Logs of Kafka in tables of Iceberg and Delta and in Parquet: the rows are those of `decode`, and those that Kafka's consumer returned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import corpus
import lake
import logsegment as ls
from slow import slow_after

#: Log directories of brokers: sets of the corpus with all codecs, transactions, compaction and formats from 0.8 on.
SETS = ("modern-4.1.0", "legacy-0.8.2.2", "legacy-0.10.2.2", "legacy-0.11.0.3", "legacy-2.4.1", "other-clients")
KINDS = ("iceberg", "delta", "parquet")


def target(kind: str, place: Path) -> tuple[str, Callable[[], list[lake.Row]]]:
    """A target in a directory, and what is in it."""
    readers = {
        "iceberg": (f"iceberg:{place}/kafka.records", lambda: lake.iceberg_rows(place, "kafka.records")),
        "delta": (f"delta:{place}", lambda: lake.delta_rows(place)),
        "parquet": (f"parquet:{place}", lambda: lake.parquet_rows(place)),
    }
    return readers[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", slow_after(2, SETS))
def test_rows_are_those_of_decode(name: str, kind: str, tmp_path: Path) -> None:
    source = corpus.CORPUS / name / "data"
    to, rows = target(kind, tmp_path / "lake")
    exported = ls.export(source, to)
    expected = lake.decoded_rows(source)
    found = rows()
    assert exported.rows == len(found) == len(set(lake.offsets_of(found))) == len(expected) > 500
    assert lake.digest(found) == lake.digest(expected)
    assert not exported.lost
    assert not exported.notes


@pytest.mark.parametrize("kind", KINDS[:2])
def test_offsets_are_those_that_the_consumer_returned(kind: str, tmp_path: Path) -> None:
    """By partition, in both isolation levels, as `KafkaConsumer` of the broker's release counted them."""
    checked = 0
    for isolation in ("read_committed", "read_uncommitted"):
        partitions = [partition for partition, level in corpus.consumed_partitions() if level == isolation]
        to, rows = target(kind, tmp_path / isolation)
        ls.export([partition.directory for partition in partitions], to, isolation=isolation)
        found = lake.offsets_of(rows())
        for partition in partitions:
            expected = [row["offset"] for row in corpus.truth_rows(partition.consumed[isolation])]
            own = [offset for topic, number, offset in found if (topic, number) == (partition.topic, partition.partition)]
            assert own == sorted(expected), (str(partition), isolation)
            checked += len(own)
    assert checked > 1_000


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_second_run_adds_nothing(kind: str, tmp_path: Path) -> None:
    source = corpus.CORPUS / "modern-4.1.0/data"
    to, rows = target(kind, tmp_path)
    first = ls.export(source, to)
    second = ls.export(source, to)
    assert (second.rows, second.commits) == (0, [])
    assert second.ranges == first.ranges
    assert second.next_offsets == first.next_offsets
    assert len(rows()) == first.rows


@pytest.mark.parametrize("kind", KINDS)
def test_kafka_0_7(kind: str, tmp_path: Path) -> None:
    """Offsets are positions, which records of a wrapper message share: rows are equal, and a second run adds none."""
    source = corpus.CORPUS / "legacy-0.7.2/data"
    to, rows = target(kind, tmp_path / "lake")
    exported = ls.export(source, to)
    assert exported.rows == 4_443
    assert lake.digest(rows()) == lake.digest(lake.decoded_rows(source))
    assert exported.ranges["codec-gzip"] == {0: [(0, 15205)]}
    if kind != "parquet":
        assert ls.export(source, to).rows == 0


def test_ranges_count_what_has_no_rows(tmp_path: Path) -> None:
    """Gaps by compaction, also between segments, markers and aborted transactions were read."""
    data = corpus.CORPUS / "modern-4.1.0/data"
    names = ["compacted-0", "compacted-transactions-0", "transactions-0", "transactions-multi-segment-1", "multi-segment-2"]
    exported = ls.export([data / name for name in names], f"delta:{tmp_path}/one")
    assert exported.ranges == {
        "compacted": {0: [(0, 245)]},
        "compacted-transactions": {0: [(0, 86)]},
        "multi-segment": {2: [(0, 288)]},
        "transactions": {0: [(0, 88)]},
        "transactions-multi-segment": {1: [(0, 67)]},
    }
    assert exported.rows_by_partition["transactions"] == {0: 34}
    old = ls.export(corpus.CORPUS / "legacy-0.11.0.3/data/compacted-none-0", f"delta:{tmp_path}/two")
    assert old.ranges == {"compacted-none": {0: [(0, 300)]}}


def test_results(tmp_path: Path) -> None:
    source = corpus.CORPUS / "modern-4.1.0/data"
    exported = ls.export([source / "codec-zstd-0", source / "transactions-1"], f"iceberg:{tmp_path}/a.b.records")
    assert exported.next_offsets == {"codec-zstd": {0: 240}, "transactions": {1: 67}}
    assert exported.starting_offsets == '{"codec-zstd":{"0":240},"transactions":{"1":67}}'
    assert exported.connect_offsets == (
        '{"offsets":[{"partition":{"kafka_topic":"codec-zstd","kafka_partition":0},"offset":{"kafka_offset":240}},'
        '{"partition":{"kafka_topic":"transactions","kafka_partition":1},"offset":{"kafka_offset":67}}]}'
    )
    (commit,) = exported.commits
    table = lake.iceberg(tmp_path, "a.b.records")
    assert commit.id == table.current_snapshot().snapshot_id
    assert commit.rows == exported.rows == 265
    summary = table.current_snapshot().summary.additional_properties
    assert summary["logsegment.offsets"] == '{"codec-zstd":{"0":[[0,240]]},"transactions":{"1":[[0,67]]}}'
    assert summary["logsegment.isolation"] == "read_committed"
    assert "logsegment.damage" not in summary
    assert repr(exported) == "Export(265 rows in 1 commit, 2 partitions)"
    assert exported.to_dict()["nextOffsets"] == exported.next_offsets
    assert exported.io_stats.bytes_read > 0


def test_a_table_for_each_topic(tmp_path: Path) -> None:
    data = corpus.CORPUS / "modern-4.1.0/data"
    exported = ls.export([data / "codec-zstd-0", data / "transactions-0", data / "transactions-1"], f"iceberg:{tmp_path}/kafka.{{topic}}")
    assert [commit.table.rpartition("/")[2] for commit in exported.commits] == ["kafka.codec-zstd", "kafka.transactions"]
    assert len(lake.iceberg_rows(tmp_path, "kafka.codec-zstd")) == 240
    assert len(lake.iceberg_rows(tmp_path, "kafka.transactions")) == 59
    ls.export([data / "codec-zstd-0", data / "transactions-0"], f"delta:{tmp_path}/d/{{topic}}")
    assert len(lake.delta_rows(tmp_path / "d/transactions")) == 34


def test_tables_that_the_caller_loaded(tmp_path: Path) -> None:
    from deltalake import DeltaTable

    source = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0"
    ls.export(source, f"iceberg:{tmp_path}/kafka.records", end_offset=100)
    table = lake.iceberg(tmp_path, "kafka.records")
    assert ls.export(source, table).rows == 140
    ls.export(source, f"delta:{tmp_path}/delta", end_offset=100)
    assert ls.export(source, DeltaTable(tmp_path / "delta")).rows == 140
    with pytest.raises(TypeError, match="to must be a target"):
        ls.export(source, 7)


def test_what_is_wanted(tmp_path: Path) -> None:
    """Offsets, times and topics; what is left out is not in the ranges."""
    data = corpus.CORPUS / "modern-4.1.0/data"
    by_offset = ls.export(data / "multi-segment-0", f"delta:{tmp_path}/offsets", start_offset=10, end_offset=200)
    assert by_offset.ranges == {"multi-segment": {0: [(10, 200)]}}
    assert [row["offset"] for row in lake.delta_rows(tmp_path / "offsets")] == list(range(10, 200))
    log = ls.Log(data / "multi-segment-0")
    times = [row["timestampMs"] for row in log.records(columns=["timestampMs"]).to_pylist()]
    first, last = times[40], times[80]
    wanted = [offset for offset, time in enumerate(times) if first <= time < last]
    by_time = ls.export(log, f"delta:{tmp_path}/times", start_timestamp=first, end_timestamp=last)
    assert sorted(row["offset"] for row in lake.delta_rows(tmp_path / "times")) == wanted
    covered = {offset for start, end in by_time.ranges["multi-segment"][0] for offset in range(start, end)}
    assert covered == set(wanted)
    rest = ls.export(log, f"delta:{tmp_path}/times")
    assert rest.rows == len(times) - len(wanted)
    assert lake.digest(lake.delta_rows(tmp_path / "times")) == lake.digest(lake.decoded_rows(data / "multi-segment-0"))
    since = ls.export(log, f"delta:{tmp_path}/since", start_timestamp=first)
    assert since.ranges == {"multi-segment": {0: [(40, 288)]}}
    by_topic = ls.export(data, f"delta:{tmp_path}/topic", topic="transactions", partition=1)
    assert by_topic.next_offsets == {"transactions": {1: 67}}


def test_unknown_topics_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes((corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log").read_bytes())
    with pytest.raises(ValueError, match="topic= and partition="):
        ls.export(path, f"delta:{tmp_path}/lake")
    assert ls.export(path, f"delta:{tmp_path}/lake", topic="orders", partition=3).next_offsets == {"orders": {3: 240}}


def test_parquet_is_new_or_absent(tmp_path: Path) -> None:
    source = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0"
    ls.export(source, f"parquet:{tmp_path}/lake")
    (path,) = (tmp_path / "lake").rglob("*.parquet")
    assert path.parent.relative_to(tmp_path / "lake").as_posix().startswith("topic=codec-zstd/timestamp_day=2023-11-1")
    with pytest.raises(FileExistsError):
        ls.export(source, f"parquet:{tmp_path}/lake")
    with pytest.raises(ls.ChecksumError):
        ls.export(corpus.TESTS.parent / "examples/damaged-0", f"parquet:{tmp_path}/other")
    assert [place.name for place in tmp_path.iterdir()] == ["lake"]
