"""The proposed record format v3 (KIP-931), both proposals: rules S-V, S-H and S-C. The vectors of it are in test_vectors.py."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import building
import corpus
import logsegment as ls
from logsegment._core import valid_batches
from logsegment._options import ReadOptions
from logsegment.analysis.v3_savings import v3_savings

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ALL = ["offset", "timestampMs", "key", "value", "headersRaw", "sequence", "producerId", "producerEpoch", "partitionLeaderEpoch"]
ALL += ["isTransactional", "isControl", "controlType", "attributes", "batchBaseOffset", "timestampType", "compression"]
BASE = 1_600_000_000_000


def rows(data: bytes, **options: Any) -> list[corpus.Row]:
    return corpus.rows_of(ls.decode(data, **{"columns": ALL, "format": "v3", "control": True} | options))


def table(count: int, *, step: int = 100, size: int = 5) -> pa.Table:
    return pa.table(
        {
            "key": [None if index % 7 == 3 else b"k%d" % index for index in range(count)],
            "value": [None if index % 5 == 4 else bytes([65 + index % 26]) * size for index in range(count)],
            "timestampMs": [BASE + step * index for index in range(count)],
            "headersRaw": pa.array(
                [[{"key": b"h", "value": b"v" * index}, {"key": b"", "value": None}] if index % 3 == 0 else [] for index in range(count)],
                pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())])),
            ),
        }
    )


def told(data: bytes, **options: Any) -> set[tuple[str, str]]:
    """Rules and severities of findings, without the information that a proposal was read."""
    found = ls.validate(data, **options).findings
    return {(finding.rule, finding.severity) for finding in found if finding.rule != "EXPERIMENTAL"}


def sealed(data: bytes) -> bytes:
    """With the checksum that its bytes have (S-V3)."""
    return data[:17] + struct.pack(">I", building.crc32c(data[21:])) + data[21:]


class TestSwitch:
    DATA = ls.encode(table(10), format="v3")

    def test_without_it_nothing_is_read_and_the_error_names_it(self):
        for reading in (
            lambda: ls.decode(self.DATA).read_all(),
            lambda: ls.batches(self.DATA),
            lambda: ls.convert(self.DATA, to="v1", allow_loss=True),
            lambda: ls.decode(self.DATA, format="sniff").read_all(),
            lambda: ls.decode_array(pa.array([self.DATA])),
        ):
            with pytest.raises((ls.UnsupportedError, ls.InvalidError)) as raised:
                reading()
            assert raised.value.rule in ("MAP-3", "MAP-1")
            if raised.value.rule == "MAP-3":
                assert 'read only with format="v3"' in str(raised.value)
        [finding] = ls.validate(self.DATA).findings
        assert (finding.rule, finding.severity) == ("MAP-3", "error")
        assert 'format="v3"' in finding.message

    def test_a_name_reads_and_a_validation_reports_it(self):
        assert [(finding.rule, finding.severity) for finding in ls.validate(self.DATA, format="v3").findings] == [("EXPERIMENTAL", "info")]
        assert ls.validate(self.DATA, format="v3").ok
        modern = ls.encode(table(3))
        assert ls.validate(modern, format="v3").findings == ls.validate(modern).findings == []
        stream = ls.decode(self.DATA, format="v3")
        assert (stream.read_all().num_rows, stream.findings) == (10, [])

    def test_a_log_of_several_segments_says_it_once(self, tmp_path: Path):
        directory = tmp_path / "topic-0"
        directory.mkdir()
        for base in (0, 10, 20):
            (directory / f"{base:020d}.log").write_bytes(ls.encode(table(10), format="v3", base_offset=base))
        stream = ls.Log(str(directory)).records(format="v3", columns=["offset"])
        assert stream.read_all().num_rows == 30
        assert stream.findings == []
        assert [finding.rule for finding in ls.Log(str(directory)).validate(format="v3").findings].count("EXPERIMENTAL") == 1

    def test_with_it_all_magics_are_distinguished(self):
        v1, v2 = ls.encode(table(3).select(["key", "value"]), format="v1"), ls.encode(table(4), base_offset=3)
        mixed = v1 + v2 + ls.encode(table(5), format="v3", base_offset=7)
        assert corpus.rows_of(ls.batches(mixed, format="v3"))[-1]["magic"] == 3
        assert [row["offset"] for row in rows(mixed)] == list(range(12))
        skipped = ls.decode(mixed, columns=["offset"], unreadable="skip")
        assert [row["offset"] for row in corpus.rows_of(skipped)] == list(range(7))

    def test_every_reader_takes_it(self, tmp_path: Path):
        file = tmp_path / "topic-0" / "00000000000000000000.log"
        file.parent.mkdir()
        file.write_bytes(self.DATA + ls.encode(table(10), format="v3", base_offset=10, metadata_first=True, compression="gzip"))
        for path in (ls.Segment(str(file)), ls.Log(str(file.parent))):
            read = path.records(format="v3", columns=["offset"], start_offset=4, end_offset=12).read_all()
            assert pa.table(read)["offset"].to_pylist() == list(range(4, 12))
            committed = path.records(format="v3", columns=["offset"], isolation="read_committed").read_all()
            assert committed.num_rows == 20
            assert path.batches(format="v3").num_rows == path.batches(format="v3", check_crc=False).num_rows == 2
            assert path.validate(format="v3").ok
            assert not path.validate().ok
            with pytest.raises(ls.UnsupportedError, match='format="v3"'):
                path.records().read_all()
            with pytest.raises(ls.UnsupportedError, match='format="v3"'):
                path.batches(check_crc=False)
            assert path.offset_for_timestamp(BASE + 700, format="v3") == 7
            late = path.records(start_timestamp=BASE + 700, columns=["offset"], format="v3").read_all()
            # Times begin anew in the second batch.
            assert pa.table(late)["offset"].to_pylist() == list(range(7, 20))
            with pytest.raises(ls.UnsupportedError, match='format="v3"'):
                path.offset_for_timestamp(BASE + 700)
        array = pa.array([self.DATA, None])
        assert pa.array(ls.decode_array(array, format="v3"))[0].values.__len__() == 10
        assert pa.array(ls.batch_info_array(array, format="v3"))[0]["magic"].as_py() == 3
        assert pa.array(ls.validate_array(array, format="v3"))[0]["ok"].as_py()
        v2 = pa.array(ls.convert_array(array, format="v3"))[0].as_py()
        assert v2 == ls.convert(self.DATA, format="v3").data

    def test_rows_of_batches_say_it_too(self, tmp_path: Path):
        directory = tmp_path / "topic-0"
        directory.mkdir()
        for base in (0, 10):
            (directory / f"{base:020d}.log").write_bytes(ls.encode(table(10), format="v3", base_offset=base))
        first = ls.FileSource(directory / f"{0:020d}.log")
        for source in (self.DATA, first):
            for check_crc in (True, False):
                allowed = ls.batch_stream(source, format="v3", check_crc=check_crc)
                assert (sum(batch.num_rows for batch in allowed), allowed.findings) == (1, [])


class TestNumbers:
    def test_s_v30_s_v32_the_example_of_the_document(self):
        """161 records 100 ms apart: a header of 51 bytes instead of 61, and a byte less for each record."""
        source = pa.table({"value": [b"x" * 1024] * 161, "timestampMs": [BASE + 100 * index for index in range(161)]})
        made = {name: ls.encode(source, format=name, batch_bytes=1 << 20) for name in ("v2", "v3")}
        assert len(made["v2"]) - len(made["v3"]) == 171
        assert headers(made["v3"]) == 51
        assert len(ls.encode(source, format="v3", batch_bytes=1 << 20, metadata_first=True)) == len(made["v3"])

    def test_s_v31_s_v33_the_best_and_the_worst_header(self):
        one = ls.encode(pa.table({"value": [b""], "timestampMs": [BASE]}), format="v3")
        assert headers(one) == 61 - 12
        worst = building.batch(b"", count=0, last_offset_delta=-1, base_timestamp=-(2**63), max_timestamp=0)
        made = ls.convert(worst, to="v3").data
        assert headers(made) == 61 + 5
        assert ls.convert(made, format="v3").data == worst

    def test_s_v14_an_append_time_behind_the_clients(self):
        data = ls.encode(table(3), format="v3", timestamp_type="LogAppendTime", log_append_time=BASE - 500)
        assert [row["timestampMs"] for row in rows(data)] == [BASE - 500] * 3
        assert ls.convert(data, format="v3").data == ls.encode(table(3), timestamp_type="LogAppendTime", log_append_time=BASE - 500)

    def test_s_v32_records_are_a_byte_or_two_shorter(self):
        sizes = [record_lens(key, value) for key, value in ((100, 1024), (None, 1024), (None, 5), (None, 58))]
        assert [v2 - v3 for v2, v3 in sizes] == [1, 1, 1, 2]

    def test_s_v32_the_message_of_the_document(self):
        """1 KiB with a key of 100 bytes, and times that are a second apart: 11 and 10 bytes besides key and value."""
        sizes = record_lens(100, 1024 - 100, step=1000)
        assert [size - 1024 for size in sizes] == [11, 10]


def record_lens(key: int | None, value: int, step: int = 0) -> tuple[int, int]:
    """Bytes of a record in v2 and in v3, whose time is `step` ms after that of the record before it."""
    row = {"key": pa.array([None if key is None else b"k" * key], pa.binary()), "value": [b"v" * value]}
    one = pa.table(row)
    first, other = (one.append_column("timestampMs", pa.array([time], pa.int64())) for time in (BASE, BASE + step))
    # Two and three records: both batches have a header of the same size.
    batches = pa.concat_tables([first, other]), pa.concat_tables([first, other, other])
    v2, v3 = (len(ls.encode(batches[1], format=name)) - len(ls.encode(batches[0], format=name)) for name in ("v2", "v3"))
    return v2, v3


def headers(data: bytes) -> int:
    """Bytes of the header of a batch of magic 3."""
    position, ends = 37, 0
    while ends < 3:
        ends += data[position] < 0x80
        position += 1
    return position + 4


@pytest.mark.parametrize("metadata_first", [False, True])
@pytest.mark.parametrize("codec", CODECS)
class TestEveryCodec:
    def test_records_are_those_of_v2(self, codec: str, metadata_first: bool):
        options: dict[str, Any] = {"compression": codec, "base_offset": 40, "batch_bytes": 600, "partition_leader_epoch": 3}
        options |= {"producer_id": 9, "producer_epoch": 1, "base_sequence": 2**31 - 20, "transactional": True}
        v2, v3 = ls.encode(table(100), **options), ls.encode(table(100), format="v3", metadata_first=metadata_first, **options)
        strip = ("batchBaseOffset", "compression")
        assert [{k: v for k, v in row.items() if k not in strip} for row in rows(v3)] == [
            {k: v for k, v in row.items() if k not in strip} for row in rows(v2)
        ]
        assert told(v3, format="v3") == set()
        assert {row["compression"] for row in corpus.rows_of(ls.batches(v3, format="v3"))} == {codec}
        for binary in ("large_binary", "binary_view"):
            assert rows(v3, binary=binary, threads=2) == rows(v3)
        assert [row["offset"] for row in rows(v3, batch_size=7, start_offset=50, end_offset=77)] == list(range(50, 77))

    def test_conversions_keep_everything(self, codec: str, metadata_first: bool):
        v2 = ls.encode(table(60), compression=codec, producer_id=9, producer_epoch=1, base_sequence=5, batch_bytes=500)
        made = ls.convert(v2, to="v3", metadata_first=metadata_first)
        assert made.losses == []
        assert rows(made.data) == rows(v2)
        back = ls.convert(made.data, format="v3")
        assert (back.data, back.losses) == (v2, [])
        plain = ls.convert(made.data, to="v3", compression="none", format="v3", metadata_first=metadata_first).data
        assert ls.convert(plain, format="v3").data == ls.convert(v2, compression="none").data
        other = ls.convert(made.data, to="v3", compression="lz4", level=12, format="v3", metadata_first=metadata_first).data
        assert [{**row, "compression": ""} for row in rows(other)] == [{**row, "compression": ""} for row in rows(v2)]

    def test_the_layout_is_the_one_that_was_asked_for(self, codec: str, metadata_first: bool):
        """S-H4: also of batches that are of v3 already."""
        made = {layout: ls.encode(table(60), format="v3", compression=codec, metadata_first=layout) for layout in (False, True)}
        for data in made.values():
            assert ls.convert(data, to="v3", metadata_first=metadata_first, format="v3").data == made[metadata_first]

    def test_batches_are_not_larger_than_asked_for(self, codec: str, metadata_first: bool):
        """As the producer's `batch.size`: not packed never, packed by the estimate of a ratio that the first batches teach."""
        noise = random.Random(3)
        source = pa.table({"value": [noise.randbytes(20).hex().encode() for _ in range(8000)]})
        data = ls.encode(source, format="v3", compression=codec, metadata_first=metadata_first, batch_bytes=1000)
        sizes = [row["size"] for row in corpus.rows_of(ls.batches(data, format="v3"))][:-1]
        assert max(sizes) <= (1000 if codec == "none" else 1100)
        # The guess falls slowly.
        assert sum(sizes[-50:]) / 50 > 850

    def test_down_as_from_v2(self, codec: str, metadata_first: bool):
        """S-C4."""
        v2 = ls.encode(table(30), compression=codec, producer_id=9, producer_epoch=1, base_sequence=5)
        v3 = ls.convert(v2, to="v3", metadata_first=metadata_first).data
        for target in ("v1", "v0"):
            down, same = (ls.convert(item, to=target, allow_loss=True, format="v3") for item in (v3, v2))
            assert down.data == same.data
            assert [(loss.name, loss.count) for loss in down.losses] == [(loss.name, loss.count) for loss in same.losses]
            assert (down.stopped_at is None) == (codec != "zstd")
        with pytest.raises(ls.LossError):
            ls.convert(ls.encode(table(5), format="v3", compression="gzip"), to="v1", format="v3")


