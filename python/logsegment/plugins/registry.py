"""A registry of plugins as the clients of one language see it: look-ups, and the operations of an administrator.

`Registry` is the same for all stores: a file (`FileRegistry`), the topics of a cluster (`TopicRegistry`), segments of these topics
(`Registry.from_log`), or entries that the caller gives (`MemoryRegistry`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Self, TypeVar

from logsegment._core import Finding
from logsegment._options import CodecRegistry
from logsegment.plugins import rules
from logsegment.plugins.catalog import Catalog, Change, RegistryError
from logsegment.plugins.entry import Entry, Plugin
from logsegment.plugins.loading import ANY, patterns
from logsegment.plugins.lookup import Lookup, Plan, Store

T = TypeVar("T")


class Registry:
    """The plugins of the clients of one language.

    Each call that takes `codecs=` takes a registry, or another object with its methods `by_id` and `by_alias`. An attribute `allow` of such
    an object has the patterns of modules that its entries may name; without it they may name installed codecs only.

    Entries are read once and kept. An unknown id or alias makes the registry read them again. A registry may be used from several threads.
    It is pickled with the entries that it has read.

    Args:
        store: where the records are.
        language: whose entries are found.
        allow: patterns of Python modules that entries may name: `package.*` is the package and all modules in it. Without it only
            codecs of logsegment and those that installed packages offer as entry points of the group `logsegment.codecs` are loaded.

    Raises:
        ValueError: if `language` is not a name of a language.
        TypeError: if `allow` is not a list of strings.
    """

    def __init__(self, store: Store, language: str = "python", *, allow: Iterable[str] = ()) -> None:
        rules.ensure_language(language)
        self.language = language
        #: Patterns of modules that entries may name.
        self.allow = patterns(allow)
        self._lookup = Lookup(store)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._lookup.store.name!r}, {self.language!r})"

    def in_language(self, language: str) -> Self:
        """Return the same registry for another language, such as that of the brokers ("java").

        Args:
            language: of the entries.

        Raises:
            ValueError: if `language` is not a name of a language.

        Example:
            >>> from logsegment.plugins import FileRegistry
            >>> FileRegistry("plugins.json").in_language("java").language
            'java'
        """
        rules.ensure_language(language)
        other = copy(self)
        other.language = language
        return other

    def by_id(self, plugin_id: int) -> Entry | None:
        """Return the plugin with an id.

        Returns:
            The entry; None if no plugin has this id.

        Raises:
            RegistryError: if the registry cannot be read, if two plugins have this id, or if it may be the id of a damaged entry.
        """
        return self._lookup.find(self.language, plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Return the plugin with an alias.

        Returns:
            The entry; None if no plugin has this alias.

        Raises:
            RegistryError: if the registry cannot be read, or if the entry is damaged or shares its id with another.
        """
        return self._lookup.find(self.language, alias)

    def entries(self) -> list[Entry]:
        """Return all plugins of this language, in the order of their ids.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        return self._lookup.entries(self.language).in_order()

    def refresh(self) -> None:
        """Read the registry again.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        self._lookup.refresh(self.language)

    def catalog(self) -> Catalog:
        """Read the entries of all languages.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        return self._lookup.store.read(None)

    def planned(self, plan: Callable[[Catalog], T]) -> T:
        """Return the result of a plan without writing it. Without a registry the catalog is empty."""
        return plan(self.catalog() if self._lookup.store.absence() is None else Catalog())

    def change(self, plan: Plan) -> list[Change]:
        """Write the changes of a plan, while no other administrator writes.

        Args:
            plan: returns the changes for a catalog. It may be called several times; if it raises, nothing is written.

        Returns:
            The changes that were written.

        Raises:
            RegistrationError: if the settings of a topic would lose entries.
            RegistryError: if the registry cannot be read or written.
        """
        changes, catalog = self._lookup.store.change(plan)
        self._lookup.learn(catalog, self.language)
        return changes

    def register(self, plugins: Iterable[Plugin], *, compatible: bool = False, partial: bool = False) -> list[Change]:
        """Register plugins, all or none.

        Args:
            plugins: the plugins; a registered plugin is not changed.
            compatible: accept a new major version, or another class under the same version, that reads and writes the same bytes.
            partial: accept a new alias without an entry for a language of other aliases.

        Returns:
            The changes that were written.

        Raises:
            RegistrationError: if a rule would be broken.
            RegistryError: if the registry cannot be read or written.
        """
        requested = list(plugins)
        return self.change(lambda catalog: rules.registration(catalog, requested, compatible=compatible, partial=partial))

    def remove(self, aliases: Iterable[str], language: str | None = None) -> list[Change]:
        """Remove aliases, all or none. Batches that were compressed with them can no longer be read.

        Args:
            aliases: the aliases.
            language: the language to remove them from; None for all.

        Returns:
            The changes that were written.

        Raises:
            RegistrationError: if an alias is not registered, or if Java's entry would be removed and another one kept.
            RegistryError: if the registry cannot be read or written.
        """
        requested = list(aliases)
        self.ensure_exists()
        return self.change(lambda catalog: rules.removal(catalog, requested, language))

    def check(self) -> list[Finding]:
        """Check all rules on the registered entries, and the settings of the file or topics.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        return self._lookup.store.check() + rules.check_rules(self.catalog())

    def ensure_exists(self) -> None:
        """Raise an error if there is no registry, before a write creates one.

        Raises:
            RegistryError: if there is none, or if it cannot be read.
        """
        if (text := self._lookup.store.absence()) is not None:
            raise RegistryError(text)

    def for_tasks(self) -> Self:
        """Return the registry as tasks of Spark get it: a file is read now, entries of topics are shared by the tasks of a process.

        Raises:
            RegistryError: if the file cannot be read.
        """
        other = copy(self)
        other._lookup = self._lookup.shared()
        return other

    @property
    def last_error(self) -> RegistryError | None:
        """The error of the last look-up that failed, which the core reports as unreadable batches; None if none has failed."""
        return self._lookup.last_error


