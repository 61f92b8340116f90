"""Records to batches: `encode`, and the same over an Arrow column of lists of records."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Unpack, get_args

from logsegment._core import ArrowArray, UnknownCompressionError
from logsegment._core import encode as core_encode
from logsegment._core import encode_array as core_encode_array
from logsegment._options import (
    CodecRegistry,
    Compression,
    CompressionName,
    EncodeKeywords,
    EncodeOptions,
    LZ4HeaderChecksum,
    OnBadValue,
    SchemaSource,
    Timestamp,
    TimestampType,
    WrittenFormat,
    WrittenValues,
)
from logsegment._output import staged_output
from logsegment._typed_values import WrittenSchemas


def encode(
    table: Any,
    *,
    format: WrittenFormat = "v2",
    compression: CompressionName = "none",
    level: int | None = None,
    base_offset: int = 0,
    batch_bytes: int = 16384,
    timestamp_type: TimestampType = "CreateTime",
    log_append_time: Timestamp | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    partition_leader_epoch: int = -1,
    metadata_first: bool = False,
    lz4_header_checksum: LZ4HeaderChecksum | None = None,
    codecs: CodecRegistry | None = None,
    values: WrittenValues = "raw",
    key_values: WrittenValues = "raw",
    schema: Any = None,
    key_schema: Any = None,
    schemas: SchemaSource | None = None,
    topic: str | None = None,
    message: str | None = None,
    register: bool = False,
    out: str | os.PathLike[str] | BinaryIO | None = None,
    overwrite: bool = False,
) -> bytes | None:
    """Encode the rows of an Arrow table as record batches, with the batch ends of Kafka's producer.

    Only the column `value` is required. `key`, `offset`, `timestamp` (or `timestampMs`), `headers` (or `headersRaw`), `isControl` and
    `controlType` are used if they exist; other columns are ignored. The arguments set the fields of the batches. A null offset continues
    from the previous row, a null timestamp is -1 (none), and null keys, values and header values stay null. Gaps between offsets are
    kept. A stream is read batch by batch, so with `out` memory is bounded. The GIL is released.

    Args:
        table: any object with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, Polars, pandas, a `RecordStream`); columns of
            bytes may be binary or text, with offsets, views or a dictionary. Borrowed.
        format: "v2" (magic 2), "v3" (a proposal that no broker reads: KIP-931), "v1", "v0", or "0.7" (whose magic is 1 too). v0 and
            0.7 have no timestamps, and ignore the column. 0.7 ignores offsets too: the offset is a position in the log.
        compression: "none", "gzip", "snappy", "lz4" or "zstd"; any other name is the alias of a plugin in `codecs`.
        level: gzip 1 to 9 or -1 (6), lz4 1 to 17 (9 is the fast compressor, the others the high one), zstd -131072 to 22; None for
            Kafka's default: 6, 9, 3. A plugin gets the value unchanged.
        base_offset: offset of the first row, if the table has no offset for it.
        batch_bytes: estimated size at which a batch ends, as ``batch.size`` of the producer; a larger record gets its own batch.
        timestamp_type: "CreateTime" or "LogAppendTime".
        log_append_time: with LogAppendTime, milliseconds or an aware datetime; None for the largest timestamp of each batch.
        producer_id: id of an idempotent producer, -1 for none; it needs an epoch and a sequence.
        producer_epoch: epoch of the producer.
        base_sequence: sequence of the first record; it continues from batch to batch.
        transactional: mark the batches as part of a transaction.
        partition_leader_epoch: leader epoch of every batch (v2 and v3).
        metadata_first: with format "v3", write the metadata of all records before their payloads, so that a validation need
            not decompress the payloads.
        lz4_header_checksum: "correct" or "broken" as the LZ4 frames of Kafka 0.8.2 and 0.9; None for the
            checksum of the format: broken in v0, correct in all others.
        codecs: a registry of plugins (`logsegment.plugins`); `compression` may then be an alias, in v2 and v3. A registry names code
            that is imported: trust it as you trust the Python path.
        values: "avro", "json" or "protobuf" writes the column `valueRecord` with a schema, as `decode` reads it, in place of the column
            `value`. A null struct is a null value.
        key_values: the same for `keyRecord` and `key`.
        schema: schema of the values: a `schemas.Schema`, an id of `schemas`, a text, parsed JSON, or the path of a file (as
            `os.PathLike`). None for the newest version of the subject `TOPIC-value` in `schemas`, or their only schema. JSON needs none.
        key_schema: the same for keys, with the subject `TOPIC-key`.
        schemas: the schemas that ids, subjects and references mean. Their framing is written: "auto" is Confluent's, with a 4-byte id.
        topic: names the subjects; it is not written.
        message: name of the message of Protobuf values; None for the first message of the schema.
        register: register a `schema` or `key_schema` that the subject does not have yet, with the registry of `schemas`. Nothing else
            writes to a registry.
        out: a path, or a binary file object, whose `write` gets memoryviews of 64 KiB or more, or None to return the bytes. A file at a
            path appears when it is complete. Links are followed; a FIFO or a character device is written to directly.
        overwrite: replace an existing file when the new file is complete. The new file keeps the mode and the owner.

    Returns:
        The batches as bytes; None if they were written to `out`. A table without rows gives no bytes.

    Raises:
        ValueError: if Kafka rejects the records, with its reason: zstd, headers, control records or a producer below magic 2, offsets that
            do not increase, a level out of range. If a typed value does not fit its schema, with its row and field; if a schema is missing.
        UnknownCompressionError: if `compression` is not a codec or the alias of a plugin.
        UnsupportedError: if a registered plugin is not installed (`kafka_error_code` 76).
        CodecError: if a plugin fails.
        TypeError, ValueError: if `table` has no column `value`, or a column has another type.
        FileExistsError: if the file exists and `overwrite` is False; checked before reading, and again before the file is moved into place.
        OSError: if `out` cannot be written.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> table = pa.table({"key": [b"a", b"b"], "value": [b"first", None], "timestampMs": [1600000000000, 1600000000007]})
        >>> data = ls.encode(table, compression="zstd", base_offset=40)
        >>> ls.decode(data, columns=["offset", "value"]).to_pyarrow().to_pylist()
        [{'offset': 40, 'value': b'first'}, {'offset': 41, 'value': None}]
        >>> order = ls.schemas.Schema("AVRO", '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}', 7)
        >>> typed = ls.encode(pa.table({"valueRecord": [{"id": 1}]}), values="avro", schema=order)
        >>> ls.decode(typed, columns=["value"]).to_pylist()[0]["value"].hex()
        '000000000702'

    Source: KIP-98, KIP-390; `MemoryRecordsBuilder` in Kafka's clients.
    """
    options = EncodeOptions(
        format=format,
        compression=compression,
        level=level,
        base_offset=base_offset,
        batch_bytes=batch_bytes,
        timestamp_type=timestamp_type,
        log_append_time=log_append_time,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        partition_leader_epoch=partition_leader_epoch,
        metadata_first=metadata_first,
        lz4_header_checksum=lz4_header_checksum,
        codecs=codecs,
    )
    written = WrittenSchemas(schemas, topic, is_registering=register)
    writers = (written.writer("value", values, schema, message), written.writer("key", key_values, key_schema))
    with staged_output(out, overwrite=overwrite) as output:
        return core_encode(table, options, output.target, *writers)


def encode_array(array: Any, *, on_error: OnBadValue = "raise", **options: Unpack[EncodeKeywords]) -> ArrowArray:
    """Encode the list of records in every value of a column, value by value.

    Args:
        array: an Arrow array of list<struct> or large_list<struct> (any object with ``__arrow_c_array__`` or
            ``__arrow_c_stream__``), as `decode_array` returns it; the fields of the structs are the columns of `encode`. Borrowed.
        on_error: "raise", or "null" (also "skip") for null in place of a list that Kafka rejects.
        options: options of batches; see `encode`. Offsets and sequences restart with each value.

    Returns:
        An `ArrowArray` of binary as long as `array`, raw batches in each value; null for null, no bytes for an empty list.

    Raises:
        ValueError: as `encode`; for a record if `on_error` is "raise", with the row of the value and the index of the record.
        UnknownCompressionError: as `encode`.
        TypeError, ValueError: if `array` is not such a column.
        LimitError: if the results take more than 2^31-1 bytes.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> lists = pa.array([[{"value": b"a"}, {"value": b"b"}], None])
        >>> raw = pa.array(ls.encode_array(lists, compression="lz4"))
        >>> pa.array(ls.decode_array(raw, columns=["offset", "value"])).to_pylist()
        [[{'offset': 0, 'value': b'a'}, {'offset': 1, 'value': b'b'}], None]

    Source: KIP-98; `MemoryRecordsBuilder` in Kafka's clients.
    """
    return core_encode_array(array, EncodeOptions(**options, on_error=on_error))


#: The codecs of 0.7 by the ids that its producer uses; no release of it has LZ4.
CODEC_IDS: dict[str, Compression] = {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4"}


@dataclass(frozen=True, init=False)
class CompressionPolicy:
    """Codec, and the topics that are compressed with it.

    With a codec and no topics, every topic is compressed; with topics, only these. Names are compared exactly.

    Args:
        codec: "none", "gzip", "snappy", "lz4" or "zstd".
        topics: names of the topics; empty for all topics.

    Raises:
        UnknownCompressionError: if the codec is unknown.
        TypeError: if `topics` is one string.

    Example:
        >>> import logsegment as ls
        >>> policy = ls.CompressionPolicy("gzip", topics=["orders"])
        >>> policy.codec_for("orders"), policy.codec_for("payments")
        ('gzip', 'none')

    Source: `DefaultEventHandler` in Kafka 0.7.
    """

    codec: Compression
    topics: frozenset[str]

    def __init__(self, codec: Compression = "none", topics: Iterable[str] = ()) -> None:
        if codec not in get_args(Compression):
            raise UnknownCompressionError(f"[COD-1] Unknown compression name: {codec} (use {', '.join(get_args(Compression))})")
        if isinstance(topics, str):
            raise TypeError("topics must be names, not one string")
        object.__setattr__(self, "codec", codec)
        object.__setattr__(self, "topics", frozenset(topics))

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> CompressionPolicy:
        """Build the policy from properties of a producer of Kafka 0.7.

        Args:
            properties: `compression.codec`, an id (0 none, 1 gzip, 2 snappy, 3 lz4), and `compressed.topics`, comma-separated names, are
                used. Spaces belong to a name.

        Returns:
            The policy; without these properties, nothing is compressed.

        Raises:
            ValueError: if 0.7 does not have the id.

        Example:
            >>> import logsegment as ls
            >>> ls.CompressionPolicy.from_properties({"compression.codec": "2", "compressed.topics": "orders,payments"}).codec_for("orders")
            'snappy'

        Source: `AsyncProducerConfig` and `CompressionCodec` in Kafka 0.7.
        """
        codec = str(properties.get("compression.codec", "0")).strip()
        if codec not in CODEC_IDS:
            raise ValueError(f"[L7-5] {codec} is an unknown compression codec")
        topics = properties.get("compressed.topics") or ""
        return cls(CODEC_IDS[codec], [topic for topic in topics.split(",") if topic])

    def codec_for(self, topic: str) -> Compression:
        """Return the codec of a topic."""
        is_compressed = not self.topics or topic in self.topics
        return self.codec if is_compressed else "none"
