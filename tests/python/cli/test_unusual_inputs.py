"""Inputs that are not logs, missing paths, and options that other programs have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import corpus
from cli_process import CODEC, CODEC_FILE, run

QUESTION = "is this a log segment?"


@pytest.mark.parametrize("era", ["legacy-0.7.2", "legacy-0.8.2.2", "legacy-0.10.2.2"])
def test_the_table_shows_wrappers_without_a_base_offset(era: str):
    """L8-28: offset and count of the first inner message are not in the header."""
    done = run("batches", corpus.CORPUS / era / "data/codec-gzip-0")
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.text.splitlines() if re.match(r" +\d", line)]
    assert {row[4] for row in rows} == {"-"}
    assert {row[2] == "-" for row in rows} == {era != "legacy-0.7.2"}


@pytest.mark.parametrize("verb", ["batches", "cat", "verify", "stats", "txn", "explain"])
def test_a_file_that_is_not_a_log_is_named(verb: str, tmp_path: Path):
    text = tmp_path / "notes.txt"
    text.write_text("to do: look into the segments\n" * 20)
    done = run(verb, text)
    assert done.code == 1
    said = (done.err + done.text).lower()
    assert "not a log segment" in said
    assert "looks like text" in said
    assert "traceback" not in said
    assert QUESTION not in said


def test_a_log_with_damage_after_valid_batches_is_not_questioned(tmp_path: Path):
    torn = tmp_path / "torn.log"
    torn.write_bytes(CODEC_FILE.read_bytes() + b"\x07" * 100)
    done = run("cat", torn)
    assert done.code == 1
    assert QUESTION not in done.err


def test_an_index_is_no_clean_log():
    done = run("verify", CODEC_FILE.with_suffix(".index"))
    assert done.code == 1
    assert "looks like an offset index" in done.text
    assert "while a broker writes" not in done.text


def test_a_path_that_is_not_there_hides_no_other():
    done = run("verify", "no/such/file", CODEC)
    assert done.code == 2
    assert "clean" in done.text
    assert done.err.splitlines() == ["logsegment: no/such/file: No such file or directory", "logsegment: 2 files: 1 clean, 1 unreadable"]


def test_a_missing_path_hints_at_standard_input():
    assert "or - for standard input" in run("cat").err


def test_records_are_json_lines_when_they_are_asked_for_too():
    assert run("cat", CODEC, "-n", "3", "--json").out == run("cat", CODEC, "--limit", "3").out != b""
    both = run("cat", CODEC, "--json", "--arrow", "rows.arrow")
    assert both.code == 2
    assert "only one of" in both.err


def test_a_conversion_says_what_it_wrote(tmp_path: Path):
    done = run("convert", CODEC, "--compression", "gzip", "--output", tmp_path / "new")
    sizes = f"{CODEC_FILE.stat().st_size:,} bytes before, {next((tmp_path / 'new').rglob('*.log')).stat().st_size:,} bytes after"
    assert (done.code, done.err) == (0, f"logsegment: wrote 1 segment to {tmp_path / 'new'}: {sizes}\n")
    assert run("convert", CODEC_FILE, "--output", tmp_path / "one.log", "--quiet").err == ""