def test_up_from_every_older_format():
    source = table(20).select(["key", "value", "timestampMs"])
    for older in ("v0", "v1"):
        for codec in ("none", "gzip"):
            data = ls.encode(source, format=older, compression=codec)
            made = ls.convert(data, to="v3").data
            assert ls.convert(made, format="v3").data == ls.convert(data, to="v2").data


def test_markers_and_isolation():
    """S-V21: control and transactional batches are as in v2."""
    control = pa.table(
        {
            "value": [b"a", b"b", None, b"c", None],
            "isControl": [False, False, True, False, True],
            "controlType": [None, None, "ABORT", None, "COMMIT"],
            "timestampMs": [BASE] * 5,
        }
    )
    for options in ({}, {"metadata_first": True}):
        data = ls.encode(control, format="v3", producer_id=4, producer_epoch=0, base_sequence=0, transactional=True, **options)
        assert ls.convert(data, format="v3").data == ls.encode(
            control, producer_id=4, producer_epoch=0, base_sequence=0, transactional=True
        )
        assert [row["offset"] for row in rows(data, control=False, isolation="read_committed")] == [3]
        assert [row["controlType"] for row in rows(data)] == [None, None, "ABORT", None, "COMMIT"]
        assert told(data, format="v3") == set()


@pytest.mark.parametrize("metadata_first", [False, True])
def test_markers_and_transactions_of_real_brokers_come_back_byte_for_byte(metadata_first: bool):
    """S-V21, S-C3."""
    seen = {"control": 0, "transactional": 0, "horizon": 0}
    for case in corpus.cases():
        if case.format != "auto":
            continue
        data = case.path.read_bytes()
        rows_of = [row for row in corpus.rows_of(ls.batches(data)) if row["magic"] == 2 and row["compression"] == "none" and row["isValid"]]
        batches = [row for row in rows_of if row["isControl"] or row["isTransactional"] or row["deleteHorizonMs"] is not None][:50]
        kept = b"".join(data[row["position"] : row["position"] + row["size"]] for row in batches)
        if not kept or any(row["attributes"] & 0x1080 for row in batches):
            continue
        there = ls.convert(kept, to="v3", metadata_first=metadata_first).data
        assert ls.convert(there, format="v3").data == kept, case.path
        for before, after in zip(batches, corpus.rows_of(ls.batches(there, format="v3")), strict=True):
            same = ("baseOffset", "lastOffset", "count", "isControl", "isTransactional", "deleteHorizonMs", "producerId", "maxTimestamp")
            assert [after[name] for name in same] == [before[name] for name in same]
        seen["control"] += sum(row["isControl"] for row in batches)
        seen["transactional"] += sum(row["isTransactional"] for row in batches)
        seen["horizon"] += sum(row["deleteHorizonMs"] is not None for row in batches)
    assert min(seen.values()) > 0, seen


