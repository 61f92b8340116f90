"""What a broker does to record bytes, without one: the append path of a produce request, and the answer to a fetch.

>>> import logsegment as ls
>>> data = open("00000000000000000000.log", "rb").read()
>>> ls.broker.fetch(data, api_version=10) == data
True

Pure functions of bytes: nothing is read from or written to a disk or a network. Sources: `LogValidator`, `UnifiedLog`,
`ProducerAppendInfo`, `LazyDownConversionRecordsSend` of Kafka 3.9; KIP-57, KIP-98, KIP-110, KIP-283.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from logsegment import _core
from logsegment._core import Limits
from logsegment._options import TimestampType, milliseconds, plugins

if TYPE_CHECKING:
    from logsegment.plugins import Registry

__all__ = ["Appended", "ProducedBatch", "Producer", "append", "fetch"]


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
    """What a partition knows of an idempotent producer: its epoch and its last five batches, oldest first."""

    epoch: int
    batches: tuple[ProducedBatch, ...] = ()


@dataclass(frozen=True)
class Appended:
    """What a broker appends.

    Attributes:
        data: the entries; empty for a duplicate.
        first_offset, last_offset: of the records; of the earlier batch, for a duplicate.
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


def append(
    buffer: Any,
    *,
    first_offset: int,
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
    limits: Limits | None = None,
    codecs: Registry | None = None,
) -> Appended:
    """Make of a produced buffer what a broker's append path makes of it.

    Offsets are assigned from `first_offset` on. Where codec and format are the topic's, bytes change in place: offsets, leader epoch,
    and if needed timestamp type, largest timestamp and checksum. Otherwise records are written and packed anew. A torn tail is cut
    off in silence.

    Args:
        buffer: what a Produce request carries for a partition; borrowed, never changed.
        first_offset: the offset of the first record.
        to: the topic's message format.
        compression: the topic's ``compression.type``: "producer", "uncompressed" (or "none"), "gzip", "snappy", "lz4", "zstd",
            or the alias of a plugin in `codecs`.
        timestamp_type: the topic's ``message.timestamp.type``.
        now: the broker's clock, milliseconds or an aware datetime; None for this machine's.
        before_max_ms: the topic's ``message.timestamp.before.max.ms``; None for no bound.
        after_max_ms: the topic's ``message.timestamp.after.max.ms``; None for no bound.
        compacted: the topic is compacted, so that records need keys.
        max_message_bytes: the topic's ``max.message.bytes``.
        partition_leader_epoch: written into batches of magic 2.
        producer_state: of the append before.
        limits: what an entry may claim; None for `Limits()`.
        codecs: a registry of plugins (`logsegment.plugins`), for batches that name one and for an alias in `compression`.

    Returns:
        An `Appended`.

    Raises:
        RecordBatchError: what a broker refuses. `kafka_error_code` is what it answers, `record_indexes` names the records that break a
            rule, `rule` says which. Corrupt bytes are a CorruptError or CodecError, a batch that is too large a LimitError, zstd and
            transactions where they cannot be an UnsupportedError, everything else an InvalidError.
        ValueError: for arguments that are none.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> produced = ls.encode(pa.table({"value": [b"a", b"b"], "timestampMs": [10, 20]}))
        >>> appended = ls.broker.append(produced, first_offset=500, partition_leader_epoch=3)
        >>> appended.first_offset, appended.last_offset, appended.max_timestamp
        (500, 501, 20)

    Source: `LogValidator.validateMessagesAndAssignOffsets` and `ProducerAppendInfo` in Kafka 3.9.
    """
    if max_message_bytes < 0:
        raise ValueError("max_message_bytes must be 0 or more")
    clock = time.time_ns() // 1_000_000 if now is None else milliseconds("now", now)
    options = {
        "first_offset": first_offset,
        "to": to,
        "compression": compression,
        "timestamp_type": timestamp_type,
        "now": clock,
        "before_max_ms": before_max_ms,
        "after_max_ms": after_max_ms,
        "compacted": compacted,
        "max_message_bytes": max_message_bytes,
        "partition_leader_epoch": partition_leader_epoch,
        "limits": limits,
        "codecs": plugins(codecs),
    }
    data, first, last, timestamp, duplicate, rows = _core.broker_append(buffer, options, _rows(producer_state or {}))
    return Appended(data, first, last, timestamp, duplicate, _state(rows))


def fetch(
    buffer: Any,
    *,
    api_version: int,
    topic_compression: str = "producer",
    first_offset: int | None = None,
    limits: Limits | None = None,
) -> bytes:
    """Give the bytes that a broker up to 3.9 sends to a Fetch request of some version.

    Versions 0 and 1 get magic 0, 2 and 3 get magic 1, later ones what is stored. Where entries are converted, the broker has promised
    as many bytes as are stored: what conversion leaves of them, or a zstd batch that it cannot convert, is filled up with the
    beginning of an entry that claims more bytes than there are. Consumers pass over it, and get error 76 for the fetch that begins at
    the zstd batch.

    Args:
        buffer: entries of the log; borrowed.
        api_version: version of the Fetch request.
        topic_compression: the topic's ``compression.type``.
        first_offset: the fetch offset: entries that end before it are left out, and so are, where they are converted, records of plain
            batches below it.
        limits: what an entry may claim; None for `Limits()`.

    Returns:
        The record bytes of the response.

    Raises:
        UnsupportedError: with `kafka_error_code` 76, for zstd that the version cannot take: the topic's codec is zstd, or the first
            batch is.
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
    return _core.broker_fetch(buffer, api_version, topic_compression, first_offset, limits)


def _rows(state: Mapping[int, Producer]) -> list[tuple[int, int, list[tuple[int, int, int, int, int]]]]:
    def row(batch: ProducedBatch) -> tuple[int, int, int, int, int]:
        return (batch.first_sequence, batch.last_sequence, batch.first_offset, batch.last_offset, batch.timestamp)

    return [(number, producer.epoch, [row(batch) for batch in producer.batches]) for number, producer in state.items()]


def _state(rows: list[tuple[int, int, list[tuple[int, int, int, int, int]]]]) -> dict[int, Producer]:
    return {number: Producer(epoch, tuple(ProducedBatch(*row) for row in batches)) for number, epoch, batches in rows}
