"""Indexes of uploads that cannot be opened (TS-37): reads are right without them, verify tells them, restore makes them from the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment._options import ReadOptions
from logsegment._validate import SegmentContext, validate_segment
from logsegment.segment_files.discovery import find_segments
from logsegment.tiered import ChunkError
from tiered_leaders import two_leaders, upload

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
#: Members of a manifest, and the files of the second segment that they are: it begins at offset 20, the next one at 43.
FILES = {
    "offset": "00000000000000000020.index",
    "timestamp": "00000000000000000020.timeindex",
    "producerSnapshot": "00000000000000000043.snapshot",
    "transaction": "00000000000000000020.txnindex",
}


@pytest.fixture
def uploader(tmp_path: Path) -> tiered.Uploader:
    return tiered.Uploader(tmp_path, "payments", compresses=True, key_id="key1")


def damage(log: Path, *members: str) -> Path:
    """Flip a byte of parts of the indexes of an upload."""
    indexes = log.with_suffix(".indexes")
    data = bytearray(indexes.read_bytes())
    parts = json.loads(log.with_suffix(".rsm-manifest").read_text())["segmentIndexes"]
    for member in members:
        assert parts[member]["size"]
        data[parts[member]["position"] + 14] ^= 1
    indexes.write_bytes(data)
    return indexes


def names_of(told: list[str]) -> list[str]:
    return [segment.partition(": ")[0] for segment in told]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def rows(log: ls.Log, **options: Any) -> list[dict[str, Any]]:
    return log.records(columns=["offset", "value", "producerId"], control=True, **options).read_all().to_pylist()


def told(report: ls.Report) -> list[tuple[str, str, str]]:
    return [(finding.rule, finding.severity, finding.path) for finding in report.findings]


def at(indexes: Path, member: str) -> str:
    parts = json.loads(indexes.with_suffix(".rsm-manifest").read_text())["segmentIndexes"]
    return f"{indexes}@{parts[member]['position']}"


@pytest.mark.parametrize("member", FILES)
def test_one_of_them(member: str, uploader: tiered.Uploader, tmp_path: Path):
    paths = uploader.partition(TRANSACTIONS)
    uploader.partition(corpus.CORPUS / "modern-4.1.0/data/codec-none-0", 1)
    ls.restore(uploader.prefix, tmp_path / "whole", decryption_keys=tiered.KEYS)
    indexes = damage(paths[1], member)
    log = ls.Log(uploader.folder(), decryption_keys=tiered.KEYS)
    expected = [("TS-37", "warning", at(indexes, member))]
    assert told(log.validate()) == told(log[1].validate()) == expected
    file = find_segments(log[1].path)[0]
    assert told(validate_segment(file, "full", ReadOptions(), SegmentContext(reports_shared=False))) == expected, "the view of Spark"
    for isolation in ("read_uncommitted", "read_committed"):
        assert rows(log, isolation=isolation) == rows(ls.Log(TRANSACTIONS), isolation=isolation)

    done = ls.restore(uploader.prefix, tmp_path / "restored", decryption_keys=tiered.KEYS)
    assert (names_of(done.made_anew), done.missing) == ([f"payments-0/{FILES[member]}"], [])
    assert f"the {member} index is lost" in done.made_anew[0]
    whole, restored = contents(tmp_path / "whole/payments-0"), contents(tmp_path / "restored/payments-0")
    assert whole.keys() == restored.keys()
    assert {name for name in whole if whole[name] != restored[name]} <= {FILES[member]}
    assert contents(tmp_path / "whole/payments-1") == contents(tmp_path / "restored/payments-1")
    assert done.bytes == sum(path.stat().st_size for path in (tmp_path / "restored").rglob("*") if path.is_file())
    report = ls.Log(tmp_path / "restored/payments-0").validate()
    assert [finding for finding in report.findings if finding.severity != "info"] == []
    assert rows(ls.Log(tmp_path / "restored/payments-0"), isolation="read_committed") == rows(log, isolation="read_committed")


def test_all_of_all_segments(uploader: tiered.Uploader, tmp_path: Path):
    """Also the checkpoint, which is that of the last one; the logs are what was uploaded."""
    for path in uploader.partition(TRANSACTIONS):
        parts = json.loads(path.with_suffix(".rsm-manifest").read_text())["segmentIndexes"]
        damage(path, *(member for member, part in parts.items() if part and part["size"]))
    log = ls.Log(uploader.folder(), decryption_keys=tiered.KEYS)
    assert {item[:2] for item in told(log.validate())} == {("TS-37", "warning")}
    done = ls.restore(uploader.prefix, tmp_path / "restored", decryption_keys=tiered.KEYS)
    assert done.missing == []
    restored = contents(tmp_path / "restored/payments-0")
    assert {name for name in restored if not name.endswith((".log", ".metadata"))} >= {
        segment.partition("/")[2] for segment in names_of(done.made_anew)
    }
    assert "payments-0/leader-epoch-checkpoint" in names_of(done.made_anew)
    assert restored["leader-epoch-checkpoint"] == (TRANSACTIONS / "leader-epoch-checkpoint").read_bytes()
    logs = {name: data for name, data in contents(TRANSACTIONS).items() if name.endswith(".log")}
    assert {name: restored[name] for name in logs} == logs
    assert [finding for finding in ls.Log(tmp_path / "restored").validate().findings if finding.severity != "info"] == []


def test_an_object_that_is_cut_needs_no_keys_to_be_noticed(tmp_path: Path):
    uploader = tiered.Uploader(tmp_path, "payments")
    indexes = uploader.partition(TRANSACTIONS)[1].with_suffix(".indexes")
    indexes.write_bytes(indexes.read_bytes()[:-1])
    (found,) = ls.Log(uploader.folder()).validate().findings
    assert (found.rule, "the object ends before its end" in found.message) == ("TS-37", True)
    done = ls.restore(uploader.prefix, tmp_path / "restored")
    assert names_of(done.made_anew) == ["payments-0/00000000000000000020.txnindex"]


def test_in_front_of_a_gap_the_snapshot_is_made_all_the_same(uploader: tiered.Uploader, tmp_path: Path):
    paths = uploader.partition(TRANSACTIONS)
    damage(paths[1], "producerSnapshot")
    for path in (paths[2], paths[2].with_suffix(".indexes"), paths[2].with_suffix(".rsm-manifest")):
        path.unlink()
    done = ls.restore(uploader.prefix, tmp_path / "restored", decryption_keys=tiered.KEYS)
    assert (names_of(done.made_anew), done.missing) == ([f"payments-0/{FILES['producerSnapshot']}"], [])
    assert ls.Log(tmp_path / "restored").validate().ok


def test_of_an_upload_that_is_not_read_to_its_end(tmp_path: Path):
    """Its files end with its log, made anew or not."""
    replicas = two_leaders(tmp_path / "replicas", TRANSACTIONS)
    uploader = tiered.Uploader(tmp_path, chunk_size=700, key_id="key1")
    upload(uploader, replicas[0], "first", 1, most=3)
    upload(uploader, replicas[1], "second", 2, skip=1)
    cut = [Path(upload.path) for upload in ls.tiered.uploads(uploader.prefix, decryption_keys=tiered.KEYS) if upload.last_read is not None]
    damage(cut[0], "timestamp")
    done = ls.restore(uploader.prefix, tmp_path / "restored", decryption_keys=tiered.KEYS)
    base = cut[0].name[:20]
    assert names_of(done.made_anew) == [f"orders-0/{base}.timeindex"]
    log = ls.Log(tmp_path / "restored")
    assert [finding for finding in log.validate().findings if finding.severity != "info"] == []
    assert rows(log) == rows(ls.Log(TRANSACTIONS))


def test_of_a_log_that_was_damaged_when_it_was_uploaded(uploader: tiered.Uploader, tmp_path: Path):
    """Nobody can tell what its index would say. The log is what was uploaded, and the rest is there."""
    source = TRANSACTIONS / "00000000000000000020.log"
    data = bytearray(source.read_bytes())
    data[8] ^= 0x55
    paths = uploader.partition(TRANSACTIONS)
    stored = uploader.segment(source, 42, data=bytes(data))
    assert stored == paths[1]
    damage(stored, "offset")
    damage(paths[0], "offset")
    with pytest.raises(ls.LimitError, match=r"020-.*\.log: \[COD-6\] at byte 0, field "):
        ls.restore(uploader.prefix, tmp_path / "restored", decryption_keys=tiered.KEYS)
    assert not (tmp_path / "restored").exists()
    done = ls.restore(uploader.prefix, tmp_path / "restored", decryption_keys=tiered.KEYS, on_error="skip")
    assert names_of(done.damaged) == [str(stored)]
    assert names_of(done.made_anew) == [f"payments-0/{paths[0].name[:20]}.index"]
    assert names_of(done.missing) == ["payments-0/00000000000000000020.index"]
    assert "the uploaded log is damaged: 00000000000000000020.log: [" in done.missing[0]
    assert (tmp_path / "restored/payments-0/00000000000000000020.log").read_bytes() == data


def test_a_chunk_of_a_log_still_ends_it(uploader: tiered.Uploader, tmp_path: Path):
    paths = uploader.partition(TRANSACTIONS)
    damage(paths[1], "offset")
    data = bytearray(paths[2].read_bytes())
    data[20] ^= 1
    paths[2].write_bytes(data)
    with pytest.raises(ChunkError, match="chunk 0"):
        ls.restore(uploader.prefix, tmp_path / "restored", decryption_keys=tiered.KEYS)
    assert not (tmp_path / "restored").exists()


def test_the_command_line(uploader: tiered.Uploader, tmp_path: Path):
    (tmp_path / "key1.der").write_bytes(tiered.KEYS["key1"])
    keys = ("--key-file", f"key1={tmp_path / 'key1.der'}")
    indexes = damage(uploader.partition(TRANSACTIONS)[1], "offset")
    done = run("verify", uploader.prefix, *keys)
    assert (done.code, done.text.count("TS-37"), done.text.count("IDX-1")) == (0, 1, 0)
    assert indexes.name in done.text
    assert run("verify", uploader.prefix, "--fail-on", "warning", *keys).code == 1
    done = run("verify", uploader.prefix, "--json", *keys)
    assert [(line["rule"], line["severity"]) for line in done.lines if line["type"] == "finding"] == [("TS-37", "warning")]
    done = run("restore", uploader.prefix, tmp_path / "restored", *keys)
    assert (done.code, (tmp_path / "restored/payments-0").is_dir()) == (3, True)
    assert done.err.count("rebuilt from the log: payments-0/00000000000000000020.index: ") == 1


@pytest.mark.spark
def test_the_view_of_spark(uploader: tiered.Uploader, tmp_path: Path):
    from spark_session import spark_session

    (tmp_path / "key1.der").write_bytes(tiered.KEYS["key1"])
    indexes = damage(uploader.partition(TRANSACTIONS)[1], "offset", "producerSnapshot")
    options = {"keys": json.dumps({"key1": str(tmp_path / "key1.der")}), "view": "findings"}
    view = spark_session().read.format("logsegment").options(**options).load(str(uploader.prefix))
    found = [(row["path"], row["position"], row["severity"]) for row in view.where("rule = 'TS-37'").collect()]
    assert sorted(found) == [
        (str(indexes), 0, "warning"),
        (str(indexes), int(at(indexes, "producerSnapshot").rpartition("@")[2]), "warning"),
    ]
