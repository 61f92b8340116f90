"""The end of a log that grows: whole, torn, preallocated or damaged, for strict reads and for those that skip damage."""

from pathlib import Path

import pytest

import logsegment as ls
from counted_bytes import bytes_read, counting
from growing import GrowingLog as Written
from logsegment._core import LogEnd, SegmentFile
from logsegment._options import OnError, ReadOptions
from logsegment.partition.log_end import GrowingLog
from logsegment.segment_files.discovery import find_segments


@pytest.fixture
def log(tmp_path: Path) -> Written:
    log = Written(tmp_path)
    log.append(3, 2, 4)
    return log


def segment_of(log: Written) -> SegmentFile:
    return find_segments(log.directory)[-1]


def end_of(log: Written, on_error: OnError = "raise", *, is_checked: bool = True) -> LogEnd:
    return GrowingLog(ReadOptions(on_error=on_error)).end(segment_of(log), is_checked=is_checked)


def known(end: LogEnd) -> tuple[int, str, int | None]:
    return end.next_offset, end.tail, end.position


def positions(log: Written) -> list[int]:
    return [row["position"] for row in ls.batches(ls.FileSource(log.segment)).to_pylist()]


def change(log: Written, position: int, value: bytes) -> None:
    data = bytearray(log.segment.read_bytes())
    data[position : position + len(value)] = value
    log.segment.write_bytes(data)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_whole_log_ends_with_its_last_batch(log: Written, on_error: OnError):
    end = end_of(log, on_error)
    assert known(end) == (9, "complete", None)
    assert end.last is not None
    assert (end.last[0], end.last[2]) == (positions(log)[-1], 8)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("length", [13, 20, 100])
def test_a_torn_entry_may_still_be_written(log: Written, length: int, on_error: OnError):
    size = log.segment.stat().st_size
    log.write(log.encode(5)[:length])
    assert known(end_of(log, on_error)) == (9, "torn", size)
    assert end_of(log, on_error).finding is None


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_an_invalid_last_batch_counts_if_the_caller_knows_how_far_the_log_is_written(log: Written, on_error: OnError):
    last = positions(log)[-1]
    change(log, last + 70, b"\xff")
    assert known(end_of(log, on_error)) == (5, "torn", last)
    assert end_of(log, on_error, is_checked=False).next_offset == 9


def test_zeros_of_a_preallocated_log_are_no_damage(log: Written):
    size = log.segment.stat().st_size
    log.preallocate(4096)
    end = end_of(log)
    assert (known(end), end.stop) == ((9, "zeros", size), size)
    batch = log.encode(5)
    log.write(batch[:70])
    end = end_of(log)
    assert (known(end), end.stop) == ((9, "torn", size), size + len(batch))


def test_an_entry_that_covers_valid_batches_is_damage(log: Written):
    torn = positions(log)[1]
    change(log, torn + 8, (100_000).to_bytes(4))
    end = end_of(log)
    assert known(end) == (3, "damaged", torn)
    assert end.finding is not None
    error = GrowingLog().damage(segment_of(log), end)
    assert isinstance(error, ls.RecordBatchError)
    assert error.path == str(log.segment)
    assert known(end_of(log, "skip"))[0] == 9


def test_bytes_that_are_no_entry_are_an_error_or_skipped(log: Written):
    damaged = positions(log)[1]
    change(log, damaged + 16, b"\x7f")
    with pytest.raises(ls.RecordBatchError):
        end_of(log)
    assert known(end_of(log, "skip")) == (9, "damaged", damaged)
    assert GrowingLog().last_valid(segment_of(log)).next_offset == 9


def test_a_look_begins_where_the_last_one_ended_and_sees_a_cut(log: Written):
    growing = GrowingLog()
    first = growing.end(segment_of(log))
    log.append(2)
    second = growing.end(segment_of(log))
    assert [(end.next_offset, end.is_cut) for end in (first, second)] == [(9, False), (11, False)]
    assert first.last is not None
    assert second.last is not None
    assert growing.has(segment_of(log), second.last)
    log.cut(5)
    assert not growing.has(segment_of(log), second.last)
    assert [(end.next_offset, end.is_cut) for end in (growing.end(segment_of(log)) for _ in range(2))] == [(5, True), (5, False)]


@counting
def test_zeros_are_read_once(log: Written):
    log.preallocate(8 << 20)
    growing = GrowingLog()
    assert bytes_read(lambda: growing.end(segment_of(log))) > 8 << 20
    log.append(1)
    assert bytes_read(lambda: growing.end(segment_of(log))) < 100 << 10
    growing.forget_others(())
    assert bytes_read(lambda: growing.end(segment_of(log))) > 8 << 20


def test_the_last_stable_offset_is_that_of_the_oldest_open_transaction(log: Written):
    growing = GrowingLog()

    def stable(until: int) -> int:
        return growing.stable_offset(find_segments(log.directory), until)

    assert stable(9) == 9
    log.in_transaction(2, 7)
    log.roll()
    log.in_transaction(2, 8)
    assert stable(log.next) == 9
    log.marker("COMMIT", 7)
    assert stable(log.next) == 11
    assert stable(log.next - 1) == 9, "the marker is after the end of the look"
    assert stable(log.next) == 11
    log.marker("ABORT", 8)
    assert stable(log.next) == log.next == 15
    log.cut(13)
    assert GrowingLog().stable_offset(find_segments(log.directory), 13) == stable(13) == 9
