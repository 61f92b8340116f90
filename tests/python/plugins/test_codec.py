"""Plugins of Python: what is written with one is read with it, and what one does wrong (S-P6, S-P17 to S-P22)."""

from __future__ import annotations

import asyncio
import gc
import pickle
import signal
import threading
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls
import plugin_codecs
from logsegment.plugins import Entry, FileRegistry, MemoryRegistry, RegistryError
from plugin_codecs import Deflate, Identity, Incomplete, Keeping, Shaped, Unmakeable, registry
from slow import slow_after

TABLE = pa.table(
    {
        "key": [b"k%d" % (number % 7) for number in range(500)],
        "value": [b"order %d of customer %d" % (number, number % 13) for number in range(500)],
        "timestampMs": list(range(500)),
    }
)
COLUMNS = ["offset", "key", "value", "timestampMs"]
GOOD = building.batch(building.record(value=b"good"), count=1, base_offset=1)
DEFLATE = registry(deflate=Deflate)


@pytest.fixture(autouse=True)
def forget_calls():
    plugin_codecs.calls.clear()
    plugin_codecs.kept.clear()


def rows(data: bytes, **options) -> list[corpus.Row]:
    return corpus.rows_of(ls.decode(data, columns=COLUMNS, **options))


PLAIN = rows(ls.encode(TABLE, batch_bytes=4096))


def shaped(shape, **options) -> tuple[bytes, MemoryRegistry]:
    """A batch of a plugin whose bytes it gives as `shape` makes them, and its registry."""

    class Own(Shaped):
        pass

    Own.shape = staticmethod(shape)
    plugin_codecs.Own = Own  # type: ignore[attr-defined]
    Own.__qualname__ = "Own"
    from logsegment.plugins.loading import load

    load.cache_clear()
    data = building.batch(building.record(value=b"packed"), count=1, attributes=0x0305)
    return data, registry(own=Own)


@pytest.mark.parametrize("codec", slow_after(1, [Deflate, Identity, Keeping]))
@pytest.mark.parametrize("binary", ["binary", "large_binary", "binary_view"])
def test_what_a_plugin_packs_it_unpacks(codec, binary):
    """S-P6, for columns that copy and for those that point into what the plugin gave."""
    codecs = registry(other=Deflate, own=codec)
    data = ls.encode(TABLE, compression="own", batch_bytes=4096, codecs=codecs)
    table = ls.decode(data, columns=COLUMNS, binary=binary, codecs=codecs).to_pyarrow()
    gc.collect()
    assert table.select(COLUMNS).to_pylist() == PLAIN
    assert {row["compression"] for row in corpus.rows_of(ls.batches(data, codecs=codecs))} == {"own"}
    assert {row["compression"] for row in corpus.rows_of(ls.batches(data))} == {"plugin:4"}
    assert {row["attributes"] for row in corpus.rows_of(ls.batches(data))} == {0x0405}
    assert ls.validate(data, codecs=codecs).findings == []


def test_it_is_called_once_for_a_batch_with_a_view_and_the_limit():
    data = ls.encode(TABLE, compression="deflate", level=1, batch_bytes=4096, codecs=DEFLATE)
    batches = corpus.rows_of(ls.batches(data))
    packs = [call for call in plugin_codecs.calls if call[0] == "compress"]
    assert len(packs) == len(batches) > 1
    assert {(kind, level) for _, kind, _, level in packs} == {(memoryview, 1)}
    plugin_codecs.calls.clear()
    assert rows(data, codecs=DEFLATE, limits=ls.Limits(max_decompressed_bytes=1 << 20)) == PLAIN
    assert [call[2] for call in plugin_codecs.calls] == [row["size"] - 61 for row in batches]
    assert {(name, kind, most) for name, kind, _, most in plugin_codecs.calls} == {("decompress", memoryview, 1 << 20)}


