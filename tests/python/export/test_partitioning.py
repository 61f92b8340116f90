"""The partitioning of tables: transforms by their names, the same values as Iceberg's own, files of one partition each."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import lake
import logsegment as ls
from logsegment._export.transforms import Transform

DATA = corpus.CORPUS / "modern-4.1.0/data"
SOURCE = [DATA / "multi-segment-0", DATA / "multi-segment-1", DATA / "codec-zstd-0"]
MICROS = [-1000, 0, 1, 86_399_999_999, 86_400_000_000, 1_700_040_200_157_000, -86_400_000_001, None, -62_135_596_800_000_000]


@pytest.mark.parametrize("kind", ["year", "month", "day", "hour"])
def test_times_are_those_of_iceberg(kind: Any) -> None:
    from pyiceberg.transforms import parse_transform
    from pyiceberg.types import TimestamptzType

    values = Transform("timestamp", kind).values(pa.array(MICROS, pa.timestamp("us", "UTC"))).to_pylist()
    iceberg = parse_transform(kind).transform(TimestamptzType())
    assert values == [None if micros is None else iceberg(micros) for micros in MICROS]
    texts = [parse_transform(kind).to_human_string(TimestamptzType(), value) for value in values if value is not None]
    assert [Transform("timestamp", kind).text(value) for value in values if value is not None] == texts


@pytest.mark.parametrize("name", ["bucket[7]", "truncate[3]"])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [-7, -1, 0, 5, 13, None, 2**62]),
        (pa.int32(), [-7, 9, None]),
        (pa.string(), ["añb", "", None, "abcdef"]),
        (pa.binary(), [b"abcd", b"", None]),
    ],
)
def test_numbers_and_texts_are_those_of_iceberg(name: str, kind: pa.DataType, values: list[Any]) -> None:
    from pyiceberg.transforms import parse_transform
    from pyiceberg.types import BinaryType, IntegerType, LongType, StringType

    types = {pa.int64(): LongType(), pa.int32(): IntegerType(), pa.string(): StringType(), pa.binary(): BinaryType()}
    iceberg = parse_transform(name).transform(types[kind])
    own: Any = name.partition("[")[0]
    found = Transform("c", own, int(name[-2])).values(pa.array(values, kind)).to_pylist()
    assert found == [None if value is None else iceberg(value) for value in values]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day(timestamp)", Transform("timestamp", "day")),
        ("days(timestamp)", Transform("timestamp", "day")),
        ("HOURS( timestamp )", Transform("timestamp", "hour")),
        ("bucket(16, key)", Transform("key", "bucket", 16)),
        ("bucket(key, 16)", Transform("key", "bucket", 16)),
        ("truncate(4,topic)", Transform("topic", "truncate", 4)),
        ("topic", Transform("topic")),
        ("identity(topic)", Transform("topic")),
        ("void(key)", Transform("key", "void")),
    ],
)
def test_names(text: str, expected: Transform) -> None:
    assert Transform.of(text) == expected


@pytest.mark.parametrize(
    ("partition_by", "match"),
    [
        (["week(timestamp)"], "partition_by"),
        (["day(timestamp"], "is not a transform"),
        (["bucket(key)"], "wrong number"),
        (["bucket(0, key)"], "wrong number"),
        (["day(time)"], "unknown column 'time'"),
        (["day(value)"], "needs a timestamp"),
        (["topic", "identity(topic)"], "named twice"),
    ],
)
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_invalid_partitionings(kind: str, partition_by: list[str], match: str, tmp_path: Path) -> None:
    to = f"iceberg:{tmp_path}/kafka.records" if kind == "iceberg" else f"delta:{tmp_path}/records"
    with pytest.raises(ValueError, match=match):
        ls.export(SOURCE, to, partition_by=partition_by)


def test_one_text_is_not_a_partitioning(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="partition_by"):
        ls.export(SOURCE, f"delta:{tmp_path}", partition_by="topic")


@pytest.mark.parametrize(
    "partition_by",
    [
        [],
        ["topic", "day(timestamp)"],
        ["bucket(4, value)", "partition"],
        ["truncate(5, topic)", "hour(timestamp)"],
        ["month(timestamp)", "void(key)", "topic"],
        ["identity(key)"],
        ["identity(timestamp)"],
    ],
    ids=lambda given: "+".join(given) or "nothing",
)
def test_iceberg_tables(partition_by: list[str], tmp_path: Path) -> None:
    """Rows, file by file of one partition; a second run adds nothing, and a run on an existing table keeps its partitioning."""
    ls.export(SOURCE, f"iceberg:{tmp_path}/kafka.records", partition_by=partition_by, end_offset=100)
    exported = ls.export(SOURCE, f"iceberg:{tmp_path}/kafka.records")
    assert exported.rows > 0
    table = lake.iceberg(tmp_path, "kafka.records")
    assert len(table.spec().fields) == len(partition_by)
    assert lake.digest(lake.iceberg_rows(tmp_path, "kafka.records")) == lake.digest(lake.decoded_rows(SOURCE))
    files = table.inspect.files().to_pylist()
    assert sum(file["record_count"] for file in files) == 288 * 2 + 240
    assert not partition_by or len({str(file["partition"]) for file in files}) > 1
    assert ls.export(SOURCE, f"iceberg:{tmp_path}/kafka.records", partition_by=partition_by).rows == 0
    with pytest.raises(ValueError, match="is partitioned otherwise"):
        ls.export(SOURCE, f"iceberg:{tmp_path}/kafka.records", partition_by=["bucket(3, key)"])


@pytest.mark.parametrize(
    "partition_by",
    [["topic", "day(timestamp)"], ["partition"], ["month(timestamp)", "bucket(4, value)"], ["hour(timestamp)", "year(timestamp)"]],
    ids="+".join,
)
def test_delta_tables(partition_by: list[str], tmp_path: Path) -> None:
    from deltalake import DeltaTable

    ls.export(SOURCE, f"delta:{tmp_path}", partition_by=partition_by, end_offset=100)
    assert ls.export(SOURCE, f"delta:{tmp_path}").rows > 0
    assert len(DeltaTable(tmp_path).metadata().partition_columns) == len(partition_by)
    assert lake.digest(lake.delta_rows(tmp_path)) == lake.digest(lake.decoded_rows(SOURCE))
    assert ls.export(SOURCE, f"delta:{tmp_path}", partition_by=partition_by).rows == 0
    with pytest.raises(ValueError, match="is partitioned otherwise"):
        ls.export(SOURCE, f"delta:{tmp_path}", partition_by=["bucket(3, key)"])


@pytest.mark.parametrize("partition_by", [["truncate(3, topic)"], ["key"], ["void(topic)"]], ids=str)
def test_delta_has_no_partition_column_for_some(partition_by: list[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Delta has no partition column"):
        ls.export(SOURCE, f"delta:{tmp_path}", partition_by=partition_by)


def made(tmp_path: Path, times: list[int]) -> Path:
    """A partition with records of these times in milliseconds."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    table = pa.table({"value": pa.array([b"v"] * len(times), pa.binary()), "timestampMs": pa.array(times, pa.int64())})
    (directory / "00000000000000000000.log").write_bytes(ls.encode(table))
    return directory


