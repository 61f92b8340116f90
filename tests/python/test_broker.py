"""What a broker does to bytes, held against `LogValidator` of Kafka (VAL-1 to VAL-20) and the lazy down-conversion (CNV-13, CNV-14)."""

from __future__ import annotations

import json
import struct
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls

VECTORS = [v for v in json.loads((corpus.CORPUS / "vectors.json").read_text())["vectors"] if v["unit"] == "produce"]
UP = [conversion for conversion in corpus.conversions() if not conversion.is_down]
COLUMNS = ["offset", "timestampMs", "timestampType", "key", "value", "headersRaw", "magic", "compression", "producerId", "sequence"]
COLUMNS += ["partitionLeaderEpoch"]
NOW = 1_600_000_500_000


def rows(data: bytes) -> list[dict[str, Any]]:
    return ls.decode(data, columns=COLUMNS).to_pyarrow().to_pylist()


def produced(*values: bytes | None, **options: Any) -> bytes:
    return ls.encode(pa.table({"key": [b"k"] * len(values), "value": list(values), "timestampMs": [NOW] * len(values)}), **options)


def reseal(batch: bytes) -> bytes:
    """The batch with the checksum that its bytes have."""
    with pytest.raises(ls.ChecksumError) as caught:
        ls.decode(batch).read_all()
    return batch[:17] + struct.pack(">I", int(str(caught.value).rpartition("computed ")[2], 16)) + batch[21:]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors_of_produce_validation(vector: dict[str, Any]):
    operation, expected = vector["operation"], vector["expected"]

    def append() -> ls.broker.Appended:
        return ls.broker.append(
            bytes.fromhex(vector["data"]),
            first_offset=operation["first_offset"],
            to=f"v{operation['to_magic']}",
            compression=operation["target_codec"],
            timestamp_type=operation["timestamp_type"],
            now=operation["now"],
            before_max_ms=operation["before_max_ms"],
            after_max_ms=operation["after_max_ms"],
            compacted=operation["compacted_topic"],
            partition_leader_epoch=operation["leader_epoch"],
        )

    if expected.get("error"):
        with pytest.raises(ls.RecordBatchError) as caught:
            append()
        assert caught.value.kafka_error_code == expected["error"]["code"]
        return
    theirs, ours = bytes.fromhex(expected["output"]), append()
    codecs = set(ls.batches(theirs).to_pyarrow()["compression"].to_pylist())
    if codecs == {"none"}:
        assert ours.data == theirs
    assert rows(ours.data) == rows(theirs)
    shape = ["baseOffset", "lastOffset", "count", "magic", "compression", "timestampType", "baseTimestamp", "maxTimestamp"]
    shape += ["partitionLeaderEpoch", "attributes"]
    told = [ls.batches(made).to_pyarrow().select(shape).to_pylist() for made in (ours.data, theirs)]
    assert told[0] == told[1]
    assert (ours.first_offset, ours.last_offset) == (rows(theirs)[0]["offset"], told[1][-1]["lastOffset"])


def requests_of(data: bytes) -> list[bytes]:
    """One request for each wrapper, or run of up to ten plain messages, as the corpus was made."""
    made: list[bytes] = []
    run: list[bytes] = []
    at = 0
    while at + 12 <= len(data):
        end = at + 12 + struct.unpack_from(">i", data, at + 8)[0]
        entry = data[at:end]
        if entry[17] & 7:
            made += [b"".join(run)] * bool(run) + [entry]
            run = []
        else:
            run.append(entry)
            if len(run) == 10:
                made.append(b"".join(run))
                run = []
        at = end
    return made + [b"".join(run)] * bool(run)


def appended_all(conversion: corpus.Conversion) -> bytes:
    out, offset = b"", 100
    for request in requests_of(conversion.source.read()):
        appended = ls.broker.append(
            request,
            first_offset=offset,
            to=f"v{conversion.line['toMagic']}",
            timestamp_type=conversion.line["timestampType"],
            now=1_700_000_500_000,
            partition_leader_epoch=5,
        )
        out += appended.data
        offset = appended.last_offset + 1
    return out


@pytest.mark.parametrize("conversion", UP, ids=str)
def test_up_conversions_of_the_corpus_on_append(conversion: corpus.Conversion):
    if conversion.output is None:
        assert "InvalidTimestamp" in conversion.line["error"] or "LogAppendTime" in conversion.line["error"]
        with pytest.raises(ls.InvalidError) as caught:
            appended_all(conversion)
        assert caught.value.kafka_error_code == 32
        return
    out = appended_all(conversion)
    theirs = conversion.output.read()
    if "none" in conversion.output.codecs and len(conversion.output.codecs) == 1:
        assert out == theirs
    assert rows(out) == rows(theirs)


def test_everything_was_walked():
    corpus.seen_all(VECTORS, 54)
    corpus.seen_all(UP, 49)


