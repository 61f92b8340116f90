"""Internal topics in every reader: each gives what `decode` gives of the same files."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import corpus
import logsegment as ls
from cli_process import run
from internal_topics import DATA, OFFSETS, entry, loaded, said

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
#: Of a type and of a version that no table has, and one that is not what it says.
STRANGE = entry((b"\x00\x63k", b"v"), (bytes.fromhex("0002000167"), b"\x00\x4dv"))
FILE = "00000000000000000000.log"
col = pl.col


def rows_of(stream: ls.RecordStream) -> list[dict[str, Any]]:
    return stream.to_pyarrow().to_pylist()


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A partition of an internal topic with records that are to come."""
    directory = tmp_path / "__consumer_offsets-7"
    directory.mkdir()
    (directory / FILE).write_bytes(STRANGE)
    return directory


@pytest.fixture
def nameless(tmp_path: Path) -> Path:
    """A segment whose directory tells no topic."""
    (tmp_path / "copies").mkdir()
    return Path(shutil.copyfile(OFFSETS, tmp_path / "copies" / FILE))


@pytest.mark.parametrize("mmap", [True, False])
def test_a_segment_says_what_decode_says(mmap: bool):
    segment = ls.Segment(OFFSETS, mmap=mmap)
    assert segment.records(values="internal").schema.names == [*COLUMNS, "internal"]
    expected = rows_of(ls.decode(ls.FileSource(OFFSETS), columns=["offset"], values="internal"))
    assert rows_of(segment.records(columns=["offset"], values="internal")) == expected
    assert rows_of(segment.records(columns=["internal", "offset"], values="internal", start_offset=3, end_offset=5)) == [
        row for row in expected if 3 <= row["offset"] < 5
    ]


def test_a_tree_says_what_each_of_its_topics_says():
    stream = ls.Log(DATA).records(columns=["topic", "partition"], values="internal", control=True)
    rows = rows_of(stream)
    files = sorted(DATA.glob("*-*/*.log"))
    internal = {path.parent.name.rpartition("-")[0] for path in files if path.parent.name.startswith("__")}
    corpus.seen_all(internal, at_least=3)
    expected = {path: rows_of(ls.decode(ls.FileSource(path), columns=["internal"], control=True)) for path in files}
    assert len(rows) == sum(map(len, expected.values()))
    for directory in {path.parent for path in files}:
        topic, _, partition = directory.name.rpartition("-")
        told = [row["internal"] for row in rows if (row["topic"], row["partition"]) == (topic, int(partition))]
        assert told == [row["internal"] for path in files if path.parent == directory for row in expected[path]]
    assert all(row["internal"] for row in rows if row["topic"] in internal)
    assert stream.findings == []


def test_findings_of_a_log_name_the_file(strange: Path):
    stream = ls.Log(strange.parent).records(columns=[], values="internal")
    assert [row["internal"]["type"] for row in rows_of(stream)] == [None, "GROUP_METADATA"]
    assert [finding.rule for finding in stream.findings] == ["INT-1", "INT-1"]
    assert all(finding.path.startswith(f"{strange / FILE}/entry@") for finding in stream.findings)


def test_a_topic_without_a_directory_is_an_error(nameless: Path):
    words = "unknown internal topic"
    for opened in (ls.Segment(nameless), ls.Log(nameless), ls.Log(nameless.parent)):
        with pytest.raises(ValueError, match=words):
            opened.records(values="internal")
        with pytest.raises(ValueError, match="values must be"):
            opened.records(values="offsets")  # type: ignore[arg-type]
        assert {row["internal"] for row in rows_of(opened.records(columns=["internal"]))} == {None}
        assert rows_of(opened.records(columns=["offset"], values="internal", control=True))
    with pytest.raises(ValueError, match="values must be"):
        ls.polars.scan(nameless, values="offsets")  # type: ignore[arg-type]
    frame = ls.polars.scan(nameless, values="internal")
    assert frame.select("offset").collect().height > 0
    with pytest.raises(ValueError, match=words):
        frame.collect()


