"""SEG-22: segments with offsets more than 2^31 - 1 above their names are read, warned of, and split as a broker splits them."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpus
import logsegment as ls
from building import message, simple_batch
from cli_process import run
from damage import long_search

FIND = Path(__file__).parents[2] / "finds/offset-overflow/overflow-0"
MOST = 2**31 - 1
NAME = "00000000000000000000.log"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A partition whose only segment has offsets 0, 3,000,000,000 and 3,000,000,001."""
    return Path(shutil.copytree(FIND, tmp_path / "wide-0"))


OFFSETS = [0, 3_000_000_000, 3_000_000_001]


def offsets_of(directory: Path) -> list[int]:
    return ls.Log(directory).records(columns=["offset"]).to_pyarrow()["offset"].to_pylist()


def segments(directory: Path) -> dict[int, list[int]]:
    """Return the base offset of each segment and its offsets, which must fit into its index."""
    found = {}
    for path in sorted(directory.glob("*.log")):
        offsets = ls.decode(path.read_bytes(), columns=["offset"]).to_pyarrow()["offset"].to_pylist()
        found[int(path.stem)] = offsets
        assert not offsets or offsets[-1] - int(path.stem) <= MOST
        assert path.with_suffix(".index").exists()
    return found


def as_a_broker(name: int, entries: list[tuple[int, int]], *, keeps_name: bool = False) -> list[list[int]]:
    """Return the base offsets of the batches of each segment after a load: `UnifiedLog.splitOverflowedSegment`.

    With `keeps_name` the first segment is still named `name` and has the offsets that an index can count from there.
    """
    if not entries or entries[-1][1] - name <= MOST:
        return [[first for first, _ in entries]]
    made: list[list[int]] = []
    start = name if keeps_name and entries[0][1] - name <= MOST else entries[0][0]
    for first, last in entries:
        if made and last - start <= MOST:
            made[-1].append(first)
        else:
            start = first if made else start
            made.append([first])
    return made


def test_all_readers_read_all_records(wide: Path) -> None:
    assert offsets_of(wide) == OFFSETS
    assert ls.polars.scan(wide).collect()["offset"].to_list() == OFFSETS
    wide_rows = ls.Log(wide).records(columns=["offset"])  # noqa: F841
    assert [row[0] for row in duckdb.sql('select "offset" from wide_rows order by 1').fetchall()] == OFFSETS
    done = run("cat", wide, "--columns", "offset")
    assert [json.loads(line)["offset"] for line in done.out.splitlines()] == OFFSETS
    for at, offset in enumerate(OFFSETS):
        rows = ls.Log(wide).records(start_offset=offset, columns=["offset"]).to_pyarrow()["offset"].to_pylist()
        assert rows == OFFSETS[at:]


def test_verify_warns_once_and_names_split(wide: Path) -> None:
    done = run("verify", wide)
    assert (done.code, done.out.count(b"SEG-22"), b"logsegment split" in done.out) == (0, 1, True), done.out
    assert run("verify", wide, "--fail-on", "warning").code == 1
    for report in (ls.Log(wide).validate(), ls.Segment(wide / NAME).validate()):
        found = [finding for finding in report.findings if finding.rule == "SEG-22"]
        assert [(finding.severity, finding.base_offset, finding.position) for finding in found] == [("warning", 3_000_000_000, 70)]


