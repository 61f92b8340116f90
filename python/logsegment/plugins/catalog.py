"""The entries of all languages in a registry, and its damaged records.

The last record of each key goes in, from a topic or a file, and a `Catalog` comes out. The rules between entries are in `rules`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from logsegment._core import Finding
from logsegment.plugins.entry import Entry, EntryError

#: A registry's topic: one for each language of clients (S-P9).
TOPIC = re.compile(r"plugin-([A-Za-z0-9._-]+)-topic")


def topic_of(language: str) -> str:
    """Return the topic of a language (S-P9)."""
    return f"plugin-{language}-topic"


def language_of(topic: str) -> str | None:
    """Return the language of a topic; None if it is not the topic of a registry."""
    found = TOPIC.fullmatch(topic)
    return found and found[1]


@dataclass(frozen=True)
class Change:
    """One record to be written.

    Attributes:
        language: of the registry.
        alias: its key.
        entry: its value; None removes the alias.
        before: the entry that it replaces; None if there is none, or none that can be read.
    """

    language: str
    alias: str
    entry: Entry | None
    before: Entry | None = None


@dataclass(frozen=True)
class DamagedEntry:
    """A record that is not a valid entry. `alias` is its key (None if it has none), `offset` its offset in the topic."""

    language: str
    alias: str | None
    message: str
    field: str | None = None
    offset: int | None = None

    @property
    def finding(self) -> Finding:
        """Return the damage as a finding."""
        key = "no key" if self.alias is None else f"key {self.alias!r}"
        return Finding("S-P15", "error", f"{key}: {self.message}", topic_of(self.language), 0, 0, base_offset=self.offset, field=self.field)


@dataclass(frozen=True)
class Catalog:
    """The entries of all languages.

    Attributes:
        languages: language -> alias -> entry; an empty registry has an empty dict.
        damaged: records that are not valid entries.
        ends: language -> the offset after the last record of its topic, if there are topics.
    """

    languages: dict[str, dict[str, Entry]] = field(default_factory=dict)
    damaged: tuple[DamagedEntry, ...] = ()
    ends: dict[str, int] = field(default_factory=dict, compare=False)

    def of(self, alias: str) -> dict[str, Entry]:
        """Return the entries of one alias, by language."""
        return {language: entries[alias] for language, entries in self.languages.items() if alias in entries}

    def aliases(self) -> list[str]:
        """Return all aliases that have an entry, sorted."""
        return sorted({alias for entries in self.languages.values() for alias in entries})

    def each(self) -> Iterator[tuple[str, Entry]]:
        """Yield each entry with its language, Java first."""
        for language in sorted(self.languages, key=java_first):
            for alias in sorted(self.languages[language]):
                yield language, self.languages[language][alias]

    def ids(self) -> set[int]:
        """Return the ids in use."""
        return {entry.plugin_id for _, entry in self.each()}

    def holds(self, alias: str) -> list[str]:
        """Return the languages that have a record of this key, damaged or not."""
        damaged = {plugin.language for plugin in self.damaged if plugin.alias == alias}
        return sorted(damaged | self.of(alias).keys(), key=java_first)

    def after(self, changes: Iterable[Change]) -> Catalog:
        """Return the catalog after these changes."""
        languages = {language: dict(entries) for language, entries in self.languages.items()}
        written = set()
        for change in changes:
            entries = languages.setdefault(change.language, {})
            entries.pop(change.alias, None)
            if change.entry is not None:
                entries[change.alias] = change.entry
            written.add((change.language, change.alias))
        return Catalog(languages, tuple(plugin for plugin in self.damaged if (plugin.language, plugin.alias) not in written))


class CatalogBuilder:
    """Builds a catalog from records in the order of their offsets: the last record of a key counts (S-P12)."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str | None, tuple[object, int | None]]] = {}
        self._ends: dict[str, int] = {}

    def language(self, language: str) -> None:
        """Add a language, which may have no entries."""
        self._records.setdefault(language, {})

    def add(self, language: str, key: bytes | None, value: bytes | None, offset: int | None = None) -> None:
        """Add a record of a topic; a value of None removes its key."""
        # A key that is not UTF-8 keeps its bytes, so that it can be removed.
        self.put(language, None if key is None else key.decode("utf-8", "surrogateescape"), value, offset)

    def put(self, language: str, alias: str | None, value: object, offset: int | None = None) -> None:
        """Add a record with JSON, in bytes or parsed, as its value; None removes its key."""
        records = self._records.setdefault(language, {})
        records.pop(alias, None)
        if value is not None or alias is None:
            records[alias] = (value, offset)

    def end(self, language: str, offset: int) -> None:
        """Set the offset to which a topic was read."""
        self._ends[language] = offset

    def finish(self) -> Catalog:
        """Parse the records that remain."""
        catalog, damaged = Catalog(), []
        for language, records in self._records.items():
            entries = catalog.languages.setdefault(language, {})
            for alias, (value, offset) in records.items():
                try:
                    entry = _parsed(alias, value)
                except EntryError as error:
                    damaged.append(DamagedEntry(language, alias, error.message, error.field, offset))
                else:
                    entries[entry.alias] = entry
        return Catalog(catalog.languages, tuple(damaged), self._ends)


