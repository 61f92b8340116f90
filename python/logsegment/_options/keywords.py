"""The keyword arguments that several public functions take, for type checkers: `read` and `encode` have their defaults and their help."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypedDict

from logsegment._core import Limits, Transactions
from logsegment._options.times import Timestamp
from logsegment._options.types import (
    Binary,
    CodecRegistry,
    CompressionName,
    Format,
    Isolation,
    LZ4HeaderChecksum,
    OnError,
    Quirk,
    SchemaSource,
    TimestampType,
    Unreadable,
    WrittenFormat,
)
from logsegment._options.value_kinds import Framing, Integers, KeyValues, Values


class EntryKeywords(TypedDict, total=False):
    """Options of every call that reads entries; `decode` documents them."""

    format: Format
    quirks: Collection[Quirk]
    zstd_dictionaries: Sequence[bytes] | None
    codecs: CodecRegistry | None
    limits: Limits | None


class SkippingKeywords(EntryKeywords, total=False):
    """Options of entries of calls that can skip them; `decode` documents them."""

    unreadable: Unreadable


class ReadKeywords(SkippingKeywords, total=False):
    """Options of every call that reads records of segments; `decode` documents them."""

    columns: Sequence[str] | None
    binary: Binary
    check_crc: bool
    on_error: OnError
    strict_tail: bool
    control: bool
    batch_size: int
    batch_bytes: int
    threads: int
    values: Values
    key_values: KeyValues
    schemas: SchemaSource | None
    reader_schema: Any
    framing: Framing | None
    integers: Integers
    key: str | bytes | Sequence[str | bytes] | None


class ArrayKeywords(SkippingKeywords, total=False):
    """Options of every call that reads records of an Arrow column; `decode` documents them."""

    columns: Sequence[str] | None
    binary: Binary
    check_crc: bool
    strict_tail: bool
    isolation: Isolation
    control: bool
    start_offset: int | None
    end_offset: int | None
    topic: str | None
    partition: int | None
    null_headers: bool
    transactions: Transactions | None


class EncodeKeywords(TypedDict, total=False):
    """Options of every call that writes batches; `encode` documents them."""

    format: WrittenFormat
    compression: CompressionName
    level: int | None
    base_offset: int
    batch_bytes: int
    timestamp_type: TimestampType
    log_append_time: Timestamp | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    partition_leader_epoch: int
    metadata_first: bool
    lz4_header_checksum: LZ4HeaderChecksum | None
    codecs: CodecRegistry | None