def test_broker_functions_refuse_it():
    data = ls.encode(table(3), format="v3")
    for refused in (lambda: ls.broker.append(data, first_offset=0), lambda: ls.broker.fetch(data, api_version=11)):
        with pytest.raises(ls.UnsupportedError) as raised:
            refused()
        assert raised.value.rule == "MAP-3"
    with pytest.raises(ValueError, match="to must be"):
        ls.broker.append(ls.encode(table(3)), first_offset=0, to="v3")
    with pytest.raises(ValueError, match="metadata_first"):
        ls.encode(table(3), metadata_first=True)
    with pytest.raises(ValueError, match="metadata_first"):
        ls.convert(ls.encode(table(3)), metadata_first=True)


def test_bits_that_mean_something_in_v3_are_reported_as_lost():
    """S-V18, FND-6: in magic 2 bits 7 and 12 are nobody's."""
    data = building.batch(building.record(value=b"v"), count=1, attributes=0x1080)
    with pytest.raises(ls.LossError, match="unused_bits"):
        ls.convert(data, to="v3")
    made = ls.convert(data, to="v3", allow_loss=True).data
    assert corpus.rows_of(ls.batches(made, format="v3"))[0]["attributes"] == 0x80
    kept = building.batch(building.record(value=b"v"), count=1, attributes=0x2000)
    assert ls.convert(ls.convert(kept, to="v3").data, format="v3").data == kept


