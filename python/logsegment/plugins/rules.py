"""What entries must be to each other (rules S-P11 to S-P16), and the changes that a registration or removal makes.

Goes in: a `Catalog` and what an administrator wants. Comes out: the changes in the order in which they are to be written, or a
`RegistrationError` with everything that is wrong; nothing is written here. Source: KIP-984, "Constraints for registering plugins".
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from logsegment._core import Finding
from logsegment._text import count
from logsegment.plugins.catalog import Catalog, Change, found, java_first, topic_of
from logsegment.plugins.entry import MAX_ID, Entry, Plugin

#: Names that are tried before any alias, so that an alias of this name could never be chosen (S-P14).
BUILT_IN = ("none", "gzip", "snappy", "lz4", "zstd", "producer", "uncompressed")
#: How a plugin without an entry is shown.
_NUMBERED = re.compile(r"plugin:\d*")
#: Kafka's longest topic name is 249 characters; topics whose languages differ in case would be two registries.
_LANGUAGE = re.compile(r"[a-z0-9._-]{1,200}")
_MAJOR = re.compile(r"\s*[vV]?(\d{1,9})(?!\d)")


class RegistrationError(ValueError):
    """A registration or removal that breaks rules; nothing was written.

    Attributes:
        findings: everything that is wrong.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(list(findings))
        self.findings = list(findings)

    def __str__(self) -> str:
        first, more = self.findings[0], len(self.findings) - 1
        rest = f" (and {more} more)" if more else ""
        return f"nothing was written: [{first.rule}] {first.message}{rest}"


def is_language(name: str) -> bool:
    """Tell whether this may be the name of a language."""
    return _LANGUAGE.fullmatch(name) is not None


def alias_fault(alias: str) -> str | None:
    """Tell why this can be no alias; None when it can (S-P14)."""
    if alias.lower() in BUILT_IN:
        return f"{alias!r} is a built-in name, which is tried before any alias"
    if _NUMBERED.fullmatch(alias):
        return f"{alias!r} is how a plugin without an entry is shown"
    if not alias.isprintable() or any(char.isspace() for char in alias) or len(alias) > 200:
        return f"{alias!r} is no name: at most 200 printable characters without spaces"
    return None


def judge(catalog: Catalog) -> list[Finding]:
    """Hold all rules against a catalog.

    Args:
        catalog: what is registered.

    Returns:
        A finding for each rule that is broken: errors, and warnings where some clients may not read what others write.
    """
    findings = _broken(catalog)
    for alias in catalog.aliases():
        for one in _disagreements(alias, catalog.of(alias)):
            findings.append(found("S-P13", one.text, one.language, severity=_SEVERITIES[one.field], field=one.field))
    for alias in catalog.aliases():
        findings += _missing(catalog, alias, "warning")
    return findings


def registration(catalog: Catalog, plugins: Iterable[Plugin], *, compatible: bool = False, partial: bool = False) -> list[Change]:
    """Plan the registration of plugins, all of them or none.

    Args:
        catalog: what is registered now.
        plugins: what is to be registered. An alias that is registered keeps its id; a new one gets the lowest that is free.
        compatible: whether a new major version is known to read and write the same bytes as the old one.
        partial: whether a new alias may lack languages that others have.

    Returns:
        What has to be written, Java's entries first; nothing when all is registered already.

    Raises:
        RegistrationError: when any rule would be broken.
    """
    wanted = list(plugins)
    findings = _twice(wanted)
    if findings:
        raise RegistrationError(findings)
    ids = _ids(catalog, wanted, findings)
    changes = [change for plugin in wanted if plugin.alias in ids for change in _changes(catalog, plugin, ids[plugin.alias])]
    after = catalog.after(changes)
    findings += _broken(after)
    if not compatible:
        findings += _incompatible(changes, after)
    if not partial:
        for plugin in wanted:
            if not catalog.holds(plugin.alias):
                findings += _missing(after, plugin.alias, "error")
    if findings:
        raise RegistrationError(findings)
    return sorted(changes, key=lambda change: java_first(change.language))


