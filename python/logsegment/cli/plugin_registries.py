"""Choose the registry of plugins of a verb: options, and errors of a registry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import click

from logsegment._options import CodecRegistry, EntryKeywords, EntryOptions, declared
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import FOUND, UNREADABLE, ExitCode, words_of
from logsegment.cli.messages import say
from logsegment.plugins import FileRegistry, RegistrationError, Registry
from logsegment.plugins.registry import Absent
from logsegment.plugins.rules import COMPATIBLE
from logsegment.plugins.topic_registry import TIMEOUT, TopicStore

ONE_IS_NEEDED = "no registry; pass --registry or --bootstrap-servers"
#: The hint for a verb without a registry.
ABSENT = Absent("--registry or --bootstrap-servers")
AllowPlugin: TypeAlias = Annotated[
    tuple[str, ...],
    VerbOption(
        "Allow plugins from modules that match PATTERN, such as package.*.", "--allow-plugin PATTERN", default="installed plugins only"
    ),
]


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
        raise ExitCode(FOUND) from None


def code_after(reading: EntryKeywords, code: int) -> int:
    """Return the exit code of a verb that continues without its registry: `UNREADABLE` if a look-up failed, which is reported."""
    registry = reading["codecs"]
    error = registry.last_error if isinstance(registry, Registry) else None
    if error is None:
        return code
    say(f"the plugin registry failed: {type(error).__name__}: {words_of(error)}")
    return UNREADABLE


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

    @contextmanager
    def opened(self, replicas: int | None = None, allow: tuple[str, ...] = ()) -> Iterator[Registry]:
        """Open the registry that the options name, for a verb of an administrator.

        A broken rule is reported and ends the program.

        Raises:
            click.UsageError: if the options name no registry, do not fit each other, or have a setting that librdkafka refuses.
        """
        if self.registry is None and self.bootstrap_servers is None:
            raise click.UsageError(ONE_IS_NEEDED)
        registry = self.named(replicas, allow)
        assert registry is not None, "one is named"
        try:
            with reported_rules():
                yield registry
        except ValueError as error:
            raise click.UsageError(str(error)) from None

    def named(self, replicas: int | None = None, allow: tuple[str, ...] = ()) -> Registry | None:
        """Return the registry that the options name, without reading it; None if they name none.

        Raises:
            click.UsageError: for two registries, an option that needs another one, or an invalid value.
        """
        file, servers = self.registry, self.bootstrap_servers
        if file is not None and servers is not None:
            raise click.UsageError(ONE_IS_NEEDED)
        for_servers = {"--command-config": self.command_config, "--setting": self.settings, "--timeout": self.timeout}
        for_servers |= {"--replication-factor": replicas}
        misplaced = next((name for name, value in for_servers.items() if value), None)
        if servers is None and misplaced and (file is not None or misplaced != "--replication-factor"):
            raise click.UsageError(f"{misplaced} needs --bootstrap-servers")
        if file is not None:
            return FileRegistry(file, allow=allow)
        if servers is None:
            return None
        properties = _properties(self.command_config) if self.command_config else {}
        properties |= dict(_pair(text, "--setting") for text in self.settings or ())
        try:
            return Registry(TopicStore(servers, properties, self.timeout or TIMEOUT, replicas), allow=allow)
        except (ImportError, ValueError) as error:
            raise click.UsageError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class RegistryArguments(RegistryOptions):
    """The options of a verb that reads batches with the plugin codecs of a registry, if one is named."""

    registry: Annotated[
        str | None, VerbOption(declared(EntryOptions)["codecs"].shown.help, "--registry FILE", kind=click.Path(exists=True, dir_okay=False))
    ]
    allow_plugin: AllowPlugin

    def codecs(self) -> CodecRegistry:
        """Return the registry, or one that is absent.

        Raises:
            click.UsageError: for options that do not fit each other.
        """
        registry = self.named(allow=self.allow_plugin)
        if registry is None and self.allow_plugin:
            raise click.UsageError("--allow-plugin needs a registry; pass --registry or --bootstrap-servers")
        return ABSENT if registry is None else registry


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
