"""Rows of many partitions that wait on disk: they come in turns, and Parquet files of a few rows each would be far too many."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from logsegment._export.tables import PartitionValues


class Spill:
    """A temporary file with record batches of partitions, which is gone when it is closed.

    Args:
        schema: of the batches.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._file: Any = None
        self._writer: Any = None
        self._numbers: dict[PartitionValues, list[int]] = {}
        self._count = 0

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return 0 if self._file is None else int(self._file.tell())

    @property
    def partitions(self) -> int:
        """The number of partitions that have rows."""
        return len(self._numbers)

    def add(self, values: PartitionValues, batches: Sequence[Any]) -> None:
        """Write rows of a partition.

        Raises:
            OSError: if the disk is full.
        """
        import pyarrow as pa

        if self._writer is None:
            self._file = tempfile.TemporaryFile(prefix="logsegment-")  # noqa: SIM115
            options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), self._schema, options=options)
        for batch in pa.Table.from_batches(batches, self._schema).combine_chunks().to_batches():
            self._writer.write_batch(batch)
            self._numbers.setdefault(values, []).append(self._count)
            self._count += 1

    def taken(self) -> Iterator[tuple[PartitionValues, Iterator[Any]]]:
        """Yield each partition with its record batches, and forget them at the end."""
        import pyarrow as pa

        if self._writer is None:
            return
        self._writer.close()
        self._file.flush()
        reader = pa.ipc.open_file(pa.PythonFile(self._file, "r"), options=pa.ipc.IpcReadOptions(use_threads=False))
        for values, numbers in self._numbers.items():
            yield values, map(reader.get_batch, numbers)
        self.close()

    def close(self) -> None:
        """Remove the file."""
        with suppress(Exception):
            if self._writer is not None:
                self._writer.close()
        if self._file is not None:
            self._file.close()
        self._file = self._writer = None
        self._numbers, self._count = {}, 0
