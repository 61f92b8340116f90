"""Rows to Parquet files, a file for each partition of a table, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

from logsegment._export.arrow_types import conformed, nested_column
from logsegment._export.tables import LakeTable, PartitionValues, WrittenFile

#: Files that are open at the same time at most.
MOST_OPEN = 32
#: The part of the memory of an export that rows may take which wait to be written.
SHARE = 8


class PartitionedWriter:
    """Writes rows to new data files of a table, which no commit names yet.

    Args:
        table: the table, which is prepared.
        memory: bytes that the export may use.
        commit_bytes: about the bytes of the files of a commit; a file ends when it has so many.
    """

    def __init__(self, table: LakeTable, memory: int, commit_bytes: int) -> None:
        self._table = table
        self._most_waiting = min(memory // SHARE, commit_bytes)
        self._file_bytes = commit_bytes
        self._run = uuid4().hex
        self._number = 0
        self._waiting: dict[PartitionValues, _Rows] = {}
        self._open: dict[PartitionValues, _OpenFile] = {}
        self._written: list[WrittenFile] = []

    @property
    def size(self) -> int:
        """The bytes of the files so far, without rows that wait."""
        return sum(file.size for file in self._written) + sum(file.size for file in self._open.values())

    @property
    def is_empty(self) -> bool:
        """True if there are no rows."""
        return not (self._waiting or self._open or self._written)

    def write(self, batch: Any) -> None:
        """Add the rows of a `pyarrow.RecordBatch`.

        Raises:
            OSError: if a file cannot be written.
        """
        for values, rows in self._by_partition(batch):
            self._waiting.setdefault(values, _Rows()).add(conformed(rows, self._table.columns.file_schema))
        while sum(rows.size for rows in self._waiting.values()) >= self._most_waiting:
            self._flush(max(self._waiting, key=lambda values: self._waiting[values].size))

    def finish(self) -> list[WrittenFile]:
        """Write what waits, close all files, and return them. The next rows begin new files.

        Raises:
            OSError: if a file cannot be written.
        """
        for values in [*self._waiting]:
            self._flush(values)
        for values in [*self._open]:
            self._close(values)
        written, self._written = self._written, []
        return written

    def discard(self) -> None:
        """Remove the files that were written since the last `finish`."""
        self._waiting.clear()
        for file in self._open.values():
            file.abort()
        paths = [file.path for file in self._written] + [file.path for file in self._open.values()]
        self._open.clear()
        self._written = []
        for path in paths:
            with suppress(OSError):
                self._table.remove(path)

    def _by_partition(self, batch: Any) -> Iterator[tuple[PartitionValues, Any]]:
        """Yield the rows of each partition of the table."""
        import pyarrow as pa
        import pyarrow.compute as pc

        transforms = self._table.columns.transforms
        codes: Any = None
        kinds: list[list[Any]] = []
        for transform in transforms:
            encoded = transform.values(nested_column(batch, transform.column)).dictionary_encode(null_encoding="encode")
            kinds.append(encoded.dictionary.to_pylist())
            own = pc.cast(encoded.indices, pa.int64())
            codes = own if codes is None else pc.add(pc.multiply(codes, len(kinds[-1])), own)
        if all(len(kind) == 1 for kind in kinds):
            yield tuple(kind[0] for kind in kinds), batch
            return
        order = pc.sort_indices(codes)
        rows, runs = batch.take(order), pc.run_end_encode(codes.take(order), run_end_type=pa.int64())
        begin = 0
        for end, code in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            values: list[Any] = []
            for kind in reversed(kinds):
                code, place = divmod(code, len(kind))
                values.insert(0, kind[place])
            yield tuple(values), rows.slice(begin, end - begin)
            begin = end

    def _flush(self, values: PartitionValues) -> None:
        """Write the rows of a partition that wait as a row group."""
        rows = self._waiting.pop(values)
        file = self._open.pop(values, None) or self._opened(values)
        # The order of the files is that of their last use.
        self._open[values] = file
        file.write(rows.batches)
        if file.size >= self._file_bytes:
            self._close(values)

    def _opened(self, values: PartitionValues) -> _OpenFile:
        if len(self._open) >= MOST_OPEN:
            self._close(next(iter(self._open)))
        self._number += 1
        path, output = self._table.new_file(values, f"logsegment-{self._run}-{self._number:05}.parquet")
        return _OpenFile(path, output, self._table)

    def _close(self, values: PartitionValues) -> None:
        self._written.append(self._open[values].finish(values))
        del self._open[values]


class _Rows:
    """Rows of a partition that wait to be written."""

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.size = 0

    def add(self, batch: Any) -> None:
        """Add rows."""
        self.batches.append(batch)
        self.size += batch.nbytes


class _OpenFile:
    """A Parquet file that is being written."""

    def __init__(self, path: str, output: Any, table: LakeTable) -> None:
        import pyarrow.parquet as pq

        self.path = path
        self.rows = 0
        self._output = output
        self._schema = table.columns.file_schema
        self._footer: list[Any] = []
        codec, level = table.compression
        options = {"compression": codec, "compression_level": level, "metadata_collector": self._footer, "write_batch_size": 1024}
        try:
            self._writer = pq.ParquetWriter(output, self._schema, **options)
        except BaseException:
            output.close()
            raise

    @property
    def size(self) -> int:
        """Bytes so far."""
        return int(self._output.tell()) if not self._output.closed else self._size

    def write(self, batches: list[Any]) -> None:
        """Write a row group."""
        import pyarrow as pa

        rows = pa.Table.from_batches(batches, self._schema)
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        self.rows += rows.num_rows

    def finish(self, values: PartitionValues) -> WrittenFile:
        """Write the footer and close the file."""
        self._writer.close()
        self._size = int(self._output.tell())
        self._output.close()
        return WrittenFile(self.path, values, self.rows, self._size, self._footer[0])

    def abort(self) -> None:
        """Close the file; what it contains does not matter."""
        # The writer must not write its footer to an output that fails, when it is collected.
        with suppress(Exception):
            self._writer.close()
        with suppress(Exception):
            self._output.close()
