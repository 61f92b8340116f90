"""`logsegment follow`: each record of a growing log once, over rolls, torn ends, cuts and deleted segments."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_process import run, start
from counted_bytes import bytes_read, counting
from growing import GrowingLog
from logsegment._decode import decoded
from logsegment._options import ReadOptions
from logsegment.partition.follow import Follower, Piece
from logsegment.segment_files.discovery import find_segments

#: Longer than any look takes on a machine that is busy; nothing waits for it when all is well.
PATIENCE = 60


@pytest.fixture
def log(tmp_path: Path) -> GrowingLog:
    log = GrowingLog(tmp_path)
    log.append(3, 2)
    return log


class Watched:
    """A follower in the test's own process, looked with when the test says so."""

    def __init__(self, log: GrowingLog, start: int | None, wait: float = 0.0) -> None:
        self.log, self.follower = log, Follower(start, ReadOptions(), wait)

    def look(self) -> tuple[list[tuple[int | None, int | None]], list[str]]:
        told = list(self.follower.look(find_segments(self.log.directory)))
        return [offsets_of(item) for item in told if isinstance(item, Piece)], [item for item in told if isinstance(item, str)]


def offsets_of(piece: Piece) -> tuple[int | None, int | None]:
    _, options = piece.part
    return options.bounds


def test_new_records_are_shown_once_across_rolled_segments(log: GrowingLog):
    watched = Watched(log, None)
    assert watched.look() == watched.look() == ([], [])
    log.append(4)
    assert watched.look() == ([(5, 9)], [])
    log.append(1)
    log.roll()
    log.append(2, 2)
    log.roll()
    assert watched.look() == ([(9, 10), (10, 14)], [])
    log.append(1)
    assert [watched.look(), watched.look()] == [([(14, 15)], []), ([], [])]


@counting
def test_the_zeros_of_a_preallocated_segment_are_read_by_the_first_look_alone(log: GrowingLog):
    """`preallocate=true` on a broker: a look costs what has come since the last one, whatever there is room for."""
    zeros, few = 32 << 20, 100 << 10
    watched = Watched(log, 0)

    def look() -> tuple[list[tuple[int | None, int | None]], int]:
        """What is new and can be decoded, and the bytes that were read for both."""
        found: list[tuple[int | None, int | None]] = []

        def follow() -> None:
            for piece in watched.follower.look(find_segments(log.directory)):
                assert isinstance(piece, Piece)
                start, end = offsets_of(piece)
                stream = decoded(*piece.part)
                assert (stream.to_pyarrow().num_rows, stream.findings) == ((end or 0) - (start or 0), [])
                found.append((start, end))

        return found, bytes_read(follow)

    log.preallocate(zeros)
    found, read = look()
    assert (found, read > zeros) == ([(0, 5)], True)
    for offset in range(5, 9):
        found, read = look()
        assert (found, read < few) == ([], True), read
        log.append(1)
        found, read = look()
        assert (found, read < few) == ([(offset, offset + 1)], True), read
    log.roll()
    log.preallocate(zeros)
    assert look()[1] > zeros
    assert look()[1] < few
    log.append(2)
    found, read = look()
    assert (found, read < few) == ([(9, 11)], True), read


def test_an_offset_begins_in_the_past_or_in_the_future(log: GrowingLog):
    assert Watched(log, 2).look() == ([(2, 5)], [])
    later = Watched(log, 7)
    assert later.look() == ([], [])
    log.append(4)
    assert later.look() == ([(7, 9)], [])


def test_a_batch_counts_when_it_is_whole_and_its_checksum_matches(log: GrowingLog):
    watched = Watched(log, 5)
    batch = log.encode(2)
    for piece in (batch[:7], batch[7:61]):
        log.write(piece)
        assert watched.look() == ([], [])
    # Its length is there before its bytes, as when a file system has not written them yet.
    log.write(bytes(len(batch) - 61))
    assert watched.look() == ([], [])
    whole = log.segment.read_bytes()[: -len(batch)] + batch
    log.segment.write_bytes(whole)
    assert watched.look() == ([(5, 7)], [])


def test_a_cut_below_the_shown_offsets_is_reported_and_later_records_are_shown(log: GrowingLog):
    watched = Watched(log, 0)
    assert watched.look()[0] == [(0, 5)]
    log.append(2)
    assert watched.look()[0] == [(5, 7)]
    log.cut(5)
    log.append(1, 3)
    pieces, notes = watched.look()
    assert pieces == [(5, 9)]
    assert len(notes) == 1
    assert "offsets 5 to 6" in notes[0]
    assert watched.look() == ([], [])


def test_a_segment_that_is_gone_and_comes_back_unchanged_gives_nothing_twice(log: GrowingLog):
    """With `wait`; as where a copy replaces the file, or a link is moved."""
    log.roll()
    log.append(2)
    watched = Watched(log, 0, wait=PATIENCE)
    assert watched.look()[0] == [(0, 5), (5, 7)]
    aside = log.root / "aside"
    log.segment.rename(aside)
    assert [watched.look(), watched.look()] == [([], [])] * 2
    aside.rename(log.segment)
    assert watched.look() == ([], [])
    # A copy that begins again grows from nothing.
    data = log.segment.read_bytes()
    for length in (0, 20, 61, 70, len(data) - 1):
        log.segment.write_bytes(data[:length])
        assert watched.look() == ([], []), length
    log.segment.write_bytes(data)
    log.append(1)
    assert watched.look() == ([(7, 8)], [])


