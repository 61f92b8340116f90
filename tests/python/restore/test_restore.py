"""`restore` reports or refuses damaged and cut segments in every layout of uploads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import logsegment as ls
from cli_process import run
from logsegment.tiered import ChunkError
from tiered_layouts import DAMAGE, LAST, LAYOUTS, SECOND, middle


@pytest.mark.parametrize("number", [SECOND, LAST], ids=["second", "last"])
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_damaged_segment_is_refused_or_reported(layout: str, damage: str, number: int, tmp_path: Path):
    path = LAYOUTS[layout](tmp_path)[number]
    data = path.read_bytes()
    path.write_bytes(DAMAGE[damage](data))
    prefix, target = tmp_path / "prefix", tmp_path / "restored"
    is_lost = layout == "aiven" and damage != "flip"
    kind = ChunkError if is_lost else ls.ChecksumError if damage == "flip" else ls.TruncatedError
    with pytest.raises(kind) as raised:
        ls.restore(prefix, target)
    assert str(raised.value).startswith(f"{path}: ")
    assert not target.exists()
    done = run("restore", prefix, target)
    assert (done.code, target.exists()) == (1, False)
    assert path.name in done.err
    assert ("--on-error skip" in done.err) is not is_lost
    if is_lost:
        assert run("restore", prefix, target, "--on-error", "skip").code == 1
        return
    assert raised.value.position == middle(data)
    assert raised.value.rule == ("V2-31" if damage == "flip" else "L8-14")
    done = run("restore", prefix, target, "--on-error", "skip")
    assert done.code == 3
    assert done.err.count("damaged: ") == 1
    assert re.search(rf"at byte {middle(data)}[:,]", done.err)
    (restored,) = target.glob(f"payments-0/{path.name[:20]}.log")
    assert restored.read_bytes() == path.read_bytes()
    assert ls.restore(prefix, tmp_path / "again", on_error="skip").damaged == [str(raised.value)]


def told(error: ls.RecordBatchError) -> tuple[object, ...]:
    return type(error), error.code, error.kafka_error_code, error.rule, error.position, error.base_offset, error.field, error.path


@pytest.mark.parametrize("damage", ["flip", "cut", "header", "cut between batches"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_error_is_that_of_a_read(layout: str, damage: str, tmp_path: Path):
    path = LAYOUTS[layout](tmp_path)[LAST]
    data = path.read_bytes()
    at = middle(data) + 16
    path.write_bytes(DAMAGE[damage](data) if damage in DAMAGE else data[:at] + b"\x7f" + data[at + 1 :])
    with pytest.raises(ls.RecordBatchError) as raised:
        ls.restore(tmp_path / "prefix", tmp_path / "restored")
    error = raised.value
    if damage == "cut between batches" and layout != "aiven":
        # Reads end there; only the index knows.
        assert told(error)[:5] == (ls.TruncatedError, "truncated", None, "L8-14", middle(data))
        return
    with pytest.raises(ls.RecordBatchError) as expected:
        ls.Log(tmp_path / "prefix").records().read_all()
    assert (told(error), str(error)) == (told(expected.value), str(expected.value))
    assert error.code is not None


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_whole_is_given_back_without_a_word(layout: str, tmp_path: Path):
    paths = LAYOUTS[layout](tmp_path)
    done = run("restore", tmp_path / "prefix", tmp_path / "restored", "--quiet")
    assert (done.code, done.err) == (0, "")
    restored = sorted((tmp_path / "restored/payments-0").glob("*.log"))
    assert [path.read_bytes() for path in restored] == [path.read_bytes() for path in paths]


@pytest.mark.parametrize("layout", ["kafka", "pinterest"])
def test_offsets_without_an_index_may_be_missing(layout: str, tmp_path: Path):
    """A log that was cut between batches, without indexes. A topic of Pinterest's may have been compacted, what Kafka uploads was not."""
    paths = LAYOUTS[layout](tmp_path)
    paths[SECOND].write_bytes(DAMAGE["cut between batches"](paths[SECOND].read_bytes()))
    for index in paths[SECOND].parent.glob(f"{paths[SECOND].stem}.*index"):
        index.unlink()
    restored = ls.restore(tmp_path / "prefix", tmp_path / "restored")
    assert restored.damaged == []
    assert (len(restored.gone), restored.has_gaps) == ((1, True) if layout == "kafka" else (0, False))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_missing_upload_is_reported(layout: str, tmp_path: Path):
    """All objects of it, in the midst of the others: the offsets alone tell."""
    paths = LAYOUTS[layout](tmp_path)
    first, behind = (int(paths[number].name[:20]) for number in (SECOND, SECOND + 1))
    for file in paths[SECOND].parent.glob(f"{paths[SECOND].name.removesuffix('.log')}*"):
        file.unlink()
    is_upload = layout != "pinterest"
    done = run("restore", tmp_path / "prefix", tmp_path / "restored")
    text = f"gone: payments-0: offsets {first} to {behind - 1} are in no upload"
    assert (done.code, text in done.err) == ((3, True) if is_upload else (0, False))
    done = run("verify", tmp_path / "prefix", "--fail-on", "warning")
    assert f"offsets {first} to {behind - 1} are missing before the {'segment' if is_upload else 'batch'}" in done.text
    assert done.code == int(is_upload)


def test_an_option_that_is_none(tmp_path: Path):
    with pytest.raises(ValueError, match="on_error must be"):
        ls.restore(tmp_path, tmp_path / "restored", on_error="ignore")  # type: ignore[arg-type]