class TestMetadataFirst:
    def test_s_h6_payloads_of_another_length_than_the_header_says(self):
        data = ls.encode(table(4), format="v3", metadata_first=True)
        start = headers(data)
        for bad in (data + b"x", data[:-1]):
            sized = bad[:8] + struct.pack(">i", len(bad) - 12) + bad[12:]
            with pytest.raises(ls.RecordBatchError) as raised:
                rows(sealed(sized))
            assert (raised.value.rule, raised.value.kafka_error_code) == ("S-H6", 87)
            assert told(sealed(sized), format="v3") == {("S-H6", "error")}
        negative = bytearray(data)
        negative[start] = 0x02
        with pytest.raises(ls.RecordBatchError) as raised:
            rows(sealed(bytes(negative)))
        assert (raised.value.rule, raised.value.record_index, raised.value.field) == ("S-H6", 0, "length")

    @pytest.mark.parametrize("codec", CODECS[1:])
    def test_s_h5_a_validation_of_metadata_stops_early(self, codec: str):
        noise = random.Random(7)
        source = pa.table({"value": [noise.randbytes(2000) for _ in range(400)], "timestampMs": [BASE + index for index in range(400)]})
        first = ls.encode(source, format="v3", metadata_first=True, compression=codec, batch_bytes=1 << 20)
        among = ls.encode(source, format="v3", compression=codec, batch_bytes=1 << 20)
        stats = {
            name: ls.validate(data, depth=depth, format="v3").io_stats["bytes_inflated"]
            for name, data, depth in (
                ("partial", first, "metadata"),
                ("full", first, "full"),
                ("among", among, "metadata"),
            )
        }
        assert stats["full"] == stats["among"] > 800_000
        # 9 bytes of metadata a record. Writers end a block there, and so no codec but gzip, whose step is 4 KiB, unpacks any payload.
        assert 400 * 8 < stats["partial"] < 400 * 12 + (4096 if codec == "gzip" else 0)
        converted = ls.convert(among, to="v3", metadata_first=True, format="v3").data
        again = ls.convert(
            ls.convert(first, to="v3", metadata_first=True, compression="none", format="v3").data,
            to="v3",
            metadata_first=True,
            compression=codec,
            format="v3",
        ).data
        assert converted == again == first
        report = ls.validate(first, depth="metadata", format="v3")
        assert ([finding.rule for finding in report.findings], report.io_stats["records"]) == (["EXPERIMENTAL"], 400)


