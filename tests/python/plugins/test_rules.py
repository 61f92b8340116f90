"""What entries must be to each other, held before anything is written, all or nothing (rules S-P9 to S-P16)."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from logsegment.plugins import Entry, EntryError, Plugin, RegistrationError
from logsegment.plugins.catalog import Catalog, Change, Record
from logsegment.plugins.rules import BUILT_IN, check_rules, check_topic, registration, removal

BOTH = {"java": "org.example.Fast", "python": "example.fast:Codec"}


def plugin(alias: str, *languages: str, version: Any = "v1.0", plugin_id: int | None = None) -> Plugin:
    return Plugin(alias, {language: f"{language}.{alias}" for language in languages or ("java", "python")}, version, plugin_id)


def entry(alias: str, plugin_id: int, language: str = "java", version: str = "v1.0") -> Entry:
    return Entry(plugin_id, alias, f"{language}.{alias}", version)


def catalog(**languages: list[Entry]) -> Catalog:
    return Catalog({language: {entry.alias: entry for entry in entries} for language, entries in languages.items()})


def brief(changes: list[Change]) -> list[tuple[str, str, int | None]]:
    return [(change.language, change.alias, change.entry and change.entry.plugin_id) for change in changes]


def refused(what: Any, *arguments: Any, **options: Any) -> list[tuple[str, str]]:
    with pytest.raises(RegistrationError) as raised:
        what(*arguments, **options)
    assert str(raised.value).startswith(f"nothing was written: [{raised.value.findings[0].rule}]")
    again = pickle.loads(pickle.dumps(raised.value))
    assert again.findings == raised.value.findings
    return [(finding.rule, finding.message) for finding in raised.value.findings]


def test_ids_are_the_lowest_free_over_all_languages_and_java_is_written_first():
    """S-P11, S-P13."""
    there = catalog(java=[entry("a", 0), entry("c", 2)], python=[entry("a", 0, "python"), entry("c", 2, "python")])
    changes = registration(there, [plugin("new"), plugin("more")])
    assert brief(changes) == [("java", "new", 1), ("java", "more", 3), ("python", "new", 1), ("python", "more", 3)]
    assert check_rules(there.after(changes)) == []


def test_an_alias_keeps_its_id_and_what_is_registered_is_not_written_again():
    """S-P11."""
    there = catalog(java=[entry("a", 7)])
    assert brief(registration(there, [plugin("a")])) == [("python", "a", 7)]
    assert registration(there.after(registration(there, [plugin("a")])), [plugin("a")]) == []
    assert brief(registration(there, [plugin("a", "java", version="v1.1")])) == [("java", "a", 7)]


def test_a_cluster_has_at_most_16_plugins():
    """S-P3, S-P11."""
    there = catalog(java=[entry(f"a{number}", number) for number in range(16) if number != 9])
    assert brief(registration(there, [plugin("last", "java")])) == [("java", "last", 9)]
    [(rule, told)] = refused(registration, there, [plugin("last", "java"), plugin("more", "java")])
    assert (rule, told.split(":")[0]) == ("S-P11", "2 new plugins, and 1 free id")
    full = there.after(registration(there, [plugin("last", "java")]))
    assert refused(registration, full, [plugin("more", "java")])[0][0] == "S-P11"
    assert brief(registration(full, [plugin("last", "java", version="v1.9")])) == [("java", "last", 9)]


def test_an_id_can_be_asked_for_where_it_is_free():
    assert brief(registration(catalog(), [plugin("b", "java"), plugin("a", "java", plugin_id=0)])) == [("java", "b", 1), ("java", "a", 0)]
    there = catalog(java=[entry("a", 0)])
    assert refused(registration, there, [plugin("b", "java", plugin_id=0)])[0][0] == "S-P15"
    assert refused(registration, there, [plugin("a", "java", plugin_id=5)])[0][0] == "S-P11"
    assert refused(registration, catalog(), [plugin("a", "java", plugin_id=3), plugin("b", "java", plugin_id=3)])[0][0] == "S-P15"


def test_no_other_language_without_java():
    """S-P13, 2."""
    [(rule, told)] = refused(registration, catalog(), [plugin("a", "python")])
    assert (rule, "not for Java" in told) == ("S-P13", True)
    assert brief(registration(catalog(java=[entry("a", 4)]), [plugin("a", "python")])) == [("python", "a", 4)]


def test_a_new_plugin_has_all_languages_that_others_have_unless_it_is_said():
    """S-P13, 1."""
    there = catalog(java=[entry("a", 0)], python=[entry("a", 0, "python")])
    [(rule, told)] = refused(registration, there, [plugin("b", "java")])
    assert (rule, "no entry for python" in told) == ("S-P13", True)
    changes = registration(there, [plugin("b", "java")], partial=True)
    assert brief(changes) == [("java", "b", 1)]
    assert [(rule.rule, rule.severity) for rule in check_rules(there.after(changes))] == [("S-P13", "warning")]
    assert refused(registration, there, [plugin("b", "java"), plugin("c", "java", "go")])


def test_an_incompatible_update_is_a_new_plugin_unless_it_is_said_to_be_compatible():
    """S-P13, 4: a new version is allowed; a new major version, or another class under the same version, may be incompatible."""
    there = catalog(java=[entry("a", 0, version="v1.0")])
    assert brief(registration(there, [plugin("a", "java", version="1.9.2-beta")])) == [("java", "a", 0)]
    moved = Plugin("a", {"java": "org.other.Class"}, "v1.0")
    [(rule, told)] = refused(registration, there, [moved])
    assert rule == "S-P13"
    assert "'a' v1.0 has class" in told
    assert brief(registration(there, [moved], compatible=True)) == [("java", "a", 0)]
    assert brief(registration(there, [Plugin("a", {"java": "org.other.Class"}, "v1.1")])) == [("java", "a", 0)]
    [(rule, told)] = refused(registration, there, [plugin("a", "java", version="v2.0")])
    assert rule == "S-P13"
    assert "'a' v1.0 would become v2.0: an incompatible update must be a new plugin" in told
    assert brief(registration(there, [plugin("a", "java", version="v2.0")], compatible=True)) == [("java", "a", 0)]
    assert brief(registration(there, [plugin("a", "java", version="nightly")])) == [("java", "a", 0)]


def test_another_dictionary_is_another_plugin():
    """S-P13, COD-Z5: batches do not say with which dictionary they were written."""

    def trained(dictionary: str) -> Plugin:
        return Plugin("a", {"java": "a.B", "python": "a:B"}, "v1.0", extra={"dictionary": dictionary})

    there = catalog().after(registration(catalog(), [trained("AAAA")]))
    assert registration(there, [trained("AAAA")]) == []
    assert {rule for rule, _ in refused(registration, there, [trained("BBBB")])} == {"S-P13"}
    only_python = Plugin("a", {"python": "a:B"}, "v1.0", extra={"dictionary": "BBBB"})
    assert len(refused(registration, there, [only_python])) == 2
    assert len(registration(there, [trained("BBBB")], compatible=True)) == 2


def test_entries_of_one_alias_are_compatible_across_languages():
    """S-P13, 3."""
    both = plugin("a", version={"java": "v1.4", "python": "v2.0"})
    assert refused(registration, catalog(), [both])[0][0] == "S-P13"
    assert len(registration(catalog(), [both], compatible=True)) == 2
    assert len(registration(catalog(), [plugin("a", version={"java": "v1.4", "python": "v1.0"})])) == 2
    there = catalog(java=[entry("a", 0)])
    assert refused(registration, there, [plugin("a", "python", version="v3")])[0][0] == "S-P13"


def with_dictionary(language: str, dictionary: Any, version: str = "v1.0") -> Entry:
    return Entry(0, "a", f"{language}.a", version, {"dictionary": dictionary})


@pytest.mark.parametrize(
    ("java", "python", "expected"),
    [
        (entry("a", 0, version="v1.4"), entry("a", 0, "python", "v2"), [("warning", "pluginVersion", "v1.4 for java and v2 for python")]),
        (entry("a", 0, version="v1.4"), entry("a", 0, "python", "v1.0"), []),
        (entry("a", 0, version="nightly"), entry("a", 0, "python", "v3"), []),
        (
            with_dictionary("java", "AAAA"),
            with_dictionary("python", "BBBB"),
            [("error", "dictionary", "one dictionary for java and another for python")],
        ),
        (with_dictionary("java", "AAAA"), with_dictionary("python", "AAAA"), []),
        # The same bytes in base64, of which the last character's lowest bits say nothing.
        (with_dictionary("java", "AA=="), with_dictionary("python", "AB=="), []),
        (with_dictionary("java", "no base64"), with_dictionary("python", "nor this"), [("error", "dictionary", "one dictionary")]),
        (with_dictionary("java", 3), with_dictionary("python", [3]), [("error", "dictionary", "one dictionary")]),
        (with_dictionary("java", "AAAA"), entry("a", 0, "python"), []),
        (
            with_dictionary("java", "AAAA"),
            with_dictionary("python", "BBBB", "v2"),
            [("warning", "pluginVersion", "v1.0 for java and v2 for python"), ("error", "dictionary", "one dictionary")],
        ),
    ],
)
def test_what_is_registered_and_differs_between_languages_is_a_finding(java: Entry, python: Entry, expected: list[tuple[str, str, str]]):
    """S-P13, 3: an administrator may have said that versions are compatible; dictionaries that differ never are."""
    findings = check_rules(catalog(java=[java], python=[python]))
    assert [(finding.rule, finding.path, finding.severity, finding.field) for finding in findings] == [
        ("S-P13", "plugin-python-topic", severity, field) for severity, field, _ in expected
    ]
    for finding, (_, _, said) in zip(findings, expected, strict=True):
        assert said in finding.message
        assert finding.message.endswith("all entries of an alias must be compatible")


def test_what_differs_already_does_not_block_other_aliases_and_can_be_mended():
    """S-P13, 3."""
    there = catalog(java=[with_dictionary("java", "AAAA")], python=[with_dictionary("python", "BBBB")])
    assert brief(registration(there, [plugin("b")])) == [("java", "b", 1), ("python", "b", 1)]
    mending = Plugin("a", {"python": "python.a"}, "v1.0", extra={"dictionary": "AAAA"})
    [(rule, told)] = refused(registration, there, [mending])
    assert (rule, "'a' v1.0 would get another dictionary: an incompatible update must be a new plugin" in told) == ("S-P13", True)
    assert check_rules(there.after(registration(there, [mending], compatible=True))) == []


@pytest.mark.parametrize("alias", [*BUILT_IN, "GZIP", "plugin:3", "two words", "tab\t", "x" * 201, "nul\0"])
def test_no_alias_is_a_built_in_name_or_no_name(alias: str):
    """S-P14."""
    assert {rule for rule, _ in refused(registration, catalog(), [plugin(alias)])} == {"S-P14"}


def test_all_or_nothing_and_every_error_is_reported():
    """S-P16."""
    faults = refused(registration, catalog(), [plugin("good"), plugin("gzip"), plugin("lonely", "python"), plugin("C", "java", "C++")])
    assert [rule for rule, _ in faults] == ["S-P9", "S-P14", *["S-P13"] * 5]
    assert refused(registration, catalog(), [plugin("a"), plugin("a")]) == [("S-P15", "'a' is 2 times in the list")]


def test_what_is_wrong_already_has_to_be_mended_first():
    broken = catalog(java=[entry("a", 3), entry("b", 3)], python=[entry("a", 4, "python"), entry("c", 5, "python")])
    assert [finding.rule for finding in check_rules(broken) if finding.severity == "error"] == ["S-P11", "S-P13", "S-P15"]
    assert {rule for rule, _ in refused(registration, broken, [plugin("new")])} == {"S-P11", "S-P13", "S-P15"}
    mended = broken.after(removal(broken, ["b", "c"]))
    assert brief(registration(mended, [plugin("a")])) == [("python", "a", 3)]


def test_removal_takes_java_last_and_leaves_no_other_behind():
    """S-P12, S-P13."""
    there = catalog(java=[entry("a", 0), entry("b", 1)], python=[entry("a", 0, "python")], go=[entry("a", 0, "go")])
    assert brief(removal(there, ["a"])) == [("python", "a", None), ("go", "a", None), ("java", "a", None)]
    assert brief(removal(there, ["a", "a"], "go")) == [("go", "a", None)]
    assert refused(removal, there, ["a"], "java")[0][0] == "S-P13"
    assert refused(removal, there, ["b", "nobody"]) == [("S-P12", "'nobody' is not registered")]
    assert there.after(removal(there, ["a"])).aliases() == ["b"]


def built(*records: tuple[str, bytes | None, bytes | None]) -> Catalog:
    return Catalog.of_records([Record(*record, offset) for offset, record in enumerate(records)], {language for language, _, _ in records})


def test_of_each_key_the_last_record_counts_and_null_removes_it():
    """S-P12."""
    first, second = entry("a", 0).to_json().encode(), entry("a", 0, version="v1.1").to_json().encode()
    found = built(("java", b"a", first), ("java", b"b", entry("b", 1).to_json().encode()), ("java", b"a", second), ("java", b"b", None))
    assert found == catalog(java=[entry("a", 0, version="v1.1")])
    assert built(("java", b"a", first), ("java", b"a", None)) == catalog(java=[])


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (b"a", b"{", "key 'a': the value is not JSON"),
        (b"a", b"", "key 'a': the value is not JSON"),
        (b"a", json.dumps(entry("a", 0).to_dict() | {"pluginID": 16}).encode(), "pluginID is 16, not 0 to 15"),
        (b"b", entry("a", 0).to_json().encode(), "pluginAlias is 'a', but the key is 'b'"),
        (b"\xff", entry("a", 0).to_json().encode(), r"but the key is '\udcff'"),
        (None, entry("a", 0).to_json().encode(), "no key: a record without a key"),
        (None, None, "no key: a record without a key"),
    ],
)
def test_damage_is_a_finding_that_blocks_registration_until_it_is_mended(key: bytes | None, value: bytes | None, said: str):
    """S-P15: nobody knows which id a damaged entry had."""
    there = built(("java", key, value))
    [finding] = check_rules(there)
    assert (finding.rule, finding.severity, finding.path, finding.base_offset) == ("S-P15", "error", "plugin-java-topic", 0)
    assert said in finding.message
    assert refused(registration, there, [plugin("new")])[0][0] == "S-P15"
    if key is not None:
        alias = key.decode("utf-8", "surrogateescape")
        assert brief(removal(there, [alias])) == [("java", alias, None)]
        assert there.after(removal(there, [alias])) == catalog(java=[])


@pytest.mark.parametrize(
    ("replicas", "most", "expected"), [(1, 1, []), (1, 2, ["1 of 2"]), (2, 2, []), (2, 3, ["2 of 3"]), (3, 3, []), (5, 3, [])]
)
def test_too_few_replicas_are_a_warning(replicas: int, most: int, expected: list[str]):
    """S-P9."""
    findings = list(check_topic("python", "compact", replicas, most))
    assert [(finding.rule, finding.severity, finding.path, finding.field) for finding in findings] == [
        ("S-P9", "warning", "plugin-python-topic", "replication.factor") for _ in expected
    ]
    assert [finding.message for finding in findings] == [
        f"plugin-python-topic has {part} possible replicas: the loss of a broker can lose it" for part in expected
    ]


@pytest.mark.parametrize("policy", ["delete", "compact,delete", "delete,compact", ""])
def test_a_topic_that_deletes_entries_by_age_is_an_error(policy: str):
    """S-P12."""
    [finding] = check_topic("python", policy, 1, 1)
    assert (finding.rule, finding.severity, finding.path, finding.field) == ("S-P12", "error", "plugin-python-topic", "cleanup.policy")
    assert repr(policy) in finding.message


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"pluginAlias": "a", "pluginVersion": "v1"}, "pluginClassName is missing"),
        ({"pluginAlias": "a", "pluginClassName": "x.Y", "pluginVersion": "v1"}, "must name a class for each language"),
        ({"pluginAlias": "a", "pluginClassName": {}, "pluginVersion": "v1"}, "must name a class for each language"),
        ({"pluginAlias": "a", "pluginClassName": {3: "x.Y"}, "pluginVersion": "v1"}, "the language 3 is not a string"),
        ({"pluginAlias": "a", "pluginClassName": BOTH, "pluginVersion": 1.0}, "pluginVersion is a number with a fraction"),
        ({"pluginAlias": "a", "pluginClassName": BOTH, "pluginVersion": {"java": "v1"}}, "pluginVersion is missing for python"),
        ({"pluginAlias": "a", "pluginClassName": BOTH, "pluginVersion": "v1", "pluginID": 16}, "not 0 to 15"),
        ({"pluginAlias": "a", "pluginClassName": BOTH, "pluginVersion": "v1", "since": {1, 2}}, "an extra field is not valid JSON"),
        ({"pluginAlias": "a", "pluginClassName": BOTH, "pluginVersion": "v1", "note": "\ud800"}, "an extra field is not valid JSON"),
        (["a"], "is not a plugin"),
    ],
)
def test_what_is_no_plugin_is_refused(fields: Any, said: str):
    with pytest.raises(EntryError, match=said):
        Plugin.from_dict(fields)
