"""Counters of skipped work: headers decompress nothing, columns that are not requested are not copied, bounds hold."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import building
import corpus
import logsegment as ls

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NAMES = {
    "bytes_read",
    "entries_read",
    "entries_skipped",
    "entries_decompressed",
    "bytes_inflated",
    "bytes_checksummed",
    "records",
    "bytes_copied",
    "avro_values",
    "json_values",
    "protobuf_values",
    "raw_values",
    "range_requests",
    "bytes_fetched",
}
per_codec = pytest.mark.parametrize("codec", CODECS)


def segment(codec: str) -> Path:
    return corpus.CORPUS / f"modern-4.1.0/data/codec-{codec}-0/00000000000000000000.log"


def stats_of(source: Any, **options: Any) -> Any:
    stream = ls.decode(source, **options)
    for _ in stream:
        pass
    return stream.io_stats


def batches_of(codec: str) -> list[corpus.Row]:
    return corpus.rows_of(ls.batches(segment(codec).read_bytes()))


def plain_sizes(codec: str) -> int:
    """Bytes of keys, values and headers in a whole segment."""
    rows = corpus.rows_of(ls.decode(segment(codec).read_bytes(), columns=["key", "value", "headersRaw"]))
    return sum(size(row["key"]) + size(row["value"]) + sum(size(part) for pair in row["headersRaw"] for part in pair) for row in rows)


def size(part: bytes | corpus.Digest | None) -> int:
    return part.length if isinstance(part, corpus.Digest) else len(part or b"")


@per_codec
def test_batches_unpack_nothing(codec: str):
    table = ls.batches(segment(codec).read_bytes())
    stats = table.io_stats
    assert set(stats) == NAMES
    assert (stats.entries_decompressed, stats.bytes_inflated, stats.records, stats.bytes_copied) == (0, 0, 0, 0)
    assert stats.entries_read == len(table)
    assert stats.bytes_read == segment(codec).stat().st_size


@per_codec
def test_batches_without_checksums_compute_none(codec: str):
    table = ls.batches(segment(codec).read_bytes(), check_crc=False)
    assert table.io_stats.bytes_checksummed == 0
    assert is_covered(ls.batches(segment(codec).read_bytes()).io_stats.bytes_checksummed, batches_of(codec))


def is_covered(checksummed: int, rows: list[corpus.Row]) -> bool:
    """Bytes of these entries, with or without the 21 in front that no checksum covers."""
    return sum(row["size"] - 21 for row in rows) <= checksummed <= sum(row["size"] for row in rows)


@per_codec
def test_decoding_counts_all_that_it_does(codec: str):
    stats = stats_of(segment(codec).read_bytes())
    data = segment(codec).stat().st_size
    assert stats.bytes_read == data
    assert stats.entries_read == len(batches_of(codec))
    assert stats.entries_decompressed == (0 if codec == "none" else stats.entries_read)
    assert stats.records == 240
    assert stats.bytes_copied == plain_sizes(codec)
    assert stats.bytes_inflated > plain_sizes(codec) if codec != "none" else stats.bytes_inflated == 0
    assert is_covered(stats.bytes_checksummed, batches_of(codec))


@per_codec
def test_columns_that_are_not_requested_are_not_copied(codec: str):
    data = segment(codec).read_bytes()
    keys = corpus.rows_of(ls.decode(data, columns=["key"]))
    assert stats_of(data, columns=["offset", "timestamp"]).bytes_copied == 0
    assert stats_of(data, columns=["key"]).bytes_copied == sum(size(row["key"]) for row in keys)


def test_views_of_uncompressed_values_copy_only_inline_values():
    """Arrow keeps up to 12 bytes in the view itself."""
    data = segment("none").read_bytes()
    rows = corpus.rows_of(ls.decode(data, columns=["value"]))
    short = sum(size(row["value"]) for row in rows if size(row["value"]) <= 12)
    assert stats_of(data, columns=["value"], binary="binary_view").bytes_copied <= short
    assert stats_of(data, columns=["value"], binary="binary").bytes_copied == sum(size(row["value"]) for row in rows)


@per_codec
@pytest.mark.parametrize("kind", ["bytes", "FileSource", "file object"])
def test_entries_outside_of_the_bounds_are_not_opened(codec: str, kind: str):
    """Batches wholly outside are neither checksummed nor unpacked nor parsed."""
    rows = batches_of(codec)
    wanted = rows[3:6]
    start, end = wanted[0]["baseOffset"], wanted[-1]["lastOffset"] + 1
    path = segment(codec)
    sources = {"bytes": path.read_bytes(), "FileSource": ls.FileSource(path), "file object": io.BytesIO(path.read_bytes())}
    stats = stats_of(sources[kind], start_offset=start, end_offset=end)
    assert stats.records == end - start
    assert stats.entries_decompressed == (0 if codec == "none" else len(wanted))
    assert is_covered(stats.bytes_checksummed, wanted)
    assert stats.entries_skipped == stats.entries_read - len(wanted) >= 3


@per_codec
def test_nothing_is_unpacked_behind_the_end_offset(codec: str):
    rows = batches_of(codec)
    stream = ls.decode(segment(codec).read_bytes(), columns=["offset"], end_offset=rows[1]["lastOffset"] + 1)
    assert sum(batch.num_rows for batch in stream) == rows[1]["lastOffset"] + 1
    assert stream.io_stats.entries_decompressed == (0 if codec == "none" else 2)


def test_a_range_of_a_file_reads_only_that_range():
    rows = batches_of("none")
    first, last = rows[2], rows[4]
    source = ls.FileSource(segment("none"), first["position"], last["position"] + last["size"])
    stream = ls.decode(source, columns=["entryPosition", "offset"])
    got = corpus.rows_of(stream)
    assert {row["entryPosition"] for row in got} == {row["position"] for row in rows[2:5]}
    assert [row["offset"] for row in got] == list(range(first["baseOffset"], last["lastOffset"] + 1))
    assert stream.io_stats.bytes_read == last["position"] + last["size"] - first["position"]


def test_control_and_aborted_batches_are_not_opened():
    """CTL-9, TXN-3: a whole batch that is not wanted costs its header only."""
    data = building.transactional_batch([b"a" * 50] * 9, 7, 0) + building.marker(0, 7, 9) + building.simple_batch([b"b"], 10)
    stats = stats_of(data, isolation="read_committed")
    assert stats.records == 1
    assert stats.entries_skipped >= 1
    assert stats.bytes_copied == 1


@per_codec
def test_validation_by_headers_unpacks_nothing(codec: str):
    data = segment(codec).read_bytes()
    report = ls.validate(data, depth="headers")
    assert report.io_stats.entries_decompressed == report.io_stats.bytes_inflated == 0
    full = ls.validate(data)
    assert full.io_stats.bytes_checksummed == report.io_stats.bytes_checksummed == stats_of(data).bytes_checksummed
    assert is_covered(full.io_stats.bytes_checksummed, batches_of(codec))
    assert ls.validate(data, check_crc=False).io_stats.bytes_checksummed == 0
    assert stats_of(data, on_error="skip").bytes_checksummed == full.io_stats.bytes_checksummed
    assert full.io_stats.entries_decompressed == (0 if codec == "none" else len(batches_of(codec)))
    assert full.io_stats.records == 240


def test_scanning_transactions_reads_headers_and_markers_of_compressed_segments():
    found = ls.scan_transactions([segment(codec).read_bytes() for codec in CODECS])
    assert found.aborted == []
    assert found.last_stable_offset is None


@pytest.mark.parametrize("threads", [1, 2])
@per_codec
def test_counters_do_not_depend_on_threads_or_batch_size(codec: str, threads: int):
    data = segment(codec).read_bytes()
    assert stats_of(data, threads=threads, batch_size=7) == stats_of(data)


def test_counters_of_a_running_stream_grow():
    stream = ls.decode(segment("gzip").read_bytes(), batch_size=10)
    first = next(stream)
    early = stream.io_stats
    assert early.records == len(first)
    for _ in stream:
        pass
    assert stream.io_stats.records == 240
    with pytest.raises(AttributeError):
        _ = early.no_such_counter


def test_a_compressed_batch_that_is_left_early_is_not_inflated_twice():
    data = segment("gzip").read_bytes()
    one = stats_of(data).bytes_inflated
    assert stats_of(data, batch_size=1).bytes_inflated == one