def test_val_17_in_place_changes_only_what_it_must():
    data = produced(b"a", b"b", compression="zstd")
    ours = ls.broker.append(data, first_offset=77, partition_leader_epoch=4).data
    assert (ours[:8], ours[12:16]) == (struct.pack(">q", 77), struct.pack(">i", 4))
    assert ours[8:12] + ours[16:] == data[8:12] + data[16:]


def test_val_18_another_codec_packs_anew_and_keeps_producer_and_headers():
    table = pa.table({"value": [b"a"], "headers": [[{"key": "h", "value": b"v"}]]})
    data = ls.encode(table, producer_id=9, producer_epoch=2, base_sequence=5)
    ours = ls.broker.append(data, first_offset=3, compression="lz4", partition_leader_epoch=1)
    row = rows(ours.data)[0]
    assert (row["offset"], row["compression"], row["producerId"], row["sequence"]) == (3, "lz4", 9, 5)
    assert row["headersRaw"] == [{"key": b"h", "value": b"v"}]
    assert rows(ls.broker.append(data, first_offset=3, compression="uncompressed").data)[0]["compression"] == "none"


@pytest.mark.parametrize(
    ("change", "options", "rule", "code"),
    [
        (lambda data: struct.pack(">q", 1) + data[8:], {}, "VAL-2", 87),
        (lambda data: data, {"max_message_bytes": 20}, "VAL-2", 10),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), {}, "V2-31", 2),
        (lambda data: data + data, {}, "VAL-7", 87),
        (lambda data: b"", {}, "VAL-7", 87),
        (lambda data: reseal(data[:57] + struct.pack(">i", 1) + data[61:]), {}, "VAL-3", 87),
        (lambda data: reseal(data[:21] + b"\0\x20" + data[23:]), {}, "VAL-4", 87),
        (lambda data: reseal(data[:43] + struct.pack(">qhi", 5, 0, -1) + data[57:]), {}, "VAL-5", 87),
        (lambda data: reseal(data[:43] + struct.pack(">qhi", 5, 0, 0) + data[57:]), {"to": "v1"}, "VAL-8", 43),
    ],
)
def test_refusals_of_batches_carry_kafkas_code(change: Any, options: dict[str, Any], rule: str, code: int):
    with pytest.raises(ls.RecordBatchError) as caught:
        ls.broker.append(change(produced(b"a", b"b")), **{"first_offset": 0} | options)
    assert (caught.value.rule, caught.value.kafka_error_code) == (rule, code)


def test_val_10_and_16_refusals_of_records_name_them():
    table = pa.table({"key": [b"k", None, b"k", None], "value": [b"v"] * 4, "timestampMs": [NOW] * 4})
    with pytest.raises(ls.InvalidError) as caught:
        ls.broker.append(ls.encode(table), first_offset=0, compacted=True)
    assert (caught.value.rule, caught.value.kafka_error_code, caught.value.record_indexes) == ("VAL-10", 87, [1, 3])


def test_val_14_times_out_of_range_win_over_other_errors():
    table = pa.table({"key": [None, b"k", b"k"], "value": [b"v"] * 3, "timestampMs": [NOW, NOW - 1001, NOW + 1001]})
    bounds = {"now": NOW, "before_max_ms": 1000, "after_max_ms": 1000}
    with pytest.raises(ls.InvalidError) as caught:
        ls.broker.append(ls.encode(table), first_offset=0, compacted=True, **bounds)
    assert (caught.value.rule, caught.value.kafka_error_code, caught.value.record_indexes) == ("VAL-14", 32, [0, 1, 2])
    edge = pa.table({"value": [b"v"] * 3, "timestampMs": [NOW - 1000, NOW + 1000, -1]})
    assert ls.broker.append(ls.encode(edge), first_offset=0, **bounds).max_timestamp == NOW + 1000


def test_val_15_append_times_of_producers():
    stamped = produced(b"a", timestamp_type="LogAppendTime", log_append_time=NOW + 5)
    with pytest.raises(ls.InvalidError) as caught:
        ls.broker.append(stamped, first_offset=0, timestamp_type="LogAppendTime", now=NOW)
    assert (caught.value.rule, caught.value.kafka_error_code) == ("VAL-15", 32)
    ours = ls.broker.append(stamped, first_offset=0, now=NOW)
    row = ls.batches(ours.data).to_pyarrow().to_pylist()[0]
    assert (row["timestampType"], row["maxTimestamp"], rows(ours.data)[0]["timestampMs"]) == ("CreateTime", NOW + 5, NOW)


def test_cod_l8_a_wrong_header_checksum_is_refused_in_v1_and_ignored_in_v0():
    """KIP-57: a 0.10 broker rejects v1 with a wrong checksum and does not look at that of v0."""
    broken = ls.break_lz4(produced(b"a" * 100, format="v1", compression="lz4"))
    with pytest.raises(ls.RecordBatchError):
        ls.broker.append(broken, first_offset=0, to="v1")
    fixed = ls.fix_lz4(produced(b"a" * 100, format="v0", compression="lz4"))
    ours = ls.broker.append(fixed, first_offset=0, to="v1")
    assert [row.form for row in ls.check_lz4(ours.data)] == ["correct"]
    assert [row.form for row in ls.check_lz4(ls.broker.append(fixed, first_offset=0, to="v0").data)] == ["broken"]