def java_first(language: str) -> tuple[bool, str]:
    """Return the key by which languages are sorted. Java is first: brokers read its entries."""
    return (language != "java", language)


def found(rule: str, message: str, language: str, *, severity: str = "error", field: str | None = None) -> Finding:
    """Return a finding about the registry of a language."""
    return Finding(rule, severity, message, topic_of(language), 0, 0, field=field)


def _parsed(alias: str | None, value: object) -> Entry:
    if alias is None:
        raise EntryError("a record without a key is not an entry, and compaction keeps it")
    return Entry.from_json(value, alias) if isinstance(value, bytes) else Entry.from_dict(value, alias)


class RegistryError(OSError):
    """Raised if a registry cannot be read or written, or if its entry of a plugin cannot be trusted."""


class KnownEntries:
    """The entries of one language that can be trusted, and the reasons of the others.

    Attributes:
        end: the offset to which they were read; a larger one is newer.
    """

    def __init__(self, language: str, catalog: Catalog) -> None:
        self.end = catalog.ends.get(language, 0)
        entries = catalog.languages.get(language, {}).values()
        holders = Counter(entry.plugin_id for entry in entries)
        self._ids = {entry.plugin_id: entry for entry in entries if holders[entry.plugin_id] == 1}
        self._aliases = {entry.alias: entry for entry in self._ids.values()}
        self._errors: dict[int | str | None, str] = {}
        place = topic_of(language)
        for plugin in catalog.damaged:
            where = "" if plugin.offset is None else f", offset {plugin.offset}"
            self._errors[plugin.alias] = f"{place}{where}: {plugin.finding.message}"
        for plugin_id in (number for number, count in holders.items() if count > 1):
            names = " and ".join(repr(entry.alias) for entry in entries if entry.plugin_id == plugin_id)
            text = f"{place}: id {plugin_id} is that of {names}, and batches name only the id"
            self._errors |= {plugin_id: text} | {entry.alias: text for entry in entries if entry.plugin_id == plugin_id}

    def by_id(self, plugin_id: int) -> Entry | None:
        """Return the entry with this id."""
        return self._ids.get(plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Return the entry with this alias."""
        return self._aliases.get(alias)

    def entries(self) -> list[Entry]:
        """Return the entries that can be trusted, in the order of their ids."""
        return [self._ids[plugin_id] for plugin_id in sorted(self._ids)]

    def ensure_sound(self, name: int | str) -> None:
        """Raise an error if a name that was not found may be that of a damaged entry."""
        text = self._errors.get(name)
        if text is not None:
            raise RegistryError(text)
        if isinstance(name, int) and self._errors:
            raise RegistryError(f"no readable entry has id {name}; {next(iter(self._errors.values()))}")
