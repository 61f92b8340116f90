"""Nothing is uploaded before it is closed: a segment that ends inside a batch was cut, the last one too, and every reader tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import logsegment as ls
from cli_process import run
from logsegment.analysis.find import Conditions, Search
from logsegment.segment_files.discovery import find_segments
from tiered_layouts import DAMAGE, LAST, SECOND, middle, of_kafka, of_pinterest, source

LAYOUTS = {"kafka": of_kafka, "pinterest": of_pinterest}


@pytest.fixture(params=[(layout, number) for layout in LAYOUTS for number in (SECOND, LAST)], ids=str)
def cut(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path, int]:
    """The prefix, the log that was cut, and where its last batch begins."""
    layout, number = request.param
    path = LAYOUTS[layout](tmp_path)[number]
    data = path.read_bytes()
    path.write_bytes(DAMAGE["cut"](data))
    return tmp_path / "prefix", path, middle(data)


def given(stream: ls.RecordStream) -> Iterator[int | ls.RecordBatchError]:
    try:
        for batch in stream:
            yield from batch.to_pyarrow().column("offset").to_pylist()
    except ls.RecordBatchError as error:
        yield error


def test_readers_give_what_is_before_it_and_then_the_error(cut: tuple[Path, Path, int]):
    prefix, path, position = cut
    log = ls.Log(prefix)
    (segment,) = (segment for segment in log.segments if segment.base_offset == int(path.name[:20]))
    kept = [row["offset"] for row in ls.decode(path.read_bytes(), columns=["offset"]).read_all().to_pylist()]
    *found, error = given(log.records(columns=["offset"]))
    assert found[-len(kept) :] == kept
    assert (type(error), error.rule, error.position) == (ls.TruncatedError, "L8-14", position)
    assert str(error).startswith(f"{path}: ")
    for stream in (segment.records(columns=["offset"]), ls.decode(ls.FileSource(segment.path), columns=["offset"])):
        *found, error = given(stream)
        assert (found, type(error)) == (kept, ls.TruncatedError)
    with pytest.raises(ls.TruncatedError):
        log.batches()
    with pytest.raises(ls.TruncatedError):
        log.batches(check_crc=False)
    with pytest.raises(ls.TruncatedError):
        ls.polars.scan(prefix).select("offset").collect()
    with pytest.raises(ls.TruncatedError):
        [*Search(Conditions(keys=[b"none"])).places(find_segments(prefix))]
    done = run("cat", prefix, "--columns", "offset")
    assert (done.code, done.lines[-1]["offset"]) == (1, kept[-1])
    assert done.err.count("the entry is cut short") == 1


def test_who_goes_on_past_damage_gets_a_finding(cut: tuple[Path, Path, int]):
    prefix, path, position = cut
    log = ls.Log(prefix)
    streams = [log.records(columns=["offset"], on_error="skip").read_all(), log.batches(on_error="skip")]
    streams += [log.batches(on_error="skip", check_crc=False), log.validate()]
    for stream in streams:
        errors = [finding for finding in stream.findings if finding.severity == "error"]
        assert [(finding.rule, finding.position, finding.path.partition("@")[0]) for finding in errors] == [
            ("L8-14", position, f"{path}/entry" if "entry" in errors[0].path else str(path))
        ]
    last = [row["offset"] for row in streams[0].to_pylist()][-1]
    assert last >= 64, "the last segment, or what is in front of its cut"
    done = run("cat", prefix, "--columns", "offset", "--on-error", "skip")
    assert (done.code, done.lines[-1]["offset"]) == (1, last)


def test_verify_calls_it_damaged(cut: tuple[Path, Path, int]):
    prefix, path, position = cut
    done = run("verify", prefix)
    assert done.code == 1
    assert done.text.count("DAMAGED, 1 error") == 1
    assert "usual while a broker writes" not in done.text
    done = run("verify", prefix, "--json")
    summary = next(line for line in done.lines if line["type"] == "summary" and line["file"] == str(path))
    assert (summary["state"], [place["position"] for place in summary["lost"]]) == ("damaged", [position])
    done = run("salvage", prefix, "--output", prefix.parent / "saved")
    assert done.code == 3


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_whole_is_read_as_before(layout: str, tmp_path: Path):
    LAYOUTS[layout](tmp_path)
    here, there = ls.Log(tmp_path / "source"), ls.Log(tmp_path / "prefix")
    for options in ({}, {"isolation": "read_committed"}):
        assert there.records(**options).read_all().to_pylist() == here.records(**options).read_all().to_pylist()
    assert [finding for finding in there.validate().findings if finding.severity != "info"] == []
    done = run("verify", tmp_path / "prefix")
    assert (done.code, "IDX-4" in done.text) == (0, False)


def test_the_segments_of_pinterest_are_uploads(tmp_path: Path):
    """TS-80 to TS-83: their folder has a mark."""
    paths = of_pinterest(tmp_path)
    found = ls.tiered.uploads(tmp_path / "prefix")
    assert [
        (segment.path, segment.topic, segment.topic_id, segment.partition, segment.base_offset, segment.state, segment.size)
        for segment in found
    ] == [(str(path), "payments", None, 0, int(path.stem), "finished", path.stat().st_size) for path in paths]
    stats: dict[str, int] = {}
    ls.polars.scan(tmp_path / "prefix", io_stats=stats).collect()
    assert stats["bytes_fetched"] >= sum(path.stat().st_size for path in paths)
    assert stats["range_requests"] >= len(paths)


#: The rules of segments that end inside a batch: before another one, and the last one.
RULES = ("SEG-23", "L8-14")


@pytest.mark.parametrize("name", ["payments-0", "no partition"])
def test_a_local_segment_that_others_follow_was_cut_as_well(name: str, tmp_path: Path):
    """SEG-23: a broker writes to the last one only, whose torn tail is no error."""
    directory = source(tmp_path).rename(tmp_path / name)
    second, last = (sorted(directory.glob("*.log"))[number] for number in (SECOND, LAST))
    last.write_bytes(DAMAGE["cut"](last.read_bytes()))
    done = run("verify", directory)
    assert (done.code, done.text.count("usual while a broker writes"), done.text.count("CUT SHORT")) == (0, 1, 0)
    whole = second.read_bytes()
    second.write_bytes(DAMAGE["cut"](whole))
    log = ls.Log(directory)
    with pytest.raises(ls.TruncatedError, match="SEG-23"):
        log.records(columns=["offset"]).read_all()
    stream = log.records(columns=["offset"], on_error="skip")
    given_offsets = [row["offset"] for row in stream.read_all().to_pylist()]
    assert given_offsets[-1] > int(last.stem), "reads go on"
    expected = [("SEG-23", "error", str(second)), ("L8-14", "info", str(last))]
    for findings in (stream.findings, log.validate().findings):
        assert [
            (finding.rule, finding.severity, finding.path.rpartition("/entry@")[0]) for finding in findings if finding.rule in RULES
        ] == expected
    done = run("verify", directory)
    counted = [done.text.count(words) for words in ("DAMAGED, ", "Another segment follows", "usual while a broker writes")]
    assert (done.code, counted) == (1, [1, 1, 1])
    assert run("verify", "--strict-tail", directory).code == 1
    done = run("verify", "--json", directory)
    assert [(line["rule"], line["severity"], line["file"]) for line in done.lines if line.get("rule") in RULES] == expected
    summary = next(line for line in done.lines if line["type"] == "summary" and line["file"] == str(second))
    assert (summary["state"], [place["position"] for place in summary["lost"]]) == ("damaged", [middle(whole)])
