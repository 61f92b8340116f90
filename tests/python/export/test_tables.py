"""Targets, and tables that exist: what they lack, what does not fit, columns that are added, features that are refused, orphans."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import lake
import logsegment as ls
from logsegment._export.targets import Target

DATA = corpus.CORPUS / "modern-4.1.0/data"
SOURCE = DATA / "codec-zstd-0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("iceberg:prod/kafka.orders", Target("iceberg", "prod", "kafka.orders")),
        ("iceberg:./lake/a.b.orders", Target("iceberg", "./lake", "a.b.orders")),
        ("iceberg:/x/y/kafka.{topic}", Target("iceberg", "/x/y", "kafka.{topic}")),
        ("delta:s3://bucket/{topic}", Target("delta", "s3://bucket/{topic}")),
        ("parquet:out", Target("parquet", "out")),
    ],
)
def test_targets(text: str, expected: Target) -> None:
    assert Target.parse(text) == expected
    assert expected.text == text
    assert expected.is_by_topic == ("{topic}" in text)


@pytest.mark.parametrize(
    "text", ["", "orders", "iceberg:", "iceberg:orders", "iceberg:prod/orders", "iceberg:/kafka.orders", "iceberg:a/.b", "hudi:x"]
)
def test_invalid_targets(text: str) -> None:
    with pytest.raises(ValueError, match="target"):
        ls.export(SOURCE, text)


def test_tables_of_topics() -> None:
    target = Target.parse("iceberg:{topic}/kafka.{topic}").of("a.b-c")
    assert (target.place, target.name) == ("a.b-c", "kafka.a_b-c")


def test_the_directory_of_a_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path with `.`, `/` or `file:`, or a directory that exists; another word is the name of a catalog."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for place in ("./new", f"{tmp_path}/absolute", (tmp_path / "with space").as_uri(), "there"):
        assert ls.export(SOURCE, f"iceberg:{place}/kafka.records").rows == 240
    assert sorted(path.parent.name for path in tmp_path.glob("*/catalog.db")) == ["absolute", "new", "there", "with space"]
    with pytest.raises(OSError, match=r"unknown.*iceberg:\./unknown/"):
        ls.export(SOURCE, "iceberg:unknown/kafka.records")


def test_catalogs_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__MINE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__MINE__URI", f"sqlite:///{tmp_path}/mine.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__MINE__WAREHOUSE", f"file://{tmp_path}")
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils import config

    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", config.Config())
    assert ls.export(SOURCE, "iceberg:mine/kafka.records").rows == 240
    assert load_catalog("mine").load_table("kafka.records").scan().to_arrow().num_rows == 240
    options = {"type": "sql", "uri": f"sqlite:///{tmp_path}/mine.db", "warehouse": f"file://{tmp_path}"}
    assert ls.export(SOURCE, "iceberg:other/kafka.records", target_options=options).rows == 240


def test_two_topics_have_two_tables(tmp_path: Path) -> None:
    for name in ("a.b-0", "a_b-0"):
        shutil.copytree(SOURCE, tmp_path / name)
    with pytest.raises(ValueError, match="two topics"):
        ls.export([tmp_path / "a.b-0", tmp_path / "a_b-0"], f"iceberg:{tmp_path}/kafka.{{topic}}")


def existing(kind: str, place: Path, schema: pa.Schema) -> str:
    """Create a table of these columns without rows."""
    if kind == "delta":
        from deltalake import DeltaTable

        DeltaTable.create(place / "delta", schema)
        return f"delta:{place}/delta"
    ls.export(SOURCE, f"iceberg:{place}/other.other", end_offset=0)
    lake.iceberg(place, "other.other").catalog.create_namespace("kafka")
    lake.iceberg(place, "other.other").catalog.create_table("kafka.records", schema)
    return f"iceberg:{place}/kafka.records"


KEYS = [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_missing_columns_are_named_and_added_on_request(kind: str, tmp_path: Path) -> None:
    to = existing(kind, tmp_path, pa.schema([*KEYS, ("value", pa.binary()), ("note", pa.string())]))
    with pytest.raises(ValueError, match=r"lacks the columns key, timestamp, timestampType, headers; pass evolve=True \(--evolve\)"):
        ls.export(SOURCE, to)
    assert ls.export(SOURCE, to, columns=["topic", "partition", "offset", "value"], end_offset=100).rows == 100
    assert ls.export(SOURCE, to, evolve=True).rows == 140
    rows = lake.delta_rows(tmp_path / "delta") if kind == "delta" else lake.iceberg_rows(tmp_path, "kafka.records")
    by_offset = {row["offset"]: row for row in rows}
    assert by_offset[0]["timestamp"] is None
    assert [by_offset[offset] for offset in range(100, 240)] == lake.decoded_rows(SOURCE)[100:]


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_columns_that_do_not_fit(kind: str, tmp_path: Path) -> None:
    columns = [*KEYS[:2], ("offset", pa.int32()), ("value", pa.string()), pa.field("tenant", pa.string(), nullable=False)]
    to = existing(kind, tmp_path, pa.schema(columns))
    with pytest.raises(ValueError, match="cannot take the columns") as raised:
        ls.export(SOURCE, to, columns=["topic", "partition", "offset", "value"])
    for words in ("offset is of type int32", "value is of type string", "tenant is required"):
        assert words in str(raised.value)


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_wider_and_required_columns(kind: str, tmp_path: Path) -> None:
    columns = [("value", pa.binary()), ("partition", pa.int64()), pa.field("offset", pa.int64(), nullable=False), ("topic", pa.string())]
    to = existing(kind, tmp_path, pa.schema(columns))
    assert ls.export(SOURCE, to, columns=["topic", "partition", "offset", "value"]).rows == 240
    assert ls.export(SOURCE, to, columns=["topic", "partition", "offset", "value"]).rows == 0


def test_tables_without_the_columns_of_offsets(tmp_path: Path) -> None:
    """Commits are enough; without them nothing shows what the table has."""
    ls.export(SOURCE, f"delta:{tmp_path}/delta", columns=["value"], end_offset=100)
    assert ls.export(SOURCE, f"delta:{tmp_path}/delta", columns=["value"]).rows == 140
    from deltalake import write_deltalake

    write_deltalake(tmp_path / "delta", pa.table({"value": pa.array([b"v"], pa.binary())}), mode="append")
    with pytest.raises(ValueError, match="lacks the columns"):
        ls.export(SOURCE, f"delta:{tmp_path}/delta", columns=["value"])
    assert ls.export(SOURCE, f"delta:{tmp_path}/delta", columns=["value"], trust_commits_only=True).rows == 0


@pytest.mark.parametrize(
    ("configuration", "match"),
    [({"delta.constraints.positive": "partition >= 0"}, "constraints"), ({"delta.columnMapping.mode": "name"}, "columnMapping")],
)
def test_features_of_delta_that_are_not_supported(configuration: dict[str, str], match: str, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    table = DeltaTable.create(tmp_path, pa.schema([*KEYS, ("value", pa.binary())]))
    if "constraints" in match:
        table.alter.add_constraint({"positive": "partition >= 0"})
    else:
        path = tmp_path / "_delta_log/00000000000000000000.json"
        path.write_text(path.read_text().replace('"configuration":{}', '"configuration":{"delta.columnMapping.mode":"name"}'))
    with pytest.raises(OSError, match=match):
        ls.export(SOURCE, f"delta:{tmp_path}", columns=["topic", "partition", "offset", "value"])


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_clean_removes_orphans_of_exports_alone(kind: str, tmp_path: Path) -> None:
    to = f"iceberg:{tmp_path}/kafka.records" if kind == "iceberg" else f"delta:{tmp_path}/delta"
    ls.export(SOURCE, to, end_offset=100)
    directory = next(path.parent for path in tmp_path.rglob("logsegment-*.parquet"))
    stem = "logsegment-0123456789abcdef0123456789abcdef"
    orphans = [directory / f"{stem}-00001.parquet", directory / f"{stem}-00002.parquet"]
    others = [directory / name for name in ("part-00000.parquet", f"{stem}.parquet", f"{stem}-00001.parquet.crc", f"x{stem}-00001.parquet")]
    young = directory / f"{stem}-00003.parquet"
    for path in (*orphans, *others, young):
        path.write_bytes(b"PAR1")
    two_days_ago = time.time() - 2 * 86400
    for path in (*directory.iterdir(), directory):
        if path != young:
            os.utime(path, (two_days_ago, two_days_ago))
    before = {path.name for path in tmp_path.rglob("*.parquet")}
    assert ls.export(SOURCE, to, end_offset=150).removed == []
    cleaned = ls.export(SOURCE, to, end_offset=200, clean=True)
    assert sorted(path.rpartition("/")[2] for path in cleaned.removed) == sorted(path.name for path in orphans)
    assert not any(path.exists() for path in orphans)
    assert all(path.exists() for path in (*others, young))
    assert before - {path.name for path in tmp_path.rglob("*.parquet")} == {path.name for path in orphans}
    assert [path.rpartition("/")[2] for path in ls.export(SOURCE, to, clean=True, clean_hours=0).removed] == [young.name]
    rows = lake.iceberg_rows(tmp_path, "kafka.records") if kind == "iceberg" else lake.delta_rows(tmp_path / "delta")
    assert lake.digest(rows) == lake.digest(lake.decoded_rows(SOURCE))


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_clean_keeps_files_of_older_versions(kind: str, tmp_path: Path) -> None:
    """A table that was rolled back or overwritten names its files still."""
    to = f"iceberg:{tmp_path}/kafka.records" if kind == "iceberg" else f"delta:{tmp_path}/delta"
    ls.export(SOURCE, to)
    files = set(tmp_path.rglob("logsegment-*.parquet"))
    if kind == "iceberg":
        lake.iceberg(tmp_path, "kafka.records").delete("partition = 0")
    else:
        from deltalake import DeltaTable

        table = DeltaTable(tmp_path / "delta")
        table.delete()
        table.create_checkpoint()
        for path in sorted((tmp_path / "delta/_delta_log").glob("*.json"))[:-1]:
            path.unlink()
    assert ls.export(DATA / "codec-lz4-0", to, clean=True, clean_hours=0).removed == []
    assert all(path.exists() for path in files)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"commit_bytes": 0}, "commit_bytes"),
        ({"memory": 1000}, "memory must be at least"),
        ({"clean_hours": -1}, "clean_hours"),
        ({"start_offset": 7, "end_offset": 3}, "start_offset"),
        ({"columns": ["valueRecord.a"], "values": "json"}, "columns with dots"),
        ({"isolation": "dirty"}, "isolation"),
        ({"columns": ["value"], "partition_by": ["day(timestamp)", "topic"]}, "unknown column"),
    ],
)
def test_invalid_arguments(options: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=match):
        ls.export(SOURCE, f"delta:{tmp_path}/delta", **options)


def test_unknown_arguments(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="binary"):
        ls.export(SOURCE, f"delta:{tmp_path}", binary="binary_view")
    with pytest.raises(TypeError, match="topic"):
        ls.export(ls.Log(SOURCE), f"delta:{tmp_path}", topic="orders")
