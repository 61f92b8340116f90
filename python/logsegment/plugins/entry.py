"""The entry of a plugin in the registry of one language, its JSON (rules S-P10 and S-P15), and a plugin of all languages.

The key and value of a record go in, or the fields by name. An `Entry` comes out, or an `EntryError` with the wrong field.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

#: Ids are 4 bits of a batch's attributes (S-P3).
MAX_ID = 15
#: The fields of the proposal: name in JSON -> attribute of `Entry`. Other fields are kept in `extra`.
FIELDS = {"pluginID": "plugin_id", "pluginAlias": "alias", "pluginClassName": "class_name", "pluginVersion": "version"}


class EntryError(ValueError):
    """Raised if an entry is invalid.

    Attributes:
        rule: the rule of entries, S-P15.
        field: the wrong field, by its name in JSON; None if the whole value is wrong.
    """

    rule = "S-P15"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message, field)
        self.message = message
        self.field = field

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Entry:
    """The entry of a plugin for the clients of one language.

    Args:
        plugin_id: the number in a batch's attributes, 0 to 15.
        alias: the name that `compression` takes.
        class_name: where the code is; for Python `package.module:Class`.
        version: the plugin's version, such as "v1.0".
        extra: further fields of the JSON, kept as they are.

    Raises:
        EntryError: if the id is not 0 to 15, a text is empty or not a string, or an extra field has the name of another field.

    Example:
        >>> from logsegment.plugins import Entry
        >>> Entry(3, "fast", "example.fast:Codec", "v1.0", {"vendor": "example"}).to_json()
        '{"pluginID":3,"pluginAlias":"fast","pluginClassName":"example.fast:Codec","pluginVersion":"v1.0","vendor":"example"}'

    Source: KIP-984, "Registering plugins".
    """

    plugin_id: int
    alias: str
    class_name: str
    version: str
    extra: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        fields = self.to_dict()
        _ensure_id(fields["pluginID"])
        for name in FIELDS:
            if name != "pluginID":
                _ensure_text(name, fields[name])
        taken = FIELDS.keys() & self.extra.keys()
        if taken:
            raise EntryError(f"extra has {min(taken)}, which is not an extra field", min(taken))

    @classmethod
    def from_json(cls, value: str | bytes, alias: str | None = None) -> Entry:
        """Parse the JSON of an entry.

        Args:
            value: a JSON object; bytes are UTF-8.
            alias: the key of the record, which must be the alias; None if there is none.

        Returns:
            The entry, with fields that are not of the proposal in `extra`.

        Raises:
            EntryError: if the value is not a JSON object, lacks a field, or has a field of the wrong type or range.

        Example:
            >>> from logsegment.plugins import Entry
            >>> value = b'{"pluginID": 3, "pluginAlias": "fast", "pluginClassName": "example.fast:Codec", "pluginVersion": "v1.0"}'
            >>> Entry.from_json(value, "fast").plugin_id
            3
        """
        try:
            fields = json.loads(value, parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            raise EntryError(f"the value is not JSON: {_reason(error)}") from None
        return cls.from_dict(fields, alias)

    @classmethod
    def from_dict(cls, fields: Any, alias: str | None = None) -> Entry:
        """Build an entry from the object in its JSON; see `from_json`."""
        if not isinstance(fields, Mapping):
            raise EntryError(f"the value is {_json_type(fields)}, not an object")
        for name in FIELDS:
            if name not in fields:
                raise EntryError(f"{name} is missing", name)
        known = {ours: fields[name] for name, ours in FIELDS.items()}
        entry = cls(**known, extra={name: value for name, value in fields.items() if name not in FIELDS})
        if alias is not None and entry.alias != alias:
            raise EntryError(f"pluginAlias is {entry.alias!r}, but the key is {alias!r}", "pluginAlias")
        return entry

    def __repr__(self) -> str:
        # A dictionary is 100 KiB of base64, and messages contain entries.
        shown = ", ".join(f"{name}={_SHORT.repr(getattr(self, name))}" for name in (*FIELDS.values(), "extra"))
        return f"Entry({shown})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by their names in JSON, extra fields last."""
        return {name: getattr(self, ours) for name, ours in FIELDS.items()} | self.extra

    def to_json(self) -> str:
        """Return the JSON, on one line.

        Raises:
            TypeError: if JSON cannot hold an extra field.
            ValueError: if an extra field is NaN or infinite.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def _ensure_id(value: Any) -> None:
    # True is an int for Python, and not for JSON.
    if not isinstance(value, int) or isinstance(value, bool):
        raise EntryError(f"pluginID is {_json_type(value)}, not an integer", "pluginID")
    if not 0 <= value <= MAX_ID:
        raise EntryError(f"pluginID is {_shown(value)}, not 0 to {MAX_ID}", "pluginID")


def _ensure_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise EntryError(f"{name} is {_json_type(value)}, not a string", name)
    if not value:
        raise EntryError(f"{name} is empty", name)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EntryError(f"{name} has a lone surrogate, which is not valid in UTF-8", name) from None


def _json_type(value: Any) -> str:
    for kind, name in ((bool, "a boolean"), (int, "an integer"), (float, "a number with a fraction"), (str, "a string")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "an array" if isinstance(value, list) else "an object" if isinstance(value, Mapping) else "no JSON"


def _shown(number: int) -> str:
    """Return a number of any length as a short text."""
    return str(number) if number.bit_length() <= 64 else "a number of more than 64 bits"


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def refuse_constant(name: str) -> NoReturn:
    """Raise an error for NaN and infinities, which only Python's JSON has."""
    raise ValueError(f"{name} is not a JSON number")


