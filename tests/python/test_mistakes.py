"""Mistakes of a first day, in Python and on the command line: each is one error in one line that names what to do.

A file that is not a segment has more kinds in test_foreign_files.py.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet
import pytest

import logsegment as ls
import rights
from cli_process import CODEC, run
from logsegment.cli import app

NAIVE = datetime(2026, 1, 31)
TABLE = pa.table({"value": ["a"]})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a partition and files that are not segments, which is the current one."""
    shutil.copytree(CODEC, tmp_path / "orders-0")
    segment = (CODEC / "00000000000000000000.log").read_bytes()
    (tmp_path / "notes.txt").write_text("to do: look into the segments\n")
    (tmp_path / "segment.log.gz").write_bytes(gzip.compress(segment))
    pa.parquet.write_table(TABLE, tmp_path / "table.parquet")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def used_twice(use: Callable[[ls.RecordStream], Any]) -> Any:
    stream = ls.decode("orders-0/00000000000000000000.log")
    use(stream)
    return use(stream)


SEGMENT = "orders-0/00000000000000000000.log"
INDEX = "orders-0/00000000000000000000.index"
#: The ways to read a file, and what it does for one that is not a segment: the class, and the words that a user acts on.
READS: dict[str, Callable[[str], Any]] = {
    "decode": lambda path: ls.decode(path).read_all(),
    "log": lambda path: ls.Log(path).records().read_all(),
    "scan": lambda path: ls.polars.scan(path).collect(),
    "batches": ls.batches,
    "find": lambda path: list(ls.find(path, key="a")),
    "stats": ls.stats,
    "diff": lambda path: ls.diff(path, str(CODEC)),
    "diff, second": lambda path: ls.diff(str(CODEC), path),
}
#: Those that read one side alone.
SINGLE_READS = {name: read for name, read in READS.items() if "diff" not in name}
FILES = {
    "notes.txt": "looks like text; the records are in the .log files of a partition",
    "segment.log.gz": "looks like gzip data; decompress it first",
    INDEX: "looks like an offset index; the records are in the .log files of a partition",
    "table.parquet": "looks like a Parquet file; the records are in the .log files of a partition",
}
CALLS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "directory to decode": (lambda: ls.decode("orders-0"), ls.InvalidError, "looks like a directory; logsegment.Log reads"),
    "directory without segments": (lambda: ls.Log("empty"), FileNotFoundError, r"no log segments \(twenty digits and \.log.*empty"),
    "column": (lambda: ls.decode(SEGMENT, columns=["ofset"]), ValueError, r'unknown record column "ofset"; the columns are .*, offset, '),
    "columns in one string": (lambda: ls.decode(SEGMENT, columns="offset"), TypeError, r'write columns=\["offset"\]'),
    "codec to encode": (lambda: ls.encode(TABLE, compression="zst"), ls.UnknownCompressionError, r"zst \(use none, gzip, .*zstd"),
    "codec to convert": (lambda: ls.convert(SEGMENT, compression="zst"), ls.UnknownCompressionError, r"zst \(use none, gzip, .*zstd"),
    "codec of what-if": (lambda: ls.stats("orders-0", what_if="zst"), ls.UnknownCompressionError, r"zst \(use none, gzip, .*zstd"),
    "missing file": (lambda: ls.decode("no/such.log"), FileNotFoundError, r"no/such\.log"),
    "missing directory": (lambda: ls.Log("no-such-0"), FileNotFoundError, "no-such-0"),
    "naive start": (
        lambda: ls.Log("orders-0").records(start_timestamp=NAIVE),
        ValueError,
        r"start_timestamp: a datetime needs a time zone; pass tzinfo=datetime\.UTC",
    ),
    "naive end": (lambda: ls.Log("orders-0").records(end_timestamp=NAIVE), ValueError, r"end_timestamp: .*tzinfo=datetime\.UTC"),
    "naive find": (lambda: ls.find("orders-0", start_timestamp=NAIVE), ValueError, r"start_timestamp: .*tzinfo=datetime\.UTC"),
    "naive now": (lambda: ls.transactions("orders-0", now=NAIVE), ValueError, r"now: .*tzinfo=datetime\.UTC"),
    "stream twice": (lambda: used_twice(ls.RecordStream.to_pandas), ValueError, "already consumed.*open it again"),
    "stream twice in pyarrow": (lambda: used_twice(pa.table), ValueError, "already consumed.*open it again"),
    "decode of a log": (lambda: ls.decode(ls.Log("orders-0")), TypeError, r"not logsegment\..*Log; call its records\(\)"),
    "decode of several": (lambda: ls.decode([SEGMENT, SEGMENT]), TypeError, r"not list; logsegment\.Log reads several paths"),
    "decode of a pattern": (
        lambda: ls.decode("orders-0/*.log"),
        FileNotFoundError,
        r"No such file; logsegment\.Log reads the files of a pattern: '.*orders-0/\*\.log'",
    ),
    "decode of a segment": (lambda: ls.decode(ls.Segment(SEGMENT)), TypeError, r"not logsegment\..*Segment; call its records\(\)"),
}


def ensure_one_line(error: BaseException) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_file_that_is_not_a_segment(place: Path, read: Callable[[str], Any], name: str):
    with pytest.raises(ls.InvalidError, match=f"{re.escape(name)}: .*not a log segment: {re.escape(FILES[name])}") as raised:
        read(name)
    ensure_one_line(raised.value)