@pytest.mark.parametrize("metadata_first", [False, True])
def test_metadata_is_judged_by_the_same_rules_at_both_depths(metadata_first: bool):
    """FND-2, FND-5, FND-6, FND-14, FND-16: what a damaged v2 batch tells, its v3 tells."""
    records = [
        building.record(value=b"a", offset_delta=3, timestamp_delta=-5),
        building.record(value=b"b", offset_delta=3, attributes=1),
        building.record(value=b"c", offset_delta=99),
    ]
    data = building.batch(b"".join(records), count=3, attributes=0x2000)
    made = ls.convert(data, to="v3", metadata_first=metadata_first, compression="gzip").data
    expected = {("FND-2", "warning"), ("FND-6", "warning"), ("FND-14", "warning")}
    assert told(data) == expected
    for depth in ("metadata", "full"):
        assert told(made, depth=depth, format="v3") == expected


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("metadata_first", [False, True])
def test_fnd_1_uncounted_bytes_are_reported_at_every_depth(codec: str, metadata_first: bool):
    data = bytearray(ls.encode(table(4), format="v3", compression=codec, metadata_first=metadata_first))
    data[headers(data) - 4 : headers(data)] = bytes(4)
    for depth in ("metadata", "full"):
        # The stream of snappy-java begins so that the header makes sense as one of magic 2; where it stands tells that it is none (FND-18).
        assert told(sealed(bytes(data)), depth=depth, format="v3") == {("FND-1", "warning")}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("metadata_first", [False, True])
