"""What the native core asks of a registry: which codec is behind an id, which id behind an alias."""

from __future__ import annotations

from typing import TypeAlias

from logsegment.plugins.codec import Codec
from logsegment.plugins.loading import PluginNotInstalled, load
from logsegment.plugins.registry import Registry

#: Alias, class, version, the codec or None, and why there is none.
Found: TypeAlias = tuple[str, str, str, Codec | None, str]


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

    def by_id(self, plugin_id: int) -> Found | None:
        """The plugin with this id; None when it is not registered."""
        entry = self._registry.by_id(plugin_id)
        if entry is None:
            return None
        try:
            return entry.alias, entry.class_name, entry.version, load(entry), ""
        except PluginNotInstalled as error:
            return entry.alias, entry.class_name, entry.version, None, str(error)

    def by_alias(self, alias: str) -> int | None:
        """The id of the plugin with this alias; None when it is not registered."""
        entry = self._registry.by_alias(alias)
        return None if entry is None else entry.plugin_id
