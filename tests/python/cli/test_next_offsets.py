"""`logsegment stats --next-offsets`: where a consumer goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from cli_process import run

MODERN = corpus.CORPUS / "modern-4.1.0/data"
PAYMENTS = MODERN / "transactions-multi-segment-0"


def test_it_prints_what_the_log_gives() -> None:
    done = run("stats", "--next-offsets", MODERN / "codec-zstd-0", PAYMENTS)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == ls.Log([MODERN / "codec-zstd-0", PAYMENTS]).next_offsets()


def test_open_transactions_and_topics(tmp_path: Path) -> None:
    segments = sorted(PAYMENTS.glob("*.log"))
    for segment in segments[:2]:
        (tmp_path / "paid-0").mkdir(exist_ok=True)
        shutil.copy(segment, tmp_path / "paid-0")
    shutil.copytree(MODERN / "codec-zstd-0", tmp_path / "orders-0")
    done = run("stats", "--next-offsets", "--topic", "paid", "--isolation", "read_committed", tmp_path)
    expected = ls.Log(tmp_path, topic="paid").next_offsets(isolation="read_committed")
    assert json.loads(done.out) == expected
    assert list(expected) == ["paid"]
    assert 0 < expected["paid"]["0"] <= ls.Log(tmp_path, topic="paid").next_offsets()["paid"]["0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--next-offsets", "--json", "x"], "without --json and --html"),
        (["--isolation", "read_committed", "x"], "--isolation needs --next-offsets"),
        (["--next-offsets", "-"], "standard input does not have"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: list[str], message: str) -> None:
    done = run("stats", *arguments, stdin=b"")
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_errors_have_an_exit_code(tmp_path: Path) -> None:
    assert run("stats", "--next-offsets", tmp_path).code != 0
    (tmp_path / "orders-0").mkdir()
    whole = (MODERN / "codec-zstd-0" / f"{0:020}.log").read_bytes()
    last = ls.batches(whole).to_pylist()[-1]["position"]
    (tmp_path / "orders-0" / f"{0:020}.log").write_bytes(whole[:last] + b"\xff" * 200)
    done = run("stats", "--next-offsets", tmp_path)
    assert (done.out, done.code) == (b"", 1)
    assert "--on-error" not in done.err
