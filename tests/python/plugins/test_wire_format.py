"""Batches that name a plugin, by their bytes (S-P1 to S-P8), without any plugin at hand."""

from __future__ import annotations

import json
import struct
from typing import Any

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls
from logsegment.plugins import Entry, MemoryRegistry

VECTORS = [v for v in json.loads((corpus.CORPUS / "vectors.json").read_text())["vectors"] if v["unit"] == "plugin"]
GOOD = building.batch(building.record(value=b"good"), count=1, base_offset=1)


def packed(plugin_id: int = 3, attributes: int = 0) -> bytes:
    return building.batch(b"whatever it is", count=1, attributes=plugin_id << 8 | 5 | attributes)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_the_vectors_of_the_proposal(vector):
    """S-P1, S-P2, S-P3."""
    data, expected = bytes.fromhex(vector["data"]), vector["expected"]
    [row] = corpus.rows_of(ls.batches(data))
    assert (row["compression"], row["isValid"]) == (f"plugin:{expected['plugin_id']}", True)
    assert row["attributes"] & 7 == expected["codec_id"]
    assert row["attributes"].to_bytes(2, "big").hex() == expected["attributes"]
    with pytest.raises(ls.UnknownCompressionError, match=expected["without_registry_error"]["message_contains"]) as raised:
        ls.decode(data).read_all()
    assert f"plugin:{expected['plugin_id']}" in str(raised.value)
    corpus.seen_all(VECTORS, 3)


def test_without_a_registry_it_is_an_unsupported_codec():
    """S-P19: Kafka's IllegalArgumentException, an unknown server error on the wire."""
    with pytest.raises(ls.UnsupportedError) as raised:
        ls.decode(packed(9)).read_all()
    error = raised.value
    assert (error.code, error.rule, error.kafka_error_code, error.position) == ("unknown_compression", "S-P19", -1, 0)
    assert "codecs=" in str(error)


def test_the_batches_around_it_are_read():
    data = building.batch(building.record(value=b"first"), count=1) + packed() + GOOD
    stream = ls.decode(data, columns=["value", "compression"], unreadable="skip")
    assert corpus.rows_of(stream) == [{"value": b"first", "compression": "none"}, {"value": b"good", "compression": "none"}]
    assert [(finding.rule, finding.severity) for finding in stream.findings] == [("S-P19", "warning")]


@pytest.mark.parametrize("depth", ["metadata", "full"])
def test_validation_reports_it(depth):
    [finding] = ls.validate(packed(2) + GOOD, depth=depth).findings
    assert (finding.rule, finding.severity, finding.position, finding.field) == ("S-P19", "error", 0, "attributes")
    assert "plugin:2" in finding.message
    report = ls.validate(packed(2) + GOOD, depth=depth)
    assert (report.ok, report.undecompressed, report.to_dict()["undecompressed"]) == (False, report.findings, 1)
    assert repr(report).startswith("Report(not decompressed: 1 error, 0 warning, 0 info, 1 of them without their plugin; ")


def test_headers_need_no_plugin():
    """Framing, headers, counts and checksums are all that this depth looks at."""
    assert ls.validate(packed(2) + GOOD, depth="headers").findings == []
    damaged = bytearray(packed(2))
    damaged[-1] ^= 1
    assert [finding.rule for finding in ls.validate(bytes(damaged), depth="headers").findings] == ["V2-31"]
    assert repr(ls.validate(bytes(damaged))).startswith("Report(damaged: ")


def test_bits_7_and_12_to_15_are_unused():
    """S-P1: they are told beside a plugin as beside any codec."""
    assert ls.validate(packed(3), depth="headers").findings == []
    for bit in (0x80, 0x1000, 0x4000):
        found = {finding.rule: finding for finding in ls.validate(packed(3, bit), depth="headers").findings}
        assert found.keys() == {"FND-6"}
        assert f"{bit:#06x}" in found["FND-6"].message
        assert corpus.rows_of(ls.batches(packed(3, bit)))[0]["compression"] == "plugin:3"