def test_the_bytes_are_lent_and_not_copied():
    """The view of a batch in a read-only buffer points into that buffer, and keeps it when it is kept."""
    codecs = registry(own=Keeping)
    data = ls.encode(TABLE, compression="own", codecs=codecs)
    plugin_codecs.kept.clear()
    assert rows(data, codecs=codecs) == PLAIN
    view = plugin_codecs.kept[0]
    assert view.readonly
    start = np.frombuffer(data, dtype=np.uint8).ctypes.data
    assert start + 62 == np.frombuffer(view, dtype=np.uint8).ctypes.data
    with pytest.raises(TypeError):
        view[0] = 1
    expected = bytes(data[62 : 62 + len(view)])
    del data
    gc.collect()
    assert bytes(view) == expected


def test_views_of_records_that_are_kept_stay_what_they_are():
    """What `compress` was shown is storage of the encoder, which it does not use again while somebody looks at it."""
    codecs = registry(own=Keeping)
    data = ls.encode(TABLE, compression="own", batch_bytes=2048, codecs=codecs)
    shown = b"".join(plugin_codecs.kept)
    assert len(plugin_codecs.kept) > 3
    assert ls.encode(TABLE, compression="none", batch_bytes=2048)
    assert shown == b"".join(plugin_codecs.kept)
    assert ls.convert(data, compression="none", codecs=codecs).data.count(shown[:100]) == 1


@pytest.mark.parametrize("shape", [bytes, bytearray, memoryview, lambda plain: np.frombuffer(plain, dtype=np.uint8), pa.py_buffer])
def test_any_buffer_is_taken(shape):
    data, codecs = shaped(shape)
    [row] = rows(data + GOOD, codecs=codecs, end_offset=1)
    assert row["value"] == b"packed"
    assert ls.decode(ls.encode(TABLE, compression="own", codecs=codecs), codecs=codecs).read_all().num_rows == 500


@pytest.mark.parametrize("binary", ["binary", "binary_view"])
def test_what_can_be_written_to_is_copied_before_the_call_ends(binary):
    """A plugin that uses one bytearray for all batches, and changes its size, which Python refuses while anybody looks at it."""
    room = bytearray()

    def reusing(plain: bytes) -> bytearray:
        room[:] = plain
        return room

    _, codecs = shaped(reusing)
    data = ls.encode(TABLE, compression="own", batch_bytes=2048, codecs=codecs)
    assert ls.batches(data).num_rows > 5
    read = ls.decode(data, columns=COLUMNS, binary=binary, codecs=codecs).to_pyarrow()
    room[:] = bytes(1 << 16)
    assert read.select(COLUMNS).to_pylist() == PLAIN


def test_bytes_that_change_under_a_read_only_view_cost_only_their_batch():
    """That they do not is the plugin's promise. One that breaks it, here from another thread, gets errors or other records: no crash."""
    record = building.record(value=b"packed")
    room, is_over = bytearray(record * 2000), threading.Event()

    def changing() -> None:
        while not is_over.is_set():
            room[:] = bytes(len(room))
            room[:] = record * 2000

    data = building.batch(b"any", count=2000, attributes=0x0305)
    _, codecs = shaped(lambda _: memoryview(room).toreadonly())
    other = threading.Thread(target=changing)
    other.start()
    try:
        for _ in range(200):
            stream = ls.decode(data + GOOD, columns=["value"], codecs=codecs, on_error="skip")
            assert stream.to_pyarrow()["value"].to_pylist()[-1] == b"good"
    finally:
        is_over.set()
        other.join()


def test_a_view_that_the_plugin_lets_go_is_its_own_affair():
    class Own(Deflate):
        def decompress(self, data, max_output):
            plain = super().decompress(data, max_output)
            data.release()
            return plain

    plugin_codecs.Letting = Own  # type: ignore[attr-defined]
    Own.__qualname__ = "Letting"
    codecs = registry(own=Own)
    assert rows(ls.encode(TABLE, compression="own", batch_bytes=4096, codecs=codecs), codecs=codecs) == PLAIN


def broken(plain: bytes) -> bytes:
    raise ArithmeticError("two and two\nis five")


