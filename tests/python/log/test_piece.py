"""Pieces of segments: together they read what the segment holds, and one of them reports its finding."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from logsegment._core import SegmentLookup, SegmentRange, decode_files
from logsegment._options import ReadOptions
from logsegment.partition.reader import PartitionReader
from logsegment.segment_files.discovery import find_segments
from made_logs import make_partition


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a partition of two segments with small batches."""
    make_partition(tmp_path, "orders", 0, [list(range(100)), list(range(100, 200))], interval=1)
    return tmp_path / "orders-0"


def pieces_of(directory: Path, **options: Any) -> list[SegmentRange]:
    read = ReadOptions(columns=("offset",), **options)
    return PartitionReader([SegmentLookup(file) for file in find_segments(directory)], read).pieces()


def offsets_of(pieces: list[SegmentRange]) -> list[int]:
    stream = decode_files([piece.part(None) for piece in pieces], ReadOptions(columns=("offset",)))
    return [row["offset"] for row in stream.read_all().to_pylist()]


def from_end(piece: SegmentRange, step: int) -> list[SegmentRange]:
    """Return pieces from the last one to the first one, each about twice as long as the one after it."""
    pieces = []
    while (cut := piece.cut_before_end(step)) is not None:
        piece, last = cut
        pieces.append(last)
        step *= 2
    return [*pieces, piece]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(("start", "end"), [(None, None), (10, 190), (100, None), (150, 151)])
def test_cut_pieces_read_the_same_records_once(directory: Path, on_error: str, start: int | None, end: int | None):
    pieces = pieces_of(directory, on_error=on_error, start_offset=start, end_offset=end)
    wanted = list(range(start or 0, 200 if end is None else end))
    assert offsets_of(pieces) == wanted
    by_bytes = [cut for piece in pieces for cut in piece.cut_by_bytes(max(piece.size // 3, 1))]
    by_offsets = [cut for piece in pieces for cut in piece.cut_by_offsets(7)]
    assert offsets_of(by_bytes) == offsets_of(by_offsets) == wanted
    assert [piece.has_finding for piece in by_offsets].count(True) == len({piece.segment.path for piece in by_offsets})
    assert all(piece.most_offsets is None or piece.most_offsets <= 7 for piece in by_offsets)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("step", [1, 500, 1 << 20])
@pytest.mark.parametrize(("start", "end"), [(None, None), (10, 190), (150, 151)])
def test_pieces_from_the_end_read_the_same_records_once(directory: Path, on_error: str, step: int, start: int | None, end: int | None):
    for piece in pieces_of(directory, on_error=on_error, start_offset=start, end_offset=end):
        pieces = from_end(piece, step)
        assert offsets_of(pieces[::-1]) == offsets_of([piece])
        assert (pieces[0].stop, pieces[-1].begin) == (piece.stop, piece.begin)
        assert (len(pieces) > 1) == (piece.size > max(2 * step, 1000))
        assert [piece.has_finding for piece in pieces] == [True] + [False] * (len(pieces) - 1)
        assert all(earlier.stop == later.begin for later, earlier in pairwise(pieces))
        assert sum(piece.size for piece in pieces) == piece.size


def test_a_segment_whose_name_shows_that_all_is_wanted_is_not_looked_up(directory: Path):
    first, second = pieces_of(directory, start_offset=50)
    assert (first.options.start_offset, first.is_looked_up) == (50, True)
    assert (second.options.start_offset, second.is_looked_up) == (None, False)


def test_a_segment_that_is_gone_is_a_piece_without_bytes(directory: Path):
    segments = [SegmentLookup(file) for file in find_segments(directory)]
    Path(segments[0].path).unlink()
    gone, there = PartitionReader(segments, ReadOptions(start_offset=50)).pieces()
    assert (gone.size, gone.begin, gone.stop) == (0, 0, None)
    assert there.size > 0
    with pytest.raises(FileNotFoundError):
        offsets_of([gone])


def test_a_piece_needs_the_transactions_that_touch_it(directory: Path):
    known = ls.Transactions([(1, 0, 20), (2, 90, 110), (3, 180, 190)], 195, [(4, 30, 60)])
    first, second = pieces_of(directory, start_offset=40, end_offset=150)
    assert first.touching(known) == ls.Transactions([(2, 90, 110)], 195, [(4, 30, 60)])
    assert second.touching(known) == ls.Transactions([(2, 90, 110)], 195)
