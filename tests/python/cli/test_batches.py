"""`logsegment batches`: the truth's headers as JSON lines, as a table for people, in files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import corpus
from cli_process import CODEC_FILE, DAMAGED, MODERN, read_table, run, run_on_terminal

CASES = corpus.cases()


@pytest.mark.slow
def test_json_lines_have_the_headers_of_every_case():
    """One process for all of them."""
    done = run("batches", "--json", "--quiet", *(case.path for case in CASES))
    assert (done.code, done.err) == (0, "")
    expected = [{"file": str(case.path)} | row for case in CASES for row in corpus.expected_batches(case)]
    assert done.lines == expected
    assert len(expected) == sum(case.batches for case in CASES) > 8000


def test_without_checksums_no_batch_is_called_valid():
    lines = run("batches", "--json", "--no-crc", CODEC_FILE).lines
    assert {line["isValid"] for line in lines} == {None}
    assert run("batches", "--no-crc", DAMAGED).code == 0


def test_the_table_has_a_line_for_every_batch():
    done = run("batches", MODERN / "transactions-0")
    expected = run("batches", "--json", MODERN / "transactions-0").lines
    rows = [line.split() for line in done.text.splitlines() if re.match(r" +\d", line)]
    assert done.code == 0
    assert [(int(row[0]), int(row[1]), int(row[2]), int(row[3])) for row in rows] == [
        (line["position"], line["size"], line["baseOffset"], line["lastOffset"]) for line in expected
    ]
    assert "transactional control" in done.text
    assert done.text.count("\n") == len(expected) + 2 * len({line["file"] for line in expected})
    assert "\x1b" not in done.text


def test_a_wrong_checksum_is_seen_and_fails():
    table, lines = run("batches", DAMAGED), run("batches", "--json", DAMAGED)
    assert table.code == lines.code == 1
    assert [line["isValid"] for line in lines.lines] == [True, False, True]
    assert table.text.count("WRONG") == 1
    assert "1 batch with a wrong checksum" in table.err == lines.err


def test_on_a_terminal_the_wrong_one_is_red_unless_colour_is_unwanted():
    red = re.compile(rb"\x1b\[31m[^\n]*WRONG")
    assert red.search(run_on_terminal("batches", DAMAGED, out=True, err=False).out)
    plain = run_on_terminal("batches", DAMAGED, out=True, err=False, NO_COLOR="1").out
    assert b"WRONG" in plain
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]", plain)


def test_what_cannot_be_framed_ends_or_is_skipped():
    path = corpus.TESTS / "hostile/data/v2-garbage-prefix.log"
    assert run("batches", "--json", path).code == 1
    skipped = run("batches", "--json", "--on-error", "skip", path)
    assert skipped.code == 1
    assert len(skipped.lines) == 1
    assert "error [L8-11] at byte 0" in skipped.err


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_files_hold_what_the_lines_say(kind: str, tmp_path: Path):
    done = run("batches", MODERN, f"--{kind}", tmp_path / "out")
    assert (done.code, done.out) == (0, b"")
    assert read_table(kind, tmp_path / "out").to_pylist() == run("batches", "--json", MODERN).lines
    assert run("batches", DAMAGED, f"--{kind}", tmp_path / "out", "--overwrite").code == 1


def test_standard_input_has_a_name():
    lines = run("batches", "--json", "-", stdin=CODEC_FILE.read_bytes()).lines
    assert {line["file"] for line in lines} == {"(stdin)"}
    assert len(lines) == 15