class MemoryRegistry(Registry):
    """A registry of given entries, in memory, for all languages. Entries may name any module, since the caller wrote them.

    Args:
        entries: the plugins.

    Raises:
        ValueError: if two entries have the same id or alias.

    Example:
        >>> from logsegment.plugins import Entry, MemoryRegistry
        >>> MemoryRegistry([Entry(0, "fast", "example.fast:Codec", "v1.0")]).by_id(0).alias
        'fast'
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        super().__init__(_Memory(entries), allow=ANY)

    def __repr__(self) -> str:
        return f"MemoryRegistry({self.entries()!r})"


class _Memory(Store):
    name = "a registry in memory"

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            for other in self._entries.values():
                if entry.plugin_id == other.plugin_id or entry.alias == other.alias:
                    raise ValueError(f"{_named(entry)} and {_named(other)} cannot be in one registry")
            self._entries[entry.alias] = entry

    def read(self, language: str | None) -> Catalog:
        return Catalog({language or "java": self._entries})


def _named(entry: Entry) -> str:
    return f"{entry.alias!r} (id {entry.plugin_id})"


@dataclass(frozen=True)
class Absent:
    """No registry, for a program with another option than `codecs=`: errors name that option.

    Args:
        option: the option for a registry, such as `--registry`.

    Example:
        >>> from logsegment.plugins.registry import Absent
        >>> Absent("--registry").by_id(3) is None
        True
    """

    option: str

    def by_id(self, plugin_id: int) -> None:
        """Return None: there is no plugin."""

    def by_alias(self, alias: str) -> None:
        """Return None: there is no plugin."""


def is_given(registry: CodecRegistry | None) -> bool:
    """Return True if there is a registry."""
    return registry is not None and not isinstance(registry, Absent)