FAULTS = {
    "raises": (broken, "ArithmeticError: two and two is five"),
    "gives nothing": (lambda plain: b"", "count is 1"),
    "gives too little": (lambda plain: plain[:-1], "not the records of the batch"),
    "gives too much": (lambda plain: plain + b"x", "1 byte left over"),
    "gives far too much": (lambda plain: bytes(70_000), "max_decompressed_bytes"),
    "gives garbage": (lambda plain: b"\xff" * len(plain), "not the records of the batch"),
    "gives no buffer": (lambda plain: None, "not a buffer"),
    "gives text": (lambda plain: "text", "not a buffer"),
    "gives bytes that lie apart": (lambda plain: memoryview(plain)[::2], "not a buffer"),
    "gives a view that it let go": (lambda plain: released(plain), "released memoryview"),
}


def released(plain: bytes) -> memoryview:
    view = memoryview(plain)
    view.release()
    return view


@pytest.mark.parametrize("fault", FAULTS)
def test_a_plugin_at_fault_is_named_and_the_next_batch_is_read(fault):
    """S-P6."""
    shape, text = FAULTS[fault]
    data, codecs = shaped(shape)
    limits = ls.Limits(max_decompressed_bytes=65_536)
    with pytest.raises(ls.CodecError, match=text) as raised:
        ls.decode(GOOD + data, codecs=codecs, limits=limits).read_all()
    error = raised.value
    assert (error.code, error.rule, error.kafka_error_code) == ("codec", "S-P6", -1)
    assert (error.position, error.base_offset) == (len(GOOD), 0)
    assert "own" in str(error)
    assert "id 3" in str(error)
    assert "plugin_codecs:Own" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    stream = ls.decode(data + GOOD, columns=["value"], codecs=codecs, limits=limits, on_error="skip")
    assert corpus.rows_of(stream) == [{"value": b"good"}]
    assert [(finding.rule, finding.severity) for finding in stream.findings] == [("S-P6", "error")]
    report = ls.validate(data + GOOD, codecs=codecs, limits=limits)
    assert [(finding.rule, finding.severity, finding.position) for finding in report.findings] == [("S-P6", "error", 0)]
    [first, second] = pa.array(ls.decode_array(pa.array([data, GOOD]), codecs=codecs, limits=limits, on_error="null")).to_pylist()
    assert (first, len(second)) == (None, 1)


@pytest.mark.parametrize("fault", ["raises", "gives a view that it let go", "gives no buffer", "gives text", "gives bytes that lie apart"])
def test_a_plugin_that_cannot_pack_is_named(fault):
    shape, text = FAULTS[fault]
    _, codecs = shaped(shape)
    with pytest.raises(ls.CodecError, match=text) as raised:
        ls.encode(TABLE, compression="own", codecs=codecs)
    assert "plugin_codecs:Own" in str(raised.value)


def test_an_interrupt_is_no_fault_of_the_plugin():
    def interrupt(plain: bytes) -> bytes:
        raise KeyboardInterrupt

    data, codecs = shaped(interrupt)
    with pytest.raises(KeyboardInterrupt):
        ls.decode(data + GOOD, codecs=codecs, on_error="skip").read_all()


ENDINGS = [SystemExit("bye"), GeneratorExit(), asyncio.CancelledError(), BaseException("base")]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: type(ending).__name__)
def test_a_plugin_that_would_end_the_program_ends_its_batch(ending: BaseException):
    """S-P6: what is no `Exception` is a fault of the plugin as any other, unless a signal raised it."""

    def end(plain: bytes) -> bytes:
        raise ending

    data, codecs = shaped(end)
    with pytest.raises(ls.CodecError, match=f"it raised {type(ending).__name__}"):
        ls.decode(data, codecs=codecs).read_all()
    with pytest.raises(ls.CodecError, match=f"it raised {type(ending).__name__}"):
        ls.encode(TABLE, compression="own", codecs=codecs)
    assert corpus.rows_of(ls.decode(data + GOOD, columns=["value"], codecs=codecs, on_error="skip")) == [{"value": b"good"}]
    assert [finding.rule for finding in ls.validate(data + GOOD, codecs=codecs).findings] == ["S-P6"]


