"""What was uploaded was closed: `restore` gives no segment back that is damaged or cut without telling, whatever the layout."""

from __future__ import annotations

from pathlib import Path

import pytest

import logsegment as ls
from cli_process import run
from logsegment.tiered import ChunkError
from tiered_layouts import DAMAGE, LAST, LAYOUTS, SECOND, middle, of_kafka


@pytest.mark.parametrize("number", [SECOND, LAST], ids=["second", "last"])
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_damaged_segment_is_refused_or_told(layout: str, damage: str, number: int, tmp_path: Path):
    path = LAYOUTS[layout](tmp_path)[number]
    data = path.read_bytes()
    path.write_bytes(DAMAGE[damage](data))
    prefix, target = tmp_path / "prefix", tmp_path / "restored"
    is_lost = layout == "aiven" and damage != "flip"
    with pytest.raises(ChunkError if is_lost else ls.CorruptError) as raised:
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
    assert f"at byte {middle(data)}: " in done.err
    (restored,) = target.glob(f"payments-0/{path.name[:20]}.log")
    assert restored.read_bytes() == path.read_bytes()
    assert ls.restore(prefix, tmp_path / "again", on_error="skip").damaged == [str(raised.value)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_whole_is_given_back_without_a_word(layout: str, tmp_path: Path):
    paths = LAYOUTS[layout](tmp_path)
    done = run("restore", tmp_path / "prefix", tmp_path / "restored", "--quiet")
    assert (done.code, done.err) == (0, "")
    restored = sorted((tmp_path / "restored/payments-0").glob("*.log"))
    assert [path.read_bytes() for path in restored] == [path.read_bytes() for path in paths]


def test_offsets_that_no_index_tells_of_may_be_missing(tmp_path: Path):
    """A topic that was compacted has such gaps between its segments."""
    paths = of_kafka(tmp_path)
    paths[SECOND].write_bytes(DAMAGE["cut between batches"](paths[SECOND].read_bytes()))
    for index in paths[SECOND].parent.glob(f"{paths[SECOND].stem}.*index"):
        index.unlink()
    assert ls.restore(tmp_path / "prefix", tmp_path / "restored").damaged == []


def test_an_option_that_is_none(tmp_path: Path):
    with pytest.raises(ValueError, match="on_error must be"):
        ls.restore(tmp_path, tmp_path / "restored", on_error="ignore")  # type: ignore[arg-type]
