"""What each verb of the command line says when a plugin or a registry is at fault: exit code, plugin, batch, and the next batch.

A plugin that never ends is tested in test_plugin_interrupts.py, a registry in topics of a broker in tests/interop/test_plugin_topics.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import building
import logsegment as ls
import plugin_codecs
from cli_process import Done
from logsegment.cli import app
from logsegment.plugins import FileRegistry, Plugin

#: alias -> class of Python, rule of the finding, and what it says beside the name of the plugin.
FAULTS = {
    "raising": ("plugin_codecs:Raising", "S-P6", "it raised ArithmeticError: two and two is five"),
    "little": ("plugin_codecs:TooLittle", "S-P6", "not the records of the batch"),
    "much": ("plugin_codecs:TooMuch", "S-P6", "max_ratio"),
    "garbage": ("plugin_codecs:Garbage", "S-P6", "not the records of the batch"),
    "exiting": ("plugin_codecs:Exiting", "S-P6", "it raised SystemExit: 3"),
    "escaping": ("plugin_codecs:Escaping", "S-P6", r"it raised ValueError: \u{1b}[2J\u{7}\u{9b}31m is gone"),
    "gone": ("no.such:Gone", "S-P20", "No module named 'no'"),
    "nobody": ("", "S-P19", "Unknown compression name: plugin:15"),
}
#: The same of plugins that fail to pack, and what is said of them.
PACKING = {
    "packs-not": ("plugin_codecs:PacksNot", "it raised ArithmeticError: two and two is five"),
    "packs-away": ("plugin_codecs:PacksAway", "its output for 7 bytes of records is empty"),
    "packs-garbage": ("plugin_codecs:PacksGarbage", "its output decompresses to 1 byte, expected 7"),
    "packing-exits": ("plugin_codecs:PackingExits", "it raised SystemExit: 3"),
}
NAME = "00000000000000000000.log"
Here = Callable[..., Done]
#: The codecs at fault are those of a module of the tests.
ALLOWED = ("--allow-plugin", "*")


@dataclass(frozen=True)
class Case:
    """A segment of three batches of a record each: plain, that of the plugin, plain; and what is to be said of the second."""

    alias: str
    plugin_id: int
    registry: Path
    segment: Path
    at: int
    end: int
    rule: str
    told: tuple[str, ...]

    @property
    def size(self) -> int:
        return self.segment.stat().st_size


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Here:
    """The program in this process, which starts in no time."""
    monkeypatch.setattr(app, "stop_on_signals", lambda: None)
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: str | Path) -> Done:
        code = app.run([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        assert not {*(out + err).decode()} & {"\x1b", "\x07", "\x9b"}, "what others say moves no cursor"
        return Done(code, out, err.decode())

    return run


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("registry") / "plugins.json"
    known = {alias: name for alias, (name, _, _) in FAULTS.items() if name} | {alias: name for alias, (name, _) in PACKING.items()}
    FileRegistry(path).register([Plugin(alias, {"java": f"org.example.{alias}", "python": name}, "v1.4") for alias, name in known.items()])
    assert plugin_codecs.Raising.__name__ in known["raising"]
    return path


@pytest.fixture(params=FAULTS)
def case(request: pytest.FixtureRequest, registry: Path, tmp_path: Path) -> Case:
    alias = request.param
    name, rule, told = FAULTS[alias]
    entry = FileRegistry(registry).by_alias(alias)
    plugin_id = 15 if entry is None else entry.plugin_id
    batches = [
        building.batch(building.record(value=value), count=1, base_offset=offset, attributes=attributes)
        for offset, (value, attributes) in enumerate([(b"first", 0), (b"packed", plugin_id << 8 | 5), (b"last", 0)])
    ]
    segment = tmp_path / "orders-0" / NAME
    segment.parent.mkdir()
    segment.write_bytes(b"".join(batches))
    plugin = (f'"{alias}" (id {plugin_id}, class {name}', told) if name else (told,)
    at = len(batches[0])
    return Case(alias, plugin_id, registry, segment, at, at + len(batches[1]), rule, plugin)


def ensure_told(text: str, case: Case) -> None:
    """The rule, the plugin and the place of the batch."""
    assert all(part in text for part in (f"[{case.rule}]", f"byte {case.at}", "base offset 1", *case.told)), text


def code_of(case: Case) -> int:
    """What fails on its plugin may be damaged in a way that no checksum shows; what lacks its plugin was not read."""
    return 1 if case.rule == "S-P6" else 2


def values(done: Done) -> list[str]:
    return [line["value"] for line in done.lines]


def test_verify_finds_it_and_nothing_else(case: Case, here: Here):
    done = here("verify", "--json", "-q", *ALLOWED, "--registry", case.registry, case.segment)
    findings = [line for line in done.lines if line.get("severity") == "error"]
    assert (done.code, [(finding["rule"], finding["position"], finding["baseOffset"]) for finding in findings]) == (
        code_of(case),
        [(case.rule, case.at, 1)],
    )
    assert all(part in findings[0]["message"] for part in case.told)
    summary = done.lines[-1]
    assert (summary["state"], summary["undecompressed"], summary["lost"], summary["batches"]) == ("undecompressed", 1, [], 3)
    done = here("verify", *ALLOWED, "--registry", case.registry, case.segment)
    why = "since their plugin failed" if case.rule == "S-P6" else "without their plugin"
    assert f"NOT DECOMPRESSED, 1 batch {why}; no damage found. Valid: 3 batches with 3 records, offsets 0 to 2" in done.text
    assert (done.code, "Lost:" in done.text) == (code_of(case), False)
    assert all(part in done.text for part in (case.rule, *case.told))
    done = here("verify", "--depth", "headers", case.segment)
    assert (done.code, "clean. 3 batches" in done.text) == (0, True), "headers need no plugin"


def test_what_a_plugin_fails_on_is_damage_when_its_checksum_is_wrong_too(case: Case, here: Here):
    """V2-31, and nothing of the plugin, which is not asked."""
    damaged = bytearray(case.segment.read_bytes())
    damaged[case.end - 1] ^= 1
    case.segment.write_bytes(damaged)
    done = here("verify", "--json", "-q", *ALLOWED, "--registry", case.registry, case.segment)
    errors, summary = [line["rule"] for line in done.lines if line.get("severity") == "error"], done.lines[-1]
    assert (done.code, errors, summary["state"], summary["undecompressed"]) == (1, ["V2-31"], "damaged", 0)
    assert [place["position"] for place in summary["lost"]] == [case.at]


def test_what_a_plugin_fails_on_may_be_damaged_when_no_checksum_is_compared(case: Case, here: Here):
    done = here("verify", "--no-crc", "--json", "-q", *ALLOWED, "--registry", case.registry, case.segment)
    has_failed = case.rule == "S-P6"
    summary = done.lines[-1]
    assert (done.code, summary["state"], len(summary["lost"])) == ((1, "damaged", 1) if has_failed else (2, "undecompressed", 0))
    done = here("verify", "--no-crc", *ALLOWED, "--registry", case.registry, case.segment)
    assert ("The plugin failed for 1 batch; --no-crc skipped" in done.text) == has_failed
    report = ls.validate(case.segment.read_bytes(), check_crc=False, codecs=FileRegistry(case.registry, allow=["*"]))
    assert (len(report.undecompressed), repr(report).startswith("Report(damaged: ")) == (not has_failed, has_failed)
    segment = ls.Segment(case.segment)
    reports = [segment.validate(check_crc=check_crc, codecs=FileRegistry(case.registry, allow=["*"])) for check_crc in (False, True)]
    assert [len(report.undecompressed) for report in reports] == [not has_failed, 1]


def test_without_a_registry_nothing_is_lost_and_the_option_is_named(case: Case, here: Here):
    """S-P19: what to give is said by the name that it has here."""
    done = here("verify", "--json", "-q", case.segment)
    finding, summary = done.lines
    told = (
        f"plugin:{case.plugin_id} (give --registry or --bootstrap-servers, a registry that knows the plugin with the id {case.plugin_id})"
    )
    assert (done.code, finding["rule"], finding["message"]) == (2, "S-P19", f"Unknown compression name: {told}")
    assert (summary["state"], summary["errors"], summary["undecompressed"], summary["lost"]) == ("undecompressed", 1, 1, [])
    assert summary["safe"] == [{"firstOffset": 0, "lastOffset": 2, "batches": 3, "records": 3}]
    more = case.segment.with_name("00000000000000000003.log")
    more.write_bytes(case.segment.read_bytes().replace(b"first", b"again"))
    for verb in (("verify",), ("cat",), ("cat", "--on-error", "skip"), ("explain", "--at", str(case.at))):
        done = here(*verb, case.segment)
        assert done.code == (1 if verb[0] == "explain" else 2)
        assert (done.text + done.err).count(told) == 1
        assert "codecs=" not in done.text + done.err
    done = here("convert", "--compression", "gzip", case.segment, "-o", case.segment.with_name("out.log"))
    assert done.err.splitlines()[1:] == ["logsegment: the batch is not damaged; its plugin is not installed"]


def many(attributes: int, value: bytes = b"packed") -> bytes:
    """Thirty batches of a plugin."""
    return b"".join(building.batch(building.record(value=value), count=1, base_offset=at, attributes=attributes) for at in range(30))


def test_diff_folds_batches_that_want_one_plugin_and_calls_none_damaged(here: Here, tmp_path: Path):
    """S-P19: the option that names a registry is told once for a side."""
    a, b = tmp_path / "a.log", tmp_path / "b.log"
    a.write_bytes(many(0x0305))
    b.write_bytes(many(0x0305, b"others"))
    done = here("diff", a, b)
    assert (done.code, done.text.count("[S-P19]"), done.text.count("; 29 batches more like it")) == (2, 2, 2)
    assert (done.text.count("give --registry or --bootstrap-servers"), "DAMAGED" in done.text) == (2, False)
    assert "NOT DECOMPRESSED, otherwise the same." in done.text
    assert "60 batches not decompressed" in done.text
    told = here("diff", "--json", a, b).lines
    assert (told[-1]["state"], told[-1]["damaged"], told[-1]["undecompressed"], len(told)) == ("undecompressed", 0, 60, 61)
    b.write_bytes(b.read_bytes()[:-1])
    assert here("diff", "--json", a, b).lines[-1]["state"] == "damaged"


def test_diff_calls_batches_on_which_a_plugin_fails_not_unpacked(here: Here, registry: Path, tmp_path: Path):
    """S-P6: with their checksums compared, or not where headers agree."""
    entry = FileRegistry(registry).by_alias("raising")
    assert entry is not None
    a, b = tmp_path / "a.log", tmp_path / "b.log"
    a.write_bytes(many(entry.plugin_id << 8 | 5))
    b.write_bytes(many(entry.plugin_id << 8 | 5, b"others"))
    for more in ((), ("--no-crc",)):
        told = here("diff", "--json", *ALLOWED, "--registry", registry, *more, a, b).lines[-1]
        assert (told["state"], told["damaged"], told["undecompressed"]) == ("undecompressed", 0, 60)


def test_verify_folds_batches_on_which_one_plugin_fails(here: Here, registry: Path, tmp_path: Path):
    """S-P6: their checksums are right, so that nothing is known to be damaged."""
    entry = FileRegistry(registry).by_alias("raising")
    assert entry is not None
    path = tmp_path / NAME
    path.write_bytes(many(entry.plugin_id << 8 | 5))
    done = here("verify", *ALLOWED, "--registry", registry, path)
    assert (done.code, done.text.count("S-P6 "), done.text.count("; 29 batches more like it")) == (1, 1, 1)
    assert "NOT DECOMPRESSED, 30 batches since their plugin failed; no damage found. Valid: 30 batches with 30 records" in done.text
    assert len(here("verify", "--json", *ALLOWED, "--registry", registry, path).lines) == 31
    path.write_bytes(many(entry.plugin_id << 8 | 5) + many(0x0F05))
    done = here("verify", *ALLOWED, "--registry", registry, path)
    assert "NOT DECOMPRESSED, 30 batches without their plugin, 30 batches since their plugin failed; no damage found." in done.text
    report = ls.validate(path.read_bytes(), codecs=FileRegistry(registry, allow=["*"]))
    assert repr(report).startswith("Report(not decompressed: 60 error, ")
    assert "30 of them without their plugin, 30 of them of a plugin that failed; 60 entries" in repr(report)
    done = here("verify", "--no-crc", *ALLOWED, "--registry", registry, path)
    assert "Is this a log segment?" not in done.text
    path.write_bytes(b"no log " * 40)
    assert "NOT A LOG SEGMENT" in here("verify", *ALLOWED, "--registry", registry, path).text


def test_many_batches_that_need_one_plugin_are_reported_once(here: Here, tmp_path: Path):
    one = building.batch(building.record(value=b"packed"), count=1, attributes=0x0305)
    batches = [one[:7] + bytes([offset]) + one[8:] for offset in range(30)]
    damaged = building.batch(building.record(value=b"bad"), count=1, base_offset=30, crc=1)
    path = tmp_path / NAME
    path.write_bytes(b"".join(batches))
    done = here("verify", path)
    assert (done.code, done.text.count("plugin:3"), done.text.count("; 29 batches more like it")) == (2, 1, 1)
    assert done.text.startswith(
        f"{path}: NOT DECOMPRESSED, 30 batches without their plugin; no damage found. Valid: 30 batches with 30 records"
    )
    path.write_bytes(b"".join([*batches, damaged]))
    done = here("verify", path)
    assert done.text.startswith(f"{path}: DAMAGED, 1 error; NOT DECOMPRESSED, 30 batches without their plugin. Valid: 30 batches with")
    assert (done.text.count("plugin:3"), "V2-31" in done.text) == (1, True)
    done = here("find", path, "--key", "x", "--on-error", "skip", "--unreadable", "skip", "-q")
    assert (done.code, done.err.count("plugin:3"), done.err.count("; 29 batches more like it")) == (2, 1, 1)
    done = here("cat", path, "--on-error", "skip", "--unreadable", "skip", "-q")
    assert (done.code, done.err.count("plugin:3"), done.err.count("; 29 batches more like it")) == (2, 1, 1)
    both = here("verify", path, path, "-q")
    assert both.code == 2


def test_cat_ends_there_or_skips_it(case: Case, here: Here):
    done = here("cat", *ALLOWED, "--registry", case.registry, case.segment)
    assert done.code == code_of(case)
    assert "last" not in values(done)
    assert done.err.startswith(f"logsegment: {case.segment}: ")
    ensure_told(done.err, case)
    skipping = ("--on-error", "skip") if code_of(case) == 1 else ("--unreadable", "skip")
    done = here("cat", *skipping, *ALLOWED, "--registry", case.registry, case.segment)
    assert (done.code, values(done)) == (code_of(case), ["first", "last"])
    assert all(part in done.err for part in (case.rule, *case.told))
    done = here("cat", "--offset", "2", *ALLOWED, "--registry", case.registry, case.segment)
    assert (done.code, values(done), done.err) == (0, ["last"], ""), "who does not ask for it does not meet it"


def test_batches_look_at_headers_only(case: Case, here: Here):
    done = here("batches", "--json", *ALLOWED, "--registry", case.registry, case.segment)
    name = f"plugin:{case.plugin_id}" if case.alias == "nobody" else case.alias
    assert (done.code, done.err) == (0, "")
    assert [line["compression"] for line in done.lines] == ["none", name, "none"]
    assert here("batches", *ALLOWED, "--registry", case.registry, case.segment).text.count(name) == 1


def test_convert_ends_there_and_leaves_no_output(case: Case, here: Here, tmp_path: Path):
    target = tmp_path / "converted.log"
    done = here("convert", "--compression", "gzip", *ALLOWED, "--registry", case.registry, case.segment, "-o", target)
    assert (done.code, done.out, target.exists()) == (code_of(case), b"", False)
    ensure_told(done.err, case)
    assert here("convert", "-q", *ALLOWED, "--registry", case.registry, case.segment, "-o", target).code == 0
    assert target.read_bytes() == case.segment.read_bytes(), "what need not be unpacked is copied"


@pytest.mark.parametrize("alias", PACKING)
def test_convert_names_the_plugin_that_packs_and_not_its_input(alias: str, registry: Path, here: Here, tmp_path: Path):
    name, told = PACKING[alias]
    source, target = tmp_path / NAME, tmp_path / "converted.log"
    first = building.batch(b"", count=0)
    source.write_bytes(first + building.batch(building.record(), count=1, base_offset=1))
    done = here("convert", "--compression", alias, *ALLOWED, "--registry", registry, source, "-o", target)
    assert (done.code, done.out, target.exists()) == (1, b"", False)
    error, advice = done.err.splitlines()
    plugin = f'plugin "{alias}" (id {FileRegistry(registry).by_alias(alias).plugin_id}, class {name}) failed to compress the batch: {told}'
    assert error == f"logsegment: {source}: [S-P6] at byte {len(first)}, base offset 1: {plugin}"
    assert advice == "logsegment: nothing was written; the plugin of the target failed, the input is not damaged"
    assert here("verify", source).code == 0


def test_a_target_that_is_not_here_is_no_fault_of_the_input(registry: Path, here: Here, tmp_path: Path):
    source = tmp_path / NAME
    source.write_bytes(building.batch(building.record(), count=1))
    done = here("convert", "--compression", "gone", *ALLOWED, "--registry", registry, source, "-o", tmp_path / "out.log")
    assert done.code == 1
    assert "[S-P20] plugin registered but not available" in done.err
    assert done.err.endswith("logsegment: nothing was written; the plugin of the target failed, the input is not damaged\n")


def test_salvage_keeps_valid_batches_and_skips_the_others(case: Case, here: Here, tmp_path: Path):
    target, aside = tmp_path / "whole.log", tmp_path / "aside.log"
    done = here("salvage", "-q", *ALLOWED, "--registry", case.registry, case.segment, "-o", target)
    assert (done.code, target.read_bytes() == case.segment.read_bytes()) == (0, True), "its checksum is right"
    damaged = bytearray(case.segment.read_bytes())
    damaged[case.at + 17] ^= 1
    case.segment.write_bytes(damaged)
    done = here(
        "salvage", "--json", "-q", *ALLOWED, "--registry", case.registry, case.segment, "-o", target.with_name("rest.log"), "--aside", aside
    )
    account = done.lines[-1]
    assert (done.code, account["entries"], [(lost["position"], lost["rule"]) for lost in account["lost"]]) == (3, 2, [(case.at, "V2-31")])
    assert not aside.exists(), "nothing of it can be read"


def looking(verb: str, segment: Path, made: Path) -> list[str | Path]:
    """A verb that looks into every batch of a segment, with what else it needs."""
    if verb == "diff":
        other = made.with_name("other.log")
        other.write_bytes(b"".join(building.batch(building.record(value=b"a"), count=1, base_offset=offset) for offset in range(3)))
        return [verb, segment, other]
    more: dict[str, list[str | Path]] = {"find": ["--key", "x"], "follow": ["--offset", "0", "--idle-exit", "0.1"], "train": ["-o", made]}
    return [*(["plugins", verb] if verb == "train" else [verb]), segment, *more[verb]]


@pytest.mark.parametrize(("verb", "code"), [("find", 2), ("follow", None), ("diff", None), ("train", None)])
def test_verbs_that_look_into_every_batch_name_it(verb: str, code: int | None, case: Case, here: Here, tmp_path: Path):
    """As the table of docs/how-to/use-plugin-codecs.md has them."""
    made = tmp_path / "made.dict"
    done = here(*looking(verb, case.segment, made), *ALLOWED, "--registry", case.registry)
    assert (done.code, made.exists()) == (code or code_of(case), False)
    told = done.err + done.text
    assert all(part in told for part in (f"[{case.rule}]", f"byte {case.at}", *case.told)), told


@pytest.mark.parametrize("verb", ["find", "follow", "diff", "train"])
def test_verbs_that_look_into_every_batch_say_what_is_wrong_with_the_registry(
    verb: str, state: tuple[Path, Path, int, str], here: Here, tmp_path: Path
):
    path, segment, _, told = state
    done = here(*looking(verb, segment, tmp_path / "made.dict"), *ALLOWED, "--registry", path)
    assert done.code == 2, done
    assert told in " ".join((done.err + done.text).split())


def test_stats_count_it_and_explain_the_missing_ratio(case: Case, here: Here):
    done = here("stats", "--json", *ALLOWED, "--registry", case.registry, case.segment)
    [told] = json.loads(done.out)["damage"]
    assert (done.code, json.loads(done.out)["batches"], told["rule"], told["position"]) == (1, 3, case.rule, case.at)
    assert all(part in told["message"] for part in case.told)
    done = here("stats", "--no-ratios", *ALLOWED, "--registry", case.registry, case.segment)
    assert (done.code, done.err) == (0, "")


def test_explain_shows_the_header_and_marks_it(case: Case, here: Here):
    done = here("explain", "--at", str(case.at), *ALLOWED, "--registry", case.registry, case.segment)
    assert (done.code, done.err) == (1, "")
    name = "plugin:15, " if case.alias == "nobody" else f"{case.alias} (plugin:{case.plugin_id}), "
    assert all(part in done.text for part in (case.rule, "baseOffset", name, *case.told))
    assert done.text.count(case.told[-1]) == 1, "it is told once"
    assert here("explain", "--offset", "2", *ALLOWED, "--registry", case.registry, case.segment).code == 0


def test_check_reports_missing_plugins(registry: Path, here: Here):
    done = here("plugins", "check", "--installed", *ALLOWED, "--registry", registry)
    assert (done.code, done.text.count("S-P20")) == (1, 1)
    assert "'gone' v1.4: no.such:Gone is not available here: No module named 'no'" in done.text
    assert here("plugins", "list", "--registry", registry).code == 0


GOOD = {"pluginID": 1, "pluginAlias": "small", "pluginClassName": "logsegment.plugins.ready:Bzip2", "pluginVersion": "v1.0"}
#: What somebody did to Python's entries -> exit code of a verb that meets the batch, and what it says.
STATES: dict[str, tuple[Any, int, str]] = {
    "tombstone": ({"small": None}, 1, "Unknown compression name: plugin:1"),
    "text": ({"small": '{"pluginID": 1,'}, 2, "plugin-python-topic: key 'small': "),
    "damaged": ({"small": GOOD | {"pluginID": "1"}}, 2, "plugin-python-topic: key 'small': pluginID is a string"),
    "out of range": ({"small": GOOD | {"pluginID": 16}}, 2, "pluginID is 16, not 0 to 15"),
    "another key": ({"other": GOOD}, 2, "plugin-python-topic: key 'other': "),
    "two of one id": ({"small": GOOD, "other": GOOD | {"pluginAlias": "other"}}, 2, "id 1 is that of 'small' and 'other'"),
    "no file": (None, 2, "does not exist"),
    "no JSON": ("{", 2, "is not a registry: it is not JSON"),
    "no registry": ("[]", 2, "is not a registry: it has no JSON object"),
}


@pytest.fixture(params=STATES)
def state(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path, int, str]:
    """A segment whose only batch a plugin packed, the registry as it is now, the exit code and the words that belong to it."""
    entries, code, told = STATES[request.param]
    path, segment = tmp_path / "plugins.json", tmp_path / NAME
    segment.write_bytes(building.batch(b"packed", count=1, attributes=0x0105))
    if entries is not None:
        java = {"small": GOOD | {"pluginClassName": "org.example.Small"}}
        content = entries if isinstance(entries, str) else json.dumps({"plugin-java-topic": java, "plugin-python-topic": entries})
        path.write_text(content)
    return path, segment, code, told


@pytest.mark.parametrize("verb", ["verify", "cat", "batches", "convert", "stats", "explain"])
def test_a_verb_says_what_is_wrong_with_the_registry(verb: str, state: tuple[Path, Path, int, str], here: Here, tmp_path: Path):
    path, segment, code, told = state
    more = {"convert": ("--compression", "gzip", "-o", tmp_path / "out.log"), "cat": ("--on-error", "skip")}
    done = here(verb, segment, *ALLOWED, "--registry", path, *more.get(verb, ()))
    if verb == "batches" and code == 1:
        assert (done.code, "plugin:1" in done.text, done.err) == (0, True, ""), "an id that nobody has is no fault of a header"
        return
    assert done.code == (code if verb in ("stats", "explain") else 2), done
    assert told in " ".join((done.err + done.text).split())
    assert not (tmp_path / "out.log").exists()


def test_the_admin_tool_finds_it_and_mends_it(state: tuple[Path, Path, int, str], here: Here):
    path, _, _, told = state
    plugin = {"pluginAlias": "new", "pluginVersion": "v1.0", "pluginClassName": {"java": "a.B", "python": "a:B"}}
    wanted = path.with_name("new.json")
    wanted.write_text(json.dumps([plugin]))
    before = path.read_bytes() if path.exists() else None
    is_read = before is not None and before.startswith(b'{"')
    is_sound = '"plugin-python-topic": {"small": null}' in (before or b"").decode()
    listed, checked = (here("plugins", verb, "--registry", path) for verb in ("list", "check"))
    if not is_read:
        assert (listed.code, checked.code) == (2, 2)
        assert (told.replace("does not exist", "no registry") in listed.err, listed.err) == (True, checked.err)
    else:
        assert (listed.code, checked.code) == ((0, 0) if is_sound else (1, 1))
        assert "org.example.Small" in listed.text
        assert (checked.text, listed.err) == ("clean\n", "") if is_sound else "plugin-python-topic" in checked.text
    done = here("plugins", "register", "--registry", path, wanted, "--partial")
    if is_sound or before is None:
        assert done.code == 0
        return
    assert (done.code, path.read_bytes()) == (1 if is_read else 2, before), "nothing is written over what is damaged"
    if is_read:
        for alias in json.loads(before or b"")["plugin-python-topic"]:
            assert here("plugins", "remove", "-q", "--yes", "--language", "python", "--registry", path, alias).code == 0
        assert here("plugins", "check", "--registry", path).code == 0
