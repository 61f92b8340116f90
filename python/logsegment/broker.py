"""What a broker does to record bytes, without one: the append path of a produce request, and the answer to a fetch.

>>> import logsegment as ls
>>> data = open("00000000000000000000.log", "rb").read()
>>> ls.broker.fetch(data, api_version=10) == data
True

Pure functions of bytes: nothing is read from or written to a disk or a network. Sources: `LogValidator`, `UnifiedLog`,
`ProducerAppendInfo`, `LazyDownConversionRecordsSend` of Kafka 3.9; KIP-57, KIP-98, KIP-110, KIP-283.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from logsegment._core import Limits, broker_append, broker_fetch
from logsegment._options import TimestampType, milliseconds
from logsegment.plugins.registry import BrokerResolver, broker_resolver

if TYPE_CHECKING:
    from logsegment.plugins import Registry

__all__ = ["AppendOrigin", "Appended", "ProducedBatch", "Producer", "append", "fetch"]


#: Who appends; the names of Kafka's `AppendOrigin` in lower case.
AppendOrigin: TypeAlias = Literal["client", "coordinator", "replication", "raft_leader"]


@dataclass(frozen=True)
class ProducedBatch:
    """A batch of an idempotent producer that was appended."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


@dataclass(frozen=True)
class Producer:
    """What a partition knows of an idempotent producer: its epoch and its last five batches, oldest first.

    Open transactions and epochs of coordinators are not kept: nothing is refused for them.
    """

    epoch: int
    batches: tuple[ProducedBatch, ...] = ()


@dataclass(frozen=True)
class Appended:
    """What a broker appends.

    Attributes:
        data: the entries; empty for a duplicate.
        first_offset, last_offset: of the records; of the earlier batch, for a duplicate; -1 where a follower appends nothing.
        max_timestamp: the largest timestamp or the append time, ms; -1 where there is none.
        duplicate: an idempotent producer sent this batch before: it is acknowledged and not appended again.
        producer_state: by producer id, for the next append.
    """

    data: bytes = field(repr=False)
    first_offset: int
    last_offset: int
    max_timestamp: int
    duplicate: bool
    producer_state: dict[int, Producer] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class AppendOptions:
    """How a broker appends; `append` documents each attribute."""

    origin: AppendOrigin
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
    codecs: BrokerResolver | str | None


