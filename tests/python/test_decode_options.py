"""What the options of `decode` and `validate` do, alone and together."""

from __future__ import annotations

import io
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls

DEFAULT_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
REQUEST_COLUMNS = ["headersRaw", "timestampMs", "attributes", "producerId", "producerEpoch", "sequence", "partitionLeaderEpoch"]
REQUEST_COLUMNS += [
    "isTransactional",
    "isControl",
    "controlType",
    "magic",
    "compression",
    "batchBaseOffset",
    "entryPosition",
    "indexInEntry",
]
TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "timestampMs": pa.int64(),
    "producerId": pa.int64(),
    "sequence": pa.int32(),
    "partitionLeaderEpoch": pa.int32(),
    "isTransactional": pa.bool_(),
    "isControl": pa.bool_(),
    "controlType": pa.string(),
    "compression": pa.string(),
    "batchBaseOffset": pa.int64(),
    "entryPosition": pa.int64(),
}
GZIP = corpus.CORPUS / "modern-4.1.0/data/codec-gzip-0/00000000000000000000.log"
DATA = GZIP.read_bytes()
COUNT = 240


def offsets(source: Any, **options: Any) -> list[int]:
    return [row["offset"] for row in corpus.rows_of(ls.decode(source, columns=["offset"], **options))]


def values(source: Any, **options: Any) -> list[bytes]:
    return [row["value"] for row in corpus.rows_of(ls.decode(source, columns=["value"], **options))]


# Columns.


def test_default_columns_are_those_of_sparks_kafka_source():
    schema = pa.schema(ls.decode(b""))
    assert schema.names == DEFAULT_COLUMNS
    assert schema.field("headers").type == pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def test_all_columns_have_their_documented_types():
    schema = pa.schema(ls.decode(b"", columns=DEFAULT_COLUMNS + REQUEST_COLUMNS))
    assert {name: schema.field(name).type for name in TYPES} == TYPES
    assert schema.field("headersRaw").type.value_type.field("key").type == pa.binary()


def test_columns_come_in_the_order_asked_for():
    names = list(reversed(DEFAULT_COLUMNS + REQUEST_COLUMNS))
    table = ls.decode(DATA, columns=names).read_all()
    assert table.column_names == names
    assert ls.decode(DATA, columns=tuple(names)).read_all().column_names == names


def test_no_columns_still_count_rows():
    assert sum(batch.num_rows for batch in ls.decode(DATA, columns=[])) == COUNT


def test_topic_and_partition_are_what_the_caller_says():
    rows = corpus.rows_of(ls.decode(DATA, columns=["topic", "partition"], topic="orders", partition=7))
    assert rows == [{"topic": "orders", "partition": 7}] * COUNT
    rows = corpus.rows_of(ls.decode(DATA, columns=["topic", "partition"]))
    assert rows == [{"topic": None, "partition": None}] * COUNT


def test_a_header_key_that_is_not_utf8_is_replaced_and_kept_raw():
    """V2-20, FND-7."""
    data = building.batch(building.record(None, None, [(b"\xff\xfe", b"v"), (b"", None)]), count=1)
    [row] = corpus.rows_of(ls.decode(data, columns=["headers", "headersRaw"]))
    assert row["headers"] == [("\ufffd\ufffd", b"v"), ("", None)]
    assert row["headersRaw"] == [(b"\xff\xfe", b"v"), (b"", None)]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"\xed\xa0\x80", "\ufffd"),
        (b"a\xed\xa0\xbd\xed\xb8\x80b", "a\ufffd\ufffdb"),
        (b"\xed\xbf", "\ufffd"),
        (b"\xed\xa0a", "\ufffda"),
        (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),
    ],
)
def test_a_header_key_has_as_many_replacements_as_in_java(key: bytes, text: str):
    """V2-20: Java takes an encoded surrogate as one malformed sequence. `tests/interop/test_interop_streams.py` asks Java."""
    stream = ls.decode(building.batch(building.record(None, None, [(key, b"v")]), count=1), columns=["headers"])
    assert corpus.rows_of(stream) == [{"headers": [(text, b"v")]}]