def test_a_plugin_that_would_end_the_program_when_it_is_made_is_not_here():
    """S-P20."""

    class Ending(Identity):
        def __init__(self) -> None:
            raise SystemExit(3)

    plugin_codecs.Ending = Ending  # type: ignore[attr-defined]
    Ending.__qualname__ = "Ending"
    with pytest.raises(ls.UnsupportedError, match="plugin_codecs:Ending cannot be created: SystemExit: 3"):
        ls.encode(TABLE, compression="own", codecs=registry(own=Ending))


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="Windows has no SIGUSR1")
def test_what_a_signal_handler_raises_in_a_plugin_is_no_fault_of_it():
    def stop(number: int, frame: object) -> None:
        raise SystemExit("told to end")

    def signalled(plain: bytes) -> bytes:
        signal.raise_signal(signal.SIGUSR1)
        return plain

    data, codecs = shaped(signalled)
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            ls.decode(data + GOOD, codecs=codecs, on_error="skip").read_all()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_what_a_plugin_says_moves_no_cursor():
    """Escape sequences of an exception and of a registry are shown, not obeyed."""

    def escaping(plain: bytes) -> bytes:
        raise ValueError("\x1b[2J\x07 gone \x9b31m 'quoted' \u202e")

    data, codecs = shaped(escaping)
    [finding] = ls.validate(data, codecs=codecs).findings
    assert r"ValueError: \u{1b}[2J\u{7} gone \u{9b}31m 'quoted' \u{202e}" in finding.message
    with pytest.raises(ls.CodecError) as raised:
        ls.decode(data, codecs=codecs).read_all()
    shown = ls.inspect(data, codecs=codecs)
    for text in (repr(finding), str(raised.value), *str(shown).splitlines()):
        assert text.isprintable(), text
    absent = MemoryRegistry([Entry(3, "\x1b[2J", "no.\x1b[2J:Codec", "v\x1b[2J")])
    [finding] = ls.validate(data, codecs=absent).findings
    for text in (repr(finding), *str(ls.inspect(data, codecs=absent)).splitlines()):
        assert text.isprintable(), text


class Packing(Identity):
    """Packs as `pack` does."""

    pack: Callable[[bytes], bytes] = staticmethod(bytes)

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        return type(self).pack(bytes(data))


plugin_codecs.Packing = Packing  # type: ignore[attr-defined]
LOSING = {
    "nothing": (lambda plain: b"", "output for [0-9]+ bytes of records is empty"),
    "one byte": (lambda plain: b"x", "decompresses to 1 byte, expected [0-9]+"),
    "other bytes": (lambda plain: bytes(len(plain)), "decompresses to [0-9]+ bytes"),
}


@pytest.mark.parametrize("how", LOSING)
def test_a_plugin_that_packs_records_away_is_refused(how: str, monkeypatch: pytest.MonkeyPatch):
    """S-P6: batches that nobody can unpack are not written."""
    pack, told = LOSING[how]
    monkeypatch.setattr(Packing, "pack", staticmethod(pack))
    codecs = registry(own=Packing)
    calls = [
        lambda: ls.encode(TABLE, compression="own", codecs=codecs),
        lambda: ls.encode(TABLE, compression="own", codecs=codecs, format="v3", metadata_first=True),
        lambda: ls.convert(GOOD, compression="own", codecs=codecs),
        lambda: ls.encode_array(pa.array([[{"value": b"a"}]]), compression="own", codecs=codecs),
    ]
    for call in calls:
        with pytest.raises(ls.CodecError, match=told) as raised:
            call()
        error = raised.value
        assert (error.code, error.rule, error.kafka_error_code, error.base_offset is not None) == ("compression", "S-P6", -1, True)
        assert '"own" (id 3, class plugin_codecs:Packing) failed to compress the batch' in str(error)


