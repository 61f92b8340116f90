"""Which code a registry may name: installed codecs, those of logsegment, and modules that the reader allows."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run
from logsegment.plugins import Entry, FileRegistry, MemoryRegistry, Plugin, Registry
from logsegment.plugins.file_registry import FileStore
from logsegment.plugins.loading import load

CODEC = """
import pathlib, zlib
pathlib.Path({mark!r}).touch()


class Codec:
    def compress(self, data, level=None):
        return zlib.compress(data)

    def decompress(self, data, max_output):
        return zlib.decompressobj().decompress(data, max_output + 1)
"""


class Site:
    """A directory of modules: a package `acme` with the module `fast`, and a segment and a registry that name it."""

    def __init__(self, folder: Path, class_name: str) -> None:
        self.folder = folder
        self.mark, self.registry, self.segment = folder / "imported", folder / "plugins.json", folder / f"{0:020}.log"
        (folder / "acme").mkdir()
        (folder / "acme" / "__init__.py").write_text("")
        (folder / "acme" / "fast.py").write_text(CODEC.format(mark=str(self.mark)))
        FileRegistry(self.registry).register([Plugin("fast", {"java": "org.example.Fast", "python": class_name}, "v1.0")])

    def written(self) -> Site:
        """The same with a segment of the plugin, whose module is not imported any more."""
        entry = Entry(0, "fast", "acme.fast:Codec", "v1.0")
        ls.encode(pa.table({"value": [b"v" * 100]}), compression="fast", codecs=MemoryRegistry([entry]), out=self.segment)
        return self.forgotten()

    def forgotten(self) -> Site:
        for name in ("acme.fast", "acme"):
            sys.modules.pop(name, None)
        load.cache_clear()
        self.mark.unlink(missing_ok=True)
        return self

    def offer(self, name: str) -> None:
        """Install the codec as an entry point."""
        info = self.folder / "acme-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[logsegment.codecs]\n{name} = acme.fast:Codec\n")

    def rows(self, **options: Any) -> int:
        codecs = FileRegistry(self.registry, **options)
        return ls.decode(ls.FileSource(self.segment), codecs=codecs).read_all().num_rows


class SharedStore(FileStore):
    """A store whose entries the tasks of a process share."""

    def key(self) -> str:
        return self.name


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Site(tmp_path, "acme.fast:Codec").written()


def test_a_registry_imports_only_allowed_modules(site: Site):
    """Whoever writes to the registry would run code in every process that reads."""
    with pytest.raises(ls.UnsupportedError, match=r"allow=\['acme.fast'\].*plugins.allow.*--allow-plugin") as raised:
        site.rows()
    assert (raised.value.kafka_error_code, site.mark.exists()) == (76, False)
    with pytest.raises(ls.UnsupportedError, match="may not load"):
        site.rows(allow=["other.*", "acme", "fast"])
    assert not site.mark.exists()


@pytest.mark.parametrize("pattern", ["acme.fast", "acme.*", "acme.f*", "*"])
def test_a_module_that_is_allowed_is_loaded(site: Site, pattern: str):
    assert site.rows(allow=["other", pattern]) == 1
    assert site.mark.exists()


@pytest.mark.parametrize("name", ["fast", "acme.fast:Codec", "another"])
def test_an_installed_entry_point_needs_no_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    """By its name, by the alias, or as the class that it offers."""
    monkeypatch.syspath_prepend(str(tmp_path))
    site = Site(tmp_path, name).written()
    site.offer("another" if name == "another" else "fast")
    assert site.rows() == 1


def test_codecs_of_logsegment_need_no_leave_and_other_names_in_their_modules_do(tmp_path: Path):
    assert load(Entry(0, "small", "logsegment.plugins.ready:Bzip2", "v1.0"))
    for name in ("logsegment.plugins.ready:bz2", "logsegment.plugins.loading:load"):
        with pytest.raises(ImportError, match="may not load"):
            load(Entry(0, "small", name, "v1.0"))


def test_the_entries_of_a_caller_may_name_any_module(site: Site):
    registry = MemoryRegistry(FileRegistry(site.registry).entries())
    assert ls.decode(ls.FileSource(site.segment), codecs=registry).read_all().num_rows == 1


def test_a_registry_of_another_class_loads_what_its_attribute_allows(site: Site):
    class Own:
        def __init__(self) -> None:
            self._registry = FileRegistry(site.registry, allow=["acme.*"])
            self.by_id, self.by_alias = self._registry.by_id, self._registry.by_alias

    registry: Any = Own()
    with pytest.raises(ls.UnsupportedError, match="may not load"):
        ls.decode(ls.FileSource(site.segment), codecs=registry).read_all()
    registry.allow = ["acme.*"]
    assert ls.decode(ls.FileSource(site.segment), codecs=registry).read_all().num_rows == 1


def test_what_is_allowed_travels_and_stays_that_of_its_own_query(site: Site):
    narrow, wide = FileRegistry(site.registry), FileRegistry(site.registry, allow=["acme.*"])
    for registry, allow in ((narrow, ()), (wide, ("acme.*",))):
        copies = (pickle.loads(pickle.dumps(item)) for item in (registry, registry.for_tasks()))
        for copy in (*copies, registry.in_language("java")):
            assert copy.allow == allow
    sent = [pickle.dumps(Registry(SharedStore(str(site.registry)), allow=allow)) for allow in (["acme.*"], [])]
    first, second = map(pickle.loads, sent)
    assert first._lookup is second._lookup
    assert (first.allow, second.allow) == (("acme.*",), ())


@pytest.mark.parametrize("allow", ["acme.*", [1]])
def test_patterns_are_a_list_of_strings(tmp_path: Path, allow: Any):
    with pytest.raises(TypeError, match="allow must be a list"):
        FileRegistry(tmp_path / "plugins.json", allow=allow)


def test_the_command_line_names_its_option(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(site.folder))
    named = ("--registry", site.registry, site.segment)
    done = run("cat", *named)
    assert (done.code, "--allow-plugin" in done.err, site.mark.exists()) == (2, True, False)
    done = run("verify", *named)
    assert (done.code, site.mark.exists()) == (2, False)
    assert run("cat", "--allow-plugin", "acme.*", *named).code == 0
    assert site.mark.exists()
    checked = ("plugins", "check", "--installed", "--registry", site.registry)
    assert (run(*checked).code, run(*checked, "--allow-plugin", "acme.fast").code) == (1, 0)
    without = run("cat", "--allow-plugin", "acme.*", site.segment)
    assert (without.code, "needs a registry; pass --registry or --bootstrap-servers" in without.err) == (2, True)
    options = ("--compression", "fast", "--registry", site.registry, "-o", site.folder / "out.log", site.segment)
    assert run("convert", *options, "--allow-plugin", "acme.*").code == 0
