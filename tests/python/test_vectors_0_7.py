"""Message sets of Kafka 0.7 that its own classes wrote and read, and frames whose header checksum only their wrapper's magic judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import building
import corpus
import logsegment as ls
from logsegment._decode import decoded
from logsegment._options import ReadOptions
from logsegment._validate import validated
from vectors import FRAMES, SETS_0_7, Vector, of, stored, with_lz4_head

#: A first message that is cut ends bytes as it ends a file (L7-13); the reader of fetch responses calls it an invalid size (L7-11).
TORN = ("k07_cut_first",)
#: Classes and wire codes for what 0.7.2 says (L7-7, L7-11a).
ERRORS = {
    "corrupt": (ls.CorruptError, 2),
    "unknown_codec": (ls.UnknownCompressionError, -1),
}


def options_of(vector: Vector, **others: Any) -> ReadOptions:
    return ReadOptions(format="0.7", base_position=vector["initial_offset"], **others)


@of(SETS_0_7)
def test_sets_have_the_messages_that_0_7_gives(vector: Vector):
    """L7-22 to L7-26a: payloads, and the offset that comes with each."""
    expected = vector["expected"]
    rows, error = drained(decoded(bytes.fromhex(vector["data"]), options_of(vector, columns=["offset", "key", "value"])))
    assert rows == [{"offset": row["offset"], "key": None, "value": bytes.fromhex(row["payload"])} for row in expected["deep"]]
    if expected["deep_error"] is None or vector["name"] in TORN:
        assert error is None
        return
    kind, code = ERRORS[expected["deep_error"]["kind"]]
    assert isinstance(error, kind)
    assert error.kafka_error_code == code


@of([vector for vector in SETS_0_7 if vector["expected"]["shallow_error"] is None])
def test_sets_have_the_entries_that_0_7_gives(vector: Vector):
    """L7-26: the position after each outer message."""
    rows = corpus.rows_of(ls.batches(bytes.fromhex(vector["data"]), format="0.7"))
    start = vector["initial_offset"]
    assert [row["position"] + row["size"] + start for row in rows] == [row["offset"] for row in vector["expected"]["shallow"]]
    for row, expected in zip(rows, vector["expected"]["shallow"], strict=True):
        assert {name: row[name] for name in ("magic", "attributes", "compression")} == {
            "magic": expected["magic"],
            "attributes": expected["attributes"] or 0,
            "compression": expected["codec"],
        }
    assert sum(row["size"] for row in rows) == vector["expected"]["valid_bytes"]


@of([vector for vector in SETS_0_7 if "file_iteration" in vector["expected"]])
def test_files_have_the_entries_that_the_file_reader_gives(vector: Vector, tmp_path: Path):
    """L7-13, L7-14: a file may end inside its first message, and recovery keeps what is whole."""
    path = tmp_path / "00000000000000000000.kafka"
    path.write_bytes(bytes.fromhex(vector["data"]))
    rows = corpus.rows_of(ls.batches(ls.FileSource(str(path)), format="0.7"))
    found = [{"offset": row["position"] + row["size"], "crc_ok": row["isValid"]} for row in rows]
    assert found == vector["expected"]["file_iteration"]
    assert sum(row["size"] for row in rows) == vector["expected"]["recovered_size"]


@of(SETS_0_7)
def test_validation_of_0_7_has_an_error_finding_if_and_only_if_decoding_fails(vector: Vector):
    data = bytes.fromhex(vector["data"])
    _, error = drained(decoded(data, options_of(vector)))
    assert validated(data, "full", options_of(vector)).ok == (error is None)


def test_a_cut_first_message_is_a_torn_tail(tmp_path: Path):
    """L7-13: a file that is being written may end inside its first message. Whoever has a fetch response says `strict_tail`."""
    data = building.message_0_7(b"hello")[:-1]
    path = tmp_path / "00000000000000000000.kafka"
    path.write_bytes(data)
    for source in (data, ls.FileSource(str(path))):
        assert corpus.rows_of(ls.decode(source, format="0.7")) == []
        report = ls.validate(source, format="0.7")
        assert [(finding.rule, finding.severity) for finding in report.findings] == [("L8-14", "info")]
        with pytest.raises(ls.TruncatedError):
            ls.decode(source, format="0.7", strict_tail=True).read_all()


def test_attributes_are_a_signed_byte_and_the_unused_bits_change_nothing():
    """L7-4."""
    data = building.message_0_7(b"hello", attributes=-4)
    [row] = corpus.rows_of(ls.decode(data, format="0.7", columns=["value", "attributes", "compression"]))
    assert row == {"value": b"hello", "attributes": -4, "compression": "none"}


@of(FRAMES)
def test_the_magic_of_the_wrapper_judges_the_header_checksum(vector: Vector):
    """COD-L8: any in magic 0, the correct one in magic 1. The content of the frame is the end of the inner message's value."""
    plain = stored(vector["expected"], "plain") if vector["expected"]["plain"] else b"\1"
    inner = building.message(plain, magic=vector["magic"])
    frame = with_lz4_head(inner[: len(inner) - len(plain)], stored(vector, "data"))
    data = building.message(frame, magic=vector["magic"], attributes=building.LZ4)
    rows, error = drained(ls.decode(data, columns=["value"]))
    if vector["expected"]["error"]:
        assert isinstance(error, ls.CodecError)
        assert (error.rule, rows) == ("COD-L8", [])
        return
    assert error is None
    assert rows == [{"value": plain}]


def drained(stream: ls.RecordStream) -> tuple[list[corpus.Row], ls.RecordBatchError | None]:
    """Rows, and what ended them."""
    rows: list[corpus.Row] = []
    try:
        for part in stream:
            rows += corpus.rows_of(part)
    except ls.RecordBatchError as error:
        return rows, error
    return rows, None
