"""The rules of KIP-984 for entries and their topics (S-P9 to S-P16), and the changes of a registration or removal.

A `Catalog` and plugins go in. The changes come out in the order in which they are written, or a `RegistrationError` with all broken
rules. Nothing is written here. An `Entry` checks its own fields. Source: KIP-984, "Constraints for registering plugins".
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from logsegment._core import Finding
from logsegment._text import count
from logsegment.plugins.catalog import Catalog, Change, RegistryError, java_first, topic_of
from logsegment.plugins.entry import MAX_ID, Entry, Plugin

#: Built-in names, which come before aliases (S-P14).
BUILT_IN = ("none", "gzip", "snappy", "lz4", "zstd", "producer", "uncompressed")
#: The name of a plugin without an entry.
_NUMBERED = re.compile(r"plugin:\d*")
#: Kafka's longest topic name is 249 characters; topics whose languages differ in case would be two registries.
_LANGUAGE = re.compile(r"[a-z0-9._-]{1,200}")
#: The form of the name of a language.
LANGUAGE = "lower-case letters, digits, '.', '_' and '-'"
_MAJOR = re.compile(r"\s*[vV]?(\d{1,9})(?!\d)")


class RegistrationError(ValueError):
    """Raised if a registration or removal breaks rules; nothing was written.

    Attributes:
        findings: of all broken rules.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(list(findings))
        self.findings = list(findings)

    def __str__(self) -> str:
        first, more = self.findings[0], len(self.findings) - 1
        rest = f" (and {more} more)" if more else ""
        return f"nothing was written: [{first.rule}] {first.message}{rest}"


def finding_of(rule: str, message: str, language: str, *, severity: str = "error", field: str | None = None) -> Finding:
    """Return a finding about the registry of a language."""
    return Finding(rule, severity, message, topic_of(language), 0, 0, field=field)


def is_language(name: str) -> bool:
    """Return True for the name of a language."""
    return _LANGUAGE.fullmatch(name) is not None


def ensure_language(name: str) -> None:
    """Raise a ValueError unless this is the name of a language (S-P9)."""
    if not isinstance(name, str) or not is_language(name):
        raise ValueError(f"language {name!r} must be {LANGUAGE}")


def ensure_one_partition(topic: str, partitions: int) -> None:
    """Raise a RegistryError unless a topic has one partition (S-P9)."""
    if partitions != 1:
        text = f"{topic} has {partitions} partitions and must have 1"
        raise RegistryError(f"{text}: clients of different languages would write an alias to different partitions")


def check_topic(language: str, policy: str, replicas: int, most_replicas: int) -> Iterator[Finding]:
    """Yield findings of the settings of a topic.

    Args:
        language: that of the topic.
        policy: its `cleanup.policy` (S-P12).
        replicas: the fewest of a partition (S-P9).
        most_replicas: as many as a topic of these brokers should have.
    """
    topic = topic_of(language)
    if policy != "compact":
        text = f"cleanup.policy of {topic} is {policy!r} and must be 'compact': otherwise entries are deleted by age"
        yield finding_of("S-P12", text, language, field="cleanup.policy")
    if replicas < most_replicas:
        text = f"{topic} has {replicas} of {most_replicas} possible replicas: the loss of a broker can lose it"
        yield finding_of("S-P9", text, language, severity="warning", field="replication.factor")


def alias_error(alias: str) -> str | None:
    """Return why an alias is invalid; None if it is valid (S-P14)."""
    if alias.lower() in BUILT_IN:
        return f"{alias!r} is a built-in name, which comes before any alias"
    if _NUMBERED.fullmatch(alias):
        return f"{alias!r} is reserved for plugins without an entry"
    if not alias.isprintable() or any(char.isspace() for char in alias) or len(alias) > 200:
        return f"{alias!r} is not a name: at most 200 printable characters without spaces"
    return None


def check_rules(catalog: Catalog) -> list[Finding]:
    """Check all rules on a catalog.

    Args:
        catalog: the registered entries.

    Returns:
        A finding for each broken rule: errors, and warnings if some clients may not read what others write.
    """
    findings = _broken(catalog)
    for alias in catalog.aliases():
        for language, field, text in _disagreements(alias, catalog.of(alias)):
            findings.append(finding_of("S-P13", text, language, severity=_SEVERITIES[field], field=field))
    for alias in catalog.aliases():
        findings += _missing(catalog, alias, "warning")
    return findings


