"""`logsegment plugins`: the registry of plugin codecs, for its administrator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

import click

from logsegment._core import Finding
from logsegment.cli.exit_codes import CLEAN, FOUND, ending
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.options import examples, quiet_option
from logsegment.cli.output.text import Paper
from logsegment.cli.plugin_answers import ask_plugins
from logsegment.cli.plugin_files import plugins_of
from logsegment.cli.plugin_registries import OpenRegistry, allow_option, registry_options
from logsegment.cli.plugin_training import train_
from logsegment.plugins import Catalog, Change, Entry
from logsegment.plugins.catalog import found
from logsegment.plugins.loading import PluginNotInstalled, load
from logsegment.plugins.rules import judge, registration, removal
from logsegment.plugins.stored_registry import StoredRegistry

CANNOT_READ = "Batches that were compressed with them can no longer be read, and their ids may be given to other plugins."


@click.group(
    short_help="Register plugin codecs, list, check and remove them (KIP-984).",
    epilog=examples(
        "logsegment plugins register --registry plugins.json plugins.yaml",
        "logsegment plugins register --bootstrap-servers broker:9092",
        "logsegment plugins list --bootstrap-servers broker:9092 --command-config admin.properties",
    ),
)
def plugins() -> None:
    """The registry of plugin codecs: a JSON file, or the topics plugin-LANGUAGE-topic of a cluster.

    A batch that a plugin compressed names it by an id from 0 to 15. The registry says for each language of clients which class that is.
    """


plugins.add_command(train_)


@plugins.command(name="list", epilog=examples("logsegment plugins list --registry plugins.json --json"))
@registry_options
@click.option("--json", "is_json", is_flag=True, help="JSON lines: the registry's values, each with its language.")
@ending
def list_(registry: OpenRegistry, is_json: bool) -> int:
    """List the plugins of all languages.

    Exit code 1 when a rule is broken; `logsegment plugins check` tells all of it.
    """
    with registry.opened() as opened:
        catalog = opened.catalog()
    if is_json:
        for language, entry in catalog.each():
            show_json({"language": language} | entry.to_dict())
    else:
        _show(Paper(), _by_id(catalog))
    return _tell([finding for finding in judge(catalog) if finding.severity == "error"])


@plugins.command(epilog=examples("logsegment plugins check --bootstrap-servers broker:9092"))
@registry_options
@click.option("--fail-on", type=click.Choice(["error", "warning"]), default="error", show_default=True, help="Exit with 1 from here on.")
@click.option("--installed", is_flag=True, help="Also whether Python's codecs are installed here, which imports their modules.")
@allow_option
@click.option("--json", "is_json", is_flag=True, help="JSON lines: the findings.")
@quiet_option
@ending
def check(registry: OpenRegistry, fail_on: str, installed: bool, is_json: bool, quiet: bool) -> int:
    """Hold all rules against what is registered, and look at the settings of the topics."""
    with registry.opened() as opened:
        findings = opened.check()
        if installed:
            findings += _not_installed(opened.catalog(), registry.allow)
    if is_json:
        for finding in findings:
            show_json(finding.to_dict())
    elif findings:
        rows = [
            (one.severity, one.rule, one.path, "-" if one.base_offset is None else f"{one.base_offset}", one.message) for one in findings
        ]
        Paper().table(("severity", "rule", "topic", "offset", "what"), rows)
    elif not quiet:
        Paper().line("clean", "green")
    failing = ("error", "warning") if fail_on == "warning" else ("error",)
    return FOUND if any(finding.severity in failing for finding in findings) else CLEAN


@plugins.command(
    epilog=examples(
        "logsegment plugins register --bootstrap-servers broker:9092 plugins.yaml",
        "logsegment plugins register --registry plugins.json",
    )
)
@registry_options
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@click.option("--compatible", is_flag=True, help="New major versions read and write the same bytes as the ones that they replace.")
@click.option("--partial", is_flag=True, help="New plugins may lack languages that others have.")
@click.option("--replication-factor", type=click.IntRange(1), metavar="N", help="Of topics that are made (default: 3, or all brokers).")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@quiet_option
@ending
def register(registry: OpenRegistry, file: str | None, compatible: bool, partial: bool, dry_run: bool, quiet: bool) -> int:
    """Register the plugins of FILE (.yaml, .toml or .json), all or none; without FILE, ask for them.

    FILE holds a list (in TOML, tables [[plugins]]) of pluginAlias, pluginVersion and pluginClassName, which names a class for each
    language. Ids are given by the registry. Exit code 1 when a rule would be broken; nothing is written then.
    """
    if file is None and not (sys.stdin is not None and sys.stdin.isatty()):
        raise click.UsageError("FILE is missing, and standard input is no terminal to ask at")
    with registry.opened(quiet=quiet) as opened:
        wanted = plugins_of(file) if file is not None else ask_plugins(opened.planned(lambda catalog: catalog))

        def plan(catalog: Catalog) -> list[Change]:
            return registration(catalog, wanted, compatible=compatible, partial=partial)

        if dry_run:
            _show_changes(opened.planned(plan))
            return CLEAN
        return _write(opened, plan, "Write this?" if file is None else None, quiet=quiet)


@plugins.command(epilog=examples("logsegment plugins remove --registry plugins.json fast"))
@registry_options
@click.argument("aliases", metavar="ALIAS...", nargs=-1, required=True)
@click.option("--language", help="Remove the entries of this language only.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@quiet_option
@ending
def remove(registry: OpenRegistry, aliases: tuple[str, ...], language: str | None, yes: bool, quiet: bool) -> int:
    """Remove plugins, all or none. Batches that were compressed with them can no longer be read."""
    if not yes and not (sys.stdin is not None and sys.stdin.isatty()):
        raise click.UsageError("standard input is no terminal to ask at; --yes removes without")
    with registry.opened(quiet=quiet) as opened:
        opened.ensure_there()
        question = None if yes else f"{CANNOT_READ} Remove this?"
        return _write(opened, lambda catalog: removal(catalog, aliases, language), question, quiet=quiet)


def _not_installed(catalog: Catalog, allow: tuple[str, ...]) -> Iterator[Finding]:
    for alias, entry in catalog.languages.get("python", {}).items():
        try:
            load(entry, allow)
        except PluginNotInstalled as error:
            yield found("S-P20", f"{alias!r} {entry.version}: {entry.class_name} is not available here: {error}", "python")


def _write(registry: StoredRegistry, plan: Callable[[Catalog], list[Change]], question: str | None, *, quiet: bool) -> int:
    """Write what a plan makes; with a question only what was shown and confirmed."""
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
        say("another administrator changed the registry meanwhile; now it would be this")
        shown = meanwhile
        _show_changes(shown)
    return CLEAN


def _write_shown(registry: StoredRegistry, plan: Callable[[Catalog], list[Change]], shown: list[Change]) -> list[Change] | None:
    """Write what was shown. If that is no longer what the plan makes, write nothing, and give what it makes now."""
    meanwhile: list[Change] = []

    def confirmed(catalog: Catalog) -> list[Change]:
        meanwhile[:] = plan(catalog)
        return meanwhile if meanwhile == shown else []

    registry.change(confirmed)
    return None if meanwhile == shown else meanwhile


def _show_changes(changes: list[Change]) -> None:
    if not changes:
        say("nothing to write: all of it is registered")
        return
    paper = Paper()
    gone = [change for change in changes if change.entry is None]
    _show(paper, [(change.language, change.entry, _verb(change)) for change in changes if change.entry is not None])
    if gone:
        paper.table(("id", "alias", "language", "", ""), [(_id(one.before), one.alias, one.language, "removed", "") for one in gone])


def _show(paper: Paper, rows: Iterable[tuple[str, Entry, str]]) -> None:
    cells = [(str(one.plugin_id), one.alias, language, one.version, one.class_name, verb) for language, one, verb in rows]
    if cells:
        paper.table(("id", "alias", "language", "version", "class", ""), cells)


def _by_id(catalog: Catalog) -> list[tuple[str, Entry, str]]:
    return [(language, entry, "") for language, entry in sorted(catalog.each(), key=lambda pair: (pair[1].plugin_id, pair[1].alias))]


def _verb(change: Change) -> str:
    return "new" if change.before is None else f"instead of {change.before.class_name} {change.before.version}"


def _id(entry: Entry | None) -> str:
    return "?" if entry is None else str(entry.plugin_id)


def _tell(findings: list[Finding]) -> int:
    for finding in findings:
        say(f"{finding.path}: {finding.severity} [{finding.rule}] {finding.message}")
    return FOUND if findings else CLEAN
