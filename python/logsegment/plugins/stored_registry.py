"""The base of registries in a file and in topics: look-ups in a copy, and the operations of an administrator.

The copy is read again for an unknown id or alias. `FileRegistry` and `TopicRegistry` read and write the records.
"""

from __future__ import annotations

import copy
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import Any, Self, TypeAlias, TypeVar

from logsegment._core import Finding
from logsegment.plugins import rules
from logsegment.plugins.catalog import Catalog, Change, KnownEntries, RegistryError
from logsegment.plugins.entry import Entry, Plugin
from logsegment.plugins.loading import patterns
from logsegment.plugins.registry import Registry

#: Returns the changes for a catalog.
Plan: TypeAlias = Callable[[Catalog], list[Change]]
T = TypeVar("T")

#: The last error of reading, and the time (`time.monotonic`) until which it is raised without a new try.
_NO_ERROR = ("", float("-inf"))


class StoredRegistry(ABC):
    """A registry that several processes share.

    The entries of its language are read once and kept. An unknown id or alias makes it read again, at most every `retry_seconds` for the
    same name. It is pickled with the entries that it has read, so that a task of Spark need not read what its driver has read.
    """

    #: How long an unknown id or alias stays unknown without a new read: a file may have thousands of such batches.
    retry_seconds = 1.0
    #: How long an error is raised again without a new try, which would wait for its time limit.
    fault_seconds = 10.0

    def __init__(self, language: str, allow: Iterable[str] = ()) -> None:
        if not isinstance(language, str) or not rules.is_language(language):
            raise ValueError(f"language {language!r} must be lower-case letters, digits, '.', '_' and '-'")
        self.language = language
        #: Patterns of modules that entries may name.
        self.allow = patterns(allow)
        self._known: KnownEntries | None = None
        self._known_since = time.monotonic()
        self._family = _Family()
        self._forget()

    def in_language(self, language: str) -> Self:
        """Return the same registry for another language, such as that of the brokers ("java").

        Args:
            language: of the entries.

        Returns:
            This registry for its own language, else another one, which is kept so that its entries are read once.

        Raises:
            ValueError: if `language` is not a name of a language.

        Example:
            >>> from logsegment.plugins import FileRegistry
            >>> FileRegistry("plugins.json").in_language("java").language
            'java'
        """
        if language == self.language:
            return self
        with self._lock:
            self._family.members.setdefault(self.language, self)
            if language not in self._family.members:
                other = copy.copy(self)
                StoredRegistry.__init__(other, language, self.allow)
                other._family = self._family
                self._family.members[language] = other
            found: Self = self._family.members[language]
            return found

    def by_id(self, plugin_id: int) -> Entry | None:
        """Return the plugin with an id.

        Returns:
            The entry; None if no plugin has this id.

        Raises:
            RegistryError: if the registry cannot be read, if two plugins have this id, or if it may be the id of a damaged entry.
        """
        return self._find(lambda known: known.by_id(plugin_id), plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Return the plugin with an alias.

        Returns:
            The entry; None if no plugin has this alias.

        Raises:
            RegistryError: if the registry cannot be read, or if the entry is damaged or shares its id with another.
        """
        return self._find(lambda known: known.by_alias(alias), alias)

    def entries(self) -> list[Entry]:
        """Return all plugins of this language, in the order of their ids.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        return self._ready().entries()

    def refresh(self) -> None:
        """Read the registry again.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        with self._lock:
            for member in self._relatives():
                member._unread()
            self._error = _NO_ERROR
            self._read()

    def catalog(self) -> Catalog:
        """Read the entries of all languages.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        return self._load(None)

    def planned(self, plan: Callable[[Catalog], T]) -> T:
        """Return the result of a plan without writing it. Without a registry the catalog is empty."""
        return plan(self.catalog())

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
        wanted = list(plugins)
        return self.change(lambda catalog: rules.registration(catalog, wanted, compatible=compatible, partial=partial))

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
        wanted = list(aliases)
        self.ensure_there()
        return self.change(lambda catalog: rules.removal(catalog, wanted, language))

    def check(self) -> list[Finding]:
        """Check all rules on the registered entries, and the settings of the file or topics.

        Raises:
            RegistryError: if the registry cannot be read.
        """
        return rules.check_rules(self.catalog())

    def ensure_there(self) -> None:
        """Raise an error if there is no registry, before a write creates one.

        Raises:
            RegistryError: then, or if the registry cannot be read.
        """
        self.catalog()

    def settled(self) -> Self:
        """Return the registry as it can be used on another machine."""
        return self

    @abstractmethod
    def place(self) -> Hashable:
        """Return a key that is equal for registries with the same entries and settings; None for a registry that shares with none."""

    def learn_from(self, other: Self, seconds: float) -> None:
        """Take the entries of another registry of the same place, if they are newer.

        Entries that were read up to a larger offset are newer: the clock of another machine may differ.

        Args:
            other: the registry.
            seconds: if the other has no entries, entries older than this are read again when they are next needed; if that fails they stay.
        """
        with self._lock:
            known = self._known
            if other._known is not None and (known is None or other._known.end > known.end):
                for member in self._relatives():
                    member._unread()
                self._take(other._known)
            elif other._known is None:
                self._is_old = known is not None and time.monotonic() - self._known_since > seconds

    @abstractmethod
    def change(self, plan: Plan) -> list[Change]:
        """Write the changes of a plan, while no other administrator writes.

        Args:
            plan: returns the changes for a catalog. It may be called several times; if it raises, nothing is written.

        Returns:
            The changes that were written.
        """

    @abstractmethod
    def _load(self, language: str | None) -> Catalog:
        """Read the entries of one language, or of all."""

    def _find(self, look: Callable[[KnownEntries], Entry | None], name: int | str) -> Entry | None:
        known = self._ready()
        entry = look(known)
        if entry is None:
            known = self._again(name)
            entry = look(known)
        if entry is None:
            known.ensure_sound(name)
        return entry

    def _ready(self) -> KnownEntries:
        known = self._known
        if known is not None and not self._is_old:
            return known
        with self._lock:
            return self._renewed(self._known) if self._known else self._read()

    def _renewed(self, known: KnownEntries) -> KnownEntries:
        """Read old entries again; if that fails, return them as they are: a reader needs no brokers for entries it has read."""
        if self._is_old:
            self._is_old, self._known_since = False, time.monotonic()
            with suppress(RegistryError, ValueError):
                return self._read()
        return known

    def _again(self, name: int | str) -> KnownEntries:
        """Read again for an unknown name, unless that was done a moment ago."""
        with self._lock:
            now = time.monotonic()
            if self._known is not None and now < self._asked.get(name, now):
                return self._known
            known = self._read()
            if len(self._asked) > _REMEMBERED:
                self._asked.clear()
            self._asked[name] = time.monotonic() + self.retry_seconds
            return known

    def _read(self) -> KnownEntries:
        text, until = self._error
        if time.monotonic() < until:
            raise RegistryError(text)
        try:
            since = time.monotonic()
            known = KnownEntries(self.language, self._load(self.language))
        except RegistryError as error:
            self._error = (str(error), time.monotonic() + self.fault_seconds)
            raise
        self._known, self._known_since, self._error = known, since, _NO_ERROR
        return known

    def _learn(self, catalog: Catalog) -> None:
        """Take the catalog that was just written, for all languages."""
        with self._lock:
            for member in (self, *self._relatives()):
                member._take(KnownEntries(member.language, catalog))

    def _take(self, known: KnownEntries) -> None:
        self._forget()
        self._known = known

    def _unread(self) -> None:
        self._forget()
        self._known = None

    def _relatives(self) -> list[StoredRegistry]:
        """Return the same registry for other languages."""
        return [member for member in self._family.members.values() if member is not self]

    def _forget(self) -> None:
        """Treat the entries as just read: the clock of another machine may differ."""
        self._asked: dict[int | str, float] = {}
        self._error = _NO_ERROR
        self._known_since = time.monotonic()
        self._is_old = False

    @property
    def _lock(self) -> threading.RLock:
        return self._family.lock

    def __copy__(self) -> Self:
        """Return a registry with the same entries, without other languages."""
        other = object.__new__(type(self))
        other.__setstate__({**vars(self), "_family": _Family()})
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _OF_THE_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()


class _Family:
    """One registry for several languages: after a write, all of them have the new entries."""

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}
        self.lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {"members": self.members}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.members.update(state["members"])