def registration(catalog: Catalog, plugins: Iterable[Plugin], *, compatible: bool = False, partial: bool = False) -> list[Change]:
    """Return the changes that register plugins, all or none.

    Args:
        catalog: the registered entries.
        plugins: the plugins. A registered alias keeps its id; a new alias gets the lowest free id.
        compatible: accept a new major version, or another class under the same version, that reads and writes the same bytes.
        partial: accept a new alias without an entry for a language of other aliases.

    Returns:
        The changes, Java's first; none if all plugins are registered already.

    Raises:
        RegistrationError: if a rule would be broken.
    """
    requested = list(plugins)
    findings = _repeated(requested)
    if findings:
        raise RegistrationError(findings)
    ids = _ids(catalog, requested, findings)
    changes = [change for plugin in requested if plugin.alias in ids for change in _changes(catalog, plugin, ids[plugin.alias])]
    after = catalog.after(changes)
    findings += _broken(after)
    if not compatible:
        findings += _incompatible(changes, after)
    if not partial:
        for plugin in requested:
            if not catalog.holds(plugin.alias):
                findings += _missing(after, plugin.alias, "error")
    if findings:
        raise RegistrationError(findings)
    return sorted(changes, key=lambda change: java_first(change.language))


def removal(catalog: Catalog, aliases: Iterable[str], language: str | None = None) -> list[Change]:
    """Return the changes that remove aliases, all or none.

    Args:
        catalog: the registered entries.
        aliases: the aliases, also of damaged entries.
        language: the language to remove them from; None for all.

    Returns:
        The changes, Java's last.

    Raises:
        RegistrationError: if an alias is not registered, or if Java's entry would be removed and another one kept.
    """
    changes: list[Change] = []
    findings: list[Finding] = []
    for alias in dict.fromkeys(aliases):
        holders = catalog.holds(alias)
        removed = [name for name in holders if language in (None, name)]
        if not removed:
            findings.append(finding_of("S-P12", f"{alias!r} is not registered", language or "java"))
        elif "java" in removed and len(removed) < len(holders):
            others = ", ".join(name for name in holders if name not in removed)
            findings.append(finding_of("S-P13", f"{alias!r} is registered for {others}, which needs Java's entry: remove all", "java"))
        changes += [Change(name, alias, None, catalog.of(alias).get(name)) for name in removed]
    if findings:
        raise RegistrationError(findings)
    return sorted(changes, key=lambda change: java_first(change.language), reverse=True)


def _broken(catalog: Catalog) -> list[Finding]:
    """Return findings of the rules that no registration may break."""
    findings = [entry.finding for entry in catalog.damaged]
    for alias in catalog.aliases():
        findings += _check_alias(alias, catalog.of(alias))
    return [*findings, *_shared_ids(catalog)]


def _check_alias(alias: str, entries: dict[str, Entry]) -> Iterator[Finding]:
    first = next(iter(entries))
    if text := alias_error(alias):
        yield finding_of("S-P14", text, first, field="pluginAlias")
    if "java" not in entries:
        others = ", ".join(entries)
        text = f"{alias!r} is registered for {others} and not for Java: brokers could not decompress its batches"
        yield finding_of("S-P13", text, first)
    for language, entry in entries.items():
        if entry.plugin_id != entries[first].plugin_id:
            own = f"id {entries[first].plugin_id} in {topic_of(first)}"
            text = f"{alias!r} has id {entry.plugin_id}, but {own}: an alias has one id in all languages"
            yield finding_of("S-P11", text, language, field="pluginID")
        if not is_language(language):
            text = f"{language!r} is not a name of a language: {LANGUAGE}"
            yield finding_of("S-P9", text, language)


def _shared_ids(catalog: Catalog) -> Iterator[Finding]:
    holders: dict[int, dict[str, str]] = {}
    for language, entry in catalog.each():
        holders.setdefault(entry.plugin_id, {}).setdefault(entry.alias, language)
    for plugin_id, aliases in sorted(holders.items()):
        if len(aliases) > 1:
            names = " and ".join(f"{alias!r} ({topic_of(language)})" for alias, language in aliases.items())
            text = f"id {plugin_id} is that of {names}; batches name only the id"
            yield finding_of("S-P15", text, next(iter(aliases.values())), field="pluginID")


def _missing(catalog: Catalog, alias: str, severity: str) -> Iterator[Finding]:
    """Yield a finding for each language with entries, but without an entry of this alias (S-P13, 1)."""
    entries = catalog.of(alias)
    for language in sorted(catalog.languages):
        # A missing entry of Java is another error.
        if catalog.languages[language] and language not in entries and language != "java":
            text = f"{alias!r} has no entry for {language}: its clients can neither write nor read such batches"
            yield finding_of("S-P13", text, language, severity=severity)


def _repeated(requested: list[Plugin]) -> list[Finding]:
    counts = Counter(plugin.alias for plugin in requested)
    return [finding_of("S-P15", f"{alias!r} is {times} times in the list", "java") for alias, times in counts.items() if times > 1]


