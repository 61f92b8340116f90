"""A prefix of tiered storage in a real Spark, as if it were a log directory."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, DataFrameReader, Row, SparkSession

import corpus
import logsegment as ls
import tiered_corpus as tiered
from logsegment.segment_files.discovery import find_segments

pytestmark = pytest.mark.spark
TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
COLUMNS = ["topic", "partition", "offset", "value"]


@pytest.fixture
def keys(tmp_path: Path) -> str:
    """The option: ids of keys and their files."""
    for name, key in tiered.KEYS.items():
        (tmp_path / f"{name}.der").write_bytes(key)
    return json.dumps({name: str(tmp_path / f"{name}.der") for name in tiered.KEYS})


def test_every_mode_in_one_query(spark: SparkSession, keys: str, capsys: pytest.CaptureFixture[str]):
    frame = spark.read.format("logsegment").option("keys", keys).load(str(tiered.BUCKET))
    counts = {row["partition"]: row["count"] for row in frame.groupBy("partition").count().collect()}
    assert counts == dict.fromkeys(range(1, 14), 200)
    given = json.loads(keys)
    frame.explain("extended")
    shown = [frame._jdf.queryExecution().toString(), capsys.readouterr().out, repr(frame)]
    assert not [text for text in shown if tiered.leaks(text, given) or ".der" in text]
    assert all("logsegment" in text for text in shown[:2]), "the source is in the plan"
    assert tiered.leaks(f"{shown[0]} {find_segments(tiered.uploaded(tiered.BUCKET, given))[0].path[:]}", given) == [*given], (
        "as it would be seen"
    )


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_rows_are_those_of_the_log_directory(spark: SparkSession, keys: str, isolation: str, tmp_path: Path):
    tiered.Uploader(tmp_path, "payments", chunk_size=3000, compresses=True, key_id="key1").partition(TRANSACTIONS)
    options = {"keys": keys, "isolation": isolation, "minPartitions": "12", "startingOffsets": '{"payments":{"0":7}}'}
    frame = spark.read.format("logsegment").options(**options).load(str(tmp_path / "prefix"))
    found = [tuple(row) for row in frame.select(*COLUMNS).orderBy("offset").collect()]
    here = ls.Log(TRANSACTIONS).records(columns=["offset", "value"], isolation=isolation, start_offset=7).read_all().to_pylist()
    assert found == [("payments", 0, row["offset"], row["value"]) for row in here]
    assert len(here) > 20


def test_a_missing_key_and_damage_are_one_readable_message(spark: SparkSession, keys: str, tmp_path: Path):
    source = spark.read.format("logsegment")
    with pytest.raises((PythonException, AnalysisException), match="is encrypted under the key 'key1': no keys were given"):
        source.load(str(tiered.folder("zstdenc"))).collect()
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", base64.b64encode(tiered.KEYS["key1"]).decode(), "-----END PRIVATE KEY-----"])
    for wrong in ("key1=secret", '["key1-secret"]', json.dumps({"key1": pem}), json.dumps({"key1": pem.splitlines()[1]}), pem):
        with pytest.raises(AnalysisException, match="option keys must be JSON like") as raised:
            source.option("keys", wrong).load(str(tiered.BUCKET))
        assert not tiered.leaks(str(raised.value))
        assert "secret" not in str(raised.value).replace("/secrets/key1.pem", "")
    assert tiered.leaks(pem) == ["key1"], "as it would be seen"
    log = damaged_upload(tmp_path)
    frame = spark.read.format("logsegment").option("keys", keys).load(str(tmp_path / "prefix"))
    with pytest.raises(PythonException, match=r"chunk 1 .*bytes 3000 to 5999"):
        frame.collect()
    view = spark.read.format("logsegment").option("keys", keys).option("view", "findings").load(str(tmp_path / "prefix"))
    (found,) = view.where("rule = 'TS-45'").collect()
    (first, *_) = lost_batches()
    assert (found["path"], found["position"], found["topic"], found["severity"]) == (str(log), first["position"], "payments", "error")


CODEC_NONE = corpus.CORPUS / "modern-4.1.0/data/codec-none-0"


def damaged_upload(root: Path) -> Path:
    """The chunk of the bytes from 3000 to 5999 is damaged."""
    (log,) = tiered.Uploader(root, "payments", chunk_size=3000, key_id="key1").partition(CODEC_NONE)
    data = bytearray(log.read_bytes())
    data[3500] ^= 1
    log.write_bytes(data)
    return log


def lost_batches() -> list[dict[str, Any]]:
    rows = ls.batches(ls.FileSource(CODEC_NONE / f"{0:020}.log")).to_pylist()
    return [row for row in rows if row["position"] < 6000 and row["position"] + row["size"] > 3000]


def test_modes_at_a_damaged_chunk_are_those_at_damage_of_a_file(spark: SparkSession, keys: str, tmp_path: Path):
    """TS-45: FAILFAST reads what does not want the chunk, the other modes leave out no more than it held."""
    damaged_upload(tmp_path)
    lost = lost_batches()
    first, behind = lost[0]["baseOffset"], lost[-1]["lastOffset"] + 1
    everything = [row["offset"] for row in ls.Log(CODEC_NONE).records(columns=["offset"]).read_all().to_pylist()]
    assert everything[0] < first < behind < everything[-1]

    def load(**options: str) -> DataFrame:
        return spark.read.format("logsegment").options(keys=keys, **options).load(str(tmp_path / "prefix"))

    def offsets(frame: DataFrame) -> list[int]:
        return sorted(row["offset"] for row in frame.select("offset").collect())

    assert offsets(load(startingOffsets=json.dumps({"payments": {"0": behind}}))) == [item for item in everything if item >= behind]
    assert offsets(load(endingOffsets=json.dumps({"payments": {"0": first}}))) == [item for item in everything if item < first]
    with pytest.raises(PythonException, match=r"chunk 1 \(bytes 3000 to 5999"):
        load(startingOffsets=json.dumps({"payments": {"0": behind - 1}})).collect()
    kept = [item for item in everything if not first <= item < behind]
    assert offsets(load(mode="DROPMALFORMED")) == kept
    assert offsets(load(mode="DROPMALFORMED", maxRecordsPerPartition="20")) == kept
    for cut in ({}, {"maxRecordsPerPartition": "20"}):
        rows = load(mode="PERMISSIVE", **cut).select("offset", "_corrupt_record").collect()
        assert sorted(row["offset"] for row in rows if row["_corrupt_record"] is None) == kept
        (found,) = (json.loads(row["_corrupt_record"]) for row in rows if row["_corrupt_record"] is not None)
        assert (found["rule"], found["baseOffset"], found["lastOffset"]) == ("TS-45", first, behind - 1)


def test_a_damaged_manifest_and_a_gap_are_reported(spark: SparkSession, tmp_path: Path):
    """FAILFAST fails at what cannot be read; a gap that an unfinished upload leaves is a warning of the plan; the view tells both."""
    paths = tiered.Uploader(tmp_path, "payments").partition(TRANSACTIONS)
    bases = [int(path.name[:20]) for path in paths]
    paths[1].with_suffix(".rsm-manifest").unlink()
    place = str(tmp_path / "prefix")
    source = spark.read.format("logsegment")
    with pytest.warns(UserWarning, match=rf"segments are skipped: .*offsets {bases[1]} to {bases[2] - 1} are missing"):
        offsets = [row["offset"] for row in plan(source, place)]
    assert offsets == [
        row["offset"]
        for row in ls.Log(TRANSACTIONS).records(columns=["offset"]).read_all().to_pylist()
        if not bases[1] <= row["offset"] < bases[2]
    ]
    headers = spark.read.format("logsegment").option("view", "batches")
    with pytest.warns(UserWarning, match=rf"segments are skipped: .*offsets {bases[1]} to {bases[2] - 1} are missing"):
        assert plan(headers, place, view="batches")
    manifest = paths[3].with_suffix(".rsm-manifest")
    manifest.write_text("{")
    with pytest.raises(PythonException, match=r"rsm-manifest: the manifest is not JSON"):
        source.load(place).collect()
    few = source.option("endingOffsets", json.dumps({"payments": {"0": bases[3]}})).load(place)
    assert {row["offset"] for row in few.collect()} == {offset for offset in offsets if offset < bases[3]}
    rest = spark.read.format("logsegment").option("mode", "DROPMALFORMED").load(place)
    assert {row["offset"] for row in rest.collect()} == {offset for offset in offsets if not bases[3] <= offset < bases[4]}
    view = spark.read.format("logsegment").option("view", "findings").load(place)
    found = {(row["rule"], row["severity"], row["path"], row["baseOffset"]) for row in view.where("rule LIKE 'TS-%'").collect()}
    assert found == {("TS-8", "warning", str(paths[1]), bases[1]), ("TS-10", "error", str(manifest), bases[3])}


def plan(source: DataFrameReader, place: str, **options: str) -> list[Row]:
    """The rows, read here: a warning of Spark's planner does not reach this process."""
    from logsegment.spark.source import LogSegmentSource

    reader = LogSegmentSource({"path": place, **options}).reader(source.load(place).schema)
    return [Row(**row) for task in reader.partitions() for rows in reader.read(task) for row in rows.to_pylist()]
