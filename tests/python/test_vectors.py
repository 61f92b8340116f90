"""Vectors from the unit tests of Kafka and its clients, and from real code run on purpose, give what that code gave.

Every vector of the file is used by a test below; `test_every_vector_is_used` counts them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

import building
import corpus
import logsegment as ls
from vectors import (
    CONVERTED,
    ENTRIES,
    FORMATS,
    FRAMES,
    KEYS,
    OUTPUTS,
    PAYLOADS,
    PLUGINS,
    PROPOSALS,
    REFUSED,
    SETS_0_7,
    TABLES,
    VALUES,
    VECTORS,
    Vector,
    of,
    stored,
    with_lz4_head,
)

RECORD_COLUMNS = ["offset", "timestampMs", "sequence", "key", "value", "headersRaw"]

CODECS = {"gzip": building.GZIP, "snappy": building.SNAPPY, "lz4": building.LZ4, "zstd": building.ZSTD}
#: What Kafka's kinds of errors are here.
ERRORS = {
    "corrupt": ls.CorruptError,
    "invalid_record": (ls.CorruptError, ls.InvalidError),
    "unknown_codec": ls.UnknownCompressionError,
    "decompress": ls.CodecError,
}
#: Kafka's wire error for each kind.
WIRE_CODES = {"corrupt": 2, "invalid_record": 87, "unknown_codec": -1, "decompress": -1}
#: Vectors whose end Kafka's buffer reader calls corrupt and we do not, and why.
LENIENT_ENDS = {"edge_zero_tail": "FND-17"}
#: Vectors that Java reads and we refuse, with the rule that refuses it.
STRICTER = {
    # Java's reader for tools does not look at the checksums of inner messages; its consumer does (L8-19).
    "edge_v1_inner_bad_crc": "L8-2",
    # Java's test of the size is the one of magic 0.
    "edge_v1_size_14_good_crc": "L8-18",
}
#: The batch columns, as the vectors name them.
NAMES = {
    "magic": "magic",
    "size": "size",
    "valid": "isValid",
    "codec": "compression",
    "base_offset": "baseOffset",
    "last_offset": "lastOffset",
    "count": "count",
    "timestamp_type": "timestampType",
    "max_timestamp": "maxTimestamp",
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "base_sequence": "baseSequence",
    "last_sequence": "lastSequence",
    "leader_epoch": "partitionLeaderEpoch",
    "transactional": "isTransactional",
    "control": "isControl",
    "delete_horizon_ms": "deleteHorizonMs",
}


def test_every_vector_is_used():
    used = [
        *ENTRIES,
        *OUTPUTS,
        *CONVERTED,
        *REFUSED,
        *PAYLOADS,
        *FRAMES,
        *SETS_0_7,
        *KEYS,
        *VALUES,
        *TABLES,
        *FORMATS,
        *PROPOSALS,
        *PLUGINS,
    ]
    assert {vector["name"] for vector in used} == {vector["name"] for vector in VECTORS}
    corpus.seen_all({vector["name"] for vector in VECTORS}, json.loads((corpus.CORPUS / "vectors.json").read_text())["count"])
    corpus.seen_all(VECTORS, 393)
    corpus.seen_all(PROPOSALS, 14)
    corpus.seen_all(ENTRIES, 168)
    corpus.seen_all(OUTPUTS, 83)
    corpus.seen_all(SETS_0_7, 21)
    corpus.seen_all(PAYLOADS, 59)


@of(ENTRIES + OUTPUTS)
def test_entries_have_the_batches_of_the_vector(vector: Vector):
    """V2-1 to V2-16, L8-10 to L8-15."""
    expected = vector["expected"]
    table = ls.batches(bytes.fromhex(vector["data"]), on_error="skip")
    rows = corpus.rows_of(table)
    wanted = [{NAMES[name]: entry[name] for name in NAMES if entry.get(name) is not None} for entry in expected["batches"]]
    if STRICTER.get(vector["name"]) == "L8-18":
        assert (rows, table.findings[0].rule) == ([], "L8-18")
        return
    assert [{name: row[name] for name in want} for row, want in zip(rows, wanted, strict=True)] == wanted
    assert sum(row["size"] for row in rows) == expected["valid_bytes"]


@of(ENTRIES + OUTPUTS)
def test_entries_have_the_records_of_the_vector(vector: Vector):
    """L8-5 to L8-34, V2-11 to V2-21, V2-30 to V2-46: records, or the kind of error."""
    rows, error = decode(bytes.fromhex(vector["data"]))
    if vector["name"] in STRICTER:
        assert (rows, error and error.rule, error and error.kafka_error_code) == ([], STRICTER[vector["name"]], 2)
        return
    kind = first_error(vector)
    assert rows == [record_of(row) for entry in readable(vector) for row in entry["records"]]
    if kind is None:
        assert error is None
    else:
        assert isinstance(error, ERRORS[kind])
        assert error.kafka_error_code == WIRE_CODES[kind]


@of([vector for vector in ENTRIES if any("invalid" in entry for entry in vector["expected"]["batches"])])
def test_records_of_batches_with_a_wrong_checksum_can_be_had(vector: Vector):
    """V2-31: without `check_crc`."""
    rows, error = decode(bytes.fromhex(vector["data"]), check_crc=False)
    assert error is None
    assert rows == [record_of(row) for entry in vector["expected"]["batches"] for row in entry["records"]]


@of(ENTRIES + OUTPUTS)
def test_validation_has_an_error_finding_if_and_only_if_decoding_fails(vector: Vector):
    data = bytes.fromhex(vector["data"])
    assert ls.validate(data).ok == (decode(data)[1] is None)


@of([vector for vector in ENTRIES if "report" in vector.get("note", "")])
def test_what_java_passes_over_in_silence_is_a_finding(vector: Vector):
    """FND-1, FND-2, FND-10, FND-13: the note of the vector asks for one."""
    rules = {finding.rule for finding in ls.validate(bytes.fromhex(vector["data"])).findings}
    assert rules & {"FND-1", "FND-2", "FND-10", "FND-13"}


@of([vector for vector in ENTRIES if vector["name"] in LENIENT_ENDS])
def test_ends_that_only_a_buffer_reader_calls_corrupt_are_reported(vector: Vector):
    findings = ls.validate(bytes.fromhex(vector["data"])).findings
    assert [(finding.rule, finding.severity) for finding in findings] == [(LENIENT_ENDS[vector["name"]], "info")]


@of(CONVERTED)
def test_inputs_of_conversions_hold_what_their_output_holds(vector: Vector):
    """CNV-4, CNV-12: converting keeps offset, key and value of every record; control batches go (CNV-1)."""
    rows, error = decode(bytes.fromhex(vector["data"]), control=False)
    assert error is None
    assert rows
    first = vector["operation"]["first_offset"]
    is_produced = vector["unit"] == "produce"
    outputs = [record_of(row) for entry in vector["expected"]["decoded"]["batches"] for row in entry["records"]]
    kept = [row for row in outputs if is_produced or row["offset"] >= first]
    read = [row for row in rows if is_produced or row["offset"] >= first]
    assert [(row["key"], row["value"]) for row in kept] == [(row["key"], row["value"]) for row in read]
    assert is_produced or [row["offset"] for row in kept] == [row["offset"] for row in read]


@of(REFUSED)
def test_what_a_broker_refuses_may_be_readable(vector: Vector):
    """VAL-3 to VAL-15 and CNV-2 are rules for writers; a batch that breaks only those is read."""
    data = bytes.fromhex(vector["data"])
    rows, error = decode(data)
    is_wrong = vector["name"] in MISCOUNTED
    assert (error is not None) == is_wrong
    assert ls.validate(data).ok != is_wrong
    assert bool(rows) == (not is_wrong and vector["name"] != "golden_produce_lod_2_count_0")


#: Produce requests whose count is not that of their records.
MISCOUNTED = {"golden_produce_lod_2_count_6", "golden_produce_lod_5_count_6", "golden_produce_lod_m3_count_m2"}


@of(PAYLOADS)
def test_payloads_unpack_to_the_length_of_the_vector_or_fail(vector: Vector):
    """COD-G, COD-S, COD-L, COD-Z: the bytes are counted, whether they are a record or not."""
    data = building.batch(stored(vector, "data"), count=1, attributes=CODECS[vector["codec"]])
    report = ls.validate(data)
    if vector["expected"]["error"]:
        assert [finding.rule.split("-")[0] for finding in report.findings] == ["COD"]
        _, error = decode(data)
        assert isinstance(error, ls.CodecError)
        assert error.kafka_error_code == -1
        return
    assert not [finding.rule for finding in report.findings if finding.severity == "error" and finding.rule.startswith("COD")]
    assert report.io_stats["bytes_inflated"] == len(stored(vector["expected"], "plain"))


@of(PAYLOADS)
def test_a_batch_that_counts_no_records_is_not_decompressed(vector: Vector):
    """V2-10: whatever its bytes are, Kafka gives no records; they are a warning."""
    data = building.batch(stored(vector, "data"), count=0, attributes=CODECS[vector["codec"]])
    rows, error = decode(data)
    report = ls.validate(data)
    assert (rows, error, report.ok, report.io_stats["bytes_inflated"]) == ([], None, True, 0)
    expected = [("FND-1", "warning")] if stored(vector, "data") else []
    assert [(finding.rule, finding.severity) for finding in report.findings] == expected
    assert ls.validate(data, depth="headers").ok
    assert ls.convert(data, to="v2", compression="gzip").data == data
    assert ls.inspect(data).ok


@of([vector for vector in PAYLOADS if not vector["expected"]["error"]])
def test_payloads_unpack_to_the_content_of_the_vector(vector: Vector):
    """COD-G, COD-S, COD-L, COD-Z: behind the head of a record the content is the value of its last header."""
    plain = stored(vector["expected"], "plain")
    whole = building.record(None, None, [(b"", plain)])
    payload = WITH_HEAD[vector["codec"]](whole[: len(whole) - len(plain)], stored(vector, "data"))
    rows, error = decode(building.batch(payload, count=1, attributes=CODECS[vector["codec"]]))
    assert error is None
    assert rows[0]["headersRaw"] == [(b"", corpus.normalise(plain))]


@of([vector for vector in PAYLOADS if "strict mode reports" in vector.get("note", "")])
def test_leftovers_that_java_passes_over_are_findings(vector: Vector):
    """FND-8."""
    report = ls.validate(building.batch(stored(vector, "data"), count=1, attributes=CODECS[vector["codec"]]))
    assert "FND-8" in {finding.rule for finding in report.findings}


@of(KEYS)
def test_control_keys_have_the_type_of_the_vector(vector: Vector):
    """CTL-2, CTL-3: version above 0 is read as 0, an unknown type never fails, a short key or a negative version does."""
    content = building.record(bytes.fromhex(vector["data"]), bytes(6))
    data = building.batch(content, count=1, attributes=building.CONTROL)
    stream = ls.decode(data, columns=["controlType"], control=True)
    expected = vector["expected"]
    if "error" in expected:
        with pytest.raises((ls.InvalidError, ls.CorruptError), match=r"CTL-2|V2-47") as raised:
            stream.read_all()
        assert raised.value.kafka_error_code == WIRE_CODES[expected["error"]["kind"]]
        return
    [row] = corpus.rows_of(stream)
    assert row["controlType"] == expected["type"]


@of(VALUES)
def test_values_of_markers_that_hold_no_epoch_are_findings(vector: Vector):
    """CTL-4: the marker is delivered as its bytes; Kafka's iteration does not look into it either."""
    value = bytes.fromhex(vector["data"])
    content = building.record(bytes(4), value)
    attributes = building.CONTROL | building.TRANSACTIONAL
    data = building.batch(content, count=1, attributes=attributes, producer_id=7, producer_epoch=0)
    rows, error = decode(data)
    assert error is None
    assert rows[0]["value"] == value
    # The transaction itself is not there (TRX-1).
    findings = [finding for finding in ls.validate(data).findings if finding.rule != "TRX-1"]
    assert len(findings) == ("error" in vector["expected"])
    assert {finding.severity for finding in findings} <= {"warning"}


