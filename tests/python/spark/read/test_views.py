"""The data source's views in a real Spark: headers of batches, and findings of validation."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession

import corpus
import hostile
import logsegment as ls
from corpus import Row, rows_of
from logsegment._core import SegmentFile
from logsegment._options import ReadOptions
from logsegment._validate import SegmentContext, validate_segment
from logsegment.segment_files.discovery import find_segments
from logsegment.spark import LogSegmentSource
from logsegment.spark.options.plugins import ABSENT
from logsegment.spark.options.topics import TopicPartition
from logsegment.spark.read import views
from logsegment.spark.read.plan import TASK_FILES

pytestmark = pytest.mark.spark

MODERN = corpus.CORPUS / "modern-4.1.0/data"
SEGMENT = MODERN / "codec-zstd-0/00000000000000000000.log"
PLACE = ["path", "topic", "partition"]
FINDINGS = ["rule", "severity", "message", "position", "length", "baseOffset", "lastOffset", "recordIndex", "field"]
#: Partitions of the tree, and those of them that are damaged.
PARTITIONS = 40
DAMAGED = {7: "checksum", 19: "length", 33: "records"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions of one topic, of which three are damaged, each in its own way, and one cannot be read."""
    root = tmp_path_factory.mktemp("tree")
    sound = SEGMENT.read_bytes()
    second = rows_of(ls.batches(sound))[1]["position"]
    for number in range(PARTITIONS):
        data = bytearray(sound)
        if DAMAGED.get(number) == "checksum":
            data[-1] ^= 1
        elif DAMAGED.get(number) == "length":
            data[second + 8 : second + 12] = bytes(4)
        elif DAMAGED.get(number) == "records":
            data[100] ^= 1
        directory = root / f"orders-{number}"
        directory.mkdir()
        (directory / SEGMENT.name).write_bytes(data)
    gone = root / f"orders-{PARTITIONS}"
    gone.mkdir()
    (gone / SEGMENT.name).symlink_to(root / "nowhere")
    return root


