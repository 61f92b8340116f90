"""`decode_batches`: raw record batches in a binary column become record rows, by `DataFrame.mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from logsegment._core import ArrowBatch, LimitError, RecordBatchError, explode_array
from logsegment._decode import decoded
from logsegment._options import ArrayKeywords, OnBadValue, ReadOptions
from logsegment._validate import validated
from logsegment.spark.options.plugins import carrying
from logsegment.spark.schema import HEADERS, KAFKA_COLUMNS, record_schema
from logsegment.spark.udf import located

if TYPE_CHECKING:
    import pyarrow as pa

#: Raw bytes that are decoded at a time. Spark's 10,000 values of 16 KiB would make one giant Arrow batch; more than this leaves the cache.
GROUP_BYTES = 1 << 20
#: A larger value is streamed: it may be a whole segment, and its records may need more than a 32-bit column holds.
LARGE_BYTES = 8 << 20
#: Most rows of a batch that goes to Spark.
ROWS = 65536


def decode_batches(
    *,
    column: str = "batch",
    keep: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    on_error: OnBadValue = "null",
    **options: Any,
) -> BatchDecoder:
    """Make a function for `DataFrame.mapInArrow` that decodes raw batches into one row per record.

    Args:
        column: the binary column of raw batches; a value may hold one batch or a whole segment. Null gives no rows.
        keep: columns of the input to repeat for each record; they come first.
        columns: record columns as in `logsegment.decode`; None for those of Spark's Kafka source with headers, without those that are
            kept.
        on_error: "null" gives no rows for a value that cannot be decoded, "skip" leaves out what is damaged in it, "raise" fails the
            query. `validate_udf` reports which values are invalid.
        options: others of `logsegment.decode_array`: check_crc, strict_tail, control, start_offset, end_offset, topic, partition,
            format, codecs, limits, and those about streams that brokers refuse.

    Returns:
        A `BatchDecoder`; its `schema` makes the schema that `mapInArrow` takes.

    Raises:
        TypeError, ValueError: if an option is invalid, or a column is unknown or both kept and decoded.
        RecordBatchError: in the query, for a bad value when `on_error` is "raise".

    Example:
        >>> from logsegment.spark import decode_batches
        >>> decode = decode_batches(column="batch", keep=["id"], columns=["offset", "value"])
        >>> rows = raw.mapInArrow(decode, decode.schema(raw.schema))
        >>> rows.columns
        ['id', 'offset', 'value']

    Source: docs/how-to/read-with-spark.md.
    """
    if isinstance(keep, str):
        raise TypeError("keep must be a sequence of names, not one string")
    chosen = [name for name in (*KAFKA_COLUMNS, HEADERS) if name not in keep] if columns is None else columns
    if both := [name for name in chosen if name in keep]:
        raise ValueError(f"kept and decoded: {', '.join(both)}; rename the column of the input, or drop it from columns")
    given = {"columns": chosen, "null_headers": True} | carrying(options)
    read = ReadOptions.of(ArrayKeywords, given, on_error=on_error, batch_size=ROWS, batch_bytes=GROUP_BYTES)
    _ensure_valid(read)
    return BatchDecoder(column, list(keep), read)


class BatchDecoder:
    """The function that `decode_batches` makes, with the schema of its rows."""

    def __init__(self, column: str, keep: list[str], options: ReadOptions) -> None:
        self.column = column
        self.keep = keep
        self.options = options

    def schema(self, raw: StructType) -> StructType:
        """Return the Spark schema of the rows.

        Args:
            raw: schema of the data frame that has the raw batches.

        Raises:
            KeyError: if a kept column is not in it.
        """
        return StructType([*(raw[name] for name in self.keep), *record_schema(self.options.columns).fields])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decode Arrow batches in a worker process."""
        for batch in batches:
            for start, length, size in _groups(batch.column(self.column)):
                rows = self._streamed if size > LARGE_BYTES else self._exploded
                yield from rows(batch.slice(start, length), start)

    def _exploded(self, batch: pa.RecordBatch, first_row: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of all values together; of one value after the other if one Arrow column cannot hold them."""
        try:
            rows, parents = explode_array(batch.column(self.column), self.options)
        except LimitError:
            for index in range(batch.num_rows):
                yield from self._streamed(batch.slice(index, 1), first_row + index)
            return
        except RecordBatchError as error:
            raise located(error, f"column {self.column}", first_row) from None
        whole = self._with_kept(batch, rows, parents)
        for start in range(0, whole.num_rows, ROWS):
            yield whole.slice(start, ROWS)

    def _streamed(self, batch: pa.RecordBatch, row: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of the one value of a batch in bounded memory."""
        import pyarrow as pa

        value = batch.column(self.column)[0].as_buffer()
        if value is None:
            return
        options = self.options
        if options.on_error == "null":
            # Rows cannot be taken back, so this is a pass of its own.
            if not validated(value, "full", options).ok:
                return
            options = replace(options, on_error="raise")
        try:
            for rows in decoded(value, options):
                yield self._with_kept(batch, rows, pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows))
        except RecordBatchError as error:
            raise located(error, f"column {self.column}, row {row}") from None

    def _with_kept(self, batch: pa.RecordBatch, rows: ArrowBatch, parents: Any) -> pa.RecordBatch:
        import pyarrow as pa

        records = rows.to_pyarrow()
        if not self.keep:
            return records
        indices = pa.array(parents)
        kept = [batch.column(name).take(indices) for name in self.keep]
        return pa.RecordBatch.from_arrays([*kept, *records.columns], [*self.keep, *records.schema.names])


def _groups(raw: pa.Array) -> Iterator[tuple[int, int, int]]:
    """Cut a column into (start, length, bytes) of at most `GROUP_BYTES`; a larger value is alone."""
    import pyarrow.compute as pc

    start = size = 0
    for index, length in enumerate(pc.binary_length(raw).to_pylist()):
        if size + (length or 0) > GROUP_BYTES and index > start:
            yield start, index - start, size
            start, size = index, 0
        size += length or 0
    if start < len(raw):
        yield start, len(raw) - start, size


def _ensure_valid(options: ReadOptions) -> None:
    """Refuse invalid options on the driver, not in a task."""
    import pyarrow as pa

    explode_array(pa.array([], pa.binary()), options)