#: Attributes that are not pickled.
_OF_THE_PROCESS = frozenset({"_asked", "_fault", "_known_since", "_is_old"})
#: Most unknown names that are remembered: aliases come from users, so their number has no bound.
_REMEMBERED = 1000


#: Seconds after which a process reads the entries again for the next task. An unknown id or alias is read at once; this is for changed and
#: removed entries. Without it every task would open a connection.
KEPT_SECONDS = 60.0


class TravellingRegistry:
    """A registry that is unpickled as the registry that earlier tasks of the process have read."""

    def __init__(self, registry: StoredRegistry) -> None:
        self._registry = registry

    @property
    def allow(self) -> tuple[str, ...]:
        """Return the patterns of modules that entries may name."""
        return self._registry.allow

    def by_id(self, plugin_id: int) -> Entry | None:
        """Return the plugin with this id; None if there is none."""
        return self._registry.by_id(plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Return the plugin with this alias; None if there is none."""
        return self._registry.by_alias(alias)

    def entries(self) -> list[Entry]:
        """Return all plugins, in the order of their ids."""
        return self._registry.entries()

    def refresh(self) -> None:
        """Read the registry again."""
        self._registry.refresh()

    def __repr__(self) -> str:
        return repr(self._registry)

    def __reduce__(self) -> tuple[Any, ...]:
        return arrived, (self._registry,)


def travelling(registry: Registry | None) -> Registry | None:
    """Return a registry that is pickled to be shared by the tasks of a process; a registry in memory stays as it is.

    A file is read now: tasks may run on machines without it. Topics are read by the first task of a process with a plugin.

    Raises:
        RegistryError: if the file cannot be read.
    """
    return arrived(registry.settled()) if isinstance(registry, StoredRegistry) else registry


def arrived(registry: StoredRegistry) -> TravellingRegistry:
    """Return the registry of this process for the same place, with the newer entries of both."""
    place = registry.place()
    try:
        hash(place)
    except TypeError:
        # A registry with a setting that is not hashable is not shared.
        place = None
    if place is None:
        return TravellingRegistry(registry)
    with _LOCK:
        # Queries may allow different modules.
        here = _HERE.setdefault((place, registry.allow), registry)
        if here is not registry:
            here.learn_from(registry, KEPT_SECONDS)
        return TravellingRegistry(here)


_HERE: dict[Hashable, StoredRegistry] = {}
_LOCK = threading.Lock()
