"""Batches that name a plugin, by their bytes (S-P1 to S-P8), without any plugin at hand."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls

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
    stream = ls.decode(data, columns=["value", "compression"], on_error="skip")
    assert corpus.rows_of(stream) == [{"value": b"first", "compression": "none"}, {"value": b"good", "compression": "none"}]
    assert [(finding.rule, finding.severity) for finding in stream.findings] == [("S-P19", "error")]


@pytest.mark.parametrize("depth", ["headers", "metadata", "full"])
def test_validation_tells_it(depth):
    [finding] = ls.validate(packed(2) + GOOD, depth=depth).findings
    assert (finding.rule, finding.severity, finding.position, finding.field) == ("S-P19", "error", 0, "attributes")
    assert "plugin:2" in finding.message


def test_bits_7_and_12_to_15_are_nobodys():
    """S-P1: they are told beside a plugin as beside any codec."""
    assert [finding.rule for finding in ls.validate(packed(3), depth="headers").findings] == ["S-P19"]
    for bit in (0x80, 0x1000, 0x4000):
        found = {finding.rule: finding for finding in ls.validate(packed(3, bit), depth="headers").findings}
        assert found.keys() == {"FND-6", "S-P19"}
        assert f"{bit:#06x}" in found["FND-6"].message
        assert corpus.rows_of(ls.batches(packed(3, bit)))[0]["compression"] == "plugin:3"


def test_a_plugin_id_beside_another_codec_is_ignored_and_told():
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


def test_recovery_believes_a_batch_with_a_plugin():
    """After bytes that are damaged, its checksum is proof enough."""
    stream = ls.decode(b"\x00" * 7 + b"\xff" * 30 + packed() + GOOD, columns=["value"], on_error="skip")
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
    with pytest.raises(ls.UnsupportedError, match="plugin:3 stands in magic 2 only") as raised:
        ls.broker.fetch(packed(), api_version=3)
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P22", 76)
