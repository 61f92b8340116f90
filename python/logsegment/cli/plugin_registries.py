"""Choose the registry of plugins of a verb: options, and errors of a registry."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from logsegment._options import EntryKeywords
from logsegment.cli.exit_codes import FOUND, UNREADABLE, ExitCode, words_of
from logsegment.cli.messages import say
from logsegment.plugins import Entry, FileRegistry, RegistrationError, Registry, TopicRegistry
from logsegment.plugins.registry import Absent, is_given
from logsegment.plugins.rules import COMPATIBLE

if TYPE_CHECKING:
    from logsegment.plugins.stored_registry import StoredRegistry

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
ONE_IS_NEEDED = "no registry; pass --registry or --bootstrap-servers"
FOR_SERVERS = "needs --bootstrap-servers"
#: Seconds, without --timeout.
TIMEOUT = 10.0
#: The hint for a verb without a registry.
ABSENT = Absent("--registry or --bootstrap-servers")
#: What `codecs_options` adds, by the names that click gives.
OPTIONS = ("registry", "bootstrap_servers", "command_config", "settings", "timeout", "allow_plugin")


@dataclass(frozen=True)
class OpenRegistry:
    """The one registry that was named."""

    file: str | None
    servers: str | None
    settings: dict[str, str] = field(repr=False)
    replicas: int | None
    timeout: float
    allow: tuple[str, ...] = ()

    @contextmanager
    def opened(self, *, quiet: bool = False) -> Iterator[StoredRegistry]:
        """Open the registry. What breaks its rules is reported and ends the program.

        Raises:
            click.UsageError: for a setting that cannot be used.
        """
        try:
            with refusing():
                yield self.made()
        except ValueError as mistake:
            raise click.UsageError(str(mistake)) from None

    def made(self) -> StoredRegistry:
        """Build the registry without reading it."""
        if self.file is not None:
            return FileRegistry(self.file, allow=self.allow)
        return TopicRegistry.of_settings(
            str(self.servers), self.settings, timeout=self.timeout, replication_factor=self.replicas, allow=self.allow
        )


@contextmanager
def refusing() -> Iterator[None]:
    """Report what breaks the rules of a registry, and end the program."""
    try:
        yield
    except RegistrationError as refused:
        for finding in refused.findings:
            words = finding.message.replace(COMPATIBLE, "pass --compatible")
            say(f"{finding.path}: {finding.severity} [{finding.rule}] {words}")
        say("nothing was written")
        raise ExitCode(FOUND) from None


def noting_errors(reading: EntryKeywords) -> EntryKeywords:
    """Return the options of a verb that continues without its registry if that fails."""
    codecs = cast("Registry | None", reading["codecs"])
    return {**reading, "codecs": Noting(codecs)} if codecs is not None and is_given(codecs) else reading


def code_after(reading: EntryKeywords, code: int) -> int:
    """Return the exit code of a verb: `code`, or `UNREADABLE` if the registry of `noting_errors` failed, which is reported."""
    noting = reading["codecs"]
    if not isinstance(noting, Noting) or noting.fault is None:
        return code
    say(f"the plugin registry failed: {type(noting.fault).__name__}: {words_of(noting.fault)}")
    return UNREADABLE


class Noting:
    """A registry that keeps its errors, for a verb that goes on without it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.fault: OSError | None = None

    @property
    def allow(self) -> tuple[str, ...]:
        """Patterns of modules that entries may name."""
        allowed: tuple[str, ...] = getattr(self._registry, "allow", ())
        return allowed

    def by_id(self, plugin_id: int) -> Entry | None:
        """Find the plugin that a batch names; None when there is none."""
        return self._noted(lambda: self._registry.by_id(plugin_id))

    def by_alias(self, alias: str) -> Entry | None:
        """Find the plugin that a user names; None when there is none."""
        return self._noted(lambda: self._registry.by_alias(alias))

    def entries(self) -> list[Entry]:
        """Give all plugins, in the order of their ids."""
        return self._noted(self._registry.entries)

    def refresh(self) -> None:
        """Read the registry again."""
        self._noted(self._registry.refresh)

    def _noted(self, look: Callable[[], T]) -> T:
        try:
            return look()
        except OSError as error:
            self.fault = error
            raise