@dataclass(frozen=True)
class Plugin:
    """A plugin to register for several languages at once.

    Args:
        alias: the name that `compression` takes.
        class_names: language -> class. Java's is needed, since brokers decompress too; it may be registered already.
        version: the version, or the version of each language.
        plugin_id: the id, 0 to 15; None for the id of the alias, or else the lowest free id. It is needed only to restore a registry for
            existing batches.
        extra: further fields of each entry.

    Raises:
        EntryError: if a field has the wrong type.

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
                raise EntryError(f"the language {language!r} is not a string", "pluginClassName")
            # Entries check their fields.
            self.entry(language, 0 if self.plugin_id is None else self.plugin_id)

    @classmethod
    def from_dict(cls, fields: Any) -> Plugin:
        """Build a plugin from its object in a file.

        Args:
            fields: as in an entry's JSON. `pluginClassName` is an object of languages, `pluginVersion` a string or such an object, and
                `pluginID` is optional. Other fields are added to each entry.

        Raises:
            EntryError: if a field is missing or has the wrong type.

        Example:
            >>> from logsegment.plugins import Plugin
            >>> fields = {"pluginAlias": "fast", "pluginVersion": "v1.0", "pluginClassName": {"java": "org.example.FastCodec"}}
            >>> Plugin.from_dict(fields).alias
            'fast'
        """
        if not isinstance(fields, Mapping):
            raise EntryError(f"{fields!r} is not a plugin: pluginAlias, pluginClassName and pluginVersion are needed")
        for name in ("pluginAlias", "pluginClassName", "pluginVersion"):
            if name not in fields:
                raise EntryError(f"{name} is missing", name)
        extra = {name: value for name, value in fields.items() if name not in FIELDS}
        return cls(fields["pluginAlias"], fields["pluginClassName"], fields["pluginVersion"], fields.get("pluginID"), extra)

    def entry(self, language: str, plugin_id: int) -> Entry:
        """Return the entry of a language.

        Raises:
            EntryError: if a field has the wrong type or range.
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
            raise EntryError(f"an extra field is not valid JSON: {error}") from None
        return entry
