"""No `.txnindex` and no `.snapshot` changes what a committed read gives (SEG-7, SEG-8, TXN-8)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import building
import corpus
import logsegment as ls
import made_logs
from logsegment._decode import decoded
from logsegment._options import ReadOptions
from logsegment.partition.reader import committed_transactions
from logsegment.segment_files.discovery import find_segments

DATA = corpus.CORPUS / "modern-4.1.0/data"
LOGS = ("transactions-multi-segment-0", "transactions-multi-segment-1")
ENTRY = 34


def files(log: Path, suffix: str = ".txnindex") -> list[Path]:
    return sorted(log.glob(f"*{suffix}"))


def remove(log: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        for file in files(log, suffix):
            file.unlink()


def change(log: Path, how: Callable[[bytes], bytes]) -> None:
    for file in files(log):
        file.write_bytes(how(file.read_bytes()))


def with_field(data: bytes, at: int, step: int) -> bytes:
    """A field of eight bytes of every entry, a little larger or smaller."""
    entries = [data[start : start + ENTRY] for start in range(0, len(data), ENTRY)]
    return b"".join(entry[:at] + (int.from_bytes(entry[at : at + 8]) + step).to_bytes(8) + entry[at + 8 :] for entry in entries)


def shifted(log: Path) -> None:
    """As if copied at another time: each file is that of the segment before."""
    held = [file.read_bytes() for file in files(log)]
    for file, data in zip(files(log)[1:], held, strict=False):
        file.write_bytes(data)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "as it is": lambda log: None,
    "missing": lambda log: remove(log, ".txnindex"),
    "one missing": lambda log: files(log)[1].unlink(),
    "empty": lambda log: change(log, lambda data: b""),
    "stale by an entry": lambda log: change(log, lambda data: data[:-ENTRY]),
    "cut": lambda log: change(log, lambda data: data[:-5]),
    "noise": lambda log: change(log, lambda data: random.Random(1).randbytes(len(data))),
    "of the segment before": shifted,
    "other producers": lambda log: change(log, lambda data: with_field(data, 2, 1)),
    "other first offsets": lambda log: change(log, lambda data: with_field(data, 10, -1)),
    "other last offsets": lambda log: change(log, lambda data: with_field(data, 18, 1)),
    "without snapshots": lambda log: remove(log, ".snapshot"),
    "without snapshots and indexes": lambda log: remove(log, ".snapshot", ".index"),
    "without anything": lambda log: remove(log, ".txnindex", ".snapshot", ".index", ".timeindex"),
}


def offsets(log: Path, start: int, end: int, transactions: ls.Transactions | None = None) -> list[int]:
    """Of the committed records; by the given transactions, or as a log finds them."""
    if transactions is None:
        stream = ls.Log(log).records(columns=["offset"], isolation="read_committed", start_offset=start, end_offset=end)
        return stream.to_pyarrow()["offset"].to_pylist()
    found: list[int] = []
    for path in files(log, ".log"):
        read = ReadOptions(columns=["offset"], isolation="read_committed", transactions=transactions, start_offset=start, end_offset=end)
        found += decoded(ls.FileSource(path), read).to_pyarrow()["offset"].to_pylist()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_committed_read_gives_what_markers_say_whatever_the_index_is(tmp_path: Path, name: str, damage: str):
    """Real logs of a broker, transactions across segments; all markers of the log, read without any file beside it, are the truth."""
    log = tmp_path / name
    shutil.copytree(DATA / name, log)
    truth = ls.scan_transactions([ls.FileSource(path) for path in files(log, ".log")])
    assert len(truth.aborted) > 2
    assert len(files(log)) > 2
    DAMAGE[damage](log)
    seen = 0
    for start in range(0, 90, 9):
        for end in range(start + 1, 90, 8):
            found = offsets(log, start, end)
            assert found == offsets(log, start, end, truth), (start, end)
            seen += len(found)
    assert seen > 100


ABORTED, OTHER = 7, 8
LARGE = 3000


def long_log(log: Path, end_of_transaction: list[bytes]) -> Path:
    """A transaction over five segments, of which those in the middle are large; `end_of_transaction` stands in the last but one."""
    log.mkdir()
    batches = [building.transactional_batch([b"wanted"], ABORTED, 0), building.simple_batch([b"wanted too"], 1)]
    parts = [batches, *([building.simple_batch([b"x"], at + step) for step in range(LARGE)] for at in (2, 2 + LARGE, 2 + 2 * LARGE))]
    last = 2 + 3 * LARGE
    parts.append([*end_of_transaction, building.simple_batch([b"y"], last + 1)])
    parts.append([building.simple_batch([b"z"], last + 2 + step) for step in range(LARGE)])
    for part in parts:
        (log / f"{int.from_bytes(part[0][:8]):020}.log").write_bytes(b"".join(part))
    made_logs.index(log)
    return log


MARKER_AT = 2 + 3 * LARGE
ENDS = {
    "aborted": ([building.marker(0, ABORTED, MARKER_AT)], [(ABORTED, 0, MARKER_AT)], None),
    "committed": ([building.marker(1, ABORTED, MARKER_AT)], [], None),
    "open": ([building.marker(0, OTHER, MARKER_AT)], [], 0),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_transaction_is_followed_over_segments_whatever_their_snapshots_say(tmp_path: Path, end: str, is_wrong: bool):
    """A snapshot that is sound and wrong is that of another log, copied next to this one."""
    batches, aborted, stable = ENDS[end]
    log = long_log(tmp_path / "orders-0", batches)
    if is_wrong:
        other = tmp_path / "other" / "orders-0"
        other.parent.mkdir()
        long_log(other, [building.simple_batch([b"nothing"], MARKER_AT)])
        for file in files(other, ".snapshot"):
            shutil.copy(file, log)
    found = committed_transactions(find_segments(log), ReadOptions(start_offset=0, end_offset=2))
    assert (found.aborted, found.last_stable_offset) == (aborted, stable)


def test_an_entry_without_its_marker_aborts_nothing(tmp_path: Path):
    """Sound in form, and wrong: it names the commit marker, a data batch, a marker of somebody else, an offset behind the end."""
    log = long_log(tmp_path / "orders-0", [building.marker(1, ABORTED, MARKER_AT)])
    (other,) = [path for path in files(log, ".log") if int(path.stem) == MARKER_AT]
    for last in (MARKER_AT, MARKER_AT + 1, MARKER_AT + 10**6):
        other.with_suffix(".txnindex").write_bytes(entry(0, last))
        found = committed_transactions(find_segments(log), ReadOptions(start_offset=0, end_offset=2))
        assert (found.aborted, found.last_stable_offset) == ([], None)
    assert offsets(log, 0, 2) == [0, 1]


def test_a_damaged_abort_marker_is_not_trusted(tmp_path: Path):
    log = long_log(tmp_path / "orders-0", [building.marker(0, ABORTED, MARKER_AT)])
    path = next(path for path in files(log, ".log") if int(path.stem) == MARKER_AT)
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(bytes(data))
    remove(log, ".snapshot")
    expected = ls.scan_transactions([ls.FileSource(file) for file in files(log, ".log")])
    found = committed_transactions(find_segments(log), ReadOptions(start_offset=0, end_offset=2))
    assert (found.aborted, found.last_stable_offset) == (expected.aborted, expected.last_stable_offset)


def test_the_aborted_transactions_of_a_segment_are_those_whose_marker_is_in_it(tmp_path: Path):
    """Where its `.txnindex` is missing, by the markers."""
    log = long_log(tmp_path / "orders-0", [building.marker(0, ABORTED, MARKER_AT)])
    remove(log, ".txnindex")
    found = {segment.base_offset: [transaction[:3] for transaction in segment.aborted_transactions] for segment in ls.Log(log)}
    assert found == {segment.base_offset: [(ABORTED, 0, MARKER_AT)] * (segment.base_offset == MARKER_AT) for segment in find_segments(log)}
    assert found[MARKER_AT] == [transaction[:3] for transaction in ls.Log(log).aborted_transactions]


def entry(first: int, last: int) -> bytes:
    """Of a `.txnindex`: an aborted transaction of `ABORTED`."""
    return b"\0\0" + b"".join(number.to_bytes(8) for number in (ABORTED, first, last, last + 1))


BEGUN = building.transactional_batch([b"begun"], ABORTED, 0)
#: Two logs each, the rest of them and the offsets that are committed, and the one index that both have (decision 0011).
PAIRS = {
    "an entry that is not there": (
        ([building.simple_batch([b"x"], 1), building.marker(1, ABORTED, 2)], [0, 1, 5]),
        ([building.simple_batch([b"x"], 1), building.marker(0, ABORTED, 2)], [1, 5]),
        b"",
    ),
    "an entry that is there": (
        ([building.simple_batch([b"x"], 1), building.simple_batch([b"y", b"z"], 2), building.marker(0, ABORTED, 4)], [1, 2, 3, 5]),
        (
            [
                building.simple_batch([b"x"], 1),
                building.marker(1, ABORTED, 2),
                building.transactional_batch([b"aborted"], ABORTED, 3, sequence=1),
                building.marker(0, ABORTED, 4),
            ],
            [0, 1, 5],
        ),
        entry(0, 4),
    ),
}


def offsets_in_spark(log: Path) -> list[int]:
    from logsegment.spark import LogSegmentSource

    source = LogSegmentSource({"path": str(log), "isolation": "read_committed", "columns": "offset"})
    reader = source.reader(source.schema())
    return [offset for task in reader.partitions() for rows in reader.read(task) for offset in rows["offset"].to_pylist()]


@pytest.mark.parametrize("has_snapshots", [True, False])
@pytest.mark.parametrize("pair", PAIRS)
def test_two_logs_with_the_same_index_have_different_answers(tmp_path: Path, pair: str, has_snapshots: bool):
    """So no index that is believed, be there an entry or none, gives both."""
    *logs, index = PAIRS[pair]
    for number, (rest, committed) in enumerate(logs):
        log = tmp_path / f"orders-{number}"
        log.mkdir()
        for base, parts in ((0, [BEGUN]), (1, rest), (5, [building.simple_batch([b"behind"], 5)])):
            (log / f"{base:020}.log").write_bytes(b"".join(parts))
        made_logs.index(log)
        (log / f"{1:020}.txnindex").write_bytes(index)
        if not has_snapshots:
            remove(log, ".snapshot")
        assert offsets(log, 0, 6) == offsets_in_spark(log) == committed
        assert offsets(log, 0, 1) == [offset for offset in committed if offset == 0]


def test_an_abort_of_another_transaction_of_the_same_producer_is_not_taken_for_that_of_a_committed_one(tmp_path: Path):
    """The first offset in the entry of an aborted transaction is that of a committed one before it: nothing at the marker tells."""
    log = tmp_path / "orders-0"
    log.mkdir()
    committed = [
        building.transactional_batch([b"committed"], ABORTED, 0),
        building.simple_batch([b"between"], 1),
        building.marker(1, ABORTED, 2),
    ]
    aborted = [building.transactional_batch([b"aborted"], ABORTED, 3, sequence=1), building.marker(0, ABORTED, 4)]
    for base, parts in ((0, committed[:1]), (1, [*committed[1:], *aborted]), (5, [building.simple_batch([b"behind"], 5)])):
        (log / f"{base:020}.log").write_bytes(b"".join(parts))
    made_logs.index(log)
    (index,) = [path for path in files(log) if path.stat().st_size]
    index.write_bytes(index.read_bytes()[:10] + bytes(8) + index.read_bytes()[18:])
    assert list(ls.Segment(index.with_suffix(".log")).aborted_transactions) == [(ABORTED, 0, 4, 5)]
    found = committed_transactions(find_segments(log), ReadOptions(start_offset=0, end_offset=1))
    assert found.aborted == []
    assert offsets(log, 0, 1) == [0]
    assert offsets(log, 0, 6) == [0, 1, 5]


@pytest.mark.parametrize("has_batch", [False, True])
def test_an_aborted_transaction_without_batches_needs_no_entry(tmp_path: Path, has_batch: bool):
    """Its batches were deleted with the first segment, and a cleaner forgets such a transaction. The snapshot still shows its beginning."""
    log = tmp_path / "orders-0"
    log.mkdir()
    (log / f"{0:020}.log").write_bytes(building.transactional_batch([b"0"], 7, 0))
    more = building.transactional_batch([b"1"], 7, 1, 1) if has_batch else building.simple_batch([b"1"], 1)
    (log / f"{1:020}.log").write_bytes(more + building.marker(0, 7, 2))
    made_logs.index(log)
    for file in log.glob(f"{0:020}.*"):
        file.unlink()
    assert ls.Log(log).validate().findings == []
    remove(log, ".txnindex")
    assert [finding.rule for finding in ls.Log(log).validate().findings] == ["IDX-4"] * has_batch
