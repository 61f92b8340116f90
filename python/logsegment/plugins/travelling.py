"""Registries that travel with the tasks of a job: each process reads topics once, however many tasks and batches it is given.

A registry goes in, one that pickles as what it may ask and what is known already comes out. How entries are read is known by `stored`.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any

from logsegment.plugins.entries import Entry
from logsegment.plugins.registry import Registry
from logsegment.plugins.stored import StoredRegistry

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
