"""Output directories that appear whole or not at all: one for each partition, with its segments and the files beside them."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from logsegment import _core
from logsegment.cli.files import ensure_here
from logsegment.cli.paths import STDIN, Segment
from logsegment.stores.files import read_file

#: Files of a partition directory that stay true when its segments are rewritten.
KEPT = ("partition.metadata",)


@contextmanager
def whole_directory(output: str) -> Iterator[Path]:
    """A new directory under a hidden name, which gets its own when all went well.

    Raises:
        click.UsageError: when something stands there already, or it lies in a store.
    """
    ensure_here(output)
    if output == STDIN or os.path.lexists(output):
        raise click.UsageError(f"{output} must be a new directory")
    path = Path(output)
    hidden = path.parent / f".{path.name}.{secrets.token_hex(4)}.part"
    hidden.mkdir(parents=True)
    try:
        yield hidden
        hidden.rename(path)
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(hidden)


def begun_directory(segment: Segment, output: Path) -> Path:
    """The directory of a segment's partition in the output, with the small files that stay true."""
    target = output / os.path.basename(os.path.abspath(segment.directory))
    target.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if not (target / name).exists():
            _keep(segment, name, target)
    return target


def rebuild_beside(output: Path) -> None:
    """Make the indexes, snapshots and epochs of every partition in an output directory."""
    for target in sorted(path for path in output.iterdir() if path.is_dir()):
        logs = sorted(target.glob("*.log"))
        _core.rebuild_indexes([(path, int(path.name[:20])) for path in logs], target)


def _keep(segment: Segment, name: str, target: Path) -> None:
    """Copy a small file that lies beside a segment, if there is one."""
    source = os.path.join(segment.directory, name)
    if segment.is_stored:
        kept = read_file(source, 1 << 20)
        if kept is not None:
            (target / name).write_bytes(kept)
    elif os.path.isfile(source):
        shutil.copyfile(source, target / name)