def test_val_20_duplicates_are_acknowledged_and_gaps_refused():
    def batch(sequence: int, epoch: int = 0) -> bytes:
        return produced(b"a", b"b", producer_id=7, producer_epoch=epoch, base_sequence=sequence)

    first = ls.broker.append(batch(0), first_offset=10)
    second = ls.broker.append(batch(2), first_offset=12, producer_state=first.producer_state)
    again = ls.broker.append(batch(0), first_offset=14, producer_state=second.producer_state)
    assert (again.duplicate, again.data, again.first_offset, again.last_offset) == (True, b"", 10, 11)
    assert again.producer_state == second.producer_state
    for bad, code in ((batch(5), 45), (batch(1, epoch=1), 45)):
        with pytest.raises(ls.RecordBatchError) as caught:
            ls.broker.append(bad, first_offset=14, producer_state=second.producer_state)
        assert caught.value.kafka_error_code == code
    bumped = ls.broker.append(batch(0, epoch=1), first_offset=14, producer_state=second.producer_state)
    with pytest.raises(ls.RecordBatchError) as caught:
        ls.broker.append(batch(4), first_offset=16, producer_state=bumped.producer_state)
    assert caught.value.kafka_error_code == 47


def test_input_is_never_changed_and_a_torn_tail_is_cut_off():
    data = bytearray(produced(b"a"))
    before = bytes(data)
    ours = ls.broker.append(data + data[:30], first_offset=9)
    assert (bytes(data), len(ours.data)) == (before, len(before))


def test_cnv_13_a_fetch_gets_what_its_version_takes():
    data = produced(b"a", b"b", b"c", base_offset=20)
    assert [ls.broker.fetch(data, api_version=version) == data for version in (3, 4, 9, 10, 17)] == [False, True, True, True, True]
    for version, magic in ((0, 0), (1, 0), (2, 1), (3, 1)):
        sent = ls.broker.fetch(data, api_version=version)
        assert {row["magic"] for row in rows(sent)} == {magic}
        assert [row["offset"] for row in rows(sent)] == [20, 21, 22]
        assert len(sent) >= len(data)
    assert [row["offset"] for row in rows(ls.broker.fetch(data, api_version=2, first_offset=21))] == [21, 22]


def test_kip_110_zstd_for_old_fetches():
    zstd = produced(b"z", compression="zstd", base_offset=3)
    for version, topic in ((3, "producer"), (9, "zstd"), (0, "zstd")):
        with pytest.raises(ls.UnsupportedError) as caught:
            ls.broker.fetch(zstd, api_version=version, topic_compression=topic)
        assert caught.value.kafka_error_code == 76
        assert "upgrade the consumer" in str(caught.value)
    assert ls.broker.fetch(zstd, api_version=10, topic_compression="zstd") == zstd
    assert ls.broker.fetch(zstd, api_version=4) == zstd


def test_cnv_14_the_dummy_entry_in_place_of_a_zstd_batch():
    before = produced(b"a" * 500, b"b", b"c")
    data = before + produced(b"z" * 300, b"random", compression="zstd", base_offset=3)
    sent = ls.broker.fetch(data, api_version=2)
    converted = ls.convert(before, to="v1", allow_loss=True).data
    assert len(sent) == len(data)
    assert sent.startswith(converted)
    left = len(data) - len(converted)
    dummy = sent[len(converted) :]
    assert struct.unpack_from(">qi", dummy) == (-1, max(left + 1, 61))
    assert set(dummy[12:]) <= {0}
    # A reader takes it for a torn tail and passes over it.
    assert [row["offset"] for row in rows(sent)] == [0, 1, 2]


def test_cnv_14_nothing_but_markers_is_an_overflow_entry_alone():
    marker = bytes.fromhex(
        "000000000000000900000042ffffffff02a22193da00300000000000000174876e800000000174876e80000000000000000"
        "3e80000ffffffff000000012000000008000000010c00000000000300"
    )
    assert ls.broker.fetch(marker, api_version=1) == struct.pack(">qi", -1, 61)
    assert ls.broker.fetch(b"", api_version=1) == b""


def test_invalid_arguments_are_rejected():
    data = produced(b"a")
    with pytest.raises(ValueError, match="api_version"):
        ls.broker.fetch(data, api_version=-1)
    with pytest.raises(ls.UnknownCompressionError):
        ls.broker.append(data, first_offset=0, compression="brotli")
    with pytest.raises(ValueError, match="timestamp_type"):
        ls.broker.append(data, first_offset=0, timestamp_type="Never")
