"""What registries that are kept somewhere share: look-ups in a copy, and the verbs of an administrator.

The copy is read again when something unknown turns up. Where the records are is known by `FileRegistry` and `TopicRegistry`.
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
from logsegment.plugins.catalog import Catalog, Change, Known, RegistryError
from logsegment.plugins.entry import Entry, Plugin
from logsegment.plugins.loading import patterns
from logsegment.plugins.registry import Registry

#: What is to be written, by what there is.
Plan: TypeAlias = Callable[[Catalog], list[Change]]
T = TypeVar("T")

#: What could not be read, and until when (`time.monotonic`) that is taken for granted.
NO_FAULT = ("", float("-inf"))


class StoredRegistry(ABC):
    """A registry that several processes share.

    The entries of its language are read once and kept. An id or alias that is not among them makes it read again, at most every
    `retry_seconds` for the same one. It pickles with what it has read, so that a task of Spark asks nobody for what its driver knew.
    """

    #: How long an unknown id or alias stays unknown without a look; a file of thousands of such batches must not be as many requests.
    retry_seconds = 1.0
    #: How long a fault is told again without a new try, which would wait for its time limit.
    fault_seconds = 10.0

    def __init__(self, language: str, allow: Iterable[str] = ()) -> None:
        if not isinstance(language, str) or not rules.is_language(language):
            raise ValueError(f"language {language!r} must be lower-case letters, digits, '.', '_' and '-'")
        self.language = language
        #: Patterns of modules that entries may name.
        self.allow = patterns(allow)
        self._known: Known | None = None
        self._known_since = time.monotonic()
        self._family = _Family()
        self._forget()

    def in_language(self, language: str) -> Self:
        """Give the same registry as another language's clients see it, such as the brokers' ("java").

        Args:
            language: whose entries are found.

        Returns:
            This registry for its own language, else one that is kept, so that its entries are read once.

        Raises:
            ValueError: for a language that is no name.

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
        """Find the plugin that a batch names.

        Returns:
            The entry; None when no plugin has this id.

        Raises:
            RegistryError: when the registry cannot be read, when two plugins have this id, or when it may be that of a damaged entry.
        """
        return self._find(lambda known: known.by_id(plugin_id), plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Find the plugin that a user names.

        Returns:
            The entry; None when no plugin has this alias.

        Raises:
            RegistryError: when the registry cannot be read, or the alias' entry is damaged or shares its id with another.
        """
        return self._find(lambda known: known.by_alias(alias), alias)

    def entries(self) -> list[Entry]:
        """Give all plugins of this language, in the order of their ids.

        Raises:
            RegistryError: when the registry cannot be read.
        """
        return self._ready().entries()

    def refresh(self) -> None:
        """Read the registry again.

        Raises:
            RegistryError: when it cannot be read.
        """
        with self._lock:
            for member in self._relatives():
                member._unread()
            self._fault = NO_FAULT
            self._read()

    def catalog(self) -> Catalog:
        """Read the entries of all languages.

        Raises:
            RegistryError: when the registry cannot be read.
        """
        return self._load(None)

    def planned(self, plan: Callable[[Catalog], T]) -> T:
        """Tell what a plan makes of the catalog, and write nothing. Without a registry the catalog is empty."""
        return plan(self.catalog())

    def register(self, plugins: Iterable[Plugin], *, compatible: bool = False, partial: bool = False) -> list[Change]:
        """Register plugins, all of them or none.

        Args:
            plugins: what to register; what is registered already stays as it is.
            compatible: whether a new major version is known to read and write the same bytes as the old one.
            partial: whether a new alias may lack languages that others have.

        Returns:
            What was written.

        Raises:
            RegistrationError: when a rule would be broken.
            RegistryError: when the registry cannot be read or written.
        """
        wanted = list(plugins)
        return self.change(lambda catalog: rules.registration(catalog, wanted, compatible=compatible, partial=partial))

    def remove(self, aliases: Iterable[str], language: str | None = None) -> list[Change]:
        """Remove aliases, all of them or none. Batches that were compressed with them can no longer be read.

        Args:
            aliases: what to remove.
            language: the only language to remove them from; None for all.

        Returns:
            What was written.

        Raises:
            RegistrationError: when an alias is not registered, or Java's entry would go while another stays.
            RegistryError: when the registry cannot be read or written.
        """
        wanted = list(aliases)
        self.ensure_there()
        return self.change(lambda catalog: rules.removal(catalog, wanted, language))

    def check(self) -> list[Finding]:
        """Hold all rules against what is registered, and look at the settings of the place where it is kept.

        Raises:
            RegistryError: when the registry cannot be read.
        """
        return rules.judge(self.catalog())

    def ensure_there(self) -> None:
        """Refuse a place where nothing was ever registered, before anything is made there.

        Raises:
            RegistryError: when it is refused, or cannot be read.
        """
        self.catalog()

    def settled(self) -> Self:
        """The same registry, as it can be used on another machine."""
        return self

    @abstractmethod
    def place(self) -> Hashable:
        """What two registries have in common that read the same entries by the same means; None for one that shares with none."""

    def learn_from(self, other: Self, seconds: float) -> None:
        """Take over what another registry of the same place knows, when that is newer.

        Newer is what was read further into the place: the other may come from a machine whose clock is another.

        Args:
            other: the registry.
            seconds: what is older than this is read again when it is asked for, if the other knows nothing. Where that fails it stays.
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
        """Write what a plan makes of the catalog, while no other administrator writes.

        Args:
            plan: gives the changes for a catalog; it may be called several times, and what it raises leaves the registry as it was.

        Returns:
            What was written.
        """

    @abstractmethod
    def _load(self, language: str | None) -> Catalog:
        """Read one language, or all of them."""

    def _find(self, look: Callable[[Known], Entry | None], name: int | str) -> Entry | None:
        known = self._ready()
        entry = look(known)
        if entry is None:
            known = self._again(name)
            entry = look(known)
        if entry is None:
            known.ensure_sound(name)
        return entry

    def _ready(self) -> Known:
        known = self._known
        if known is not None and not self._is_old:
            return known
        with self._lock:
            return self._renewed(self._known) if self._known else self._read()

    def _renewed(self, known: Known) -> Known:
        """What was read anew; who reads segments does not need the brokers for what it knew a minute ago."""
        if self._is_old:
            self._is_old, self._known_since = False, time.monotonic()
            with suppress(RegistryError, ValueError):
                return self._read()
        return known

    def _again(self, name: int | str) -> Known:
        """Read again for a name that is unknown, unless that was done a moment ago."""
        with self._lock:
            now = time.monotonic()
            if self._known is not None and now < self._asked.get(name, now):
                return self._known
            known = self._read()
            if len(self._asked) > _REMEMBERED:
                self._asked.clear()
            self._asked[name] = time.monotonic() + self.retry_seconds
            return known

    def _read(self) -> Known:
        told, until = self._fault
        if time.monotonic() < until:
            raise RegistryError(told)
        try:
            since = time.monotonic()
            known = Known(self.language, self._load(self.language))
        except RegistryError as error:
            self._fault = (str(error), time.monotonic() + self.fault_seconds)
            raise
        self._known, self._known_since, self._fault = known, since, NO_FAULT
        return known

    def _learn(self, catalog: Catalog) -> None:
        """Take what was just written in all languages for what there is."""
        with self._lock:
            for member in (self, *self._relatives()):
                member._take(Known(member.language, catalog))

    def _take(self, known: Known) -> None:
        self._forget()
        self._known = known

    def _unread(self) -> None:
        self._forget()
        self._known = None

    def _relatives(self) -> list[StoredRegistry]:
        """The same registry as clients of other languages see it."""
        return [member for member in self._family.members.values() if member is not self]

    def _forget(self) -> None:
        """Begin anew with what is known, as if it were just read: when that was on another machine, its clock would not tell."""
        self._asked: dict[int | str, float] = {}
        self._fault = NO_FAULT
        self._known_since = time.monotonic()
        self._is_old = False

    @property
    def _lock(self) -> threading.RLock:
        return self._family.lock

    def __copy__(self) -> Self:
        """A registry of its own that knows what this one knows, and nothing of other languages."""
        other = object.__new__(type(self))
        other.__setstate__({**vars(self), "_family": _Family()})
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _OF_THE_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()


class _Family:
    """One registry as clients of several languages see it: what one of them writes, the others know."""

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}
        self.lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {"members": self.members}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.members.update(state["members"])