def test_log_append_time_wins_over_the_records_own():
    """V2-12."""
    records = building.record(timestamp_delta=5) + building.record(offset_delta=1, timestamp_delta=-9)
    data = building.batch(records, count=2, attributes=building.LOG_APPEND_TIME, base_timestamp=100, max_timestamp=777)
    rows = corpus.rows_of(ls.decode(data, columns=["timestampMs", "timestampType"]))
    assert rows == [{"timestampMs": 777, "timestampType": 1}] * 2


def test_a_delete_horizon_is_the_base_of_the_deltas():
    """V2-14."""
    records = building.record(timestamp_delta=-50)
    data = building.batch(records, count=1, attributes=building.DELETE_HORIZON, base_timestamp=100, max_timestamp=50)
    assert corpus.rows_of(ls.decode(data, columns=["timestampMs"])) == [{"timestampMs": 50}]
    assert corpus.rows_of(ls.batches(data), ["deleteHorizonMs"]) == [{"deleteHorizonMs": 100}]


def test_sequences_wrap_at_the_largest():
    """V2-6."""
    data = building.batch(building.records([b""] * 3), count=3, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    rows = corpus.rows_of(ls.decode(data, columns=["sequence"]))
    assert [row["sequence"] for row in rows] == [2**31 - 2, 2**31 - 1, 0]


# Offsets.


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (start, end)
        for start in (None, 0, 1, 57, 239, 240, 10_000)
        for end in (None, 0, 1, 57, 58, 240, 10_000)
        if start is None or end is None or start <= end
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_bounds_are_kept_record_by_record(start: int | None, end: int | None, threads: int):
    """KIP-107: start inclusive, end exclusive, also inside a batch."""
    expected = [offset for offset in range(COUNT) if (start is None or offset >= start) and (end is None or offset < end)]
    assert offsets(DATA, start_offset=start, end_offset=end, threads=threads) == expected


def test_bounds_hold_for_compacted_batches_and_control_records():
    case = next(case for case in corpus.cases() if "compacted-transactions-0" in case.file and case.records)
    everything = [row["offset"] for row in corpus.expected_records(case)]
    middle = everything[len(everything) // 2]
    assert offsets(case.read(), control=True, start_offset=middle) == [offset for offset in everything if offset >= middle]


# Sources.


def test_a_file_source_can_be_pickled_and_used_again(tmp_path: Path):
    source = ls.FileSource(str(GZIP), 198, 198 + 3851)
    again = pickle.loads(pickle.dumps(source))
    assert again == source
    assert (again.path, again.start, again.end) == (GZIP, 198, 198 + 3851)
    assert offsets(again) == offsets(again) == list(range(1, 28))
    assert "FileSource(" in repr(again)


def test_positions_count_from_the_start_of_the_file():
    source = ls.FileSource(GZIP, 198)
    assert corpus.rows_of(ls.batches(source))[0]["position"] == 198
    torn = ls.FileSource(GZIP, 198, 198 + 100)
    [finding] = ls.validate(torn).findings
    assert (finding.rule, finding.position, finding.length) == ("L8-14", 198, 100)


def test_file_objects_are_read_from_where_they_stand():
    file = io.BytesIO(b"prefix" + DATA)
    file.seek(6)
    assert offsets(file) == list(range(COUNT))


def test_an_empty_source_has_no_rows():
    for source in (b"", bytearray(), io.BytesIO(), ls.FileSource("/dev/null")):
        assert ls.decode(source).read_all().num_rows == 0
        assert ls.validate(b"").findings == []


# Limits.


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (ls.Limits(max_batch_bytes=1000), "batchLength"),
        (ls.Limits(max_decompressed_bytes=1000), None),
        (ls.Limits(max_records=26), "recordsCount"),
    ],
    ids=["max_batch_bytes", "max_decompressed_bytes", "max_records"],
)
def test_limits_name_what_was_asked_and_what_is_allowed(limits: ls.Limits, field: str | None):
    """COD-6."""
    with pytest.raises(ls.LimitError, match="is over the limit max_") as raised:
        ls.decode(DATA, limits=limits).read_all()
    assert raised.value.field == field
    assert not ls.validate(DATA, limits=limits).ok


