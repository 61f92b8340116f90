"""`logsegment cat --tail`: the last records that `cat` would write of each partition, from the end of the log."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import corpus
import logsegment as ls
from cli_process import CODEC, CODEC_FILE, DAMAGED, MODERN, TRANSACTIONS, Done, offsets, run
from logsegment._read.records import TAIL_BYTES
from made_logs import make_partition

MULTI = MODERN / "multi-segment-0"
#: A partition of each old release.
LEGACY = [min(path for path in root.glob("*-0") if path.is_dir()) for root in sorted(corpus.CORPUS.glob("legacy-*/data"))]


def tail(lines: list[bytes], most: int) -> bytes:
    return b"".join(lines[-most:]) if most else b""


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--offset", "10..80", "--iso"],
        ["--isolation", "read_committed", "--threads", "2"],
        ["--control", "--columns", "offset,controlType"],
        ["--since", "1700000000000", "--on-error", "skip"],
    ],
)
def test_the_tail_is_the_end_of_what_cat_writes(options: list[str]):
    """Transactions and compaction leave holes among the offsets, and a segment may hold no wanted record."""
    for path in (TRANSACTIONS, MODERN / "compacted-transactions-0", CODEC_FILE):
        whole = run("cat", path, *options)
        assert len(whole.lines) > 3
        for most in (3, 50):
            done = run("cat", path, "--tail", str(most), *options)
            assert (done.code, done.out) == (0, tail(whole.out.splitlines(keepends=True), most))


@pytest.mark.parametrize("path", LEGACY, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_old_formats_have_tails(path: Path):
    whole = run("cat", path, "--quiet")
    done = run("cat", path, "--tail", "3", "--quiet")
    assert (done.code, done.out) == (whole.code, tail(whole.out.splitlines(keepends=True), 3))
    assert len(whole.lines) > 3


def test_every_partition_has_its_own_tail():
    whole = run("cat", MODERN, "--quiet")
    done = run("cat", MODERN, "--tail", "2", "--quiet")
    assert done.code == whole.code == 0
    expected: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    for line, text in zip(whole.lines, whole.out.splitlines(keepends=True), strict=True):
        expected[line["topic"], line["partition"]].append(text)
    assert done.out == b"".join(tail(lines, 2) for lines in expected.values())
    assert len(expected) > 20
    chosen = run("cat", MODERN, "--tail", "2", "--topic", "multi-segment", "--partition", "1")
    assert {(line["topic"], line["partition"]) for line in chosen.lines} == {("multi-segment", 1)}
    assert len(chosen.lines) == 2


def test_segments_that_are_named_are_of_their_partition(tmp_path: Path):
    segments = sorted(MULTI.glob("*.log"))
    assert len(segments) > 2
    assert run("cat", *segments, "--tail", "5").out == run("cat", MULTI, "--tail", "5").out
    assert offsets(run("cat", *segments[:2], "--tail", "1")) == [int(segments[2].stem) - 1]
    # Files of no partition are partitions of their own.
    for name in ("a.log", "b.log"):
        shutil.copyfile(CODEC_FILE, tmp_path / name)
    assert offsets(run("cat", tmp_path / "a.log", tmp_path / "b.log", "--tail", "2")) == [238, 239] * 2


@pytest.mark.parametrize("options", [[], ["--key", "key-7"], ["--redact-key", str(CODEC_FILE)], ["--isolation", "read_committed"]])
def test_a_stream_has_a_tail(options: list[str]):
    data = CODEC_FILE.read_bytes()
    whole = run("cat", "-", *options, stdin=data)
    done = run("cat", "-", "--tail", "3", *options, stdin=data)
    assert (done.code, done.out) == (0, tail(whole.out.splitlines(keepends=True), 3))


@pytest.fixture
def long_log(tmp_path: Path) -> Path:
    """Two segments of several times the bytes that are read first; every seventh offset exists."""
    first = list(range(0, 21_000, 7))
    make_partition(tmp_path, "orders", 0, [first, [21_000 + item for item in first]], value_bytes=TAIL_BYTES // 600, batch_bytes=8000)
    directory = tmp_path / "orders-0"
    assert all(path.stat().st_size > 4 * TAIL_BYTES for path in directory.glob("*.log"))
    return directory


def damage(segment: Path, position: int) -> None:
    """Flip a byte of the value of the first batch at or after a position."""
    data = bytearray(segment.read_bytes())
    at = next(row["position"] for row in ls.batches(bytes(data)).to_pylist() if row["position"] >= position)
    data[at + 200] ^= 1
    segment.write_bytes(data)


@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_batches_before_the_tail_are_not_read(long_log: Path, has_index: bool, on_error: str):
    first, last = sorted(long_log.glob("*.log"))
    for path in long_log.iterdir() if not has_index else ():
        if path.suffix != ".log":
            path.unlink()
    damage(last, last.stat().st_size // 3)
    # Nothing is opened of a segment before that of the tail, apart from its first header.
    first.write_bytes(first.read_bytes()[:61])
    whole = list(range(21_000, 42_000, 7))
    done = run("cat", long_log, "--tail", "40", "--columns", "offset", "--on-error", on_error)
    assert (done.code, offsets(done)) == (0, whole[-40:])
    far = run("cat", long_log, "--tail", "2900", "--columns", "offset", "--on-error", on_error)
    if on_error == "raise":
        assert (far.code, far.out) == (1, b"")
        assert str(last) in far.err
    else:
        kept = [line["offset"] for line in run("cat", last, "--columns", "offset", "--on-error", "skip").lines]
        assert (far.code, offsets(far)) == (1, kept[-2900:])
        assert "skip" not in done.err


def test_records_are_looked_for_in_earlier_segments(long_log: Path):
    done = run("cat", long_log, "--tail", "3005", "--columns", "offset")
    assert (done.code, offsets(done)) == (0, list(range(20_965, 42_000, 7)))
    assert offsets(run("cat", long_log, "--tail", "3", "--offset", "..21000", "--columns", "offset")) == [20_979, 20_986, 20_993]
    # A time that only the first records have.
    first = run("cat", long_log, "--limit", "4", "--columns", "offset,timestamp").lines
    done = run("cat", long_log, "--tail", "2", "--until", str(first[3]["timestamp"]), "--columns", "offset,timestamp")
    assert done.lines == first[1:3]


def test_damage_in_the_tail_is_skipped_and_reported():
    whole = run("cat", DAMAGED, "--on-error", "skip")
    done = run("cat", DAMAGED, "--on-error", "skip", "--tail", "4")
    assert (done.code, offsets(done)) == (1, [1, 2, 1000, 1001])
    assert done.err == whole.err != ""
    piped = run("cat", "-", "--on-error", "skip", "--tail", "4", stdin=DAMAGED.read_bytes())
    assert (piped.code, offsets(piped)) == (1, [1, 2, 1000, 1001])
    strict = run("cat", DAMAGED, "--tail", "4")
    assert (strict.code, strict.out) == (1, b"")


def test_a_segment_that_contradicts_its_name_is_reported(tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [list(range(100)), list(range(100, 200))])
    directory = tmp_path / "orders-0"
    (directory / f"{100:020}.log").rename(directory / f"{150:020}.log")
    done = run("cat", directory, "--tail", "3", "--on-error", "skip", "--columns", "offset")
    assert (done.code, offsets(done)) == (1, [197, 198, 199])
    assert "SEG-1" in done.err


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_file_has_the_rows_of_the_lines(kind: str, tmp_path: Path):
    out = tmp_path / f"out.{kind}"
    done = run("cat", CODEC, MULTI, "--tail", "5", "--key", "key-1", f"--{kind}", out)
    lines = run("cat", CODEC, MULTI, "--tail", "5", "--key", "key-1").lines
    assert (done.code, read_offsets(kind, out)) == (0, [line["offset"] for line in lines])
    assert f"wrote {len(lines)} records" in done.err
    none = run("cat", CODEC, "--tail", "0", f"--{kind}", out, "--overwrite")
    assert (none.code, read_offsets(kind, out)) == (0, [])


def read_offsets(kind: str, path: Path) -> list[int]:
    import pyarrow as pa

    table = pq.read_table(path) if kind == "parquet" else pa.ipc.open_file(path).read_all()
    return [*table["offset"].to_pylist()]


def test_the_first_and_the_last_records_are_not_asked_for_together():
    done: Done = run("cat", CODEC, "--tail", "3", "--limit", "2")
    assert (done.code, done.out) == (2, b"")
    assert "only one of --limit" in done.err
    assert run("cat", CODEC, "--tail", "-1").code == 2
    none = run("cat", CODEC, "--tail", "0")
    assert (none.code, none.out) == (0, b"")
