"""The one reader of a partition, against every kind of damage: with and without indexes, for offsets and for times."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from logsegment._core import SegmentLookup, decode_files
from logsegment._options import ReadOptions
from logsegment.partition.reader import PartitionReader, order_by_offsets
from logsegment.plugins import Entry, MemoryRegistry
from logsegment.segment_files.discovery import find_segments
from made_logs import START, make_partition
from plugin_codecs import calls

SEGMENTS = [list(range(100)), list(range(100, 200)), list(range(200, 300))]
OFFSETS = range(300)
#: First and last offsets that are wanted: before the damage, in it, around it, after it.
BOUNDS = [(None, None), (0, 90), (110, 170), (150, 151), (149, None), (190, 250), (None, 152)]
#: Each offset in the damaged batch, and in those before and after it.
SINGLE = [(offset, offset + 1) for offset in range(130, 180)]

Rows = list[dict[str, Any]]
#: Changes the bytes of a log at one of its batches, and returns the batches that are lost.
Damage = Callable[[bytearray, Rows, int], Rows]


def checksum(data: bytearray, rows: Rows, at: int) -> Rows:
    data[rows[at]["position"] + 17] ^= 1
    return [rows[at]]


def magic(data: bytearray, rows: Rows, at: int) -> Rows:
    data[rows[at]["position"] + 16] = 0x7F
    return [rows[at]]


def negative_length(data: bytearray, rows: Rows, at: int) -> Rows:
    data[rows[at]["position"] + 8] |= 0x80
    return [rows[at]]


def length_over_the_next_batch(data: bytearray, rows: Rows, at: int) -> Rows:
    length = rows[at]["size"] + rows[at + 1]["size"] - 12
    data[rows[at]["position"] + 8 : rows[at]["position"] + 12] = length.to_bytes(4)
    return [rows[at]]


def length_over_two_batches(data: bytearray, rows: Rows, at: int) -> Rows:
    length = sum(row["size"] for row in rows[at : at + 3]) - 12
    data[rows[at]["position"] + 8 : rows[at]["position"] + 12] = length.to_bytes(4)
    return [rows[at]]


def length_into_a_later_batch(data: bytearray, rows: Rows, at: int) -> Rows:
    length = rows[at]["size"] + rows[at + 1]["size"] + 20 - 12
    data[rows[at]["position"] + 8 : rows[at]["position"] + 12] = length.to_bytes(4)
    return [rows[at]]


def offsets_of_later_batches(data: bytearray, rows: Rows, at: int) -> Rows:
    data[rows[at]["position"] + 23 : rows[at]["position"] + 27] = (1000).to_bytes(4)
    return [rows[at]]


def offsets_of_the_next_batch(data: bytearray, rows: Rows, at: int) -> Rows:
    delta = rows[at + 1]["lastOffset"] - rows[at]["baseOffset"]
    data[rows[at]["position"] + 23 : rows[at]["position"] + 27] = delta.to_bytes(4)
    return [rows[at]]


def length_over_the_end(data: bytearray, rows: Rows, at: int) -> Rows:
    data[rows[at]["position"] + 8 : rows[at]["position"] + 12] = (len(data) + 1000).to_bytes(4)
    return [rows[at]]


def zeros(data: bytearray, rows: Rows, at: int) -> Rows:
    data[rows[at]["position"] : rows[at]["position"] + rows[at]["size"]] = bytes(rows[at]["size"])
    return [rows[at]]


def lost_bytes(data: bytearray, rows: Rows, at: int) -> Rows:
    del data[rows[at]["position"] + 30 : rows[at]["position"] + 40]
    return [rows[at]]


def cut_off(data: bytearray, rows: Rows, at: int) -> Rows:
    del data[rows[at]["position"] + 30 :]
    return rows[at:]


@pytest.fixture(params=["index", "no index"])
def is_indexed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "index")


@pytest.fixture(
    params=[
        checksum,
        magic,
        negative_length,
        length_over_the_next_batch,
        length_over_two_batches,
        length_into_a_later_batch,
        length_over_the_end,
        offsets_of_later_batches,
        offsets_of_the_next_batch,
        zeros,
        lost_bytes,
        cut_off,
    ],
    ids=lambda damage: damage.__name__,
)
def damage(request: pytest.FixtureRequest) -> Damage:
    made: Damage = request.param
    return made


@pytest.fixture
def damaged(damage: Damage, tmp_path: Path, is_indexed: bool) -> tuple[Path, list[int]]:
    return make_damaged(tmp_path, damage, is_indexed)


def make_damaged(root: Path, damage: Damage, is_indexed: bool, **options: Any) -> tuple[Path, list[int]]:
    """Return a partition with damage in the middle of its second segment, and the offsets of its valid batches."""
    make_partition(root, "orders", 0, SEGMENTS, interval=1, **options)
    log = root / "orders-0" / f"{100:020}.log"
    rows = ls.batches(log.read_bytes()).to_pylist()
    (at,) = [index for index, row in enumerate(rows) if row["baseOffset"] <= 150 <= row["lastOffset"]]
    data = bytearray(log.read_bytes())
    lost = {offset for row in damage(data, rows, at) for offset in range(row["baseOffset"], row["lastOffset"] + 1)}
    log.write_bytes(data)
    if not is_indexed:
        for path in [*log.parent.glob("*.index"), *log.parent.glob("*.timeindex")]:
            path.unlink()
    return log.parent, [offset for offset in OFFSETS if offset not in lost]


def reader_of(directory: Path, options: ReadOptions, times: tuple[int | None, int | None] = (None, None)) -> PartitionReader:
    segments = [SegmentLookup(file) for file in order_by_offsets(find_segments(directory), reports=options.skips_damage)]
    return PartitionReader.plan(segments, options, times)


def wanted(offsets: list[int], start: int | None, end: int | None) -> list[int]:
    return [offset for offset in offsets if (start is None or offset >= start) and (end is None or offset < end)]


def offsets_of(stream: ls.RecordStream) -> list[int]:
    return [row["offset"] for row in stream.read_all().to_pylist()]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_read_that_skips_damage_returns_all_valid_batches(damaged: tuple[Path, list[int]], isolation: Any):
    directory, left = damaged
    for start, end in BOUNDS:
        options = ReadOptions(columns=("offset",), on_error="skip", start_offset=start, end_offset=end, isolation=isolation)
        assert offsets_of(reader_of(directory, options).read()) == wanted(left, start, end), (start, end)


def test_a_read_that_skips_damage_begins_and_ends_at_times(damaged: tuple[Path, list[int]]):
    directory, left = damaged
    for start, end in BOUNDS:
        times = tuple(None if offset is None else START + offset for offset in (start, end))
        reader = reader_of(directory, ReadOptions(columns=("offset",), on_error="skip"), times)
        assert offsets_of(reader.read()) == wanted(left, start, end), (start, end)


def test_every_offset_around_the_damage_is_looked_up(damaged: tuple[Path, list[int]]):
    directory, left = damaged
    for start, end in SINGLE:
        options = ReadOptions(columns=("offset",), on_error="skip", start_offset=start, end_offset=end)
        assert offsets_of(reader_of(directory, options).read()) == wanted(left, start, end), start


def test_an_index_limits_the_bytes_of_a_look_up(damage: Damage, tmp_path: Path):
    directory, _ = make_damaged(tmp_path, damage, is_indexed=True)
    rows = ls.batches((directory / f"{0:020}.log").read_bytes()).to_pylist()
    most = 4 * max(row["size"] for row in rows)
    for offset in (20, 120, 220):
        ((source, _),) = reader_of(directory, ReadOptions(on_error="skip", start_offset=offset, end_offset=offset + 1)).parts()
        assert source.end is not None
        assert 0 < source.end - source.start <= most, offset


@pytest.mark.parametrize("offset", [149, 190, 210])
def test_a_look_up_past_damage_decompresses_wanted_batches_alone(damage: Damage, tmp_path: Path, is_indexed: bool, offset: int):
    codecs = MemoryRegistry([Entry(0, "deflate", "plugin_codecs:Deflate", "v1.0")])
    directory, left = make_damaged(tmp_path, damage, is_indexed, compression="deflate", codecs=codecs)
    offset = next(item for item in left if item >= offset)
    read = ReadOptions(columns=("offset",), on_error="skip", codecs=codecs)
    calls.clear()
    by_offset = reader_of(directory, replace(read, start_offset=offset, end_offset=offset + 1))
    assert offsets_of(by_offset.read()) == [offset]
    assert len(calls) == 1
    calls.clear()
    assert reader_of(directory, read).offset_at(START + offset) == offset
    assert len(calls) == 1


def test_a_read_that_raises_returns_the_records_before_the_damage(damaged: tuple[Path, list[int]]):
    directory, left = damaged
    before = next(offset for offset in OFFSETS if offset not in left)
    for start, end in BOUNDS:
        options = ReadOptions(columns=("offset",), start_offset=start, end_offset=end)
        found, raised = [], None
        try:
            for rows in reader_of(directory, options).read():
                found += rows.to_pyarrow()["offset"].to_pylist()
        except ls.RecordBatchError as error:
            raised = error
        # Without an error the damage is not among the bytes of these offsets, or a torn tail or zeros end its segment.
        rest = [offset for offset in left if offset < before or offset >= SEGMENTS[2][0]]
        either = [wanted(rest, start, before)] if raised else [wanted(left, start, end), wanted(rest, start, end)]
        assert found in either, (start, end, raised)
        assert raised is None or f"{100:020}.log" in str(raised)


def test_parts_can_be_pickled_and_return_the_same(damaged: tuple[Path, list[int]]):
    directory, left = damaged
    reader = reader_of(directory, ReadOptions(columns=("offset",), on_error="skip", start_offset=120, end_offset=220))
    parts = pickle.loads(pickle.dumps(reader.parts()))
    assert [Path(source.path).name[:20] for source, _ in parts] == [f"{100:020}", f"{200:020}"]
    assert offsets_of(decode_files(parts, reader.options, [])) == wanted(left, 120, 220)


@pytest.mark.parametrize("opened", [ls.Log, ls.Segment])
def test_logs_and_segments_read_the_same(damaged: tuple[Path, list[int]], opened: Any):
    directory, left = damaged
    is_log = opened is ls.Log
    own = left if is_log else [offset for offset in left if 100 <= offset < 200]
    source = opened(directory if is_log else directory / f"{100:020}.log")
    for start, end in BOUNDS:
        found = source.records(columns=["offset"], on_error="skip", start_offset=start, end_offset=end)
        assert offsets_of(found) == wanted(own, start, end), (start, end)