def test_the_ratio_and_the_headers_are_limited_too():
    import gzip

    zeros = building.batch(gzip.compress(building.record(None, bytes(1 << 20))), count=1, attributes=building.GZIP)
    with pytest.raises(ls.LimitError, match="max_ratio"):
        ls.decode(zeros, limits=ls.Limits(max_ratio=10)).read_all()
    assert ls.decode(zeros).read_all().num_rows == 1
    headers = building.batch(building.record(None, None, [(b"h", b"v")] * 5), count=1)
    with pytest.raises(ls.LimitError, match="max_headers"):
        ls.decode(headers, limits=ls.Limits(max_headers=4)).read_all()
    assert ls.decode(headers, limits=ls.Limits(max_headers=5)).read_all().num_rows == 1


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_a_record_that_a_producer_with_default_settings_may_send_is_under_the_limits(compression):
    """COD-6: zstd packs its mebibyte into 60 bytes."""
    written = ls.encode(pa.table({"value": [b"x" * size for size in (600_000, 1 << 20)]}), compression=compression, batch_bytes=1)
    values = pa.table(ls.decode(written))["value"].to_pylist()
    assert [len(value) for value in values] == [600_000, 1 << 20]


def test_limits_have_the_documented_defaults_and_compare_and_pickle():
    limits = ls.Limits()
    documented = {"max_batch_bytes": 256 << 20, "max_decompressed_bytes": 1 << 30, "max_ratio": 40_000}
    documented |= {"max_records": 1 << 24, "max_headers": 100_000, "max_nesting": 8}
    assert {name: getattr(limits, name) for name in documented} == documented
    assert limits == ls.Limits(**documented)
    assert pickle.loads(pickle.dumps(ls.Limits(max_records=5))) == ls.Limits(max_records=5) != limits


# Streams.


def test_a_stream_is_a_context_manager_and_stops_when_left():
    with ls.decode(DATA, batch_size=10) as stream:
        assert 0 < next(stream).num_rows <= 10
    with pytest.raises(StopIteration):
        next(stream)
    with pytest.raises(ValueError, match="consumed"):
        pa.table(stream)


def test_what_is_left_of_a_stream_can_be_collected():
    stream = ls.decode(DATA, columns=["offset"], batch_size=100)
    first = next(stream)
    assert [*(row["offset"] for row in corpus.rows_of(first)), *(row["offset"] for row in corpus.rows_of(stream))] == list(range(COUNT))


def test_findings_of_a_stream_are_complete_at_its_end():
    stream = ls.decode(DATA[:-1])
    stream.read_all()
    [finding] = stream.findings
    assert (finding.rule, finding.severity) == ("L8-14", "info")
    assert stream.error is None


@pytest.mark.parametrize("check_crc", [True, False])
def test_checksums_can_be_left_out(check_crc: bool):
    """V2-31."""
    data = building.simple_batch([b"value"])
    damaged = data.replace(b"value", b"evalu")
    if check_crc:
        with pytest.raises(ls.ChecksumError):
            values(damaged)
    else:
        assert values(damaged, check_crc=False) == [b"evalu"]
        assert ls.validate(damaged, check_crc=False).ok