def removal(catalog: Catalog, aliases: Iterable[str], language: str | None = None) -> list[Change]:
    """Plan the removal of aliases, all of them or none.

    Args:
        catalog: what is registered now.
        aliases: what is to be removed; entries that are damaged can be removed too.
        language: the only language to remove them from; None for all.

    Returns:
        What has to be written, Java's entries last.

    Raises:
        RegistrationError: when an alias is not registered, or Java's entry would go while another stays.
    """
    changes: list[Change] = []
    findings: list[Finding] = []
    for alias in dict.fromkeys(aliases):
        there = catalog.holds(alias)
        going = [one for one in there if language in (None, one)]
        if not going:
            findings.append(found("S-P12", f"{alias!r} is not registered", language or "java"))
        elif "java" in going and len(going) < len(there):
            others = ", ".join(one for one in there if one not in going)
            findings.append(found("S-P13", f"{alias!r} is registered for {others}, which needs Java's entry: remove all", "java"))
        changes += [Change(one, alias, None, catalog.of(alias).get(one)) for one in going]
    if findings:
        raise RegistrationError(findings)
    return sorted(changes, key=lambda change: java_first(change.language), reverse=True)


def _broken(catalog: Catalog) -> list[Finding]:
    """What no registration may leave behind."""
    findings = [one.finding for one in catalog.damaged]
    for alias in catalog.aliases():
        findings += _judge_alias(alias, catalog.of(alias))
    return [*findings, *_shared_ids(catalog)]


def _judge_alias(alias: str, entries: dict[str, Entry]) -> Iterator[Finding]:
    first = min(entries, key=java_first)
    text = alias_fault(alias)
    if text:
        yield found("S-P14", text, first, field="pluginAlias")
    if "java" not in entries:
        others = ", ".join(sorted(entries))
        text = f"{alias!r} is registered for {others} and not for Java: brokers could not decompress its batches"
        yield found("S-P13", text, first)
    for language, entry in entries.items():
        if entry.plugin_id != entries[first].plugin_id:
            own = f"id {entries[first].plugin_id} in {topic_of(first)}"
            text = f"{alias!r} has id {entry.plugin_id}, but {own}: an alias has one id in all languages"
            yield found("S-P11", text, language, field="pluginID")
        if not is_language(language):
            text = f"{language!r} is no name of a language: lower-case letters, digits, '.', '_' and '-'"
            yield found("S-P9", text, language)


def _shared_ids(catalog: Catalog) -> Iterator[Finding]:
    holders: dict[int, dict[str, str]] = {}
    for language, entry in catalog.each():
        holders.setdefault(entry.plugin_id, {}).setdefault(entry.alias, language)
    for plugin_id, aliases in sorted(holders.items()):
        if len(aliases) > 1:
            names = " and ".join(f"{alias!r} ({topic_of(language)})" for alias, language in aliases.items())
            text = f"id {plugin_id} is that of {names}: batches do not say which was meant"
            yield found("S-P15", text, next(iter(aliases.values())), field="pluginID")


def _missing(catalog: Catalog, alias: str, severity: str) -> Iterator[Finding]:
    """The languages that have entries, and none of this alias (S-P13, 1)."""
    there = catalog.of(alias)
    for language in sorted(catalog.languages, key=java_first):
        # That Java lacks one is an error of its own.
        if catalog.languages[language] and language not in there and language != "java":
            text = f"{alias!r} has no entry for {language}: its clients can neither write nor read such batches"
            yield found("S-P13", text, language, severity=severity)


def _twice(wanted: list[Plugin]) -> list[Finding]:
    counts = Counter(plugin.alias for plugin in wanted)
    return [found("S-P15", f"{alias!r} stands {count} times in the list", "java") for alias, count in counts.items() if count > 1]


def _ids(catalog: Catalog, wanted: list[Plugin], findings: list[Finding]) -> dict[str, int]:
    """The id of each alias (S-P11)."""
    ids = {plugin.alias: given for plugin in wanted if (given := _given_id(catalog, plugin, findings)) is not None}
    free = [number for number in range(MAX_ID + 1) if number not in catalog.ids() | set(ids.values())]
    new = [plugin.alias for plugin in wanted if plugin.alias not in ids]
    if len(new) > len(free):
        told = f"{count(len(new), 'new plugin')}, and {count(len(free), 'free id')}"
        findings.append(found("S-P11", f"{told}: a cluster has at most {MAX_ID + 1} plugins, remove some", "java", field="pluginID"))
    return ids | dict(zip(new, free, strict=False))