def test_that_a_later_batch_was_packed_to_nothing_is_seen_too(monkeypatch: pytest.MonkeyPatch):
    """And the refusal names that batch, not the row behind it which ended it."""
    batches = ls.batches(ls.encode(TABLE, batch_bytes=2048)).to_pyarrow()["baseOffset"].to_pylist()
    assert len(batches) > 3
    seen: list[bytes] = []

    def pack(plain: bytes) -> bytes:
        seen.append(plain)
        return b"" if len(seen) == 3 else plain

    monkeypatch.setattr(Packing, "pack", staticmethod(pack))
    with pytest.raises(ls.CodecError, match="is empty") as raised:
        ls.encode(TABLE, compression="own", batch_bytes=2048, codecs=registry(own=Packing))
    number = raised.value.base_offset
    assert b"order %d of customer" % number in seen[2]
    assert b"order %d of customer" % (number - 1) not in seen[2]
    assert (raised.value.row, "row" in str(raised.value)) == (None, False)


def test_only_the_first_batch_of_a_call_is_read_back():
    data = ls.encode(TABLE, compression="deflate", batch_bytes=2048, codecs=DEFLATE)
    names = [call[0] for call in plugin_codecs.calls]
    assert names[:2] == ["compress", "decompress"]
    assert (names.count("decompress"), names.count("compress")) == (1, ls.batches(data).num_rows)


def test_conversion_blames_the_plugin_of_the_target(monkeypatch: pytest.MonkeyPatch):
    """S-P6, with the batch that could not be packed."""

    def pack(plain: bytes) -> bytes:
        raise ArithmeticError("two and two is five")

    monkeypatch.setattr(Packing, "pack", staticmethod(pack))
    data = building.batch(b"", count=0, base_offset=0) + GOOD
    for options in ({}, {"to": "v3"}):
        with pytest.raises(ls.CodecError, match="failed to compress the batch: it raised ArithmeticError: two and two is five") as raised:
            ls.convert(data, compression="own", codecs=registry(own=Packing), **options)
        assert (raised.value.code, raised.value.position, raised.value.base_offset) == ("compression", len(data) - len(GOOD), 1)


def test_a_list_of_records_that_cannot_be_packed_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Packing, "pack", staticmethod(lambda plain: b"" if b"bad" in plain else plain))
    lists = pa.array([[{"value": b"good"}], [{"value": b"bad"}], [{"value": b"good"}]])
    with pytest.raises(ls.CodecError, match="is empty") as raised:
        ls.encode_array(lists, compression="own", codecs=registry(own=Packing))
    assert raised.value.row == 1
    encoded = pa.array(ls.encode_array(lists, compression="own", codecs=registry(own=Packing), on_error="null"))
    assert [item is None for item in encoded.to_pylist()] == [False, True, False]


def test_what_a_plugin_asks_of_the_stream_that_it_works_for_is_refused():
    streams = []

    def asking(plain: bytes) -> bytes:
        streams[0].io_stats  # noqa: B018
        return plain

    data, codecs = shaped(asking)
    streams.append(ls.decode(data, codecs=codecs))
    with pytest.raises(ls.CodecError, match="RuntimeError: the stream is already being read"):
        streams[0].read_all()


def test_an_unknown_name_is_kafkas_illegal_argument():
    """S-P17: built-in names first, then aliases; exact ones."""
    for call in (
        lambda name: ls.encode(TABLE, compression=name, codecs=DEFLATE),
        lambda name: ls.convert(GOOD, compression=name, codecs=DEFLATE),
    ):
        for name in ("Deflate", "inflate", "", "GZIP"):
            with pytest.raises(ls.UnknownCompressionError, match=rf"Unknown compression name: {name} \(use none, gzip, ") as raised:
                call(name)
            assert (raised.value.code, raised.value.kafka_error_code) == ("unknown_compression", None)
    shadowed = MemoryRegistry([Entry(0, "gzip", "plugin_codecs:Incomplete", "v1.0")])
    assert rows(ls.encode(TABLE, compression="gzip", codecs=shadowed)) == PLAIN


