"""Output directories that appear whole or not at all: one for each partition, with its segments and the files beside them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import click

from logsegment._core import rebuild_indexes
from logsegment._output import local_path, output_directory
from logsegment.cli.inputs import STDIN, InputSegment
from logsegment.stores.files import read_file
from logsegment.stores.uri import is_tiered

#: Files of a partition directory that stay true when its segments are rewritten.
KEPT = ("partition.metadata",)


def whole_directory(output: str) -> AbstractContextManager[Path]:
    """Return a new directory that is complete or absent.

    Raises:
        click.UsageError: if the output is standard output or is in an object store.
    """
    if output == STDIN:
        raise click.UsageError("a directory cannot be written to standard output: name a new directory with --output")
    try:
        local_path(output)
        return output_directory(output)
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None


def ensure_own_directories(segments: Iterable[InputSegment]) -> None:
    """Refuse segments that have no name of a segment, and partitions that would share a directory of the output.

    Raises:
        click.UsageError: naming them.
    """
    owners: dict[str, str] = {}
    for segment in segments:
        if segment.base_offset is None:
            raise click.UsageError(f"{segment.name} is not named after an offset; give it alone, without directories")
        directory = segment.directory if segment.is_stored else os.path.abspath(segment.directory)
        owner = owners.setdefault(directory_name(segment), directory)
        if owner != directory:
            raise click.UsageError(f"{owner} and {directory} would become one directory; give them one at a time")


def begun_directory(segment: InputSegment, output: Path) -> Path:
    """Make the directory of a segment's partition in the output, with the small files that stay valid."""
    target = output / directory_name(segment)
    target.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if not (target / name).exists():
            _keep(segment, name, target)
    return target


def directory_name(segment: InputSegment) -> str:
    """Return the name of a partition's directory, which is another one in tiered storage."""
    if is_tiered(segment.path) and segment.topic is not None:
        return f"{segment.topic}-{segment.partition}"
    return os.path.basename(os.path.abspath(segment.directory))


def file_name(segment: InputSegment) -> str:
    """Return the name of a segment without the id that tiered storage adds."""
    is_upload = is_tiered(segment.path) and segment.base_offset is not None
    return f"{segment.base_offset:020d}.log" if is_upload else Path(segment.path).name


def rebuild_beside(output: Path) -> None:
    """Make the indexes, snapshots and epochs of every partition in an output directory."""
    for target in sorted(path for path in output.iterdir() if path.is_dir()):
        logs = sorted(target.glob("*.log"))
        rebuild_indexes([(path, int(path.name[:20])) for path in logs], target)


def _keep(segment: InputSegment, name: str, target: Path) -> None:
    """Copy a small file that lies beside a segment, if there is one."""
    source = os.path.join(segment.directory, name)
    if segment.is_stored:
        kept = read_file(source, 1 << 20)
        if kept is not None:
            (target / name).write_bytes(kept)
    elif os.path.isfile(source):
        shutil.copyfile(source, target / name)
