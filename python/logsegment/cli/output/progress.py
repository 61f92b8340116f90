"""A progress bar on stderr, when that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self

from logsegment.cli.messages import printable
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.observer import Observer


class Progress(Observer):
    """Shows how many bytes of all inputs were read. Without a terminal every method does nothing.

    Attributes:
        wants_position: there is a bar.
    """

    def __init__(self, segments: Sequence[InputSegment] = (), *, is_wanted: bool) -> None:
        self.wants_position = is_wanted and sys.stderr is not None and sys.stderr.isatty()
        self._total = sum(segment.size for segment in segments)
        self._before = 0
        self._size = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self.wants_position:
            self._open()
        return self

    def __exit__(self, *_raised: object) -> None:
        if self._bar:
            self._bar.stop()

    def planned(self, files: Sequence[tuple[str, int]]) -> None:
        """Set the bytes of all files."""
        self._total = sum(size for _, size in files)
        if self._bar:
            self._bar.update(self._task, total=self._total or None)

    def begin(self, path: str, size: int) -> None:
        """Start with the next file."""
        self._before += self._size
        self._size = size
        if self._bar:
            self._bar.update(self._task, completed=self._before, name=printable(path))

    def opened(self, segment: InputSegment) -> AbstractContextManager[Any]:
        """Open the bytes of a segment; with a bar, front to back."""
        return opened(segment, seen=self.read if self.wants_position else None)

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

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        # All columns together fit 80 characters: the name and the bar give way.
        name = TextColumn("{task.fields[name]}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
        columns = (name, BarColumn(bar_width=16), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(compact=True))
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        # A stream does not say how long it is.
        self._task = self._bar.add_task("", total=self._total or None, name="")
        self._bar.start()
