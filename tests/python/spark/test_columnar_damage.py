"""The modes of the columnar reader at damage, and what it does where a file is gone: the rows, texts and errors of the Python reader."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import both_readers
import building
import corpus
import damaged_marker
import hostile
import tiered_corpus as tiered
from made_logs import make_partition
from spark_session import columnar_options

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

CODEC_NONE = corpus.CORPUS / "modern-4.1.0/data/codec-none-0"
SKIPPING = ("PERMISSIVE", "DROPMALFORMED")
CUTS: tuple[dict[str, str], ...] = ({}, {"minPartitions": "4"}, {"maxRecordsPerPartition": "7"})
DAMAGED = [(how, border) for how in damaged_marker.DAMAGE for border in damaged_marker.BORDERS]


def ensure_equal(spark: SparkSession, path: Path | str, **options: str) -> None:
    both_readers.ensure_equal(both_readers.in_python(path, **options), both_readers.in_jvm(spark, path, **options), (path, options))


@pytest.mark.parametrize("mode", SKIPPING)
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_damage_is_skipped_and_reported_as_by_the_python_reader(spark: SparkSession, mode: str, cut: dict[str, str], tmp_path: Path):
    for number, (how, border) in enumerate(DAMAGED[::9]):
        log = damaged_marker.case(tmp_path / str(number), how, border)
        isolation = "read_committed" if number % 2 else "read_uncommitted"
        ensure_equal(spark, log.directory, mode=mode, isolation=isolation, includeHeaders="true", **cut)


def test_a_place_that_several_tasks_share_is_reported_once(spark: SparkSession, tmp_path: Path):
    log = damaged_marker.case(tmp_path, "noise", "inside")
    for start in range(0, 12, 2):
        for cut in CUTS:
            ensure_equal(spark, log.directory, mode="PERMISSIVE", startingOffsets=json.dumps({"orders": {"0": start}}), **cut)


@pytest.mark.slow
@pytest.mark.parametrize("mode", SKIPPING)
def test_hostile_files_in_one_query(spark: SparkSession, mode: str, tmp_path: Path):
    """Bombs end early here: test_hostile.py has the limit of users."""
    for case in hostile.cases():
        path = tmp_path / f"{case.name}-0" / (f"{0:020}.kafka" if case.format == "0.7" else f"{0:020}.log")
        path.parent.mkdir()
        path.write_bytes(case.read())
    options = {"format": "v3", "unreadable": "skip", "limits.max_decompressed_bytes": str(32 << 20), "includeHeaders": "true"}
    python, columnar = both_readers.in_python(tmp_path, mode=mode, **options), both_readers.in_jvm(spark, tmp_path, mode=mode, **options)
    both_readers.ensure_equal(python, columnar)
    assert not isinstance(columnar, str)
    if mode == "PERMISSIVE":
        assert len(columnar) - columnar["_corrupt_record"].null_count > 200


def test_a_query_that_uses_fewer_columns_has_the_same_rows(spark: SparkSession, tmp_path: Path):
    log = damaged_marker.case(tmp_path, "noise", "inside")
    whole = both_readers.in_python(log.directory, mode="PERMISSIVE")
    assert not isinstance(whole, str)
    frame = both_readers.frame_of(spark, log.directory, mode="PERMISSIVE")
    assert frame.count() == len(whole)
    assert frame.select("_corrupt_record").toArrow().to_pylist() == whole.select(["_corrupt_record"]).to_pylist()
    assert frame.select("offset").toArrow().to_pylist() == whole.select(["offset"]).to_pylist()
    told = frame.where("_corrupt_record is not null").select("topic", "partition", "offset", "_corrupt_record").toArrow()
    assert told.to_pylist() == whole.filter(pc.field("_corrupt_record").is_valid()).select(told.column_names).to_pylist()
    assert len(told) > 0
    assert both_readers.frame_of(spark, log.directory, mode="DROPMALFORMED").count() == len(whole) - len(told)


def test_the_corrupt_column_has_the_name_and_the_place_that_the_schema_gives_it(spark: SparkSession, tmp_path: Path):
    log = damaged_marker.case(tmp_path, "checksum", "inside")
    for mode in ("FAILFAST", *SKIPPING):
        reader = spark.read.format("logsegment").schema("offset bigint, why string, value binary")
        options = {
            "mode": mode,
            "columnNameOfCorruptRecord": "why",
            "endingOffsets": json.dumps({"orders": {"0": 6 if mode == "FAILFAST" else -1}}),
        }
        found = [reader.options(**options, reader=name).load(str(log.directory)).toArrow().to_pylist() for name in ("python", "columnar")]
        assert found[0] == found[1]
        assert any(row["why"] for row in found[1]) == (mode == "PERMISSIVE")


@pytest.mark.parametrize("mode", ["FAILFAST", *SKIPPING])
def test_batches_that_cannot_be_read_here_are_left_out(spark: SparkSession, mode: str, tmp_path: Path):
    path = tmp_path / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join([building.simple_batch([b"a"]), building.simple_batch([b"b", b"c"], 1), building.simple_batch([b"d"], 3)]))
    limit = {"limits.max_records": "1"}
    found = both_readers.in_jvm(spark, path.parent, mode=mode, unreadable="skip", **limit)
    assert not isinstance(found, str)
    assert found["offset"].to_pylist() == ([0, 3, 1] if mode == "PERMISSIVE" else [0, 3])
    for unreadable in ("skip", "raise"):
        ensure_equal(spark, path.parent, mode=mode, unreadable=unreadable, **limit)


def test_internal_records_are_those_of_the_python_reader(spark: SparkSession):
    for name in ("__consumer_offsets", "__transaction_state"):
        for path in sorted((corpus.CORPUS / "modern-4.1.0").rglob(f"{name}-*"))[:3]:
            for mode in ("FAILFAST", "PERMISSIVE"):
                ensure_equal(spark, path, mode=mode, values="internal")


@pytest.fixture
def damaged_upload(tmp_path: Path) -> dict[str, str]:
    """An upload with a damaged chunk: the options of its read."""
    (log,) = tiered.Uploader(tmp_path, "payments", chunk_size=3000, key_id="key1").partition(CODEC_NONE)
    data = bytearray(log.read_bytes())
    data[3500] ^= 1
    log.write_bytes(data)
    for name, key in tiered.KEYS.items():
        (tmp_path / f"{name}.der").write_bytes(key)
    return {"path": str(tmp_path / "prefix"), "keys": json.dumps({name: str(tmp_path / f"{name}.der") for name in tiered.KEYS})}


@pytest.mark.parametrize("mode", ["FAILFAST", *SKIPPING])
@pytest.mark.parametrize("cut", CUTS[::2], ids=str)
def test_a_lost_chunk_is_the_error_or_the_finding_of_the_python_reader(
    spark: SparkSession, mode: str, cut: dict[str, str], damaged_upload: dict[str, str]
):
    """TS-45."""
    if mode == "FAILFAST":
        told = both_readers.in_jvm(spark, **damaged_upload, mode=mode)
        assert "logsegment.tiered.ChunkError: " in told
        cut = {}
    ensure_equal(spark, **damaged_upload, mode=mode, **cut)


def test_a_cut_object_and_a_damaged_manifest_are_those_of_the_python_reader(spark: SparkSession, tmp_path: Path):
    for number, mode in enumerate(("FAILFAST", *SKIPPING)):
        root = tmp_path / str(number)
        root.mkdir()
        (log,) = tiered.Uploader(root, "payments", chunk_size=3000).partition(CODEC_NONE)
        log.write_bytes(log.read_bytes()[:7000])
        ensure_equal(spark, root / "prefix", mode=mode)
        (manifest,) = log.parent.glob("*.rsm-manifest")
        manifest.write_text("{}")
        ensure_equal(spark, root / "prefix", mode=mode)


def test_a_file_that_is_gone_or_cut_leaves_its_records_out(spark: SparkSession, tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [list(range(100)), list(range(100, 200))], value_bytes=200)
    first, second = sorted((tmp_path / "orders-0").glob("*.log"))
    frame = both_readers.frame_of(spark, tmp_path, failOnDataLoss="false", minPartitions="4")
    execution = frame._jdf.queryExecution()
    assert execution.executedPlan().execute().getNumPartitions() == 4
    first.unlink()
    second.write_bytes(second.read_bytes()[:-400])
    assert 0 < execution.toRdd().count() < 100
    failing = both_readers.frame_of(spark, tmp_path)._jdf.queryExecution()
    assert failing.executedPlan().execute().getNumPartitions() == 1
    second.unlink()
    with pytest.raises(Exception, match="was deleted after the query was planned; set failOnDataLoss to false"):
        failing.toRdd().count()
