"""`logsegment plugins`: from files, at a terminal, exit codes, and nothing written unless all of it can be."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli_process import COMMAND, Done, clean_environment
from logsegment.plugins import FileRegistry, Plugin

YAML = """
- pluginAlias: fast
  pluginVersion: v1.0
  pluginClassName: {java: org.example.Fast, python: "example.fast:Codec"}
  vendor: example
- pluginAlias: small
  pluginVersion: {java: v1.2, python: v1.0}
  pluginClassName: {java: org.example.Small, python: "example.small:Codec"}
"""
TOML = """
[[plugins]]
pluginAlias = "fast"
pluginVersion = "v1.0"
vendor = "example"
[plugins.pluginClassName]
java = "org.example.Fast"
python = "example.fast:Codec"

[[plugins]]
pluginAlias = "small"
pluginVersion = {java = "v1.2", python = "v1.0"}
pluginClassName = {java = "org.example.Small", python = "example.small:Codec"}
"""
BOTH = {"java": "org.example.Fast", "python": "example.fast:Codec"}
FAST = {"pluginAlias": "fast", "pluginVersion": "v1.0", "pluginClassName": BOTH, "vendor": "example"}
SMALL = {
    "pluginAlias": "small",
    "pluginVersion": {"java": "v1.2", "python": "v1.0"},
    "pluginClassName": {"java": "org.example.Small", "python": "example.small:Codec"},
}
FILES = {
    "list.yaml": YAML,
    "list.yml": YAML,
    "list.toml": TOML,
    "list.json": json.dumps([FAST, SMALL]),
    "map.json": json.dumps({"plugins": [FAST, SMALL]}),
}
LISTED = """  id  alias  language  version  class
  0   fast   java      v1.0     org.example.Fast
  0   fast   python    v1.0     example.fast:Codec
  1   small  java      v1.2     org.example.Small
  1   small  python    v1.0     example.small:Codec
