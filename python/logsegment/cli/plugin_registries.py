"""Which registry of plugins a verb works on: its options, and how its refusals end the program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec

import click

from logsegment.cli.ending import FOUND, Ended, words_of
from logsegment.cli.messages import say
from logsegment.plugins import FileRegistry, RegistrationError, TopicRegistry
from logsegment.plugins.stored import StoredRegistry

P = ParamSpec("P")


@dataclass(frozen=True)
class OpenRegistry:
    """The one registry that was named."""

    file: str | None
    servers: str | None
    settings: dict[str, str]
    replicas: int | None
    timeout: float

    @contextmanager
    def opened(self, *, quiet: bool = False) -> Iterator[StoredRegistry]:
        """The registry. What breaks its rules is told here, and ends the program.

        Raises:
            click.UsageError: for a setting that cannot be used.
        """
        try:
            yield self._made()
        except RegistrationError as refused:
            for finding in refused.findings:
                say(f"{finding.path}: {finding.severity} [{finding.rule}] {finding.message}")
            say("nothing was written")
            raise Ended(FOUND) from None
        except ValueError as mistake:
            raise click.UsageError(str(mistake)) from None

    def _made(self) -> StoredRegistry:
        if self.file is not None:
            return FileRegistry(self.file)
        return TopicRegistry(str(self.servers), timeout=self.timeout, replication_factor=self.replicas, **self.settings)


def registry_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add --registry, --bootstrap-servers and what belongs to them; the verb gets `registry`."""

    @functools.wraps(function)
    def named(
        registry: str | None,
        bootstrap_servers: str | None,
        command_config: str | None,
        settings: tuple[str, ...],
        timeout: float,
        **options: Any,
    ) -> int:
        if (registry is None) == (bootstrap_servers is None):
            raise click.UsageError("one of --registry and --bootstrap-servers is needed")
        if registry is not None and (command_config or settings):
            raise click.UsageError("--command-config and --setting are for --bootstrap-servers")
        known = (_properties(command_config) if command_config else {}) | dict(_pair(text, "--setting") for text in settings)
        opened = OpenRegistry(registry, bootstrap_servers, known, options.pop("replication_factor", None), timeout)
        return function(registry=opened, **options)

    options = (
        click.option("--registry", type=click.Path(dir_okay=False), metavar="FILE", help="The registry is this JSON file."),
        click.option("--bootstrap-servers", metavar="HOST:PORT,...", help="The registry is in the topics of this cluster."),
        click.option("--command-config", type=click.Path(dir_okay=False), metavar="FILE", help="Properties of librdkafka, one a line."),
        click.option(
            "--setting", "settings", multiple=True, metavar="NAME=VALUE", help="A property of librdkafka, over those of the file."
        ),
        click.option(
            "--timeout", type=click.FloatRange(0, min_open=True), default=10, show_default=True, help="Seconds to wait for an answer."
        ),
    )
    for option in reversed(options):
        named = option(named)
    return named


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
        raise click.UsageError(f"{where}: a property is NAME=VALUE")
    return name.strip(), value.strip()