def test_a_lazy_frame_says_what_decode_says():
    frame = ls.polars.scan(OFFSETS.parent, values="internal")
    expected = ls.decode(ls.FileSource(OFFSETS), values="internal").to_polars().with_columns(partition=pl.lit(1, pl.Int32))
    assert frame.collect_schema() == expected.schema
    assert frame.collect().equals(expected)
    commits = frame.filter(col("internal").struct.field("type") == "OFFSET_COMMIT").select("offset").collect()
    assert commits["offset"].to_list() == [row["offset"] for row in expected.to_dicts() if row["internal"]["type"] == "OFFSET_COMMIT"]
    assert 0 < commits.height < expected.height


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_what_records_say_is_decoded_when_a_query_names_it(strange: Path, engine: Any):
    """Decoding leaves findings and copies text: a query that does not name the column has neither."""
    findings: list[ls.Finding] = []
    stats: dict[str, int] = {}
    frame = ls.polars.scan(strange, values="internal", findings=findings, io_stats=stats)
    assert frame.select("offset").collect(engine=engine).height == 2
    assert (findings, stats["bytes_copied"]) == ([], 0)
    named = frame.filter(col("internal").struct.field("type").is_null()).select("offset")
    assert named.collect(engine=engine)["offset"].to_list() == [0]
    assert [finding.rule for finding in findings] == ["INT-1", "INT-1"]


def test_filters_spare_as_much_with_what_records_say():
    spared = []
    for options in ({}, {"values": "internal"}):
        stats: dict[str, int] = {}
        frame = ls.polars.scan(DATA, io_stats=stats, **options)
        found = frame.filter((col("topic") == "__consumer_offsets") & (col("partition") == 1) & (col("offset") < 2)).collect()
        assert found.height == 2
        spared.append((stats["bytes_read"], stats["entries_read"]))
    assert spared[0] == spared[1]
    assert 0 < spared[0][0] < OFFSETS.stat().st_size


def test_follow_decode_gives_the_lines_of_cat():
    for options in ([], ["--columns", "offset,key"], ["--control"]):
        done = run("follow", OFFSETS.parent, "--values", "internal", "--offset", "0", "--idle-exit", "0", *options)
        assert (done.code, done.err) == (0, "")
        assert done.out == run("cat", OFFSETS, "--values", "internal", *options).out
        control = "--control" in options
        assert [line["internal"] for line in done.lines] == [loaded(row) for row in said(ls.FileSource(OFFSETS), control=control)[0]]


def test_follow_reports_values_that_it_cannot_decode(strange: Path):
    done = run("follow", strange, "--values", "internal", "--offset", "1", "--idle-exit", "0", "--columns", "offset")
    assert done.code == 0
    assert [line["internal"]["type"] for line in done.lines] == ["GROUP_METADATA"]
    assert done.err.count("INT-1") == 1
    assert "version 77 of GROUP_METADATA" in done.err
    assert run("follow", strange, "--values", "internal", "--offset", "0", "--idle-exit", "0", "--quiet").err == ""
    redacted = run("follow", strange, "--values", "internal", "--offset", "0", "--idle-exit", "0", "--redact")
    assert [line["internal"] for line in redacted.lines] == [{"type": None}, {"type": "GROUP_METADATA"}]
    assert "version 77" not in redacted.err


def test_follow_decode_needs_the_topic(nameless: Path):
    refused = run("follow", nameless, "--values", "internal", "--offset", "0", "--idle-exit", "0")
    assert (refused.code, refused.out) == (2, b"")
    assert "--topic __consumer_offsets" in refused.err
    named = run("follow", nameless, "--columns", "internal", "--offset", "0", "--idle-exit", "0")
    assert (named.code, named.out) == (2, b"")
    done = run(
        "follow",
        nameless,
        "--values",
        "internal",
        "--offset",
        "0",
        "--idle-exit",
        "0",
        "--topic",
        "__consumer_offsets",
        "--columns",
        "offset",
    )
    assert [line["internal"] for line in done.lines] == [loaded(row) for row in said(ls.FileSource(OFFSETS))[0]]


