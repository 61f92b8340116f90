"""Process record bytes as a broker does: the append path of a Produce request, and the response to a Fetch request.

>>> import logsegment as ls
>>> data = open("00000000000000000000.log", "rb").read()
>>> ls.broker.fetch(data, api_version=10) == data
True

All functions work on bytes only, without disk or network. Sources: `LogValidator`, `UnifiedLog`,
`ProducerAppendInfo`, `LazyDownConversionRecordsSend` of Kafka 3.9; KIP-57, KIP-98, KIP-110, KIP-283.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from logsegment._core import Limits, broker_append, broker_fetch
from logsegment._options import CodecRegistry, MixedFormat, TimestampType, milliseconds

__all__ = ["AppendOrigin", "Appended", "ProducedBatch", "Producer", "append", "fetch"]


#: Origin of an append; the names of Kafka's `AppendOrigin` in lower case.
AppendOrigin: TypeAlias = Literal["client", "coordinator", "replication", "raft_leader"]


@dataclass(frozen=True)
class ProducedBatch:
    """Appended batch of an idempotent producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


@dataclass(frozen=True)
class Producer:
    """State of an idempotent producer in a partition: its epoch and its last five batches, oldest first.

    Open transactions and coordinator epochs are not kept, and not checked.
    """

    epoch: int
    batches: tuple[ProducedBatch, ...] = ()


@dataclass(frozen=True)
class Appended:
    """Result of `append`.

    Attributes:
        data: the entries; empty for a duplicate.
        first_offset, last_offset: of the records; for a duplicate, of the earlier batch; -1 if a follower appends nothing.
        max_timestamp: the largest timestamp or the append time, ms; -1 for none.
        duplicate: an idempotent producer repeated this batch: it is acknowledged and not appended again.
        producer_state: states by producer id, for the next append.
    """

    data: bytes = field(repr=False)
    first_offset: int
    last_offset: int
    max_timestamp: int
    duplicate: bool
    producer_state: dict[int, Producer] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class AppendOptions:
    """Options of `append`, which documents each attribute."""

    origin: AppendOrigin
    api_version: int | None
    release: str | None
    first_offset: int
    has_zstd: bool
    to: str
    compression: str
    timestamp_type: TimestampType
    now: int
    before_max_ms: int | None
    after_max_ms: int | None
    compacted: bool
    max_message_bytes: int
    partition_leader_epoch: int
    limits: Limits | None
    codecs: CodecRegistry | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchOptions:
    """Options of `fetch`, which documents each attribute."""

    api_version: int
    release: str | None
    topic_compression: str
    first_offset: int | None
    format: MixedFormat
    limits: Limits | None
    codecs: CodecRegistry | None


