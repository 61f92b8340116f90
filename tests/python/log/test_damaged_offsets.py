"""Ranges of a log with a damaged base offset, last offset, length or transaction marker: no valid record is missing without an error.

Simulated histories found each of these (docs/project/simulation.md). No checksum covers base offsets and lengths.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import logsegment as ls
import object_store

NAME = f"{0:020}.log"
TIMES = [1_700_000_000_000 + 1000 * number for number in range(6)]


def batches(claims: dict[int, int]) -> bytes:
    """Six batches of one record, some of which claim another base offset than their own."""
    made = []
    for number, time in enumerate(TIMES):
        data = ls.encode(pa.table({"value": [b"%d" % number], "timestampMs": pa.array([time], pa.int64())}), base_offset=number)
        assert data is not None
        made.append(claims.get(number, number).to_bytes(8, "big") + data[8:])
    return b"".join(made)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A directory to write segments to."""
    directory = tmp_path / "bucket" / "orders-0"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture(params=["local", "s3"])
def uri(request: pytest.FixtureRequest, partition: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same directory as a path, and in a store."""
    if request.param == "local":
        yield str(partition)
        return
    with object_store.serving(partition.parents[1]) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield "s3://bucket/orders-0"


def values(stream: Any) -> list[int]:
    return [int(row["value"]) for row in stream.to_pylist()]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("claimed", [3 + (1 << 20), 3 + (1 << 40)])
def test_a_range_does_not_end_at_a_batch_that_claims_too_much(partition: Path, uri: str, on_error: Any, claimed: int):
    (partition / NAME).write_bytes(batches({3: claimed}))
    for end in (5, 6):
        wanted = [0, 1, 2, *range(4, end)]
        assert values(ls.Log(uri).records(columns=["value"], end_offset=end, on_error=on_error)) == wanted
        assert values(ls.Segment(f"{uri}/{NAME}").records(columns=["value"], end_offset=end, on_error=on_error)) == wanted


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("until", [None, TIMES[5]])
def test_a_time_does_not_begin_after_the_batches_that_follow_a_damaged_offset(partition: Path, uri: str, on_error: Any, until: int | None):
    (partition / NAME).write_bytes(batches({3: 3 + (1 << 20)}))
    options: dict[str, Any] = {"columns": ["value"], "start_timestamp": TIMES[3], "end_timestamp": until, "on_error": on_error}
    assert set(values(ls.Log(uri).records(**options))) >= set(range(4, 6 if until is None else 5))


def test_a_time_does_not_begin_after_a_segment_whose_last_offset_is_damaged(partition: Path, uri: str):
    """The batches after it are in the next segment, whose name bounds what the damaged one may claim."""
    whole = batches({3: 3 + (1 << 40)})
    place = len(whole) * 4 // 6
    (partition / NAME).write_bytes(whole[:place])
    (partition / f"{4:020}.log").write_bytes(whole[place:])
    for until in (None, TIMES[5]):
        stream = ls.Log(uri).records(columns=["value"], start_timestamp=TIMES[3], end_timestamp=until, on_error="skip")
        assert set(values(stream)) >= set(range(4, 6 if until is None else 5))
    with pytest.raises(ls.CorruptError, match="SEG-1"):
        values(ls.Log(uri).records(columns=["value"], start_timestamp=TIMES[3]))


def test_damaged_offsets_of_the_first_batches_do_not_move_a_segment(partition: Path, uri: str):
    """The third batch has the offsets of the name."""
    whole = batches({2: 2 + (1 << 48), 3: 3 + (1 << 24)})
    place = len(whole) // 6
    for first, last in ((0, 2), (2, 5), (5, 6)):
        (partition / f"{first:020}.log").write_bytes(whole[first * place : last * place])
    assert values(ls.Log(uri).records(columns=["value"], on_error="skip")) in ([0, 1, 4, 5], [0, 1, 2, 3, 4, 5])


def test_a_damaged_offset_of_the_first_batch_does_not_move_the_last_segment(partition: Path, uri: str):
    """The first segment contradicts its name, so that the beginnings of all segments count."""
    whole = batches({0: 1 << 48, 1: 1 + (1 << 38)})
    place = len(whole) // 6
    (partition / NAME).write_bytes(whole[:place])
    (partition / f"{1:020}.log").write_bytes(whole[place:])
    for offset in range(2, 6):
        stream = ls.Log(uri).records(columns=["value"], start_offset=offset, end_offset=offset + 1, on_error="skip")
        assert values(stream) == [offset]


def lost_first_segment(partition: Path) -> None:
    """Two segments of a batch each; one flipped bit moves the offset of the first one."""
    whole = batches({0: 1 << 56})
    place = len(whole) // 6
    (partition / NAME).write_bytes(whole[:place])
    (partition / f"{1:020}.log").write_bytes(whole[place : 2 * place])


@pytest.mark.parametrize("end", [1, 2])
def test_a_range_of_the_offsets_of_a_name_that_a_segment_contradicts_reports_it(partition: Path, uri: str, end: int):
    lost_first_segment(partition)
    for opened in (ls.Log(uri), ls.Segment(f"{uri}/{NAME}")):
        with pytest.raises(ls.CorruptError, match="SEG-1"):
            values(opened.records(columns=["value"], end_offset=end))
        stream = opened.records(columns=["value"], end_offset=end, on_error="skip")
        assert values(stream) == ([] if end == 1 or isinstance(opened, ls.Segment) else [1])
        assert [finding.rule for finding in stream.findings] == ["SEG-1"]


def test_a_range_beside_a_segment_that_contradicts_its_name_is_read(partition: Path, uri: str):
    lost_first_segment(partition)
    assert values(ls.Log(uri).records(columns=["value"], start_offset=1, end_offset=2)) == [1]


def test_swapped_segments_of_a_compacted_log_lose_no_record_of_a_range(partition: Path, uri: str):
    """Compaction leaves gaps between batches, and whole batches prove where they belong."""
    whole = batches({})
    place = len(whole) // 6
    (partition / NAME).write_bytes(whole[5 * place :])
    (partition / f"{5:020}.log").write_bytes(whole[:place] + whole[2 * place : 5 * place])
    for opened in (ls.Log(uri), ls.Log([uri])):
        for start in range(5):
            found = values(opened.records(columns=["value"], start_offset=start, end_offset=5, on_error="skip"))
            assert found == [offset for offset in (0, 2, 3, 4) if offset >= start]


@pytest.mark.parametrize("next_segment", [6, 8])
def test_a_range_after_the_last_batch_of_a_closed_segment_that_ends_in_zeros(partition: Path, uri: str, next_segment: int):
    (partition / NAME).write_bytes(batches({}) + bytes(200))
    following = ls.encode(pa.table({"value": [b"next"]}), base_offset=next_segment)
    assert following is not None
    (partition / f"{next_segment:020}.log").write_bytes(following)
    for start in (5, 6, 7):
        stream = ls.Segment(f"{uri}/{NAME}").records(columns=["value"], start_offset=start)
        if next_segment == 6:
            assert values(stream) == ([5] if start == 5 else [])
        else:
            # Offsets 6 and 7 are missing, which is damage.
            with pytest.raises(ls.TruncatedError, match="SEG-23"):
                values(stream)


def transaction(offset: int, *, control: int | None = None, damaged: bool = False) -> bytes:
    key = None if control is None else b"\0\0\0" + bytes([control])
    attributes = building.TRANSACTIONAL | (0 if control is None else building.CONTROL)
    record = building.record(key, bytes(6) if control is not None else b"%d" % offset)
    data = bytearray(building.batch(record, count=1, base_offset=offset, attributes=attributes, producer_id=7, producer_epoch=0))
    if damaged:
        data[-2] ^= 1
    return bytes(data)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_committed_read_after_an_undecided_transaction_reports_it(partition: Path, uri: str, threads: int):
    """The marker is damaged, so the transaction may still be open: a read of later records has no rows, and reports it."""
    rest = ls.encode(pa.table({"value": [b"2", b"3"]}), base_offset=2)
    assert rest is not None
    (partition / NAME).write_bytes(transaction(0) + transaction(1, control=1, damaged=True))
    (partition / f"{2:020}.log").write_bytes(rest)
    committed: dict[str, Any] = {"columns": ["offset"], "isolation": "read_committed", "threads": threads}
    for options in ({"start_offset": 2}, {"start_offset": 3}):
        with pytest.raises(ls.CorruptError, match="TRX-5"):
            ls.Log(uri).records(**committed, **options).to_pylist()
        stream = ls.Log(uri).records(**committed, **options, on_error="skip")
        assert (stream.to_pylist(), [finding.rule for finding in stream.findings]) == ([], ["TRX-5"])
    whole = ls.Log(uri).records(**committed, on_error="skip")
    assert whole.to_pylist() == []
    assert [finding.rule for finding in whole.findings].count("TRX-5") == 1
    assert ls.Log(uri).records(**committed, end_offset=0).to_pylist() == []


@pytest.mark.parametrize("damaged", [[0], [0, 1]])
def test_a_length_that_reaches_into_the_zeros_after_a_log_hides_no_batch(partition: Path, uri: str, damaged: list[int]):
    """A file that was allocated before it was full."""
    data = bytearray(batches({}))
    size = len(data) // len(TIMES)
    for number in damaged:
        data[size * number + 10] ^= 4
    (partition / NAME).write_bytes(bytes(data) + bytes(5000))
    rest = list(range(len(damaged), 6))
    assert values(ls.Log(uri).records(columns=["value"], on_error="skip")) == rest
    assert [row["baseOffset"] for row in ls.batches(ls.salvage(partition / NAME).data).to_pylist()] == rest


@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("delta", [1, 3, -5])
def test_a_batch_that_claims_to_end_too_early_is_damage_to_a_range(partition: Path, uri: str, delta: int, is_last: bool):
    """A look-up of an offset compares no checksum, and the batch has more records than it claims to have offsets."""
    first = bytearray(ls.encode(pa.table({"value": [b"%d" % number for number in range(8)]})))
    first[23:27] = delta.to_bytes(4, "big", signed=True)
    rest = ls.encode(pa.table({"value": [b"8"]}), base_offset=8)
    assert rest is not None
    (partition / NAME).write_bytes(bytes(first) + (b"" if is_last else rest))
    for opened in (ls.Log(uri), ls.Segment(f"{uri}/{NAME}")):
        with pytest.raises(ls.CorruptError, match="V2-31"):
            values(opened.records(columns=["value"], start_offset=5, end_offset=7))


@pytest.mark.parametrize("start", [23, 24, 57])
def test_a_batch_with_a_zeroed_header_is_damage_to_a_range(partition: Path, uri: str, start: int):
    """It claims to end at its first offset, and to have no record."""
    first = bytearray(ls.encode(pa.table({"value": [b"%d" % number for number in range(3)]})))
    first[start:] = bytes(len(first) - start)
    rest = ls.encode(pa.table({"value": [b"3"]}), base_offset=3)
    assert rest is not None
    (partition / NAME).write_bytes(bytes(first) + rest)
    for opened in (ls.Log(uri), ls.Segment(f"{uri}/{NAME}")):
        with pytest.raises(ls.CorruptError, match="V2-31"):
            values(opened.records(columns=["value"], start_offset=2))
        assert values(opened.records(columns=["value"], start_offset=2, on_error="skip")) == [3]


@pytest.mark.parametrize("is_last", [True, False])
def test_a_batch_with_a_damaged_magic_byte_is_damage_to_a_range(partition: Path, uri: str, is_last: bool):
    """It looks like a message of magic 0, which has one offset."""
    first = bytearray(ls.encode(pa.table({"value": [b"%d" % number for number in range(3)]})))
    first[16] = 0
    rest = b"" if is_last else ls.encode(pa.table({"value": [b"3"]}), base_offset=3)
    assert rest is not None
    (partition / NAME).write_bytes(bytes(first) + rest)
    reads: list[Any] = [ls.Log(uri).records, ls.Segment(f"{uri}/{NAME}").records, partial(ls.decode, bytes(first) + rest)]
    for read in reads:
        with pytest.raises(ls.CorruptError, match="L8-2"):
            values(read(columns=["value"], start_offset=2))
        stream = read(columns=["value"], start_offset=2, on_error="skip")
        assert values(stream) == ([] if is_last else [3])
        assert [finding.rule for finding in stream.findings] == ["L8-2"]


@pytest.mark.parametrize("number", range(8))
def test_a_damaged_magic_byte_is_found_whatever_the_checksum_of_the_batch_is(number: int):
    """The checksum of the batch stands where a message has its attributes and the length of its key."""
    data = bytearray(ls.encode(pa.table({"value": [b"%d" % number, b"1"]})))
    data[16] = 0
    with pytest.raises(ls.CorruptError, match="L8-2"):
        values(ls.decode(bytes(data), columns=["value"], start_offset=1))


def test_a_batch_whose_header_contradicts_itself_is_found_after_a_damaged_length(partition: Path, uri: str):
    """Its checksum is right, and a read without damage before it returns its records."""
    first = bytearray(ls.encode(pa.table({"value": [b"0"]})))
    liar = ls.encode(pa.table({"value": [b"1", b"2"]}), base_offset=1)
    assert liar is not None
    liar = building.resealed(liar[:23] + bytes(4) + liar[27:])
    (partition / NAME).write_bytes(bytes(first) + liar)
    assert values(ls.Log(uri).records(columns=["value"], on_error="skip")) == [0, 1, 2]
    first[8:12] = (1 << 24).to_bytes(4, "big")
    (partition / NAME).write_bytes(bytes(first) + liar)
    for opened in (ls.Log(uri), ls.Segment(f"{uri}/{NAME}")):
        assert values(opened.records(columns=["value"], on_error="skip")) == [1, 2]