@of(TABLES)
def test_integers_are_those_of_the_table(vector: Vector):
    """PRM-1, PRM-2, PRM-6: as timestamp deltas (64 bits), and as offset deltas where they fit 32 bits."""
    for encoded, number in vector["table"]:
        content = building.record(timestamp_delta=bytes.fromhex(encoded))
        assert number_of(content, "timestampMs") == number
        if -(2**31) <= number < 2**31:
            content = building.record(offset_delta=bytes.fromhex(encoded))
            assert number_of(content, "offset") - (1 << 40) == number


@of(PLUGINS)
def test_batches_of_plugins_say_which_one(vector: Vector):
    """S-P1 to S-P3; what is behind them stands in plugins/test_wire_format.py."""
    [row] = corpus.rows_of(ls.batches(bytes.fromhex(vector["data"])))
    assert (row["compression"], row["isValid"]) == (f"plugin:{vector['expected']['plugin_id']}", True)


@of(PROPOSALS)
def test_the_proposal_v3_is_what_its_reference_wrote_and_comes_back_identical(vector: Vector):
    """S-V34, S-C1 to S-C3, S-H1; the switch is in test_v3.py."""
    data, expected = bytes.fromhex(vector["data"]), vector["expected"]
    made = ls.convert(data, to="v3", metadata_first=vector["operation"]["headers_first"]).data
    assert made == bytes.fromhex(expected["output"])
    assert len(data) - len(made) == expected["bytes_saved"]
    back = ls.convert(made, format="v3").data
    assert (back == data) is expected["back_to_v2_identical"]
    assert corpus.rows_of(ls.decode(made, format="v3", columns=RECORD_COLUMNS)) == corpus.rows_of(ls.decode(data, columns=RECORD_COLUMNS))


