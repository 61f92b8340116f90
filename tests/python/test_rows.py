"""Rows of Arrow data as Python objects, without pyarrow, and the tables that `repr` shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from slow import slow_after

SEGMENTS = sorted(corpus.CORPUS.glob("*/data/*/*.log"))
ALL = [
    *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers", "headersRaw", "timestampMs", "attributes"),
    *("producerId", "producerEpoch", "sequence", "partitionLeaderEpoch", "isTransactional", "isControl", "controlType", "magic"),
    *("compression", "batchBaseOffset", "entryPosition", "indexInEntry"),
]


@pytest.mark.parametrize("binary", slow_after(1, ["binary", "large_binary", "binary_view"]))
def test_rows_equal_those_of_pyarrow(binary: str):
    assert len(SEGMENTS) > 50
    for path in SEGMENTS:
        options = {"columns": ALL, "binary": binary, "control": True, "topic": "orders"}
        expected = ls.decode(path, **options).to_pyarrow().to_pylist()
        table = ls.decode(path, **options).read_all()
        assert ls.decode(path, **options).to_pylist() == table.to_pylist() == expected, path
        assert table.rows() == [tuple(row.values()) for row in expected]
        assert [row for batch in ls.decode(path, **options) for row in batch.rows()] == table.rows()


def test_batch_rows_and_arrays_equal_those_of_pyarrow():
    for path in SEGMENTS:
        table = ls.batches(path)
        assert table.to_pylist() == table.to_pyarrow().to_pylist()
    values = ls.batch_info_array(pa.array([SEGMENTS[0].read_bytes(), None], pa.binary()))
    assert values.to_pylist() == pa.array(values).to_pylist()


def test_no_other_package_is_needed():
    foreign = "{'pyarrow', 'polars', 'pandas', 'numpy', 'duckdb'} & sys.modules.keys()"
    code = (
        f"import sys, logsegment as ls; stream = ls.decode({str(SEGMENTS[0])!r}); repr(stream); assert stream.to_pylist(); print({foreign})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"


def test_a_time_that_no_datetime_holds_names_the_column_that_does():
    # The year 60,000: microseconds hold it, datetime does not.
    data = ls.encode(pa.table({"value": pa.array([b"x"]), "timestampMs": pa.array([1_830_000_000_000_000])}))
    with pytest.raises(OverflowError, match="timestampMs"):
        ls.decode(data).to_pylist()
    assert ls.decode(data, columns=["timestampMs"]).rows() == [(1_830_000_000_000_000,)]


def test_the_repr_of_a_stream_shows_rows_and_takes_none():
    stream = ls.decode(SEGMENTS[0], columns=["offset", "key"])
    shown = repr(stream)
    assert shown.splitlines()[1].split() == ["offset", "key"]
    assert shown.splitlines()[2].split() == ["int64", "binary"]
    assert repr(stream) == shown
    rows = stream.rows()
    assert rows == ls.decode(SEGMENTS[0], columns=["offset", "key"]).rows()
    for offset, _ in rows[:8]:
        assert f"\n{offset} " in shown
    assert "no rows left" in repr(stream)
    with pytest.raises(ValueError, match="consumed"):
        stream.rows()


def test_the_repr_of_an_empty_stream_does_not_consume_it():
    stream = ls.decode(b"", columns=["offset"])
    assert repr(stream) == "RecordStream(offset: int64), no rows left"
    assert stream.to_pylist() == []


def test_the_repr_of_a_damaged_stream_shows_the_error_and_the_stream_raises_it():
    stream = ls.decode(b"text" * 100, columns=["offset"])
    assert "error: [COD-6]" in repr(stream)
    with pytest.raises(ls.LimitError):
        stream.rows()


def test_the_repr_of_a_stream_that_another_library_reads_reads_nothing():
    stream = ls.decode(SEGMENTS[0], columns=["offset"])
    reader = pa.RecordBatchReader.from_stream(stream)
    assert repr(stream) == "RecordStream(offset: int64)"
    assert reader.read_all().num_rows > 0


@pytest.mark.parametrize("open_stream", [ls.decode, ls.batch_stream])
def test_the_repr_of_a_stream_over_a_pipe_waits_for_no_bytes(open_stream: Callable[..., ls.RecordStream]):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        stream = open_stream(pipe)
        # With nothing in the pipe a read would wait for ever, as pytest's time limit would say.
        shown = repr(stream)
        assert shown.startswith("RecordStream(")
        assert "first rows" not in shown
        with os.fdopen(writing, "wb") as out:
            out.write(ls.encode(pa.table({"value": ["a", "b"]})))
        assert stream.read_all().num_rows == (2 if open_stream is ls.decode else 1)


def test_the_repr_of_a_stream_over_a_store_fetches_nothing(tmp_path: Path, as_bucket: Any):
    shutil.copytree(SEGMENTS[0].parent, tmp_path / "lake/orders-0")
    as_bucket(tmp_path / "lake")
    segment = f"s3://lake/orders-0/{SEGMENTS[0].name}"
    for stream in (ls.decode(segment), ls.batch_stream(segment), ls.Log("s3://lake/orders-0").records()):
        fetched = stream.io_stats.bytes_fetched
        assert repr(stream).startswith("RecordStream(")
        assert "first rows" not in repr(stream)
        assert stream.io_stats.bytes_fetched == fetched
        assert stream.read_all().io_stats.bytes_fetched > fetched


def test_a_closed_stream_forgets_what_its_repr_read():
    stream = ls.decode(SEGMENTS[0])
    repr(stream)
    stream.close()
    assert list(stream) == []


def test_the_repr_of_a_table_shows_the_schema_and_the_first_rows(tmp_path: Path):
    rows = {
        "value": pa.array([b"text", b"\xff\x00", None, b"x" * 100]),
        "timestampMs": pa.array([0, 1_700_000_000_123, -1, 4], pa.int64()),
    }
    table = ls.decode(ls.encode(pa.table(rows)), columns=["value", "timestamp", "timestampMs", "headers"]).read_all()
    first, names, types, *lines = repr(table).splitlines()
    assert first == "ArrowTable, 4 rows"
    assert names.split() == ["value", "timestamp", "timestampMs", "headers"]
    assert types.split()[:3] == ["binary", "timestamp[us,", "UTC]"]
    assert [line.split()[0] for line in lines[:3]] == ['"text"', "0xff00", "null"]
    assert [line.split()[1] for line in lines[:2]] == ["1970-01-01T00:00:00.000Z", "2023-11-14T22:13:20.123Z"]
    assert max(map(len, repr(table).splitlines())) <= 124
    assert repr(ls.batches(SEGMENTS[0])).splitlines()[-1].startswith("\N{HORIZONTAL ELLIPSIS} ")


def test_json_lines_have_iso_times_on_request():
    rows = pa.table({"value": pa.array([b"a", b"b"]), "timestampMs": pa.array([1_700_000_000_123, -1])})
    (batch,) = ls.decode(ls.encode(rows), columns=["timestampMs", "timestamp"])
    lines = batch.to_jsonl(fields=[("timestampMs", "timestamp"), ("timestampMs", "timestampMs")], iso=True).splitlines()
    assert lines == [
        b'{"timestamp":"2023-11-14T22:13:20.123Z","timestampMs":1700000000123}',
        b'{"timestamp":null,"timestampMs":-1}',
    ]


def test_times_are_aware_datetimes():
    data = ls.encode(pa.table({"value": pa.array([b"a"]), "timestampMs": pa.array([1_700_000_000_123])}))
    assert ls.decode(data, columns=["timestamp"]).rows() == [(datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC),)]
