"""Python clients as writers and readers of bytes: kafka-python and aiokafka, whose record classes have the same shape."""

from __future__ import annotations

import importlib
import struct
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from rows import LOG_APPEND_TIME, NO_TIMESTAMP_TYPE, Row

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
#: Large enough that nothing is refused for its size.
ROOM = 1 << 24
ENTRY_HEADER = struct.Struct(">qi")


class RecordClasses:
    """The `record` package of kafka-python or aiokafka."""

    def __init__(self, package: str) -> None:
        with warnings.catch_warnings():
            # What a package does with its own resources as it is imported is not of interest here.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.memory: ModuleType = importlib.import_module(f"{package}.record.memory_records")
        self.default: ModuleType = importlib.import_module(f"{package}.record.default_records")
        self.legacy: ModuleType = importlib.import_module(f"{package}.record.legacy_records")

    def read(self, data: bytes) -> list[Row]:
        """Every record, checksums verified."""
        return [record for entry in self.entries(data) for record in entry]

    def entries(self, data: bytes) -> Iterator[list[Row]]:
        """The records of each entry, checksums verified."""
        entries = self.memory.MemoryRecords(data)
        while entries.has_next():
            batch = entries.next_batch()
            if not batch.validate_crc():
                raise ValueError("wrong checksum")
            yield list(map(row, batch))

    def write(self, batches: Sequence[Sequence[Row]], magic: int, codec: str) -> bytes:
        """Entries of these records, with the offsets that a broker gives them."""
        return b"".join(self.batch(batch, magic, CODECS[codec]) for batch in batches)

    def batch(self, batch: Sequence[Row], magic: int, codec: int) -> bytes:
        if magic == 2:
            builder = self.default.DefaultRecordBatchBuilder(
                magic=2, compression_type=codec, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1, batch_size=ROOM
            )
            for index, record in enumerate(batch):
                builder.append(index, record.timestamp, record.key, record.value, list(record.headers))
            return stamped(bytes(builder.build()), batch[0].offset)
        builder = self.legacy.LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=ROOM)
        # Compressed together, messages of magic 1 count from 0; those of magic 0 hold their own offsets.
        first = batch[0].offset if magic == 1 and codec else 0
        for record in batch:
            builder.append(record.offset - first, None if magic == 0 else record.timestamp, record.key, record.value)
        made = bytes(builder.build())
        return stamped(made, batch[-1].offset) if codec else made


def stamped(entry: bytes, offset: int) -> bytes:
    """One entry with the offset that a broker assigns; no checksum covers it."""
    assert ENTRY_HEADER.size + ENTRY_HEADER.unpack_from(entry)[1] == len(entry), "more than one entry"
    return struct.pack(">q", offset) + entry[8:]


def row(record: Any) -> Row:
    if record.timestamp is None:
        return Row(record.offset, -1, NO_TIMESTAMP_TYPE, owned(record.key), owned(record.value))
    headers = tuple((key, owned(value)) for key, value in record.headers)
    kind = record.timestamp_type
    assert kind in (0, LOG_APPEND_TIME), kind
    return Row(record.offset, record.timestamp, kind, owned(record.key), owned(record.value), headers)


def owned(data: Any) -> bytes | None:
    return None if data is None else bytes(data)
