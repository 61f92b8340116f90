"""Internal topics: records decoded in a column and on the command line; undecodable bytes stay bytes, with a finding."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corpus
import logsegment as ls
from cli_process import run
from internal_topics import DATA, OFFSETS, entry, loaded, said

#: Records of every type and version with what Kafka's own converters say, written by tests/interop/test_interop_internal.py.
RECORDED = corpus.TESTS / "support" / "internal_records.jsonl.gz"
COLUMN = pa.struct([("type", pa.string()), ("version", pa.int16()), ("key", pa.string()), ("value", pa.string())])


def test_every_type_and_version_says_what_kafkas_converters_said():
    recorded = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()]
    corpus.seen_all({row["said"]["type"] for row in recorded}, at_least=50)
    for topic in {row["topic"] for row in recorded}:
        chosen = [row for row in recorded if row["topic"] == topic]
        parts = [[None if item[name] is None else base64.b64decode(item[name]) for name in ("key", "value")] for item in chosen]
        rows, findings = said(entry(*map(tuple, parts)), topic=topic)
        assert findings == []
        for item, row in zip(chosen, rows, strict=True):
            assert loaded(row) == item["said"]


def test_the_column_is_a_struct_after_the_others_and_the_directory_names_the_topic():
    table = ls.decode(ls.FileSource(OFFSETS), values="internal").to_pyarrow()
    assert table.column_names == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers", "internal"]
    assert table.schema.field("internal").type == COLUMN
    assert set(table["topic"].to_pylist()) == {"__consumer_offsets"}
    commits = [loaded(row) for row in table["internal"].to_pylist() if row["type"] == "OFFSET_COMMIT"]
    assert {frozenset(commit["key"]) for commit in commits} == {frozenset({"group", "topic", "partition"})}
    assert all(commit["value"]["offset"] >= 0 for commit in commits if commit["value"])
    assert len(commits) > 10


@pytest.mark.parametrize(
    "path", sorted(DATA.glob("__*/*.log")) + sorted(DATA.glob("__*/*.checkpoint")), ids=lambda path: "/".join(path.parts[-2:])
)
def test_segments_and_snapshots_of_a_broker_are_understood_to_the_last_record(path: Path):
    rows, findings = said(ls.FileSource(path), control=True)
    assert findings == []
    assert all(row["type"] for row in rows)
    assert [loaded(row) for row in rows] == [loaded(row) for row in said(ls.FileSource(path), control=True, threads=2, batch_size=3)[0]]


def test_a_snapshot_begins_and_ends_with_its_control_records():
    snapshot = min((DATA / "__cluster_metadata-0").glob("*.checkpoint"))
    rows, _ = said(ls.FileSource(snapshot), control=True)
    assert (rows[0]["type"], rows[-1]["type"]) == ("SNAPSHOT_HEADER", "SNAPSHOT_FOOTER")
    assert json.loads(rows[0]["value"]).keys() == {"version", "lastContainedLogTimestamp"}


def test_control_records_of_any_topic_are_reported_and_its_other_records_are_null():
    path = DATA / "transactions-0" / "00000000000000000000.log"
    table = ls.decode(ls.FileSource(path), columns=["isControl", "internal"], topic="transactions", control=True).to_pyarrow()
    for row in table.to_pylist():
        assert (row["internal"] is not None) == row["isControl"]
        if row["isControl"]:
            assert row["internal"]["type"] in ("ABORT", "COMMIT")
            assert json.loads(row["internal"]["value"]).keys() == {"coordinatorEpoch"}


def test_tombstones_have_a_key_and_no_value():
    rows, findings = said(entry((bytes.fromhex("0001000167000174 00000003"), None)), topic="__consumer_offsets")
    assert [loaded(row) for row in rows] == [
        {"type": "OFFSET_COMMIT", "version": None, "key": {"group": "g", "topic": "t", "partition": 3}, "value": None}
    ]
    assert findings == []


def test_int_1_types_and_versions_to_come_stay_bytes_with_an_information():
    group = bytes.fromhex("0002000167")
    rows, findings = said(entry((b"\x00\x63k", b"v"), (group, b"\x00\x4dv")), topic="__consumer_offsets")
    assert [loaded(row) for row in rows] == [
        {"type": None, "version": None, "key": {"base64": "AGNr"}, "value": {"base64": "dg=="}},
        {"type": "GROUP_METADATA", "version": 77, "key": {"group": "g"}, "value": {"base64": "AE12"}},
    ]
    assert [(finding.rule, finding.severity, finding.record_index) for finding in findings] == [("INT-1", "info", 0), ("INT-1", "info", 1)]
    assert "type 99 of __consumer_offsets" in findings[0].message
    assert "version 77 of GROUP_METADATA" in findings[1].message


def test_int_2_bytes_that_are_not_what_they_say_stay_bytes_with_a_warning():
    value = bytes.fromhex("0000 0000000000000001 7fff")
    rows, findings = said(entry((bytes.fromhex("000000016b0001740000 0003"), value)), topic="__consumer_offsets")
    assert loaded(rows[0])["value"] == {"base64": base64.b64encode(value).decode()}
    assert [(finding.rule, finding.severity) for finding in findings] == [("INT-2", "warning")]
    assert "metadata" in findings[0].message


def test_int_2_text_of_a_batch_beyond_the_limits_is_left_out():
    """Bytes of an array may become a hundred times as many of JSON: the limit of what a batch may be unpacked holds for them too."""
    key, most = bytes.fromhex("00 02 00 01 67"), 60
    data = entry(*[(key, None)] * 9)
    whole, fine = said(data, topic="__consumer_offsets")
    rows, findings = said(data * 2, topic="__consumer_offsets", limits=ls.Limits(max_decompressed_bytes=most))
    assert all(row["key"] for row in whole)
    lengths = [sum(len(row[name] or "") for name in ("key", "value")) for row in rows]
    for batch in (lengths[:9], lengths[9:]):
        assert 0 < sum(batch) <= most
        assert batch[-1] == 0
    assert [row["type"] for row in rows] == [row["type"] for row in whole] * 2
    left_out = [finding for finding in findings if f"max_decompressed_bytes = {most}" in finding.message]
    assert [(finding.rule, finding.severity) for finding in left_out] == [("INT-2", "warning")] * lengths.count(0)
    assert fine == []


def test_a_batch_that_ends_badly_takes_back_what_was_decoded_of_it():
    """The first of its records are decoded before the last one is met, which claims more bytes than there are."""
    good = entry((b"\x00\x63k", b"v"))
    key = bytes.fromhex("00 02 00 01 67")
    bad = bytearray(entry((b"\x00\x62k", b"v"), (key, None), (key, b"\x00\x4dv" * 9)))
    # The length of the last value: before it and one byte for no headers.
    bad[-29] ^= 0x40
    data = good + bytes(bad) + good
    rows, findings = said(data, topic="__consumer_offsets", on_error="skip", check_crc=False)
    assert [row["key"] for row in rows] == ['{"base64":"AGNr"}'] * 2
    assert [finding.rule for finding in findings if finding.severity == "info"] == ["INT-1", "INT-1"]
    assert [finding.severity for finding in findings if finding.severity != "info"] == ["error"]


def test_a_missing_topic_is_an_error():
    data = OFFSETS.read_bytes()
    with pytest.raises(ValueError, match="values: the topic"):
        ls.decode(data, values="internal")
    with pytest.raises(ValueError, match="values must be"):
        ls.decode(data, topic="__consumer_offsets", values="offsets")
    with pytest.warns(UserWarning, match="orders is not an internal topic"):
        rows, _ = said(data, topic="orders")
    assert set(rows) == {None}


def test_naming_the_column_finds_the_topic_too():
    rows, _ = said(ls.FileSource(OFFSETS))
    named = ls.decode(ls.FileSource(OFFSETS), columns=["topic", "internal"]).to_pyarrow()
    assert (named["internal"].to_pylist(), set(named["topic"].to_pylist())) == (rows, {"__consumer_offsets"})
    told = ls.decode(ls.FileSource(OFFSETS), columns=["internal"], topic="orders").to_pyarrow()
    assert set(told["internal"].to_pylist()) == {None}
    nobody = ls.decode(OFFSETS.read_bytes(), columns=["internal"]).to_pyarrow()
    assert set(nobody["internal"].to_pylist()) == {None}


def test_cat_decode_gives_json_in_json():
    done = run("cat", OFFSETS, "--values", "internal")
    assert done.code == 0
    first = done.lines[0]
    assert list(first) == ["topic", "partition", "offset", "timestamp", "timestampType", "headers", "internal"]
    assert list(first["internal"]) == ["type", "version", "key", "value"]
    rows, _ = said(ls.FileSource(OFFSETS))
    assert [line["internal"] for line in done.lines] == [loaded(row) for row in rows]


def test_cat_decode_of_a_pipe_needs_the_topic(tmp_path: Path):
    data = OFFSETS.read_bytes()
    refused = run("cat", "-", "--values", "internal", stdin=data)
    assert (refused.code, refused.out) == (2, b"")
    assert "--topic" in refused.err
    done = run("cat", "-", "--values", "internal", "--topic", "__consumer_offsets", "--columns", "offset", stdin=data)
    assert done.code == 0
    assert list(done.lines[0]) == ["offset", "internal"]
    out = tmp_path / "decoded.parquet"
    assert run("cat", OFFSETS, "--values", "internal", "--parquet", out).code == 0
    table = pq.read_table(out)
    assert table["internal"].to_pylist() == said(ls.FileSource(OFFSETS))[0]


def test_cat_gives_internal_values_when_only_the_column_is_named():
    done = run("cat", OFFSETS, "--columns", "offset,internal")
    assert done.code == 0
    assert [line["internal"] for line in done.lines] == [loaded(row) for row in said(ls.FileSource(OFFSETS))[0]]
    refused = run("cat", "-", "--columns", "internal", stdin=OFFSETS.read_bytes())
    assert (refused.code, refused.out) == (2, b"")
    assert "--topic" in refused.err


@pytest.mark.spark
def test_spark_has_a_column_with_a_struct():
    from spark_session import spark_session

    read = spark_session().read.format("logsegment").option("values", "internal")
    frame = read.load(str(OFFSETS.parent))
    assert frame.schema["internal"].dataType.simpleString() == "struct<type:string,version:smallint,key:string,value:string>"
    assert frame.columns[:2] == ["key", "value"]
    commits = frame.where("internal.type = 'OFFSET_COMMIT'").selectExpr("offset", "get_json_object(internal.key, '$.group') AS `group`")
    own = ls.decode(ls.FileSource(OFFSETS), columns=["offset"], values="internal").to_pyarrow().to_pylist()
    expected = [(row["offset"], loaded(row["internal"])["key"]["group"]) for row in own if row["internal"]["type"] == "OFFSET_COMMIT"]
    assert sorted(map(tuple, commits.collect())) == expected
    few = read.option("columns", "offset").load(str(OFFSETS.parent))
    assert few.columns == ["offset", "internal"]
    with pytest.raises(Exception, match="option values must be"):
        spark_session().read.format("logsegment").option("values", "xml").load(str(OFFSETS.parent))
