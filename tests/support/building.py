"""Entries made by hand, so that tests can put any value into any field. Independent of the library (rules PRM, L7, L8, V2).

Nothing here checks anything: a test that wants a wrong count or length says so.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence

import google_crc32c

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
#: Attributes, lastOffsetDelta, baseTimestamp, maxTimestamp, producerId, producerEpoch, baseSequence, count.
CHECKED_HEADER = struct.Struct(">hiqqqhii")
HEADER_LEN = 61

Headers = Iterable[tuple[bytes, bytes | None]]


def batch(
    records: bytes,
    *,
    count: int,
    base_offset: int = 0,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = 0,
    max_timestamp: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = 0,
    magic: int = 2,
    crc: int | None = None,
) -> bytes:
    """A record batch around these record bytes (compressed already, if `attributes` say so)."""
    last = max(count - 1, 0) if last_offset_delta is None else last_offset_delta
    largest = base_timestamp if max_timestamp is None else max_timestamp
    checked = CHECKED_HEADER.pack(attributes, last, base_timestamp, largest, producer_id, producer_epoch, base_sequence, count)
    body = checked + records
    stored = crc32c(body) if crc is None else crc
    return struct.pack(">qiibI", base_offset, len(body) + 9, leader_epoch, magic, stored) + body


def message(
    value: bytes | None,
    *,
    magic: int,
    key: bytes | None = None,
    offset: int = 0,
    attributes: int = 0,
    timestamp: int = 0,
) -> bytes:
    """A message set entry of magic 0 or 1; around compressed entries (`attributes` say so) a wrapper."""
    times = struct.pack(">q", timestamp) if magic else b""
    checked = struct.pack(">bb", magic, attributes) + times + sized(key) + sized(value)
    return struct.pack(">qiI", offset, len(checked) + 4, zlib.crc32(checked)) + checked


def message_0_7(payload: bytes, *, magic: int = 1, attributes: int = 0) -> bytes:
    """A message of Kafka 0.7 (L7-1)."""
    head = struct.pack(">bb", magic, attributes) if magic else struct.pack(">b", magic)
    return struct.pack(">i", len(head) + 4 + len(payload)) + head + struct.pack(">I", zlib.crc32(payload)) + payload


def sized(content: bytes | None) -> bytes:
    """Nullable bytes behind a length of 32 bits."""
    return struct.pack(">i", -1) if content is None else struct.pack(">i", len(content)) + content


def record(
    key: bytes | None = None,
    value: bytes | None = None,
    headers: Headers = (),
    *,
    offset_delta: int | bytes = 0,
    timestamp_delta: int | bytes = 0,
    attributes: int = 0,
    length: int | None = None,
) -> bytes:
    """One record; deltas may be given as encoded bytes."""
    pairs = list(headers)
    body = struct.pack(">b", attributes) + encoded(timestamp_delta) + encoded(offset_delta)
    body += nullable(key) + nullable(value) + varint(len(pairs))
    body += b"".join(varint(len(name)) + name + nullable(content) for name, content in pairs)
    return varint(len(body) if length is None else length) + body


def records(values: Sequence[bytes | None]) -> bytes:
    """Records with these values at offset deltas 0, 1, 2, ..."""
    return b"".join(record(None, value, offset_delta=delta) for delta, value in enumerate(values))


def simple_batch(values: Sequence[bytes | None], base_offset: int = 0) -> bytes:
    """An uncompressed batch of these values."""
    return batch(records(values), count=len(values), base_offset=base_offset)


def marker(kind: int, producer_id: int, base_offset: int, epoch: int = 0, coordinator_epoch: int = 0) -> bytes:
    """A transaction marker: 0 is ABORT, 1 is COMMIT (CTL-3, CTL-5)."""
    content = record(struct.pack(">hh", 0, kind), struct.pack(">hi", 0, coordinator_epoch))
    return batch(
        content,
        count=1,
        base_offset=base_offset,
        attributes=TRANSACTIONAL | CONTROL,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


def transactional_batch(values: Sequence[bytes | None], producer_id: int, base_offset: int, sequence: int = 0) -> bytes:
    return batch(
        records(values),
        count=len(values),
        base_offset=base_offset,
        attributes=TRANSACTIONAL,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
    )


def resealed(entry: bytes) -> bytes:
    """The same entry with the length and checksum that its bytes need."""
    body = entry[21:]
    return entry[:8] + struct.pack(">i", len(entry) - 12) + entry[12:17] + struct.pack(">I", crc32c(body)) + body


def encoded(number: int | bytes) -> bytes:
    return number if isinstance(number, bytes) else varint(number)


def nullable(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def varint(number: int) -> bytes:
    """Zigzag, then seven bits a byte, low group first (PRM-1, PRM-2)."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def crc32c(data: bytes) -> int:
    """CRC-32C; of b"123456789" it is e3069283 (PRM-7)."""
    return google_crc32c.value(bytes(data))


#: Producers of `TRANSACTIONS`, by what became of their last transaction.
ABORTED, COMMITTED, OPEN = 7, 8, 9
TRANSACTIONS = b"".join(
    [
        transactional_batch([b"a0"], ABORTED, 0),
        transactional_batch([b"c1"], COMMITTED, 1),
        simple_batch([b"p2"], 2),
        marker(0, ABORTED, 3),
        transactional_batch([b"a4"], ABORTED, 4, sequence=1),
        marker(1, COMMITTED, 5),
        marker(1, ABORTED, 6),
        transactional_batch([b"o7"], OPEN, 7),
        simple_batch([b"p8"], 8),
    ]
)
