"""A progress bar on stderr, when that is a terminal; and the notes of a verb about its inputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import click

from logsegment import Finding, Observer
from logsegment._output import ensure_writable, is_same
from logsegment.cli.messages import printable
from logsegment.cli.notes import show_notes


class Progress(Observer):
    """Prints the findings about partitions, and shows how many bytes of all inputs were read. Without a terminal there is no bar.

    Args:
        quiet: show no bar, and only findings that are more than information.
        has_bar: show a bar.
        output: a file that the verb will write, which must not be one of the inputs.
        overwrite: the file may exist.

    Attributes:
        wants_position: there is a bar.

    """

    def __init__(self, *, quiet: bool, has_bar: bool = True, output: str | None = None, overwrite: bool = False) -> None:
        self.wants_position = has_bar and not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._is_quiet = quiet
        self._output = output
        self._overwrite = overwrite
        self._before = 0
        self._size = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        if self._bar:
            self._bar.stop()

    def planned(self, files: Sequence[tuple[str, int]]) -> None:
        """Show the bar, for the bytes of these files.

        Raises:
            OSError: if the output exists and is not to be replaced, or is of a kind that cannot be written to.
            click.UsageError: if the output is in an object store, or is one of the inputs.
        """
        if self._output is not None:
            self._ensure_output(self._output, files)
        if self.wants_position and self._bar is None:
            self._open(sum(size for _, size in files))

    def noted(self, findings: Sequence[Finding]) -> None:
        """Print the findings about partitions."""
        with self.aside():
            show_notes(findings, quiet=self._is_quiet)

    def begin(self, path: str, size: int) -> None:
        """Start with the next file."""
        self._before += self._size
        self._size = size
        if self._bar:
            self._bar.update(self._task, completed=self._before, name=printable(path))

    def read(self, position: int) -> None:
        """Show that this many bytes of the file were read."""
        if self._bar:
            self._bar.update(self._task, completed=self._before + position)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away while something else is written to the terminal."""
        if self._bar:
            self._bar.stop()
        yield
        if self._bar:
            self._bar.start()

    def _ensure_output(self, output: str, files: Sequence[tuple[str, int]]) -> None:
        if any(is_same(output, path) for path, _ in files):
            raise click.UsageError(f"{output} is an input; inputs are never overwritten")
        try:
            ensure_writable(output, overwrite=self._overwrite)
        except ValueError as mistake:
            raise click.UsageError(str(mistake)) from None

    def _open(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        # All columns together fit 80 characters: the name and the bar give way.
        name = TextColumn("{task.fields[name]}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
        columns = (name, BarColumn(bar_width=16), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(compact=True))
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        # A stream does not say how long it is.
        self._task = self._bar.add_task("", total=total or None, name="")
        self._bar.start()
