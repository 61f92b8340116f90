"""A damaged header costs a look-up the offsets that may be behind it, and a read that goes on its own batch, with an index or without."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import corpus
import logsegment as ls
from cli_process import run
from logsegment.analysis.find import Conditions, Search
from logsegment.segment_files.discovery import find_segments

SOURCE = corpus.CORPUS / "modern-4.1.0/data/multi-segment-0"
NAME = f"{64:020}.log"


#: A byte of a header, and the bits of it that are flipped.
FIELDS = {
    "base offset": (0, 0x10),
    "far too long": (9, 0x01),
    "another length": (11, 0x10),
    "negative": (8, 0x80),
    "magic": (16, 0x55),
    "checksum": (17, 0x01),
    "codec": (22, 0x03),
    "ends far behind": (23, 0x40),
    "ends elsewhere": (26, 0x3F),
    "count": (57, 0x40),
}


def with_damage(tmp_path: Path, field: str, *, is_indexed: bool) -> tuple[Path, range]:
    """A log directory, and the offsets of the batch in its third segment of whose header a byte is another one."""
    directory = Path(shutil.copytree(SOURCE, tmp_path / "multi-segment-0"))
    path = directory / NAME
    rows = ls.batches(ls.FileSource(path)).to_pylist()
    hit = rows[len(rows) // 2]
    data = bytearray(path.read_bytes())
    at, bits = FIELDS[field]
    data[hit["position"] + at] ^= bits
    path.write_bytes(data)
    if not is_indexed:
        path.with_suffix(".index").unlink()
    return directory, range(hit["baseOffset"], hit["lastOffset"] + 1)


@pytest.fixture(params=["index", "no index"])
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, range]:
    """One whose magic is none."""
    return with_damage(tmp_path, "magic", is_indexed=request.param == "index")


def offsets(stream: ls.RecordStream) -> list[int]:
    return [row["offset"] for row in stream.read_all().to_pylist()]


def test_all_other_offsets_are_looked_up(damaged: tuple[Path, range]):
    directory, lost = damaged
    log = ls.Log(directory)
    segment = next(segment for segment in log.segments if segment.base_offset == 64)
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
    (place,) = Search(Conditions(start_offset=lost.stop + 1, end_offset=lost.stop + 2)).places(find_segments(directory))
    assert place.offset == lost.stop + 1
    done = run("cat", directory, "--offset", f"{lost.stop}..", "--columns", "offset")
    assert (done.code, done.lines[0]["offset"], done.err) == (0, lost.stop, "")
    for verb, code in (("cat", 1), ("find", 2)):
        done = run(verb, directory, "--offset", str(lost[0]))
        assert (done.code, done.out) == (code, b""), verb
        assert "magic 87 is not a known" in done.err


def doors(directory: Path, start: int | None, end: int | None, **options: Any) -> dict[str, Callable[[], list[int]]]:
    """What gives the offsets of a log that are wanted."""
    bounds: dict[str, Any] = {"columns": ["offset"], "start_offset": start, "end_offset": end, "on_error": "skip", **options}
    wanted = (pl.lit(True) if start is None else pl.col("offset") >= start) & (pl.lit(True) if end is None else pl.col("offset") < end)

    def scanned() -> list[int]:
        frame = ls.polars.scan(directory, on_error="skip", **options).filter(wanted).select("offset")
        return list(frame.collect()["offset"].to_list())

    return {
        "log": lambda: offsets(ls.Log(directory).records(**bounds)),
        "segment": lambda: [offset for segment in ls.Log(directory).segments for offset in offsets(segment.records(**bounds))],
        "polars": scanned,
    }


@pytest.mark.parametrize("is_indexed", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("field", FIELDS)
def test_who_goes_on_past_it_loses_its_batch_only(field: str, is_indexed: bool, tmp_path: Path):
    """A header with a wrong checksum says nothing of what stands behind it, whichever door asks."""
    directory, lost = with_damage(tmp_path, field, is_indexed=is_indexed)
    whole = ls.Log(directory).records(columns=["offset"], on_error="skip").read_all()
    kept = [row["offset"] for row in whole.to_pylist()]
    last = ls.Log(SOURCE).segments[-1].next_offset()
    assert [offset for offset in kept if offset < last] == [offset for offset in range(last) if offset not in lost]
    for start, end in [(64, last), (None, lost.stop + 3), (lost[0] - 2, lost.stop), (lost.stop, lost.stop + 5), (lost.stop + 4, last)]:
        expected = [offset for offset in kept if (start is None or offset >= start) and offset < end]
        for isolation in ("read_uncommitted", "read_committed"):
            for name, door in doors(directory, start, end, isolation=isolation).items():
                assert door() == expected, (name, start, end, isolation)
    for start, end in [(lost[0] - 2, lost.stop + 2), (lost.stop, last)]:
        done = run("cat", directory, "--offset", f"{start}..{end}", "--columns", "offset", "--on-error", "skip")
        assert [line["offset"] for line in done.lines] == [offset for offset in kept if start <= offset < end], (start, end)
