"""Entries of the plugin registry: their JSON, what is refused in it, and the registry in memory (rules S-P3, S-P10, S-P15)."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from logsegment.plugins import Entry, EntryError, MemoryRegistry, Registry

FAST = Entry(3, "fast", "example.fast:Codec", "v1.0")
FIELDS = {"pluginID": 3, "pluginAlias": "fast", "pluginClassName": "example.fast:Codec", "pluginVersion": "v1.0"}


def changed(**fields: Any) -> bytes:
    return json.dumps({name: value for name, value in (FIELDS | fields).items() if value is not ...}).encode()


def test_json_has_the_names_of_the_proposal_and_keeps_other_members():
    """S-P10."""
    assert Entry.from_json(changed(), "fast") == FAST
    assert json.loads(FAST.to_json()) == FIELDS
    more = {"vendor": "Ünser", "levels": [1, 9], "pluginid": 7, "deep": {"null": None}}
    entry = Entry.from_json(changed(**more), "fast")
    assert entry.extra == more
    assert json.loads(entry.to_json()) == FIELDS | more
    assert Entry.from_json(entry.to_json()) == entry


@pytest.mark.parametrize("plugin_id", [0, 15])
def test_ids_are_4_bits(plugin_id: int):
    """S-P3."""
    assert Entry.from_json(changed(pluginID=plugin_id)).plugin_id == plugin_id


@pytest.mark.parametrize(
    ("value", "field", "said"),
    [
        (changed(pluginID=16), "pluginID", "pluginID is 16, not 0 to 15"),
        (changed(pluginID=-1), "pluginID", "pluginID is -1, not 0 to 15"),
        (changed(pluginID=10**400), "pluginID", "more than 64 bits"),
        (changed(pluginID=True), "pluginID", "pluginID is a boolean, not an integer"),
        (changed(pluginID=3.0), "pluginID", "a number with a fraction"),
        (changed(pluginID="3"), "pluginID", "a string, not an integer"),
        (changed(pluginID=...), "pluginID", "pluginID is missing"),
        (changed(pluginAlias="other"), "pluginAlias", "pluginAlias is 'other', but the key is 'fast'"),
        (changed(pluginAlias="\ud800"), "pluginAlias", "lone surrogate"),
        (changed(pluginClassName=None), "pluginClassName", "pluginClassName is null, not a string"),
        (changed(pluginClassName=""), "pluginClassName", "pluginClassName is empty"),
        (changed(pluginVersion=1.5), "pluginVersion", "not a string"),
        (changed(pluginVersion=...), "pluginVersion", "pluginVersion is missing"),
        (b"[3]", None, "the value is an array, not an object"),
        (b"null", None, "the value is null, not an object"),
        (b"", None, "the value is not JSON"),
        (b'{"pluginID": 3', None, "the value is not JSON"),
        (b'{"a": "\xff"}', None, "byte 7 is not UTF-8"),
        (changed(ratio=float("nan")), None, "NaN is not a JSON number"),
        (b"[" * 200_000, None, "the value is not JSON"),
    ],
)
def test_what_is_no_entry_is_refused_with_its_field(value: bytes, field: str | None, said: str):
    """S-P15."""
    with pytest.raises(EntryError) as raised:
        Entry.from_json(value, "fast")
    assert raised.value.field == field
    assert said in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.field, again.rule) == (str(raised.value), field, "S-P15")


def test_an_entry_that_is_made_is_held_to_the_same_rules():
    with pytest.raises(EntryError, match="not 0 to 15"):
        Entry(16, "fast", "a:B", "v1")
    with pytest.raises(EntryError, match="not an extra field"):
        Entry(1, "fast", "a:B", "v1", {"pluginVersion": "v2"})
    with pytest.raises(ValueError, match="JSON"):
        Entry(1, "fast", "a:B", "v1", {"ratio": float("inf")}).to_json()
    assert hash(Entry(3, "fast", "example.fast:Codec", "v1.0", {"a": []})) == hash(FAST)


def test_an_entry_is_shown_short_whatever_its_dictionary():
    entry = Entry(3, "fast", "example.fast:Codec", "v1.0", {"dictionary": "A" * 100_000, "level": 3})
    assert repr(entry).startswith(
        "Entry(plugin_id=3, alias='fast', class_name='example.fast:Codec', version='v1.0', extra={'dictionary': 'AAA"
    )
    assert repr(entry).endswith("AAA', 'level': 3})")
    assert len(repr(entry)) < 200
    assert repr(Entry(0, "a\x1b", "b", "c")) == r"Entry(plugin_id=0, alias='a\x1b', class_name='b', version='c', extra={})"


def test_a_registry_in_memory_finds_by_id_and_alias():
    other = Entry(0, "small", "example.small:Codec", "v2")
    registry = MemoryRegistry([FAST, other])
    assert isinstance(registry, Registry)
    assert (registry.by_id(3), registry.by_alias("small"), registry.by_id(1), registry.by_alias("Fast")) == (FAST, other, None, None)
    registry.refresh()
    assert pickle.loads(pickle.dumps(registry)).entries() == registry.entries() == [other, FAST]


@pytest.mark.parametrize("clash", [Entry(3, "other", "a:B", "v1"), Entry(4, "fast", "a:B", "v1")])
def test_two_entries_of_one_id_or_alias_are_no_registry(clash: Entry):
    with pytest.raises(ValueError, match="cannot be in one registry"):
        MemoryRegistry([FAST, clash])
