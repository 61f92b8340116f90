"""Rebuilt sidecar files have the bytes that Kafka wrote (SEG-3 to SEG-9); each exception has its reason."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from logsegment import _core

KINDS = (".index", ".timeindex", ".txnindex", ".snapshot")


def partitions(*sets: str) -> list[Path]:
    return sorted({path.parent for name in sets for path in (corpus.CORPUS / name / "data").rglob("*.log")})


def rebuild(directory: Path, out: Path, interval: int | None = None) -> int:
    segments = [(path, int(path.name[:20])) for path in sorted(directory.glob("*.log"))]
    end, written = _core.rebuild_indexes(segments, out, index_interval_bytes=interval)
    assert sorted(written) == sorted(path.name for path in out.iterdir() if path.suffix != ".log")
    return end


def kafkas_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.suffix in KINDS)


@pytest.mark.parametrize("directory", partitions("other-clients"), ids=lambda path: path.name)
def test_all_files_of_a_broker_that_ran_once_are_made_anew(directory: Path, tmp_path: Path):
    rebuild(directory, tmp_path)
    expected = {path.name: path.read_bytes() for path in [*kafkas_files(directory), directory / "leader-epoch-checkpoint"]}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == expected


def test_snapshots_and_aborted_transactions_are_kafkas_own(tmp_path: Path):
    """A broker that was restarted keeps the snapshot of that moment too, in the middle of a segment; nothing of ours stands for it."""
    seen: Counter[str] = Counter()
    for directory in partitions("modern-4.1.0"):
        out = tmp_path / directory.name
        out.mkdir()
        rebuild(directory, out)
        for path in kafkas_files(directory):
            if path.suffix in (".snapshot", ".txnindex") and (out / path.name).exists():
                assert (out / path.name).read_bytes() == path.read_bytes(), path
                seen[path.suffix] += 1
    assert seen == {".snapshot": 53, ".txnindex": 12}


def test_indexes_hold_up_against_their_logs(tmp_path: Path):
    """Where entries differ from Kafka's, the broker counted bytes anew after its restart; both say the same of the log."""
    same: Counter[bool] = Counter()
    for directory in partitions("modern-4.1.0", "legacy-2.4.1", "legacy-0.11.0.3"):
        out = tmp_path / directory.parents[1].name / directory.name
        out.mkdir(parents=True)
        rebuild(directory, out)
        for log in directory.glob("*.log"):
            shutil.copyfile(log, out / log.name)
        findings = ls.Log(out).validate(depth="headers").findings
        assert [finding for finding in findings if finding.rule[:3] in ("SEG", "IDX")] == [], directory
        same.update(
            (out / path.name).read_bytes() == path.read_bytes()
            for path in kafkas_files(directory)
            if path.suffix in (".index", ".timeindex")
        )
    assert same[True] > 100
    assert same[True] > 2 * same[False]


def test_the_log_end_offset_is_returned_and_names_the_last_snapshot(tmp_path: Path):
    end = rebuild(corpus.CORPUS / "modern-4.1.0/data/transactions-0", tmp_path)
    assert end == 88
    assert f"{end:020}.snapshot" in {path.name for path in tmp_path.iterdir()}


def test_existing_sidecar_files_are_replaced_and_others_are_kept(tmp_path: Path):
    directory = corpus.CORPUS / "modern-4.1.0/data/transactions-0"
    (tmp_path / "00000000000000000000.index").write_bytes(b"old")
    (tmp_path / "mine.txt").write_bytes(b"keep")
    segments = [(path, int(path.name[:20])) for path in sorted(directory.glob("*.log"))]
    _core.rebuild_indexes(segments, tmp_path)
    assert (tmp_path / "00000000000000000000.index").read_bytes() == (directory / "00000000000000000000.index").read_bytes()
    assert (tmp_path / "mine.txt").read_bytes() == b"keep"
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".part"]


def test_a_torn_tail_is_left_out_and_damage_is_an_error(tmp_path: Path):
    log = tmp_path / "00000000000000000000.log"
    data = (corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log").read_bytes()
    log.write_bytes(data + data[:30])
    assert _core.rebuild_indexes([(log, 0)], tmp_path)[0] == 240
    log.write_bytes(data + b"\xff" * 100)
    with pytest.raises(ls.CorruptError) as raised:
        _core.rebuild_indexes([(log, 0)], tmp_path)
    assert raised.value.position == len(data)


def test_usage(tmp_path: Path):
    with pytest.raises(FileNotFoundError) as raised:
        _core.rebuild_indexes([(tmp_path / "none.log", 0)], tmp_path)
    assert raised.value.filename == str(tmp_path / "none.log")
    with pytest.raises(ValueError, match="increase"):
        _core.rebuild_indexes([(tmp_path / "a.log", 5), (tmp_path / "b.log", 5)], tmp_path)