def test_reading_a_long_file_takes_little_memory(tmp_path: Path):
    """A stream of small Arrow batches over 30 MB never holds more than a few of them."""
    import resource

    path = tmp_path / "long.log"
    large = corpus.CORPUS / "modern-4.1.0/data/large-records-0/00000000000000000000.log"
    with open(path, "wb") as file:
        for _ in range(60):
            file.write(large.read_bytes())
    for _ in ls.decode(ls.FileSource(large), batch_bytes=1 << 16):
        pass
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = sum(batch.num_rows for batch in ls.decode(ls.FileSource(path), batch_bytes=1 << 16))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert rows > 60
    assert grown < 16 * 1024


# Validation.


@pytest.mark.parametrize("depth", ["headers", "metadata", "full"])
def test_depths_look_deeper_and_deeper(depth: str):
    """FND-2 is about records, FND-7 about their content, FND-6 about the header."""
    record = building.record(None, None, [(b"\xff", b"")], offset_delta=3)
    data = building.batch(record, count=1, attributes=1 << 9)
    rules = {finding.rule for finding in ls.validate(data, depth=depth).findings}
    assert "FND-6" in rules
    assert ("FND-2" in rules) == (depth != "headers")
    assert ("FND-7" in rules) == (depth == "full")


def test_a_wrong_content_size_is_a_finding():
    """FND-9, COD-L11: Kafka does not look at it. The header checksum is that of FLG 68, BD 40 and size 11 (COD-L7)."""
    plain = building.record(None, b"five!")
    block = (len(plain) | 0x80000000).to_bytes(4, "little") + plain
    frame = bytes.fromhex("04224d18 6840 0b00000000000000 58") + block + bytes(4)
    data = building.batch(frame, count=1, attributes=building.LZ4)
    assert values(data) == [b"five!"]
    assert [(finding.rule, finding.severity) for finding in ls.validate(data).findings] == [("FND-9", "warning")]


def test_a_report_counts_prints_and_converts():
    report = ls.validate(DATA[:-1] + b"")
    assert report.counts == {"error": 0, "warning": 0, "info": 1}
    assert report.ok
    as_dict = report.to_dict()
    assert as_dict["findings"] == [finding.to_dict() for finding in report.findings]
    assert set(as_dict) == {"ok", "counts", "findings", "io_stats", "lost", "safe_offsets", "undecompressed"}
    assert "L8-14" in repr(report)
    assert "<table>" in report._repr_html_()
    assert set(as_dict["findings"][0]) == {
        *("rule", "severity", "message", "path", "position", "length"),
        *("baseOffset", "lastOffset", "recordIndex", "field"),
    }


def test_a_finding_in_html_cannot_carry_markup():
    report = ls.validate(building.batch(building.record(None, None, [(b"\xff<b>", b"")]), count=1))
    assert "<b>" not in report._repr_html_()


def test_many_equal_findings_stay_few():
    """A batch of records that all break the same rule is told in bounded memory."""
    count = 200_000
    data = building.batch(building.record() * count, count=count)
    tracemalloc.start()
    report = ls.validate(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {finding.rule for finding in report.findings} == {"FND-2"}
    assert len(report.findings) < 100
    assert peak < 1 << 20


def test_findings_of_a_whole_input_stay_bounded_and_never_hide_an_error():
    """Hundreds of thousands of warnings are counted, and the one error behind them is still there."""
    odd = building.batch(building.record(offset_delta=5, attributes=1), count=1, attributes=1 << 9, max_timestamp=9, producer_id=3)
    broken = building.simple_batch([b"v"])[:-1] + b"\x07"
    report = ls.validate(odd * 40_000 + broken + odd)
    assert len(report.findings) < 150_000
    assert not report.ok
    assert [finding.rule for finding in report.findings if finding.severity == "error"] == ["V2-31"]


def test_a_column_named_twice_is_refused():
    """A column is built once; the second one would show storage that belongs to nobody."""
    with pytest.raises(ValueError, match="named twice"):
        ls.decode(b"", columns=["offset", "offset"])
