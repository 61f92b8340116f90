"""Entries to other formats and codecs, held against what Kafka's own classes made of the same bytes (CNV-1 to CNV-19)."""

from __future__ import annotations

import gzip
import io
import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls
from every import every

COLUMNS = ["offset", "timestampMs", "timestampType", "key", "value", "headersRaw", "magic", "compression"]
CONVERSIONS = corpus.conversions()
DOWN = [conversion for conversion in CONVERSIONS if conversion.is_down]
VECTORS = json.loads((corpus.CORPUS / "vectors.json").read_text())["vectors"]
DOWN_VECTORS = [vector for vector in VECTORS if vector["unit"] == "convert"]
#: Cases of 0.8 and later whose entries can all be read.
CASES = [case for case in corpus.cases() if case.format == "auto" and case.records and case.kind != "hostile"]


def rows(data: bytes, columns: list[str] | None = None, **options: Any) -> list[dict[str, Any]]:
    return ls.decode(data, columns=columns or COLUMNS, control=True, **options).to_pyarrow().to_pylist()


def names(converted: ls.Converted) -> list[str]:
    return [loss.name for loss in converted.losses]


def made(records: int = 40, **options: Any) -> bytes:
    """Batches with keys, nulls and times, as our own writer makes them."""
    table = pa.table(
        {
            "key": [None if index % 3 == 0 else b"key-%d" % index for index in range(records)],
            "value": [None if index % 7 == 3 else b"value " * (index % 50) for index in range(records)],
            "timestampMs": [1_600_000_000_000 + index * 17 for index in range(records)],
        }
    )
    return ls.encode(table, **{"batch_bytes": 600} | options)


def is_plain(data: bytes) -> bool:
    return set(ls.batches(data).to_pyarrow()["compression"].to_pylist()) <= {"none"}


@pytest.mark.parametrize("conversion", DOWN, ids=str)
def test_cnv_1_to_12_down_as_kafka_does(conversion: corpus.Conversion):
    data, to = conversion.source.read(), f"v{conversion.line['toMagic']}"
    ours = ls.convert(data, to=to, allow_loss=True)
    if conversion.output is None:
        assert "zstandard" in conversion.line["error"]
        assert ours.stopped_at.compression == "zstd"
        assert ours.stopped_at.error.code == 76
        return
    theirs = conversion.output.read()
    assert ours.stopped_at is None
    if is_plain(theirs):
        assert ours.data == theirs
    assert rows(ours.data) == rows(theirs)
    shape = ["baseOffset", "lastOffset", "count", "magic", "compression", "timestampType", "maxTimestamp"]
    entries = [ls.batches(made).to_pyarrow().select(shape).to_pylist() for made in (ours.data, theirs)]
    assert entries[0] == entries[1]


@pytest.mark.parametrize("vector", DOWN_VECTORS, ids=lambda vector: vector["name"])
def test_vectors_of_down_conversion(vector: dict[str, Any]):
    operation = vector["operation"]
    ours = ls.convert(
        bytes.fromhex(vector["data"]), to=f"v{operation['to_magic']}", first_offset=operation["first_offset"], allow_loss=True
    )
    expected = vector["expected"]
    if expected.get("error"):
        assert expected["error"]["kind"] == "unsupported_compression"
        assert ours.stopped_at is not None
        return
    theirs = bytes.fromhex(expected["output"])
    if is_plain(theirs):
        assert ours.data == theirs
    assert rows(ours.data) == rows(theirs)


def test_everything_was_walked():
    corpus.seen_all(DOWN, 60)
    corpus.seen_all(DOWN_VECTORS, 48)
    corpus.seen_all(CASES, 100)