def registry_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add --registry, --bootstrap-servers and what belongs to them; the verb gets `registry`."""

    @functools.wraps(function)
    def named(
        registry: str | None,
        bootstrap_servers: str | None,
        command_config: str | None,
        settings: tuple[str, ...],
        timeout: float | None,
        **options: Any,
    ) -> int:
        if registry is None and bootstrap_servers is None:
            raise click.UsageError(ONE_IS_NEEDED)
        replicas, allow = options.pop("replication_factor", None), options.pop("allow_plugin", ())
        if registry is not None and replicas is not None:
            raise click.UsageError(f"--replication-factor {FOR_SERVERS}")
        known = settings_of(registry, bootstrap_servers, command_config, settings, timeout)
        opened = OpenRegistry(registry, bootstrap_servers, known, replicas, timeout or TIMEOUT, allow)
        return function(registry=opened, **options)

    file = click.option("--registry", type=click.Path(dir_okay=False), metavar="FILE", help="Use the registry in this JSON file.")
    return file(_server_options(named))


def codecs_options(function: F) -> F:
    """Add --registry, --bootstrap-servers and what belongs to them to a verb that reads batches, which gets `codecs`."""

    @functools.wraps(function)
    def named(**options: Any) -> Any:
        rest = {name: value for name, value in options.items() if name not in OPTIONS}
        return function(codecs=chosen(click.get_current_context()) or ABSENT, **rest)

    text = "Use the plugin codecs of this registry, a JSON file."
    file = click.option("--registry", type=click.Path(exists=True, dir_okay=False), metavar="FILE", is_eager=True, help=text)
    return cast("F", file(_server_options(allow_option(named), is_eager=True)))


def allow_option(function: F) -> F:
    """Add --allow-plugin."""
    text = "Allow plugins from modules that match PATTERN, such as package.* (default: installed plugins only)."
    return click.option("--allow-plugin", multiple=True, metavar="PATTERN", is_eager=True, help=text)(function)


def chosen(context: click.Context) -> StoredRegistry | None:
    """Return the registry that the options of `codecs_options` name, one for each run; None without one.

    Raises:
        click.UsageError: for options that do not fit each other.
    """
    if __name__ not in context.meta:
        # What was not given is a mark of click's own until all parameters are parsed.
        given = {name: value for name in OPTIONS if isinstance(value := context.params.get(name), (str, tuple, int, float))}
        context.meta[__name__] = _chosen(given)
    registry: StoredRegistry | None = context.meta[__name__]
    return registry


def settings_of(
    registry: str | None, servers: str | None, config: str | None, settings: tuple[str, ...] | None, timeout: float | None
) -> dict[str, str]:
    """Return the settings of librdkafka that the options name.

    Raises:
        click.UsageError: for two registries, settings without servers, or an invalid property.
    """
    if registry is not None and servers is not None:
        raise click.UsageError(ONE_IS_NEEDED)
    alone = [name for name, value in (("--command-config", config), ("--setting", settings), ("--timeout", timeout)) if value]
    if servers is None and alone:
        raise click.UsageError(f"{alone[0]} {FOR_SERVERS}")
    return (_properties(config) if config else {}) | dict(_pair(text, "--setting") for text in settings or ())


def _chosen(given: Mapping[str, Any]) -> StoredRegistry | None:
    registry, servers, config, settings, timeout, allow = map(given.get, OPTIONS)
    known = settings_of(registry, servers, config, settings, timeout)
    if registry is None and servers is None:
        if allow:
            raise click.UsageError("--allow-plugin needs a registry; pass --registry or --bootstrap-servers")
        return None
    try:
        return OpenRegistry(registry, servers, known, None, timeout or TIMEOUT, allow or ()).made()
    except (ImportError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _server_options(function: Callable[..., Any], *, is_eager: bool = False) -> Callable[..., Any]:
    timeout = click.FloatRange(0, min_open=True)
    options = (
        click.option(
            "--bootstrap-servers", metavar="HOST:PORT,...", is_eager=is_eager, help="Use the registry in the topics of this cluster."
        ),
        click.option(
            "--command-config",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            is_eager=is_eager,
            help="Read properties of librdkafka from FILE, one per line.",
        ),
        click.option(
            "--setting",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            is_eager=is_eager,
            help="Set a property of librdkafka; overrides the file.",
        ),
        click.option(
            "--timeout",
            type=timeout,
            metavar="SECONDS",
            is_eager=is_eager,
            help=f"Wait this many seconds for a broker (default: {TIMEOUT:g}).",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _properties(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        raise click.UsageError(words_of(error)) from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8") from None
    return dict(_pair(line, path) for line in lines if line and not line.startswith(("#", "!")))


def _pair(text: str, where: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        # The text may be a password that lost its name.
        raise click.UsageError(f"{where}: a property must be NAME=VALUE")
    return name.strip(), value.strip()