def test_an_unregistered_id():
    """S-P19."""
    data = building.batch(b"packed", count=1, attributes=0x0905)
    with pytest.raises(ls.UnknownCompressionError, match="Unknown compression name: plugin:9") as raised:
        ls.decode(data, codecs=DEFLATE).read_all()
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P19", None)
    assert ls.validate(data, codecs=DEFLATE, depth="headers").ok, "headers need no plugin"
    assert not ls.validate(data, codecs=DEFLATE).ok
    assert corpus.rows_of(ls.batches(data, codecs=DEFLATE))[0]["compression"] == "plugin:9"


MISSING = {
    "no.such.package:Codec": "No module named 'no'",
    "plugin_codecs:Absent": "plugin_codecs has no Absent",
    "org.example.FastCodec": "neither package.module:Class nor an entry point",
    "plugin_codecs:Unmakeable": "RuntimeError: no licence",
    "plugin_codecs:Incomplete": "has no methods compress and decompress",
}


@pytest.mark.parametrize("name", MISSING)
def test_a_plugin_that_is_registered_and_not_here(name):
    """S-P20: class, version and reason; 76, reading and writing."""
    codecs = MemoryRegistry([Entry(3, "absent", name, "v7.1")])
    data = building.batch(b"packed", count=1, attributes=0x0305)
    calls = [
        lambda: ls.decode(data, codecs=codecs).read_all(),
        lambda: ls.encode(TABLE, compression="absent", codecs=codecs),
        lambda: ls.convert(GOOD, compression="absent", codecs=codecs),
        lambda: ls.encode_array(pa.array([[{"value": b"a"}]]), compression="absent", codecs=codecs),
    ]
    for call in calls:
        with pytest.raises(ls.UnsupportedError, match="plugin registered but not available") as raised:
            call()
        error = raised.value
        assert not isinstance(error, ls.UnknownCompressionError)
        assert (error.code, error.rule, error.kafka_error_code) == ("plugin_missing", "S-P20", 76)
        assert all(part in str(error) for part in ("absent", name, "v7.1", MISSING[name]))
    assert corpus.rows_of(ls.batches(data, codecs=codecs))[0]["compression"] == "absent"
    assert [finding.rule for finding in ls.validate(data, codecs=codecs).findings] == ["S-P20"]
    assert ls.validate(data, codecs=codecs, depth="headers").findings == []
    assert issubclass(Unmakeable, Identity)
    assert not issubclass(Incomplete, Identity)


def test_a_registry_that_fails_is_no_fault_of_the_bytes():
    class Down(MemoryRegistry):
        def by_id(self, plugin_id: int) -> Entry | None:
            raise ConnectionError("broker down")

        by_alias = by_id  # type: ignore[assignment]

    data = building.batch(b"packed", count=1, attributes=0x0305)
    for call in (
        lambda: ls.decode(data + GOOD, codecs=Down(), on_error="skip").read_all(),
        lambda: ls.validate(data, codecs=Down()),
        lambda: ls.encode(TABLE, compression="own", codecs=Down()),
    ):
        with pytest.raises(RegistryError, match="ConnectionError: broker down"):
            call()


def test_a_registry_that_cannot_be_read_is_a_registry_error_with_the_cause(tmp_path):
    data = building.batch(b"packed", count=1, attributes=0x0305)
    with pytest.raises(RegistryError, match=r"gone\.json") as raised:
        ls.decode(data, codecs=FileRegistry(tmp_path / "gone.json")).read_all()
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(RegistryError, match="it is not JSON"):
        ls.encode(TABLE, compression="own", codecs=FileRegistry(tmp_path / "bad.json"))


@pytest.mark.parametrize("given", [{}, "deflate", Deflate(), [Entry(3, "deflate", "plugin_codecs:Deflate", "v1.0")]])
def test_something_else_than_a_registry_is_a_mistake(given):
    with pytest.raises(TypeError, match="codecs must be a registry"):
        ls.decode(GOOD, codecs=given)