def test_s_v11_batches_of_the_first_months_of_1970_are_read_whatever_is_in_them(codec: str, metadata_first: bool):
    """Zeros, and the beginning of snappy-java's stream, stood where magic 2 has its count."""
    seen = 0
    for time in (0, 1, 100, 9000, 2**32, 2**33 - 1):
        for value in (bytes(40), b"\0\0\0\1" * 10, b"\0\0\1\0" * 10, b"\1" * 40):
            for producer in ({}, {"producer_id": 3, "producer_epoch": 0, "base_sequence": 0}):
                source = pa.table({"value": [value, b"x"], "timestampMs": [time, time + 5]})
                data = ls.encode(source, format="v3", compression=codec, metadata_first=metadata_first, **producer)
                assert told(data, format="v3") == set()
                assert [row["value"] for row in rows(data)] == [value, b"x"]
                seen += 1
    assert seen == 48


def test_s_v11_a_flipped_magic_of_magic_2_is_reported_at_every_date():
    """Of early batches too, unless they look as magic 3 writes them."""
    for time in (100, 2**32, BASE):
        for codec in CODECS:
            data = bytearray(ls.encode(pa.table({"value": [b"v" * 9] * 3, "timestampMs": [time] * 3}), compression=codec))
            data[16] = 3
            assert {rule for rule, severity in told(bytes(data), format="v3") if severity == "error"} <= {"FND-18", "PRM-4"}
            assert not ls.validate(bytes(data), format="v3").ok


def test_producers_are_held_against_each_other_as_in_v2():
    """PRD-1."""
    first, gap = (
        ls.encode(table(5), format="v3", base_offset=base, producer_id=9, producer_epoch=0, base_sequence=sequence)
        for base, sequence in ((0, 0), (5, 6))
    )
    assert told(first + gap, format="v3") == told(ls.convert(first + gap, format="v3").data) == {("PRD-1", "warning")}


NAMES = st.binary(max_size=12)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.none() | NAMES,
            "value": st.none() | st.binary(max_size=300),
            "timestampMs": st.integers(-1, 2**45),
            "headersRaw": st.lists(st.fixed_dictionaries({"key": NAMES, "value": st.none() | NAMES}), max_size=3),
        }
    ),
    min_size=1,
    max_size=30,
)
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("timestampMs", pa.int64()),
        ("headersRaw", pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))),
    ]
)


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.sampled_from(CODECS), st.booleans(), st.integers(100, 2000))
def test_property_records_come_back_and_v2_v3_v2_is_identical(records: list[Any], codec: str, metadata_first: bool, batch_bytes: int):
    source = pa.Table.from_pylist(records, schema=SCHEMA)
    made = ls.encode(source, format="v3", compression=codec, metadata_first=metadata_first, batch_bytes=batch_bytes)
    assert pa.table(ls.decode(made, columns=SCHEMA.names, format="v3")).to_pylist() == records
    v2 = ls.encode(source, compression=codec, batch_bytes=batch_bytes)
    there = ls.convert(v2, to="v3", metadata_first=metadata_first).data
    assert ls.convert(there, format="v3").data == v2
    # Any bytes may be a key of a header here, and any number a time.
    assert told(made, format="v3") <= {("FND-7", "warning"), ("TIME-1", "warning")}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CODECS[:2]), st.booleans(), st.integers(0, 10**6), st.integers(0, 255), st.integers(0, 2), st.booleans())
def test_property_any_damage_is_records_or_a_typed_error(codec: str, metadata_first: bool, at: int, value: int, kind: int, is_sealed: bool):
    data = bytearray(ls.encode(table(9), format="v3", compression=codec, metadata_first=metadata_first))
    at = 17 + at % (len(data) - 17)
    if kind == 0:
        data[at] ^= value or 1
    elif kind == 1:
        del data[at]
    else:
        data.insert(at, value)
    data[8:12] = struct.pack(">i", len(data) - 12)
    bad = sealed(bytes(data)) if is_sealed else bytes(data)
    failed = False
    try:
        ls.decode(bad, format="v3").read_all()
    except ls.RecordBatchError:
        failed = True
    report = ls.validate(bad, format="v3")
    assert report.ok is not failed
    for depth in ("headers", "metadata"):
        ls.validate(bad, format="v3", depth=depth)


