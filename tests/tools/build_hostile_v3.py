"""Write tests/hostile/v3: batches of the proposed magic 3, damaged in one named way each behind a right checksum, and what we make of them.

No Kafka reads magic 3: the outcomes are ours alone, written down for review. Each stands between two sound batches: what follows must
still be read.

    python tests/tools/build_hostile_v3.py
"""

from __future__ import annotations

import gzip
import json
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import hostile
from building import crc32c, nullable, varint

HERE = hostile.HOSTILE / "v3"
NOW = 1_600_000_000_000
GZIP, NO_ATTRIBUTES, METADATA_FIRST = 1, 0x80, 0x1000
BARE = NO_ATTRIBUTES
FIRST = NO_ATTRIBUTES | METADATA_FIRST
#: Ten bytes of which each says that more follow.
ENDLESS = b"\xff" * 10


def uvarint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def batch(
    records: bytes,
    *,
    base_offset: int = 10,
    attributes: int = BARE,
    count: int = 2,
    last_offset_delta: bytes = uvarint(1),
    base_timestamp: bytes = varint(NOW),
    max_timestamp_delta: bytes = uvarint(1),
    size: int | None = None,
    crc: int | None = None,
) -> bytes:
    """A batch of magic 3 around these bytes (S-V1)."""
    variable = last_offset_delta + base_timestamp + max_timestamp_delta
    body = struct.pack(">hqhi", (attributes ^ 0x8000) - 0x8000, -1, -1, -1) + variable + struct.pack(">i", count) + records
    head = struct.pack(">qiibI", base_offset, len(body) + 9 if size is None else size, 0, 3, crc32c(body) if crc is None else crc)
    return head + body


def metadata(delta: int, *, key: int = 1, value: int = 2, headers: int = 0, length: int | None = None) -> bytes:
    """What a record says in front of all payloads (S-H1); `length` counts the payload too."""
    rest = varint(delta) + varint(delta) + varint(key) + varint(value) + varint(headers)
    return varint(len(rest) + max(key, 0) + max(value, 0) if length is None else length) + rest


def record(delta: int, key: bytes | None = b"k", value: bytes | None = b"vv") -> bytes:
    """A record without attributes (S-V2)."""
    rest = varint(delta) + varint(delta) + nullable(key) + nullable(value) + varint(0)
    return varint(len(rest)) + rest


PAIR = record(0) + record(1)
HEADS = metadata(0) + metadata(1)
PAYLOADS = b"kvvkvv"

#: Name -> the damaged batch.
CASES = {
    "last-offset-delta-never-ends": batch(PAIR, last_offset_delta=ENDLESS),
    "last-offset-delta-negative": batch(PAIR, last_offset_delta=uvarint(0xFFFFFFFF)),
    "last-offset-delta-overlong": batch(PAIR, last_offset_delta=b"\x81\x80\x80\x00"),
    "base-timestamp-never-ends": batch(PAIR, base_timestamp=b"\xff" * 11),
    "max-timestamp-delta-never-ends": batch(PAIR, max_timestamp_delta=b"\xff" * 11),
    "max-timestamp-delta-wraps": batch(PAIR, max_timestamp_delta=uvarint(2**64 - 1)),
    "header-fills-the-batch": batch(b"", last_offset_delta=ENDLESS, base_timestamp=b"", max_timestamp_delta=b""),
    "size-ends-inside-of-the-header": batch(PAIR, size=30),
    "count-negative": batch(PAIR, count=-1),
    "count-larger-than-the-bytes-allow": batch(PAIR, count=1_000_000, last_offset_delta=uvarint(999_999)),
    "count-smaller-than-the-records": batch(PAIR, count=1),
    "count-zero-with-bytes": batch(PAIR, count=0),
    "attributes-promised-and-missing": batch(PAIR, attributes=0),
    "attributes-denied-and-there": batch(b"".join(varint(7 + 2) + b"\0" + record(d)[1:] for d in (0, 1))),
    "unused-attribute-bits": batch(PAIR, attributes=BARE | 0x6000),
    "codec-7": batch(PAIR, attributes=BARE | 7),
    "plugin-id-without-a-plugin": batch(PAIR, attributes=BARE | 0x0300),
    "wrong-checksum": batch(PAIR, crc=0xDEADBEEF),
    "metadata-cut": batch(HEADS[:-3], attributes=FIRST),
    "metadata-without-payloads": batch(HEADS, attributes=FIRST),
    "payloads-one-byte-short": batch(HEADS + PAYLOADS[:-1], attributes=FIRST),
    "payloads-one-byte-long": batch(HEADS + PAYLOADS + b"x", attributes=FIRST),
    "metadata-length-below-its-own-fields": batch(metadata(0, length=2) + metadata(1) + PAYLOADS, attributes=FIRST),
    "metadata-length-negative": batch(metadata(0, length=-5) + metadata(1) + PAYLOADS, attributes=FIRST),
    "metadata-value-of-two-gigabytes": batch(metadata(0, value=2**31 - 1, length=2**31 - 1) + metadata(1) + PAYLOADS, attributes=FIRST),
    "metadata-headers-in-no-bytes": batch(metadata(0, headers=5) + metadata(1) + PAYLOADS, attributes=FIRST),
    "metadata-headers-negative": batch(metadata(0, headers=-1) + metadata(1) + PAYLOADS, attributes=FIRST),
    "metadata-first-of-plain-records": batch(PAIR, attributes=FIRST),
    "plain-of-metadata-first-records": batch(HEADS + PAYLOADS),
    "gzip-metadata-first-cut": batch(gzip.compress(HEADS + PAYLOADS, mtime=0)[:-12], attributes=FIRST | GZIP),
    "gzip-metadata-first-damaged-behind-the-metadata": batch(gzip.compress(HEADS, mtime=0), attributes=FIRST | GZIP),
    "gzip-bomb-behind-the-metadata": batch(
        gzip.compress(metadata(0, value=4_000_000) + metadata(1, value=4_000_000) + bytes(8_000_002), mtime=0), attributes=FIRST | GZIP
    ),
}


def whole(damaged: bytes) -> bytes:
    """The damaged batch between two sound ones."""
    return batch(PAIR, base_offset=0) + damaged + batch(PAIR, base_offset=20)


def main() -> None:
    HERE.mkdir(exist_ok=True)
    outcomes = {}
    for name, damaged in CASES.items():
        data = whole(damaged)
        (HERE / f"{name}.log").write_bytes(data)
        outcomes[name] = hostile.observe(data, format="v3")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(outcomes.items()))
    (HERE / "outcomes.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
