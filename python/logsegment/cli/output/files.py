"""Output files and directories of the command line, which are complete or absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from logsegment._core import Finding
from logsegment._output import OutputFile, ensure_writable, is_same, local_path, output_directory
from logsegment._places import here
from logsegment.cli.inputs import show_log_starts, show_notes
from logsegment.cli.messages import count, say
from logsegment.cli.options import Output
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN
from logsegment.inputs.input_segment import InputSegment

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


#: Rows and bytes of an Arrow batch on its way into a file; a Parquet row group is one. pyarrow holds about ten of them while it writes.
BATCH_SIZE = 1 << 16
BATCH_BYTES = 4 << 20


class TableFile:
    """A table that is written batch by batch, in bounded memory; the schema is that of the first batch that comes."""

    def __init__(self, output: Output, stack: ExitStack) -> None:
        self._kind = output.kind
        self._sink = stack.enter_context(whole_file(output.path, output.overwrite))
        self._stack = stack
        self._writer: Any = None

    def begin(self, schema: Any) -> None:
        """Name the columns, so that a table without rows has them too."""
        if self._writer is None:
            self._writer = self._stack.enter_context(self._open(schema))

    def write(self, batch: Any) -> None:
        """Append a `pyarrow.RecordBatch`."""
        self.begin(batch.schema)
        if batch.num_rows:
            self._writer.write_batch(batch)

    def _open(self, schema: Any) -> Any:
        if self._kind == "arrow":
            import pyarrow as pa

            return pa.ipc.new_file(self._sink, schema)
        import pyarrow.parquet as pq

        return pq.ParquetWriter(self._sink, schema, compression="zstd")


def pyarrow_for(output: Output) -> Any:
    """Import pyarrow.

    Raises:
        click.UsageError: if it is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise click.UsageError(f"--{output.kind} needs pyarrow: pip install pyarrow") from None
    return pa


def whole_directory(output: str) -> AbstractContextManager[Path]:
    """Return a new directory that is complete or absent.

    Raises:
        click.UsageError: if the output is standard output or is in an object store.
    """
    if output == STDIN:
        raise click.UsageError("a directory cannot be written to standard output; pass --output with a new directory")
    try:
        local_path(output)
        return output_directory(output)
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None


class OutputProgress(Progress):
    """Prints how much space an output may need that is not larger than its inputs, and the findings about partitions.

    Args:
        output: the output; None, or `-`, if no file is written.
        quiet: print only the findings about missing offsets and log start offsets.
        has_bar: show a progress bar.
    """

    def __init__(self, output: str | None, *, quiet: bool, has_bar: bool = False) -> None:
        super().__init__(is_wanted=has_bar and not quiet)
        self._is_quiet = quiet
        self._output = None if quiet or output == STDIN else output

    def planned(self, files: Sequence[tuple[str, int]]) -> None:
        """Print the space that is needed."""
        super().planned(files)
        if self._output is not None:
            say_needed(self._output, sum(size for _, size in files))

    def noted(self, findings: Sequence[Finding]) -> None:
        """Print the findings about partitions."""
        show_notes(findings, quiet=self._is_quiet)
        show_log_starts(findings, quiet=self._is_quiet)


def say_needed(output: str, needed: int) -> None:
    """Say how much space an output may need, before the work starts."""
    above = Path(output).absolute().parent
    while not above.exists():
        above = above.parent
    free = shutil.disk_usage(above).free
    say(f"needs up to {count(needed, 'byte')} for {output}; {count(free, 'byte')} are free")
    if free < needed:
        say("warning: that may not be enough; nothing will be left if it is not")
