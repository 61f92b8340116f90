"""The look-ups of the core in a registry: the codec of an id, and the id of an alias."""

from __future__ import annotations

from typing import TypeAlias

from logsegment._options import CodecRegistry
from logsegment.plugins.catalog import topic_of
from logsegment.plugins.codec import Codec
from logsegment.plugins.entry import Entry
from logsegment.plugins.loading import PluginNotInstalled, is_stop, load, patterns
from logsegment.plugins.registry import Absent

#: Alias, class, version, the codec or None, and the reason for None.
Resolved: TypeAlias = tuple[str, str, str, Codec | None, str]


class Resolver:
    """The look-ups of the core in a registry. The core keeps the answers for one call or stream.

    Args:
        registry: any object with `by_id` and `by_alias`.
        is_of_brokers: True for the work of a broker, which is a Java program: ids and aliases are those of Java's entries (S-P18, S-P21).
            The code is that of Python's entry of the same alias, which is compatible and has the same id (S-P13). A registry without
            `in_language` serves both languages.

    Raises:
        TypeError: if `registry` is not a registry.
    """

    def __init__(self, registry: CodecRegistry, *, is_of_brokers: bool = False) -> None:
        if not callable(getattr(registry, "by_id", None)) or not callable(getattr(registry, "by_alias", None)):
            given = type(registry).__name__
            raise TypeError(f"codecs must be a registry of plugins, such as logsegment.plugins.FileRegistry, not {given}")
        self._allow = patterns(getattr(registry, "allow", ()))
        in_language = getattr(registry, "in_language", None) if is_of_brokers else None
        self._names: CodecRegistry = in_language("java") if in_language else registry
        self._code: CodecRegistry | None = in_language("python") if in_language else None

    def by_id(self, plugin_id: int) -> Resolved | None:
        """Return the plugin with this id; None if it is not registered."""
        entry = self._names.by_id(plugin_id)
        if entry is None or self._code is None:
            return entry and self._loaded(entry)
        ours = self._code.by_alias(entry.alias)
        if ours is not None and ours.plugin_id == plugin_id:
            return self._loaded(ours)
        problem = "has no entry for it" if ours is None else f"gives it the id {ours.plugin_id}"
        return entry.alias, entry.class_name, entry.version, None, f"{topic_of('python')} {problem}"

    def by_alias(self, alias: str) -> int | None:
        """Return the id of the plugin with this alias; None if it is not registered."""
        entry = self._names.by_alias(alias)
        return None if entry is None else entry.plugin_id

    def is_stop(self, error: BaseException) -> bool:
        """Return True if a signal raised an exception of a plugin or of the registry."""
        return is_stop(error)

    def _loaded(self, entry: Entry) -> Resolved:
        """Return the codec of an entry, or why there is none."""
        try:
            return entry.alias, entry.class_name, entry.version, load(entry, self._allow), ""
        except PluginNotInstalled as error:
            return entry.alias, entry.class_name, entry.version, None, str(error)


def resolver(registry: CodecRegistry, is_of_brokers: bool) -> Resolver | str:
    """Return the look-ups of a registry for the core, or the option for a registry that was not given, which errors name."""
    return registry.option if isinstance(registry, Absent) else Resolver(registry, is_of_brokers=is_of_brokers)
