"""Missing indexes are one line of `verify`, and a healthy file is no line of `salvage`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli_process import CODEC, CODEC_FILE, DAMAGED, MODERN, run

NAMES = ("codec-lz4-0", "multi-segment-0", "multi-segment-1")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three clean partitions, as a copy without indexes has them."""
    for name in NAMES:
        shutil.copytree(MODERN / name, tmp_path / "logs" / name, ignore=shutil.ignore_patterns("*.index", "*.timeindex"))
    return tmp_path / "logs"


def test_missing_indexes_of_a_tree_are_one_line(tree: Path):
    files = len(list(tree.glob("*/*.log")))
    done = run("verify", tree)
    lines = done.text.splitlines()
    assert (done.code, len(lines), sum("clean. " in line for line in lines)) == (0, files + 1, files)
    assert lines[-1] == "no indexes in 3 partitions: reading is slower"
    assert run("verify", "--quiet", tree).text == ""
    found = [line for line in run("verify", "--json", tree).lines if line.get("rule") == "IDX-1"]
    assert len(found) == 2 * files, "JSON lines have each of them"


def test_a_tree_that_lacks_some_says_so(tree: Path):
    shutil.copy(CODEC / f"{CODEC_FILE.stem}.index", tree / "codec-lz4-0")
    index = next((tree / "multi-segment-0").glob("*.log")).with_suffix(".index")
    index.write_bytes(b"\x00" * 7)
    done = run("verify", tree)
    assert done.text.count("IDX-1") == 0
    assert done.text.count("SEG-5") >= 1, "other findings about sidecar files keep their place"
    assert done.text.splitlines()[-1].endswith("in 3 partitions: reading is slower")
    assert "IDX" not in run("verify", MODERN / "codec-lz4-0").text


def test_salvage_says_nothing_of_a_healthy_file(tree: Path, tmp_path: Path):
    done = run("salvage", tree, "-o", tmp_path / "saved")
    files = len(list(tree.glob("*/*.log")))
    assert (done.code, done.err) == (0, f"logsegment: wrote {files} segments to {tmp_path / 'saved'}\n")
    shutil.copy(DAMAGED, tree / "codec-lz4-0" / "00000000000000002000.log")
    done = run("salvage", tree, "-o", tmp_path / "again")
    assert (done.code, done.err.count(": kept ")) == (3, 1)
    lines = run("salvage", "--json", tree, "-o", tmp_path / "third").lines
    assert sum(line["type"] == "salvage" for line in lines) == len(list(tree.glob("*/*.log"))), "JSON lines have an account of each"
