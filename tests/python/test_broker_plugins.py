"""Plugin codecs in the broker: it asks for Java entries and decompresses with the local codec of the same alias."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from corpus import rows_of
from logsegment.plugins import Entry, FileRegistry, MemoryRegistry, Plugin
from logsegment.plugins.catalog import Change
from logsegment.plugins.file_registry import FileStore
from plugin_codecs import Deflate, Identity, calls

TABLE = pa.table({"key": [b"k"] * 50, "value": [b"value %d" % number for number in range(50)], "timestampMs": list(range(50))})
CODE = {"deflate": Deflate, "same": Identity}


def entry(plugin_id: int, alias: str, class_name: str) -> Entry:
    return Entry(plugin_id, alias, class_name, "v1.0")


@pytest.fixture
def registry(tmp_path: Path) -> FileRegistry:
    """`deflate` has id 0, `same` id 1; only Java knows `java-only` (id 2), only Python `python-only` (id 3)."""
    registry = FileRegistry(tmp_path / "plugins.json", allow=["plugin_codecs"])
    classes = {alias: {"java": f"org.example.{alias}", "python": f"plugin_codecs:{item.__name__}"} for alias, item in CODE.items()}
    registry.register([Plugin(alias, names, "v1.0") for alias, names in classes.items()])
    alone = [("java", entry(2, "java-only", "org.example.Alone")), ("python", entry(3, "python-only", "plugin_codecs:Deflate"))]
    registry.change(lambda catalog: [Change(language, plugin.alias, plugin) for language, plugin in alone])
    return registry


def packed(registry: Any, alias: str = "deflate") -> bytes:
    return ls.encode(TABLE, compression=alias, codecs=registry)


def by_hand(plugin_id: int, registry: Any) -> bytes:
    """A batch of `deflate` that names another id."""
    data = ls.encode(TABLE, compression="renamed", codecs=MemoryRegistry([entry(plugin_id, "renamed", "plugin_codecs:Deflate")]))
    assert data[61:] == packed(registry)[61:]
    return data


@pytest.mark.parametrize("language", ["python", "java", "go"])
def test_s_p18_ids_are_those_of_java_and_the_code_is_pythons(registry: FileRegistry, language: str):
    """Whatever language the registry was opened for; offsets are looked at, the batch stays packed."""
    data = packed(registry)
    calls.clear()
    appended = ls.broker.append(
        data, first_offset=70, partition_leader_epoch=2, codecs=FileRegistry(registry.path, language, allow=registry.allow)
    )
    assert [call[0] for call in calls] == ["decompress"]
    assert (appended.first_offset, appended.last_offset, appended.max_timestamp) == (70, 119, 49)
    assert appended.data[16:] == data[16:]
    rows = rows_of(ls.decode(appended.data, columns=["offset", "value", "compression"], codecs=registry))
    assert [(row["offset"], row["compression"]) for row in rows] == [(70 + number, "deflate") for number in range(50)]


def test_s_p18_records_of_a_plugin_are_held_against_the_rules(registry: FileRegistry):
    with pytest.raises(ls.InvalidError) as caught:
        ls.broker.append(packed(registry), first_offset=0, now=40, after_max_ms=7, codecs=registry)
    assert (caught.value.rule, caught.value.kafka_error_code, caught.value.record_indexes) == ("VAL-14", 32, [48, 49])


@pytest.mark.parametrize("plugin_id", [3, 9])
def test_s_p18_an_id_that_java_does_not_know_is_refused(registry: FileRegistry, plugin_id: int):
    """Also one that Python knows: its clients could write what no broker reads."""
    data = by_hand(plugin_id, registry)
    if plugin_id == 3:
        assert ls.decode(data, codecs=registry).read_all().num_rows == 50
    with pytest.raises(ls.UnknownCompressionError, match=f"Unknown compression name: plugin:{plugin_id} .*java") as caught:
        ls.broker.append(data, first_offset=0, codecs=registry)
    assert (caught.value.rule, caught.value.kafka_error_code) == ("S-P18", -1)
    with pytest.raises(ls.UnknownCompressionError, match="give codecs=") as caught:
        ls.broker.append(data, first_offset=0)
    assert (caught.value.rule, caught.value.kafka_error_code) == ("S-P18", -1)


def test_s_p20_an_id_that_java_alone_knows_has_no_code_here(registry: FileRegistry):
    told = r'"java-only" \(id 2, class org\.example\.Alone.*plugin-python-topic has no entry'
    with pytest.raises(ls.UnsupportedError, match=told) as caught:
        ls.broker.append(by_hand(2, registry), first_offset=0, codecs=registry)
    assert (caught.value.rule, caught.value.kafka_error_code) == ("S-P20", 76)
    with pytest.raises(ls.UnsupportedError, match="java-only"):
        ls.broker.append(packed(registry), first_offset=0, compression="java-only", codecs=registry)


def test_s_p13_an_alias_with_two_ids_is_no_plugin_of_both(registry: FileRegistry):
    data = packed(registry)
    registry.change(lambda catalog: [Change("java", "deflate", entry(7, "deflate", "org.example.deflate"))])
    with pytest.raises(ls.UnsupportedError, match="plugin-python-topic gives it the id 0"):
        ls.broker.append(by_hand(7, registry), first_offset=0, codecs=registry)
    with pytest.raises(ls.UnknownCompressionError, match="plugin:0"):
        ls.broker.append(data, first_offset=0, codecs=registry)


@pytest.mark.parametrize("source", ["none", "zstd", "same", "deflate"])
@pytest.mark.parametrize("target", ["deflate", "same", "gzip", "producer"])
def test_s_p21_the_topics_codec_is_an_alias(registry: FileRegistry, source: str, target: str):
    data = packed(registry, source)
    appended = ls.broker.append(data, first_offset=5, compression=target, codecs=registry)
    header = rows_of(ls.batches(appended.data, codecs=registry))[0]
    assert (header["compression"], header["baseOffset"]) == (source if target == "producer" else target, 5)
    columns = ["key", "value", "timestampMs"]
    assert rows_of(ls.decode(appended.data, columns=columns, codecs=registry)) == rows_of(ls.decode(data, columns=columns, codecs=registry))
    if source == header["compression"]:
        assert appended.data[16:] == data[16:], "in place (VAL-18)"


def test_s_p21_an_alias_that_java_does_not_know_is_none(registry: FileRegistry):
    for alias in ("nobody", "python-only"):
        with pytest.raises(ls.UnknownCompressionError, match=f"Unknown compression name: {alias}"):
            ls.broker.append(packed(registry), first_offset=0, compression=alias, codecs=registry)


@pytest.mark.parametrize("to", ["v0", "v1"])
def test_s_p22_below_magic_2_another_codec_is_needed(registry: FileRegistry, to: str):
    data = packed(registry)
    for plain, codec in ((data, "producer"), (data, "same"), (packed(registry, "gzip"), "deflate")):
        with pytest.raises(ls.UnsupportedError, match="exists in magic 2 only") as caught:
            ls.broker.append(plain, first_offset=0, to=to, compression=codec, codecs=registry)
        assert (caught.value.rule, caught.value.kafka_error_code) == ("S-P22", 76)
    appended = ls.broker.append(data, first_offset=8, to=to, compression="gzip", codecs=registry)
    rows = rows_of(ls.decode(appended.data, columns=["offset", "value", "compression"]))
    assert [(row["offset"], row["compression"]) for row in rows] == [(8 + number, "gzip") for number in range(50)]


def test_s_p22_a_fetch_that_is_too_old_for_the_topics_plugin(registry: FileRegistry):
    plain = ls.encode(TABLE)
    for version in (0, 3):
        with pytest.raises(ls.UnsupportedError, match="plugin:0 exists in magic 2 only") as caught:
            ls.broker.fetch(plain, api_version=version, topic_compression="deflate", codecs=registry)
        assert (caught.value.rule, caught.value.kafka_error_code) == ("S-P22", 76)
    data = packed(registry)
    for version in (4, 9, 17):
        assert ls.broker.fetch(data, api_version=version, topic_compression="deflate", codecs=registry) == data
    with pytest.raises(ls.UnknownCompressionError):
        ls.broker.fetch(data, api_version=9, topic_compression="python-only", codecs=registry)


def test_s_p22_a_fetch_stops_before_a_plugin_as_before_zstd(registry: FileRegistry):
    """CNV-14: what comes before is converted, then comes an entry that no consumer takes."""
    stored = ls.encode(TABLE) + ls.convert(ls.broker.append(packed(registry), first_offset=50, codecs=registry).data).data
    sent = ls.broker.fetch(stored, api_version=3)
    rows = rows_of(ls.decode(sent, columns=["offset", "magic"]))
    assert [(row["offset"], row["magic"]) for row in rows] == [(number, 1) for number in range(50)]
    assert len(sent) >= len(stored)


def test_a_registry_of_one_language_is_taken_for_both():
    registry = MemoryRegistry([entry(4, "deflate", "plugin_codecs:Deflate")])
    data = packed(registry)
    assert ls.broker.append(data, first_offset=0, codecs=registry).data == data
    with pytest.raises(ls.UnknownCompressionError):
        ls.broker.append(data, first_offset=0, codecs=MemoryRegistry())
    with pytest.raises(TypeError, match="codecs must be a registry"):
        ls.broker.append(data, first_offset=0, codecs={})


def test_what_java_has_is_read_once_and_again_after_a_change(registry: FileRegistry, monkeypatch: pytest.MonkeyPatch):
    data, reads = packed(registry), []
    read = FileStore.read
    monkeypatch.setattr(FileStore, "read", lambda self, language: reads.append(language) or read(self, language))
    for _ in range(5):
        ls.broker.append(data, first_offset=0, codecs=registry)
    assert reads == ["java"], "Python's entries are known since they were written"
    travelled = pickle.loads(pickle.dumps(registry))
    ls.broker.append(data, first_offset=0, codecs=travelled)
    assert reads == ["java"]
    registry.remove(["deflate"])
    with pytest.raises(ls.UnknownCompressionError):
        ls.broker.append(data, first_offset=0, codecs=registry)
    with pytest.raises(ValueError, match="language 'JAVA'"):
        registry.in_language("JAVA")
