"""Uploads of one partition that overlap, or cannot be read: each offset is read once, and nothing is missed in silence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import object_store
import tiered_corpus as tiered
from cli_process import run
from logsegment._core import ManifestError
from logsegment.partition.transactions import transactions_of
from logsegment.segment_files.discovery import find_segments
from tiered_leaders import resegmented, upload, whole_bytes

DATA = corpus.CORPUS / "modern-4.1.0/data"
TRANSACTIONS = DATA / "transactions-multi-segment-0"
COLUMNS = ["offset", "value", "timestampMs", "producerId", "isControl"]


def rows(log: ls.Log, **options: Any) -> list[dict[str, Any]]:
    return log.records(columns=COLUMNS, control=True, **options).read_all().to_pylist()


@pytest.fixture(params=[(False, None), (True, "key1")], ids=["plain", "zstdenc"])
def overlapping(request: pytest.FixtureRequest, replicas: tuple[Path, Path], tmp_path: Path) -> Path:
    """The first leader uploaded three segments, the second one all of its own from the second on."""
    compresses, key_id = request.param
    uploader = tiered.Uploader(tmp_path, chunk_size=700, compresses=compresses, key_id=key_id)
    upload(uploader, replicas[0], "first", 1, most=3)
    upload(uploader, replicas[1], "second", 2, skip=1)
    return tmp_path / "prefix"


def test_each_offset_is_read_once(overlapping: Path):
    """TS-44: a segment ends where the next leader's begins; all verbs see it so."""
    here, there = ls.Log(TRANSACTIONS), ls.Log(overlapping, decryption_keys=tiered.KEYS)
    whole = rows(here)
    assert rows(there) == whole
    for asked in (
        {"start_offset": 13, "end_offset": 40},
        {"isolation": "read_committed"},
        {"isolation": "read_committed", "start_offset": 17},
    ):
        assert rows(there, **asked) == rows(here, **asked)
    ranges = [(segment.base_offset, segment.batches().to_pylist()[-1]["lastOffset"]) for segment in there]
    assert all(item[1] < other[0] for item, other in pairwise(ranges))
    for row in whole[:: len(whole) // 7]:
        assert there.offset_for_timestamp(row["timestampMs"]) == here.offset_for_timestamp(row["timestampMs"])
    assert sorted(there.aborted_transactions)[0][:3] == sorted(here.aborted_transactions)[0][:3]
    assert {transaction[:3] for transaction in there.aborted_transactions} == {transaction[:3] for transaction in here.aborted_transactions}
    assert [result.to_dict() for result in transactions_of(find_segments(there.paths[0]))] == [
        result.to_dict() for result in transactions_of(find_segments(TRANSACTIONS))
    ]
    report = there.validate()
    assert [finding for finding in report.findings if finding.severity != "info"] == []
    assert {finding.rule for finding in report.findings} >= {"TS-44"}


def test_the_overlap_is_reported(overlapping: Path):
    log = ls.Log(overlapping, decryption_keys=tiered.KEYS)
    states = {upload.path: upload for upload in ls.tiered.uploads(overlapping, decryption_keys=tiered.KEYS)}
    cut = [upload for upload in states.values() if upload.last_read is not None]
    assert cut
    for partition in cut:
        assert partition.state == "finished"
        assert partition.base_offset <= partition.last_read < partition.end_offset
        (found,) = [finding for finding in log.left_out if finding.path == f"{partition.path}@0"]
        assert (found.rule, found.severity, found.base_offset, found.last_offset) == (
            "TS-44",
            "info",
            partition.last_read + 1,
            partition.end_offset,
        )
        assert f"not read from offset {partition.last_read + 1} on" in found.message
    assert {finding.path for finding in log.left_out} == {f"{state.path}@0" for state in states.values() if state.reason}
    assert not [segment for segment in log if "-before-" in f"{segment.path} {segment!r}"], "paths are shown as those of the objects"
    assert all(Path(str(segment.path)).exists() for segment in log)
    assert log.records(columns=[]).findings == []


def test_the_command_line_and_restore_see_the_same(overlapping: Path, replicas: tuple[Path, Path], tmp_path: Path):
    (tmp_path / "key1.der").write_bytes(tiered.KEYS["key1"])
    keys = ("--key-file", f"key1={tmp_path / 'key1.der'}")
    whole = rows(ls.Log(TRANSACTIONS))
    assert [line["offset"] for line in run("cat", overlapping, "--columns", "offset", *keys).lines] == [
        row["offset"] for row in whole if not row["isControl"]
    ]
    done = run("verify", overlapping, "--json", *keys)
    assert done.code == 0, done.err
    assert "TS-44" in {line["rule"] for line in done.lines if line["type"] == "finding"}
    done = run("restore", overlapping, tmp_path / "restored", *keys)
    assert done.code == 0, done.err
    assert "not read from offset" in done.err
    restored = ls.Log(tmp_path / "restored")
    assert rows(restored) == whole
    assert restored.validate().ok
    assert not [
        finding for finding in restored.validate().findings if finding.rule.startswith(("IDX", "SEG")) and finding.severity != "info"
    ]
    assert whole_bytes(restored) == whole_bytes(ls.Log(replicas[1]))


def test_what_the_latest_leader_cut_off_is_not_read(replicas: tuple[Path, Path], tmp_path: Path):
    """TS-44: after an unclean election the older leader's upload ends where the new term begins."""
    second = replicas[1]
    uploader = tiered.Uploader(tmp_path)
    log = ls.Log(second)
    term = list(log.leader_epochs)[1].start_offset
    # The older leader wrote other records from there on.
    whole = Path(ls.Log(resegmented(TRANSACTIONS, tmp_path / "whole/orders-0"))[0].path)
    lost = uploader.segment(whole, 10_000, epochs={"0": 0}, event=9, name="older")
    behind = [at for at, segment in enumerate(log) if segment.base_offset > 0]
    border = next(segment.base_offset for segment in log if segment.base_offset >= term)
    upload(uploader, second, "second", 2, skip=behind[[log[at].base_offset for at in behind].index(border)])
    found = {upload.path: upload for upload in ls.tiered.uploads(tmp_path / "prefix")}
    assert found[str(lost)].last_read == term - 1
    read = ls.Log(tmp_path / "prefix")
    offsets = [row["offset"] for row in rows(read)]
    assert offsets == [row["offset"] for row in rows(ls.Log(TRANSACTIONS)) if row["offset"] < term or row["offset"] >= border]


def test_uploads_of_local_tiered_storage_that_overlap(replicas: tuple[Path, Path], tmp_path: Path):
    """TS-60 to TS-62: no manifest tells their ends and leaders, but logs and checkpoints do."""
    place = tmp_path / f"kafka-tiered-storage/orders-0-{tiered.TOPIC_ID}"
    place.mkdir(parents=True)
    for directory, letter, kept in ((replicas[0], "A", slice(0, 3)), (replicas[1], "B", slice(1, None))):
        log = ls.Log(directory)
        behind = [*[segment.base_offset for segment in log][1:], 1 << 60]
        for segment, end in list(zip(log, behind, strict=True))[kept]:
            stem = f"{segment.base_offset:020d}-{letter * 21}A"
            for suffix in ("log", "index", "timeindex", "txnindex"):
                source = Path(segment.path).with_suffix(f".{suffix}")
                if source.exists():
                    shutil.copyfile(source, place / f"{stem}.{suffix}")
            epochs = [epoch for epoch in log.leader_epochs if epoch.start_offset < end]
            lines = [f"{epoch.epoch} {epoch.start_offset}" for epoch in epochs]
            (place / f"{stem}.leader_epoch_checkpoint").write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    there = ls.Log(tmp_path)
    assert rows(there) == rows(ls.Log(TRANSACTIONS))
    assert [upload.last_read is not None for upload in ls.tiered.uploads(tmp_path)].count(True) >= 2
    assert there.validate().ok


@pytest.fixture
def damaged(tmp_path: Path) -> list[Path]:
    """Six uploads; the manifest of the third is none."""
    paths = tiered.Uploader(tmp_path, "payments", key_id="key1", chunk_size=900).partition(TRANSACTIONS)
    paths[2].with_suffix(".rsm-manifest").write_text('{"version":"2"}')
    return paths


def test_a_damaged_manifest_closes_its_own_segment_alone(damaged: list[Path]):
    bases = [int(path.name[:20]) for path in damaged]
    log = ls.Log(damaged[0].parents[2], decryption_keys=tiered.KEYS)
    here = ls.Log(TRANSACTIONS)
    assert log.partitions == [("payments", 0)]
    assert [segment.base_offset for segment in log] == bases
    assert rows(log, end_offset=bases[2]) == rows(here, end_offset=bases[2])
    assert rows(log, start_offset=bases[3]) == rows(here, start_offset=bases[3])
    for asked in ({}, {"start_offset": bases[2]}, {"start_offset": bases[1], "end_offset": bases[2] + 1}):
        with pytest.raises(ManifestError, match=r'rsm-manifest: the manifest must be of version "1"'):
            rows(log, **asked)
    with pytest.raises(ManifestError):
        log.batches()


def test_what_a_damaged_manifest_hides_is_a_finding_for_who_goes_on(damaged: list[Path]):
    bases = [int(path.name[:20]) for path in damaged]
    log = ls.Log(damaged[0].parents[2], decryption_keys=tiered.KEYS)
    stream = log.records(columns=COLUMNS, control=True, on_error="skip")
    assert stream.read_all().to_pylist() == [row for row in rows(ls.Log(TRANSACTIONS)) if not bases[2] <= row["offset"] < bases[3]]
    expected = ("TS-10", "error", bases[2], bases[3] - 1, f"{damaged[2].with_suffix('.rsm-manifest')}@0")
    told = [
        (finding.rule, finding.severity, finding.base_offset, finding.last_offset, finding.path)
        for finding in stream.findings
        if finding.severity == "error"
    ]
    assert told == [expected]
    report = log.validate()
    assert [
        (finding.rule, finding.severity, finding.base_offset, finding.last_offset, finding.path)
        for finding in report.findings
        if finding.severity == "error"
    ] == told
    assert not report.ok
    committed = log.records(columns=["offset"], isolation="read_committed", on_error="skip")
    offsets = {row["offset"] for row in committed.read_all().to_pylist()}
    assert offsets
    assert offsets < {row["offset"] for row in rows(ls.Log(TRANSACTIONS))}
    with pytest.raises(ManifestError):
        ls.restore(damaged[0].parents[2], damaged[0].parents[3] / "restored", decryption_keys=tiered.KEYS)


def read(stream: ls.RecordStream) -> tuple[list[int], ls.RecordBatchError | None]:
    """The offsets that a stream gives, and the error that ends it."""
    given: list[int] = []
    try:
        for batch in stream:
            given += batch.to_pyarrow().column("offset").to_pylist()
    except ls.RecordBatchError as error:
        return given, error
    return given, None


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("has_snapshots", [True, False], ids=["snapshots", "no snapshots"])
def test_a_committed_read_gives_what_a_damaged_manifest_leaves_decided(has_snapshots: bool, number: int, tmp_path: Path):
    """As of a segment with damaged chunks: what is open there is in doubt, and nothing else."""
    source = shutil.copytree(TRANSACTIONS, tmp_path / "payments-0")
    for snapshot in [] if has_snapshots else source.glob("*.snapshot"):
        snapshot.unlink()
    paths = tiered.Uploader(tmp_path, "payments").partition(source)
    manifest = paths[number].with_suffix(".rsm-manifest")
    manifest.write_text("{")
    expected, _ = read(ls.Log(TRANSACTIONS).records(columns=["offset"], isolation="read_committed"))
    first, behind = int(paths[number].name[:20]), [int(path.name[:20]) for path in paths[number + 1 :]][:1]
    assert len(paths) == 6
    log = ls.Log(tmp_path / "prefix")
    for asked in ({}, {"end_offset": first}, {"start_offset": behind[0]} if behind else {}, {"on_error": "skip"}):
        given, error = read(log.records(columns=["offset"], isolation="read_committed", **asked))
        assert asked or error is not None, "the damage is told"
        assert error is None or error.rule == "TRX-5" or manifest.name in str(error), asked
        assert set(given) <= set(expected), "nothing that was aborted"
        if "start_offset" not in asked and "on_error" not in asked:
            assert given == expected[: len(given)], asked
        assert given or number < 3, asked
        offsets = f"{asked.get('start_offset', 0)}..{asked.get('end_offset', '')}"
        options = ["--isolation", "read_committed", "--columns", "offset", "--on-error", asked.get("on_error", "raise")]
        done = run("cat", tmp_path / "prefix", "--offset", offsets, *options)
        assert [line["offset"] for line in done.lines] == given, asked
    done = run("cat", tmp_path / "prefix", "--isolation", "read_committed")
    assert (done.code, "TRX-5" in done.err or manifest.name in done.err) == (1, True)


def test_verbs_report_a_damaged_manifest(damaged: list[Path], tmp_path: Path):
    (tmp_path / "key1.der").write_bytes(tiered.KEYS["key1"])
    keys = ("--key-file", f"key1={tmp_path / 'key1.der'}")
    place = damaged[0].parents[2]
    done = run("verify", place, "--json", *keys)
    assert done.code == 1, done.err
    (finding,) = [line for line in done.lines if line["type"] == "finding" and line["severity"] == "error"]
    assert (finding["rule"], finding["baseOffset"]) == ("TS-10", int(damaged[2].name[:20]))
    assert {line["state"] for line in done.lines if line["type"] == "summary" and "payments" in line["file"]} >= {"damaged", "clean"}
    text = run("verify", place, *keys).text
    assert "DAMAGED" in text
    assert "the manifest must be of version" in text
    assert "Is this a log segment?" not in text
    done = run("cat", place, "--columns", "offset", *keys)
    assert (done.code, [line["offset"] for line in done.lines][-1] < int(damaged[2].name[:20])) == (1, True)
    assert "the manifest must be of version" in done.err
    done = run("cat", place, "--columns", "offset", "--on-error", "skip", *keys)
    assert done.code == 1
    assert done.err.count("the manifest must be of version") == 1
    assert done.lines[-1]["offset"] > int(damaged[3].name[:20])
    committed = (
        ls.Log(place, decryption_keys=tiered.KEYS).records(columns=["offset"], isolation="read_committed", on_error="skip").read_all()
    )
    done = run("cat", place, "--columns", "offset", "--on-error", "skip", "--isolation", "read_committed", *keys)
    assert (done.code, done.lines) == (1, committed.to_pylist()), done.err
    assert done.lines
    for verb in ("batches", "stats", "txn", "find"):
        options = ("--offset", "0..") if verb == "find" else ()
        done = run(verb, place, *options, *keys)
        assert done.code != 0, verb
        assert "the manifest must be of version" in done.err + done.text, verb
        assert "Traceback" not in done.err, verb


def test_a_damaged_manifest_next_to_a_valid_upload_of_the_same_offsets(tmp_path: Path):
    """Nothing is missed: it is told, and the log is whole."""
    uploader = tiered.Uploader(tmp_path, "payments")
    paths = uploader.partition(TRANSACTIONS)
    again = uploader.segment(Path(ls.Log(TRANSACTIONS)[2].path), int(paths[3].name[:20]) - 1, event=3, name="again")
    again.with_suffix(".rsm-manifest").write_text("{")
    log = ls.Log(tmp_path)
    assert rows(log) == rows(ls.Log(TRANSACTIONS))
    assert [(finding.rule, finding.severity, finding.path) for finding in log.left_out] == [
        ("TS-10", "warning", f"{again.with_suffix('.rsm-manifest')}@0")
    ]
    assert log.validate().ok
    assert run("verify", tmp_path / "prefix", "--fail-on", "warning").code == 1


def test_an_object_that_is_longer_than_its_manifest_says_closes_its_own_segment(tmp_path: Path):
    """TS-18."""
    paths = tiered.Uploader(tmp_path, "payments").partition(TRANSACTIONS)
    paths[0].write_bytes(paths[0].read_bytes() + b"more")
    log = ls.Log(tmp_path)
    assert rows(log, start_offset=int(paths[1].name[:20]))
    with pytest.raises(ManifestError, match="do not belong together"):
        rows(log)
    assert [(finding.rule, finding.severity) for finding in log.validate().findings if finding.rule.startswith("TS")] == [
        ("TS-18", "error")
    ]


def test_a_partition_of_many_segments_is_listed_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_bucket: Callable[[Path], None]
):
    """Each file that a verb asks for is found in a listing that was made for the one before."""
    as_bucket(tmp_path)
    source = next(DATA.glob("codec-none-0/*.log"))
    uploader = tiered.Uploader(tmp_path)
    data = source.read_bytes()
    batches = ls.batches(data).to_pylist()
    cut = tmp_path / "cut/orders-0"
    cut.mkdir(parents=True)
    for row in batches:
        (cut / f"{row['baseOffset']:020d}.log").write_bytes(data[row["position"] : row["position"] + row["size"]])
    from logsegment import _core

    _core.rebuild_indexes([(path, int(path.name[:20])) for path in sorted(cut.glob("*.log"))], cut)
    uploader.partition(cut)
    listings = []
    answer = object_store.Handler._listing
    monkeypatch.setattr(object_store.Handler, "_listing", lambda self, bucket: listings.append(self.path) or answer(self, bucket))
    log = ls.Log("s3://bucket/prefix", decryption_keys={})
    assert log.validate().ok
    assert [item.producer_snapshot for item in log]
    assert list(log.aborted_transactions) == []
    assert len(log) == len(batches) > 10
    assert 0 < len(listings) < len(log)


@pytest.mark.spark
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_spark_reads_each_offset_once(overlapping: Path, isolation: str, tmp_path: Path):
    from spark_session import spark_session

    (tmp_path / "key1.der").write_bytes(tiered.KEYS["key1"])
    options = {"keys": json.dumps({"key1": str(tmp_path / "key1.der")}), "isolation": isolation, "minPartitions": "9"}
    read = spark_session().read.format("logsegment").options(**options)
    found = sorted((row["offset"], row["value"]) for row in read.load(str(overlapping)).select("offset", "value").collect())
    whole = ls.Log(TRANSACTIONS).records(columns=["offset", "value"], isolation=isolation).read_all().to_pylist()
    assert found == [(row["offset"], row["value"]) for row in whole]
    keys = {"keys": options["keys"], "view": "findings"}
    view = spark_session().read.format("logsegment").options(**keys).load(str(overlapping))
    told = {(row["path"], row["baseOffset"]) for row in view.where("rule = 'TS-44'").collect()}
    log = ls.Log(overlapping, decryption_keys=tiered.KEYS)
    assert told == {(finding.path.rpartition("@")[0], finding.base_offset) for finding in log.left_out}
    assert len(told) >= 2
