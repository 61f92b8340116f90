"""The options of calls that write batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from logsegment._options.table import Option
from logsegment._options.times import Timestamp, milliseconds
from logsegment._options.types import CodecRegistry, CompressionName, LZ4HeaderChecksum, OnBadValue, TimestampType, WrittenFormat


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodeOptions:
    """How records become batches; `encode` documents each attribute.

    Raises:
        TypeError: if `compression` is None.
    """

    format: Annotated[WrittenFormat, Option("Write this format.", cli="--to", spark="format")] = "v2"
    compression: Annotated[
        CompressionName,
        Option("Compress with this codec of Kafka or of a plugin.", cli="--compression CODEC", spark="compression"),
    ] = "none"
    level: Annotated[int | None, Option("Compress at this level.", cli="--level INTEGER", spark="level", default="the codec's own")] = None
    base_offset: Annotated[int, Option("Give the first record this offset.")] = 0
    batch_bytes: Annotated[
        int, Option("Write batches of this many bytes of uncompressed messages.", cli="--batch-bytes INTEGER", spark="batchBytes")
    ] = 16384
    timestamp_type: Annotated[TimestampType, Option("Write timestamps of this type.")] = "CreateTime"
    log_append_time: Annotated[
        Timestamp | None, Option("Write this time of the broker, with LogAppendTime.", default="the largest timestamp of each batch")
    ] = None
    producer_id: Annotated[int, Option("Write this id of the producer.")] = -1
    producer_epoch: Annotated[int, Option("Write this epoch of the producer.")] = -1
    base_sequence: Annotated[int, Option("Give the first record this sequence number.")] = -1
    transactional: Annotated[bool, Option("Mark the batches as parts of a transaction.")] = False
    partition_leader_epoch: Annotated[int, Option("Write this epoch of the leader.")] = -1
    metadata_first: Annotated[
        bool, Option("With format v3, write the metadata of all records before the payloads.", cli="--metadata-first")
    ] = False
    lz4_header_checksum: Annotated[
        LZ4HeaderChecksum | None, Option("Write this form of the checksum of LZ4 headers.", default="that of the format")
    ] = None
    codecs: Annotated[
        CodecRegistry | None,
        Option("Use the plugin codecs of this registry, a JSON file.", cli="--registry FILE", spark="plugins.path"),
    ] = None
    on_error: OnBadValue = "raise"

    def __post_init__(self) -> None:
        if self.compression is None:
            raise TypeError('compression must be a name; "none" compresses nothing')
        if self.log_append_time is not None:
            object.__setattr__(self, "log_append_time", milliseconds(self.log_append_time, "log_append_time", rounds_up=False))
