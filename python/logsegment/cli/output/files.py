"""Output files of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

from logsegment._output import OutputFile, ensure_writable, is_same
from logsegment.cli.inputs import InputSegment
from logsegment.stores.uri import here

#: How a caller of the command line allows to replace an existing file.
HINT = "pass --overwrite to replace it"


def output_file(path: str, overwrite: bool) -> OutputFile:
    """Return a file that is complete or absent."""
    return OutputFile(path, overwrite=overwrite, hint=HINT)


@contextmanager
def whole_file(path: str, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file that is complete or absent, for a verb that always writes it."""
    with output_file(path, overwrite) as output:
        yield output.file


def ensure_output(path: str, inputs: Iterable[InputSegment], overwrite: bool) -> None:
    """Raise an error, before anything is read, if a file cannot be an output.

    Raises:
        OSError: if the file exists and is not to be replaced, or is of a kind that cannot be written to.
        click.UsageError: if it is one of the inputs, or is in an object store.
    """
    for segment in inputs:
        source = here(segment.path) if segment.is_regular else None
        if source is not None and is_same(path, source):
            raise click.UsageError(f"{path} is an input; inputs are never overwritten")
    try:
        ensure_writable(path, overwrite=overwrite, hint=HINT)
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None
