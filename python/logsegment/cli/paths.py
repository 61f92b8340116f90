"""PATH, and the options that say how it is reached and which of its partitions are read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import click

from logsegment._options import LogStartOffset, PartitionOptions, ReadOptions, StoreOptions
from logsegment.cli.arguments import Argument
from logsegment.cli.value_types import settings_of_store

STDIN = "-"
_KIND = click.Path(exists=False, allow_dash=True)


def target_options(given: tuple[str, ...], target: str, store: StoreOptions) -> Mapping[str, str] | None:
    """Return the options of a target; those of the store of logs are also those of a Delta table, if none are given.

    Raises:
        ValueError: if an option is not KEY=VALUE.
    """
    return settings_of_store(given) or (store.storage_options if target.startswith("delta:") else None)


def ensure_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths.

    Raises:
        click.UsageError: if there is none.
        ValueError: if standard input is given twice, or is a terminal.
    """
    if not paths:
        raise click.UsageError("Missing argument 'PATH...': a log segment, a directory, or - for standard input")
    if paths.count(STDIN) > 1:
        raise ValueError("- (standard input) can be given once")
    if STDIN in paths and (sys.stdin is None or sys.stdin.isatty()):
        raise ValueError("standard input is a terminal; - needs a pipe or a file")
    return paths


def store_arguments(store: StoreOptions) -> dict[str, Any]:
    """Return the options of a store as functions take them."""
    return {"storage_options": store.storage_options, "decryption_keys": store.decryption_keys, "layout": store.layout}


@dataclass(frozen=True, kw_only=True)
class LogPaths:
    """The arguments of a verb that reads logs.

    Attributes:
        paths: what was typed.
        topic: the topic that is read of a tree; also the topic of files outside of partition directories.
        partition: the number of the partition, as `topic`.
        store: how the paths are reached.
    """

    paths: Annotated[tuple[str, ...], Argument("PATH...", _KIND, is_many=True, is_optional=True, change=ensure_paths)]
    topic: Annotated[str | None, ReadOptions] = None
    partition: Annotated[int | None, ReadOptions] = None
    store: StoreOptions = field(default_factory=StoreOptions)

    @property
    def sources(self) -> list[Any]:
        """The sources that the paths name: the paths, and the file object of standard input."""
        return [sys.stdin.buffer if path == STDIN else path for path in self.paths]

    @property
    def selected(self) -> dict[str, Any]:
        """The arguments of functions that say which partitions are read, and how they are reached."""
        return {"topic": self.topic, "partition": self.partition, **store_arguments(self.store)}


@dataclass(frozen=True, kw_only=True)
class LogPath(LogPaths):
    """The arguments of a verb that reads one path."""

    paths: Annotated[tuple[str, ...], Argument("PATH", _KIND, change=lambda path: (path,))]

    @property
    def path(self) -> str:
        """The path."""
        return self.paths[0]


@dataclass(frozen=True, kw_only=True)
class ReplicaPaths(LogPaths):
    """The arguments of a verb that reads one directory of each partition."""

    replica: Annotated[str | None, PartitionOptions] = None

    @property
    def selected(self) -> dict[str, Any]:
        """Those of `LogPaths`, and the directory that is read of a partition in several."""
        return {**super().selected, "replica": self.replica}


@dataclass(frozen=True, kw_only=True)
class PartitionPaths(ReplicaPaths):
    """The arguments of a verb that reads the records of partitions."""

    log_start_offset: Annotated[LogStartOffset, PartitionOptions] = "honour"

    @property
    def selected(self) -> dict[str, Any]:
        """Those of `ReplicaPaths`, and where partitions start."""
        return {**super().selected, "log_start_offset": self.log_start_offset}