def test_recovery_finds_the_batches_behind_damage():
    parts = [ls.encode(table(5), format="v3", base_offset=5 * index, metadata_first=index % 2 == 0) for index in range(4)]
    for junk in (b"\x03" * 40, bytes(range(256)), parts[1][:30]):
        data = parts[0] + junk + parts[1] + parts[2][:-3] + parts[3]
        found = [row["offset"] for row in rows(data, on_error="skip")]
        assert found == [*range(10), *range(15, 20)]


def cuts(data: bytes) -> Iterator[bytes]:
    for length in range(len(data)):
        yield data[:length]


def test_every_cut_is_a_torn_tail_or_an_error():
    for data in (ls.encode(table(4), format="v3"), ls.encode(table(4), format="v3", metadata_first=True)):
        for cut in cuts(data):
            assert rows(cut) == []
            short = cut[:8] + struct.pack(">i", max(len(cut) - 12, 14)) + cut[12:]
            if len(cut) >= 26:
                with pytest.raises(ls.RecordBatchError):
                    rows(sealed(short))


@pytest.mark.parametrize("codec", CODECS)
def test_what_if_gives_the_sizes_of_real_conversions(codec: str):
    """S-V30 to S-V33: bytes a batch and a record, compressed and not."""
    data = ls.encode(table(300, step=100), compression=codec, batch_bytes=4000)
    saved = v3_savings(data)
    assert (saved.batches, saved.records, saved.stored) == (ls.batches(data).num_rows, 300, len(data))
    assert saved.main == len(ls.convert(data, to="v3").data)
    assert saved.recompressed == saved.stored
    assert saved.left_out == 0
    assert saved.additional == len(ls.convert(data, to="v3", metadata_first=True).data)
    assert 9 <= saved.per_batch <= 12
    # A length that needs a byte less saves that too.
    assert 1 <= saved.per_record < 1.1
    if codec == "none":
        assert saved.stored - saved.main == saved.stored - saved.additional == saved.header_bytes + saved.per_record * 300
    else:
        assert 0 < saved.decompressed_additional <= saved.decompressed
        assert saved.decompressed_main == saved.decompressed - round(saved.per_record * 300)
    assert v3_savings(b"").per_batch == v3_savings(b"").per_record == 0.0


def test_what_if_goes_past_damage_and_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    parts = [ls.encode(table(50), base_offset=50 * index, batch_bytes=1 << 20) for index in range(8)]
    whole = b"".join(parts)
    # One with a wrong checksum, one whose records are bad behind a right one.
    torn = bytearray(parts[3])
    torn[80] ^= 1
    bad = building.batch(b"\xff" * 40, count=2, base_offset=200)
    damaged = b"".join([*parts[:3], bytes(torn), bad, *parts[5:]])
    file = tmp_path / "00000000000000000000.log"
    for size in (1, len(parts[0]) * 2, 1 << 20):
        monkeypatch.setattr("logsegment.analysis.v3_savings.PIECE", size)
        for data, left_out, count in ((whole, 0, 8), (damaged, len(torn) + len(bad), 6)):
            file.write_bytes(data)
            found = [v3_savings(source).to_dict() for source in (data, ls.FileSource(file))]
            assert {(row["leftOut"], row["batches"], row["records"]) for row in found} == {(left_out, count, 50 * count)}
            assert {row["main"] for row in found} == {len(ls.convert(b"".join(parts[:count]), to="v3").data)}
    old = ls.encode(table(20).select(["value"]), format="v1")
    assert v3_savings(old, format="v1").records == 20


def test_what_if_of_real_segments():
    """The header of every batch that a broker wrote is as long as `BatchHeader.proposed_header_len` says."""
    seen = 0
    for case in corpus.cases():
        if case.format != "auto" or seen > 4000:
            continue
        data = case.path.read_bytes()
        try:
            v3 = bytes(ls.convert(data, to="v3", allow_loss=True, compression="none").data)
            v2 = bytes(ls.convert(v3, format="v3").data)
        except ls.RecordBatchError:
            continue
        for before, after in zip(*(valid_batches(item, ReadOptions(format="v3")) for item in (v2, v3)), strict=True):
            assert headers(v3[after.position : after.position + after.size]) == before.proposed_header_len
            seen += 1
    assert seen > 1000


