"""Every case of the corpus gives exactly what Kafka's own classes read out of it (rules MAP, L7, L8, V2, CTL, COD, TXN)."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import corpus
import logsegment as ls
from corpus import BATCH_COLUMNS, CONSUMED_COLUMNS, RECORD_COLUMNS, Case, Partition, rows_of
from every import every
from logsegment._decode import decoded
from logsegment._options import ReadOptions
from slow import slow_after

CASES = corpus.cases()
#: Few cases that have everything: nulls, headers, all codecs, markers, big records, compaction, LogAppendTime, every format.
RICH_TOPICS = {
    "modern-4.1.0": ("codec", "edge", "transactions-", "compacted-t", "log", "large"),
    "legacy-0.7.2": ("edge", "magic0", "mixed"),
    "legacy-0.8.2.2": ("codec-lz4", "codec-none", "compacted-gzip"),
    "legacy-0.10.2.2": ("codec-snappy", "codec-none", "compacted-lz4", "log"),
    "legacy-2.4.1": ("upgraded",),
}
RICH = [case for case in CASES if case.batches and case.path.parent.name.startswith(RICH_TOPICS.get(case.set, ("-",)))]
all_cases = every("case", CASES)
rich_cases = every("case", RICH)


def sources_of(case: Case) -> dict[str, Callable[[], Any]]:
    data = case.read()
    return {
        "bytes": lambda: data,
        "memoryview": lambda: memoryview(data),
        "bytearray": lambda: bytearray(data),
        "FileSource": lambda: ls.FileSource(str(case.path)),
        "BytesIO": lambda: io.BytesIO(data),
        "unbuffered file": lambda: open(case.path, "rb", buffering=0),
        "stingy file": lambda: Stingy(data),
    }


class Stingy:
    """A pipe that gives at most 777 bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self.inner = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self.inner.read(min(size, 777) if size >= 0 else 777)


def records(source: Any, **options: Any) -> list[corpus.Row]:
    return rows_of(ls.decode(source, columns=RECORD_COLUMNS, control=True, **options))


def test_the_walk_sees_every_case_of_the_manifest():
    listed = corpus.manifest()["counts"]
    corpus.seen_all(CASES, listed["cases"])
    corpus.seen_all(corpus.conversions(), listed["conversions"])
    assert sum(case.batches for case in CASES) == listed["batches"]
    assert sum(case.records for case in CASES) == listed["records"]
    corpus.seen_all(CASES, 352)
    corpus.seen_all([case for case in CASES if case.set == "modern-4.1.0"], 61)
    corpus.seen_all(corpus.consumed_partitions(), 16)
    corpus.seen_all(RICH, 40)
    assert {found for case in CASES for found in case.formats} == {"0.7", "v0", "v1", "v2"}
    assert {case.set for case in CASES} == {path.parent.name for path in corpus.CORPUS.glob("*/set.json")}


@all_cases
def test_the_bytes_are_those_that_the_manifest_names(case: Case):
    assert hashlib.sha256(case.read()).hexdigest() == case.sha256


@all_cases
def test_batches_are_those_of_the_truth(case: Case):
    """L7-1, L8-1, L8-28, V2-1 to V2-16: all columns of every header."""
    expected = corpus.expected_batches(case)
    assert rows_of(ls.batches(case.source, **case.options)) == expected
    assert len(expected) == case.batches
    assert rows_of(ls.batch_stream(ls.FileSource(str(case.path)), **case.options, batch_size=7)) == expected


@all_cases
def test_batches_are_complete_when_wrappers_are_decompressed(case: Case):
    """L8-25, L8-28: the base offset of a compressed set and its count stand inside."""
    assert rows_of(ls.batches(case.source, **case.options, resolve=True)) == corpus.expected_batches(case, resolve=True)


@all_cases
def test_batches_without_checksums_leave_only_validity_open(case: Case):
    expected = [row | {"isValid": None} for row in corpus.expected_batches(case)]
    assert rows_of(ls.batches(case.source, **case.options, check_crc=False)) == expected


@all_cases
def test_records_are_those_of_the_truth(case: Case):
    """L7-23, L7-24, L8-24 to L8-33, V2-11, V2-18 to V2-21, PRM-8, CTL-3: all that the truth has of every record."""
    expected = corpus.expected_records(case)
    assert records(case.source, **case.options) == expected
    assert len(expected) == case.records


