"""Markers of the proposed format v3: every door that reads them refuses them without the switch, or needs none."""

from __future__ import annotations

from pathlib import Path

import pytest

import building
import corpus
import logsegment as ls
from building import ABORTED, TRANSACTIONS
from cli_process import run
from logsegment._decode import decoded
from logsegment._options import ReadOptions
from logsegment.partition.transactions import transactions_of
from logsegment.segment_files.discovery import find_segments

V3 = ls.convert(TRANSACTIONS, to="v3").data
#: The marker that aborts is of magic 3, what it aborts is not.
MIXED = (
    building.transactional_batch([b"a0"], ABORTED, 0)
    + ls.convert(building.marker(0, ABORTED, 1), to="v3").data
    + building.simple_batch([b"p2"], 2)
)


@pytest.fixture(params=[V3, MIXED], ids=["v3", "mixed"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    directory = tmp_path / "topic-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(request.param)
    return directory


def test_map_3_readers_of_markers_refuse_magic_3_without_the_switch(log: Path):
    path = log / f"{0:020d}.log"
    data = path.read_bytes()
    for reading in (
        lambda: ls.scan_transactions([data]),
        lambda: ls.scan_transactions([ls.FileSource(path)]),
        lambda: ls.scan_transactions([building.simple_batch([b"p"], 0) * 3, data]),
        lambda: ls.decode(data, isolation="read_committed").read_all(),
        lambda: ls.Log(log).records(isolation="read_committed").read_all(),
        lambda: list(transactions_of(find_segments(log))),
    ):
        with pytest.raises(ls.UnsupportedError) as raised:
            reading()
        assert raised.value.rule == "MAP-3"
        assert 'format="v3"' in str(raised.value)
    done = run("txn", log)
    assert (done.code, "MAP-3" in done.err, "Traceback" in done.err) == (2, True, False)


def test_with_the_switch_no_aborted_record_is_given(log: Path):
    data = (log / f"{0:020d}.log").read_bytes()
    known = ls.scan_transactions([data], format="v3")
    assert len(known.aborted) == 1
    options = {"columns": ["value"], "isolation": "read_committed", "format": "v3"}
    values = [row["value"] for row in corpus.rows_of(decoded(data, ReadOptions(transactions=known, **options)))]
    assert b"a0" not in values
    assert values == [row["value"] for row in corpus.rows_of(ls.decode(data, **options))]


def test_aborted_transactions_are_those_of_v3_without_a_switch(log: Path):
    expected = ls.scan_transactions([(log / f"{0:020d}.log").read_bytes()], format="v3").aborted
    for source in (ls.Log(log), ls.Segment(log / f"{0:020d}.log")):
        rows = source.aborted_transactions
        assert [(row.producer_id, row.first_offset, row.last_offset) for row in rows] == expected


def test_transactions_of_a_broker_are_the_same_in_v3(tmp_path: Path):
    source = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
    for path in source.glob("*.log"):
        (tmp_path / path.name).write_bytes(ls.convert(path.read_bytes(), to="v3").data)
    paths = sorted(tmp_path.glob("*.log"))
    expected = ls.scan_transactions([path.read_bytes() for path in sorted(source.glob("*.log"))])
    assert len(expected.aborted) > 0
    assert ls.scan_transactions([path.read_bytes() for path in paths], format="v3") == expected
    told = [(row.producer_id, row.first_offset, row.last_offset) for row in ls.Log(tmp_path).aborted_transactions]
    assert sorted(told) == sorted(expected.aborted)


def test_a_flipped_magic_is_damage_that_scans_pass_over():
    """FND-18: of magic 2 with a bit turned over; the decode that follows reports it."""
    batches = [building.transactional_batch([b"a0"], ABORTED, 0), building.marker(0, ABORTED, 1), building.simple_batch([b"p2"], 2)]
    flipped = bytearray(b"".join(batches))
    flipped[len(batches[0]) + len(batches[1]) + 16] = 3
    assert ls.scan_transactions([flipped]).aborted == [(ABORTED, 0, 1)]


@pytest.mark.parametrize("check_crc", [True, False])
def test_a_read_that_skips_unreadable_batches_reports_the_markers_that_it_skips(tmp_path: Path, check_crc: bool):
    """They are not damaged: a read that skips damage alone raises."""
    directory = tmp_path / "topic-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(MIXED)
    options = {"isolation": "read_committed", "on_error": "skip", "check_crc": check_crc, "columns": ["value"]}
    for read in (lambda: ls.decode(MIXED, **options).read_all(), lambda: ls.Log(directory).records(**options).read_all()):
        with pytest.raises(ls.UnsupportedError) as raised:
            read()
        assert raised.value.rule == "MAP-3"
    options["unreadable"] = "skip"
    known = ls.scan_transactions([MIXED], on_error="skip", unreadable="skip")
    for stream in (
        ls.decode(MIXED, **options),
        decoded(MIXED, ReadOptions(transactions=known, **options)),
        ls.Log(directory).records(**options),
    ):
        assert stream.read_all().num_rows == 0
        assert [finding.rule for finding in stream.findings] == ["TRX-5", "MAP-3"]
