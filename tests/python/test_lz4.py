"""The header checksum of LZ4 frames: the byte itself, and whole message sets with the other one (COD-L6 to COD-L8, CNV-20 to CNV-22)."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from every import every
from lz4_frames import KNOWN, MAGIC, PLAIN, frame, message

CASES = [case for case in corpus.cases() if "lz4" in case.codecs and set(case.magics) <= {0, 1, 2}]


@pytest.mark.parametrize("descriptor", KNOWN)
def test_cod_l7_both_forms(descriptor: str):
    given = frame(descriptor, PLAIN)
    assert (ls.lz4_header_checksum(given, form="correct"), ls.lz4_header_checksum(given, form="broken")) == KNOWN[descriptor]
    assert ls.lz4_header_checksum(bytearray(given), form="broken") == KNOWN[descriptor][1]


@pytest.mark.parametrize(
    ("given", "rule"),
    [(b"", "COD-L1"), (MAGIC + b"\x60\x40", "COD-L1"), (b"\x02\x21\x4c\x18\x60\x40\x82", "COD-L15"), (MAGIC + b"\x61\x40\x82", "COD-L12")],
)
def test_cnv_21_what_is_no_frame_is_refused(given: bytes, rule: str):
    with pytest.raises(ls.CodecError) as caught:
        ls.lz4_header_checksum(given, form="correct")
    assert caught.value.rule == rule


def test_another_form_is_a_mistake():
    with pytest.raises(ValueError, match="form must be"):
        ls.lz4_header_checksum(frame("6040", PLAIN), form="any")


@every("case", CASES)
def test_the_corpus_has_the_form_of_its_magic(case: corpus.Case):
    found = ls.check_lz4(case.read())
    assert {row.magic for row in found} <= set(case.magics)
    assert found
    assert all(row.ok for row in found), found


@every("case", CASES)
def test_cnv_20_to_and_fro_is_the_identity_and_changes_nothing_else(case: corpus.Case):
    data = case.read()
    broken, fixed = ls.break_lz4(data), ls.fix_lz4(data)
    assert {row.form for row in ls.check_lz4(broken)} == {"broken"}
    assert {row.form for row in ls.check_lz4(fixed)} == {"correct"}
    assert ls.fix_lz4(broken) == fixed or any(row.refused_by_09 for row in ls.check_lz4(data))
    if len(broken) == len(data):
        frames = sum(row.count for row in ls.check_lz4(data))
        # A frame's own byte and the four of the checksum around it.
        assert 0 < sum(ours != theirs for ours, theirs in zip(broken, fixed, strict=True)) <= 5 * frames
    if set(case.magics) <= {1, 2}:
        assert fixed == data
    if set(case.magics) == {0}:
        assert broken == data


def test_the_corpus_was_walked():
    corpus.seen_all(CASES, 5)


@pytest.mark.parametrize("magic", [0, 1])
def test_cnv_22_a_break_takes_size_and_content_checksum_out(magic: int):
    # Content size 1, content checksum of "a".
    full = message(magic, MAGIC + bytes.fromhex("6c400100000000000000") + b"\x00" + PLAIN + bytes.fromhex("56740d55"), key=b"k")
    bare = message(magic, frame("6040", PLAIN, 0x1A), key=b"k")
    assert [row.refused_by_09 for row in ls.check_lz4(full)] == [True]
    assert ls.break_lz4(full + full) == bare + bare
    assert len(ls.fix_lz4(full)) == len(full)
    assert [row.form for row in ls.check_lz4(ls.fix_lz4(full))] == ["correct"]


def test_cnv_22_in_a_record_batch_too():
    case = next(case for case in corpus.cases() if case.codecs == ("lz4",) and case.magics == (2,))
    data = case.read()
    end = 12 + struct.unpack_from(">i", data, 8)[0]
    batch = data[:end]
    assert struct.unpack_from(">h", batch, 21)[0] & 7 == 3
    lz4 = batch[61:]
    grown = lz4[:4] + bytes([lz4[4] | 0x0C]) + lz4[5:6] + struct.pack("<Q", 99) + b"\0" + lz4[7:] + b"abcd"
    head = batch[:8] + struct.pack(">i", len(batch) - 12 + 12) + batch[12:61]
    made = reseal(head + grown)
    assert ls.break_lz4(made) == ls.break_lz4(batch)


def reseal(batch: bytes) -> bytes:
    """The batch with the checksum that its bytes have, from the error that names it."""
    with pytest.raises(ls.ChecksumError) as caught:
        ls.check_lz4(batch)
    computed = int(str(caught.value).rpartition("computed ")[2], 16)
    return batch[:17] + struct.pack(">I", computed) + batch[21:]


def test_damage_is_not_hidden_under_a_new_checksum():
    good, bad = message(0, frame("6040", PLAIN)), bytearray(message(0, frame("6040", PLAIN)))
    bad[-6] ^= 1
    for verb in (ls.fix_lz4, ls.break_lz4, ls.check_lz4):
        with pytest.raises(ls.ChecksumError) as caught:
            verb(good + bad)
        assert (caught.value.rule, caught.value.position) == ("L8-2", len(good))


def test_what_is_not_lz4_is_copied():
    other = message(1, b"hello", codec=0) + message(0, b"\x1f\x8b??", codec=1) + message(0, None)
    torn = message(0, frame("6040", PLAIN))[:-3]
    for data in (other, other + torn, other + bytes(100), b"", b"abc"):
        assert ls.fix_lz4(data) == data == ls.break_lz4(data)
        assert ls.check_lz4(data) == []


def test_every_kind_of_source_gives_the_same(tmp_path: Path):
    data = b"".join(message(magic, frame("6040", PLAIN)) for magic in (0, 1, 0)) + b"torn"
    path = tmp_path / "some.log"
    path.write_bytes(data)
    expected = ls.break_lz4(data)
    assert expected != data
    for source in (bytearray(data), memoryview(data), ls.FileSource(path), io.BytesIO(data)):
        assert ls.break_lz4(source) == expected


def test_limits_hold():
    with pytest.raises(ls.LimitError):
        ls.fix_lz4(message(0, frame("6040", PLAIN)), limits=ls.Limits(max_batch_bytes=20))


def test_mixed_sets_are_distinguished_by_magic():
    mixed = message(0, frame("6040", PLAIN)) + message(1, frame("6040", PLAIN, 0xFF)) * 2
    rows = [(row.magic, row.form, row.count, row.ok) for row in ls.check_lz4(mixed)]
    assert rows == [(0, "correct", 1, False), (1, "neither", 2, False)]


def test_vectors_of_payloads_that_a_real_09_client_takes():
    """What it takes, a break leaves as it is; what it refuses for header checksum or content checksum, a break repairs."""
    vectors = json.loads((corpus.CORPUS / "vectors.json").read_text())["vectors"]
    payloads = {v["name"]: (bytes.fromhex(v["data"]), v["kafka_clients_0_9_0_1"]) for v in vectors if "kafka_clients_0_9_0_1" in v}
    accepted = {data for data, verdict in payloads.values() if verdict == "accepts"}
    refused = [payloads[name] for name in ("lz4_correct_hc_v0", "lz4_correct_hc_v1", "lz4_correct_hc_v2", "lz4_hc_ff_v2")]
    assert len(accepted) >= 1
    assert [verdict for _, verdict in refused] == ["refuses"] * 4
    for data in accepted:
        assert ls.break_lz4(message(0, data)) == message(0, data)
    for data, _ in refused:
        assert ls.break_lz4(message(0, data)) == message(0, data[:6] + b"\x1a" + data[7:])
    for name in ("lz4_header_2_bytes", "lz4_bad_magic"):
        with pytest.raises(ls.CodecError):
            ls.break_lz4(message(0, payloads[name][0]))
