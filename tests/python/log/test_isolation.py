"""What a committed reader sees: aborted and open transactions left out, over one segment or several (rules TXN, CTL-7)."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls
from building import ABORTED, COMMITTED, TRANSACTIONS
from logsegment._decode import decoded
from logsegment._options import ReadOptions


def values(source: Any, **options: Any) -> list[bytes]:
    return [row["value"] for row in corpus.rows_of(ls.decode(source, columns=["value"], **options))]


@pytest.mark.parametrize("threads", [1, 2])
def test_read_committed_leaves_out_aborted_and_open_transactions(threads: int):
    """TXN-3 to TXN-6: up to the first offset of the oldest open transaction."""
    assert values(TRANSACTIONS, threads=threads) == [b"a0", b"c1", b"p2", b"a4", b"o7", b"p8"]
    assert values(TRANSACTIONS, isolation="read_committed", threads=threads) == [b"c1", b"p2", b"a4"]


def test_scanning_returns_aborted_and_open_transactions():
    """TXN-8."""
    found = ls.scan_transactions([TRANSACTIONS])
    assert found.aborted == [(ABORTED, 0, 3)]
    assert found.last_stable_offset == 7
    assert pickle.loads(pickle.dumps(found)) == found
    assert ls.Transactions(found.aborted, found.last_stable_offset) == found


def test_a_transaction_over_several_segments_needs_a_scan_of_all():
    """TXN-8: a marker in a later segment decides about data in an earlier one."""
    first = building.transactional_batch([b"a"], ABORTED, 0) + building.transactional_batch([b"c"], COMMITTED, 1)
    second = building.marker(0, ABORTED, 2) + building.marker(1, COMMITTED, 3) + building.simple_batch([b"p"], 4)
    found = ls.scan_transactions([first, second])
    read = ReadOptions(columns=["value"], isolation="read_committed", transactions=found)
    assert [row["value"] for source in (first, second) for row in decoded(source, read).to_pylist()] == [b"c", b"p"]
    assert values(first, isolation="read_committed") == []


def test_aborted_data_is_not_even_unpacked():
    """TXN-3: damage inside an aborted batch does not matter to a committed reader."""
    broken = building.transactional_batch([b"a" * 20], ABORTED, 0)
    broken = building.resealed(broken[:-5] + b"\x7f" * 5)
    data = broken + building.marker(0, ABORTED, 1) + building.simple_batch([b"p"], 2)
    assert values(data, isolation="read_committed") == [b"p"]
    with pytest.raises(ls.RecordBatchError):
        values(data)


def test_segments_in_the_wrong_order_are_noticed():
    """TXN-8: a marker would end a transaction that begins behind it."""
    first, second = building.transactional_batch([b"a"], ABORTED, 0), building.marker(0, ABORTED, 1)
    assert ls.scan_transactions([first, b"", second]).aborted == [(ABORTED, 0, 1)]
    with pytest.raises(ValueError, match=r"sources\[1\] starts at offset 1, sources\[2\] at 0"):
        ls.scan_transactions([b"", second, first])


def test_read_committed_of_a_pipe_needs_transactions():
    with pytest.raises(ValueError, match="reads the source twice"):
        ls.decode(io.BytesIO(TRANSACTIONS), isolation="read_committed")
    found = ls.scan_transactions([TRANSACTIONS])
    read = ReadOptions(columns=["value"], isolation="read_committed", transactions=found)
    assert [row["value"] for row in decoded(io.BytesIO(TRANSACTIONS), read).to_pylist()] == [b"c1", b"p2", b"a4"]


def test_markers_match_by_producer_id_only():
    """CTL-7: with KIP-890 a marker's epoch is one above that of its transaction."""
    data = building.transactional_batch([b"a"], ABORTED, 0) + building.marker(0, ABORTED, 1, epoch=1)
    assert values(data, isolation="read_committed") == []
    assert ls.scan_transactions([data]).aborted == [(ABORTED, 0, 1)]


