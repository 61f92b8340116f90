"""LZ4 frames with either header checksum, and messages that hold them."""

from __future__ import annotations

import struct
import zlib

#: COD-L7: descriptor -> correct and broken checksum.
KNOWN = {
    "6040": (0x82, 0x1A),
    "6050": (0xFB, 0x77),
    "6060": (0x51, 0xD6),
    "6070": (0x73, 0x10),
    "6440": (0xA7, 0x0C),
    "6460": (0x85, 0x12),
    "6470": (0xB9, 0x56),
    "7040": (0xAD, 0xEC),
    "7440": (0xBD, 0xF6),
    "6840" + "0b00000000000000": (0x58, 0x69),
}
MAGIC = bytes.fromhex("04224d18")


def message(magic: int, value: bytes | None, *, codec: int = 3, offset: int = 7, key: bytes | None = None) -> bytes:
    """A message of a message set, as layout.rs draws it."""

    def field(part: bytes | None) -> bytes:
        return struct.pack(">i", -1 if part is None else len(part)) + (part or b"")

    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", 1_600_000_000_000) if magic else b"") + field(key) + field(value)
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def frame(descriptor: str, rest: bytes, checksum: int | None = None) -> bytes:
    correct, _ = KNOWN[descriptor]
    return MAGIC + bytes.fromhex(descriptor) + bytes([correct if checksum is None else checksum]) + rest


PLAIN = b"\x01\0\0\x80a" + bytes(4)
