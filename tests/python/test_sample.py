"""`python -m logsegment.sample`: the partition with which the README begins, after an installation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import logsegment as ls
from doc_examples import ROOT


def sample(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "logsegment.sample", *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_the_sample_is_the_partition_of_the_examples(tmp_path: Path):
    done = sample(str(tmp_path / "new"))
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/new/damaged-0\n")
    written = {file.name: file.read_bytes() for file in (tmp_path / "new/damaged-0").iterdir()}
    assert written == {file.name: file.read_bytes() for file in (ROOT / "examples/damaged-0").iterdir()}
    assert [finding.rule for finding in ls.Log(tmp_path / "new").validate().findings if finding.severity == "error"] == ["V2-31"]


def test_an_existing_sample_is_not_replaced(tmp_path: Path):
    (tmp_path / "damaged-0").mkdir()
    done = sample(str(tmp_path))
    assert done.returncode == 2
    assert "damaged-0" in done.stderr
    assert list((tmp_path / "damaged-0").iterdir()) == []


def test_a_mistake_shows_the_usage():
    assert [(done.returncode, done.stdout) for done in (sample(), sample("a", "b"), sample("--help"))] == [(2, "")] * 3
    assert "usage: python -m logsegment.sample DIR" in sample().stderr