@pytest.mark.parametrize("format", ["v1", "v0", "0.7"])
def test_nothing_is_packed_by_a_plugin_below_magic_2(format):
    """S-P4, S-P22."""
    table = pa.table({"value": [b"a"]})
    with pytest.raises(ValueError, match="Plugin compression is not supported"):
        ls.encode(table, format=format, compression="deflate", codecs=DEFLATE)
    data = ls.encode(table, compression="deflate", codecs=DEFLATE)
    assert ls.convert(data, to=format, codecs=DEFLATE, allow_loss=True).stopped_at.compression == "deflate"
    converted = ls.convert(data, to=format, compression="gzip", codecs=DEFLATE, allow_loss=True)
    assert converted.stopped_at is None
    assert [row["value"] for row in corpus.rows_of(ls.decode(converted.data, format=format, columns=["value"]))] == [b"a"]


def test_conversions_between_codecs_change_nothing_else():
    """S-P5: bits 8-11 go with the plugin; V2-2: what nobody uses stays."""
    plain = ls.encode(TABLE, producer_id=7, producer_epoch=1, base_sequence=0, partition_leader_epoch=4)
    packed = ls.convert(plain, compression="deflate", codecs=DEFLATE).data
    assert [row["attributes"] for row in corpus.rows_of(ls.batches(packed))] == [0x0305] * ls.batches(plain).num_rows
    assert ls.convert(packed, compression="none", codecs=DEFLATE).data == plain
    assert {row["attributes"] for row in corpus.rows_of(ls.batches(ls.convert(packed, compression="zstd", codecs=DEFLATE).data))} == {4}
    assert ls.convert(packed, compression="deflate", codecs=DEFLATE).data == packed
    other = registry(deflate=Deflate, same=Identity)
    assert {row["attributes"] for row in corpus.rows_of(ls.batches(ls.convert(packed, compression="same", codecs=other).data))} == {0x0405}


def test_arrays_take_plugins_too():
    lists = pa.array([[{"value": b"a"}, {"value": b"b"}], None, []])
    raw = pa.array(ls.encode_array(lists, compression="deflate", codecs=DEFLATE))
    assert pa.array(ls.batch_info_array(raw.slice(0, 1), codecs=DEFLATE)).to_pylist()[0]["compression"] == "deflate"
    decoded = pa.array(ls.decode_array(raw, columns=["value", "compression"], codecs=DEFLATE)).to_pylist()
    assert decoded == [[{"value": b"a", "compression": "deflate"}, {"value": b"b", "compression": "deflate"}], None, []]
    records, _ = ls.explode_array(raw, columns=["value"], codecs=DEFLATE)
    assert corpus.rows_of(records) == [{"value": b"a"}, {"value": b"b"}]
    assert all(row is None or row["ok"] for row in pa.array(ls.validate_array(raw, codecs=DEFLATE)).to_pylist())
    gzip = pa.array(ls.convert_array(raw, compression="gzip", codecs=DEFLATE))
    assert pa.array(ls.decode_array(gzip, columns=["value"])).to_pylist()[0] == [{"value": b"a"}, {"value": b"b"}]


def test_a_broker_unpacks_and_packs_with_plugins():
    """S-P18, S-P21: what was produced with a plugin gets offsets; the topic's alias packs it anew."""
    produced = ls.encode(pa.table({"value": [b"a", b"b"]}), compression="deflate", codecs=DEFLATE)
    kept = ls.broker.append(produced, first_offset=70, codecs=DEFLATE)
    assert (kept.first_offset, kept.last_offset) == (70, 71)
    assert [row["offset"] for row in rows(kept.data, codecs=DEFLATE)] == [70, 71]
    assert corpus.rows_of(ls.batches(kept.data, codecs=DEFLATE))[0]["compression"] == "deflate"
    for compression, name in (("gzip", "gzip"), ("uncompressed", "none"), ("same", "same")):
        codecs = registry(deflate=Deflate, same=Identity)
        appended = ls.broker.append(produced, first_offset=0, compression=compression, codecs=codecs)
        assert corpus.rows_of(ls.batches(appended.data, codecs=codecs))[0]["compression"] == name
        assert [row["value"] for row in rows(appended.data, codecs=codecs)] == [b"a", b"b"]
    with pytest.raises(ls.UnknownCompressionError, match="Unknown compression name: plugin:3"):
        ls.broker.append(produced, first_offset=0)
    with pytest.raises(ls.UnknownCompressionError, match="Unknown compression name: inflate "):
        ls.broker.append(produced, first_offset=0, compression="inflate", codecs=DEFLATE)


