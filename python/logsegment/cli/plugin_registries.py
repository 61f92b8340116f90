"""Choose the registry of plugins of a verb: options, and errors of a registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, cast

import click

from logsegment._options import EntryKeywords, EntryOptions, declared
from logsegment.cli.arguments import VerbOption
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
AllowPlugin: TypeAlias = Annotated[
    tuple[str, ...],
    VerbOption(
        "Allow plugins from modules that match PATTERN, such as package.*.", "--allow-plugin PATTERN", default="installed plugins only"
    ),
]


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


@dataclass(frozen=True, kw_only=True)
class RegistryOptions:
    """The options that name a registry."""

    registry: Annotated[str | None, VerbOption("Use the registry in this JSON file.", "--registry FILE", kind=click.Path(dir_okay=False))]
    bootstrap_servers: Annotated[
        str | None, VerbOption("Use the registry in the topics of this cluster.", "--bootstrap-servers HOST:PORT,...")
    ]
    command_config: Annotated[
        str | None,
        VerbOption("Read properties of librdkafka from FILE, one per line.", "--command-config FILE", kind=click.Path(dir_okay=False)),
    ]
    settings: Annotated[tuple[str, ...], VerbOption("Set a property of librdkafka; overrides the file.", "--setting NAME=VALUE")]
    timeout: Annotated[
        float | None,
        VerbOption(
            "Wait this many seconds for a broker.", "--timeout SECONDS", default=f"{TIMEOUT:g}", kind=click.FloatRange(0, min_open=True)
        ),
    ]

    def opened(self, replicas: int | None = None, allow: tuple[str, ...] = ()) -> OpenRegistry | None:
        """Return the registry that the options name; None without one.

        Raises:
            click.UsageError: for options that do not fit each other.
        """
        known = settings_of(self.registry, self.bootstrap_servers, self.command_config, self.settings, self.timeout)
        if self.registry is None and self.bootstrap_servers is None:
            return None
        return OpenRegistry(self.registry, self.bootstrap_servers, known, replicas, self.timeout or TIMEOUT, allow)

    def named(self, replicas: int | None = None, allow: tuple[str, ...] = ()) -> OpenRegistry:
        """Return the registry that the options name.

        Raises:
            click.UsageError: if they name none, or do not fit each other.
        """
        if self.registry is None and self.bootstrap_servers is None:
            raise click.UsageError(ONE_IS_NEEDED)
        if self.registry is not None and replicas is not None:
            raise click.UsageError(f"--replication-factor {FOR_SERVERS}")
        opened = self.opened(replicas, allow)
        assert opened is not None, "one is named"
        return opened


@dataclass(frozen=True, kw_only=True)
class RegistryArguments(RegistryOptions):
    """The options of a verb that reads batches with the plugin codecs of a registry, if one is named."""

    registry: Annotated[
        str | None, VerbOption(declared(EntryOptions)["codecs"].shown.help, "--registry FILE", kind=click.Path(exists=True, dir_okay=False))
    ]
    allow_plugin: AllowPlugin

    def codecs(self) -> Registry:
        """Return the registry, or one that is absent.

        Raises:
            click.UsageError: for options that do not fit each other.
        """
        try:
            registry = self.opened(allow=self.allow_plugin)
            if registry is None and self.allow_plugin:
                raise click.UsageError("--allow-plugin needs a registry; pass --registry or --bootstrap-servers")
            return ABSENT if registry is None else registry.made()
        except (ImportError, ValueError) as error:
            raise click.UsageError(str(error)) from None


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
