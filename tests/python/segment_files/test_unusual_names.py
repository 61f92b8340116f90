"""Names that are not UTF-8, links that lead nowhere, FIFOs named as segments, and characters that command a terminal."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import CODEC_FILE, TRANSACTIONS, run, run_on_terminal

NAME = "00000000000000000000.log"
NEXT = "00000000000000000240.log"
#: Clears the screen, turns the direction of text, and a byte that is no UTF-8.
FOREIGN = os.fsdecode(b"\x1b[2J\xe2\x80\xae\xff")
#: How a terminal shows it.
ESCAPED = "\\x1b[2J\\u202e\\xff"
#: Verbs that write JSON, with what they need before the path.
JSON_VERBS = {
    "verify": ("verify", "--json"),
    "cat": ("cat", "--json", "--columns", "topic,offset"),
    "batches": ("batches", "--json"),
    "find": ("find", "--json", "--offset", "3"),
    "stats": ("stats", "--json"),
    "explain": ("explain", "--json", "--offset", "3"),
    "txn": ("txn", "--json", "--all"),
    "salvage": ("salvage", "--json", "--output", "saved", "--quiet"),
}
TEXT_VERBS = {
    "verify": ("verify",),
    "batches": ("batches",),
    "find": ("find", "--offset", "3"),
    "stats": ("stats",),
    "explain": ("explain", "--offset", "3"),
    "txn": ("txn", "--all"),
    "cat parquet": ("cat", "--parquet", "cat.parquet"),
    "convert": ("convert", "--compression", "gzip", "--output", "converted"),
    "salvage": ("salvage", "--output", "saved"),
    "lz4 check": ("lz4", "check"),
}


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with partitions under a name that is foreign; one has a broken index, one has transactions."""
    monkeypatch.chdir(tmp_path)
    tree = tmp_path / FOREIGN
    for number in range(2):
        (tree / f"orders-{number}").mkdir(parents=True)
        shutil.copyfile(CODEC_FILE, tree / f"orders-{number}" / NAME)
    shutil.copytree(TRANSACTIONS, tree / "orders-2")
    (tree / "orders-1" / NAME.replace("log", "index")).write_bytes(b"\xff" * 12)
    return tree


@pytest.mark.parametrize("verb", JSON_VERBS.values(), ids=JSON_VERBS)
def test_json_names_files_that_are_not_utf8(verb: tuple[str, ...], foreign: Path) -> None:
    done = run(*verb, foreign / "orders-1" if verb[0] == "explain" else foreign)
    assert (done.code in (0, 1), "Traceback" in done.err) == (True, False), done.err
    rows = [json.loads(line) for line in done.out.decode().splitlines()]
    assert rows
    for field in ("file", "path"):
        for row in rows:
            assert FOREIGN[:-1] + "\\xff" in row.get(field, FOREIGN[:-1] + "\\xff")


def test_findings_of_the_core_name_files_that_are_not_utf8(foreign: Path) -> None:
    paths = {finding.path for finding in ls.Log(foreign).validate().findings if finding.rule.startswith("SEG")}
    assert paths
    assert all("\\xff" in path and "\ufffd" not in path for path in paths)


@pytest.mark.parametrize("verb", TEXT_VERBS.values(), ids=TEXT_VERBS)
def test_names_do_not_command_a_terminal(verb: tuple[str, ...], foreign: Path) -> None:
    """The progress line, the text and the messages."""
    for path in (foreign, foreign / "nowhere"):
        for out, err in ((True, True), (False, True)):
            if verb[0] == "explain" and path == foreign:
                path = foreign / "orders-0"
            for name in ("cat.parquet", "converted", "saved"):
                shutil.rmtree(name, ignore_errors=True)
                Path(name).unlink(missing_ok=True)
            done = run_on_terminal(*verb, path, out=out, err=err)
            shown = done.out.decode() + done.err
            assert done.code == (2 if path == foreign / "nowhere" else 0), shown
            assert ESCAPED in shown
            assert "\x1b[2J" not in shown
            assert "\u202e" not in shown


@pytest.mark.parametrize("verb", JSON_VERBS.values(), ids=JSON_VERBS)
def test_json_does_not_command_a_terminal_and_means_the_same(verb: tuple[str, ...], foreign: Path) -> None:
    path = foreign / "orders-0" if verb[0] == "explain" else foreign
    shown = run_on_terminal(*verb, path, out=True, err=False).out
    assert b"\xe2\x80\xae" not in shown
    shutil.rmtree("saved", ignore_errors=True)
    assert [json.loads(line) for line in shown.splitlines()] == run(*verb, path).lines


def test_values_do_not_command_a_terminal(tmp_path: Path) -> None:
    value = "\u202eevil\x9b2J\u2066\U000e0041 z\u00fcrich \U0001f600"
    ls.encode(pa.table({"key": [value], "value": [value]}), out=tmp_path / NAME)
    piped = run("cat", tmp_path / NAME, "--quiet")
    shown = run_on_terminal("cat", tmp_path / NAME, "--quiet", out=True, err=False).out.decode()
    assert piped.lines == [json.loads(shown)]
    assert piped.lines[0]["value"] == value
    assert shown.strip("\r\n").isprintable()
    assert "z\u00fcrich \U0001f600" in shown


@pytest.mark.parametrize("kind", ["loop", "dangling"])
def test_a_link_that_cannot_be_followed_is_reported_and_the_rest_is_read(kind: str, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "orders-0").mkdir(parents=True)
    shutil.copyfile(CODEC_FILE, tree / "orders-0" / NAME)
    (tree / "link").symlink_to("link" if kind == "loop" else "nowhere")
    (tree / "orders-0" / NEXT).symlink_to(NEXT if kind == "loop" else "nowhere.log")
    log = ls.Log(tree)
    assert len(log.records().to_pyarrow()) == 240
    assert {(finding.rule, finding.path.rpartition("@")[0], finding.base_offset) for finding in log.left_out} == {
        ("SEG-15", str(tree / "link"), None),
        ("SEG-15", str(tree / "orders-0" / NEXT), 240),
    }
    assert [finding for finding in log.validate().findings if finding.rule == "SEG-15"] == log.left_out
    done = run("verify", tree, "--json")
    assert done.code == 0
    assert {row["file"] for row in done.lines} == {str(tree / "orders-0" / NAME), str(tree), str(tree / "orders-0")}
    assert run("verify", tree, "--fail-on", "warning").code == 1
    said = run("cat", tree)
    assert (said.code, len(said.lines), f"{tree / 'orders-0' / NEXT}: warning [SEG-15]" in said.err) == (0, 240, True)


@pytest.mark.parametrize("suffix", ["log", "index", "timeindex", "txnindex", "snapshot"])
def test_a_fifo_in_a_directory_is_not_waited_for(suffix: str, tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    shutil.copyfile(CODEC_FILE, directory / NAME)
    fifo = directory / NEXT.replace("log", suffix)
    os.mkfifo(fifo)
    if suffix == "index":
        os.mkfifo(directory / NAME.replace("log", suffix))
    done = run("verify", directory)
    assert done.code == 0
    assert f"{NAME}: clean" in done.text
    assert ("not a regular file" in done.text) == (suffix == "log")
    found = run("find", directory, "--offset", "239")
    assert (found.code, "offset 239" in found.text) == (0, True)
    assert len(ls.Log(directory).records(start_offset=100).to_pyarrow()) == 140