def append(
    source: Any,
    *,
    first_offset: int,
    origin: AppendOrigin = "client",
    api_version: int | None = None,
    release: str | None = None,
    to: Literal["v0", "v1", "v2"] = "v2",
    compression: str = "producer",
    timestamp_type: TimestampType = "CreateTime",
    now: int | datetime | None = None,
    before_max_ms: int | None = None,
    after_max_ms: int | None = None,
    compacted: bool = False,
    max_message_bytes: int = 1048588,
    partition_leader_epoch: int = -1,
    producer_state: Mapping[int, Producer] | None = None,
    inter_broker_protocol_version: str | None = None,
    limits: Limits | None = None,
    codecs: CodecRegistry | None = None,
) -> Appended:
    """Validate and rewrite a produced buffer, as a broker does before it appends.

    Offsets are assigned from `first_offset` on. If codec and format are those of the topic, only header fields change: offsets, leader
    epoch, and if needed timestamp type, largest timestamp and checksum. Otherwise records are rewritten and recompressed. A torn tail is
    dropped without an error.

    The origin decides which rules are checked:

    ============================================== ====== =========== =========== ===========
    rule                                           client coordinator replication raft_leader
    ============================================== ====== =========== =========== ===========
    batches begin at offset 0 (VAL-2)              yes    no          no          no
    no batch over `max_message_bytes` (VAL-2)      yes    yes         no          yes
    checksums (V2-31, L8-9)                        yes    yes         yes         yes
    complete, no control records, a sequence       yes    no          no          no
    (VAL-3 to VAL-5)
    one magic, one batch, and every record         yes    yes         no          no
    (VAL-6 to VAL-16)
    offsets, epoch and times are assigned          yes    yes         no          no
    (VAL-17 to VAL-19)
    offsets ascend, from `first_offset` or above   no     no          yes         yes
    on (VAL-2)
    each batch has `partition_leader_epoch`        no     no          no          yes
    (VAL-2)
    a repeated batch is acknowledged, sequences    yes    no          no          no
    follow (VAL-20)
    a producer's epoch is current (VAL-20)         yes    yes         no          yes
    ============================================== ====== =========== =========== ===========

    A follower ("replication") appends the leader's batches up to the first batch with a leader epoch above `partition_leader_epoch` (4.1
    and later, KAFKA-18723; with -1 all batches). Entries of a follower or a Raft leader are not decompressed.

    Args:
        source: the records of a partition in a Produce request or a Fetch response; borrowed, never changed.
        first_offset: the offset of the first record, which is the log end offset.
        origin: origin of the append.
        api_version: version of the Produce request, whose rules are checked first (VAL-1): magic 2 from version 3 on, zstd from version 7
            on. None checks the records alone.
        release: release of the broker, such as "4.0", for `api_version`; None for brokers up to 3.9. See `compat.produce`.
        to: the topic's message format.
        compression: the topic's ``compression.type``: "producer", "uncompressed" (or "none"), "gzip", "snappy", "lz4", "zstd",
            or the alias of a plugin in `codecs`, by its Java entry. Uncompressed control records stay uncompressed.
        timestamp_type: the topic's ``message.timestamp.type``.
        now: the broker's clock, milliseconds or an aware datetime; None for this machine's.
        before_max_ms: the topic's ``message.timestamp.before.max.ms``; None for no bound.
        after_max_ms: the topic's ``message.timestamp.after.max.ms``; None for no bound.
        compacted: the topic is compacted, so records need keys.
        max_message_bytes: the topic's ``max.message.bytes``.
        partition_leader_epoch: written into batches of magic 2.
        producer_state: state from the previous append.
        inter_broker_protocol_version: the oldest version among the brokers, such as "2.0"; below 2.1, zstd is rejected (VAL-9). None
            allows zstd.
        limits: see `logsegment.decode`.
        codecs: a registry of plugins (`logsegment.plugins`), for batches of plugins and for an alias in `compression`. In a registry for
            several languages (`TopicRegistry`, `FileRegistry`), the Java entries decide, since brokers are Java programs; the Python
            entry of the same alias compresses and decompresses. `MemoryRegistry` has one language for both.

    Returns:
        The appended entries with their offsets, and the producer states.

    Raises:
        RecordBatchError: if a broker rejects the records. `kafka_error_code` is the broker's error code, `record_indexes` are the records
            that break the rule in `rule`. Corrupt bytes raise CorruptError or CodecError; a batch that is too large LimitError; zstd,
            plugins and transactions in an older format UnsupportedError; a plugin without a Java entry UnknownCompressionError;
            everything else InvalidError.
        OSError: if the registry cannot be read.
        ValueError: if an argument is invalid.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> produced = ls.encode(pa.table({"value": [b"a", b"b"], "timestampMs": [10, 20]}))
        >>> appended = ls.broker.append(produced, first_offset=500, partition_leader_epoch=3)
        >>> appended.first_offset, appended.last_offset, appended.max_timestamp
        (500, 501, 20)
        >>> follower = ls.broker.append(appended.data, first_offset=500, origin="replication")
        >>> follower.data == appended.data
        True

    Source: `LogValidator.validateMessagesAndAssignOffsets`, `UnifiedLog.append` and `ProducerAppendInfo` in Kafka 3.9 and 4.3; KIP-984.
    """
    if max_message_bytes < 0:
        raise ValueError("max_message_bytes must be 0 or more")
    if api_version is not None and origin != "client":
        raise ValueError(f'api_version: only a client sends a Produce request; origin is "{origin}"')
    if release is not None and api_version is None:
        raise ValueError("release needs api_version")
    clock = time.time_ns() // 1_000_000 if now is None else milliseconds(now, "now", rounds_up=False)
    options = AppendOptions(
        origin=origin,
        api_version=api_version,
        release=release,
        first_offset=first_offset,
        has_zstd=_has_zstd(inter_broker_protocol_version),
        to=to,
        compression=compression,
        timestamp_type=timestamp_type,
        now=clock,
        before_max_ms=before_max_ms,
        after_max_ms=after_max_ms,
        compacted=compacted,
        max_message_bytes=max_message_bytes,
        partition_leader_epoch=partition_leader_epoch,
        limits=limits,
        codecs=codecs,
    )
    data, first, last, timestamp, duplicate, rows = broker_append(source, options, _rows(producer_state or {}))
    return Appended(data, first, last, timestamp, duplicate, _state(rows))