@all_cases
def test_control_records_are_left_out_unless_asked_for(case: Case):
    """CTL-9: control records use offsets and are never delivered."""
    rows = rows_of(ls.decode(case.source, **case.options, columns=RECORD_COLUMNS))
    assert rows == corpus.expected_records(case, control=False)


@all_cases
def test_timestamps_are_microseconds_and_null_where_they_do_not_fit(case: Case):
    """V2-16: -1 is 1969-12-31T23:59:59.999Z, as Spark's Kafka source has it."""
    import pyarrow as pa

    table = pa.table(ls.decode(case.source, **case.options, columns=["timestamp", "timestampMs"], control=True))
    micros = table["timestamp"].cast(pa.int64()).to_pylist()
    for micro, milli in zip(micros, table["timestampMs"].to_pylist(), strict=True):
        assert micro == (milli * 1000 if -(2**63) <= milli * 1000 < 2**63 else None)


def test_no_timestamp_reads_as_one_millisecond_before_the_epoch():
    """V2-16."""
    edges = [case for case in CASES if "edge-records-0" in case.file]
    rows = [row for case in edges for row in rows_of(ls.decode(case.source, **case.options, columns=["timestamp", "timestampMs"]))]
    assert {row["timestamp"] for row in rows if row["timestampMs"] == -1} == {datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1)}


@all_cases
def test_raw_header_keys_are_the_bytes_of_the_header_keys(case: Case):
    """V2-20."""
    rows = rows_of(ls.decode(case.source, **case.options, columns=["headers", "headersRaw"], control=True))
    for row in rows:
        assert [(key.decode("utf-8", "replace"), value) for key, value in row["headersRaw"]] == row["headers"]


@all_cases
def test_records_without_headers_have_null_when_asked_for(case: Case):
    """Spark's Kafka source gives null there; `headers` is an empty list otherwise."""
    expected = [row["headers"] or None for row in corpus.expected_records(case)]
    rows = rows_of(decoded(case.source, ReadOptions(**case.options, columns=["headers"], control=True, null_headers=True)))
    assert [row["headers"] for row in rows] == expected


@pytest.mark.parametrize("threads", slow_after(1, [2, 1]))
@pytest.mark.parametrize("binary", ["binary", "large_binary", "binary_view"])
def test_binary_types_and_threads_change_nothing_but_the_type(binary: str, threads: int):
    import pyarrow as pa

    wanted = {"binary": pa.binary(), "large_binary": pa.large_binary(), "binary_view": pa.binary_view()}[binary]
    for case in CASES:
        stream = ls.decode(case.source, **case.options, columns=RECORD_COLUMNS, control=True, binary=binary, threads=threads)
        table = stream.to_pyarrow()
        assert table.schema.field("value").type == wanted
        assert table.schema.field("headers").type.value_type.field("value").type == wanted
        assert rows_of(table) == corpus.expected_records(case), case.file


@rich_cases
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["bytes", "memoryview", "bytearray", "FileSource", "BytesIO", "unbuffered file", "stingy file"])
def test_every_kind_of_source_gives_the_same(case: Case, kind: str, threads: int):
    source = sources_of(case)[kind]()
    # Bytes of 0.7 have no name that says the position of the first one.
    start = int(case.path.stem) if case.format == "0.7" else None
    read = ReadOptions(columns=RECORD_COLUMNS, control=True, base_position=start, **case.options, threads=threads)
    try:
        assert rows_of(decoded(source, read)) == corpus.expected_records(case)
    finally:
        if kind == "unbuffered file":
            source.close()


@pytest.mark.slow
@rich_cases
@pytest.mark.parametrize("binary", ["binary", "binary_view"])
@pytest.mark.parametrize("cut", [{"batch_size": 1}, {"batch_size": 7}, {"batch_bytes": 1024}, {"batch_bytes": 1}])
def test_small_arrow_batches_hold_the_same_rows(case: Case, cut: dict[str, int], binary: str):
    """A record larger than `batch_bytes` stands alone."""
    for threads in (1, 2):
        stream = ls.decode(case.source, **case.options, columns=RECORD_COLUMNS, control=True, binary=binary, threads=threads, **cut)
        parts = list(stream)
        assert max(part.num_rows for part in parts) <= cut.get("batch_size", 1 << 30)
        assert min(part.num_rows for part in parts) > 0
        assert [row for part in parts for row in rows_of(part)] == corpus.expected_records(case)


