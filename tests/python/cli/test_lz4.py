"""`logsegment lz4`: exit codes, outputs that are whole or absent, inputs that are never written."""

from __future__ import annotations

from pathlib import Path

import pytest

import logsegment as ls
from cli_process import CODEC_FILE, run
from lz4_frames import PLAIN, frame, message

GOOD = message(0, frame("6040", PLAIN, 0x1A)) + message(1, frame("6040", PLAIN))
WRONG = message(0, frame("6040", PLAIN)) + message(1, frame("6040", PLAIN))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "good.log").write_bytes(GOOD)
    (tmp_path / "wrong.log").write_bytes(WRONG)
    (tmp_path / "bad.log").write_bytes(WRONG[:-9] + b"\xff" + WRONG[-8:])
    return tmp_path


def test_check_reports_forms_and_exit_codes(files: Path):
    done = run("lz4", "check", CODEC_FILE, files / "good.log")
    assert (done.code, done.text.count("readable")) == (0, 2)
    done = run("lz4", "check", files / "wrong.log")
    assert done.code == 1
    assert "REJECTED" in done.text
    assert "`logsegment lz4 break`" in done.text
    assert run("lz4", "check", files / "missing.log").code == 2
    assert run("lz4", "check", files / "bad.log").code == 1
    assert "no LZ4 frames" in run("lz4", "check", "-", stdin=message(0, b"x", codec=0)).text


@pytest.mark.parametrize(("verb", "form"), [("fix", "correct"), ("break", "broken")])
def test_rewrites_into_a_new_file(files: Path, verb: str, form: str):
    done = run("lz4", verb, files / "wrong.log", "-o", files / "out.log")
    assert (done.code, done.out) == (0, b"")
    assert {row.form for row in ls.check_lz4((files / "out.log").read_bytes())} == {form}
    assert (files / "wrong.log").read_bytes() == WRONG
    piped = run("lz4", verb, "-", "--output", "-", stdin=WRONG)
    assert (piped.code, piped.out) == (0, (files / "out.log").read_bytes())


def test_an_input_is_never_overwritten(files: Path):
    done = run("lz4", "fix", files / "wrong.log", "-o", files / "wrong.log")
    assert done.code == 2
    assert (files / "wrong.log").read_bytes() == WRONG


def test_damage_leaves_no_output(files: Path):
    done = run("lz4", "fix", files / "bad.log", "-o", files / "out.log")
    assert done.code == 1
    assert "L8-2" in done.err
    assert sorted(path.name for path in files.iterdir()) == ["bad.log", "good.log", "wrong.log"]


def test_several_segments_are_refused(files: Path):
    directory = files / "topic-0"
    directory.mkdir()
    for name in ("00000000000000000000.log", "00000000000000000010.log"):
        (directory / name).write_bytes(GOOD)
    assert run("lz4", "break", directory, "-o", files / "out.log").code == 2