def test_a_plugin_id_next_to_another_codec_is_ignored_and_reported():
    """S-P5."""
    data = building.batch(building.record(value=b"plain"), count=1, attributes=0x0300)
    assert corpus.rows_of(ls.decode(data, columns=["value", "compression"])) == [{"value": b"plain", "compression": "none"}]
    [finding] = ls.validate(data).findings
    assert (finding.rule, finding.severity) == ("FND-6", "warning")


@pytest.mark.parametrize("magic", [0, 1])
def test_before_magic_2_there_are_no_plugins(magic):
    """S-P4."""
    data = building.message(b"packed", magic=magic, attributes=5)
    assert corpus.rows_of(ls.batches(data))[0]["compression"] == "unknown:5"
    with pytest.raises(ls.UnknownCompressionError) as raised:
        ls.decode(data).read_all()
    assert (raised.value.rule, raised.value.kafka_error_code) == ("L8-4", -1)


V3_TABLE = pa.table({"key": [b"k%d" % n for n in range(50)], "value": [b"order %d" % n for n in range(50)], "timestampMs": range(50)})
V3_COLUMNS = ["offset", "key", "value", "timestampMs"]


def known(plugin_id: int, name: str = "Deflate") -> MemoryRegistry:
    return MemoryRegistry([Entry(plugin_id, "alias", f"plugin_codecs:{name}", "v1.0")])


def with_bits(data: bytes, bits: int) -> bytes:
    """These attributes too, and the checksum that the batch has then."""
    body = struct.pack(">H", int.from_bytes(data[21:23], "big") | bits) + data[23:]
    return data[:17] + struct.pack(">I", building.crc32c(body)) + body


@pytest.mark.parametrize("plugin_id", [0, 3, 15])
@pytest.mark.parametrize("metadata_first", [False, True])
def test_magic_3_has_the_id_in_the_same_bits(plugin_id: int, metadata_first: bool):
    """S-P1 to S-P3, beside the bits 7 and 12 that magic 3 has for itself."""
    codecs = known(plugin_id)
    data = ls.encode(V3_TABLE, format="v3", metadata_first=metadata_first, compression="alias", codecs=codecs)
    assert data[16] == 3
    assert int.from_bytes(data[21:23], "big") == plugin_id << 8 | 5 | 0x80 | (0x1000 if metadata_first else 0)
    for options, name in (({}, f"plugin:{plugin_id}"), ({"codecs": codecs}, "alias")):
        assert [row["compression"] for row in corpus.rows_of(ls.batches(data, format="v3", **options))] == [name]
    plain = corpus.rows_of(ls.decode(ls.encode(V3_TABLE), columns=V3_COLUMNS))
    assert corpus.rows_of(ls.decode(data, format="v3", columns=V3_COLUMNS, codecs=codecs)) == plain
    assert rules(data, codecs=codecs) == {"EXPERIMENTAL": "info"}
    assert rules(data) == {"EXPERIMENTAL": "info", "S-P19": "error"}
    with pytest.raises(ls.UnknownCompressionError, match=f"plugin:{plugin_id}") as raised:
        ls.decode(data, format="v3").read_all()
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P19", -1)
    down = ls.convert(data, format="v3", codecs=codecs).data
    assert (down[16], int.from_bytes(down[21:23], "big")) == (2, plugin_id << 8 | 5), "and stands in magic 2 as it was"
    assert corpus.rows_of(ls.decode(down, columns=V3_COLUMNS, codecs=codecs)) == plain
    assert ls.convert(down, to="v3", metadata_first=metadata_first, codecs=codecs).data == data


def rules(data: bytes, **options: Any) -> dict[str, str]:
    """The findings of magic 3: severities by rule."""
    return {finding.rule: finding.severity for finding in ls.validate(data, format="v3", **options).findings}