def test_a_segment_that_stays_away_was_truncated(log: GrowingLog):
    log.roll()
    log.append(2)
    watched = Watched(log, 0, wait=0.01)
    watched.look()
    log.segment.unlink()
    assert watched.look() == ([], [])
    time.sleep(0.02)
    _, notes = watched.look()
    assert len(notes) == 1
    assert "truncated" in notes[0]


def test_other_records_in_the_place_of_the_shown_ones_are_not_waited_for(log: GrowingLog):
    watched = Watched(log, 0, wait=PATIENCE)
    watched.look()
    log.cut(3)
    log.append(4)
    pieces, notes = watched.look()
    assert (pieces, len(notes)) == ([(5, 7)], 1)


@pytest.mark.parametrize("named", ["directory", "tree"])
def test_a_directory_that_is_gone_for_a_moment_is_waited_for(log: GrowingLog, named: str, tmp_path: Path):
    path = log.directory if named == "directory" else log.root
    process = start(
        "follow", path, "--offset", "0", "--columns", "offset", "--interval", "0.05", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    shown = [json.loads(process.stdout.readline())["offset"] for _ in range(5)]
    aside = log.root.with_name("aside")
    path.rename(aside)
    time.sleep(0.5)
    aside.rename(path)
    log.append(2)
    shown += [json.loads(process.stdout.readline())["offset"] for _ in range(2)]
    process.send_signal(signal.SIGINT)
    rest, told = process.communicate(timeout=PATIENCE)
    assert (shown, rest, told) == ([*range(7)], b"", b"")


def test_a_directory_that_stays_away_is_an_error(log: GrowingLog):
    process = start(
        "follow", log.directory, "--offset", "0", "--interval", "0.05", "--wait", "0.2", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    log.directory.rename(log.root / "gone")
    _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, str(log.directory) in told.decode()) == (2, True)


def test_a_cut_below_all_that_is_remembered_goes_on_at_the_end(log: GrowingLog):
    watched = Watched(log, None)
    watched.look()
    log.roll()
    log.append(2)
    assert watched.look()[0] == [(5, 7)]
    log.cut(3)
    pieces, notes = watched.look()
    assert pieces == []
    assert "offsets 3 to 6" in notes[0]
    log.append(1)
    assert watched.look() == ([(3, 4)], [])


def test_segments_deleted_before_they_were_shown_are_reported(log: GrowingLog):
    watched = Watched(log, 0)
    watched.look()
    old = log.segment
    log.append(3)
    log.roll()
    log.append(2)
    old.unlink()
    assert watched.look() == ([(8, 10)], ["offsets 5 to 7 were deleted"])
    deleted = log.segment
    log.roll()
    deleted.unlink()
    assert watched.look() == ([], [])


def lines_of(process: subprocess.Popen[bytes]) -> Iterator[Any]:
    assert process.stdout is not None
    return (json.loads(line) for line in process.stdout)


def test_records_are_written_as_they_come_until_ctrl_c(log: GrowingLog):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start("follow", log.directory, "--offset", "3", "--columns", "topic,partition,offset,value", "--interval", "0.05", **streams)
    try:
        lines = lines_of(process)
        assert [next(lines) for _ in range(2)] == [row(3), row(4)]
        log.append(1)
        assert next(lines) == row(5)
        log.roll()
        log.append(2)
        assert [next(lines) for _ in range(2)] == [row(6), row(7)]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert (process.returncode, said) == (0, b"")
    finally:
        process.kill()
        process.wait()


def row(offset: int) -> dict[str, Any]:
    return {"topic": "orders", "partition": 0, "offset": offset, "value": f"{offset:020d}"}


def test_lines_are_those_of_cat_and_idle_exit_ends_it(log: GrowingLog):
    begun = time.monotonic()
    followed = run("follow", log.directory, "--offset", "0", "--idle-exit", "0")
    assert time.monotonic() - begun < PATIENCE
    assert (followed.code, followed.err) == (0, "")
    assert followed.out == run("cat", log.directory).out
    assert len(followed.lines) == 5
    assert run("follow", log.directory, "--idle-exit", "0").out == b""
    assert run("follow", log.root, "--offset", "4", "--idle-exit", "0", "--bytes", "hex").lines[0]["value"] == (b"%020d" % 4).hex()
    redacted = run("follow", log.directory, "--offset", "4", "--idle-exit", "0", "--redact")
    assert redacted.lines[0]["value"]["length"] == 20
    assert b"%020d" % 4 not in redacted.out


def test_damage_before_valid_batches_ends_it(log: GrowingLog):
    data = bytearray(log.segment.read_bytes())
    data[70] ^= 1
    log.segment.write_bytes(data)
    done = run("follow", log.directory, "--offset", "0", "--idle-exit", "0")
    assert (done.code, done.out) == (1, b"")
    assert "V2-31" in done.err


def test_what_does_not_grow_is_a_mistake(tmp_path: Path):
    for path, words in [("-", "does not grow"), (tmp_path / "none", "No such file")]:
        done = run("follow", path, "--idle-exit", "0")
        assert (done.code, done.out) == (2, b"")
        assert words in done.err
