"""What a registry's clients of one language know of it, and the error of what they cannot."""

from __future__ import annotations

from collections import Counter

from logsegment.plugins.catalog import Catalog, topic_of
from logsegment.plugins.entries import Entry


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
