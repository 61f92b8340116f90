"""Promises of SECURITY.md without tests elsewhere: inputs stay as they are, a shrinking file is an error, limits are per batch."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import building
import corpus
import logsegment as ls
import rights

#: Of one batch; the file is read a MiB at a time.
COUNT, VALUE = 16, b"v" * 4000
BATCHES = 200


@pytest.fixture
def segment() -> Iterator[Path]:
    """A dozen MiB, more than any reader has at hand. Not in `tmp_path`: another run of pytest closes that to other users."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{0:020}.log"
        path.write_bytes(b"".join(batch_at(index * COUNT) for index in range(BATCHES)))
        yield path


def batch_at(offset: int) -> bytes:
    """The same records everywhere: the checksum is not of the base offset."""
    return offset.to_bytes(8, "big") + first_batch()[8:]


@cache
def first_batch() -> bytes:
    return building.batch(b"".join(building.record(value=VALUE, offset_delta=delta) for delta in range(COUNT)), count=COUNT)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("beyond", [0, 100], ids=["between-batches", "in-a-batch"])
def test_a_file_that_is_cut_while_it_is_read_is_an_error(segment: Path, beyond: int, on_error: Any, threads: int):
    """The end of what is left must not pass for the end of the log, not even where a batch ends."""
    whole = segment.stat().st_size
    cut = whole // BATCHES * (BATCHES - 10) + beyond
    stream = ls.decode(ls.FileSource(segment), columns=["offset"], batch_size=COUNT, on_error=on_error, threads=threads)
    rows = [next(stream).num_rows]
    os.truncate(segment, cut)
    told = rf"the file was truncated to {cut} bytes or less while it was read; it had {whole} when it was opened"
    with pytest.raises(OSError, match=told):
        rows.extend(batch.num_rows for batch in stream)
    assert sum(rows) <= COUNT * (BATCHES - 10)


