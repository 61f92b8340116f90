"""Message sets of Kafka 0.7 that we write, beside what a real 0.7.2 broker stored: no registry has classes of 0.7 to ask."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable

import cramjam
import pyarrow as pa
import pytest

import corpus
import logsegment as ls

pytestmark = pytest.mark.interop
#: Length of what follows, magic, attributes, checksum of the payload (L7-1).
MESSAGE = struct.Struct(">ibBI")
XERIAL_HEADER, XERIAL_BLOCK = 16, struct.Struct(">i")


def stored(topic: str) -> corpus.Case:
    """What the 0.7.2 broker stored."""
    (case,) = [case for case in corpus.cases() if case.file.startswith(f"legacy-0.7.2/data/{topic}-0/")]
    return case


def table(plain: bytes, count: int) -> pa.Table:
    """The values of a set without compression."""
    values = [payload for _, payload in payloads(plain)]
    assert len(values) == count > 0
    return pa.table({"value": pa.array(values, pa.binary())})


def payloads(entries: bytes) -> list[tuple[int, bytes]]:
    """Codec and payload of each message of a set, checksums verified."""
    found = []
    while entries:
        length, magic, attributes, checksum = MESSAGE.unpack_from(entries)
        payload, entries = entries[MESSAGE.size : 4 + length], entries[4 + length :]
        assert (magic, checksum) == (1, zlib.crc32(payload))
        found.append((attributes, payload))
    return found


def xerial(payload: bytes) -> bytes:
    """A xerial stream unpacked by another library's block decoder."""
    assert payload.startswith(b"\x82SNAPPY\x00")
    plain, at = b"", XERIAL_HEADER
    while at < len(payload):
        (size,) = XERIAL_BLOCK.unpack_from(payload, at)
        plain += bytes(cramjam.snappy.decompress_raw(payload[at + 4 : at + 4 + size]))
        at += 4 + size
    return plain


def test_without_compression_the_bytes_are_those_of_the_broker() -> None:
    case = stored("codec-none")
    assert ls.encode(table(case.read(), case.records), format="0.7") == case.read()


@pytest.mark.parametrize(("codec", "number", "unpacked"), [("gzip", 1, gzip.decompress), ("snappy", 2, xerial)])
def test_a_wrapper_holds_the_very_set_that_the_broker_stored(codec: str, number: int, unpacked: Callable[[bytes], bytes]) -> None:
    case = stored(f"codec-{codec}")
    plain = b"".join(unpacked(payload) if attributes else message(payload) for attributes, payload in payloads(case.read()))
    ours = payloads(ls.encode(table(plain, case.records), format="0.7", compression=codec))
    assert {attributes for attributes, _ in ours} == {number}
    assert b"".join(unpacked(payload) for _, payload in ours) == plain


def message(payload: bytes) -> bytes:
    return MESSAGE.pack(6 + len(payload), 1, 0, zlib.crc32(payload)) + payload