OTHERS = DATA / "codec-none-0"
TOLD = "codec-none is not an internal topic of Kafka; `internal` is null in its records"


@pytest.mark.parametrize("reader", ["decode", "bytes", "segment", "log", "polars"])
def test_a_topic_that_is_not_internal_is_reported(reader: str):
    """Once for each call; control records say what they are in any topic."""
    source = ls.FileSource(OTHERS / FILE)

    def read(**options: Any) -> int:
        if reader == "decode":
            return ls.decode(source, columns=["offset"], **options).read_all().num_rows
        if reader == "bytes":
            return ls.decode((OTHERS / FILE).read_bytes(), columns=["offset"], topic="codec-none", **options).read_all().num_rows
        if reader == "segment":
            return ls.Segment(OTHERS / FILE).records(columns=["offset"], **options).read_all().num_rows
        if reader == "log":
            return ls.Log(OTHERS).records(columns=["offset"], **options).read_all().num_rows
        return ls.polars.scan(OTHERS, columns=["offset"], **options).collect().height

    with pytest.warns(UserWarning, match=rf'values="internal": {TOLD}') as caught:
        assert read(values="internal") == 240
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(values="internal", control=True) == read() == 240


def test_a_tree_with_an_internal_topic_is_as_its_guide_says():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = rows_of(ls.Log(DATA).records(columns=["topic"], values="internal"))
    assert {row["topic"] for row in rows if row["internal"] is None} > {"codec-none"}


@pytest.mark.parametrize("verb", [("cat",), ("follow", "--offset", "0", "--idle-exit", "0")])
def test_the_command_line_reports_topics_that_are_not_internal_once(verb: tuple[str, ...], tmp_path: Path):
    done = run(verb[0], OTHERS, *verb[1:], "--values", "internal")
    assert (done.code, done.err, len(done.lines)) == (0, f"logsegment: {TOLD}\n", 240)
    for topic in ("codec-none-0", "codec-lz4-0", "__consumer_offsets-1"):
        shutil.copytree(DATA / topic, tmp_path / topic)
    done = run(verb[0], tmp_path, *verb[1:], "--values", "internal")
    expected = "codec-lz4, codec-none are not internal topics of Kafka; `internal` is null in their records"
    assert (done.code, done.err) == (0, f"logsegment: {expected}\n")
    for options in (("--values", "internal", "--control"), ("--values", "internal", "--quiet"), ()):
        assert run(verb[0], OTHERS, *verb[1:], *options).err == ""


def test_a_file_without_a_topic_is_named_with_control_records_too(tmp_path: Path):
    """A snapshot in the log directory itself, as `bootstrap.checkpoint`: its other records are null, and the command line says why."""
    snapshot = tmp_path / "bootstrap.checkpoint"
    shutil.copy(min((DATA / "__cluster_metadata-0").glob("*.checkpoint")), snapshot)
    options = ("--values", "internal", "--control", "--columns", "offset")
    done = run("cat", snapshot, *options)
    assert done.code == 0
    assert "--topic __cluster_metadata" in done.err
    assert None in [row["internal"] for row in done.lines]
    known = run("cat", snapshot, *options, "--topic", "__cluster_metadata", "--partition", "0")
    assert (known.code, known.err) == (0, "")
    assert None not in [row["internal"] for row in known.lines]


def test_plans_of_spark_warn_of_it():
    pytest.importorskip("pyspark")
    from logsegment.spark import LogSegmentSource

    def said(path: Path, *, streams: bool, **options: str) -> list[str]:
        source = LogSegmentSource({"path": str(path), "startingOffsets": "earliest", **options})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if streams:
                reader = source.streamReader(source.schema())
                start = reader.initialOffset()
                reader.partitions(start, reader.latestOffset(start, reader.getDefaultReadLimit()))
            else:
                source.reader(source.schema()).partitions()
        return [str(item.message) for item in caught]

    for streams in (False, True):
        assert said(OTHERS, streams=streams, values="internal") == [f"option values: {TOLD}"]
        assert said(OTHERS, streams=streams) == said(OFFSETS.parent, streams=streams, values="internal") == []
