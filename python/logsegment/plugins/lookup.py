"""The look-ups of a registry in its store: entries are read when they are needed, kept, pickled and shared.

A store reads and writes the records of all languages. `FileRegistry` and `TopicRegistry` have one each. A `Lookup` keeps the entries
that were read from a store. It is pickled with them, so that a task of Spark need not read what its driver has read.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from logsegment._core import Finding
from logsegment.plugins.catalog import Catalog, Change, RegistryError, TrustedEntries
from logsegment.plugins.entry import Entry

#: Returns the changes for a catalog; if it raises, nothing is written. It may be called several times.
Plan: TypeAlias = Callable[[Catalog], list[Change]]

#: Seconds after which a process reads the entries again for the next task. An unknown id or alias is read at once; this is for changed and
#: removed entries. Without it every task would open a connection.
KEPT_SECONDS = 60.0
#: Most unknown names that are remembered: aliases come from users, so their number has no bound.
_MOST_NAMES = 1000


class Store(ABC):
    """The place of a registry's records.

    Attributes:
        name: the path or the addresses, for texts.
        retry_seconds: how long an unknown id or alias is not read again: a file may have thousands of such batches.
        error_seconds: how long an error is raised again without a new try, which would wait for its time limit.
    """

    name: str
    retry_seconds = 0.0
    error_seconds = 0.0

    @abstractmethod
    def read(self, language: str | None) -> Catalog:
        """Read the entries of one language, or of all.

        Raises:
            RegistryError: if they cannot be read.
        """

    def change(self, plan: Plan) -> tuple[list[Change], Catalog]:
        """Write the changes of a plan, while no other administrator writes.

        Returns:
            The changes that were written, and the catalog after them.

        Raises:
            RegistryError: if the records cannot be read or written.
        """
        raise RegistryError(f"{self.name} cannot be changed; register plugins in a file or in the topics of a cluster")

    def absence(self) -> str | None:
        """Return a text if there is no registry yet; None if there is one."""
        return None

    def check(self) -> list[Finding]:
        """Check the settings of the place."""
        return []

    def key(self) -> Hashable:
        """Return a key that is equal for stores with the same records and settings; None for a store that is not shared."""
        return None


@dataclass
class _Language:
    """The entries of a language, and when they may be read again, in the time of this process (`time.monotonic`)."""

    entries: TrustedEntries | None = None
    read_at: float = field(default_factory=time.monotonic)
    #: Read them again for the next look-up.
    is_old: bool = False
    #: By unknown id or alias: until when it is not read again.
    retry_at: dict[int | str, float] = field(default_factory=dict)
    error: str = ""
    error_until: float = float("-inf")


class Lookup:
    """The entries of a store that were read, by language.

    Args:
        store: where they are read.
        entries: by language, those that are known.

    Attributes:
        last_error: the last error of a look-up, for a verb that continues without its registry.
    """

    def __init__(self, store: Store, entries: dict[str, TrustedEntries] | None = None) -> None:
        self.store = store
        self.last_error: RegistryError | None = None
        self._lock = threading.RLock()
        self._languages = {language: _Language(known) for language, known in (entries or {}).items()}

    def find(self, language: str, name: int | str) -> Entry | None:
        """Return the entry with an id or alias; None if there is none.

        Raises:
            RegistryError: if the store cannot be read, or if the name may be that of an entry that cannot be trusted.
        """
        try:
            entries = self.entries(language)
            if (entry := entries.get(name)) is None:
                entries = self._read_for(language, name)
                entry = entries.get(name)
            if entry is None:
                entries.ensure_absent(name)
        except RegistryError as error:
            self.last_error = error
            raise
        return entry

    def entries(self, language: str) -> TrustedEntries:
        """Return the entries of a language.

        Raises:
            RegistryError: if they are not known and cannot be read.
        """
        known = self._of(language)
        if known.entries is not None and not known.is_old:
            return known.entries
        with self._lock:
            known = self._of(language)
            if known.entries is None:
                return self._read(language)
            if known.is_old:
                known.is_old, known.read_at = False, time.monotonic()
                # A reader needs no brokers for entries that it has read.
                with suppress(RegistryError, ValueError):
                    return self._read(language)
            return known.entries

    def refresh(self, language: str) -> None:
        """Read the entries of a language again, and those of other languages when they are next needed.

        Raises:
            RegistryError: if the store cannot be read.
        """
        with self._lock:
            self._of(language).error_until = float("-inf")
            self._read(language)
            self._languages = {language: self._languages[language]}

    def learn(self, catalog: Catalog, language: str) -> None:
        """Take the entries of a catalog that was just written: those of a language, and of all others that were read."""
        with self._lock:
            for name in {language, *self._languages}:
                self._languages[name] = _Language(TrustedEntries(name, catalog))

    def shared(self) -> Lookup:
        """Return the look-ups of this process for the same store, with the newer entries of both."""
        return _shared(self.store, self._known())

    def _of(self, language: str) -> _Language:
        return self._languages.setdefault(language, _Language())

    def _known(self) -> dict[str, TrustedEntries]:
        with self._lock:
            return {language: known.entries for language, known in self._languages.items() if known.entries is not None}

    def _read(self, language: str) -> TrustedEntries:
        known = self._of(language)
        if time.monotonic() < known.error_until:
            raise RegistryError(known.error)
        since = time.monotonic()
        try:
            entries = TrustedEntries(language, self.store.read(language))
        except RegistryError as error:
            known.error, known.error_until = str(error), time.monotonic() + self.store.error_seconds
            raise
        self._languages[language] = _Language(entries, since, retry_at=known.retry_at)
        return entries

    def _read_for(self, language: str, name: int | str) -> TrustedEntries:
        """Read again for an unknown name, unless that was done a moment ago."""
        with self._lock:
            known, now = self._of(language), time.monotonic()
            if known.entries is not None and now < known.retry_at.get(name, now):
                return known.entries
            entries = self._read(language)
            if len(known.retry_at) > _MOST_NAMES:
                known.retry_at.clear()
            known.retry_at[name] = time.monotonic() + self.store.retry_seconds
            return entries

    def _take(self, entries: dict[str, TrustedEntries]) -> None:
        """Take entries that were read elsewhere, if they were read up to a larger offset: the clock of another machine may differ.

        Entries of a language that the other place had not read are read again if they are old.
        """
        with self._lock:
            for language, other in entries.items():
                known = self._of(language)
                if known.entries is None or other.end > known.entries.end:
                    self._languages[language] = _Language(other)
            for language, known in self._languages.items():
                if language not in entries:
                    known.is_old = known.entries is not None and time.monotonic() - known.read_at > KEPT_SECONDS

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared, (self.store, self._known())


def _shared(store: Store, entries: dict[str, TrustedEntries]) -> Lookup:
    """Return the look-ups that earlier tasks of this process made for the same store, or new ones."""
    key = store.key()
    try:
        hash(key)
    except TypeError:
        # A store with a setting that is not hashable is not shared.
        key = None
    lookup = Lookup(store, entries)
    if key is None:
        return lookup
    with _LOCK:
        here = _HERE.setdefault(key, lookup)
    if here is not lookup:
        here._take(entries)
    return here


_HERE: dict[Hashable, Lookup] = {}
_LOCK = threading.Lock()