@rich_cases
def test_batch_bytes_bounds_what_a_batch_holds(case: Case):
    limit = 1024
    largest = max(payload(row) for row in corpus.expected_records(case))
    for part in ls.decode(case.source, **case.options, columns=RECORD_COLUMNS, control=True, batch_bytes=limit):
        rows = rows_of(part)
        assert len(rows) == 1 or sum(map(payload, rows)) <= limit + 2 * largest


def payload(row: corpus.Row) -> int:
    """Bytes of keys, values and headers of a row."""
    parts = [row["key"], row["value"], *(part for header in row["headers"] for part in header)]
    return sum(part.length if isinstance(part, corpus.Digest) else len(part or b"") for part in parts)


@pytest.mark.parametrize("column", [name for name in RECORD_COLUMNS if name != "controlType"])
def test_each_column_alone_is_the_same_as_among_all(column: str):
    for case in CASES:
        rows = rows_of(ls.decode(case.source, **case.options, columns=[column], control=True))
        assert [row[column] for row in rows] == [row[column] for row in corpus.expected_records(case)], case.file


@all_cases
def test_clean_cases_have_no_error_finding(case: Case):
    """`validate` has an error if and only if `decode` raises."""
    report = ls.validate(case.source, **case.options)
    assert report.ok, repr(report)
    assert report.io_stats["records"] == case.records
    assert report.io_stats["entries_read"] == case.batches


@pytest.mark.parametrize("case", corpus.mixed_cases(), ids=str)
def test_a_format_that_was_named_is_insisted_on(case: Case):
    """MAP-3: a log may mix formats; what was not asked for is never passed over in silence."""
    with pytest.raises(ls.UnsupportedError, match="magic 0") as raised:
        records(case.source, format="v2")
    assert raised.value.position == 0
    assert raised.value.rule == "MAP-3"
    assert not ls.validate(case.source, format="v2").ok


@pytest.mark.parametrize("case", corpus.mixed_cases(), ids=str)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_skipping_other_formats_gives_those_of_one_and_accounts_for_the_rest(case: Case, magic: int):
    """MAP-3."""
    stream = ls.decode(case.source, columns=RECORD_COLUMNS, control=True, on_error="skip", format=f"v{magic}")
    assert rows_of(stream) == [row for row in corpus.expected_records(case) if row["magic"] == magic]
    entries = [row for row in corpus.truth_of(case.truth).batches if row["magic"] != magic]
    assert {finding.rule for finding in stream.findings} == {"MAP-3"}
    assert sum(finding.length for finding in stream.findings) == sum(row["size"] for row in entries)


def test_the_walk_has_logs_of_several_formats():
    corpus.seen_all(corpus.mixed_cases(), 2)


@every("case", [case for case in CASES if case.batches])
def test_sniffing_finds_the_format(case: Case):
    """MAP-1: by checksums, where the caller does not say that it is 0.7."""
    assert records(case.source, **case.options | {"format": "sniff"}) == corpus.expected_records(case)


def consume(partition: Partition, isolation: str, **options: Any) -> list[corpus.Row]:
    sources = [ls.FileSource(str(case.path)) for case in partition.segments]
    transactions = ls.scan_transactions(sources)
    streams = [
        decoded(source, ReadOptions(columns=CONSUMED_COLUMNS, isolation=isolation, transactions=transactions, **options))
        for source in sources
    ]
    return [row for stream in streams for row in rows_of(stream)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("partition", "isolation"), corpus.consumed_partitions(), ids=str)
def test_partitions_give_what_kafkas_consumer_returned(partition: Partition, isolation: str, threads: int):
    """TXN-1 to TXN-9, over all segments of a partition."""
    expected = corpus.expected_consumed(partition.consumed[isolation])
    assert consume(partition, isolation, threads=threads) == expected
    assert expected


@every("partition", [found for found in corpus.partitions() if len(found.segments) == 1 and found.format == "auto"])
def test_read_committed_of_one_segment_needs_no_scan_by_hand(partition: Partition):
    """TXN-8: from the markers alone, when the range starts at a transaction boundary."""
    case = partition.segments[0]
    own = rows_of(ls.decode(case.source, **case.options, columns=CONSUMED_COLUMNS, isolation="read_committed"))
    assert own == consume(partition, "read_committed")


def test_columns_of_the_truth_are_all_columns_of_batches(segment: Callable[[str], bytes]):
    data = segment("modern-4.1.0/data/codec-gzip-0/00000000000000000000.log")
    assert ls.batches(data).column_names == BATCH_COLUMNS
