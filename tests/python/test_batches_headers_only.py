"""`batches(check_crc=False)` of a file goes from header to header: the same rows, findings and errors as a read of all bytes gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import building
import corpus
import damage
import hostile
import logsegment as ls
from corpus import rows_of

SEGMENT = corpus.CORPUS / "modern-4.1.0/data/codec-none-0/00000000000000000000.log"
HEADER = 61


def outcome(source: Any, on_error: Any, **options: Any) -> tuple[list[corpus.Row], list[ls.Finding], tuple[str, str] | None]:
    """Rows, findings and error of a source."""
    stream = ls.batch_stream(source, check_crc=False, on_error=on_error, batch_size=7, **options)
    rows, error = [], None
    try:
        for batch in stream:
            rows += rows_of(batch)
    except ls.RecordBatchError as raised:
        # Of a file an error says which.
        error = type(raised).__name__, str(raised).removeprefix(f"{raised.path}: ")
    return rows, stream.findings, error


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_every_case_of_the_corpus_gives_the_rows_that_all_its_bytes_give(on_error: str):
    cases = corpus.cases()
    for case in cases:
        options = {"format": case.format} if case.format == "0.7" else {}
        expected = [row | {"isValid": None} for row in corpus.expected_batches(case)]
        found, findings, error = outcome(ls.FileSource(case.path), on_error, **options)
        assert (found, error) == (expected, None), case
        assert findings == outcome(case.source, on_error, **options)[1], case
    corpus.seen_all(cases, corpus.manifest()["counts"]["cases"])


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_every_hostile_case_ends_as_its_bytes_do(on_error: str, tmp_path: Path):
    cases = [case for case in hostile.cases() if not case.is_bomb]
    for case in cases:
        path = tmp_path / "segment.log"
        path.write_bytes(case.read())
        assert outcome(ls.FileSource(path), on_error, **case.options) == outcome(case.read(), on_error, **case.options), case
    corpus.seen_all(cases, 100)


def test_only_headers_are_read(tmp_path: Path):
    """16 KiB batches: of each less than twice its header, and nothing of what lies between."""
    path = tmp_path / "segment.log"
    path.write_bytes(building.simple_batch([bytes(16_000)]) * 500)
    table = ls.batches(ls.FileSource(path), check_crc=False)
    stats = table.io_stats
    assert (len(table), stats.entries_read) == (500, 500)
    assert 500 * HEADER <= stats.bytes_read <= 500 * 2 * HEADER
    assert (stats.entries_decompressed, stats.bytes_inflated, stats.bytes_checksummed) == (0, 0, 0)
    assert ls.batches(ls.FileSource(path)).io_stats.bytes_read == path.stat().st_size, "checksums need all bytes"


def test_a_range_is_walked_from_its_start_to_its_end():
    rows = rows_of(ls.batches(SEGMENT.read_bytes(), check_crc=False))
    start, end = rows[2]["position"], rows[5]["position"]
    assert rows_of(ls.batches(ls.FileSource(SEGMENT, start, end), check_crc=False)) == rows[2:5]
    cut = ls.batches(ls.FileSource(SEGMENT, start, end + 30), check_crc=False)
    assert [(finding.rule, finding.position) for finding in cut.findings] == [("L8-14", end)]
    with pytest.raises(ls.TruncatedError):
        ls.batches(ls.FileSource(SEGMENT, start, end + 30), check_crc=False, strict_tail=True)


def test_damage_is_searched_from_where_nothing_can_be_framed(tmp_path: Path):
    """The length of the fourth batch is a lie (L8-11, L8-13): the next intact one is found."""
    data = SEGMENT.read_bytes()
    rows = rows_of(ls.batches(data, check_crc=False))
    at = rows[3]["position"]
    path = tmp_path / "segment.log"
    for length in (int.from_bytes(data[at + 8 : at + 12]) + 1000, 0):
        damaged = data[: at + 8] + length.to_bytes(4) + data[at + 12 :]
        path.write_bytes(damaged)
        found, findings, error = outcome(ls.FileSource(path), "skip")
        assert (found, findings, error) == outcome(damaged, "skip")
        assert found[-1] == rows[-1]
        assert [finding.severity for finding in findings] == ["error"]


@damage.per_codec
def test_a_file_that_is_cut_anywhere_ends_as_its_bytes_do(codec: str, tmp_path: Path):
    data, _ = damage.seed(codec)
    path = tmp_path / "segment.log"
    for cut in range(0, len(data), max(1, len(data) // 200)):
        path.write_bytes(data[:cut])
        assert outcome(ls.FileSource(path), "raise") == outcome(data[:cut], "raise"), cut
