"""`resume`: an interrupted restore or conversion of a tree takes what an earlier run has finished, and only that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
from cli_process import run

MODERN = corpus.CORPUS / "modern-4.1.0/data"
NAMES = ("codec-gzip-0", "codec-lz4-0", "codec-none-0")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in NAMES:
        shutil.copytree(MODERN / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


def files(place: Path) -> dict[str, bytes]:
    return {file.relative_to(place).as_posix(): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def damaged(tree: Path) -> bytes:
    """Damage the last partition; return the bytes of its log."""
    log = next((tree / NAMES[-1]).glob("*.log"))
    data = log.read_bytes()
    log.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    return data


class Seen(ls.Observer):
    """Keeps the files that were converted."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def done(self, path: str, result: Any) -> None:
        self.names.append(Path(path).parent.name)


def test_a_conversion_takes_finished_partitions(tree: Path, tmp_path: Path) -> None:
    """After damage in the third partition, the next run converts that partition alone; the output is that of one run."""
    ls.convert([tree], out=tmp_path / "at-once", compression="zstd")
    whole = damaged(tree)
    out, how = tmp_path / "out", {"compression": "zstd", "resume": True}
    with pytest.raises(ls.RecordBatchError):
        ls.convert([tree], out=out, **how)
    assert not out.exists()
    next((tree / NAMES[-1]).glob("*.log")).write_bytes(whole)
    seen = Seen()
    done = ls.convert([tree], out=out, observer=seen, **how)
    assert (done.resumed, seen.names, len(done.outputs)) == (2, [NAMES[-1]], 3)
    assert files(out) == files(tmp_path / "at-once")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(FileExistsError):
        ls.convert([tree], out=out, **how)


def test_losses_of_finished_partitions_are_reported_again(tree: Path, tmp_path: Path) -> None:
    alone = ls.convert([tree], to="v1", compression="gzip", allow_loss=True, out=tmp_path / "at-once").losses
    whole = damaged(tree)
    how = {"to": "v1", "compression": "gzip", "allow_loss": True, "resume": True}
    with pytest.raises(ls.RecordBatchError):
        ls.convert([tree], out=tmp_path / "out", **how)
    next((tree / NAMES[-1]).glob("*.log")).write_bytes(whole)
    assert ls.convert([tree], out=tmp_path / "out", **how).losses == alone


def test_a_changed_segment_is_converted_again(tree: Path, tmp_path: Path) -> None:
    whole = damaged(tree)
    with pytest.raises(ls.RecordBatchError):
        ls.convert([tree], out=tmp_path / "out", resume=True, compression="zstd")
    next((tree / NAMES[-1]).glob("*.log")).write_bytes(whole)
    first = next((tree / NAMES[0]).glob("*.log"))
    shutil.copy(next((tree / NAMES[1]).glob("*.log")), first)
    done = ls.convert([tree], out=tmp_path / "out", resume=True, compression="zstd")
    assert done.resumed == 1
    assert len(ls.decode(next((tmp_path / "out" / NAMES[0]).glob("*.log"))).to_pylist()) == 240


def test_other_options_are_refused(tree: Path, tmp_path: Path) -> None:
    damaged(tree)
    with pytest.raises(ls.RecordBatchError):
        ls.convert([tree], out=tmp_path / "out", resume=True, compression="zstd")
    with pytest.raises(ValueError, match="other options"):
        ls.convert([tree], out=tmp_path / "out", resume=True, compression="gzip")


def test_resume_is_about_directories(tree: Path, tmp_path: Path) -> None:
    log = next((tree / NAMES[0]).glob("*.log"))
    for source in (log, [log], log.read_bytes()):
        with pytest.raises(ValueError, match="resume is about directories"):
            ls.convert(source, out=tmp_path / "out", resume=True)


def test_a_journal_that_was_cut_counts_whole_lines(tree: Path, tmp_path: Path) -> None:
    whole = damaged(tree)
    with pytest.raises(ls.RecordBatchError):
        ls.convert([tree], out=tmp_path / "out", resume=True, compression="zstd")
    journal = tmp_path / ".out.resume/journal.jsonl"
    assert [json.loads(line).get("part") for line in journal.read_text().splitlines()] == [None, *NAMES[:2]]
    journal.write_text(journal.read_text()[:-20])
    next((tree / NAMES[-1]).glob("*.log")).write_bytes(whole)
    assert ls.convert([tree], out=tmp_path / "out", resume=True, compression="zstd").resumed == 1


def test_a_restore_takes_finished_partitions(tmp_path: Path) -> None:
    """Plain directories are restored as uploads are; a damaged one ends the first run."""
    bucket = tmp_path / "bucket"
    for name in NAMES:
        shutil.copytree(MODERN / name, bucket / name)
    ls.restore(bucket, tmp_path / "at-once")
    whole = damaged(bucket)
    with pytest.raises(ls.RecordBatchError):
        ls.restore(bucket, tmp_path / "restored", resume=True)
    assert not (tmp_path / "restored").exists()
    next((bucket / NAMES[-1]).glob("*.log")).write_bytes(whole)
    done = ls.restore(bucket, tmp_path / "restored", resume=True)
    assert (done.resumed, len(done.partitions), done.segments) == (2, 3, 3)
    assert files(tmp_path / "restored") == files(tmp_path / "at-once")


def test_the_command_line_counts_what_was_finished(tree: Path, tmp_path: Path) -> None:
    whole = damaged(tree)
    words = ("convert", tree, "--compression", "zstd", "--resume", "--output", tmp_path / "out")
    assert run(*words).code == 1
    next((tree / NAMES[-1]).glob("*.log")).write_bytes(whole)
    done = run(*words)
    assert done.code == 0
    assert "2 partitions finished by an earlier run" in done.err