@pytest.mark.parametrize(
    "verb", [["salvage"], ["convert"], ["rewrite", "--drop", "offsets=9..10"], ["compact"], ["split", "--bytes", str(MOST)]]
)
def test_writers_split_it_and_lose_nothing(verb: list[str], wide: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(*verb, wide, "--output", out)
    assert done.code == 0, done.err
    # The last record has the key of the first one.
    first = [] if verb == ["compact"] else [0]
    assert segments(out / "wide-0") == {0: first, 3_000_000_000: OFFSETS[1:]}
    assert offsets_of(out / "wide-0") == [*first, *OFFSETS[1:]]
    assert b"SEG-22" not in run("verify", out).out
    again = run(verb[0], *verb[1:], out, "--output", tmp_path / "again")
    assert again.code == 0
    assert segments(tmp_path / "again/wide-0").keys() == segments(out / "wide-0").keys()


def test_salvage_names_the_new_segments(wide: Path, tmp_path: Path) -> None:
    text = run("salvage", wide, "--output", tmp_path / "a")
    assert "[SEG-22]" in text.err
    assert "wrote 2 segments" in text.err
    lines = [json.loads(line) for line in run("salvage", "--json", wide, "--output", tmp_path / "b").out.splitlines()]
    assert [line["rule"] for line in lines if line["type"] == "finding"] == ["SEG-22"]


def test_the_first_part_is_named_after_its_first_batch(tmp_path: Path) -> None:
    """No offset of the segment is near its name."""
    wide = tmp_path / "wide-0"
    wide.mkdir()
    (wide / NAME).write_bytes(simple_batch([b"a"], 5_000_000_000) + simple_batch([b"b"], 5_000_000_001))
    for verb in (["salvage"], ["convert"], ["split", "--bytes", str(MOST)]):
        out = tmp_path / verb[0]
        assert run(*verb, wide, "--output", out).code == 0
        assert segments(out / "wide-0") == {5_000_000_000: [5_000_000_000, 5_000_000_001]}


def test_a_segment_without_a_whole_batch_is_not_cut(tmp_path: Path) -> None:
    """The first header claims the bytes of the second one, which has a damaged base offset, and the index leads there."""
    with pytest.raises(ls.CorruptError, match="SWALLOWED"):
        ls.rewrite(corpus.TESTS / "finds/no-whole-batch/orders-0", tmp_path / "out", drop=[b"no such key"])


def test_a_rewrite_accounts_for_each_part(wide: Path, tmp_path: Path) -> None:
    done = ls.rewrite(wide, tmp_path / "out", drop=ls.Selection(offsets=range(3_000_000_000, 3_000_000_001)))
    assert [Path(file.output or "").name for file in done.files] == [NAME, "00000000003000000000.log"]
    assert [file.input_bytes for file in done.files] == [70, 140]
    assert offsets_of(tmp_path / "out/wide-0") == [0, 3_000_000_001]


def test_compressed_messages_are_split_too(tmp_path: Path) -> None:
    """The base offset of a compressed set is not in its header."""
    wide = tmp_path / "wide-0"
    wide.mkdir()
    values = pa.table({"value": [b"a", b"b", b"c"]})
    far = bytes(ls.encode(values, format="v1", compression="gzip", base_offset=4_000_000_000))
    (wide / NAME).write_bytes(message(b"x", magic=1, offset=0) + far)
    expected = [0, 4_000_000_000, 4_000_000_001, 4_000_000_002]
    for verb in (["salvage"], ["convert", "--to", "v1"], ["split", "--bytes", str(MOST)]):
        out = tmp_path / verb[0]
        assert run(*verb, wide, "--output", out).code == 0
        assert offsets_of(out / "wide-0") == expected
        assert len(segments(out / "wide-0")) == 2


@pytest.mark.slow
@long_search
@given(st.integers(0, 1 << 32))
def test_generated_segments_are_split_as_a_broker_does(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    root = tmp_path_factory.mktemp("wide")
    wide = root / "wide-0"
    wide.mkdir()
    offset, entries = rng.choice([0, 10]), []
    data = b""
    for _ in range(rng.randint(1, 6)):
        count = rng.randint(1, 3)
        data += simple_batch([b"v"] * count, offset)
        entries.append((offset, offset + count - 1))
        offset += count + rng.choice([0, 0, 1 << 30, MOST - 1, MOST, 1 << 33])
    (wide / NAME).write_bytes(data)
    ls.split(wide, root / "split", bytes=MOST)
    ls.rewrite(wide, root / "rewrite", drop=[b"none"])
    for kind in ("split", "rewrite"):
        made = segments(root / kind / "wide-0")
        bases = [[first for first, _ in entries if first in offsets] for offsets in made.values()]
        assert bases == as_a_broker(0, entries, keeps_name=kind == "split")
    shutil.rmtree(root)