#: What does not travel to another process.
_OF_THE_PROCESS = frozenset({"_asked", "_fault", "_known_since", "_is_old"})
#: Unknown names that are remembered; beyond them all are forgotten. Aliases come from users, so their number has no bound.
_REMEMBERED = 1000


#: For how many seconds a process takes what it read for other tasks to be so, before it reads it again for the next one. An unknown id
#: or alias is looked for at once; this is for what was changed or removed. Without it every task would be a connection.
KEPT_SECONDS = 60.0


class TravellingRegistry:
    """A registry that arrives in a process as the one that earlier tasks have read there."""

    def __init__(self, registry: StoredRegistry) -> None:
        self._registry = registry

    @property
    def allow(self) -> tuple[str, ...]:
        """Patterns of modules that entries may name."""
        return self._registry.allow

    def by_id(self, plugin_id: int) -> Entry | None:
        """Find the plugin that a batch names; None when there is none."""
        return self._registry.by_id(plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Find the plugin that a user names; None when there is none."""
        return self._registry.by_alias(alias)

    def entries(self) -> list[Entry]:
        """Give all plugins, in the order of their ids."""
        return self._registry.entries()

    def refresh(self) -> None:
        """Read the registry again."""
        self._registry.refresh()

    def __repr__(self) -> str:
        return repr(self._registry)

    def __reduce__(self) -> tuple[Any, ...]:
        return arrived, (self._registry,)


def travelling(registry: Registry | None) -> Registry | None:
    """Make a registry ready to travel; one that is kept nowhere stays as it is.

    A file is read now: it may not be there where tasks run. Topics are read by the first task of a process that meets a plugin.

    Raises:
        RegistryError: when the file cannot be read.
    """
    return arrived(registry.settled()) if isinstance(registry, StoredRegistry) else registry


def arrived(registry: StoredRegistry) -> TravellingRegistry:
    """The registry that this process has for this place, which learns what the one that arrives knows better."""
    place = registry.place()
    try:
        hash(place)
    except TypeError:
        # A setting that is no text belongs to this one alone.
        place = None
    if place is None:
        return TravellingRegistry(registry)
    with _LOCK:
        # What one query allows is not allowed to another one.
        here = _HERE.setdefault((place, registry.allow), registry)
        if here is not registry:
            here.learn_from(registry, KEPT_SECONDS)
        return TravellingRegistry(here)


_HERE: dict[Hashable, StoredRegistry] = {}
_LOCK = threading.Lock()