@every("case", CASES)
def test_up_keeps_every_offset_key_and_value(case: corpus.Case):
    """CNV-16 to CNV-19: from every case to v2; what is v2 already stays byte for byte."""
    data = case.read()
    ours = ls.convert(data)
    assert (ours.losses, ours.stopped_at) == ([], None)
    if set(case.magics) == {2}:
        assert ours.data == data
        return
    before, after = rows(data), rows(ours.data)
    kept = ("offset", "timestampMs", "key", "value", "headersRaw")
    assert [[row[name] for name in kept] for row in after] == [[row[name] for name in kept] for row in before]
    assert {row["magic"] for row in after} <= {2}
    assert ls.validate(ours.data).ok
    assert {row["compression"] for row in after} <= {row["compression"] for row in before}


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("found", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_between_codecs_the_plain_records_stay(found: str, compression: str):
    data = made(compression=found, base_offset=70, partition_leader_epoch=4, producer_id=9, producer_epoch=1, base_sequence=5)
    there = ls.convert(data, compression=compression)
    assert there.losses == []
    if found == compression:
        assert there.data == data
    assert set(ls.batches(there.data).to_pyarrow()["compression"].to_pylist()) == {compression}
    plain = ls.convert(data, compression="none").data
    assert ls.convert(there.data, compression="none").data == plain
    hidden = {"position", "size", "crc", "compression", "attributes"}
    headers = [
        [{name: value for name, value in row.items() if name not in hidden} for row in ls.batches(batches).to_pyarrow().to_pylist()]
        for batches in (data, there.data)
    ]
    assert headers[0] == headers[1]


@pytest.mark.parametrize("old", ["v0", "v1"])
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
def test_up_and_down_again_is_the_identity(old: str, compression: str):
    data = made(format=old, compression=compression, base_offset=12)
    up = ls.convert(data)
    assert up.losses == []
    down = ls.convert(up.data, to=old)
    assert (down.losses, down.stopped_at) == ([], None)
    assert rows(down.data) == rows(data)
    if compression == "none":
        assert down.data == data


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
def test_down_and_up_again_is_the_identity_where_nothing_is_lost(compression: str):
    data = made(compression=compression, batch_bytes=2000)
    down = ls.convert(data, to="v1")
    assert down.losses == []
    up = ls.convert(down.data, batch_bytes=2000)
    assert rows(up.data) == rows(data)
    if compression != "none":
        assert ls.convert(up.data, compression="none").data == ls.convert(data, compression="none").data


def test_cnv_7_what_would_be_lost_is_refused_by_name():
    table = pa.table({"value": [b"a"], "timestampMs": [5], "headers": [[{"key": "h", "value": b"v"}]]})
    data = ls.encode(table, producer_id=4, producer_epoch=0, base_sequence=0, transactional=True, partition_leader_epoch=3)
    expected = ["headers", "producer", "transaction", "leader_epoch"]
    with pytest.raises(ls.LossError) as caught:
        ls.convert(data, to="v1")
    assert [loss.name for loss in caught.value.losses] == expected
    assert all(name in str(caught.value) for name in expected)
    assert names(ls.convert(data, to="v1", allow_loss=True)) == expected
    assert names(ls.convert(data, to="v0", allow_loss=True)) == [*expected, "timestamp"]


def test_cnv_8_times_are_lost_in_v0_and_not_when_there_are_none():
    data = made(format="v1")
    with pytest.raises(ls.LossError, match="timestamp"):
        ls.convert(data, to="v0")
    timeless = ls.encode(pa.table({"value": [b"a", b"b"]}), format="v1")
    assert ls.convert(timeless, to="v0").losses == []


def test_a_refusal_writes_nothing(tmp_path: Path):
    with pytest.raises(ls.LossError):
        ls.convert(made(format="v1"), to="v0", out=tmp_path / "out.log")
    assert list(tmp_path.iterdir()) == []


def test_cnv_2_zstd_stops_a_conversion_down_and_is_named():
    before, zstd = made(10, batch_bytes=10_000), made(10, compression="zstd", base_offset=10, batch_bytes=10_000)
    ours = ls.convert(before + zstd + made(3, base_offset=20), to="v1")
    assert ours.data == ls.convert(before, to="v1").data
    stop = ours.stopped_at
    assert (stop.position, stop.base_offset, stop.last_offset, stop.compression) == (len(before), 10, 19, "zstd")
    # With another codec by name nothing stops it.
    ours = ls.convert(before + zstd, to="v1", compression="gzip")
    assert ours.stopped_at is None
    assert [row["offset"] for row in rows(ours.data)] == list(range(20))


def test_cnv_11_lz4_gets_the_header_checksum_of_its_target():
    data = made(compression="lz4")
    for to, form in (("v0", "broken"), ("v1", "correct"), ("v2", "correct")):
        ours = ls.convert(data, to=to, allow_loss=True).data
        assert {row.form for row in ls.check_lz4(ours)} == {form}
    assert {row.form for row in ls.check_lz4(ls.convert(ls.convert(data, to="v0", allow_loss=True).data).data)} == {"correct"}


def test_cnv_5_the_first_offset_leaves_out_records_of_plain_batches_only():
    for old, to in (("v2", "v1"), ("v2", "v0"), ("v1", "v0")):
        plain, packed = made(4, format=old), made(4, format=old, compression="gzip", base_offset=4)
        ours = ls.convert(plain + packed, to=to, first_offset=2, allow_loss=True)
        assert [row["offset"] for row in rows(ours.data)] == [2, 3, 4, 5, 6, 7]


def test_plain_messages_become_batches_of_about_the_asked_size():
    data = made(200, format="v1")
    one, many = ls.convert(data, batch_bytes=1 << 20).data, ls.convert(data, batch_bytes=500).data
    assert (len(ls.batches(one)), rows(one, ["offset"])) == (1, rows(many, ["offset"]))
    assert len(ls.batches(many)) > 20


def test_plain_messages_of_other_append_times_do_not_share_a_batch():
    stamped = [
        ls.encode(pa.table({"value": [b"x"]}), format="v1", timestamp_type="LogAppendTime", log_append_time=time, base_offset=offset)
        for offset, time in enumerate([5, 5, 9])
    ]
    ours = ls.convert(b"".join(stamped)).data
    assert [row["timestampMs"] for row in rows(ours)] == [5, 5, 9]
    assert ls.batches(ours).to_pyarrow()["count"].to_pylist() == [2, 1]


def test_offsets_that_go_back_begin_another_batch():
    data = made(3, format="v0", base_offset=50) + made(3, format="v0", base_offset=10) + made(2, format="v0", base_offset=1 << 40)
    assert [row["offset"] for row in rows(ls.convert(data).data)] == [50, 51, 52, 10, 11, 12, 1 << 40, (1 << 40) + 1]


def test_levels_pack_anew_and_need_a_codec():
    data = made(400, compression="gzip", level=1, batch_bytes=16384)
    assert ls.convert(data, compression="gzip").data == data
    assert len(ls.convert(data, compression="gzip", level=9).data) < len(data)
    with pytest.raises(ValueError, match="level"):
        ls.convert(data, level=9)
    with pytest.raises(ValueError, match="compression level"):
        ls.convert(data, compression="zstd", level=99)


def test_invalid_arguments_are_rejected():
    with pytest.raises(ls.UnknownCompressionError):
        ls.convert(b"", compression="brotli")
    with pytest.raises(ValueError, match="to must be"):
        ls.convert(b"", to="v7")
    with pytest.raises(ValueError, match="first_offset"):
        ls.convert(b"", first_offset=3)
    with pytest.raises(ValueError, match="ZStandard"):
        ls.convert(made(), to="v1", compression="zstd")


@pytest.mark.parametrize(
    ("to", "compression", "told"),
    [
        ("v1", "zstd", r"\[V2-60\] ZStandard compression is not supported for magic 1"),
        ("v0", "zstd", "not supported for magic 0"),
        ("0.7", "zstd", r"\[L7-5\] 4 is an unknown compression codec"),
    ],
)
def test_a_codec_that_the_format_does_not_have_is_refused_before_anything_is_read(to: Any, compression: str, told: str):
    for convert in (lambda **options: ls.convert(b"", **options), lambda **options: ls.convert_array(pa.array([], pa.binary()), **options)):
        with pytest.raises(ValueError, match=told):
            convert(to=to, compression=compression)


def test_damage_is_an_error_with_its_place_where_it_is_rewritten():
    good, bad = made(5, format="v1"), bytearray(made(1, format="v1", base_offset=5))
    bad[-1] ^= 1
    with pytest.raises(ls.ChecksumError) as caught:
        ls.convert(good + bad)
    assert caught.value.position == len(good)
    # What is only copied is not looked into.
    damaged = bytearray(made(5))
    damaged[-1] ^= 1
    assert ls.convert(bytes(damaged)).data == damaged


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize(("to", "metadata_first"), [("v2", False), ("v3", False), ("v3", True)])
def test_a_malformed_record_is_the_error_that_decode_raises(tmp_path: Path, to: Any, metadata_first: bool, compression: Any):
    good = building.simple_batch([b"good"])
    content = building.record(None, b"one") + building.record(None, b"two", length=3)
    codec = building.GZIP if compression != "gzip" else building.NONE
    packed = gzip.compress(content) if codec else content
    data = good + building.batch(packed, count=2, attributes=codec, base_offset=7)
    with pytest.raises(ls.CorruptError) as expected:
        rows(data, ["value"])
    out = tmp_path / "out.log"
    with pytest.raises(ls.CorruptError) as caught:
        ls.convert(data, to=to, compression=compression, metadata_first=metadata_first, out=out)
    for name in ("rule", "position", "base_offset", "record_index", "field"):
        assert getattr(caught.value, name) == getattr(expected.value, name), name
    assert (caught.value.position, caught.value.base_offset, caught.value.record_index) == (len(good), 7, 1)
    assert list(tmp_path.iterdir()) == []


def test_a_torn_tail_is_left_out_and_reported():
    data = made(5, format="v1")
    ours = ls.convert(data + data[:20])
    assert ours.data == ls.convert(data).data
    assert [finding.rule for finding in ours.findings] == ["L8-14"]


def test_every_kind_of_source_and_output_gives_the_same(tmp_path: Path):
    data = made(100, format="v1", compression="gzip")
    path, out = tmp_path / "in.log", tmp_path / "out.log"
    path.write_bytes(data)
    expected = ls.convert(data).data
    for source in (bytearray(data), memoryview(data), io.BytesIO(data), ls.FileSource(path)):
        assert ls.convert(source).data == expected
    file = io.BytesIO()
    assert ls.convert(data, out=file).data is None
    assert file.getvalue() == expected
    ls.convert(ls.FileSource(path), out=out)
    assert out.read_bytes() == expected


def test_unknown_attribute_bits_stay_between_codecs():
    """V2-2: Java loses them when it rewrites attributes."""
    batch = bytearray(made(3, batch_bytes=10_000))
    batch[21:23] = struct.pack(">h", 0x4180)
    with pytest.raises(ls.ChecksumError) as caught:
        ls.decode(bytes(batch)).read_all()
    computed = int(str(caught.value).rpartition("computed ")[2], 16)
    batch[17:21] = struct.pack(">I", computed)
    ours = ls.convert(bytes(batch), compression="gzip").data
    assert ls.batches(ours).to_pyarrow()["attributes"].to_pylist() == [0x4181]
    assert ls.convert(ours, compression="none").data == batch


OLDEST = [case for case in corpus.cases() if case.format == "0.7" and case.records and case.kind != "hostile"]


@pytest.mark.parametrize("to", ["v0", "v1", "v2"])
@pytest.mark.parametrize("case", OLDEST, ids=str)
def test_kafka_07_gets_new_offsets_and_a_map(case: corpus.Case, to: str):
    data = case.read()
    with pytest.raises(ls.LossError, match="offset"):
        ls.convert(data, format="0.7", to=to)
    ours = ls.convert(data, format="0.7", to=to, first_offset=500, allow_loss=True, offset_map=True)
    assert (names(ours), ours.stopped_at) == (["offset"], None)
    before = rows(data, ["value", "entryPosition", "indexInEntry"], format="0.7")
    after = rows(ours.data, ["offset", "value"])
    assert [row["value"] for row in after] == [row["value"] for row in before]
    assert [row["offset"] for row in after] == list(range(500, 500 + len(before)))
    told = [(row["entryPosition"], row["indexInEntry"], 500 + index) for index, row in enumerate(before)]
    assert ours.offset_map == told
    pieces: list[tuple[int, int, int]] = []
    assert ls.convert(data, format="0.7", to=to, first_offset=500, allow_loss=True, offset_map=pieces.extend).offset_map is None
    assert pieces == told
    assert ours.next_offset == 500 + len(before)


def test_kafka_07_was_walked():
    corpus.seen_all(OLDEST, 5)


def test_down_to_07_loses_keys_and_names_it():
    ours = ls.convert(made(8, format="v1"), to="0.7", allow_loss=True)
    assert names(ours) == ["timestamp", "key", "null_value", "offset"]
    before = [row["value"] or b"" for row in rows(made(8, format="v1"))]
    assert [row["value"] for row in rows(ours.data, ["value"], format="0.7")] == before
    assert ls.convert(made(8, compression="lz4"), to="0.7", allow_loss=True).stopped_at.compression == "lz4"


def test_columns_of_raw_batches():
    data = made(10, compression="gzip")
    zstd = made(3, compression="zstd")
    found = pa.array(ls.convert_array(pa.array([data, None, b""]), compression="snappy")).to_pylist()
    assert found == [ls.convert(data, compression="snappy").data, None, b""]
    with pytest.raises(ls.UnsupportedError) as caught:
        ls.convert_array(pa.array([data, zstd]), to="v1")
    assert (caught.value.row, caught.value.kafka_error_code) == (1, 76)
    assert pa.array(ls.convert_array(pa.array([zstd, data]), to="v1", on_error="null")).to_pylist()[0] is None
    with pytest.raises(ls.LossError) as caught:
        ls.convert_array(pa.array([None, data]), to="v0")
    assert caught.value.row == 1


def test_the_repr_of_a_conversion_does_not_show_its_bytes():
    data = ls.encode(pa.table({"value": ["sesame"]}))
    assert data is not None
    for result in (ls.convert(data, to="v1"), ls.broker.append(data, first_offset=0)):
        assert result.data
        assert b"sesame" in result.data
        assert "sesame" not in repr(result)
