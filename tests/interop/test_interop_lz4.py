"""The checksum of an LZ4 frame's header, by the classes of every age: who writes which, who reads which (COD-L7, COD-L8)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import logsegment as ls
import rows
from matrix import own_bytes
from peers import Peer, Refused

pytestmark = pytest.mark.interop
FRAME = bytes.fromhex("04224d18")
#: Of the header that Java writes: FLG 60, BD 40.
CORRECT, BROKEN = 0x82, 0x1A
HEADER_CHECKSUM = 6
SCALA_08, JAVA_09 = "0.8.2.2", "0.9.0.1"
LATER = ["0.10.2.2", "0.11.0.3", "2.4.1", "3.9.1"]


def wrapper(peer: Callable[[str], Peer], version: str, magic: int) -> bytes:
    """One LZ4 wrapper of a version."""
    return peer(version).write(rows.batches(f"v{magic}")[:1], magic, "lz4")


def header_checksum(entry: bytes) -> int:
    return entry[entry.index(FRAME) + HEADER_CHECKSUM]


def with_header_checksum(entry: bytes, checksum: int) -> bytes:
    """The same wrapper with another header checksum, and the CRC that belongs to it."""
    changed = bytearray(entry)
    changed[entry.index(FRAME) + HEADER_CHECKSUM] = checksum
    changed[12:16] = struct.pack(">I", zlib.crc32(changed[16:]))
    return bytes(changed)


def read_by(peer: Peer, data: bytes, scratch: Path) -> list[rows.Row]:
    path = scratch / "lz4.bin"
    path.write_bytes(data)
    return peer.read(path)


@pytest.mark.parametrize("version", [SCALA_08, JAVA_09, *LATER])
def test_magic_0_is_written_with_the_broken_checksum_in_every_age(peer: Callable[[str], Peer], version: str) -> None:
    assert header_checksum(wrapper(peer, version, 0)) == BROKEN


@pytest.mark.parametrize("version", LATER)
def test_magic_1_is_written_with_the_correct_checksum(peer: Callable[[str], Peer], version: str) -> None:
    assert header_checksum(wrapper(peer, version, 1)) == CORRECT


@pytest.mark.parametrize("version", [SCALA_08, JAVA_09])
def test_the_first_ages_refuse_the_correct_checksum(peer: Callable[[str], Peer], scratch: Path, version: str) -> None:
    broken = wrapper(peer, SCALA_08, 0)
    assert read_by(peer(version), broken, scratch) == rows.batches("v0")[0]
    with pytest.raises(Refused, match=r"(?i)checksum|descriptor|corrupt"):
        read_by(peer(version), with_header_checksum(broken, CORRECT), scratch)


@pytest.mark.parametrize("version", LATER)
def test_later_ages_read_either_in_magic_0_and_one_in_magic_1(peer: Callable[[str], Peer], scratch: Path, version: str) -> None:
    broken = wrapper(peer, SCALA_08, 0)
    for data in (broken, with_header_checksum(broken, CORRECT)):
        assert read_by(peer(version), data, scratch) == rows.batches("v0")[0]
    correct = wrapper(peer, version, 1)
    assert read_by(peer(version), correct, scratch) == rows.batches("v1")[0]
    with pytest.raises(Refused, match=r"(?i)descriptor|corrupt"):
        read_by(peer(version), with_header_checksum(correct, BROKEN), scratch)


def test_ours_are_the_bytes_that_the_first_ages_read(peer: Callable[[str], Peer], scratch: Path) -> None:
    """Repairing and breaking by our functions is what decides for the classes of 0.8 and 0.9."""
    broken = wrapper(peer, SCALA_08, 0)
    fixed = ls.fix_lz4(broken)
    assert fixed == with_header_checksum(broken, CORRECT)
    assert ls.break_lz4(fixed) == broken
    for version in (SCALA_08, JAVA_09):
        with pytest.raises(Refused):
            read_by(peer(version), fixed, scratch)
        assert read_by(peer(version), ls.break_lz4(fixed), scratch) == rows.batches("v0")[0]


def test_we_write_what_the_first_ages_read(peer: Callable[[str], Peer], scratch: Path) -> None:
    """The broken checksum in magic 0 is what they accept, the correct one is what they refuse, in what we wrote too."""
    records = rows.batches("v0")[0]
    written = own_bytes(records, "v0", "lz4")
    assert header_checksum(written) == BROKEN
    for version in (SCALA_08, JAVA_09):
        assert read_by(peer(version), written, scratch) == records
        with pytest.raises(Refused):
            read_by(peer(version), with_header_checksum(written, CORRECT), scratch)
    assert header_checksum(own_bytes(rows.batches("v1")[0], "v1", "lz4")) == CORRECT


@pytest.mark.parametrize("value_bytes", [1 << 16, 1 << 18, 1 << 20])
def test_every_age_reads_records_of_several_blocks(peer: Callable[[str], Peer], scratch: Path, value_bytes: int) -> None:
    """COD-L3: we write blocks of 64 KiB, as Kafka's clients do."""
    value = b"".join(b"line %d; " % (index * 7919) for index in range(value_bytes // 8))[:value_bytes]
    for kind, versions in (("v0", [SCALA_08, JAVA_09, *LATER]), ("v1", LATER)):
        records = [rows.held(rows.Row(0, 1_700_000_000_000, rows.CREATE_TIME, b"key", value), kind)]
        written = own_bytes(records, kind, "lz4")
        at = written.index(FRAME)
        assert written[at + 4 : at + 6].hex() == "6040"
        for version in versions:
            assert read_by(peer(version), written, scratch) == records
