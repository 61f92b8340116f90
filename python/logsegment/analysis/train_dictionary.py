"""A zstd dictionary out of the batches of real segments, for the codec `logsegment.plugins.ready:ZstdDictionary`.

Small batches hold little that repeats within them; what repeats from batch to batch stands in the dictionary. It is made of the plain
records of batches, which is what that codec packs, and measured on batches that it was not made of.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Unpack

from logsegment._core import RecordSections
from logsegment._errors import naming_file
from logsegment._options import EntryKeywords, PartitionOptions, ReadOptions
from logsegment._storage import Keys, StorageOptions
from logsegment._text import count
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import inputs_of
from logsegment.plugins.entry import Plugin
from logsegment.segment_files.discovery import Topics

#: The codec that a dictionary is for.
CLASS_NAME = "logsegment.plugins.ready:ZstdDictionary"
#: zstd's own default, 110 KiB: more gains little, and stands in every registry.
SIZE = 112_640
#: One batch in so many is held out, to measure the dictionary.
HELD_OUT = 5


@dataclass(frozen=True)
class TrainedDictionary:
    """A dictionary, and what it gains on batches that it was not made of.

    Attributes:
        dictionary: the bytes, in zstd's format of trained dictionaries; `zstd -D` takes them too.
        samples: batches that it was made of.
        held_out: batches that it was measured on.
        record_bytes: their records, unpacked.
        zstd_bytes: the same packed by zstd without a dictionary, each batch by itself.
        dictionary_bytes: the same packed with it.
    """

    #: The least number of samples: when there are more than may be kept, every second one goes.
    LEAST_SAMPLES: ClassVar[int] = 20
    #: The least size that zstd makes.
    LEAST_SIZE: ClassVar[int] = 256

    dictionary: bytes
    samples: int
    held_out: int
    record_bytes: int
    zstd_bytes: int
    dictionary_bytes: int

    def plugin(self, alias: str, java_class: str, version: str = "v1.0") -> Plugin:
        """Give the plugin to register.

        Args:
            alias: the name that `compression` takes.
            java_class: what unpacks the same in brokers and Java clients: a zstd frame with this dictionary.
            version: of the plugin. Another dictionary is another plugin.

        Raises:
            EntryError: for a text that is empty.
        """
        classes = {"java": java_class, "python": CLASS_NAME}
        return Plugin(alias, classes, version, extra={"dictionary": b64encode(self.dictionary).decode()})


def train_dictionary(
    sources: Any,
    *,
    size: int | None = None,
    samples: int = 1000,
    level: int = 3,
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> TrainedDictionary:
    """Make a zstd dictionary from segments. The same segments give the same dictionary.

    All batches are read, of any format and codec, one source after the other; those that are kept as samples lie evenly among them.
    Control batches, which nobody compresses, are left out.

    Args:
        sources: files, partition directories, trees, patterns (`orders-*`) and URIs; a `Log` or `Segment`; buffers; binary file objects; or
            a list of these. Of an iterator each item is such a source, and is read before the next one is asked for.
        size: bytes of the dictionary at most, 256 or more; None for 112,640 (zstd's own), or a tenth of the samples if that is less.
        samples: batches to keep at most, 20 or more; 64 MiB of them. Every fifth is only measured.
        level: of zstd, at which the dictionary is made and measured.
        topic: read only the partitions of this topic, or of these.
        partition: read only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        observer: is called before each file; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        A `TrainedDictionary`.

    Raises:
        ValueError: when there are fewer than 10 batches, or too little in them to learn from.
        RecordBatchError: when a batch is bad.
        ImportError: without the package zstandard (`pip install "logsegment[codecs]"`).
        OSError: when a file cannot be read.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> from logsegment.plugins import MemoryRegistry
        >>> orders = pa.table({"value": [f'{{"order": {n}, "customer": {n * 7919 % 97}, "state": "paid"}}' for n in range(9000)]})
        >>> trained = ls.train_dictionary([ls.encode(orders, batch_bytes=1000)])
        >>> trained.samples, trained.held_out, trained.dictionary_bytes < trained.zstd_bytes
        (424, 106, True)
        >>> entry = trained.plugin("orders", "org.example.OrdersZstd").entry("python", 0)
        >>> packed = ls.encode(orders, batch_bytes=1000, compression="orders", codecs=MemoryRegistry([entry]))
        >>> len(packed) < len(ls.encode(orders, batch_bytes=1000, compression="zstd"))
        True

    Source: KIP-110 leaves room for dictionaries; `ZDICT_trainFromBuffer`.
    """
    least = TrainedDictionary.LEAST_SAMPLES, TrainedDictionary.LEAST_SIZE
    if samples < least[0] or (size is not None and size < least[1]):
        raise ValueError(f"a dictionary needs {least[0]} samples and {least[1]} bytes at least, not {samples} and {size}")
    kept = _Samples(samples)
    read = ReadOptions.of(EntryKeywords, options)
    partitions = PartitionOptions(log_start_offset="ignore", replica=replica)
    for source in sources if isinstance(sources, Iterator) else [sources]:
        inputs = inputs_of(source, (storage_options, decryption_keys, layout), selection=(topic, partition), options=partitions)
        inputs.observed(observer)
        for segment in inputs.segments:
            _add(kept, segment, read, observer or Observer())
    if len(kept.records) < LEAST_BATCHES:
        raise ValueError(f"a dictionary is made from {LEAST_BATCHES} batches at least, not from {count(len(kept.records), 'batch')}")
    return _trained(kept.records, size, level)


#: Batches without which nothing can be learnt and measured.
LEAST_BATCHES = 10
#: Bytes that zstd wants for a dictionary of the least size: ten times as many.
_LEAST_BYTES = 10 * TrainedDictionary.LEAST_SIZE
#: Bytes of samples that are kept at most: training takes some seconds for so many.
_MOST_BYTES = 64 << 20
#: Bytes of one sample that are learnt from.
_MOST_SAMPLE = 64 << 10


def _add(kept: _Samples, segment: InputSegment, read: ReadOptions, observer: Observer) -> None:
    """Add the records of the batches of a file."""
    observer.begin(segment.name, segment.size)
    with naming_file(segment.name), opened(segment, seen=observer.read if observer.wants_position else None) as source:
        for sections in RecordSections(source, read):
            for records in sections:
                kept.add(records)


class _Samples:
    """Keeps the records of some batches: of each, later of every second, every fourth, and so on."""

    def __init__(self, most: int) -> None:
        self.records: list[bytes] = []
        self._most = most
        self._stride = 1
        self._seen = 0
        self._bytes = 0

    def add(self, records: bytes) -> None:
        """Add the decompressed records of a batch, unless it is skipped."""
        if self._seen % self._stride == 0:
            self.records.append(records)
            self._bytes += len(records)
        self._seen += 1
        while len(self.records) > self._most or (self._bytes > _MOST_BYTES and len(self.records) >= TrainedDictionary.LEAST_SAMPLES):
            del self.records[1::2]
            self._bytes = sum(map(len, self.records))
            self._stride *= 2


def _trained(records: list[bytes], size: int | None, level: int) -> TrainedDictionary:
    import zstandard

    held_out = records[HELD_OUT - 1 :: HELD_OUT]
    samples: list[bytes | bytearray | memoryview] = [record[:_MOST_SAMPLE] for number, record in enumerate(records, 1) if number % HELD_OUT]
    total = sum(map(len, samples))
    given = f"{count(total, 'byte')} in {count(len(samples), 'batch')}"
    # The trainer of the package zstandard 0.25 does not survive some samples of a few bytes.
    if total < _LEAST_BYTES:
        raise ValueError(f"a dictionary is made from {_LEAST_BYTES:,} bytes at least, not from {given}")
    most = min(size, total) if size else max(TrainedDictionary.LEAST_SIZE, min(SIZE, total // 10))
    try:
        dictionary = zstandard.train_dictionary(most, samples, level=level).as_bytes()
    except zstandard.ZstdError as error:
        raise ValueError(f"no dictionary of {count(most, 'byte')} can be made from {given}: {error}") from None
    module, _, name = CLASS_NAME.partition(":")
    packer, codec = zstandard.ZstdCompressor(level=level), getattr(import_module(module), name)(dictionary)
    return TrainedDictionary(
        dictionary,
        len(samples),
        len(held_out),
        sum(map(len, held_out)),
        sum(len(packer.compress(sample)) for sample in held_out),
        sum(len(codec.compress(memoryview(sample), level)) for sample in held_out),
    )
