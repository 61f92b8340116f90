"""Message sets of magic 0 and 1 and Kafka 0.7, built here byte by byte: what every reader of them must do (rules L7, L8, MAP)."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from building import crc32c
from cli_process import run
from logsegment._decode import decoded
from logsegment._options import ReadOptions

COLUMNS = ["offset", "timestampMs", "timestampType", "key", "value", "magic", "indexInEntry"]


def message(offset, value, *, magic=1, key=None, timestamp=1000, attributes=0, behind=b""):
    """An entry of magic 0 or 1."""
    blob = b"".join(struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part for part in (key, value))
    time = struct.pack(">q", timestamp) if magic else b""
    body = bytes([magic, attributes]) + time + blob + behind
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapper(offset, inner, *, magic=1, timestamp=1000, attributes=1, key=None):
    return message(offset, gzip.compress(b"".join(inner), mtime=0), magic=magic, timestamp=timestamp, attributes=attributes, key=key)


def old(payload, *, magic=1, codec=0):
    """An entry of Kafka 0.7."""
    body = bytes([magic]) + (bytes([codec]) if magic else b"") + struct.pack(">I", zlib.crc32(payload)) + payload
    return struct.pack(">i", len(body)) + body


def rows(data, **options):
    return ls.decode(data, columns=COLUMNS, **options).to_pyarrow().to_pylist()


def told(data, **options):
    return [(finding.rule, finding.severity) for finding in ls.validate(data, **options).findings]


def agree(data, error, rule, **options):
    """`decode` raises this, and `validate` has it as its only error."""
    with pytest.raises(error) as raised:
        rows(data, **options)
    assert raised.value.rule == rule
    assert [found for found, severity in told(data, **options) if severity == "error"] == [rule]
    return raised.value


def test_l8_9_uncompressed_messages_of_both_magics_may_follow_each_other():
    data = message(5, b"hello", magic=0) + message(6, None, key=b"k") + message(9, b"", timestamp=-1)
    assert [(row["offset"], row["timestampMs"], row["timestampType"], row["key"], row["value"], row["magic"]) for row in rows(data)] == [
        (5, -1, -1, None, b"hello", 0),
        (6, 1000, 0, b"k", None, 1),
        (9, -1, 0, None, b"", 1),
    ]
    assert told(data) == [("ORD-3", "info")]


def test_l8_25_relative_offsets_count_from_the_last_and_compaction_leaves_holes():
    data = wrapper(107, [message(offset, b"v") for offset in (0, 3, 7)])
    assert [(row["offset"], row["indexInEntry"]) for row in rows(data)] == [(100, 0), (103, 1), (107, 2)]
    assert told(data) == []


def test_l8_24_offsets_of_magic_0_are_absolute():
    data = wrapper(12, [message(offset, b"v", magic=0) for offset in (10, 12)], magic=0)
    assert [row["offset"] for row in rows(data)] == [10, 12]
    assert told(wrapper(13, [message(12, b"v", magic=0)], magic=0)) == [("L8-24", "warning")]


def test_l8_27_a_wrapper_at_0_holds_absolute_offsets_and_one_below_its_last_is_invalid():
    inner = [message(offset, b"v") for offset in (0, 1, 2)]
    assert [row["offset"] for row in rows(wrapper(0, inner))] == [0, 1, 2]
    assert agree(wrapper(1, inner), ls.InvalidError, "L8-27").kafka_error_code == 87


def test_l8_29_the_append_time_of_a_wrapper_wins_and_its_create_time_does_not():
    inner = [message(0, b"a", timestamp=1), message(1, b"b", timestamp=2, attributes=8)]
    appended = rows(wrapper(1, inner, timestamp=9, attributes=9))
    assert [(row["timestampMs"], row["timestampType"]) for row in appended] == [(9, 1), (9, 1)]
    created = rows(wrapper(1, inner, timestamp=9))
    assert [(row["timestampMs"], row["timestampType"]) for row in created] == [(1, 0), (2, 0)]
    assert told(wrapper(1, inner, timestamp=9)) == [("FND-16", "warning")]


def test_l8_29_a_message_of_magic_0_has_no_timestamp_in_a_wrapper_with_an_append_time():
    inner = [message(0, b"a", magic=0), message(1, b"b", timestamp=2), message(2, b"c", magic=0)]
    data = wrapper(12, inner, timestamp=9, attributes=9)
    assert [(row["offset"], row["timestampMs"], row["timestampType"]) for row in rows(data)] == [(10, -1, 1), (11, 9, 1), (12, -1, 1)]
    times = ls.decode(data, columns=["timestamp"]).to_pyarrow()["timestamp"].cast("int64").to_pylist()
    assert times == [-1000, 9000, -1000]
    for to, compression in (("v2", None), ("v2", "zstd"), ("v1", "none"), ("v1", "snappy")):
        converted = ls.convert(data, to=to, compression=compression).data
        assert [(row["offset"], row["timestampMs"], row["timestampType"]) for row in rows(converted)] == [
            (10, -1, 1),
            (11, 9, 1),
            (12, -1, 1),
        ], (to, compression)


def test_l8_19_inner_and_outer_checksums_are_both_compared():
    bad = bytearray(message(1, b"inner"))
    bad[-1] ^= 1
    error = agree(wrapper(1, [message(0, b"x"), bytes(bad)]), ls.ChecksumError, "L8-2")
    assert (error.record_index, error.kafka_error_code) == (1, 2)
    outer = bytearray(wrapper(1, [message(0, b"x")]))
    outer[12] ^= 1
    agree(bytes(outer), ls.ChecksumError, "L8-2")
    assert len(rows(bytes(outer), check_crc=False)) == 1


@pytest.mark.parametrize(
    ("data", "error", "rule"),
    [
        (wrapper(1, [wrapper(0, [message(0, b"v")])]), ls.InvalidError, "L8-21"),
        (message(1, None, attributes=1), ls.InvalidError, "L8-22"),
        (wrapper(1, []), ls.InvalidError, "L8-22"),
        (message(1, b"\x28\xb5\x2f\xfd", attributes=4), ls.InvalidError, "L8-34"),
        (message(1, b"x", attributes=5), ls.UnknownCompressionError, "L8-4"),
        (wrapper(1, [bytes(12) + message(0, b"v")]), ls.CorruptError, "L8-23"),
    ],
)
def test_l8_20_to_34_what_a_wrapper_may_not_be(data, error, rule):
    agree(data, error, rule)


def test_l8_23_a_cut_inner_set_gives_what_is_whole_and_a_finding():
    data = wrapper(1, [message(0, b"a"), message(1, b"b"), message(2, b"c")[:20]])
    assert [row["value"] for row in rows(data)] == [b"a", b"b"]
    assert told(data) == [("FND-10", "warning")]


def test_fnd_what_java_passes_over_is_a_warning():
    assert told(message(0, b"v", behind=b"xx")) == [("FND-13", "warning")]
    assert told(message(0, b"v", timestamp=-7)) == [("FND-14", "warning")]
    assert told(message(0, b"v", attributes=0x40)) == [("FND-6", "warning")]
    assert told(wrapper(0, [message(0, b"v")], key=b"k")) == [("FND-15", "warning")]
    assert told(wrapper(0, [message(0, b"v", magic=0)], timestamp=-1)) == [("FND-12", "warning")]


def test_l8_28_batches_know_the_base_offset_of_plain_messages_only():
    found = ls.batches(message(4, b"v") + wrapper(9, [message(0, b"a"), message(1, b"b")])).to_pylist()
    known = [(row["baseOffset"], row["lastOffset"], row["count"], row["magic"], row["isValid"]) for row in found]
    assert known == [(4, 4, 1, 1, True), (None, 9, None, 1, True)]
    data = wrapper(9, [message(0, b"a"), message(1, b"b")]) + message(10, None, attributes=1)
    assert [(row["baseOffset"], row["count"]) for row in ls.batches(data[:-34], resolve=True).to_pylist()] == [(8, 2)]
    with pytest.raises(ls.InvalidError, match="L8-22"):
        ls.batches(data, resolve=True)
    old_set = old(gzip.compress(old(b"a") + old(b"b"), mtime=0), codec=1)
    assert [row["count"] for row in ls.batches(old_set, format="0.7", resolve=True).to_pylist()] == [2]


def test_map_3_a_named_format_takes_no_other():
    data = message(0, b"v", magic=0)
    assert len(rows(data, format="v0")) == 1
    for other in ("v1", "v2"):
        agree(data, ls.UnsupportedError, "MAP-3", format=other)


@pytest.mark.parametrize("columns", [["offset", "value"], ["offset", "value", "entryPosition", "batchBaseOffset"]])
@pytest.mark.parametrize("batch_size", [1, 7, 65536])
@pytest.mark.parametrize("binary", ["binary", "binary_view"])
def test_plain_messages_are_the_same_however_they_are_bundled(columns, batch_size, binary):
    values = [str(index).encode() * (index % 50) for index in range(3000)]
    data = b"".join(message(index, value, magic=index // 700 % 2, attributes=0) for index, value in enumerate(values))
    for threads in (1, 2):
        found = ls.decode(data, columns=columns, batch_size=batch_size, binary=binary, threads=threads).to_pyarrow()
        assert found["value"].to_pylist() == values
        assert found["offset"].to_pylist() == list(range(3000))
    assert found.slice(5, 1).to_pylist()[0].get("entryPosition") in (None, len(b"".join(message(i, values[i], magic=0) for i in range(5))))
    kept = ls.decode(data, columns=["offset"], start_offset=690, end_offset=710).to_pyarrow()["offset"].to_pylist()
    assert kept == list(range(690, 710))


def test_damage_between_messages_is_stepped_over():
    good = [message(offset, b"some value %d" % offset, magic=offset % 2) for offset in range(40)]
    bad = bytearray(good[7])
    bad[-1] ^= 1
    data = b"".join([*good[:7], bytes(bad), *good[8:20], b"garbage in between", *good[20:]])
    assert [row["offset"] for row in rows(data, on_error="skip")] == [offset for offset in range(40) if offset != 7]
    with pytest.raises(ls.ChecksumError) as raised:
        rows(data)
    assert (raised.value.base_offset, raised.value.position) == (7, sum(map(len, good[:7])))


def test_l7_23_and_24_offsets_of_0_7_are_positions():
    inner = old(b"a") + old(b"b", magic=0) + old(b"c")
    packed = old(gzip.compress(inner, mtime=0), codec=1)
    data = old(b"hello") + packed + old(b"", magic=0)
    end = 15 + len(packed)
    found = rows(data, format="0.7")
    assert [(row["offset"], row["value"], row["indexInEntry"]) for row in found] == [
        (15, b"hello", 0),
        (15, b"a", 0),
        (15, b"b", 1),
        (end, b"c", 2),
        (end + 9, b"", 0),
    ]
    assert {(row["key"], row["timestampMs"], row["timestampType"]) for row in found} == {(None, -1, -1)}
    moved = ReadOptions(format="0.7", base_position=1000, columns=["offset"])
    assert decoded(data, moved).to_pylist()[0]["offset"] == 1015
    assert told(data, format="0.7") == []
    assert [row["value"] for row in rows(data, format="0.7", start_offset=15, end_offset=end)] == [b"a", b"b", b"c"]
    found = ls.batches(data, format="0.7").to_pylist()
    assert [(row["baseOffset"], row["lastOffset"], row["magic"], row["isValid"]) for row in found] == [
        (0, 15, 1, True),
        (15, end, 1, True),
        (end, end + 9, 0, True),
    ]


def test_l7_17_sets_nest_up_to_the_limit():
    data = old(b"a") + old(b"b")
    for _ in range(3):
        data = old(gzip.compress(data + old(b"z"), mtime=0), codec=1)
    found = rows(data, format="0.7", limits=ls.Limits(max_nesting=3))
    assert [row["value"] for row in found] == [b"a", b"b", b"z", b"z", b"z"]
    assert [row["offset"] for row in found] == [0, 0, 0, 0, len(data)]
    agree(data, ls.LimitError, "COD-6", format="0.7", limits=ls.Limits(max_nesting=2))


@pytest.mark.parametrize(
    ("data", "error", "rule"),
    [
        (old(b"x", codec=3), ls.UnknownCompressionError, "L7-5"),
        (old(b"hello")[:-1] + b"p", ls.ChecksumError, "L7-12"),
        (old(b"x", magic=1)[:4] + b"\x02" + old(b"x")[5:], ls.CorruptError, "L7-7"),
        (old(gzip.compress(b"\xff\xff\xff\xffx", mtime=0), codec=1), ls.CorruptError, "L7-11"),
        (old(gzip.compress(old(b"hello")[:-1], mtime=0), codec=1), ls.CorruptError, "L7-11"),
        (b"\x00\x00\x00\x04\x01abc", ls.CorruptError, "L7-1"),
    ],
)
def test_l7_what_0_7_refuses(data, error, rule):
    agree(data, error, rule, format="0.7")


@pytest.mark.parametrize("form", ["correct", "broken"])
def test_l7_5_codec_3_is_lz4_where_its_checksum_and_frame_say_so(form: Any, tmp_path: Path):
    """The seed has it; no release of 0.7 wrote it. Every API reads it, without a switch."""
    values = [b"x" * 100, b"y" * 200]
    data = ls.encode(pa.table({"value": values}), format="0.7", compression="lz4", lz4_header_checksum=form)
    assert data[5] == 3
    assert [row["value"] for row in rows(data, format="0.7")] == values
    for depth in ("headers", "metadata", "full"):
        found = ls.validate(data, format="0.7", depth=depth).findings
        assert [(finding.rule, finding.severity, finding.field) for finding in found] == [("L7-5", "info", "attributes")], depth
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / f"{0:020}.kafka").write_bytes(data)
    assert ls.Log(directory).records(columns=["value"]).to_pylist() == [{"value": value} for value in values]
    assert [row["value"] for row in ls.polars.scan(directory).collect().to_dicts()] == values
    assert len(run("cat", directory).lines) == 2
    assert run("verify", "--fail-on", "warning", directory).code == 0
    assert {row["compression"] for row in ls.batches(data, format="0.7").to_pylist()} == {"lz4"}
    assert ls.convert(data, format="0.7", to="0.7").data == data
    assert [row["value"] for row in ls.decode(ls.convert(data, format="0.7", to="v2", allow_loss=True).data).to_pylist()] == values


def test_l7_5_another_payload_of_codec_3_stays_unknown():
    frame = ls.encode(pa.table({"value": [b"x" * 100]}), format="0.7", compression="lz4")[10:]
    whole = old(frame, codec=3)
    assert len(rows(whole, format="0.7")) == 1
    agree(old(b"0123456789" * 2, codec=3), ls.UnknownCompressionError, "L7-5", format="0.7")
    damaged = whole[:-8] + b"????" + whole[-4:]
    agree(damaged, ls.ChecksumError, "L7-12", format="0.7")
    # Without a matching checksum nothing says that it is LZ4, asked or not.
    agree(damaged, ls.UnknownCompressionError, "L7-5", format="0.7", check_crc=False)
    nested = old(gzip.compress(whole + old(b"z"), mtime=0), codec=1)
    assert [row["value"] for row in rows(nested, format="0.7")] == [b"x" * 100, b"z"]


def test_l7_18_and_21_a_wrapper_of_nothing_and_a_cut_set():
    data = old(gzip.compress(b"", mtime=0), codec=1) + old(b"v")
    assert [row["value"] for row in rows(data, format="0.7")] == [b"v"]
    cut = old(gzip.compress(old(b"a") + old(b"b")[:-1], mtime=0), codec=1)
    assert [row["value"] for row in rows(cut, format="0.7")] == [b"a"]
    assert told(cut, format="0.7") == [("FND-10", "warning")]


def test_l7_21_a_set_that_is_cut_inside_of_another_set_leaves_a_finding():
    cut = old(gzip.compress(old(b"a") + old(b"b")[:-1], mtime=0), codec=1)
    nested = old(gzip.compress(cut + old(b"c"), mtime=0), codec=1)
    assert [row["value"] for row in rows(nested, format="0.7")] == [b"a", b"c"]
    assert told(nested, format="0.7") == [("FND-10", "warning")]
    whole = old(gzip.compress(old(b"a"), mtime=0), codec=1)
    both = old(gzip.compress(whole + cut + old(b"c")[:-1], mtime=0), codec=1)
    assert [row["value"] for row in rows(both, format="0.7")] == [b"a", b"a"]
    assert told(both, format="0.7") == [("FND-10", "warning")] * 2


def test_map_1_sniffing_distinguishes_the_families(tmp_path):
    assert [row["value"] for row in rows(old(b"hello") + old(b"more"), format="sniff")] == [b"hello", b"more"]
    assert [row["value"] for row in rows(message(0, b"hello"), format="sniff")] == [b"hello"]
    assert rows(b"", format="sniff") == [] == rows(bytes(50), format="sniff")
    agree(b"neither one nor the other family", ls.InvalidError, "MAP-1", format="sniff")
    path = tmp_path / "00000000000000000500.kafka"
    path.write_bytes(old(b"hello"))
    assert [row["offset"] for row in rows(ls.FileSource(str(path)))] == [515]
    from_zero = ReadOptions(base_position=0, columns=["offset"])
    assert decoded(ls.FileSource(str(path)), from_zero).to_pylist() == [{"offset": 15}]
    import pyarrow as pa

    lists = pa.array(ls.decode_array(pa.array([old(b"a"), None, message(3, b"b")]), columns=["offset"], format="sniff"))
    assert lists.to_pylist() == [[{"offset": 11}], None, [{"offset": 3}]]


def test_damage_in_0_7_is_stepped_over():
    good = [old(b"some payload %d" % index) for index in range(20)]
    bad = bytearray(good[4])
    bad[-1] ^= 1
    data = b"".join([*good[:4], bytes(bad), *good[5:9], b"\xff\xff garbage", *good[9:]])
    assert len(rows(data, format="0.7", on_error="skip")) == 19


def test_any_flipped_byte_is_found_or_harmless():
    data = message(0, b"first", magic=0) + wrapper(3, [message(0, b"a"), message(1, b"b")]) + message(4, b"last")
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 0x10
        report = ls.validate(bytes(bad))
        try:
            ls.decode(bytes(bad)).to_pyarrow()
            assert report.ok, at
        except ls.RecordBatchError:
            assert not report.ok, at


def lz4(value, *, checksum=None, **options):
    """An LZ4 frame as a codec library writes it, with this header checksum."""
    frame = bytearray(pytest.importorskip("lz4.frame").compress(value, store_size=False, **options))
    if checksum is not None:
        frame[6] = checksum
    return bytes(frame)


def test_cod_l8_magic_0_takes_any_lz4_header_checksum_and_magic_1_the_correct_one():
    inner = message(0, b"v", magic=0)
    for checksum, expected in ((0x1A, []), (0x82, [("COD-L8", "warning")]), (0x55, [("COD-L8", "warning")])):
        data = message(0, lz4(inner, checksum=checksum, block_linked=False), magic=0, attributes=3)
        assert [row["value"] for row in rows(data)] == [b"v"]
        assert told(data) == expected
    wrong = message(0, lz4(message(0, b"v"), checksum=0x1A, block_linked=False), attributes=3)
    refused = agree(wrong, ls.CodecError, "COD-L8")
    assert (refused.kafka_error_code, "the broken one of Kafka 0.8.2 and 0.9" in str(refused)) == (2, True)
    neither = message(0, lz4(message(0, b"v"), checksum=0x55, block_linked=False), attributes=3)
    assert "neither the correct nor the broken one" in str(agree(neither, ls.CodecError, "COD-L8"))
    assert [row["value"] for row in rows(wrong, quirks=["lz4-header-checksum"])] == [b"v"]
    assert told(wrong, quirks=["lz4-header-checksum"]) == [("COD-L8", "warning")]
    pa = pytest.importorskip("pyarrow")
    lists = pa.array(ls.decode_array(pa.array([wrong]), columns=["value"], quirks=["lz4-header-checksum"]))
    assert lists.to_pylist() == [[{"value": b"v"}]]
    assert_taken_everywhere(wrong, ["v"], quirks=["lz4-header-checksum"])


def assert_taken_everywhere(data, values, **options):
    """Every verb that unpacks takes the option, and fails without it."""
    pa = pytest.importorskip("pyarrow")
    column = pa.array([data])
    told = [pa.array(ls.validate_array(column, **given))[0]["ok"].as_py() for given in ({}, options)]
    assert told == [False, True]
    assert [row["value"].decode() for row in rows(ls.convert(data, compression="none", **options).data)] == values
    (converted,) = pa.array(ls.convert_array(column, compression="none", **options)).to_pylist()
    assert [row["value"].decode() for row in rows(converted)] == values
    with pytest.raises(ls.CodecError):
        ls.convert(data, compression="none")
    if data[16] < 2:
        assert ls.batches(data, resolve=True, **options).to_pyarrow()["count"].to_pylist() == [len(values)]
        (stream,) = ls.batch_stream(data, resolve=True, **options)
        assert len(stream) == 1
        with pytest.raises(ls.CodecError):
            ls.batches(data, resolve=True)


def test_cod_l12_dependent_blocks_are_read_when_allowed_and_always_reported():
    text = b"".join(message(index, b"the same words again and again") for index in range(4000))
    data = message(3999, lz4(text, block_linked=True, block_size=4), attributes=3)
    assert agree(data, ls.CodecError, "COD-L12").kafka_error_code == 2
    assert len(rows(data, quirks={"lz4-dependent-blocks"})) == 4000
    assert told(data, quirks={"lz4-dependent-blocks"}) == [("COD-L12", "warning")]
    assert_taken_everywhere(data, ["the same words again and again"] * 4000, quirks={"lz4-dependent-blocks"})


def zstd_batch(packed, count):
    """A batch of magic 2 around compressed records."""
    body = struct.pack(">hiqqqhii", 4, count - 1, 0, 0, -1, -1, -1, count) + packed
    head = struct.pack(">qiib", 0, len(body) + 9, -1, 2)
    return head + struct.pack(">I", crc32c(body)) + body


def test_cod_z5_frames_that_name_a_dictionary_need_it():
    zstandard = pytest.importorskip("zstandard")
    samples = [b'{"user": %d, "event": "click", "page": "/item/%d"}' % (index, index * 7) for index in range(4000)]
    dictionary = zstandard.train_dictionary(4096, samples)
    records = b"".join(
        bytes([(len(value) + 6) * 2, 0, 0, index * 2, 1, len(value) * 2]) + value + b"\0" for index, value in enumerate(samples[:40])
    )
    data = zstd_batch(zstandard.ZstdCompressor(dict_data=dictionary).compress(records), 40)
    assert f"needs the dictionary {dictionary.dict_id()}" in str(agree(data, ls.CodecError, "COD-Z5"))
    agree(data, ls.CodecError, "COD-Z5", zstd_dictionaries=[zstandard.train_dictionary(2048, samples, dict_id=77).as_bytes()])
    known = {"zstd_dictionaries": [dictionary.as_bytes()]}
    assert [row["value"] for row in rows(data, **known)] == samples[:40]
    assert told(data, **known) == []
    assert_taken_everywhere(data, [sample.decode() for sample in samples[:40]], **known)
    with pytest.raises(ValueError, match="zstd_dictionaries"):
        rows(data, zstd_dictionaries=[b"no dictionary"])


def test_a_message_whose_wrong_size_takes_in_the_next_one_does_not_hide_it():
    """L8-11: the size is the only length that was hit; the lengths inside say another one."""
    one, two, three = (message(offset, b"value-%02d" % offset, magic=1) for offset in (5, 6, 7))
    wrong = one[:8] + (len(one) - 12 + len(two)).to_bytes(4, "big") + one[12:]
    kept = ls.decode(wrong + two + three, columns=["offset"], on_error="skip").to_pyarrow()["offset"].to_pylist()
    assert kept == [6, 7]