def test_stray_bits_of_magic_3():
    """S-P1, S-P5: 13 to 15 are nobody's, and 8 to 11 no plugin's without one."""
    packed_v3 = ls.encode(V3_TABLE, format="v3", compression="alias", codecs=known(3))
    for bit in (0x2000, 0x4000, 0x8000):
        found = {finding.rule: finding for finding in ls.validate(with_bits(packed_v3, bit), format="v3", codecs=known(3)).findings}
        assert found.keys() == {"EXPERIMENTAL", "FND-6"}
        assert f"{bit:#06x}" in found["FND-6"].message
    stray = with_bits(ls.encode(V3_TABLE, format="v3"), 0x0300)
    assert corpus.rows_of(ls.batches(stray, format="v3"))[0]["compression"] == "none"
    assert rules(stray) == {"EXPERIMENTAL": "info", "FND-6": "warning"}


@pytest.mark.parametrize("metadata_first", [False, True])
@pytest.mark.parametrize("name", ["Raising", "TooLittle", "Garbage"])
def test_a_plugin_at_fault_in_magic_3_is_named_and_the_next_batch_is_read(name: str, metadata_first: bool):
    """S-P6."""
    codecs, writers = known(3, name), known(3, "Identity")
    bad = ls.encode(V3_TABLE, format="v3", metadata_first=metadata_first, compression="alias", codecs=writers)
    good = ls.encode(pa.table({"value": [b"good"]}), format="v3", base_offset=50)
    stream = ls.decode(bad + good, format="v3", columns=["value"], codecs=codecs, on_error="skip")
    assert corpus.rows_of(stream) == [{"value": b"good"}]
    assert [finding.rule for finding in stream.findings if finding.severity == "error"] == ["S-P6"]
    for options in ({"to": "v3", "compression": "gzip"}, {"to": "v2", "compression": "gzip"}, {"to": "v2", "compression": "none"}):
        with pytest.raises(ls.CodecError, match=f'"alias" .id 3, class plugin_codecs:{name}') as raised:
            ls.convert(bad, format="v3", codecs=codecs, **options)
        assert raised.value.rule == "S-P6"


def test_recovery_believes_a_batch_with_a_plugin():
    """After bytes that are damaged, its checksum is proof enough."""
    stream = ls.decode(b"\x00" * 7 + b"\xff" * 30 + packed() + GOOD, columns=["value"], on_error="skip", unreadable="skip")
    assert corpus.rows_of(stream) == [{"value": b"good"}]
    assert [finding.rule for finding in stream.findings][-1] == "S-P19"


def test_the_column_of_records_and_arrays_say_it_too():
    info = pa.array(ls.batch_info_array(pa.array([packed(15), GOOD])))
    assert [row["compression"] for row in info.to_pylist()] == ["plugin:15", "none"]
    assert [row["ok"] for row in pa.array(ls.validate_array(pa.array([packed(), GOOD]))).to_pylist()] == [False, True]


def test_a_batch_with_a_plugin_is_copied_by_a_conversion_that_need_not_look_into_it():
    data = packed() + GOOD
    assert ls.convert(data).data == data


@pytest.mark.parametrize("to", ["v1", "v0", "0.7"])
def test_it_stops_a_conversion_down(to):
    """S-P22: as zstd does, with 76."""
    converted = ls.convert(GOOD + packed(), to=to, allow_loss=True)
    stopped = converted.stopped_at
    assert stopped is not None
    assert (stopped.position, stopped.compression, stopped.error.code) == (len(GOOD), "plugin:3", 76)
    with pytest.raises(ls.UnsupportedError, match="plugin:3") as raised:
        ls.convert_array(pa.array([packed()]), to=to)
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P22", 76)


def test_an_old_fetch_of_it_is_refused():
    """S-P22."""
    assert ls.broker.fetch(packed(), api_version=10) == packed()
    with pytest.raises(ls.UnsupportedError, match="plugin:3 exists in magic 2 only") as raised:
        ls.broker.fetch(packed(), api_version=3)
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P22", 76)
