"""The entries of all languages in a registry, and its damaged records.

The records of a file or of topics go in, and a `Catalog` comes out. The rules between entries are in `rules`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from logsegment._core import Finding
from logsegment.plugins.entry import Entry, EntryError

#: The topic of a registry: one for each language of clients (S-P9).
_TOPIC = re.compile(r"plugin-([A-Za-z0-9._-]+)-topic")


def topic_of(language: str) -> str:
    """Return the topic of a language (S-P9)."""
    return f"plugin-{language}-topic"


def language_of(topic: str | None) -> str | None:
    """Return the language of a topic; None if it is not the topic of a registry."""
    match = _TOPIC.fullmatch(topic or "")
    return match and match[1]


def java_first(language: str) -> tuple[bool, str]:
    """Return the key by which languages are sorted. Java is first: brokers read its entries."""
    return (language != "java", language)


class RegistryError(OSError):
    """Raised if a registry cannot be read or written, or if its entry of a plugin cannot be trusted."""


class Record(NamedTuple):
    """A record of a registry: one of a topic, or an entry of a file.

    Attributes:
        language: that of its topic.
        key: the alias.
        value: JSON, in bytes or parsed; None removes the alias.
        offset: in the topic.
    """

    language: str
    key: str | bytes | None
    value: Any
    offset: int | None = None


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
    ends: Mapping[str, int] = field(default_factory=dict, compare=False)

    @classmethod
    def of_records(cls, records: Iterable[Record], languages: Iterable[str], ends: Mapping[str, int] | None = None) -> Catalog:
        """Build a catalog from records in the order of their offsets: the last record of a key counts (S-P12).

        Args:
            records: the records.
            languages: all languages, also those without records.
            ends: see `Catalog`.
        """
        latest: dict[tuple[str, str | None], Record] = {}
        for record in records:
            # A key that is not UTF-8 keeps its bytes, so that it can be removed.
            alias = record.key.decode("utf-8", "surrogateescape") if isinstance(record.key, bytes) else record.key
            latest.pop((record.language, alias), None)
            if record.value is not None or alias is None:
                latest[record.language, alias] = record
        entries: dict[str, dict[str, Entry]] = {language: {} for language in languages}
        damaged = []
        for (language, alias), record in latest.items():
            try:
                entry = _parsed(alias, record.value)
            except EntryError as error:
                damaged.append(DamagedEntry(language, alias, error.message, error.field, record.offset))
            else:
                entries[language][entry.alias] = entry
        return cls(entries, tuple(damaged), ends or {})

    def of(self, alias: str) -> dict[str, Entry]:
        """Return the entries of one alias by language, Java first."""
        languages = sorted(self.languages, key=java_first)
        return {language: self.languages[language][alias] for language in languages if alias in self.languages[language]}

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
        """Return the languages that have a record of this key, damaged or not, Java first."""
        damaged = {entry.language for entry in self.damaged if entry.alias == alias}
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
        return Catalog(languages, tuple(entry for entry in self.damaged if (entry.language, entry.alias) not in written))


def _parsed(alias: str | None, value: Any) -> Entry:
    if alias is None:
        raise EntryError("a record without a key is not an entry, and compaction keeps it")
    return Entry.from_json(value, alias) if isinstance(value, bytes) else Entry.from_dict(value, alias)


class TrustedEntries:
    """The entries of one language that can be trusted, and the reasons against the others.

    Attributes:
        end: the offset to which they were read; a larger one is newer.
    """

    def __init__(self, language: str, catalog: Catalog) -> None:
        self.end = catalog.ends.get(language, 0)
        entries = catalog.languages.get(language, {}).values()
        holders = Counter(entry.plugin_id for entry in entries)
        self._entries: dict[int | str, Entry] = {}
        self._errors: dict[int | str | None, str] = {}
        topic = topic_of(language)
        for damaged in catalog.damaged:
            if damaged.language == language:
                offset = "" if damaged.offset is None else f", offset {damaged.offset}"
                self._errors[damaged.alias] = f"{topic}{offset}: {damaged.finding.message}"
        for entry in entries:
            if holders[entry.plugin_id] == 1:
                self._entries |= {entry.plugin_id: entry, entry.alias: entry}
                continue
            names = " and ".join(repr(other.alias) for other in entries if other.plugin_id == entry.plugin_id)
            text = f"{topic}: id {entry.plugin_id} is that of {names}, and batches name only the id"
            self._errors |= {entry.plugin_id: text, entry.alias: text}

    def get(self, name: int | str) -> Entry | None:
        """Return the entry with this id or alias."""
        return self._entries.get(name)

    def in_order(self) -> list[Entry]:
        """Return the entries in the order of their ids."""
        return [self._entries[plugin_id] for plugin_id in sorted(name for name in self._entries if isinstance(name, int))]

    def ensure_absent(self, name: int | str) -> None:
        """Raise an error if an id or alias without an entry may be that of a damaged entry."""
        text = self._errors.get(name)
        if text is not None:
            raise RegistryError(text)
        if isinstance(name, int) and self._errors:
            raise RegistryError(f"no readable entry has id {name}; {next(iter(self._errors.values()))}")
