"""PATH, and the options that say how it is reached and which of its partitions are read."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Annotated

import click

from logsegment._options import LogStartOffset, PartitionOptions, ReadOptions, StoreOptions
from logsegment._places import to_internal_uri
from logsegment._storage import reached
from logsegment.cli.arguments import Argument

STDIN = "-"
_KIND = click.Path(exists=False, allow_dash=True)


def reached_path(path: str, store: StoreOptions) -> str:
    """Return a path with the keys, the layout and the options of its store.

    Raises:
        click.UsageError: for a URI with a key, a password or settings.
    """
    if path == STDIN:
        return path
    try:
        place = os.fspath(reached(path, store.storage_options, store.decryption_keys, store.layout))
        to_internal_uri(place)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return place


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


@dataclass(frozen=True, kw_only=True)
class LogPaths:
    """The arguments of a verb that reads logs.

    Attributes:
        paths: what was typed, with the options of the stores.
        topic: the topic that is read of a tree; also the topic of files outside of partition directories.
        partition: the number of the partition, as `topic`.
        store: how the paths are reached.
    """

    paths: Annotated[tuple[str, ...], Argument("PATH...", _KIND, is_many=True, is_optional=True, change=ensure_paths)]
    topic: Annotated[str | None, ReadOptions] = None
    partition: Annotated[int | None, ReadOptions] = None
    store: StoreOptions = field(default_factory=StoreOptions)

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(reached_path(path, self.store) for path in self.paths))

    @property
    def replica_options(self) -> PartitionOptions | None:
        """The directory that is read of a partition in several; None for a verb that reads all of them."""
        return None

    @property
    def partition_options(self) -> PartitionOptions | None:
        """How partitions are read; None for a verb that reads every record of a file."""
        return None


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
    def replica_options(self) -> PartitionOptions:
        """The directory that is read of a partition in several."""
        return PartitionOptions(replica=self.replica)


@dataclass(frozen=True, kw_only=True)
class PartitionPaths(ReplicaPaths):
    """The arguments of a verb that reads the records of partitions."""

    log_start_offset: Annotated[LogStartOffset, PartitionOptions] = "honour"

    @property
    def partition_options(self) -> PartitionOptions:
        """How partitions are read."""
        return PartitionOptions(log_start_offset=self.log_start_offset, replica=self.replica)
