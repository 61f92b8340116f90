"""What a registry of plugins is asked, and one in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from logsegment.plugins.entries import Entry
from logsegment.plugins.loading import ANY


@runtime_checkable
class Registry(Protocol):
    """The plugins that one language's clients know: what `codecs=` takes.

    A look-up may raise what reading the registry raises (`OSError`), and may read it again when it meets an id or alias that it does not
    know. Registries are used from several threads, and pickle.

    An attribute `allow` may hold patterns of modules that entries may name. Without it they may name only codecs that installed packages
    offer as entry points of the group `logsegment.codecs`, and those of logsegment.
    """

    def by_id(self, plugin_id: int) -> Entry | None:
        """Find the plugin that a batch names; None when there is none."""
        ...

    def by_alias(self, alias: str) -> Entry | None:
        """Find the plugin that a user names; None when there is none."""
        ...

    def entries(self) -> list[Entry]:
        """Give all plugins, in the order of their ids."""
        ...

    def refresh(self) -> None:
        """Read the registry again."""
        ...


class MemoryRegistry:
    """A registry of given entries, which no one else sees. They may name any module, since the caller wrote them.

    Args:
        entries: the plugins.

    Raises:
        ValueError: when two entries have the same id or alias.

    Example:
        >>> from logsegment.plugins import Entry, MemoryRegistry
        >>> MemoryRegistry([Entry(0, "fast", "example.fast:Codec", "v1.0")]).by_id(0).alias
        'fast'
    """

    #: The patterns of modules that entries may name.
    allow = ANY

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._by_id: dict[int, Entry] = {}
        self._by_alias: dict[str, Entry] = {}
        for entry in entries:
            other = self._by_id.get(entry.plugin_id) or self._by_alias.get(entry.alias)
            if other is not None:
                raise ValueError(f"{_named(entry)} and {_named(other)} cannot be in one registry")
            self._by_id[entry.plugin_id] = self._by_alias[entry.alias] = entry

    def by_id(self, plugin_id: int) -> Entry | None:
        """Find the plugin that a batch names; None when there is none."""
        return self._by_id.get(plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Find the plugin that a user names; None when there is none."""
        return self._by_alias.get(alias)

    def entries(self) -> list[Entry]:
        """Give all plugins, in the order of their ids."""
        return [self._by_id[plugin_id] for plugin_id in sorted(self._by_id)]

    def refresh(self) -> None:
        """Do nothing: there is nowhere to read from."""

    def __repr__(self) -> str:
        return f"MemoryRegistry({self.entries()!r})"


def _named(entry: Entry) -> str:
    return f"{entry.alias!r} (id {entry.plugin_id})"
