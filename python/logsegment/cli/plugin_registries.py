"""Choose the registry of plugins of a verb: options, and errors of a registry."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import click

from logsegment._options import EntryKeywords
from logsegment.cli.exit_codes import FOUND, UNREADABLE, Ended, words_of
from logsegment.cli.messages import say
from logsegment.plugins import FileRegistry, RegistrationError, Registry
from logsegment.plugins.registry import Absent
from logsegment.plugins.rules import COMPATIBLE
from logsegment.plugins.topic_registry import TIMEOUT, TopicStore

F = TypeVar("F", bound=Callable[..., Any])
ONE_IS_NEEDED = "no registry; pass --registry or --bootstrap-servers"
#: The hint for a verb without a registry.
ABSENT = Absent("--registry or --bootstrap-servers")
#: The options, by the names that click gives.
OPTIONS = ("registry", "bootstrap_servers", "command_config", "settings", "timeout", "allow_plugin", "replication_factor")


def registry_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options of a registry to a verb of an administrator, which gets `registry`.

    A broken rule is reported and ends the program; a setting that librdkafka refuses is a mistake of usage.
    """

    @functools.wraps(function)
    def with_registry(**options: Any) -> int:
        values = {name: options.pop(name, None) for name in OPTIONS}
        if values["registry"] is None and values["bootstrap_servers"] is None:
            raise click.UsageError(ONE_IS_NEEDED)
        registry = _registry(values)
        try:
            with reported_rules():
                return function(registry=registry, **options)
        except ValueError as error:
            raise click.UsageError(str(error)) from None

    file = click.option("--registry", type=click.Path(dir_okay=False), metavar="FILE", help="Use the registry in this JSON file.")
    return file(_server_options(with_registry))


def codecs_options(function: F) -> F:
    """Add the options of a registry to a verb that reads batches, which gets `codecs`."""

    @functools.wraps(function)
    def with_codecs(**options: Any) -> Any:
        others = {name: value for name, value in options.items() if name not in OPTIONS}
        return function(codecs=chosen(click.get_current_context()) or ABSENT, **others)

    text = "Use the plugin codecs of this registry, a JSON file."
    file = click.option("--registry", type=click.Path(exists=True, dir_okay=False), metavar="FILE", is_eager=True, help=text)
    return cast("F", file(_server_options(allow_option(with_codecs), is_eager=True)))


def allow_option(function: F) -> F:
    """Add --allow-plugin."""
    text = "Allow plugins from modules that match PATTERN, such as package.* (default: installed plugins only)."
    return click.option("--allow-plugin", multiple=True, metavar="PATTERN", is_eager=True, help=text)(function)


def chosen(context: click.Context) -> Registry | None:
    """Return the registry that the options of `codecs_options` name, one for each run; None without one.

    Raises:
        click.UsageError: for options that do not fit each other.
    """
    if __name__ not in context.meta:
        # What was not given is a mark of click's own until all parameters are parsed.
        values = {name: value for name in OPTIONS if isinstance(value := context.params.get(name), (str, tuple, int, float))}
        context.meta[__name__] = _registry(values) if any(values.values()) else None
    registry: Registry | None = context.meta[__name__]
    return registry


@contextmanager
def reported_rules() -> Iterator[None]:
    """Report the rules of a registry that would be broken, and end the program."""
    try:
        yield
    except RegistrationError as error:
        for finding in error.findings:
            words = finding.message.replace(COMPATIBLE, "pass --compatible")
            say(f"{finding.path}: {finding.severity} [{finding.rule}] {words}")
        say("nothing was written")
        raise Ended(FOUND) from None


def code_after(reading: EntryKeywords, code: int) -> int:
    """Return the exit code of a verb that continues without its registry: `UNREADABLE` if a look-up failed, which is reported."""
    registry = reading["codecs"]
    error = registry.last_error if isinstance(registry, Registry) else None
    if error is None:
        return code
    say(f"the plugin registry failed: {type(error).__name__}: {words_of(error)}")
    return UNREADABLE


def _registry(values: Mapping[str, Any]) -> Registry:
    """Return the registry that options name.

    Raises:
        click.UsageError: for two registries or none, an option that needs another one, or an invalid value.
    """
    file, servers, config, settings, timeout, allow, replicas = map(values.get, OPTIONS)
    if file is not None and servers is not None:
        raise click.UsageError(ONE_IS_NEEDED)
    for_servers = {"--command-config": config, "--setting": settings, "--timeout": timeout, "--replication-factor": replicas}
    misplaced = next((name for name, value in for_servers.items() if value), None)
    if servers is None and misplaced:
        raise click.UsageError(f"{misplaced} needs --bootstrap-servers")
    if file is not None:
        return FileRegistry(file, allow=allow or ())
    if servers is None:
        raise click.UsageError("--allow-plugin needs a registry; pass --registry or --bootstrap-servers")
    properties = (_properties(config) if config else {}) | dict(_pair(text, "--setting") for text in settings or ())
    try:
        return Registry(TopicStore(servers, properties, timeout or TIMEOUT, replicas), allow=allow or ())
    except (ImportError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _server_options(function: Callable[..., Any], *, is_eager: bool = False) -> Callable[..., Any]:
    """Add the options of a registry in topics."""
    option = functools.partial(click.option, is_eager=is_eager)
    servers = option("--bootstrap-servers", metavar="HOST:PORT,...", help="Use the registry in the topics of this cluster.")
    kind = click.Path(dir_okay=False)
    config = option("--command-config", type=kind, metavar="FILE", help="Read properties of librdkafka from FILE, one per line.")
    text = "Set a property of librdkafka; overrides the file."
    setting = option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help=text)
    text = f"Wait this many seconds for a broker (default: {TIMEOUT:g})."
    timeout = option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help=text)
    return servers(config(setting(timeout(function))))


def _properties(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        raise click.UsageError(words_of(error)) from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8") from None
    return dict(_pair(line, path) for line in lines if line and not line.startswith(("#", "!")))


def _pair(text: str, place: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        # The text may be a password that lost its name.
        raise click.UsageError(f"{place}: a property must be NAME=VALUE")
    return name.strip(), value.strip()
