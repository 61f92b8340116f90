"""Look-ups in one segment: where it ends, its first entry, and the entry around a position."""

from pathlib import Path

import pytest

import corpus
import logsegment as ls
from logsegment._core import SegmentLookup
from logsegment.segment_files.discovery import find_segments
from logsegment.spark.read.plan import first_entry_error
from made_logs import make_partition

OF_0_7 = corpus.CORPUS / "legacy-0.7.2/data/codec-none-0/00000000000000000000.kafka"


def lookup(path: Path) -> SegmentLookup:
    (file,) = find_segments(path)
    return SegmentLookup(file)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    make_partition(tmp_path, "orders", 0, [list(range(100))], interval=1)
    return tmp_path / "orders-0" / f"{0:020}.log"


def test_the_end_is_the_offset_and_the_position_after_the_last_batch(log: Path):
    size = log.stat().st_size
    assert lookup(log).end() == (100, size)
    with log.open("ab") as file:
        file.write(bytes([1] * 20))
    assert lookup(log).end() == (100, size)
    log.write_bytes(b"")
    assert lookup(log).end() == (0, 0)


def test_a_damaged_header_hides_no_valid_batch_at_the_end(log: Path):
    """A length that leads over the end makes a torn tail of the valid batches after it."""
    rows = ls.batches(log.read_bytes()).to_pylist()
    at = rows[len(rows) // 2]
    data = bytearray(log.read_bytes())
    data[at["position"] + 8 : at["position"] + 12] = (len(data) + 1000).to_bytes(4)
    log.write_bytes(data)
    segment = lookup(log)
    log.with_suffix(".index").unlink()
    assert segment.end_before(at["baseOffset"], past_damage=False) is None
    assert segment.end_before(100, past_damage=False) == at["baseOffset"]
    assert segment.end_before(100, past_damage=True) is None
    assert segment.end_before(101, past_damage=True) == at["baseOffset"]


def test_the_entry_around_a_position_is_one_that_begins_before_it():
    first, second, *_ = ls.batches(ls.FileSource(OF_0_7)).to_pylist()
    segment = lookup(OF_0_7)
    assert first["position"] == 0
    assert segment.entry_around(1) == (0, first["size"])
    assert segment.entry_around(first["size"]) is None
    assert segment.entry_around(first["size"] + 1) == (first["size"], first["size"] + second["size"])
    assert segment.entry_around(OF_0_7.stat().st_size + 1) is None


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"", None), (bytes(4096), None), (bytes(8) + b"\0\0\1\0" + b"\1" * 9, ls.TruncatedError), (b"PAR1" * 100, ls.InvalidError)],
)
def test_the_error_of_the_first_entry(tmp_path: Path, data: bytes, error: type[ls.RecordBatchError] | None):
    (tmp_path / "notes.bin").write_bytes(data)
    found = first_entry_error(str(tmp_path / "notes.bin"))
    assert found is None if error is None else isinstance(found, error)


def test_damage_after_the_first_entry_is_no_error_of_it(log: Path):
    log.write_bytes(log.read_bytes()[:-10])
    assert first_entry_error(str(log)) is None