def load(spark: SparkSession, view: str, *paths: Path, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("logsegment").option("view", view).options(**options)
    return (reader.schema(schema) if schema else reader).load([str(path) for path in paths])


def segment_of(tree: Path, number: int) -> str:
    return str(tree / f"orders-{number}" / SEGMENT.name)


def test_batches_are_those_of_the_truth_with_their_place(spark: SparkSession, tmp_path: Path):
    cases = corpus.cases()
    for index, case in enumerate(cases):
        directory = tmp_path / f"case-{index}"
        directory.mkdir()
        (directory / (case.path.name if case.format == "0.7" else SEGMENT.name)).symlink_to(case.path)
    frame = load(spark, "batches", tmp_path)
    assert frame.columns == [*PLACE, *corpus.BATCH_COLUMNS]
    found: dict[int, list[Row]] = {}
    for row in rows_of(frame.toArrow()):
        assert (row.pop("topic"), Path(row.pop("path")).parent.name) == ("case", f"case-{row['partition']}")
        found.setdefault(row.pop("partition"), []).append(row)
    corpus.seen_all(cases, corpus.manifest()["counts"]["cases"])
    for index, case in enumerate(cases):
        assert found.pop(index, []) == [row | {"isValid": None} for row in corpus.expected_batches(case)], case
    assert not found


def test_types_are_those_of_the_columns_and_all_are_nullable(spark: SparkSession):
    batches, findings = load(spark, "batches", SEGMENT).schema, load(spark, "findings", SEGMENT).schema
    assert all(batch.nullable for batch in [*batches, *findings])
    assert (batches["magic"].dataType.simpleString(), batches["position"].dataType.simpleString()) == ("tinyint", "bigint")
    assert findings.fieldNames() == [*PLACE, *FINDINGS]


def test_checksums_are_compared_when_asked(spark: SparkSession, tree: Path):
    paths = [Path(segment_of(tree, number)).parent for number in (6, 7)]
    frame = load(spark, "batches", *paths, checkCrc="true")
    assert {(row["partition"], row["isValid"]): row["count"] for row in frame.groupBy("partition", "isValid").count().collect()} == {
        (6, True): 20,
        (7, True): 19,
        (7, False): 1,
    }


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[ls.RecordStream]:
    """The streams that a reader opens in this process."""
    opened: list[ls.RecordStream] = []
    real = views.batch_stream

    def recorded(*arguments: Any, **options: Any) -> ls.RecordStream:
        opened.append(real(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(views, "batch_stream", recorded)
    return opened


def read_here(options: dict[str, str]) -> Iterator[Row]:
    """Rows of a reader without Spark around it."""
    source = LogSegmentSource(options)
    reader = source.reader(source.schema())
    for task in reader.partitions():
        for batch in reader.read(task):
            yield from rows_of(batch)


def test_counters_show_that_only_headers_are_read(streams: list[ls.RecordStream]):
    rows = list(read_here({"path": str(MODERN / "codec-zstd-0"), "view": "batches"}))
    (stream,) = streams
    stats = stream.io_stats
    assert len(rows) == stats.entries_read > 0
    assert (stats.entries_decompressed, stats.bytes_inflated, stats.bytes_checksummed, stats.records) == (0, 0, 0, 0)
    assert stats.bytes_read < sum(row["size"] for row in rows) / 4


def test_one_query_finds_the_damaged_segments(spark: SparkSession, tree: Path):
    frame = load(spark, "findings", tree)
    damaged = frame.where("severity = 'error'").groupBy("path", "topic", "partition").agg({"rule": "min"}).orderBy("partition")
    assert [tuple(row) for row in damaged.collect()] == [
        (segment_of(tree, 7), "orders", 7, "V2-31"),
        (segment_of(tree, 19), "orders", 19, "L8-11"),
        (segment_of(tree, 33), "orders", 33, "V2-31"),
    ]
    assert [row["path"] for row in frame.where("rule = 'SEG-15'").collect()] == [segment_of(tree, PARTITIONS)]


def test_findings_are_those_of_validate(spark: SparkSession, tree: Path):
    frame = load(spark, "findings", Path(segment_of(tree, 19)))
    segment = ls.Segment(segment_of(tree, 19))
    expected = [finding.to_dict() for finding in segment.validate().findings]
    assert len(expected) >= 2
    found = [row.asDict() for row in frame.select(*FINDINGS).collect()]
    assert found == [{name: item[name] for name in FINDINGS} for item in expected]
    assert {row["path"] for row in frame.where("rule like 'L8%'").collect()} == {segment.path}


def test_findings_of_every_hostile_case_are_those_of_validate(spark: SparkSession, tmp_path: Path):
    """The same rules at the same bytes, whoever asks: all of them in one query."""
    cases = [case for case in hostile.cases() if case.format == "auto" and not case.is_bomb]
    places = {}
    for number, case in enumerate(cases):
        directory = tmp_path / f"hostile-{number}"
        directory.mkdir()
        places[str(directory / SEGMENT.name)] = case
        (directory / SEGMENT.name).write_bytes(case.read())
    found: dict[str, list[Row]] = {path: [] for path in places}
    for row in load(spark, "findings", tmp_path).select("path", *FINDINGS).collect():
        # Those of the files beside a segment have a path of their own.
        if row["path"] in found:
            found[row["path"]].append({name: row[name] for name in FINDINGS})
    corpus.seen_all(places, 300)
    for path, case in places.items():
        expected = [finding.to_dict() for finding in ls.validate(case.read(), codecs=ABSENT).findings]
        # Names are judged here, and not by `validate` of a buffer.
        assert [finding for finding in found[path] if finding["rule"] != "SEG-1"] == [
            {name: item[name] for name in FINDINGS} for item in expected
        ], case.name


def test_sidecar_files_are_reported_once_with_their_own_path(spark: SparkSession, tmp_path: Path):
    """IDX-1 names the missing index of each segment; SEG-9 the epochs of the directory, which belong to no segment."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    source = MODERN / "transactions-multi-segment-0"
    for file in source.glob("*.log"):
        (directory / file.name).write_bytes(file.read_bytes())
    (directory / "leader-epoch-checkpoint").write_text("9\n1\n0 0\n")
    frame = load(spark, "findings", tmp_path)
    expected = {(finding.rule, finding.path.rpartition("@")[0]) for finding in ls.Log(directory).validate().findings}
    found = [(row["rule"], row["path"]) for row in frame.collect()]
    assert set(found) == expected
    assert len([item for item in found if item[1].endswith("leader-epoch-checkpoint")]) == 1
    assert len({item for item in found if item[0] == "IDX-1" and item[1].endswith(".index")}) == len(list(source.glob("*.log")))


def broken_log(root: Path, name: str, bases: list[int], first_offsets: list[int]) -> Path:
    """Segments of 32 records; where the first offset of one is not its name, or the next but one, they overlap or leave offsets out."""
    directory = root / f"{name}-0"
    directory.mkdir(parents=True)
    for base, first in zip(bases, first_offsets, strict=True):
        rows = pa.table({"key": [b"k"] * 32, "value": [b"v"] * 32})
        ls.encode(rows, base_offset=first, batch_bytes=150, out=directory / f"{base:020}.log", overwrite=True)
    return directory


def test_contradictions_between_segments_of_a_partition_are_reported(spark: SparkSession, tmp_path: Path):
    """ORD-1 and ORD-3 between segments, as `logsegment verify` of the directory tells them."""
    cases = {
        "overlap": ([0, 16], [0, 16], "ORD-1"),
        "again": ([0, 40], [0, 0], "ORD-1"),
        "hole": ([0, 64, 96], [0, 64, 96], "ORD-3"),
        "sound": ([0, 32, 64], [0, 32, 64], None),
    }
    for name, (bases, firsts, _) in cases.items():
        broken_log(tmp_path, name, bases, firsts)
    rows = load(spark, "findings", tmp_path).where("rule like 'ORD%'").collect()
    for name, (_, _, rule) in cases.items():
        directory = tmp_path / f"{name}-0"
        told = [finding for finding in ls.Log(directory).validate().findings if finding.rule.startswith("ORD")]
        assert {finding.rule for finding in told} == ({rule} if rule else set()), name
        expected = [
            (finding.path.rpartition("@")[0].removesuffix("/entry"), finding.rule, finding.message, finding.position) for finding in told
        ]
        assert [(row["path"], row["rule"], row["message"], row["position"]) for row in rows if row["topic"] == name] == expected, name


def test_the_end_of_a_segment_that_another_one_follows_is_an_error_when_it_is_torn(tmp_path: Path):
    directory = broken_log(tmp_path, "orders", [0, 32, 64], [0, 32, 64])
    for path in sorted(directory.glob("*.log"))[1:]:
        path.write_bytes(path.read_bytes()[:-7])
    rules = ("SEG-23", "L8-14")
    ends = [
        (finding.path.split("/entry")[0], finding.rule, finding.severity)
        for finding in ls.Log(directory).validate().findings
        if finding.rule in rules
    ]
    assert [end[1:] for end in ends] == [("SEG-23", "error"), ("L8-14", "info")]
    rows = read_here({"path": str(directory), "view": "findings"})
    assert [(row["path"], row["rule"], row["severity"]) for row in rows if row["rule"] in rules] == ends


def test_an_unreadable_previous_segment_is_reported_for_itself_alone(tmp_path: Path):
    """And one whose headers are damaged: what is behind the damage is held against what follows."""
    directory = broken_log(tmp_path, "orders", [0, 64], [0, 64])
    first, second = sorted(directory.glob("*.log"))
    batches = rows_of(ls.batches(first.read_bytes()))
    assert len(batches) > 2
    data = bytearray(first.read_bytes())
    data[batches[1]["position"] + 8 : batches[1]["position"] + 12] = bytes(4)
    first.write_bytes(data)

    def told() -> list[tuple[str, str]]:
        rows = read_here({"path": str(directory), "view": "findings"})
        return [(Path(row["path"]).name, row["rule"]) for row in rows if not row["rule"].startswith("IDX")]

    assert (second.name, "ORD-3") in told()
    first.unlink()
    first.symlink_to(tmp_path / "nowhere")
    assert told() == [(first.name, "SEG-15")]


def test_a_snapshot_of_another_segment_is_looked_at_with_one_segment_alone(tmp_path: Path):
    """A directory has one for each segment: read with every segment they would be read as often as there are segments."""
    directory = tmp_path / "orders-0"
    shutil.copytree(MODERN / "transactions-multi-segment-0", directory)
    first, second, *_ = find_segments(directory)
    snapshot = Path(second.path).with_suffix(".snapshot")
    snapshot.write_bytes(snapshot.read_bytes()[:-1])

    def paths(file: SegmentFile, *, reports_shared: bool) -> set[str]:
        found = validate_segment(file, "headers", ReadOptions(), SegmentContext(reports_shared=reports_shared)).findings
        return {file.path.rpartition("@")[0] for file in found if ".snapshot" in file.path}

    assert paths(first, reports_shared=True) == paths(second, reports_shared=False) == {str(snapshot)}
    assert paths(first, reports_shared=False) == set()
    found = [row["path"] for row in read_here({"path": str(directory), "view": "findings"}) if row["rule"].startswith("SEG")]
    assert found.count(str(snapshot)) == 1


def test_validating_headers_finds_errors_of_headers(spark: SparkSession, tree: Path):
    full = load(spark, "findings", Path(segment_of(tree, 33)), depth="full").count()
    headers = load(spark, "findings", Path(segment_of(tree, 33)), depth="headers")
    assert headers.where("rule = 'V2-31'").count() == 1
    assert headers.count() <= full
    unchecked = load(spark, "findings", Path(segment_of(tree, 33)), depth="headers", checkCrc="false")
    assert unchecked.where("rule = 'V2-31'").count() == 0


def test_batches_of_a_damaged_segment_obey_the_mode(spark: SparkSession, tree: Path):
    path = Path(segment_of(tree, 19))
    with pytest.raises(PythonException, match=rf"logsegment.InvalidError: {path}: \[L8-11\]|logsegment.CorruptError: {path}: \[L8-11\]"):
        load(spark, "batches", path).count()
    sound = load(spark, "batches", Path(segment_of(tree, 18)))
    dropped = load(spark, "batches", path, mode="DROPMALFORMED")
    assert dropped.columns == sound.columns
    assert dropped.count() == sound.count() - 1
    told = load(spark, "batches", path, mode="PERMISSIVE")
    assert told.columns == [*sound.columns, "_corrupt_record"]
    (bad,) = told.where("_corrupt_record is not null").collect()
    finding = json.loads(bad["_corrupt_record"])
    assert (finding["rule"], finding["path"]) == ("L8-11", str(path))
    assert (bad["path"], bad["topic"], bad["partition"], bad["position"]) == (str(path), "orders", 19, finding["position"])
    assert (bad["size"], bad["magic"], bad["count"]) == (finding["length"], None, None)
    assert told.where("_corrupt_record is null").count() == dropped.count()


def test_a_schema_is_a_projection_by_name(spark: SparkSession):
    frame = load(spark, "batches", SEGMENT, schema="count int, topic string, baseOffset bigint")
    assert rows_of(frame.toArrow()) == [
        {"count": row["count"], "topic": "codec-zstd", "baseOffset": row["baseOffset"]} for row in rows_of(ls.batches(SEGMENT.read_bytes()))
    ]
    assert load(spark, "findings", SEGMENT, schema="rule string, path string").columns == ["rule", "path"]


@pytest.mark.parametrize(
    ("view", "schema", "options", "message"),
    [
        ("records", None, {"depth": "full"}, "option depth is not valid in a batch query"),
        ("colours", None, {}, "option view must be records, batches, findings, topics, "),
        ("batches", "colour string", {}, "unknown column colour"),
        ("batches", "magic int", {}, "column magic is tinyint, not int"),
        ("batches", None, {"includeHeaders": "true"}, "option includeHeaders is not valid in the view batches"),
        ("batches", None, {"startingOffsets": "earliest"}, "option startingOffsets is not valid in the view batches"),
        ("findings", None, {"mode": "PERMISSIVE"}, "option mode is not valid in the view findings"),
        ("findings", None, {"depth": "deep"}, "option depth must be headers, metadata or full, not 'deep'"),
    ],
)
def test_what_means_nothing_in_a_view_is_refused(spark: SparkSession, view: str, schema: str | None, options: Any, message: str):
    with pytest.raises(AnalysisException, match=message):
        load(spark, view, SEGMENT, schema=schema, **options).count()


def test_replicas_of_a_partition_are_all_looked_at(spark: SparkSession, tmp_path: Path):
    """A read refuses them, since it would give every record twice."""
    for broker, flipped in (("a", 0), ("b", 1)):
        directory = tmp_path / broker / "orders-0"
        directory.mkdir(parents=True)
        data = bytearray(SEGMENT.read_bytes())
        data[-1] ^= flipped
        (directory / SEGMENT.name).write_bytes(data)
    damaged = load(spark, "findings", tmp_path).where("severity = 'error'").select("path", "topic", "partition").collect()
    assert [tuple(row) for row in damaged] == [(str(tmp_path / "b" / "orders-0" / SEGMENT.name), "orders", 0)]
    assert load(spark, "batches", tmp_path).count() == 2 * len(rows_of(ls.batches(SEGMENT.read_bytes())))


def test_topics_are_chosen_as_in_a_read(spark: SparkSession):
    frame = load(spark, "batches", MODERN, subscribe="codec-zstd,codec-lz4")
    assert {row["topic"] for row in frame.select("topic").distinct().collect()} == {"codec-zstd", "codec-lz4"}
    bare = load(spark, "batches", SEGMENT, schema="topic string, partition int", topic="ignored", partition="3")
    assert {tuple(row) for row in bare.distinct().collect()} == {("codec-zstd", 0)}


def test_small_segments_share_a_task_and_large_ones_do_not(tmp_path: Path):
    def part(number: int, size: int) -> views.ViewPart:
        path = tmp_path / f"{number:020}.log"
        with path.open("wb") as file:
            os.truncate(file.fileno(), size)
        return views.ViewPart(SegmentFile(str(path), "orders", 0, number), TopicPartition("orders", 0), number == 0)

    parts = [part(number, size) for number, size in enumerate([10, 10, 100, 10, 0, 0])]
    tasks = [[part.file.base_offset for part in task.parts] for task in views._grouped(parts, 20)]
    assert tasks == [[0, 1], [2], [3, 4, 5]]
    many = [part(number, 1) for number in range(TASK_FILES + 1)]
    assert [len(task.parts) for task in views._grouped(many, 1 << 30)] == [TASK_FILES, 1]