@pytest.mark.parametrize("kind", ["iceberg", "delta", "parquet"])
def test_unusual_times(kind: str, tmp_path: Path) -> None:
    """No timestamp, times before 1970, and times that do not fit, which are null."""
    day = 86_400_000
    source = made(tmp_path, [0, -1, day + 1, 5, 2**62, day, 2**62 + 1, 3])
    to = f"iceberg:{tmp_path}/lake/kafka.records" if kind == "iceberg" else f"{kind}:{tmp_path}/lake"
    ls.export(source, to)
    readers = {
        "iceberg": lambda: lake.iceberg_rows(tmp_path / "lake", "kafka.records"),
        "delta": lambda: lake.delta_rows(tmp_path / "lake"),
    }
    rows = readers.get(kind, lambda: lake.parquet_rows(tmp_path / "lake"))()
    assert lake.digest(rows) == lake.digest(lake.decoded_rows(source))
    assert sorted(row["offset"] for row in rows if row["timestamp"] is None) == [4, 6]
    if kind == "delta":
        from deltalake import DeltaTable

        days = DeltaTable(tmp_path / "lake").to_pyarrow_table(columns=["offset", "timestamp_day"]).to_pylist()
        assert {row["offset"]: row["timestamp_day"] for row in days} == {
            0: date(1970, 1, 1),
            1: date(1969, 12, 31),
            2: date(1970, 1, 2),
            3: date(1970, 1, 1),
            4: None,
            5: date(1970, 1, 2),
            6: None,
            7: date(1970, 1, 1),
        }
    if kind == "parquet":
        names = {path.parent.name for path in (tmp_path / "lake").rglob("*.parquet")}
        assert names == {f"timestamp_day={name}" for name in ("1970-01-01", "1970-01-02", "1969-12-31", "__HIVE_DEFAULT_PARTITION__")}


def test_many_partitions_are_written_with_few_open_files(tmp_path: Path) -> None:
    """Records of 200 days in turns, over and over: each row once."""
    day = 86_400_000
    source = made(tmp_path, [number % 200 * day for number in range(5000)])
    exported = ls.export(source, f"iceberg:{tmp_path}/lake/kafka.records", commit_bytes=100_000)
    rows = lake.iceberg_rows(tmp_path / "lake", "kafka.records")
    assert exported.rows == len(rows) == 5000
    assert lake.digest(rows) == lake.digest(lake.decoded_rows(source))
    parquet = ls.export(source, f"parquet:{tmp_path}/parquet", partition_by=["day(timestamp)"])
    assert parquet.commits[0].files == 200


def test_readers_skip_files_by_their_bounds(tmp_path: Path) -> None:
    """Statistics of offsets and times are in the metadata."""
    from deltalake import DeltaTable

    for name in SOURCE[:2]:
        ls.export(name, f"iceberg:{tmp_path}/kafka.records")
        ls.export(name, f"delta:{tmp_path}/delta")
    scan = lake.iceberg(tmp_path, "kafka.records").scan(row_filter="partition = 1 and offset < 10")
    assert len([*scan.plan_files()]) < len([*lake.iceberg(tmp_path, "kafka.records").scan().plan_files()])
    actions = pa.table(DeltaTable(tmp_path / "delta").get_add_actions(flatten=True)).to_pylist()
    assert {action["min.partition"] for action in actions} == {0, 1}
    assert min(action["min.offset"] for action in actions) == 0
    assert max(action["max.offset"] for action in actions) == 287
    assert all(action["min.timestamp"] <= action["max.timestamp"] for action in actions)