CUT_IN_A_PROCESS = """
import os, pathlib, sys
import logsegment as ls
directory = pathlib.Path(sys.argv[1])
closed = sorted(directory.glob("*.log"))[0]
stream = READ
next(stream)
os.truncate(closed, 0)
try:
    rows = sum(batch.num_rows for batch in stream)
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    "read",
    [
        "ls.Log(directory).segments[0].records(batch_size=16)",
        "ls.Segment(closed).records(batch_size=16)",
    ],
)
def test_a_closed_segment_that_a_broker_truncates_kills_no_process(segment: Path, read: str):
    """A follower truncates its log to that of a new leader, closed segments included."""
    (segment.parent / f"{BATCHES * COUNT:020}.log").write_bytes(batch_at(BATCHES * COUNT))
    command = [sys.executable, "-c", CUT_IN_A_PROCESS.replace("READ", read), str(segment.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done
    assert "the file was truncated to" in done.stdout


def test_a_file_that_grows_while_it_is_read_is_no_error(segment: Path):
    stream = ls.decode(ls.FileSource(segment), columns=["offset"], batch_size=COUNT)
    rows = next(stream).num_rows
    with segment.open("ab") as out:
        out.write(batch_at(BATCHES * COUNT))
    rows += sum(batch.num_rows for batch in stream)
    # What was appended behind the length that it had is not part of it.
    assert rows == BATCHES * COUNT


@pytest.mark.parametrize("zeros", [0, 64 << 20], ids=["empty", "preallocated"])
def test_the_first_batches_of_a_file_are_no_part_of_a_read_that_began_before(tmp_path: Path, zeros: int):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"")
    os.truncate(path, zeros)
    stream = ls.decode(ls.FileSource(path), columns=["offset"])
    with path.open("r+b") as out:
        out.write(batch_at(0))
    assert sum(batch.num_rows for batch in stream) == 0
    assert [(finding.rule, finding.position, finding.length) for finding in stream.findings] == ([("FND-17", 0, zeros)] if zeros else [])
    assert ls.decode(ls.FileSource(path), columns=["offset"]).to_pyarrow().num_rows == COUNT


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_preallocated_file_that_is_trimmed_while_it_is_read_is_no_error(segment: Path, on_error: Any):
    """A broker cuts off the zeros when it rolls the segment (`preallocate=true`)."""
    whole, zeros = segment.stat().st_size, 64 << 20
    os.truncate(segment, whole + zeros)
    stream = ls.decode(ls.FileSource(segment), columns=["offset"], batch_size=COUNT, on_error=on_error, threads=1)
    rows = next(stream).num_rows
    os.truncate(segment, whole)
    assert rows + sum(batch.num_rows for batch in stream) == BATCHES * COUNT
    assert [(finding.rule, finding.position, finding.length) for finding in stream.findings] == [("FND-17", whole, zeros)]


def test_a_preallocated_file_that_loses_more_than_zeros_is_an_error(segment: Path):
    whole = segment.stat().st_size
    os.truncate(segment, whole + (64 << 20))
    stream = ls.decode(ls.FileSource(segment), columns=["offset"], batch_size=COUNT, threads=1)
    next(stream)
    os.truncate(segment, whole // BATCHES * (BATCHES - 10))
    with pytest.raises(OSError, match="the file was truncated to"):
        sum(batch.num_rows for batch in stream)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that somebody reads")
def test_a_file_that_is_deleted_while_it_is_read_is_read_to_its_end(segment: Path):
    stream = ls.decode(ls.FileSource(segment), columns=["offset"], batch_size=COUNT)
    rows = next(stream).num_rows
    segment.unlink()
    assert rows + sum(batch.num_rows for batch in stream) == BATCHES * COUNT
    with pytest.raises(FileNotFoundError):
        next(ls.decode(ls.FileSource(segment)))


READING: dict[str, Callable[[ls.FileSource], Any]] = {
    "decode": lambda source: ls.decode(source).read_all(),
    "skip": lambda source: ls.decode(source, on_error="skip").read_all(),
    "batches": lambda source: ls.batches(source).to_pylist(),
    "validate": ls.validate,
    "convert": lambda source: ls.convert(source, compression="lz4"),
    "salvage": ls.salvage,
    "inspect": lambda source: ls.inspect(source),
}


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="rights are those of Unix")
@pytest.mark.parametrize("verb", READING)
def test_inputs_are_opened_read_only_and_stay_as_they_are(segment: Path, verb: str):
    """By a user who may not write to them, nor beside them."""
    before = (segment.read_bytes(), segment.stat().st_mtime_ns)
    segment.parent.chmod(0o755)
    # What is imported on the way may be closed to that user.
    READING[verb](ls.FileSource(segment))
    with rights.closed(segment, 0o444):
        READING[verb](ls.FileSource(segment))
    assert (segment.read_bytes(), segment.stat().st_mtime_ns) == before
    assert [path.name for path in segment.parent.iterdir()] == [segment.name]


def test_a_batch_over_a_limit_is_left_out_with_its_bytes_and_offset_and_scanning_goes_on():
    """COD-6: with `unreadable="skip"` the reader goes on with the next batch; what is left out is told by position and offset."""
    large = building.batch(b"".join(building.record(offset_delta=delta) for delta in range(50)), count=50, base_offset=2)
    data = b"".join([batch_of_two(0), large, batch_of_two(52)])
    limits = ls.Limits(max_records=10)
    with pytest.raises(ls.LimitError, match="50 is over the limit max_records = 10") as raised:
        ls.decode(data, limits=limits).read_all()
    assert (raised.value.position, raised.value.base_offset) == (len(batch_of_two(0)), 2)
    with pytest.raises(ls.LimitError):
        ls.decode(data, limits=limits, on_error="skip").read_all()
    stream = ls.decode(data, columns=["offset"], limits=limits, unreadable="skip")
    assert [row["offset"] for row in corpus.rows_of(stream)] == [0, 1, 52, 53]
    (finding,) = stream.findings
    assert (finding.position, finding.length) == (len(batch_of_two(0)), len(large))
    assert (finding.rule, finding.base_offset) == ("COD-6", 2)


def batch_of_two(offset: int) -> bytes:
    return building.batch(building.record() + building.record(offset_delta=1), count=2, base_offset=offset)
