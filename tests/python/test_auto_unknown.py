"""`values="auto"` never stops a read for want of a schema, or for a name that is there twice: null, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run

FINDS = corpus.TESTS / "finds"
COUNTS = FINDS / "auto" / "counts-0"
TWICE = FINDS / "auto-duplicate-name" / "au-dup-0"


def segment(*values: bytes | None) -> bytes:
    data = ls.encode(pa.table({"value": pa.array(values, "binary")}))
    assert data is not None
    return data


def auto(source: Any, **options: Any) -> tuple[list[Any], Any]:
    stream = ls.decode(source, values="auto", columns=["valueRecord"], **options)
    return [row["valueRecord"] for row in stream.to_pylist()], stream


def test_values_of_unknown_schemas_are_null_and_counted():
    values, stream = auto(f"{COUNTS}/00000000000000000000.log")
    assert values == [None, None]
    assert (stream.io_stats.raw_values, stream.unknown_schemas, stream.findings) == (2, ["the id 0"], [])
    known = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", '"long"', 7),))
    guid = bytes(range(16))
    rest = [b"\0\0\0\0\7\x0e", b"\0\0\0\0\x09x", b"\1" + guid, b"\xc3\1" + bytes(8), b"\3\0" + guid, b"\0\0", b'{"a":1}', b""]
    values, stream = auto(segment(*rest), schemas=known)
    assert values == [{"schema_7": 7, "json": None}, *[None] * 5, {"schema_7": None, "json": {"a": 1}}, None]
    assert stream.unknown_schemas == [f"the GUID {guid.hex()}", "the fingerprint 0000000000000000", "the id 9"]
    assert (stream.io_stats.avro_values, stream.io_stats.json_values, stream.io_stats.raw_values) == (1, 1, 6)
    with pytest.raises(ls.InvalidError, match=r"\[SCH-2\]"):
        ls.decode(segment(*rest), values="avro", schemas=known).to_pylist()


def test_a_name_that_is_there_twice_is_null_and_changes_no_type():
    stream = ls.Log(TWICE).records(values="auto", columns=["valueRecord"])
    assert [row["valueRecord"] for row in stream.to_pylist()] == [{"a": 1}, None, None]
    assert (stream.io_stats.json_values, stream.io_stats.raw_values) == (1, 2)
    with pytest.raises(ls.CorruptError, match="there twice"):
        ls.Log(TWICE).records(values="json").to_pylist()
    values, _ = auto(segment(b'{"a":1}', b'{"a":"x","a":"y"}', b'{"b":{"c":1,"c":2}}'))
    assert values == [{"a": 1}, None, None]
    values, stream = auto(segment(b'{"a":1,"a":2}'))
    assert (values, stream.io_stats.raw_values) == ([None], 1)


def test_a_payload_that_is_not_of_its_schema_is_an_error_all_the_same():
    known = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", '"long"', 7),))
    with pytest.raises(ls.CorruptError, match=r"\[SCH-3\]"):
        auto(segment(b"\0\0\0\0\7"), schemas=known)


def test_cat_reports_them_in_one_line_at_the_end(tmp_path: Path):
    for topic, values in {"a-0": (b"\0\0\0\0\7\x0e",), "b-0": (b"\0\0\0\0\0\0\0\5", b"{}"), "c-0": (b"\0\0\0\0\7x",)}.items():
        (tmp_path / topic).mkdir()
        (tmp_path / topic / "00000000000000000000.log").write_bytes(segment(*values))
    done = run("cat", tmp_path, "--values", "auto")
    assert (done.code, len(done.lines)) == (0, 4)
    assert "values of 3 topics were not decoded: no schema for ids 0, 7" in done.err
    assert "not decoded" not in run("cat", tmp_path, "--values", "auto", "--quiet").err


def test_a_registry_that_is_away_stops_the_read():
    pytest.importorskip("httpx")
    done = run("cat", COUNTS, "--values", "auto", "--schemas", "http://127.0.0.1:1")
    assert done.code == 2
    assert "127.0.0.1:1" in done.err


def test_polars_and_duckdb_read_such_topics():
    import polars as pl

    frame = ls.polars.scan(TWICE, values="auto").select("offset", "valueRecord")
    assert frame.collect().rows() == [(0, {"a": 1}), (1, None), (2, None)]
    duckdb = pytest.importorskip("duckdb")
    scanned = ls.polars.scan(COUNTS, values="auto").select(pl.col("offset")).collect()
    assert duckdb.sql("select count(*) from scanned").fetchall() == [(len(scanned),)] == [(2,)]


def test_the_driver_of_a_query_warns_once():
    from logsegment.spark.read.decoding import find_schemas

    with pytest.warns(UserWarning, match="no schema for the id 0") as caught:
        find_schemas({"path": str(COUNTS), "values": "auto"})
    assert len(caught) == 1
