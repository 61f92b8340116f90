"""Output files and directories of the command line, which are complete or absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from logsegment._output import OutputFile, local_path, output_directory
from logsegment.cli.messages import count, say
from logsegment.cli.options import Output
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN


@contextmanager
def whole_file(path: str, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file that is complete or absent, for a verb that always writes it."""
    with OutputFile(path, overwrite=overwrite) as output:
        yield output.file


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
        out: the output; None, or `-`, if no file is written.
        quiet: see `Progress`.
        has_bar: show a progress bar.
    """

    def __init__(self, out: str | None, *, quiet: bool, has_bar: bool = False) -> None:
        super().__init__(quiet=quiet, has_bar=has_bar)
        self._out = None if quiet or out == STDIN else out

    def planned(self, files: Sequence[tuple[str, int]]) -> None:
        """Print the space that is needed."""
        super().planned(files)
        if self._out is not None:
            say_needed(self._out, sum(size for _, size in files))


def say_needed(output: str, needed: int) -> None:
    """Say how much space an output may need, before the work starts."""
    above = Path(output).absolute().parent
    while not above.exists():
        above = above.parent
    free = shutil.disk_usage(above).free
    say(f"needs up to {count(needed, 'byte')} for {output}; {count(free, 'byte')} are free")
    if free < needed:
        say("warning: that may not be enough; nothing will be left if it is not")