def _ids(catalog: Catalog, requested: list[Plugin], findings: list[Finding]) -> dict[str, int]:
    """Return the id of each alias (S-P11)."""
    ids = {plugin.alias: own for plugin in requested if (own := _own_id(catalog, plugin, findings)) is not None}
    free = [number for number in range(MAX_ID + 1) if number not in catalog.ids() | set(ids.values())]
    new = [plugin.alias for plugin in requested if plugin.alias not in ids]
    if len(new) > len(free):
        text = f"{count(len(new), 'new plugin')}, and {count(len(free), 'free id')}"
        findings.append(finding_of("S-P11", f"{text}: a cluster has at most {MAX_ID + 1} plugins, remove some", "java", field="pluginID"))
    return ids | dict(zip(new, free, strict=False))


def _own_id(catalog: Catalog, plugin: Plugin, findings: list[Finding]) -> int | None:
    """Return the id of a registered alias, or the requested id; None for neither."""
    entries = catalog.of(plugin.alias)
    if not entries:
        return plugin.plugin_id
    own = next(iter(entries.values())).plugin_id
    if plugin.plugin_id not in (None, own):
        text = f"{plugin.alias!r} has id {own}, which batches name, and cannot get {plugin.plugin_id}: register a new alias"
        findings.append(finding_of("S-P11", text, "java", field="pluginID"))
    return own


def _changes(catalog: Catalog, plugin: Plugin, plugin_id: int) -> Iterator[Change]:
    before = catalog.of(plugin.alias)
    for language in plugin.class_names:
        entry = plugin.entry(language, plugin_id)
        if entry != before.get(language):
            yield Change(language, plugin.alias, entry, before.get(language))


def _incompatible(changes: list[Change], after: Catalog) -> Iterator[Finding]:
    """Yield findings of incompatible updates, and of languages with incompatible entries (S-P13, 3 and 4)."""
    for change in changes:
        if change.entry and change.before:
            for field in _differences(change.entry, change.before):
                become = "get another dictionary" if field == _DICTIONARY else f"become {change.entry.version}"
                text = f"{change.alias!r} {change.before.version} would {become}: an incompatible update must be a new plugin"
                yield finding_of("S-P13", f"{text}, with an alias of its own{_SAY_SO}", change.language, field=field)
            is_same_version = change.entry.version == change.before.version
            if is_same_version and change.entry.class_name != change.before.class_name:
                text = f"{change.alias!r} {change.entry.version} has class {change.before.class_name}, not {change.entry.class_name}"
                yield finding_of("S-P13", f"{text}: another class needs another version{_SAY_SO}", change.language, field="pluginClassName")
    for alias in dict.fromkeys(change.alias for change in changes):
        for language, field, text in _disagreements(alias, after.of(alias)):
            yield finding_of("S-P13", f"{text}{_SAY_SO}", language, field=field)


def _disagreements(alias: str, entries: dict[str, Entry]) -> Iterator[tuple[str, str, str]]:
    """Yield a language, a field and a text for each two languages with incompatible entries of an alias (S-P13, 3)."""
    for (language, first), (other, second) in combinations(entries.items(), 2):
        for field in _differences(first, second):
            if field == _DICTIONARY:
                text = f"{alias!r} has one dictionary for {language} and another for {other}"
            else:
                text = f"{alias!r} is {first.version} for {language} and {second.version} for {other}"
            yield other, field, f"{text}: all entries of an alias must be compatible"


def _differences(entry: Entry, other: Entry) -> Iterator[str]:
    """Yield the fields that make two entries incompatible: major versions, and dictionaries if both have one.

    The batches do not contain the dictionary (COD-Z5), so with another dictionary under the same id they cannot be read.
    """
    major, other_major = _MAJOR.match(entry.version), _MAJOR.match(other.version)
    if major and other_major and int(major[1]) != int(other_major[1]):
        yield "pluginVersion"
    if _DICTIONARY in entry.extra and _DICTIONARY in other.extra and _dictionary(entry) != _dictionary(other):
        yield _DICTIONARY


def _dictionary(entry: Entry) -> Any:
    """Return the bytes of a dictionary, or the value of an invalid one."""
    value = entry.extra[_DICTIONARY]
    try:
        return b64decode(value, validate=True)
    except (TypeError, ValueError):
        return value


#: The advice if only the version makes an update incompatible; the command line names its option instead.
COMPATIBLE = "pass that it is compatible"
_SAY_SO = f" (if it reads and writes the same bytes, {COMPATIBLE})"
_DICTIONARY = "dictionary"
#: Severity by field, for registered entries: an administrator may have declared two versions compatible, but never two dictionaries.
_SEVERITIES = {"pluginVersion": "warning", _DICTIONARY: "error"}