@pytest.mark.parametrize("name", CALLS)
def test_a_mistake_in_python(place: Path, name: str):
    call, kind, words = CALLS[name]
    with pytest.raises(kind, match=words) as raised:
        call()
    assert type(raised.value) is kind
    ensure_one_line(raised.value)


VERBS = ["cat", "verify"]
#: Every verb that reads segments; verify has a test of its own.
READING_VERBS = [
    *(["cat"], ["cat", "--tail", "3"], ["cat", "--since", "2020-01-01"], ["batches"], ["stats"], ["stats", "--what-if", "zstd"], ["txn"]),
    *(["explain"], ["explain", "--offset", "0"], ["find", "--key", "a"], ["find", "--time", "2020-01-01"], ["diff", "orders-0"]),
    *(["follow", "--idle-exit", "0"], ["follow", "--offset", "0", "--idle-exit", "0"], ["convert", "--output", "new"]),
    ["rewrite", "--drop", "key=a", "--output", "new"],
    *(["salvage", "--output", "new"], ["lz4", "check"], ["lz4", "fix", "--output", "new"], ["lz4", "break", "--output", "new"]),
]
#: Command lines with the exit code, and the words of the last line of stderr.
COMMANDS: dict[str, tuple[list[str], int, str]] = {
    **{f"{verb}, directory": ([verb, "empty"], 2, r"empty: no log segments \(twenty digits and \.log") for verb in VERBS},
    **{f"{verb}, missing": ([verb, "no/such.log"], 2, r"no/such\.log: No such file or directory") for verb in VERBS},
    "column": (["cat", "orders-0", "--columns", "ofset"], 2, r"--columns.*unknown column 'ofset'; the columns are .*, offset, "),
    "codec": (["convert", "orders-0", "--compression", "zst", "--output", "new"], 2, "--compression.*'zst' is not one of .*'zstd'"),
    "codec of what-if": (["stats", "orders-0", "--what-if", "zst"], 2, "--what-if.*'zst' is not one of .*'zstd'"),
    "time": (["cat", "orders-0", "--since", "yesterday"], 2, "--since.*'yesterday' is neither milliseconds nor a time such as"),
    "standard input twice": (["diff", "-", "-"], 2, "standard input can be read only once"),
    "verb": (["catt", "orders-0"], 2, "Did you mean cat"),
    "option": (["cat", "orders-0", "--collumns", "key"], 2, "Did you mean '--columns'"),
}


@pytest.mark.parametrize("name", ["notes.txt", INDEX])
@pytest.mark.parametrize("verb", READING_VERBS, ids=" ".join)
def test_a_file_that_is_not_a_segment_on_the_command_line(place: Path, verb: list[str], name: str):
    done = run(*verb, name)
    assert (done.code, done.text) == (2 if verb[0] == "find" else 1, "")
    assert f"{name}: [SEG-16] at byte 0: not a log segment: {FILES[name]}" in done.err.splitlines()[0]
    assert len(done.err.splitlines()) == (2 if verb[0] == "find" else 1), done.err
    assert not (place / "new").exists()


@pytest.mark.parametrize("name", FILES)
def test_verify_says_that_a_file_is_not_a_segment(place: Path, name: str):
    done = run("verify", name)
    assert done.code == 1
    assert done.text.splitlines()[0] == f"{name}: NOT A LOG SEGMENT"
    assert FILES[name] in done.text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistake_on_the_command_line(place: Path, name: str):
    arguments, code, words = COMMANDS[name]
    done = run(*arguments)
    assert (done.code, done.out) == (code, b"")
    *usage, last = done.err.splitlines()
    assert re.search(words, last), done.err
    assert [line for line in usage if not re.match(r"Usage: |Try 'logsegment|$", line)] == []


@pytest.fixture
def closed_segment() -> Iterator[Path]:
    """A segment that this process may not read; not in `tmp_path`, which other users cannot enter."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "orders-0"
        shutil.copytree(CODEC, directory)
        directory.chmod(0o755)
        # What is imported on the way may be closed to the other user.
        for read in SINGLE_READS.values():
            read(str(directory / "00000000000000000000.log"))
        for verb in app.VERBS:
            app.program.get_command(click.Context(app.program), verb)
        with rights.closed(directory / "00000000000000000000.log"):
            yield directory / "00000000000000000000.log"


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="rights are those of Unix")
@pytest.mark.parametrize("verb", ["cat", "batches", "verify", "stats"])
def test_a_file_without_permission_on_the_command_line(
    closed_segment: Path, verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """In this process, since the other user may not start the Python of the tests."""
    monkeypatch.setattr(app, "stop_on_signals", lambda: None)
    assert app.run([verb, str(closed_segment)]) == 2
    assert capsys.readouterr().err == f"logsegment: {closed_segment}: Permission denied\n"


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="rights are those of Unix")
@pytest.mark.parametrize("read", SINGLE_READS.values(), ids=SINGLE_READS)
def test_a_file_without_permission(closed_segment: Path, read: Callable[[str], Any]):
    with pytest.raises(PermissionError, match=re.escape(str(closed_segment))) as raised:
        read(str(closed_segment))
    ensure_one_line(raised.value)
