"""Arguments of Python that mean what they mean on the command line: topics, partitions, times, keys; mistakes say what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run

START = 1_767_225_600_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for topic, partition in (("a", 0), ("a", 1), ("b", 0), ("c", 0)):
        path = tmp_path / f"{topic}-{partition}" / "00000000000000000000.log"
        path.parent.mkdir()
        keys = [b"k1", b"k2", None, b"k1", b"\xff"]
        times = pa.array([START + 1000 * number for number in range(5)], pa.timestamp("ms", "UTC"))
        table = pa.table(
            {"key": pa.array(keys, "binary"), "value": [f"{topic}{partition}{number}".encode() for number in range(5)], "timestamp": times}
        )
        path.write_bytes(ls.encode(table) or b"")
    return tmp_path


def test_several_topics_and_partitions_as_text(tree: Path):
    assert ls.Log(tree, topic=["a", "b"]).partitions == [("a", 0), ("a", 1), ("b", 0)]
    assert ls.Log(tree, topic=("b", "a"), partition="0").partitions == [("b", 0), ("a", 0)]
    assert ls.Log(tree, topic="a", partition="1").partitions == [("a", 1)]
    with pytest.raises(ValueError, match="no such topic: x"):
        ls.Log(tree, topic=["a", "x"])
    with pytest.raises(ValueError, match="partition must be a number, not 'zero'"):
        ls.Log(tree, partition="zero")
    data = (tree / "a-0" / "00000000000000000000.log").read_bytes()
    assert ls.decode(data, partition="3", columns=["partition"]).to_pylist()[0] == {"partition": 3}


@pytest.mark.parametrize("text", ["2026-01-01T00:00:02Z", "2026-01-01 00:00:02", "2026-01-01T01:00:02+01:00", f"{START + 2000}"])
def test_times_as_text(tree: Path, text: str):
    log = ls.Log(tree / "a-0")
    found = log.records(columns=["offset"], start_timestamp=text).to_pylist()
    assert [row["offset"] for row in found] == [2, 3, 4]
    assert [row["offset"] for row in log.records(columns=["offset"], end_timestamp=text).to_pylist()] == [0, 1]
    assert log.offset_for_timestamp(text) == 2
    assert [line["offset"] for line in run("cat", tree / "a-0", "--since", text).lines] == [2, 3, 4]


def test_relative_and_wrong_times(tree: Path):
    log = ls.Log(tree / "a-0")
    assert len(log.records(columns=["offset"], start_timestamp="-5200w").to_pylist()) == 5
    for wrong in ("yesterday", "-2y", ""):
        with pytest.raises(ValueError, match=r"start_timestamp: .* is neither milliseconds nor a time such as"):
            log.records(start_timestamp=wrong)


@pytest.mark.parametrize(("key", "offsets"), [("k1", [0, 3]), (b"k2", [1]), (["k2", b"\xff"], [1, 4]), ("absent", []), ([], [])])
@pytest.mark.parametrize("columns", [["offset"], ["key", "offset", "headers"], ["offset", "valueRecord"]])
def test_records_of_keys(tree: Path, key: str | bytes | list[str | bytes], offsets: list[int], columns: list[str]):
    values = "string" if "valueRecord" in columns else "raw"
    path = tree / "a-0" / "00000000000000000000.log"
    for stream in (
        ls.Log(tree / "a-0").records(key=key, columns=columns, values=values),
        ls.Segment(path).records(key=key, columns=columns, values=values),
        ls.decode(str(path), key=key, columns=columns, values=values),
        ls.decode(str(path), key=key, columns=columns, values=values, threads=2, batch_size=2, binary="binary_view"),
    ):
        table = stream.to_pyarrow()
        assert (table.column_names, table["offset"].to_pylist()) == (columns, offsets)
        assert stream.io_stats.records == len(offsets)
    frame = ls.polars.scan(tree / "a-0", key=key).select("offset", "value").collect()
    assert frame["offset"].to_list() == offsets
    given = [key] if isinstance(key, str | bytes) else key
    if given and all(isinstance(item, str) for item in given):
        lines = run("cat", tree / "a-0", *(word for item in given for word in ("--key", item))).lines
        assert [line["offset"] for line in lines] == offsets


def test_bytes_that_look_like_a_path_are_asked_about(tree: Path):
    path = tree / "a-0" / "00000000000000000000.log"
    for given in (
        os.fsencode(path),
        os.fsencode(path.parent),
        b"missing-0/00000000000000000000.log",
        b"s3://bucket/orders-0",
        b"./orders-0",
    ):
        for verb in (ls.decode, ls.batches, ls.validate):
            with pytest.raises(TypeError, match="these bytes look like a path; pass a str"):
                verb(given)
    assert ls.decode(path.read_bytes()).read_all().num_rows == 5
    assert ls.decode(b"abc").read_all().num_rows == 0


def test_two_paths_are_a_list(tree: Path):
    with pytest.raises(TypeError, match=r"write Log\(\['.*a-0', '.*b-0'\]\)"):
        ls.Log(str(tree / "a-0"), str(tree / "b-0"))
    assert len(ls.Log([tree / "a-0", tree / "b-0"])) == 2