def test_a_damaged_batch_opens_no_transaction_when_damage_is_skipped():
    """TXN-8, V2-31: a flipped transactional bit would put everything behind it beyond the last stable offset."""
    plain = building.simple_batch([b"a", b"b"], base_offset=0)
    damaged = bytearray(building.simple_batch([b"c"], base_offset=2))
    damaged[22] |= 0x10
    damaged[43:51] = (7).to_bytes(8, "big")
    data = plain + bytes(damaged) + building.simple_batch([b"d"], base_offset=3)
    stream = ls.decode(data, columns=["offset"], isolation="read_committed", on_error="skip")
    assert [row["offset"] for row in corpus.rows_of(stream)] == [0, 1, 3]


TIMES = [1_300_000_000_000, 1_600_000_000_000, 1_700_000_000_123, 1_753_000_000_000]


@pytest.mark.parametrize("format_", ["auto", "v3"])
@pytest.mark.parametrize("producer_id", [0, 1, 9, 4000, 1 << 33])
@pytest.mark.parametrize("time", TIMES)
def test_a_flipped_magic_opens_no_transaction_when_damage_is_skipped(tmp_path: Path, time: int, producer_id: int, format_: str):
    """TXN-8, FND-18: no checksum covers the magic, and one flipped bit makes a batch of magic 2 look like one of magic 3."""
    table = pa.table({"value": [b"a", b"b"], "timestampMs": [time, time + 5]})
    producer = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    damaged = bytearray(ls.encode(table, transactional=True, partition_leader_epoch=0, **producer))
    damaged[16] = 3
    data = bytes(damaged) + building.marker(1, producer_id, 2) + ls.encode(table, base_offset=3) + ls.encode(table, base_offset=5)
    options = {"columns": ["offset"], "isolation": "read_committed", "on_error": "skip", "format": format_}
    assert [row["offset"] for row in corpus.rows_of(ls.decode(data, **options))] == [3, 4, 5, 6]
    assert ls.scan_transactions([data], format=format_).last_stable_offset is None
    file = tmp_path / "topic-0" / "00000000000000000000.log"
    file.parent.mkdir()
    file.write_bytes(data)
    for log in (ls.Log(str(file.parent)), ls.Segment(str(file))):
        assert [row["offset"] for row in corpus.rows_of(log.records(**options))] == [3, 4, 5, 6]
        with pytest.raises(ls.RecordBatchError, match=r"FND-18|MAP-3|PRM-4"):
            log.records(**options | {"on_error": "raise"}).read_all()
    rules = {finding.rule for finding in ls.validate(data, format=format_).findings if finding.severity == "error"}
    assert rules
    assert rules <= {"FND-18", "MAP-3", "PRM-4"}


def test_a_segment_of_v3_by_name_knows_its_transactions(tmp_path: Path):
    """S-V21, TXN-8."""
    table = pa.table({"value": [b"a", b"b"], "timestampMs": [5, 6]})
    data = ls.encode(table, transactional=True, producer_id=ABORTED, producer_epoch=0, base_sequence=0)
    data = data + building.marker(0, ABORTED, 2) + ls.encode(table, base_offset=3)
    file = tmp_path / "topic-0" / "00000000000000000000.log"
    file.parent.mkdir()
    file.write_bytes(ls.convert(data, to="v3").data)
    for switch in ({"format": "v3"},):
        for log in (ls.Log(str(file.parent)), ls.Segment(str(file))):
            stream = log.records(columns=["offset"], isolation="read_committed", **switch)
            assert [row["offset"] for row in corpus.rows_of(stream)] == [3, 4]


def test_a_scan_has_the_options_of_the_decode_that_follows():
    data = building.transactional_batch([b"a" * 1000], ABORTED, 0) + building.marker(0, ABORTED, 1)
    assert ls.scan_transactions([data]).aborted == [(ABORTED, 0, 1)]
    # A batch that the decode does not read begins no transaction.
    assert ls.scan_transactions([data], limits=ls.Limits(max_batch_bytes=500)).aborted == []
    with pytest.raises(TypeError, match="unexpected keyword argument 'exprimental'"):
        ls.scan_transactions([data], exprimental=True)
