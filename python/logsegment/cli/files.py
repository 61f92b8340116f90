"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO

import click

from logsegment.cli.paths import Segment
from logsegment.stores.uri import here, is_stored, shown


class WholeFile:
    """A file under a hidden name in the same directory, which gets its own name when the `with` block ends well.

    An error, Ctrl-C or SIGTERM removes it; what stood under the name before stays. A link is followed, so that it goes on
    being one.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        directory, name = os.path.split(self._path)
        self._hidden = os.path.join(directory, f".{name}.{secrets.token_hex(4)}.part")
        self._file: BinaryIO

    def __enter__(self) -> BinaryIO:
        try:
            self._file = open(self._hidden, "xb")
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None
        return self._file

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
            self._file.close()
            if kind is None:
                os.replace(self._hidden, self._path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(self._hidden)


def ensure_here(path: str) -> None:
    """Refuse an output in a store.

    Raises:
        click.UsageError: when it is refused.
    """
    if is_stored(path):
        raise click.UsageError(f"{shown(path)} lies in a store, which is only read: write to a file here and copy it there")


def ensure_output(path: str, inputs: Iterable[Segment]) -> None:
    """Refuse an output path that is no regular file, or that is one of the inputs.

    Raises:
        click.UsageError: when it is refused.
    """
    ensure_here(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise click.UsageError(f"{path} is not a regular file; the output must be one")
    for segment in inputs:
        source = here(segment.path) if segment.is_regular else None
        if source is not None and os.path.samestat(status, os.stat(source)):
            raise click.UsageError(f"{path} is an input; inputs are never overwritten")


def ensure_new_file(path: str, inputs: Iterable[Segment]) -> None:
    """Refuse an output of segments where something stands already: it may be the only copy of what another run saved.

    Raises:
        click.UsageError: when it is refused.
    """
    ensure_output(path, inputs)
    if os.path.lexists(path):
        raise click.UsageError(f"{path} must be a new file")
