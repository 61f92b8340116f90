"""`logsegment follow` of damaged logs: an error after the records before the damage, or a report and the records after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from cli_process import CODEC_FILE, offsets, run
from damage import every_kind, hurt
from growing import GrowingLog
from logsegment.cli.exit_codes import DamagedInput
from watching import Watch

FOLLOW = ("--columns", "offset", "--idle-exit", "0")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A segment of a broker, without the files beside it."""
    path = tmp_path / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(CODEC_FILE.read_bytes())
    return path


@pytest.fixture
def batches(log: Path) -> list[dict[str, Any]]:
    return ls.batches(log.read_bytes()).to_pylist()


@every_kind
@pytest.mark.parametrize("batch", [0, 3])
def test_damage_is_one_error_with_its_place_behind_the_records_before_it(kind: str, batch: int, log: Path, batches: list[dict[str, Any]]):
    hurt(log, batch, kind, batches)
    done = run("follow", log.parent, "--offset", "0", *FOLLOW)
    assert done.code == 1
    assert offsets(done) == [*range(batches[batch]["baseOffset"])]
    told = [line for line in done.err.splitlines() if f"{log}: [" in line]
    assert len(told) == 1
    assert f"at byte {batches[batch]['position']}" in told[0]


@every_kind
@pytest.mark.parametrize("batch", [0, 3])
def test_skip_goes_on_as_cat_does(kind: str, batch: int, log: Path, batches: list[dict[str, Any]]):
    hurt(log, batch, kind, batches)
    done = run("follow", log.parent, "--offset", "0", "--on-error", "skip", *FOLLOW)
    cat = run("cat", log, "--on-error", "skip", "--columns", "offset")
    assert done.out == cat.out
    assert 0 < len(offsets(done)) < batches[-1]["lastOffset"] + 1
    assert done.err == cat.err
    assert done.code == cat.code


@every_kind
def test_what_comes_from_now_on_is_shown_whatever_is_damaged_before(kind: str, tmp_path: Path, watch: Watch):
    log = GrowingLog(tmp_path)
    log.append(3, 2, 4, size=200)
    hurt(log.segment, 0, kind, ls.batches(log.segment.read_bytes()).to_pylist())
    watched = watch(log.directory, None)
    assert watched.look() == ([], "")
    log.append(2)
    assert watched.look() == ([9, 10], "")
    log.roll()
    log.append(1)
    assert watched.look() == ([11], "")
    assert watched.look() == ([], "")


def test_new_damage_is_reported_once_and_an_unfinished_batch_is_no_damage(tmp_path: Path, watch: Watch):
    log = GrowingLog(tmp_path)
    log.append(3)
    watched = watch(log.directory, 0, "skip")
    assert watched.look() == ([0, 1, 2], "")
    batch = log.encode(2)
    log.write(batch[:70])
    assert watched.look() == ([], "")
    log.write(batch[70:])
    assert watched.look() == ([3, 4], "")
    bad = bytearray(batch)
    bad[65] ^= 1
    log.write(bad)
    assert watched.look() == ([], "")
    log.next += 4
    log.append(1)
    shown, said = watched.look()
    assert shown == [7]
    assert said.count("V2-31") == 1
    log.append(1)
    assert watched.look() == ([8], "")
    assert watched.following.code == 1


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_closed_segment_that_ends_inside_a_batch_is_reported_once(on_error: str, tmp_path: Path, watch: Watch):
    log = GrowingLog(tmp_path)
    log.append(3)
    log.write(log.encode(2)[:70])
    watched = watch(log.directory, 0, on_error)
    assert watched.look() == ([0, 1, 2], "")
    log.next += 2
    log.roll()
    if on_error == "raise":
        with pytest.raises((DamagedInput, ls.RecordBatchError), match="SEG-23"):
            watched.look()
        return
    shown, said = watched.look()
    assert (shown, said.count("SEG-23")) == ([], 1)
    assert watched.look() == ([], "")
    log.append(1)
    assert watched.look() == ([5], "")
    assert watched.following.code == 1


def test_redact_holds_back_what_was_met_in_damage(log: Path, batches: list[dict[str, Any]]):
    hurt(log, 3, "garbage", batches)
    for options in ([], ["--on-error", "skip"]):
        done = run("follow", log.parent, "--offset", "0", "--idle-exit", "0", "--redact", *options)
        assert done.code == 1
        assert "L8-11" in done.err
        assert "length -1" not in done.err
