"""Print files as `kafka-dump-log` does: `kafka_dump`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

from logsegment._core import KafkaDump
from logsegment._errors import naming_file
from logsegment._options import EntryKeywords, ReadOptions
from logsegment._places import redacted_uri
from logsegment._storage import Keys, StorageOptions
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import inputs_of
from logsegment.segment_files.discovery import Topics

#: The name of the snapshot with which a cluster begins.
BOOTSTRAP = "bootstrap.checkpoint"


def kafka_dump(
    source: Any,
    *,
    deep: bool = False,
    topic: Topics = None,
    partition: int | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Iterator[bytes]:
    """Return what `kafka-dump-log` of Kafka 4.3 prints about segments and snapshots of `__cluster_metadata`.

    Args:
        source: as of `read_batches`. The tool prints each file that it is given, also of several copies of a partition.
        deep: also the records, as `--deep-iteration --print-data-log` does.
        topic: read only the partitions of this topic, or of these.
        partition: read only partitions of this number.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        observer: is called before each file; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        An iterator of bytes: some lines at a time, in UTF-8, with a line feed after each. The reference of `logsegment cat` lists what
        differs.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: while iterating, if a file cannot be read.
        RecordBatchError: while iterating, at bytes that are not entries, after the lines before them.
        ValueError: if there is no such topic or partition.

    Example:
        >>> import logsegment as ls
        >>> lines = b"".join(ls.kafka_dump("orders-0")).decode().splitlines()
        >>> lines[1], len(lines)
        ('Log starting offset: 0', 22)

    Source: `DumpLogSegments` in Kafka's tools.
    """
    read = ReadOptions.of(EntryKeywords, options)
    inputs = inputs_of(source, (storage_options, decryption_keys, layout), selection=(topic, partition))
    inputs.observed(observer)
    return _lines(inputs.segments, read, deep, observer or Observer())


def _lines(segments: list[InputSegment], read: ReadOptions, is_deep: bool, observer: Observer) -> Iterator[bytes]:
    for segment in segments:
        observer.begin(segment.name, segment.size)
        name = redacted_uri(segment.path).rpartition("/")[2]
        yield f"Dumping {segment.name}\n".encode(errors="surrogateescape")
        yield from _head(name, segment)
        with naming_file(segment.name), opened(segment) as source:
            found = KafkaDump(source, read, is_deep)
            yield from found
        if found.trailing_bytes:
            yield f"Found {found.trailing_bytes} invalid bytes at the end of {name}\n".encode(errors="surrogateescape")


def _head(name: str, segment: InputSegment) -> Iterator[bytes]:
    stem, _, suffix = name.rpartition(".")
    if name == BOOTSTRAP:
        yield b"KRaft bootstrap snapshot\n"
    elif suffix == "checkpoint" and all(part.isdecimal() for part in stem.split("-")):
        end, _, epoch = stem.partition("-")
        yield f"Snapshot end offset: {int(end)}, epoch: {int(epoch)}\n".encode()
    elif segment.base_offset is not None:
        yield f"Log starting offset: {segment.base_offset}\n".encode()