def _given_id(catalog: Catalog, plugin: Plugin, findings: list[Finding]) -> int | None:
    """The id that an alias has, or that is asked for it; None when it has to get one."""
    entries = catalog.of(plugin.alias)
    if not entries:
        return plugin.plugin_id
    own = entries[min(entries, key=java_first)].plugin_id
    if plugin.plugin_id not in (None, own):
        text = f"{plugin.alias!r} has id {own}, which batches name, and cannot get {plugin.plugin_id}: register a new alias"
        findings.append(found("S-P11", text, "java", field="pluginID"))
    return own


def _changes(catalog: Catalog, plugin: Plugin, plugin_id: int) -> Iterator[Change]:
    before = catalog.of(plugin.alias)
    for language in plugin.class_names:
        entry = plugin.entry(language, plugin_id)
        if entry != before.get(language):
            yield Change(language, plugin.alias, entry, before.get(language))


def _incompatible(changes: list[Change], after: Catalog) -> Iterator[Finding]:
    """Updates that say of themselves that they are incompatible, and languages that differ so (S-P13, 3 and 4)."""
    for change in changes:
        if change.entry and change.before:
            for field in _differences(change.entry, change.before):
                become = "get another dictionary" if field == _DICTIONARY else f"become {change.entry.version}"
                text = f"{change.alias!r} {change.before.version} would {become}: an incompatible update must be a new plugin"
                yield found("S-P13", f"{text}, with an alias of its own{_SAY_SO}", change.language, field=field)
    for alias in dict.fromkeys(change.alias for change in changes):
        for one in _disagreements(alias, after.of(alias)):
            yield found("S-P13", f"{one.text}{_SAY_SO}", one.language, field=one.field)


@dataclass(frozen=True)
class _Disagreement:
    """Two languages whose entries of an alias say that they are incompatible (S-P13, 3): in which field, and in words."""

    language: str
    field: str
    text: str


def _disagreements(alias: str, entries: dict[str, Entry]) -> Iterator[_Disagreement]:
    for (one, first), (other, second) in combinations(sorted(entries.items(), key=lambda item: java_first(item[0])), 2):
        for field in _differences(first, second):
            if field == _DICTIONARY:
                text = f"{alias!r} has one dictionary for {one} and another for {other}"
            else:
                text = f"{alias!r} is {first.version} for {one} and {second.version} for {other}"
            yield _Disagreement(other, field, f"{text}: all entries of an alias must be compatible")


def _differences(one: Entry, other: Entry) -> Iterator[str]:
    """The fields by which entries say that they are incompatible: major numbers and dictionaries, where both have one.

    A dictionary does not stand in the batches (COD-Z5), so another one under the same id makes all that was written unreadable.
    """
    first, second = _MAJOR.match(one.version), _MAJOR.match(other.version)
    if first and second and int(first[1]) != int(second[1]):
        yield "pluginVersion"
    if _DICTIONARY in one.extra and _DICTIONARY in other.extra and _dictionary(one) != _dictionary(other):
        yield _DICTIONARY


def _dictionary(entry: Entry) -> Any:
    """The bytes of its dictionary, or what stands there instead."""
    given = entry.extra[_DICTIONARY]
    try:
        return b64decode(given, validate=True)
    except (TypeError, ValueError):
        return given


#: What is to be done when no more than the version says that an update is incompatible; the command line names its option instead.
COMPATIBLE = "say that it is compatible"
_SAY_SO = f" (if it reads and writes the same bytes, {COMPATIBLE})"
_DICTIONARY = "dictionary"
#: Of what is registered: versions may differ by somebody's word, which nobody keeps; dictionaries that differ never agree.
_SEVERITIES = {"pluginVersion": "warning", _DICTIONARY: "error"}
