"""Read the headers of batches of many files: `read_batches`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Unpack

from logsegment._core import ArrowBatch, batch_stream
from logsegment._errors import naming_file
from logsegment._options import OnError, ReadOptions, SkippingKeywords
from logsegment._read.reader import FileRead, LogReader
from logsegment._storage import Keys, StorageOptions
from logsegment.inputs.input_segment import InputSegment, in_range, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import inputs_of
from logsegment.segment_files.discovery import Topics


def read_batches(
    source: Any,
    *,
    check_crc: bool = True,
    on_error: OnError = "raise",
    strict_tail: bool = False,
    batch_size: int = 65536,
    resolve: bool = False,
    topic: Topics = None,
    partition: int | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[SkippingKeywords],
) -> LogReader:
    """Read the headers of all batches of many files, in bounded memory. Nothing is decompressed.

    Args:
        source: what the command `batches` takes: files, partition directories, trees, patterns (`orders-*`) and URIs; a `Log` or
            `Segment`; buffers; a binary file object, which is read front to back; or a list of these. All directories of a partition are
            read, and all records.
        check_crc, on_error, strict_tail, resolve: see `batches`.
        batch_size: see `batch_stream`.
        topic: read only the partitions of this topic, or of these.
        partition: read only partitions of this number.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        observer: is called before each file, and gets a `FileRead` after it; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        A `LogReader` with the columns of `batches`. The observer knows the file of each batch.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: while iterating, if a file cannot be read.
        RecordBatchError: while iterating, if the length of an entry is invalid. The text of an error starts with the file.
        ValueError: if there is no such topic or partition.

    Example:
        >>> import logsegment as ls
        >>> ls.read_batches("orders-0").to_pyarrow().num_rows
        20

    Source: `DumpLogSegments` in Kafka's tools.
    """
    own = {"check_crc": check_crc, "on_error": on_error, "strict_tail": strict_tail, "batch_size": batch_size, "resolve": resolve}
    read = ReadOptions.of(SkippingKeywords, options, **own)
    inputs = inputs_of(source, (storage_options, decryption_keys, layout), selection=(topic, partition), observer=observer)
    inputs.observed(observer)
    with batch_stream(b"", read) as nothing:
        schema = nothing.schema
    return LogReader(schema, _batches(in_range(inputs.segments, None, None), read, observer or Observer()))


def _batches(segments: Sequence[InputSegment], read: ReadOptions, observer: Observer) -> Generator[ArrowBatch]:
    for segment in segments:
        observer.begin(segment.name, segment.size)
        with naming_file(segment.name), opened(segment) as source, batch_stream(source, read) as stream:
            for batch in stream:
                yield batch
                observer.read(stream.io_stats.bytes_read)
        observer.done(segment.name, FileRead(segment.name, segment.topic, segment.partition, stream, stream.findings))