@of(FORMATS)
def test_entries_of_other_formats_are_refused_by_name(vector: Vector):
    """MAP-3: magic 3 is a proposal. V2-30: a legacy message that says magic 2 is a batch that is too short."""
    data = bytes.fromhex(vector["data"])
    if vector["format"] == "v3":
        with pytest.raises(ls.UnsupportedError, match="magic 3"):
            ls.decode(data).read_all()
        return
    with pytest.raises(ls.CorruptError) as raised:
        ls.decode(bytes(8) + len(data).to_bytes(4, "big") + data).read_all()
    assert (raised.value.rule, raised.value.kafka_error_code) == ("V2-30", 2)


def number_of(content: bytes, column: str) -> int:
    data = building.batch(content, count=1, base_offset=1 << 40)
    [row] = corpus.rows_of(ls.decode(data, columns=[column]))
    return row[column]


def decode(data: bytes, **options: Any) -> tuple[list[corpus.Row], ls.RecordBatchError | None]:
    """Record rows, and what ended them."""
    rows: list[corpus.Row] = []
    try:
        for part in ls.decode(data, columns=RECORD_COLUMNS, **{"control": True, **options}):
            rows += corpus.rows_of(part)
    except ls.RecordBatchError as error:
        return rows, error
    return rows, None


