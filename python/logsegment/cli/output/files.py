"""Output files of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

import click

from logsegment._output import OutputFile, ensure_writable, is_same
from logsegment.cli.inputs import InputSegment
from logsegment.cli.options import Output
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


#: Rows and bytes of an Arrow batch on its way into a file; a Parquet row group is one. pyarrow holds about ten of them while it writes.
BATCH_SIZE = 1 << 16
BATCH_BYTES = 4 << 20


class TableFile:
    """A table that is written batch by batch, in bounded memory; the schema is that of the first batch that comes.

    Attributes:
        rows: rows written.
    """

    def __init__(self, output: Output, stack: ExitStack) -> None:
        self.rows = 0
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
        self.rows += batch.num_rows

    def _open(self, schema: Any) -> Any:
        if self._kind == "arrow":
            import pyarrow as pa

            return pa.ipc.new_file(self._sink, schema)
        import pyarrow.parquet as pq

        return pq.ParquetWriter(self._sink, schema, compression="zstd")


def pyarrow_for(output: Output) -> Any:
    """Import pyarrow.

    Raises:
        click.UsageError: when it is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise click.UsageError(f"--{output.kind} needs pyarrow: pip install pyarrow") from None
    return pa
