"""The registry in a file: what is found, what is refused, two writers at once, and what a crash leaves."""

from __future__ import annotations

import errno
import json
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from logsegment.plugins import Entry, FileRegistry, Plugin, RegistrationError, Registry, RegistryError, file_registry
from rights import closed

FAST = Plugin("fast", {"java": "org.example.Fast", "python": "example.fast:Codec"}, "v1.0", extra={"vendor": "Übung"})
SMALL = Plugin("small", {"java": "org.example.Small", "python": "example.small:Codec"}, "v1.0")
#: Registers its own alias, as soon as it is told to.
WRITER = """
import sys
from logsegment.plugins import FileRegistry, Plugin
sys.stdin.readline()
FileRegistry(sys.argv[1]).register([Plugin(sys.argv[2], {"java": "a.B", "python": "a:B"}, "v1")])
"""
#: Dies while it writes.
DYING = """
import os, signal, sys
from logsegment.plugins import FileRegistry, Plugin

def die(descriptor):
    print("written", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

os.fsync = die
FileRegistry(sys.argv[1]).register([Plugin("small", {"java": "a.B", "python": "a:B"}, "v1")])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plugins.json"


def test_what_is_registered_is_found_in_every_language(path: Path):
    written = FileRegistry(path).register([FAST, SMALL])
    assert [(change.language, change.entry.plugin_id) for change in written if change.entry] == [
        ("java", 0),
        ("java", 1),
        ("python", 0),
        ("python", 1),
    ]
    python, java = FileRegistry(path), FileRegistry(str(path), "java")
    assert isinstance(python, Registry)
    assert python.by_alias("fast") == Entry(0, "fast", "example.fast:Codec", "v1.0", {"vendor": "Übung"}) == python.by_id(0)
    assert java.by_alias("fast") == Entry(0, "fast", "org.example.Fast", "v1.0", {"vendor": "Übung"})
    assert [entry.alias for entry in java.entries()] == ["fast", "small"]
    assert (python.by_id(7), python.by_alias("Fast"), FileRegistry(path, "go").by_id(0)) == (None, None, None)
    assert python.check() == []


def test_the_layout_is_that_of_the_topics(path: Path):
    FileRegistry(path).register([SMALL])
    value = {"pluginID": 0, "pluginAlias": "small", "pluginClassName": "example.small:Codec", "pluginVersion": "v1.0"}
    java = value | {"pluginClassName": "org.example.Small"}
    assert json.loads(path.read_text()) == {"plugin-java-topic": {"small": java}, "plugin-python-topic": {"small": value}}


def test_an_unknown_name_makes_it_read_again_and_known_ones_do_not(path: Path, monkeypatch: pytest.MonkeyPatch):
    reader, writer = FileRegistry(path), FileRegistry(path)
    writer.register([FAST])
    assert reader.by_alias("small") is None
    writer.register([SMALL])
    assert reader.by_alias("small") is not None
    writer.remove(["fast"])
    assert writer.by_alias("fast") is None
    assert reader.by_alias("fast") is not None, "what is known is not asked for again"
    reader.refresh()
    assert reader.by_alias("fast") is None
    travelled = pickle.loads(pickle.dumps(reader))
    path.unlink()
    assert travelled.by_id(1).alias == "small"
    with pytest.raises(RegistryError, match="no registry"):
        travelled.by_id(5)


def test_a_refused_registration_writes_nothing(path: Path):
    registry = FileRegistry(path)
    with pytest.raises(RegistrationError):
        registry.register([FAST, Plugin("gzip", {"java": "a.B", "python": "a:B"}, "v1")])
    assert not path.exists()
    registry.register([FAST])
    before = path.read_bytes(), path.stat().st_ino
    assert registry.register([FAST]) == []
    with pytest.raises(RegistrationError, match="not registered"):
        registry.remove(["fast", "nobody"])
    assert (path.read_bytes(), path.stat().st_ino) == before


def test_nothing_is_left_where_nothing_was_registered(path: Path):
    with pytest.raises(RegistryError, match=f"no registry {path}"):
        FileRegistry(path).remove(["fast"])
    with pytest.raises(RegistrationError):
        FileRegistry(path).register([Plugin("gzip", {"java": "a.B"}, "v1")])
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is not JSON"),
        (b"\x00\x00\x00\x00", "it is not JSON"),
        (b"[]", "it has no JSON object"),
        (b"[" * 100_000, "it is not JSON"),
        (b'{"plugins": {}}', "'plugins' is not plugin-LANGUAGE-topic"),
        (b'{"plugin-java-topic": []}', "has no object of aliases"),
        (b'{"plugin-java-topic": {"a": {}, "a": {}}}', "'a' occurs twice"),
        (b'{"plugin-java-topic": {"a": NaN}}', "NaN is not a JSON number"),
    ],
)
def test_a_file_that_is_not_a_registry_is_an_error_and_never_overwritten(path: Path, content: bytes, said: str):
    path.write_bytes(content)
    for call in (FileRegistry(path).entries, lambda: FileRegistry(path).by_id(0), lambda: FileRegistry(path).register([FAST])):
        with pytest.raises(RegistryError, match=said) as raised:
            call()
        assert str(path) in str(raised.value)
    assert path.read_bytes() == content


def test_what_is_written_in_one_language_the_others_know(path: Path):
    """One registry as clients of several languages see it."""
    python = FileRegistry(path)
    java, go = python.in_language("java"), python.in_language("java").in_language("go")
    java.register([FAST])
    assert python.by_alias("fast") is not None
    java.register([SMALL])
    assert [entry.alias for entry in python.entries()] == ["fast", "small"]
    python.remove(["fast"])
    assert (java.by_alias("fast"), java.by_alias("small").plugin_id) == (None, 1)
    go.remove(["small"])
    assert (python.entries(), java.entries()) == ([], [])
    FileRegistry(path).register([FAST])
    python.refresh()
    assert java.entries() != [], "a language that is known is read again with the others"


def test_a_registry_for_tasks_keeps_its_entries(path: Path):
    """A change by the driver does not reach the registry of a job, nor a pickled registry."""
    registry = FileRegistry(path)
    registry.register([FAST])
    java = registry.in_language("java")
    assert java.by_alias("fast") is not None
    for_tasks, sent = registry.for_tasks(), pickle.loads(pickle.dumps(registry))
    registry.remove(["fast"])
    assert [item.by_alias("fast") is None for item in (registry, java, for_tasks, sent)] == [True, True, False, False]
    path.unlink()
    assert sent.in_language("java").by_alias("fast") is not None, "entries of another language are pickled too"
    assert for_tasks.in_language("java").by_alias("fast") is not None


def test_damaged_entries_are_findings_and_errors_only_where_they_are_asked_for(path: Path):
    FileRegistry(path).register([FAST, SMALL])
    topics = json.loads(path.read_text())
    topics["plugin-python-topic"]["small"]["pluginID"] = "1"
    topics["plugin-python-topic"]["text"] = "{}"
    path.write_text(json.dumps(topics))
    registry = FileRegistry(path)
    assert registry.by_alias("fast").plugin_id == 0
    assert registry.by_alias("nobody") is None
    with pytest.raises(RegistryError, match="plugin-python-topic: key 'small': pluginID is a string"):
        registry.by_alias("small")
    with pytest.raises(RegistryError, match="no readable entry has id 1; plugin-python-topic"):
        registry.by_id(1)
    assert {finding.rule for finding in registry.check() if finding.severity == "error"} == {"S-P15"}
    with pytest.raises(RegistrationError, match="S-P15"):
        registry.register([Plugin("new", {"java": "a.B", "python": "a:B"}, "v1")])
    registry.remove(["text"])
    assert [(change.language, change.entry.plugin_id) for change in registry.register([SMALL])] == [("python", 1)]
    assert registry.check() == []


def test_an_id_of_two_aliases_finds_no_entry(path: Path):
    registry = FileRegistry(path)
    registry.register([FAST, SMALL])
    topics = json.loads(path.read_text())
    topics["plugin-python-topic"]["small"]["pluginID"] = 0
    path.write_text(json.dumps(topics))
    registry.refresh()
    for look in (lambda: registry.by_id(0), lambda: registry.by_alias("fast"), lambda: registry.by_alias("small")):
        with pytest.raises(RegistryError, match="id 0 is that of 'fast' and 'small'"):
            look()
    assert registry.entries() == []


def test_two_administrators_at_once_do_not_give_two_aliases_one_id(path: Path):
    """As many processes as there are ids, let go together; one more finds no id."""
    aliases = [f"alias{number}" for number in range(4)]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, alias], stdin=subprocess.PIPE) for alias in aliases]
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    assert [writer.wait(120) for writer in writers] == [0] * len(aliases)
    for writer in writers:
        writer.stdin.close()
    threads = [
        threading.Thread(target=FileRegistry(path).register, args=([Plugin(f"more{n}", {"java": "a.B", "python": "a:B"}, "v1")],))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = FileRegistry(path).entries()
    assert [entry.plugin_id for entry in entries] == list(range(12))
    assert FileRegistry(path).check() == []
    assert sorted(file.name for file in path.parent.iterdir()) == ["plugins.json", "plugins.json.lock"]


def test_a_writer_that_dies_leaves_the_old_registry_and_no_lock(path: Path):
    """Killed when the new file is written and not in place: readers see the old one, and the next writer does not wait."""
    FileRegistry(path).register([FAST])
    before = path.read_bytes()
    dying = subprocess.run([sys.executable, "-c", DYING, path], stdout=subprocess.PIPE, check=False, timeout=60)
    assert (dying.returncode, dying.stdout) == (-signal.SIGKILL, b"written\n")
    assert path.read_bytes() == before
    assert len(list(path.parent.glob(".logsegment-*.part"))) == 1
    assert [change.entry.plugin_id for change in FileRegistry(path).register([SMALL]) if change.entry] == [1, 1]


def test_readers_see_all_of_a_registration_or_nothing(path: Path):
    FileRegistry(path).register([FAST])
    ends = threading.Event()
    seen: set[tuple[int, ...]] = set()

    def read() -> None:
        while not ends.is_set():
            catalog = FileRegistry(path).catalog()
            assert not catalog.damaged
            seen.add(tuple(len(entries) for entries in catalog.languages.values()))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(50):
        FileRegistry(path).register([SMALL])
        FileRegistry(path).remove(["small"])
    ends.set()
    for reader in readers:
        reader.join()
    assert seen
    assert seen <= {(1, 1), (2, 2)}


def test_the_file_keeps_its_mode_and_a_link_goes_on_being_one(path: Path):
    FileRegistry(path).register([FAST])
    path.chmod(0o640)
    link = path.with_name("link.json")
    link.symlink_to(path)
    FileRegistry(link).register([SMALL])
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(FileRegistry(path).entries()) == 2


def test_a_read_only_directory_is_an_error(path: Path):
    with closed(path.parent, 0o555), pytest.raises(RegistryError, match=r"plugins\.json\.lock cannot be created: Permission denied"):
        FileRegistry(path).register([FAST])
    assert list(path.parent.iterdir()) == []
    assert len(FileRegistry(path).register([FAST])) == 2


def test_a_failed_write_is_an_error(tmp_path: Path):
    with pytest.raises(RegistryError, match="cannot be created: No such file or directory"):
        FileRegistry(tmp_path / "missing" / "plugins.json").register([FAST])
    with pytest.raises(RegistryError, match="cannot be read: Is a directory"):
        FileRegistry(tmp_path).entries()
    with pytest.raises(ValueError, match="language 'Java'"):
        FileRegistry(tmp_path / "plugins.json", "Java")


def test_windows_is_asked_again_until_the_lock_is_there(monkeypatch: pytest.MonkeyPatch):
    """Its own call gives up after ten seconds. What stands in for it here cannot show that Windows keeps its word."""
    tries: list[tuple[int, int, int]] = []
    answers = iter([errno.EDEADLK, errno.EACCES, None, errno.EBADF])

    def stand_in(descriptor: int, mode: int, size: int) -> None:
        tries.append((descriptor, mode, size))
        answer = next(answers)
        if answer is not None:
            raise OSError(answer, "no")

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_LOCK=1, locking=stand_in))
    source = compile(Path(file_registry.__file__).read_text(), file_registry.__file__, "exec")
    monkeypatch.setattr(sys, "platform", "win32")
    names: dict[str, Any] = {}
    exec(source, names)
    monkeypatch.undo()
    names["lock"](7)
    assert tries == [(7, 1, 1)] * 3
    with pytest.raises(OSError, match="no"):
        names["lock"](7)
