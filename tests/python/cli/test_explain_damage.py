"""`logsegment explain` of a file that begins with damage: the error and the next valid batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from cli_process import CODEC_FILE, run
from damage import every_kind, hurt


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(CODEC_FILE.read_bytes())
    return path


@pytest.fixture
def batches(log: Path) -> list[dict[str, Any]]:
    return ls.batches(log.read_bytes()).to_pylist()


def intact(log: Path) -> list[dict[str, Any]]:
    return [row for row in ls.batches(log.read_bytes(), on_error="skip").to_pylist() if row["isValid"]]


@every_kind
def test_the_first_batch_is_shown_with_its_damage_and_the_next_valid_one(kind: str, log: Path, batches: list[dict[str, Any]]):
    hurt(log, 0, kind, batches)
    following = intact(log)[0]
    assert following["baseOffset"] == batches[1]["baseOffset"]
    done = run("explain", log, "--json")
    assert done.code == 1
    (tree,) = done.lines
    next_one = ls.inspect(ls.FileSource(log), at=following["position"]).to_dict()
    assert tree.pop("next") == next_one
    assert tree == {"file": str(log), **ls.inspect(ls.FileSource(log)).to_dict()}
    assert "problems" in json.dumps(tree)
    assert done.err == f"logsegment: {log}: bytes 0 to {following['position'] - 1:,} have no valid batch; the next batch is shown\n"
    text = run("explain", log).text
    assert f"at byte {following['position']:,}, {following['size']:,} bytes, the next valid batch" in text


@every_kind
@pytest.mark.parametrize("batch", [0, 2])
def test_an_offset_is_found_past_damage_that_may_have_contained_it(kind: str, batch: int, log: Path, batches: list[dict[str, Any]]):
    hurt(log, batch, kind, batches)
    wanted = intact(log)[-1]
    done = run("explain", log, "--offset", str(wanted["lastOffset"]), "--json")
    assert [tree["start"] for tree in done.lines] == [wanted["position"]]
    claims_the_rest = kind in ("length to the end", "length behind the end")
    assert (done.code, f"at byte {batches[batch]['position']:,}" in done.err) == ((1, True) if claims_the_rest else (0, False))
    lost = run("explain", log, "--offset", str(batches[batch]["lastOffset"]), "--json")
    # What is framed well is shown itself, with its damage marked.
    is_shown = lost.lines[0]["start"] == batches[batch]["position"]
    assert (lost.code, f"at byte {batches[batch]['position']:,}" in lost.err) == (1, not is_shown)
    assert not is_shown or "problems" in json.dumps(lost.lines[0])
    assert lost.lines[0]["start"] in (batches[batch]["position"], intact(log)[batch]["position"])


def test_damage_without_a_valid_batch_after_it(tmp_path: Path):
    torn = tmp_path / "torn.log"
    torn.write_bytes(CODEC_FILE.read_bytes()[:200])
    assert run("explain", torn).err == f"logsegment: {torn}: no valid batch follows\n"
    garbage = tmp_path / "garbage.log"
    garbage.write_bytes(b"\xff" * 500)
    done = run("explain", garbage)
    assert (done.code, done.err) == (1, f"logsegment: {garbage}: no valid batch follows\n")
    assert run("explain", garbage, "--offset", "1").code == 1


def test_a_page_has_both(log: Path, batches: list[dict[str, Any]], tmp_path: Path):
    hurt(log, 0, "magic", batches)
    page = tmp_path / "batch.html"
    assert run("explain", log, "--html", page).code == 1
    text = page.read_text()
    assert text.count("ls-inspect") > 2
    assert "L8-13" in text
    assert f"the next valid batch, byte {batches[1]['position']}" in text


def test_a_position_and_a_pipe_show_one_batch_alone(log: Path, batches: list[dict[str, Any]]):
    hurt(log, 0, "garbage", batches)
    for done in (run("explain", log, "--at", "0", "--json"), run("explain", "-", "--json", stdin=log.read_bytes())):
        assert (done.code, done.err) == (1, "")
        assert "next" not in done.lines[0]


@every_kind
def test_redact_shows_the_next_one_without_payloads(kind: str, log: Path, batches: list[dict[str, Any]]):
    key = ls.decode(log.read_bytes(), columns=["value"], start_offset=batches[1]["baseOffset"]).to_pyarrow()["value"][0].as_py()
    hurt(log, 0, kind, batches)
    plain, done = run("explain", log, "--json"), run("explain", log, "--json", "--redact")
    assert key.hex() in plain.text
    assert key.hex() not in done.text
    assert done.lines[0]["next"]["start"] == plain.lines[0]["next"]["start"]
    offset = str(batches[-1]["lastOffset"])
    assert run("explain", log, "--offset", offset, "--redact", "--json").lines[0]["start"] == intact(log)[-1]["position"]