def append(
    source: Any,
    *,
    first_offset: int,
    origin: AppendOrigin = "client",
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
    codecs: Registry | None = None,
) -> Appended:
    """Make of a produced buffer what a broker's append path makes of it.

    Offsets are assigned from `first_offset` on. Where codec and format are the topic's, bytes change in place: offsets, leader epoch,
    and if needed timestamp type, largest timestamp and checksum. Otherwise records are written and packed anew. A torn tail is cut
    off in silence.

    What is looked at depends on who appends:

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
    offsets, epoch and times are given             yes    yes         no          no
    (VAL-17 to VAL-19)
    offsets ascend, from `first_offset` or above   no     no          yes         yes
    on (VAL-2)
    each batch has `partition_leader_epoch`        no     no          no          yes
    (VAL-2)
    a repeated batch is acknowledged, sequences    yes    no          no          no
    follow (VAL-20)
    a producer's epoch is not over (VAL-20)        yes    yes         no          yes
    ============================================== ====== =========== =========== ===========

    A follower ("replication") appends what the leader wrote, and leaves out the first batch whose leader epoch is above
    `partition_leader_epoch` and all behind it (4.1 and later, KAFKA-18723; with -1 nothing). Its entries are not unpacked, nor are those
    of a Raft leader.

    Args:
        source: what a Produce request carries for a partition, or a Fetch response; borrowed, never changed.
        first_offset: the offset of the first record: where the log ends now.
        origin: who appends.
        to: the topic's message format.
        compression: the topic's ``compression.type``: "producer", "uncompressed" (or "none"), "gzip", "snappy", "lz4", "zstd",
            or the alias of a plugin in `codecs`, as Java's entries have it. Control records that come plain stay so.
        timestamp_type: the topic's ``message.timestamp.type``.
        now: the broker's clock, milliseconds or an aware datetime; None for this machine's.
        before_max_ms: the topic's ``message.timestamp.before.max.ms``; None for no bound.
        after_max_ms: the topic's ``message.timestamp.after.max.ms``; None for no bound.
        compacted: the topic is compacted, so that records need keys.
        max_message_bytes: the topic's ``max.message.bytes``.
        partition_leader_epoch: written into batches of magic 2.
        producer_state: of the append before.
        inter_broker_protocol_version: the oldest version among the brokers, such as "2.0"; below 2.1 nothing can be zstd (VAL-9). None
            for a version that knows it.
        limits: what an entry may claim; None for `Limits()`.
        codecs: a registry of plugins (`logsegment.plugins`), for batches that name one and for an alias in `compression`. A registry
            that is kept for several languages (`TopicRegistry`, `FileRegistry`) is asked for Java's entries, as brokers are Java
            programs; what packs and unpacks is Python's entry of the same alias. `MemoryRegistry` knows one language and is taken for
            both.

    Returns:
        An `Appended`.

    Raises:
        RecordBatchError: what a broker refuses. `kafka_error_code` is what it answers, `record_indexes` names the records that break a
            rule, `rule` says which. Corrupt bytes are a CorruptError or CodecError, a batch that is too large a LimitError, zstd,
            plugins and transactions where they cannot be an UnsupportedError, a plugin that Java's entries do not have an
            UnknownCompressionError, everything else an InvalidError.
        OSError: when the registry cannot be read.
        ValueError: for arguments that are none.

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
    clock = time.time_ns() // 1_000_000 if now is None else milliseconds(now, "now", rounds_up=False)
    options = AppendOptions(
        origin=origin,
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
        codecs=broker_resolver(codecs),
    )
    data, first, last, timestamp, duplicate, rows = broker_append(source, options, _rows(producer_state or {}))
    return Appended(data, first, last, timestamp, duplicate, _state(rows))


def fetch(
    source: Any,
    *,
    api_version: int,
    topic_compression: str = "producer",
    first_offset: int | None = None,
    limits: Limits | None = None,
    codecs: Registry | None = None,
) -> bytes:
    """Give the bytes that a broker up to 3.9 sends to a Fetch request of some version.

    Versions 0 and 1 get magic 0, 2 and 3 get magic 1, later ones what is stored. Where entries are converted, the broker has promised
    as many bytes as are stored: what conversion leaves of them, or a batch of zstd or a plugin that it cannot convert, is filled up
    with the beginning of an entry that claims more bytes than there are. Consumers pass over it, and get error 76 for the fetch that
    begins at that batch.

    Args:
        source: entries of the log, as in `logsegment.decode`; borrowed.
        api_version: version of the Fetch request.
        topic_compression: the topic's ``compression.type``, as in `append`.
        first_offset: the fetch offset: entries that end before it are left out, and so are, where they are converted, records of plain
            batches below it.
        limits: what an entry may claim; None for `Limits()`.
        codecs: a registry of plugins, for an alias in `topic_compression`, as in `append`. Batches are not unpacked: brokers convert none
            of a plugin (S-P22), `logsegment.convert` to another codec does.

    Returns:
        The record bytes of the response.

    Raises:
        UnsupportedError: with `kafka_error_code` 76, for zstd or a plugin that the version cannot take: the topic's codec is one, or that
            of the first batch. A plugin needs Fetch version 4.
        RecordBatchError: when the entries are bad.
        ValueError: for arguments that are none.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> ls.broker.fetch(data, api_version=3)
        Traceback (most recent call last):
        ...
        logsegment.UnsupportedError: [CNV-13] zstd needs Fetch version 10 or newer, this is 3: ...

    Source: `KafkaApis.handleFetchRequest`, `LazyDownConversionRecordsSend` in Kafka 3.9; KIP-110, KIP-283.
    """
    return broker_fetch(source, api_version, topic_compression, first_offset, limits, broker_resolver(codecs))


def _has_zstd(inter_broker_protocol_version: str | None) -> bool:
    """KIP-110: from 2.1-IV0 on."""
    if inter_broker_protocol_version is None:
        return True
    numbers = re.match(r"(\d+)\.(\d+)(?:[.-]|$)", inter_broker_protocol_version)
    if numbers is None:
        text = "as in inter.broker.protocol.version, such as '2.0' or '2.1-IV0'"
        raise ValueError(f"inter_broker_protocol_version {inter_broker_protocol_version!r} is no version {text}")
    return (int(numbers[1]), int(numbers[2])) >= (2, 1)


def _rows(state: Mapping[int, Producer]) -> list[tuple[int, int, list[tuple[int, int, int, int, int]]]]:
    def row(batch: ProducedBatch) -> tuple[int, int, int, int, int]:
        return (batch.first_sequence, batch.last_sequence, batch.first_offset, batch.last_offset, batch.timestamp)

    return [(number, producer.epoch, [row(batch) for batch in producer.batches]) for number, producer in state.items()]


def _state(rows: list[tuple[int, int, list[tuple[int, int, int, int, int]]]]) -> dict[int, Producer]:
    return {number: Producer(epoch, tuple(ProducedBatch(*row) for row in batches)) for number, epoch, batches in rows}
