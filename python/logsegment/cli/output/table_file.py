"""Rows into an Arrow IPC or Parquet file, through pyarrow."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from logsegment.cli.options import Output
from logsegment.cli.output.files import whole_file

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