def test_segments_and_logs_take_plugins_too(tmp_path):
    directory = tmp_path / "orders-0"
    directory.mkdir()
    path = directory / "00000000000000000000.log"
    path.write_bytes(ls.encode(TABLE, compression="deflate", codecs=DEFLATE))
    for result in (ls.Segment(path), ls.Log(directory)):
        assert corpus.rows_of(result.records(columns=COLUMNS, codecs=DEFLATE)) == PLAIN
        assert {row["compression"] for row in corpus.rows_of(result.batches(codecs=DEFLATE))} == {"deflate"}
        assert {row["compression"] for row in corpus.rows_of(result.batches(codecs=DEFLATE, check_crc=False))} == {"deflate"}
        assert result.validate(codecs=DEFLATE).ok
        assert not result.validate().ok


def test_plugins_are_called_by_the_thread_that_asks():
    """Another one might wait for the interpreter while a consumer of the Arrow stream holds it and waits for that thread."""
    threads = set()

    def noting(plain: bytes) -> bytes:
        threads.add(threading.get_ident())
        return plain

    data, codecs = shaped(noting)
    table = ls.decode(data * 300, columns=["value"], threads=4, codecs=codecs).to_polars()
    assert (len(table), threads) == (300, {threading.get_ident()})


def test_other_threads_run_while_a_stream_reads():
    """The interpreter is held for the call of a plugin only: one that waits for another thread gets what it waits for."""
    data = ls.encode(TABLE, compression="deflate", batch_bytes=2048, codecs=DEFLATE)
    is_called, is_seen = threading.Event(), threading.Event()

    def waiting(plain: bytes) -> bytes:
        is_called.set()
        assert is_seen.wait(60)
        return plain

    other = threading.Thread(target=lambda: is_called.wait(60) and rows(data, codecs=DEFLATE) == PLAIN and is_seen.set())
    other.start()
    waited, codecs = shaped(waiting)
    assert ls.decode(waited, codecs=codecs).read_all().num_rows == 1
    other.join()


def test_an_entry_may_configure_its_codec():
    codecs = MemoryRegistry([Entry(5, "small", "plugin_codecs:Configured", "v1.0", {"level": 9})])
    assert rows(ls.encode(TABLE, compression="small", level=1, codecs=codecs), codecs=codecs) == PLAIN
    assert {call[3] for call in plugin_codecs.calls if call[0] == "compress"} == {9}


@pytest.mark.parametrize("name", ["plugin_codecs:Shelf.deflate", "plugin_codecs:Deflate"])
def test_a_codec_is_a_class_or_an_object(name):
    """Whatever stands behind the colon, with dots in it too."""
    codecs = MemoryRegistry([Entry(0, "own", name, "v1.0")])
    assert rows(ls.encode(TABLE, compression="own", codecs=codecs), codecs=codecs) == PLAIN
    assert {call[0] for call in plugin_codecs.calls} == {"compress", "decompress"}


def test_entry_points_offer_codecs(tmp_path, monkeypatch):
    """By the name of the class, else by the alias."""
    info = tmp_path / "offering-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[logsegment.codecs]\norg.example.Deflate = plugin_codecs:Deflate\nsmall = plugin_codecs:Deflate\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    codecs = MemoryRegistry([Entry(0, "first", "org.example.Deflate", "v1.0"), Entry(15, "small", "org.example.Other", "v1.0")])
    for alias in ("first", "small"):
        assert rows(ls.encode(TABLE, compression=alias, codecs=codecs), codecs=codecs) == PLAIN
