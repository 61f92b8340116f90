"""`logsegment plugins`: the registry of plugin codecs, for its administrator."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import click

from logsegment import Finding
from logsegment.cli.arguments import Argument, VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, handle_exit
from logsegment.cli.help import VerbGroup
from logsegment.cli.messages import Console, count, say, show_json
from logsegment.cli.number_types import whole
from logsegment.cli.options import FailOn, Quiet, bind_args, examples
from logsegment.cli.plugin_registries import AllowPlugin, RegistryOptions
from logsegment.cli.plugin_training import train_
from logsegment.plugins import Catalog, Change, Entry, EntryError, Plugin, Registry
from logsegment.plugins.loading import PluginNotInstalled, load
from logsegment.plugins.lookup import Plan
from logsegment.plugins.rules import LANGUAGE, alias_error, check_rules, finding_of, is_language, registration, removal

CANNOT_READ = "Batches that these plugins compressed can no longer be read, and their ids may be reused."


@click.group(
    cls=VerbGroup,
    short_help="Register plugin codecs, list, check and remove them (KIP-984).",
    epilog=examples(
        "logsegment plugins register --registry plugins.json plugins.yaml",
        "logsegment plugins register --bootstrap-servers broker:9092",
        "logsegment plugins list --bootstrap-servers broker:9092 --command-config admin.properties",
    ),
)
def plugins() -> None:
    """Register plugin codecs, list, check and remove them (KIP-984).

    A registry is a JSON file, or the topics plugin-LANGUAGE-topic of a cluster. A compressed batch has the id of its plugin, 0 to 15. The
    registry maps the id to a class for each language of clients.
    """


plugins.add_command(train_)


@dataclass(frozen=True, kw_only=True)
class ListPluginsArguments(RegistryOptions):
    """The arguments of `plugins list`."""

    is_json: Annotated[bool, VerbOption("Print JSON lines: the registry's values, each with its language.", "--json")]


@plugins.command(name="list", epilog=examples("logsegment plugins list --registry plugins.json --json"))
@handle_exit
@bind_args(ListPluginsArguments)
def list_(options: ListPluginsArguments) -> int:
    """List the plugins of all languages.

    Exit with 1 if a rule is broken; `logsegment plugins check` reports all rules.
    """
    with options.opened() as registry:
        catalog = registry.catalog()
    if options.is_json:
        for language, entry in catalog.each():
            show_json({"language": language} | entry.to_dict())
    else:
        _show(Console(), _by_id(catalog))
    return _report([finding for finding in check_rules(catalog) if finding.severity == "error"])


@dataclass(frozen=True, kw_only=True)
class CheckPluginsArguments(RegistryOptions):
    """The arguments of `plugins check`."""

    fail_on: FailOn = "error"
    installed: Annotated[bool, VerbOption("Check too that Python's codecs are installed, by importing their modules.", "--installed")]
    allow_plugin: AllowPlugin
    is_json: Annotated[bool, VerbOption("Print findings as JSON lines.", "--json")]
    quiet: Quiet


@plugins.command(epilog=examples("logsegment plugins check --bootstrap-servers broker:9092"))
@handle_exit
@bind_args(CheckPluginsArguments)
def check(options: CheckPluginsArguments) -> int:
    """Check the registered plugins against all rules, and the settings of the topics."""
    with options.opened(allow=options.allow_plugin) as registry:
        findings = registry.check()
        if options.installed:
            findings += _not_installed(registry)
    if options.is_json:
        for finding in findings:
            show_json(finding.to_dict())
    elif findings:
        places = ["-" if finding.base_offset is None else f"{finding.base_offset}" for finding in findings]
        rows = [(found.severity, found.rule, found.path, place, found.message) for found, place in zip(findings, places, strict=True)]
        Console().table(("severity", "rule", "topic", "offset", "what"), rows)
    elif not options.quiet:
        Console().line("clean", "green")
    failing = ("error", "warning") if options.fail_on == "warning" else ("error",)
    return FOUND if any(finding.severity in failing for finding in findings) else CLEAN


@dataclass(frozen=True, kw_only=True)
class RegisterArguments(RegistryOptions):
    """The arguments of `plugins register`."""

    file: Annotated[str | None, Argument("[FILE]", click.Path(dir_okay=False), is_optional=True)]
    compatible: Annotated[
        bool, VerbOption("Accept new major versions and other classes: they read and write the same bytes.", "--compatible")
    ]
    partial: Annotated[bool, VerbOption("Accept new plugins without a language that others have.", "--partial")]
    replication_factor: Annotated[
        int | None, VerbOption("Create topics with N replicas.", "--replication-factor N", default="3, or all brokers", kind=whole(1))
    ]
    dry_run: Annotated[bool, VerbOption("Print the new entries, and write nothing.", "--dry-run")]
    quiet: Quiet


@plugins.command(
    epilog=examples(
        "logsegment plugins register --bootstrap-servers broker:9092 plugins.yaml",
        "logsegment plugins register --registry plugins.json",
    )
)
@handle_exit
@bind_args(RegisterArguments)
def register(options: RegisterArguments) -> int:
    """Register the plugins of FILE (.yaml, .toml or .json), all or none; without FILE, ask for them.

    FILE has a list (in TOML, tables [[plugins]]) of pluginAlias, pluginVersion and pluginClassName, a class for each language. The
    registry assigns the ids. If a plugin breaks a rule, nothing is written and the exit code is 1.
    """
    if options.file is None and not (sys.stdin is not None and sys.stdin.isatty()):
        raise click.UsageError("no FILE, and standard input is not a terminal for the questions")
    with options.opened(options.replication_factor) as registry:
        requested = plugins_of(options.file) if options.file is not None else ask_plugins(registry.planned(lambda catalog: catalog))

        def plan(catalog: Catalog) -> list[Change]:
            return registration(catalog, requested, compatible=options.compatible, partial=options.partial)

        if options.dry_run:
            _show_changes(registry.planned(plan))
            return CLEAN
        return _write(registry, plan, "Write this?" if options.file is None else None, quiet=options.quiet)


@dataclass(frozen=True, kw_only=True)
class RemoveArguments(RegistryOptions):
    """The arguments of `plugins remove`."""

    aliases: Annotated[tuple[str, ...], Argument("ALIAS...", is_many=True)]
    language: Annotated[str | None, VerbOption("Remove only the entries of this language.", "--language")]
    yes: Annotated[bool, VerbOption("Do not ask for confirmation.", "-y --yes")]
    quiet: Quiet


@plugins.command(epilog=examples("logsegment plugins remove --registry plugins.json fast"))
@handle_exit
@bind_args(RemoveArguments)
def remove(options: RemoveArguments) -> int:
    """Remove plugins, all or none. Batches that were compressed with them can no longer be read."""
    if not options.yes and not (sys.stdin is not None and sys.stdin.isatty()):
        raise click.UsageError("standard input is not a terminal; pass --yes to remove without confirmation")
    with options.opened() as registry:
        registry.ensure_exists()
        question = None if options.yes else f"{CANNOT_READ} Remove this?"
        return _write(registry, lambda catalog: removal(catalog, options.aliases, options.language), question, quiet=options.quiet)


def _not_installed(registry: Registry) -> Iterator[Finding]:
    for alias, entry in registry.catalog().languages.get("python", {}).items():
        try:
            load(entry, registry.allow)
        except PluginNotInstalled as error:
            yield finding_of("S-P20", f"{alias!r} {entry.version}: {entry.class_name} is not available here: {error}", "python")


def _write(registry: Registry, plan: Plan, question: str | None, *, quiet: bool) -> int:
    """Write the changes of a plan; with a question only changes that were shown and confirmed."""
    if question is None:
        written = registry.change(plan)
        if not quiet:
            _show_changes(written)
        return CLEAN
    shown = registry.planned(plan)
    _show_changes(shown)
    while shown:
        if not click.confirm(question, err=True):
            say("nothing was written")
            return CLEAN
        meanwhile = _write_shown(registry, plan, shown)
        if meanwhile is None:
            say(f"{count(len(shown), 'record')} written")
            return CLEAN
        say("another administrator changed the registry; the new entries are now")
        shown = meanwhile
        _show_changes(shown)
    return CLEAN


def _write_shown(registry: Registry, plan: Plan, shown: list[Change]) -> list[Change] | None:
    """Write the changes that were shown. If the plan makes other changes now, return these and write nothing."""
    meanwhile: list[Change] = []

    def confirmed(catalog: Catalog) -> list[Change]:
        meanwhile[:] = plan(catalog)
        return meanwhile if meanwhile == shown else []

    registry.change(confirmed)
    return None if meanwhile == shown else meanwhile


def _show_changes(changes: list[Change]) -> None:
    if not changes:
        say("nothing to write; all entries are registered")
        return
    paper = Console()
    gone = [change for change in changes if change.entry is None]
    _show(paper, [(change.language, change.entry, _verb(change)) for change in changes if change.entry is not None])
    if gone:
        paper.table(
            ("id", "alias", "language", "", ""), [(_id(plugin.before), plugin.alias, plugin.language, "removed", "") for plugin in gone]
        )


def _show(paper: Console, rows: Iterable[tuple[str, Entry, str]]) -> None:
    cells = [(str(plugin.plugin_id), plugin.alias, language, plugin.version, plugin.class_name, verb) for language, plugin, verb in rows]
    if cells:
        paper.table(("id", "alias", "language", "version", "class", ""), cells)


def _by_id(catalog: Catalog) -> list[tuple[str, Entry, str]]:
    return [(language, entry, "") for language, entry in sorted(catalog.each(), key=lambda pair: (pair[1].plugin_id, pair[1].alias))]


def _verb(change: Change) -> str:
    return "new" if change.before is None else f"instead of {change.before.class_name} {change.before.version}"


def _id(entry: Entry | None) -> str:
    return "?" if entry is None else str(entry.plugin_id)


def _report(findings: list[Finding]) -> int:
    for finding in findings:
        say(f"{finding.path}: {finding.severity} [{finding.rule}] {finding.message}")
    return FOUND if findings else CLEAN


def ask_plugins(catalog: Catalog) -> list[Plugin]:
    """Ask for plugins until there are no more. What is registered already is offered as the answer."""
    asked = [_plugin(catalog)]
    while click.confirm("Another plugin?", err=True):
        asked.append(_plugin(catalog))
    return asked


def _plugin(catalog: Catalog) -> Plugin:
    alias = _asked("Alias (what `compression` is set to)", alias_error)
    there = catalog.of(alias)
    if there:
        say(f"{alias} is registered with id {next(iter(there.values())).plugin_id} for {', '.join(there)}; this is an update")
    version = _asked("Version", default=next((entry.version for entry in there.values()), "v1.0"))
    class_names = {language: _class(language, there) for language in dict.fromkeys(("java", *there))}
    while language := _language(class_names):
        class_names[language] = _class(language, there)
    return Plugin(alias, class_names, version)


def _class(language: str, there: dict[str, Entry]) -> str:
    form = "package.module:Class" if language == "python" else "its class" if language != "java" else "package.Class"
    default = there[language].class_name if language in there else None
    answer = _asked(f"Class for {language} ({form})", partial(_class_error, language), default)
    return answer.removeprefix(f"{language}=").strip()


def _class_error(language: str, answer: str) -> str | None:
    """Return what is wrong with a class name. `LANGUAGE=` before it is ignored if it names the language that was asked for."""
    named, equals, name = answer.partition("=")
    if equals and named == language:
        return None if name.strip() else f"the class is missing after {named}="
    return f"answer with the class for {language}, not for {named}" if equals and is_language(named) else None


def _language(named: dict[str, str]) -> str | None:
    text = click.prompt("Another language, such as python (empty: no more)", default="", show_default=False, err=True).strip()
    if text in named:
        say(f"{text} has its class")
        return _language(named)
    if text and not is_language(text):
        say(f"{text!r} is not a name of a language: {LANGUAGE}")
        return _language(named)
    return text or None


def _asked(question: str, fault: object = None, default: str | None = None) -> str:
    while True:
        answer = str(click.prompt(question, default=default, err=True)).strip()
        problem = fault(answer) if callable(fault) and answer else None
        if answer and not problem:
            try:
                answer.encode()
            except UnicodeEncodeError:
                problem = "that is not UTF-8"
            else:
                return answer
        say(problem or "an answer is needed")


def plugins_of(path: str) -> list[Plugin]:
    """Read the plugins of a file.

    Raises:
        click.UsageError: when it is none of the three, or holds something else.
        OSError: when it cannot be read.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in READERS:
        raise click.UsageError(f"{path} must end in {', '.join(READERS)}")
    with open(path, "rb") as file:
        content = file.read()
    try:
        found = READERS[suffix](content)
    except (ValueError, RecursionError) as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise click.UsageError(f"{path} cannot be read: {problem}") from None
    listed = found.get("plugins") if isinstance(found, dict) else found
    if not isinstance(listed, list) or not listed:
        raise click.UsageError(f"{path} has no list of plugins")
    return [_listed_plugin(path, number, fields) for number, fields in enumerate(listed, 1)]


def _listed_plugin(path: str, number: int, fields: Any) -> Plugin:
    try:
        return Plugin.from_dict(fields)
    except EntryError as error:
        advice = '; in YAML and TOML "1.0" needs its quotes' if error.field == "pluginVersion" else ""
        raise click.UsageError(f"{path}, plugin {number}: {error}{advice}") from None


def _yaml(content: bytes) -> Any:
    try:
        import yaml
    except ImportError:
        raise click.UsageError("YAML needs pyyaml: pip install 'logsegment[plugins]' (JSON and TOML do not)") from None
    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _toml(content: bytes) -> Any:
    return tomllib.loads(content.decode())


#: By suffix.
READERS: dict[str, Callable[[bytes], Any]] = {".yaml": _yaml, ".yml": _yaml, ".toml": _toml, ".json": json.loads}
