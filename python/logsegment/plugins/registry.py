"""The protocol of a registry of plugins, a registry in memory, and the look-ups of the core in a registry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from logsegment.plugins.catalog import topic_of
from logsegment.plugins.codec import Codec
from logsegment.plugins.entry import Entry
from logsegment.plugins.loading import ANY, PluginNotInstalled, is_stop, load, patterns


@runtime_checkable
class Registry(Protocol):
    """The plugins of the clients of one language: the type of `codecs=`.

    A look-up may raise an `OSError`, and may read the registry again for an unknown id or alias. Registries are used from several threads,
    and can be pickled.

    An attribute `allow` may hold patterns of modules that entries may name. Without it they may name only codecs that installed packages
    offer as entry points of the group `logsegment.codecs`, and the codecs of logsegment.
    """

    def by_id(self, plugin_id: int) -> Entry | None:
        """Return the plugin with this id; None if there is none."""
        ...

    def by_alias(self, alias: str) -> Entry | None:
        """Return the plugin with this alias; None if there is none."""
        ...

    def entries(self) -> list[Entry]:
        """Return all plugins, in the order of their ids."""
        ...

    def refresh(self) -> None:
        """Read the registry again."""
        ...


class MemoryRegistry:
    """A registry of given entries, in memory. Entries may name any module, since the caller wrote them.

    Args:
        entries: the plugins.

    Raises:
        ValueError: if two entries have the same id or alias.

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
        """Return the plugin with this id; None if there is none."""
        return self._by_id.get(plugin_id)

    def by_alias(self, alias: str) -> Entry | None:
        """Return the plugin with this alias; None if there is none."""
        return self._by_alias.get(alias)

    def entries(self) -> list[Entry]:
        """Return all plugins, in the order of their ids."""
        return [self._by_id[plugin_id] for plugin_id in sorted(self._by_id)]

    def refresh(self) -> None:
        """Do nothing: there is nothing to read."""

    def __repr__(self) -> str:
        return f"MemoryRegistry({self.entries()!r})"


def _named(entry: Entry) -> str:
    return f"{entry.alias!r} (id {entry.plugin_id})"


@dataclass(frozen=True)
class Absent:
    """No registry, for a program with another option than `codecs=`: errors name that option.

    Args:
        wanted: the option for a registry, such as `--registry`.

    Example:
        >>> from logsegment.plugins.registry import Absent
        >>> Absent("--registry").by_id(3) is None
        True
    """

    wanted: str

    def by_id(self, plugin_id: int) -> Entry | None:
        """Return None: there is no plugin."""
        return None

    def by_alias(self, alias: str) -> Entry | None:
        """Return None: there is no plugin."""
        return None

    def entries(self) -> list[Entry]:
        """Return no plugins."""
        return []

    def refresh(self) -> None:
        """Do nothing: there is nothing to read."""


def is_given(registry: Registry | None) -> bool:
    """Return True if there is a registry."""
    return registry is not None and not isinstance(registry, Absent)


#: Alias, class, version, the codec or None, and the reason for None.
Resolved: TypeAlias = tuple[str, str, str, Codec | None, str]


def _resolved(entry: Entry, allow: tuple[str, ...]) -> Resolved:
    """Return the codec of an entry, or why there is none; `allow` is that of `load`."""
    try:
        return entry.alias, entry.class_name, entry.version, load(entry, allow), ""
    except PluginNotInstalled as error:
        return entry.alias, entry.class_name, entry.version, None, str(error)


class Resolver:
    """The look-ups of the core in a registry. The core keeps the answers for one call or stream.

    Args:
        registry: any object with `by_id` and `by_alias`.

    Raises:
        TypeError: if `registry` is not a registry.
    """

    def __init__(self, registry: Registry) -> None:
        if not callable(getattr(registry, "by_id", None)) or not callable(getattr(registry, "by_alias", None)):
            given = type(registry).__name__
            raise TypeError(f"codecs must be a registry of plugins, such as logsegment.plugins.FileRegistry, not {given}")
        self._registry = registry
        self._allow = patterns(getattr(registry, "allow", ()))

    def by_id(self, plugin_id: int) -> Resolved | None:
        """Return the plugin with this id; None if it is not registered."""
        entry = self._registry.by_id(plugin_id)
        return None if entry is None else _resolved(entry, self._allow)

    def by_alias(self, alias: str) -> int | None:
        """Return the id of the plugin with this alias; None if it is not registered."""
        entry = self._registry.by_alias(alias)
        return None if entry is None else entry.plugin_id

    def is_stop(self, error: BaseException) -> bool:
        """Return True if a signal raised an exception of a plugin or of the registry."""
        return is_stop(error)


class BrokerResolver(Resolver):
    """The look-ups of the core for the work of a broker.

    A broker is a Java program: ids and aliases are those of Java's entries (S-P18, S-P21). The code is that of Python's entry of the same
    alias, which is compatible and has the same id (S-P13). A registry of one language serves both.

    Args:
        registry: any object with `by_id` and `by_alias`. With `in_language` it has the entries of both languages.

    Raises:
        TypeError: if `registry` is not a registry.
    """

    def __init__(self, registry: Registry) -> None:
        super().__init__(registry)
        in_language = getattr(registry, "in_language", None)
        self._code: Registry | None = in_language("python") if in_language is not None else None
        if in_language is not None:
            self._registry = in_language("java")

    def by_id(self, plugin_id: int) -> Resolved | None:
        """Return the plugin with this id in Java's entries, with Python's code; None if it is not registered."""
        if self._code is None:
            return super().by_id(plugin_id)
        entry = self._registry.by_id(plugin_id)
        if entry is None:
            return None
        ours = self._code.by_alias(entry.alias)
        if ours is None or ours.plugin_id != plugin_id:
            reason = (
                f"{topic_of('python')} has no entry for it" if ours is None else f"{topic_of('python')} gives it the id {ours.plugin_id}"
            )
            return entry.alias, entry.class_name, entry.version, None, reason
        return _resolved(ours, self._allow)


def resolver(registry: Registry | None) -> Resolver | str | None:
    """Return the look-ups of a registry for the core; the option that errors name if there is no registry."""
    if registry is None or isinstance(registry, Absent):
        return None if registry is None else registry.wanted
    return Resolver(registry)


def broker_resolver(registry: Registry | None) -> BrokerResolver | str | None:
    """Return the look-ups of a registry for the work of a broker; see `resolver`."""
    if registry is None or isinstance(registry, Absent):
        return None if registry is None else registry.wanted
    return BrokerResolver(registry)
