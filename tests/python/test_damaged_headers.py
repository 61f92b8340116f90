"""A header that cannot be read costs a look-up the offsets that may have been behind it, and no others, with an index and without one."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import corpus
import logsegment as ls
from cli_process import run
from logsegment.searching import Search, Wanted
from logsegment.segments import find_segments

SOURCE = corpus.CORPUS / "modern-4.1.0/data/multi-segment-0"
NAME = f"{64:020}.log"


@pytest.fixture(params=["index", "no index"])
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, range]:
    """A log directory, and the offsets of the batch in its third segment whose magic is none."""
    directory = Path(shutil.copytree(SOURCE, tmp_path / "multi-segment-0"))
    path = directory / NAME
    rows = ls.batches(ls.FileSource(path)).to_pylist()
    hit = rows[len(rows) // 2]
    data = bytearray(path.read_bytes())
    data[hit["position"] + 16] ^= 0x55
    path.write_bytes(data)
    if request.param == "no index":
        path.with_suffix(".index").unlink()
    return directory, range(hit["baseOffset"], hit["lastOffset"] + 1)


def offsets(stream: ls.RecordStream) -> list[int]:
    return [row["offset"] for row in stream.read_all().to_pylist()]


def test_all_other_offsets_are_looked_up(damaged: tuple[Path, range]):
    directory, lost = damaged
    log = ls.Log(directory)
    segment = next(one for one in log.segments if one.base_offset == 64)
    end = ls.Log(SOURCE).segments[-1].next_offset()
    for offset in range(64, end):
        stream = log.records(columns=["offset"], start_offset=offset, end_offset=offset + 1)
        if offset in lost:
            with pytest.raises(ls.CorruptError):
                stream.read_all()
        else:
            assert offsets(stream) == [offset]
    assert offsets(segment.records(columns=["offset"], start_offset=lost.stop)) == [*range(lost.stop, end)]
    frame = ls.polars.scan(directory).filter(pl.col("offset") >= lost.stop).select("offset").collect()
    assert frame["offset"].to_list() == [*range(lost.stop, end)]
    with pytest.raises(ls.CorruptError):
        log.records(columns=["offset"]).read_all()


def test_find_and_cat_do_the_same(damaged: tuple[Path, range]):
    directory, lost = damaged
    (place,) = Search(Wanted(start_offset=lost.stop + 1, end_offset=lost.stop + 2)).places(find_segments(directory))
    assert place.offset == lost.stop + 1
    done = run("cat", directory, "--offset", f"{lost.stop}..", "--columns", "offset")
    assert (done.code, done.lines[0]["offset"], done.err) == (0, lost.stop, "")
    for verb, code in (("cat", 1), ("find", 2)):
        done = run(verb, directory, "--offset", str(lost[0]))
        assert (done.code, done.out) == (code, b""), verb
        assert "magic 87 belongs to no record format" in done.err