class TestInspectionInTwoParts:
    """S-H1, S-H2: what `inspect` shows of records whose metadata stands before their payloads."""

    DATA = ls.encode(table(4), format="v3", metadata_first=True)

    @staticmethod
    def payloads(data: bytes, **options: Any) -> tuple[ls.Field, ls.Field]:
        records = ls.inspect(data, format="v3", **options)["records"]
        return records, records["payloads"]

    def test_all_of_them(self):
        records, payloads = self.payloads(self.DATA)
        assert [field.name for field in records] == ["metadata", "payloads"]
        assert [field.name for field in payloads] == [f"record[{index}]" for index in range(4)]
        assert [field.name for field in payloads["record[0]"]] == ["key", "value", "header[0]", "header[1]"]
        assert not any(problem for _, field in records.walk() for problem in field.problems)

    def test_those_that_were_not_asked_for_are_not_left_over(self):
        records, payloads = self.payloads(self.DATA, records=1)
        assert [field.name for field in records] == ["metadata", "payloads"]
        assert [field.name for field in payloads] == ["record[0]", "notShown"]
        assert payloads["notShown"].note == "payloads of records 1 to 3"

    @pytest.mark.parametrize("shown", [1, 4, 9])
    def test_bytes_behind_the_last_one_are_left_over_however_many_are_shown(self, shown: int):
        longer = self.DATA + b"xyz"
        longer = sealed(longer[:8] + struct.pack(">i", len(longer) - 12) + longer[12:])
        records, payloads = self.payloads(longer, records=shown)
        assert [field.name for field in records] == ["metadata", "payloads"]
        entry = ls.inspect(longer, records=shown, format="v3")
        assert (entry["leftOver"].start, entry["leftOver"].length) == (len(longer) - 3, 3)
        assert ("notShown" in [field.name for field in payloads]) == (shown < 4)

    def test_a_payload_is_as_long_as_its_record_says(self):
        data = bytearray(self.DATA)
        start = headers(self.DATA)
        # Two bytes more for the first record, which none of its fields tells of, and none for those that were at the end.
        data[start] += 4
        _, payloads = self.payloads(sealed(bytes(data)))
        assert payloads["record[0]"]["leftOver"].length == 2
        data[start] = 0x7E
        records, payloads = self.payloads(sealed(bytes(data)))
        assert any(problem.message.startswith("its length is ") for _, field in records.walk() for problem in field.problems)


def test_salvage_gives_no_record_the_payload_of_another():
    """A wrong length in the metadata moves all payloads behind it; the checksum only says that something is wrong."""
    made = {layout: ls.encode(table(9), format="v3", metadata_first=layout) for layout in (False, True)}
    for layout, data in made.items():
        start = headers(data)
        bad = bytearray(data)
        bad[start] += 2
        found = ls.salvage(bytes(bad), aside=True, format="v3")
        assert (found.data, found.aside) == (b"", b""), layout
        # Without damage to a length, what can be read is put aside.
        bad = bytearray(data)
        bad[-1] ^= 1
        found = ls.salvage(bytes(bad), aside=True, format="v3")
        assert found.aside is not None
        assert ls.decode(found.aside, columns=["offset"], format="v3").read_all().num_rows > 0


@pytest.mark.parametrize("lie", [-2, 2, 100])
@pytest.mark.parametrize("to", ["v2", "v3"])
def test_v2_34_a_record_with_a_wrong_length_gets_no_new_checksum(to: Any, lie: int):
    """S-V19: of magic 3 with attributes, whose records stay as they stand in magic 2."""
    v2 = bytearray(ls.encode(pa.table({"value": [b"abc", b"def"], "timestampMs": [BASE] * 2})))
    v2[62] = 1
    v3 = bytearray(ls.convert(sealed(bytes(v2)), to="v3").data)
    first = headers(v3)
    assert (ls.batches(bytes(v3), format="v3").to_pyarrow()["attributes"][0].as_py() & 0x80, v3[first + 1]) == (0, 1)
    v3[first] += lie
    data = sealed(bytes(v3))
    with pytest.raises(ls.RecordBatchError) as read:
        ls.decode(data, format="v3").read_all()
    with pytest.raises(ls.RecordBatchError) as converted:
        ls.convert(data, to=to, metadata_first=to == "v3", format="v3")
    assert converted.value.rule == read.value.rule == {-2: "V2-38", 2: "V2-42", 100: "V2-34"}[lie]