def fetch(
    source: Any,
    *,
    api_version: int,
    release: str | None = None,
    topic_compression: str = "producer",
    first_offset: int | None = None,
    format: MixedFormat = "auto",
    limits: Limits | None = None,
    codecs: CodecRegistry | None = None,
) -> bytes:
    """Return the record bytes of a broker's response to a Fetch request.

    Versions 0 and 1 get magic 0, versions 2 and 3 magic 1, later versions the stored entries. Brokers from 4.0 on do not support versions
    below 4, and return zstd in all others. A broker that converts has declared the
    stored size. It fills the missing bytes, or the place of a batch that it cannot convert (zstd, a plugin), with the start of an entry
    that is longer than the response. Consumers skip that entry, and get error 76 for a fetch that starts at that batch.

    Args:
        source: entries of the log; see `logsegment.decode`. Borrowed.
        api_version: version of the Fetch request.
        release: release of the broker, such as "4.0"; None for brokers up to 3.9. See `compat.fetch`.
        topic_compression: the topic's ``compression.type``, see `append`.
        first_offset: the fetch offset. Entries that end before it are dropped, and in converted entries also records of uncompressed
            batches below it.
        format: "v3" if the log may have batches of magic 3, a proposal (KIP-931). No version of Fetch has it, so they are converted
            down: to magic 2 from version 4 on.
        limits: see `logsegment.decode`.
        codecs: a registry of plugins, for an alias in `topic_compression`; see `append`. Brokers do not convert batches of a plugin
            (S-P22); `logsegment.convert` to another codec does.

    Returns:
        The record bytes of the response.

    Raises:
        UnsupportedError: with `kafka_error_code` 76, if the codec of the topic or of the first batch is zstd or a plugin and the version
            does not allow it. A plugin needs Fetch version 4. With 35, if brokers of the release do not support the version.
        RecordBatchError: if an entry is invalid.
        ValueError: if an argument is invalid.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> ls.broker.fetch(data, api_version=3)
        Traceback (most recent call last):
        ...
        logsegment.UnsupportedError: [CNV-13] zstd needs Fetch version 10 or newer, this is 3: ...

    Source: `KafkaApis.handleFetchRequest` in Kafka 3.9 and 4.0, `LazyDownConversionRecordsSend` in Kafka 3.9; KIP-110, KIP-283.
    """
    options = FetchOptions(
        api_version=api_version,
        release=release,
        topic_compression=topic_compression,
        first_offset=first_offset,
        format=format,
        limits=limits,
        codecs=codecs,
    )
    return broker_fetch(source, options)


def _has_zstd(inter_broker_protocol_version: str | None) -> bool:
    """KIP-110: from 2.1-IV0 on."""
    if inter_broker_protocol_version is None:
        return True
    numbers = re.match(r"(\d+)\.(\d+)(?:[.-]|$)", inter_broker_protocol_version)
    if numbers is None:
        text = "as in inter.broker.protocol.version, such as '2.0' or '2.1-IV0'"
        raise ValueError(f"inter_broker_protocol_version {inter_broker_protocol_version!r} is not a version {text}")
    return (int(numbers[1]), int(numbers[2])) >= (2, 1)


def _rows(state: Mapping[int, Producer]) -> list[tuple[int, int, list[tuple[int, int, int, int, int]]]]:
    def row(batch: ProducedBatch) -> tuple[int, int, int, int, int]:
        return (batch.first_sequence, batch.last_sequence, batch.first_offset, batch.last_offset, batch.timestamp)

    return [(number, producer.epoch, [row(batch) for batch in producer.batches]) for number, producer in state.items()]


def _state(rows: list[tuple[int, int, list[tuple[int, int, int, int, int]]]]) -> dict[int, Producer]:
    return {number: Producer(epoch, tuple(ProducedBatch(*row) for row in batches)) for number, epoch, batches in rows}
