"""What a registry of plugins is asked, and one in memory."""

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


@dataclass(frozen=True)
class Absent:
    """No registry, for a program whose users give one by another name than `codecs=`: errors say that name.

    Args:
        wanted: what names a registry, such as `--registry`.

    Example:
        >>> from logsegment.plugins.registry import Absent
        >>> Absent("--registry").by_id(3) is None
        True
    """

    wanted: str

    def by_id(self, plugin_id: int) -> Entry | None:
        """Find no plugin."""
        return None

    def by_alias(self, alias: str) -> Entry | None:
        """Find no plugin."""
        return None

    def entries(self) -> list[Entry]:
        """Give no plugins."""
        return []

    def refresh(self) -> None:
        """Do nothing: there is nowhere to read from."""


def is_given(registry: Registry | None) -> bool:
    """Whether there is a registry to ask."""
    return registry is not None and not isinstance(registry, Absent)


#: Alias, class, version, the codec or None, and why there is none.
Found: TypeAlias = tuple[str, str, str, Codec | None, str]


def found(entry: Entry, allow: tuple[str, ...]) -> Found:
    """Return the codec of an entry, or why there is none; `allow` is that of `load`."""
    try:
        return entry.alias, entry.class_name, entry.version, load(entry, allow), ""
    except PluginNotInstalled as error:
        return entry.alias, entry.class_name, entry.version, None, str(error)


class Resolver:
    """A registry as the core asks it. The core keeps what it is told for as long as one call or stream lasts.

    Args:
        registry: any object with `by_id` and `by_alias`.

    Raises:
        TypeError: when it is no registry.
    """

    def __init__(self, registry: Registry) -> None:
        if not callable(getattr(registry, "by_id", None)) or not callable(getattr(registry, "by_alias", None)):
            given = type(registry).__name__
            raise TypeError(f"codecs: a registry of plugins is needed, such as logsegment.plugins.FileRegistry, not {given}")
        self._registry = registry
        self._allow = patterns(getattr(registry, "allow", ()))

    def by_id(self, plugin_id: int) -> Found | None:
        """The plugin with this id; None when it is not registered."""
        entry = self._registry.by_id(plugin_id)
        return None if entry is None else found(entry, self._allow)

    def by_alias(self, alias: str) -> int | None:
        """The id of the plugin with this alias; None when it is not registered."""
        entry = self._registry.by_alias(alias)
        return None if entry is None else entry.plugin_id

    def is_stop(self, error: BaseException) -> bool:
        """Whether a signal raised what came out of a plugin or of the registry."""
        return is_stop(error)


class BrokerResolver(Resolver):
    """A registry as the core asks it where it does a broker's work.

    A broker is a Java program: ids and aliases are those of Java's entries (S-P18, S-P21). What packs and unpacks here is Python's entry of
    the same alias, which is compatible and has the same id (S-P13). A registry of one language is taken for both.

    Args:
        registry: any object with `by_id` and `by_alias`; of one with `in_language` that language's entries are asked for.

    Raises:
        TypeError: when it is no registry.
    """

    def __init__(self, registry: Registry) -> None:
        super().__init__(registry)
        in_language = getattr(registry, "in_language", None)
        self._code: Registry | None = in_language("python") if in_language is not None else None
        if in_language is not None:
            self._registry = in_language("java")

    def by_id(self, plugin_id: int) -> Found | None:
        """The plugin with this id in Java's entries, with Python's code; None when it is not registered."""
        if self._code is None:
            return super().by_id(plugin_id)
        entry = self._registry.by_id(plugin_id)
        if entry is None:
            return None
        ours = self._code.by_alias(entry.alias)
        if ours is None or ours.plugin_id != plugin_id:
            told = f"{topic_of('python')} has no entry for it" if ours is None else f"{topic_of('python')} gives it the id {ours.plugin_id}"
            return entry.alias, entry.class_name, entry.version, None, told
        return found(ours, self._allow)


def resolver(registry: Registry | None) -> Resolver | str | None:
    """Return a registry as the core asks it; the name that errors give where there is none."""
    if registry is None or isinstance(registry, Absent):
        return None if registry is None else registry.wanted
    return Resolver(registry)


def broker_resolver(registry: Registry | None) -> BrokerResolver | str | None:
    """Return a registry as the core asks it where the core does a broker's work."""
    if registry is None or isinstance(registry, Absent):
        return None if registry is None else registry.wanted
    return BrokerResolver(registry)
