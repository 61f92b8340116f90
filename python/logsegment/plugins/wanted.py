"""A plugin as an administrator names it: one alias with the classes of all languages, from which entries are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from logsegment.plugins.entries import FIELDS, Entry, EntryError


@dataclass(frozen=True)
class Plugin:
    """A plugin to register, for all languages at once.

    Args:
        alias: the name that `compression` takes.
        class_names: language -> where its code is. Java's is needed, since brokers decompress too; it may be registered already.
        version: the version, or those of the languages.
        plugin_id: the id to have, 0 to 15; None for the one that the alias has, or the lowest that is free. To be named only where a
            registry is made anew for batches that are there.
        extra: further fields of each entry.

    Raises:
        EntryError: for a field of the wrong type.

    Example:
        >>> from logsegment.plugins import Plugin
        >>> plugin = Plugin("fast", {"java": "org.example.FastCodec", "python": "example.fast:Codec"}, "v1.0")
        >>> plugin.entry("python", 3).class_name
        'example.fast:Codec'
    """

    alias: str
    class_names: Mapping[str, str]
    version: str | Mapping[str, str]
    plugin_id: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.class_names, Mapping) or not self.class_names:
            text = "pluginClassName must name a class for each language, such as {java: org.example.Fast, python: example.fast:Codec}"
            raise EntryError(text, "pluginClassName")
        for language in self.class_names:
            if not isinstance(language, str):
                raise EntryError(f"the language {language!r} is no string", "pluginClassName")
            # Entries hold the rules of the fields.
            self.entry(language, 0 if self.plugin_id is None else self.plugin_id)

    @classmethod
    def from_dict(cls, fields: Any) -> Plugin:
        """Read a plugin from what a file of them holds.

        Args:
            fields: as an entry's JSON, with `pluginClassName` an object of languages, `pluginVersion` a string or such an object, and
                `pluginID` only where an id is asked for. Other fields go into each entry.

        Raises:
            EntryError: when a field is missing or of the wrong type.

        Example:
            >>> from logsegment.plugins import Plugin
            >>> fields = {"pluginAlias": "fast", "pluginVersion": "v1.0", "pluginClassName": {"java": "org.example.FastCodec"}}
            >>> Plugin.from_dict(fields).alias
            'fast'
        """
        if not isinstance(fields, Mapping):
            raise EntryError(f"{fields!r} is no plugin: pluginAlias, pluginClassName and pluginVersion are needed")
        for name in ("pluginAlias", "pluginClassName", "pluginVersion"):
            if name not in fields:
                raise EntryError(f"{name} is missing", name)
        extra = {name: value for name, value in fields.items() if name not in FIELDS}
        return cls(fields["pluginAlias"], fields["pluginClassName"], fields["pluginVersion"], fields.get("pluginID"), extra)

    def entry(self, language: str, plugin_id: int) -> Entry:
        """Make the entry of a language.

        Raises:
            EntryError: for a field of the wrong type or range.
        """
        version = self.version
        if isinstance(version, Mapping):
            if language not in version:
                raise EntryError(f"pluginVersion is missing for {language}", "pluginVersion")
            version = version[language]
        entry = Entry(plugin_id, self.alias, self.class_names[language], version, dict(self.extra))
        try:
            entry.to_json().encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise EntryError(f"a further field holds what JSON cannot: {error}") from None
        return entry
