"""The codecs that are ready to be registered: each packs, unpacks, keeps to the limit and refuses what is cut."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from base64 import b64decode, b64encode
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from logsegment.plugins import Entry, MemoryRegistry
from logsegment.plugins.loading import load

ORDERS = [b'{"customer": %d, "order": %d, "state": "paid", "warehouse": "north"}' % (number % 17, number) for number in range(400)]
DICTIONARY = b64encode(b"".join(ORDERS[:40])).decode()
#: Class, library, settings, a level that it has.
READY: dict[str, tuple[str, str, dict[str, Any], int]] = {
    "bzip2": ("logsegment.plugins.ready:Bzip2", "bz2", {}, 1),
    "xz": ("logsegment.plugins.ready:Xz", "lzma", {}, 0),
    "brotli": ("logsegment.plugins.ready:Brotli", "brotli", {}, 1),
    "lz4dict": ("logsegment.plugins.ready:Lz4Dictionary", "lz4.block", {"dictionary": DICTIONARY}, 9),
    "zstddict": ("logsegment.plugins.ready:ZstdDictionary", "zstandard", {"dictionary": DICTIONARY}, -5),
}
TABLE = pa.table({"value": ORDERS})


def registry(alias: str, **settings: Any) -> MemoryRegistry:
    name, library, own, _ = READY[alias]
    try:
        importlib.import_module(library)
    except ImportError:
        pytest.skip(f"{library} is not installed")
    return MemoryRegistry([Entry(1, alias, name, "v1.0", own | settings)])


@pytest.mark.parametrize("alias", READY)
def test_records_come_back(alias):
    codecs = registry(alias)
    for level in (None, READY[alias][3]):
        data = ls.encode(TABLE, compression=alias, level=level, codecs=codecs)
        assert len(data) < len(ls.encode(TABLE)) / 2
        assert ls.decode(data, columns=["value"], codecs=codecs).to_pyarrow()["value"].to_pylist() == ORDERS


@pytest.mark.parametrize("alias", READY)
@pytest.mark.parametrize("size", [0, 1, 100, 200_000])
def test_any_length_and_no_more_than_the_limit(alias, size):
    codec = load(registry(alias).entries()[0])
    plain = bytes(index * 7 % 251 for index in range(size))
    packed = bytes(codec.compress(memoryview(plain), None))
    assert bytes(codec.decompress(memoryview(packed), size)) == plain
    assert bytes(codec.decompress(memoryview(packed), 1 << 30)) == plain
    if size:
        with pytest.raises(ValueError, match=f"more than {size - 1:,} bytes"):
            codec.decompress(memoryview(packed), size - 1)


@pytest.mark.parametrize("alias", READY)
def test_streams_that_are_cut_or_damaged_fail(alias):
    codec = load(registry(alias).entries()[0])
    plain = b"".join(ORDERS)
    packed = bytes(codec.compress(memoryview(plain), None))
    for bad in (packed[:-1], packed[: len(packed) // 2], packed[:5], b"\xff" * 50):
        with pytest.raises(Exception, match=r".") as raised:
            codec.decompress(memoryview(bad), 1 << 20)
        assert not isinstance(raised.value, MemoryError)


@pytest.mark.parametrize("alias", ["bzip2", "xz", "brotli", "zstddict"])
def test_what_follows_the_stream_is_an_error(alias):
    codec = load(registry(alias).entries()[0])
    packed = bytes(codec.compress(memoryview(b"records"), None))
    with pytest.raises(Exception, match=r"."):
        codec.decompress(memoryview(packed + b"more"), 1 << 20)


@pytest.mark.parametrize("alias", ["lz4dict", "zstddict"])
def test_a_dictionary_makes_small_batches_smaller_and_is_needed(alias):
    codecs = registry(alias)
    small = pa.table({"value": ORDERS[300:302]})
    data = ls.encode(small, compression=alias, codecs=codecs)
    assert len(data) < len(ls.encode(small, compression=alias.removesuffix("dict")))
    other = registry(alias, dictionary=b64encode(b"nothing in common at all" * 9).decode())
    with pytest.raises(ls.CodecError, match=alias):
        ls.decode(data, codecs=other).read_all()


@pytest.mark.parametrize("alias", [alias for alias, (_, library, _, _) in READY.items() if library not in ("bz2", "lzma")])
def test_a_library_that_is_missing_is_named_with_the_extra_that_brings_it(alias, monkeypatch):
    """S-P20."""
    name, library, own, _ = READY[alias]
    package = library.partition(".")[0]
    project = tomllib.loads((corpus.TESTS.parent / "pyproject.toml").read_text())["project"]
    assert any(item.startswith(package) for item in project["optional-dependencies"]["codecs"])
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, name.partition(":")[0], raising=False)
    codecs = MemoryRegistry([Entry(1, alias, name, "v7.1", own)])
    with pytest.raises(ls.UnsupportedError, match=f"{alias}.*v7.1.*{package}.*pip install 'logsegment\\[codecs\\]'") as raised:
        ls.encode(TABLE, compression=alias, codecs=codecs)
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P20", 76)


@pytest.mark.parametrize("alias", ["bzip2", "xz"])
def test_a_python_without_the_library_lacks_that_codec_only(alias):
    name, library, _, _ = READY[alias]
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from logsegment.cli import main; assert main(['--version']) == 0\n"
        f"from logsegment.plugins import Entry; from logsegment.plugins.loading import load; load(Entry(1, {alias!r}, {name!r}, 'v1.0'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("logsegment, version ")
    assert f"PluginNotInstalled: import of {library} halted" in done.stderr
    assert "pip install" not in done.stderr


def test_levels_of_lz4_are_those_of_its_high_compressor():
    """Check docs/reference/formats/plugins.md: 1 to 12, beyond them the last and its own default; without one the fast compressor."""
    import lz4.block

    codec = load(registry("lz4dict").entries()[0])
    plain = b"".join(ORDERS)

    def packed(level: int | None) -> bytes:
        return bytes(codec.compress(memoryview(plain), level))

    fast = lz4.block.compress(plain, dict=b64decode(DICTIONARY))
    assert packed(None) == fast
    assert len({len(packed(level)) for level in (None, 1, 9, 12)}) >= 3
    assert len(packed(12)) < len(packed(1)) < len(fast)
    assert [packed(level) for level in (0, -3, 13, 16, 1000)] == [packed(level) for level in (9, 9, 12, 12, 12)]
    for level in (None, *range(1, 13)):
        assert bytes(codec.decompress(memoryview(packed(level)), len(plain))) == plain


@pytest.mark.parametrize(
    ("settings", "text"), [({"dictionary": None}, 'the entry has no "dictionary"'), ({"dictionary": "$"}, "cannot be created")]
)
@pytest.mark.parametrize("alias", ["lz4dict", "zstddict"])
def test_an_entry_without_a_sound_dictionary_is_a_plugin_that_is_not_there(alias, settings, text):
    """S-P20."""
    with pytest.raises(ls.UnsupportedError, match=text):
        ls.encode(TABLE, compression=alias, codecs=registry(alias, **settings))
