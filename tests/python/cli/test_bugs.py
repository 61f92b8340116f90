"""No traceback, whatever happens: an unexpected exception is exit code 70, and deep trees and odd letters are none."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_process import CODEC, CODEC_FILE, COMMAND, clean_environment, run
from logsegment._core import Place
from logsegment.cli import app

DEPTH = 1200


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A tree 1,200 directories deep, with a partition at its end; made step by step, as no path may be so long for all calls."""
    top = tmp_path / "d"
    top.mkdir()
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(top)
        for _ in range(DEPTH):
            os.mkdir("d")
            os.chdir("d")
        os.mkdir("orders-0")
        shutil.copy(CODEC_FILE, "orders-0")
    finally:
        os.fchdir(before)
        os.close(before)
    yield top
    # Python's own removal of a tree calls itself at each level.
    subprocess.run(["rm", "-rf", top], check=True)


def test_a_tree_of_any_depth_is_read(deep: Path):
    done = run("verify", deep)
    assert (done.code, done.text.count("clean. "), "Traceback" in done.err) == (0, 1, False)
    done = run("cat", deep, "--columns", "offset", "--tail", "1")
    assert (done.code, done.lines) == (0, [{"offset": 239}])


def test_directories_come_before_those_in_them_and_no_link_leads_in_a_circle(tmp_path: Path):
    for name in ("b/c", "a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "0.log").touch()
    (tmp_path / "b/0.log").touch()
    (tmp_path / "b/c/up").symlink_to(tmp_path / "b")
    (tmp_path / "z").symlink_to(tmp_path / "a")
    found = [os.path.dirname(os.path.relpath(file.path, tmp_path)) for file in Place(str(tmp_path)).files_below()]
    assert found == ["a", "b", "b/c", "z"]


SHOWING = [
    *(("verify",), ("cat", "--tail", "1"), ("batches",), ("stats",), ("find", "--offset", "3")),
    *(("explain", "--at", "0"), ("txn",), ("lz4", "check")),
]
#: Letters that ASCII lacks, and a byte that is no UTF-8.
NAMES = ["gr\u00f6\u00dfe-\u4e2d-0", os.fsdecode(b"latin-\xe9-0")]


@pytest.mark.parametrize("name", NAMES, ids=["letters", "bytes"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("verify",),
        ("cat", "--tail", "1"),
        ("batches",),
        ("stats",),
        ("find", "--offset", "3"),
        ("explain", "--at", "0"),
        ("txn",),
        ("lz4", "check"),
    ],
    ids=lambda words: words[0],
)
def test_a_name_that_the_output_cannot_encode_is_escaped(name: str, encoding: str, arguments: tuple[str, ...], tmp_path: Path):
    directory = tmp_path / name
    shutil.copytree(CODEC, directory)
    path = directory / CODEC_FILE.name if arguments[0] in ("explain", "lz4") else directory
    verb = 2 if arguments[0] == "lz4" else 1
    for more in ((), ("--json",)) if arguments[0] not in ("lz4", "cat") else ((),):
        done = run(*arguments[:verb], path, *arguments[verb:], *more, PYTHONIOENCODING=encoding)
        assert (done.code, "Traceback" in done.err) == (0, False), done.err


def test_a_page_of_statistics_has_any_name(tmp_path: Path):
    directory = tmp_path / NAMES[1]
    shutil.copytree(CODEC, directory)
    done = run("stats", directory, "--html", tmp_path / "page.html")
    assert (done.code, "Traceback" in done.err) == (0, False), done.err


class Unexpected(Exception):
    """An error that nobody has thought of."""


class Panic(BaseException):
    """As one of the core."""


@pytest.mark.parametrize("kind", [Unexpected, Panic, RecursionError, OverflowError])
def test_an_unexpected_exception_is_a_bug_of_ours(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    def fail(*_: object, **options: object) -> None:
        raise kind("two\nlines")

    monkeypatch.setattr(app, "stop_on_signals", lambda: None)
    monkeypatch.setattr("logsegment.cli.verify.validate", fail)
    assert app.run(["verify", str(CODEC)]) == 70
    out, err = capfd.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert f"{kind.__name__}: two lines; this is a bug of logsegment: please report it at https://github.com/" in err
    for arguments in (["verify", str(CODEC), "--traceback"], ["--traceback", "verify", str(CODEC)]):
        assert app.run(arguments) == 70
        err = capfd.readouterr().err
        assert "Traceback (most recent call last)" in err
        assert "in fail" in err


@pytest.mark.parametrize("option", ["--limit", "--tail", "--threads"])
def test_a_number_that_does_not_fit_is_a_mistake_in_the_command(option: str):
    done = run("cat", CODEC, option, "18446744073709551616")
    assert (done.code, option in done.err, "Traceback" in done.err) == (2, True, False)
    for verb, other in (("find", "--limit"), ("diff", "--limit"), ("explain", "--at"), ("explain", "--offset"), ("follow", "--offset")):
        done = run(verb, CODEC, *([CODEC] if verb == "diff" else []), other, "18446744073709551616")
        assert (done.code, "Traceback" in done.err) == (2, False), (verb, other)
    done = run("convert", CODEC_FILE, "-o", "-", "--compression", "zstd", "--level", "99999999999")
    assert (done.code, "Traceback" in done.err) == (2, False)


#: A shell shows 130 for both. Python ends itself by the signal if it met the code of a dataclass or a named tuple being made.
INTERRUPTED = (130, -signal.SIGINT)


def ready(process: subprocess.Popen[bytes], name: str) -> None:
    """Wait until a module is being imported, by the list that `-v` writes."""
    assert process.stderr is not None
    for line in process.stderr:
        if name.encode() in line:
            return


@pytest.mark.parametrize("module", ["logsegment._lazy", "logsegment.cli.app", "click"])
def test_ctrl_c_while_modules_are_imported_leaves_no_traceback(module: str):
    command = [sys.executable, "-v", *COMMAND[1:], "verify", "-"]
    process = subprocess.Popen(command, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ready(process, f"import '{module}")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode in INTERRUPTED, b"Traceback" in told) == (True, False)


@pytest.mark.slow
def test_ctrl_c_at_any_time_leaves_no_traceback():
    """From the package on; what Python does before is not ours."""
    waits = random.Random(36)
    for _ in range(10):
        process = subprocess.Popen([*COMMAND, "verify", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None and "_core" not in Path(f"/proc/{process.pid}/maps").read_text():
            time.sleep(0.001)
        time.sleep(waits.uniform(0, 0.3))
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        # A line break takes the shell's prompt to the next line.
        assert (process.returncode in INTERRUPTED, told.strip()) == (True, b"")
