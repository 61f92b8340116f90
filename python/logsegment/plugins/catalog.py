"""The entries of all languages at one time, and what is damaged among them.

Goes in: the last record of each key, as a topic or a file has it. Comes out: a `Catalog`. What entries must be to each other is told by
`rules`.
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
    """Name the topic of a language (S-P9)."""
    return f"plugin-{language}-topic"


def language_of(topic: str) -> str | None:
    """Tell whose registry a topic is; None when it is none."""
    found = TOPIC.fullmatch(topic)
    return found and found[1]


@dataclass(frozen=True)
class Change:
    """One record to be written.

    Attributes:
        language: whose registry it goes to.
        alias: its key.
        entry: its value; None removes the alias.
        before: what stands there now; None when nothing does, or nothing that can be read.
    """

    language: str
    alias: str
    entry: Entry | None
    before: Entry | None = None


@dataclass(frozen=True)
class Damaged:
    """A record that is no entry. `alias` is its key (None when it has none), `offset` its offset in the topic."""

    language: str
    alias: str | None
    message: str
    field: str | None = None
    offset: int | None = None

    @property
    def finding(self) -> Finding:
        """The damage as a finding."""
        return found("S-P15", f"{_key(self.alias)}: {self.message}", self.language, offset=self.offset, field=self.field)


@dataclass(frozen=True)
class Catalog:
    """What all languages have registered.

    Attributes:
        languages: language -> alias -> entry; a language whose registry is there and empty has an empty dict.
        damaged: records that are no entries.
        ends: language -> the offset behind the last record of its topic, where there are topics.
    """

    languages: dict[str, dict[str, Entry]] = field(default_factory=dict)
    damaged: tuple[Damaged, ...] = ()
    ends: dict[str, int] = field(default_factory=dict, compare=False)

    def of(self, alias: str) -> dict[str, Entry]:
        """The entries of one alias, by language."""
        return {language: entries[alias] for language, entries in self.languages.items() if alias in entries}

    def aliases(self) -> list[str]:
        """All aliases that have an entry, sorted."""
        return sorted({alias for entries in self.languages.values() for alias in entries})

    def each(self) -> Iterator[tuple[str, Entry]]:
        """Every entry with its language, Java first."""
        for language in sorted(self.languages, key=java_first):
            for alias in sorted(self.languages[language]):
                yield language, self.languages[language][alias]

    def ids(self) -> set[int]:
        """The ids in use."""
        return {entry.plugin_id for _, entry in self.each()}

    def holds(self, alias: str) -> list[str]:
        """The languages that have a record of this key, damaged or not."""
        damaged = {one.language for one in self.damaged if one.alias == alias}
        return sorted(damaged | self.of(alias).keys(), key=java_first)

    def after(self, changes: Iterable[Change]) -> Catalog:
        """The catalog as it is when these are written."""
        languages = {language: dict(entries) for language, entries in self.languages.items()}
        written = set()
        for change in changes:
            entries = languages.setdefault(change.language, {})
            entries.pop(change.alias, None)
            if change.entry is not None:
                entries[change.alias] = change.entry
            written.add((change.language, change.alias))
        return Catalog(languages, tuple(one for one in self.damaged if (one.language, one.alias) not in written))


class CatalogBuilder:
    """A catalog from records, in the order of their offsets: of each key the last one counts (S-P12)."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str | None, tuple[object, int | None]]] = {}
        self._ends: dict[str, int] = {}

    def language(self, language: str) -> None:
        """Name a language whose registry is there, also when it is empty."""
        self._records.setdefault(language, {})

    def add(self, language: str, key: bytes | None, value: bytes | None, offset: int | None = None) -> None:
        """Take a topic's record; a value of None removes its key."""
        # A key that is not UTF-8 keeps its bytes, so that it can be removed.
        self.put(language, None if key is None else key.decode("utf-8", "surrogateescape"), value, offset)

    def put(self, language: str, alias: str | None, value: object, offset: int | None = None) -> None:
        """Take a record whose value is JSON in bytes, or what JSON holds; None removes its key."""
        records = self._records.setdefault(language, {})
        records.pop(alias, None)
        if value is not None or alias is None:
            records[alias] = (value, offset)

    def end(self, language: str, offset: int) -> None:
        """Note that a topic was read to its end."""
        self._ends[language] = offset

    def finish(self) -> Catalog:
        """Parse what is left."""
        catalog, damaged = Catalog(), []
        for language, records in self._records.items():
            entries = catalog.languages.setdefault(language, {})
            for alias, (value, offset) in records.items():
                try:
                    entry = _parsed(alias, value)
                except EntryError as error:
                    damaged.append(Damaged(language, alias, error.message, error.field, offset))
                else:
                    entries[entry.alias] = entry
        return Catalog(catalog.languages, tuple(damaged), self._ends)


def java_first(language: str) -> tuple[bool, str]:
    """Sort languages: brokers read Java's entries, so no other may be there before."""
    return (language != "java", language)


def found(
    rule: str, message: str, language: str, *, severity: str = "error", offset: int | None = None, field: str | None = None
) -> Finding:
    """Make a finding about a language's registry; `offset` is that of its record in the topic."""
    return Finding(rule, severity, message, topic_of(language), 0, 0, base_offset=offset, field=field)


def _parsed(alias: str | None, value: object) -> Entry:
    if alias is None:
        raise EntryError("a record without a key is no entry, and is never compacted away")
    return Entry.from_json(value, alias) if isinstance(value, bytes) else Entry.from_dict(value, alias)


def _key(alias: str | None) -> str:
    return "no key" if alias is None else f"key {alias!r}"


class RegistryError(OSError):
    """The registry cannot be read or written, or what stands there about a plugin cannot be trusted."""


class Known:
    """One language's entries as they were read, with what cannot be trusted among them.

    Attributes:
        end: how far they were read; more is newer.
    """

    def __init__(self, language: str, catalog: Catalog) -> None:
        self.end = catalog.ends.get(language, 0)
        entries = catalog.languages.get(language, {}).values()
        holders = Counter(entry.plugin_id for entry in entries)
        self._ids = {entry.plugin_id: entry for entry in entries if holders[entry.plugin_id] == 1}
        self._aliases = {entry.alias: entry for entry in self._ids.values()}
        self._faults: dict[int | str | None, str] = {}
        place = topic_of(language)
        for one in catalog.damaged:
            where = "" if one.offset is None else f", offset {one.offset}"
            self._faults[one.alias] = f"{place}{where}: {one.finding.message}"
        for plugin_id in (number for number, count in holders.items() if count > 1):
            names = " and ".join(repr(entry.alias) for entry in entries if entry.plugin_id == plugin_id)
            told = f"{place}: id {plugin_id} is that of {names}, and batches do not say which was meant"
            self._faults |= {plugin_id: told} | {entry.alias: told for entry in entries if entry.plugin_id == plugin_id}

    def by_id(self, plugin_id: int) -> Entry | None:
        """The entry with this id."""
        return self._ids.get(plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """The entry with this alias."""
        return self._aliases.get(alias)

    def entries(self) -> list[Entry]:
        """All that can be trusted, in the order of their ids."""
        return [self._ids[plugin_id] for plugin_id in sorted(self._ids)]

    def ensure_sound(self, name: int | str) -> None:
        """Refuse to call a name unknown when what was damaged may have known it."""
        told = self._faults.get(name)
        if told is not None:
            raise RegistryError(told)
        if isinstance(name, int) and self._faults:
            raise RegistryError(f"no readable entry has id {name}; {next(iter(self._faults.values()))}")