"""


Here = Callable[..., Done]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plugins.json"


@pytest.mark.parametrize("name", FILES)
def test_a_list_is_registered_from_any_kind_of_file(path: Path, name: str, here: Here):
    file = path.with_name(name)
    file.write_text(FILES[name])
    done = here("plugins", "register", "--registry", path, file)
    assert (done.code, done.err) == (0, "")
    assert done.text.count(" new\n") == 4
    listed = here("plugins", "list", "--registry", path)
    assert (listed.code, listed.text, listed.err) == (0, LISTED, "")
    entry = {"pluginID": 0, "pluginAlias": "fast", "pluginClassName": "org.example.Fast", "pluginVersion": "v1.0", "vendor": "example"}
    assert here("plugins", "list", "--registry", path, "--json").lines[0] == {"language": "java"} | entry
    again = here("plugins", "register", "--registry", path, file)
    assert (again.code, again.text, again.err) == (0, "", "logsegment: nothing to write; all entries are registered\n")
    assert here("plugins", "check", "--registry", path).text == "clean\n"


def test_a_dry_run_shows_and_writes_nothing(path: Path, here: Here):
    file = path.with_name("list.yaml")
    file.write_text(YAML)
    done = here("plugins", "register", "--registry", path, file, "--dry-run")
    assert (done.code, done.text.count(" new\n")) == (0, 4)
    assert not path.exists()


def test_all_broken_rules_are_reported_and_nothing_is_written(path: Path, here: Here):
    """S-P16."""
    file = path.with_name("list.json")
    file.write_text(
        json.dumps([FAST, SMALL | {"pluginAlias": "gzip"}, {**FAST, "pluginAlias": "lonely", "pluginClassName": {"go": "a.B"}}])
    )
    done = here("plugins", "register", "--registry", path, file)
    assert (done.code, done.out) == (1, b"")
    assert "plugin-java-topic: error [S-P14] 'gzip' is a built-in name" in done.err
    assert "plugin-go-topic: error [S-P13] 'lonely' is registered for go and not for Java" in done.err
    assert done.err.endswith("logsegment: nothing was written\n")
    assert not path.exists()


def test_an_update_that_is_incompatible_needs_to_be_said_compatible(path: Path, here: Here):
    """S-P13."""
    FileRegistry(path).register([Plugin("fast", BOTH, "v1.0")])
    file = path.with_name("list.json")
    file.write_text(json.dumps([FAST | {"pluginVersion": "v2.0"}]))
    done = here("plugins", "register", "--registry", path, file)
    assert done.code == 1
    assert "an incompatible update must be a new plugin" in done.err
    assert "(if it reads and writes the same bytes, pass --compatible)" in done.err
    done = here("plugins", "register", "--registry", path, file, "--compatible")
    assert done.code == 0
    assert "instead of example.fast:Codec v1.0" in done.text
    assert FileRegistry(path).by_id(0).version == "v2.0"
    file.write_text(json.dumps([FAST | {"pluginAlias": "other", "pluginClassName": {"java": "a.B"}}]))
    assert here("plugins", "register", "--registry", path, file).code == 1
    assert here("plugins", "register", "--registry", path, file, "--partial").code == 0
    checked = here("plugins", "check", "--registry", path)
    assert (checked.code, "warning" in checked.text, "no entry for python" in checked.text) == (0, True, True)
    assert here("plugins", "check", "--registry", path, "--fail-on", "warning", "--json").code == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("list.txt", "", "must end in .yaml, .yml, .toml, .json"),
        ("list.json", "{", "list.json cannot be read: Expecting property name"),
        ("list.yaml", "a: [", "list.yaml cannot be read: while parsing a flow node"),
        ("list.toml", "= 1", "list.toml cannot be read: Invalid statement"),
        ("list.json", "[" * 100_000, "list.json cannot be read"),
        ("list.toml", "plugin = 1", "has no list of plugins"),
        ("list.json", "[]", "has no list of plugins"),
        ("list.json", "[3]", "plugin 1: 3 is not a plugin"),
        (
            "list.yaml",
            YAML.replace("v1.0", "1.0"),
            'plugin 1: pluginVersion is a number with a fraction, not a string; in YAML and TOML "1.0" needs its quotes',
        ),
        ("list.yaml", YAML.replace("vendor: example", "since: 2026-11-21"), "plugin 1: an extra field is not valid JSON"),
        ("list.yaml", "!!python/object/apply:os.system ['true']", "cannot be read: could not determine a constructor"),
    ],
)
def test_a_file_that_is_no_list_is_a_usage_error(path: Path, name: str, content: str, said: str, here: Here):
    file = path.with_name(name)
    file.write_text(content)
    done = here("plugins", "register", "--registry", path, file)
    assert (done.code, done.out) == (2, b"")
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list",), "no registry; pass --registry or --bootstrap-servers"),
        (("list", "--registry", "a", "--bootstrap-servers", "b"), "no registry; pass --registry or --bootstrap-servers"),
        (("list", "--registry", "a", "--setting", "x=y"), "--setting needs --bootstrap-servers"),
        (("check", "--registry", "a", "--timeout", "3"), "--timeout needs --bootstrap-servers"),
        (("remove", "--registry", "a", "--yes", "b", "--command-config", "c"), "--command-config needs --bootstrap-servers"),
        (("register", "--registry", "a", "--replication-factor", "3", "b.json"), "--replication-factor needs --bootstrap-servers"),
        (("list", "--timeout", "3"), "no registry; pass --registry or --bootstrap-servers"),
        (("list", "--bootstrap-servers", "127.0.0.1:9", "--timeout", "0"), "--timeout"),
        (("list", "--registry", "no/such.json"), "logsegment: no registry no/such.json; `logsegment plugins register` makes one"),
        (("list", "--bootstrap-servers", "127.0.0.1:9", "--setting", "secret"), "--setting: a property must be NAME=VALUE"),
        (("list", "--bootstrap-servers", "127.0.0.1:9", "--setting", "no.such=1"), 'No such configuration property: "no.such"'),
        (("list", "--bootstrap-servers", "127.0.0.1:9", "--setting", "timeout=1"), 'No such configuration property: "timeout"'),
        (("list", "--bootstrap-servers", "127.0.0.1:9", "--command-config", "missing"), "missing: No such file"),
        (("register", "--registry", "a", "missing.json"), "missing.json: No such file or directory"),
        (("register", "--registry", "a"), "no FILE, and standard input is not a terminal"),
        (("remove", "--registry", "a", "fast"), "pass --yes"),
    ],
)
def test_mistakes_are_usage_errors(arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Here):
    monkeypatch.chdir(tmp_path)
    done = here("plugins", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_damage_is_listed_around_and_ends_with_1(path: Path, here: Here):
    FileRegistry(path).register([Plugin("fast", BOTH, "v1.0")])
    topics = json.loads(path.read_text())
    topics["plugin-python-topic"]["bad\x1b[2J"] = {"pluginID": 99}
    path.write_text(json.dumps(topics))
    done = here("plugins", "list", "--registry", path)
    assert (done.code, done.text.count("  fast  ")) == (1, 2)
    assert "plugin-python-topic: error [S-P15] key 'bad\\x1b[2J': pluginAlias is missing" in done.err
    done = here("plugins", "check", "--registry", path, "--json")
    assert (done.code, [line["rule"] for line in done.lines]) == (1, ["S-P15"])
    assert here("plugins", "remove", "--registry", path, "--yes", "bad\x1b[2J").code == 0
    assert here("plugins", "check", "--registry", path).code == 0


def test_remove_takes_all_or_nothing(path: Path, here: Here):
    """S-P12, S-P13."""
    FileRegistry(path).register([Plugin("fast", BOTH, "v1.0"), Plugin("small", BOTH, "v1.0")])
    done = here("plugins", "remove", "--registry", path, "--yes", "fast", "nobody")
    assert (done.code, "[S-P12] 'nobody' is not registered" in done.err) == (1, True)
    assert here("plugins", "remove", "--registry", path, "--yes", "fast", "--language", "java").code == 1
    assert len(FileRegistry(path).entries()) == 2
    done = here("plugins", "remove", "--registry", path, "--yes", "fast")
    assert (done.code, done.text.count("removed")) == (0, 2)
    assert [entry.alias for entry in FileRegistry(path).entries()] == ["small"]


def test_check_reports_entries_of_one_alias_that_differ(path: Path, here: Here):
    """S-P13, 3."""
    versions = Plugin("fast", BOTH, {"java": "v1.4", "python": "v2.0"})
    FileRegistry(path).register([versions], compatible=True)
    done = here("plugins", "check", "--registry", path, "--json")
    [finding] = done.lines
    told = (finding["rule"], finding["severity"], finding["path"], finding["message"])
    text = "'fast' is v1.4 for java and v2.0 for python: all entries of an alias must be compatible"
    assert (done.code, told) == (0, ("S-P13", "warning", "plugin-python-topic", text))
    assert here("plugins", "check", "--registry", path, "--fail-on", "warning").code == 1
    topics = json.loads(path.read_text())
    for language, dictionary in (("java", "AAAA"), ("python", "BBBB")):
        topics[f"plugin-{language}-topic"]["fast"] |= {"pluginVersion": "v1.0", "dictionary": dictionary}
    path.write_text(json.dumps(topics))
    done = here("plugins", "check", "--registry", path)
    assert (done.code, "error" in done.text, "one dictionary for java and another for python" in done.text) == (1, True, True)
    done = here("plugins", "list", "--registry", path)
    assert (done.code, "plugin-python-topic: error [S-P13] 'fast' has one dictionary" in done.err) == (1, True)


def test_remove_without_a_registry_says_so_and_leaves_nothing_behind(path: Path, here: Here):
    done = here("plugins", "remove", "--registry", path, "--yes", "fast")
    said = f"logsegment: no registry {path}; `logsegment plugins register` makes one\n"
    assert (done.code, done.out, done.err) == (2, b"", said)
    assert list(path.parent.iterdir()) == []


def test_a_registration_that_is_refused_makes_no_registry_and_no_lock(path: Path, here: Here):
    file = path.with_name("list.json")
    file.write_text(json.dumps([FAST | {"pluginAlias": "gzip"}]))
    assert here("plugins", "register", "--registry", path, file).code == 1
    assert list(path.parent.iterdir()) == [file]


def test_check_reports_missing_packages_on_request(path: Path, here: Here):
    """S-P20."""
    bzip2 = Plugin("small", {"java": "a.B", "python": "logsegment.plugins.ready:Bzip2"}, "v1.0")
    FileRegistry(path).register([Plugin("fast", BOTH, "v1.0"), bzip2])
    assert here("plugins", "check", "--registry", path).text == "clean\n"
    done = here("plugins", "check", "--registry", path, "--installed", "--json")
    [finding] = done.lines
    assert (done.code, finding["rule"], finding["path"]) == (1, "S-P20", "plugin-python-topic")
    assert finding["message"].startswith("'fast' v1.0: example.fast:Codec is not available here: ")


class Terminal:
    """The program at a terminal of its own: what it shows is waited for, what is typed is sent."""

    def __init__(self, *arguments: str | Path) -> None:
        self._ours, theirs = pty.openpty()
        environment = clean_environment(TERM="dumb", COLUMNS="200")
        self._process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self.shown = ""

    def answer(self, question: str, text: str) -> None:
        """Wait until it asks this, and type a line."""
        self.wait(question)
        self.shown = ""
        os.write(self._ours, f"{text}\n".encode())

    def end(self) -> int:
        """Wait for its end; what it showed since the last answer is in `shown`."""
        self.wait(None)
        return self._process.wait(60)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def wait(self, text: str | None) -> None:
        """Read on until it shows this, or to its end."""
        deadline = time.monotonic() + 120
        while text is None or text not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} did not come: {self.shown!r}"
            if select.select([self._ours], [], [], 1)[0]:
                try:
                    piece = os.read(self._ours, 1 << 16)
                except OSError:  # how Linux says that the other side is closed
                    piece = b""
                self.shown += piece.decode().replace("\r\n", "\n")
                if not piece:
                    assert text is None, f"it ended before {text!r}: {self.shown!r}"
                    return


@pytest.fixture
def at_terminal() -> Iterator[Callable[..., Terminal]]:
    """Starts the program at a terminal; what has not ended is killed."""
    started: list[Terminal] = []

    def start(*arguments: str | Path) -> Terminal:
        started.append(Terminal(*arguments))
        return started[-1]

    yield start
    for terminal in started:
        terminal.close()


def answer_one(terminal: Terminal, alias: str) -> None:
    terminal.answer("Alias", alias)
    terminal.answer("Version [v1.0]", "")
    terminal.answer("Class for java", "org.example.Fast")
    terminal.answer("Another language", "python")
    terminal.answer("Class for python", "example.fast:Codec")
    terminal.answer("Another language", "")


def test_at_a_terminal_it_asks_shows_and_confirms(path: Path, at_terminal: Callable[..., Terminal]):
    terminal = at_terminal("plugins", "register", "--registry", path)
    terminal.answer("Alias", "gzip")
    terminal.answer("'gzip' is a built-in name", "")
    answer_one(terminal, "fast")
    terminal.answer("Another plugin? [y/N]", "y")
    terminal.answer("Alias", "small")
    terminal.answer("Version [v1.0]", "v3.1")
    terminal.answer("Class for java", "org.example.Small")
    terminal.answer("Another language", "Python")
    terminal.answer("'Python' is not a name of a language", "python")
    terminal.answer("Class for python", "example.small:Codec")
    terminal.answer("Another language", "")
    terminal.answer("Another plugin? [y/N]", "n")
    terminal.wait("Write this? [y/N]")
    assert [line for line in terminal.shown.splitlines() if line.split()[:3] == ["1", "small", "python"] and line.split()[-1] == "new"]
    assert not path.exists(), "nothing is written before it is confirmed"
    terminal.answer("Write this? [y/N]", "y")
    assert terminal.end() == 0
    assert "4 records written" in terminal.shown
    assert [(entry.plugin_id, entry.alias, entry.version) for entry in FileRegistry(path).entries()] == [
        (0, "fast", "v1.0"),
        (1, "small", "v3.1"),
    ]


def test_the_language_before_a_class_does_not_become_part_of_its_name(path: Path, at_terminal: Callable[..., Terminal]):
    terminal = at_terminal("plugins", "register", "--registry", path)
    terminal.answer("Alias", "fast")
    terminal.answer("Version", "v1.0")
    terminal.answer("Class for java", "python=example.fast:Codec")
    terminal.answer("answer with the class for java, not for python", "java=")
    terminal.answer("the class is missing after java=", "java=org.example.Fast")
    terminal.answer("Another language", "python")
    terminal.answer("Class for python", "python= example.fast:Codec")
    terminal.answer("Another language", "")
    terminal.answer("Another plugin?", "n")
    terminal.answer("Write this?", "y")
    assert terminal.end() == 0
    registry = FileRegistry(path)
    assert [registry.in_language(name).entries()[0].class_name for name in ("java", "python")] == ["org.example.Fast", "example.fast:Codec"]


def test_a_no_and_an_end_of_the_answers_write_nothing(path: Path, at_terminal: Callable[..., Terminal]):
    terminal = at_terminal("plugins", "register", "--registry", path)
    answer_one(terminal, "fast")
    terminal.answer("Another plugin?", "n")
    terminal.answer("Write this?", "n")
    assert terminal.end() == 0
    assert "nothing was written" in terminal.shown
    terminal = at_terminal("plugins", "register", "--registry", path)
    terminal.answer("Alias", "fast")
    terminal.answer("Version", "\x04")
    assert terminal.end() == 130
    assert not path.exists()


def test_an_update_offers_what_is_registered(path: Path, at_terminal: Callable[..., Terminal]):
    FileRegistry(path).register([Plugin("fast", BOTH, "v1.0")])
    terminal = at_terminal("plugins", "register", "--registry", path)
    terminal.answer("Alias", "fast")
    terminal.answer("Version [v1.0]", "v1.1")
    terminal.answer("[org.example.Fast]", "")
    terminal.answer("[example.fast:Codec]", "example.faster:Codec")
    terminal.answer("Another language", "")
    terminal.answer("Another plugin?", "n")
    terminal.answer("Write this?", "y")
    assert terminal.end() == 0
    assert FileRegistry(path).by_id(0).class_name == "example.faster:Codec"


def test_what_changed_between_showing_and_confirming_is_shown_again(path: Path, at_terminal: Callable[..., Terminal]):
    """S-P11: the id that was shown is given to another meanwhile."""
    terminal = at_terminal("plugins", "register", "--registry", path)
    answer_one(terminal, "fast")
    terminal.answer("Another plugin?", "n")
    terminal.wait("Write this?")
    FileRegistry(path).register([Plugin("small", BOTH, "v1.0")])
    terminal.answer("Write this?", "y")
    terminal.wait("Write this?")
    assert "another administrator changed the registry" in terminal.shown
    assert [line.split()[:3] for line in terminal.shown.splitlines() if line.strip().startswith("1")] == [
        ["1", "fast", "java"],
        ["1", "fast", "python"],
    ]
    terminal.answer("Write this?", "y")
    assert terminal.end() == 0
    assert [(entry.plugin_id, entry.alias) for entry in FileRegistry(path).entries()] == [(0, "small"), (1, "fast")]


def test_removing_without_a_registry_does_not_ask(path: Path, at_terminal: Callable[..., Terminal]):
    terminal = at_terminal("plugins", "remove", "--registry", path, "fast")
    assert terminal.end() == 2
    assert terminal.shown == f"logsegment: no registry {path}; `logsegment plugins register` makes one\n"
    assert list(path.parent.iterdir()) == []


def test_removing_asks_and_names_the_consequences(path: Path, at_terminal: Callable[..., Terminal]):
    FileRegistry(path).register([Plugin("fast", BOTH, "v1.0")])
    terminal = at_terminal("plugins", "remove", "--registry", path, "fast")
    terminal.answer("can no longer be read", "n")
    assert terminal.end() == 0
    assert FileRegistry(path).by_alias("fast") is not None
    terminal = at_terminal("plugins", "remove", "--registry", path, "fast")
    terminal.answer("Remove this?", "y")
    assert terminal.end() == 0
    assert FileRegistry(path).by_alias("fast") is None