def first_error(vector: Vector) -> str | None:
    """The kind of error that ends reading: of the first bad batch, else of the end."""
    if vector["name"] in LENIENT_ENDS:
        return None
    errors = [fault for entry in vector["expected"]["batches"] for fault in faults(entry)]
    first = [*errors, vector["expected"]["error"]][0]
    return first and first["kind"]


def faults(entry: Vector) -> Iterator[Vector]:
    yield from (entry[stage] for stage in ("invalid", "records_error") if entry.get(stage))


def readable(vector: Vector) -> list[Vector]:
    """The batches before the first bad one."""
    good = []
    for entry in vector["expected"]["batches"]:
        if any(faults(entry)):
            break
        good.append(entry)
    return good


def record_of(row: Vector) -> corpus.Row:
    return {
        "offset": row["offset"],
        "timestampMs": row["timestamp"],
        "sequence": row["sequence"],
        "key": unhexed(row["key"]),
        "value": unhexed(row["value"]),
        "headersRaw": [(unhexed(key), unhexed(value)) for key, value in row["headers"]],
    }


def unhexed(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def zstd_frame(plain: bytes) -> bytes:
    """One raw block in a single segment, its size in one byte."""
    return bytes.fromhex("28b52ffd20") + bytes([len(plain)]) + (len(plain) << 3 | 1).to_bytes(3, "little") + plain


def snappy_literal(plain: bytes) -> bytes:
    return bytes([(len(plain) - 1) << 2]) + plain


def with_snappy_head(head: bytes, payload: bytes) -> bytes:
    """A chunk before the chunks, or a literal before the elements of a raw block."""
    if payload.startswith(b"\x82SNAPPY\0"):
        block = bytes([len(head)]) + snappy_literal(head)
        return payload[:16] + len(block).to_bytes(4, "big") + block + payload[16:]
    return bytes([payload[0] + len(head)]) + snappy_literal(head) + payload[1:]


WITH_HEAD = {
    "gzip": lambda head, payload: gzip.compress(head) + payload,
    "zstd": lambda head, payload: zstd_frame(head) + payload,
    "snappy": with_snappy_head,
    "lz4": with_lz4_head,
}
