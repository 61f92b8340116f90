"""Streams and text that end or break in odd places: Kafka's classes read the same records from them, or refuse the same entries."""

from __future__ import annotations

import itertools
import random
import struct
import zlib
from collections.abc import Callable, Iterator

import pytest
import zstandard
from aiokafka.record.util import calc_crc32c

import building
import verdicts
from building import LZ4, NONE, ZSTD
from differences import JAVA
from inputs import Input
from peers import Peer

pytestmark = pytest.mark.interop
SEED = 20_261_123
#: Bytes that zstd-jni reads at a time.
ZSTD_READ = 131_075
SKIPPABLE = b"\x50\x2a\x4d\x18"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", JAVA)
def test_kafka_makes_the_same_of_them(peer: Callable[[str], Peer], name: str) -> None:
    wanted = [*empty_blocks(), *zstd_tails(), *header_names(), *inner_times()]
    mine = [verdicts.ours(item.data) for item in wanted]
    theirs = verdicts.of_java(peer(name), wanted)
    both = zip(wanted, mine, theirs, strict=True)
    different = [(file.name, own, other) for file, own, other in both if verdicts.difference(own, other)]
    assert not different, (len(different), different[:5])
    # Of each kind some are read and some refused, except for names and times, which are always read.
    seen = {(file.name.split()[0], own.is_read) for file, own in zip(wanted, mine, strict=True)}
    assert seen == {("lz4", True), ("lz4", False), ("zstd", True), ("zstd", False), ("names", True), ("times", True)}


def empty_blocks() -> Iterator[Input]:
    """LZ4 frames with blocks that decompress to nothing, near and far from the ends of records, and with bad blocks after them."""
    chance = random.Random(SEED)
    for number in range(1500):
        magic = number % 3
        sizes = chance.choices([1, 20, 1900, 2000, 2030, 2040, 2100, 5000, 9000], k=chance.randrange(1, 5))
        content = [chance.randbytes(size) for size in sizes]
        plain = entries(content, magic)
        edges = list(itertools.accumulate(map(len, split(content, magic)), initial=0))
        near = [edge + chance.choice([-2049, -2048, -2047, -5, -1, 0, 0, 0, 1, 2, 11, 12, 13, 40]) for edge in edges]
        cuts = sorted({0, len(plain), *(min(max(at, 0), len(plain)) for at in chance.sample(near, chance.randrange(1, len(near) + 1)))})
        blocks = [plain[start:stop] for start, stop in itertools.pairwise(cuts)]
        frame = lz4_frame(blocks, chance, ends_well=chance.random() < 0.8)
        yield Input(f"lz4 v{magic} {number}", around(frame, magic, LZ4, len(sizes)))


def lz4_frame(blocks: list[bytes], chance: random.Random, *, ends_well: bool) -> bytes:
    frame = b"\x04\x22\x4d\x18\x60\x40\x82"
    for block in [*blocks, b""]:
        if chance.random() < 0.5 or not block:
            frame += struct.pack("<I", 1) + b"\0"
        if block:
            frame += struct.pack("<I", len(block) | 1 << 31) + block
    return frame + (bytes(4) if ends_well else struct.pack("<I", 3) + b"\xff\xff\xff")


def zstd_tails() -> Iterator[Input]:
    """Frames with a whole one, a cut one, a skippable one, and other bytes after them."""
    chance = random.Random(SEED)
    small = entries([b"first", b"second"], 2)
    more = entries([b"third"], 2)
    packer = zstandard.ZstdCompressor(write_content_size=False)
    summed = zstandard.ZstdCompressor(write_checksum=True)
    skippable = SKIPPABLE + struct.pack("<I", 9) + b"some data"
    tails = {"magic": packer.compress(more), "sum": summed.compress(more), "skippable": skippable, "noise": chance.randbytes(12)}
    for name, tail in tails.items():
        for length in range(len(tail) + 1):
            for count, plain in ((2, small), (3, small + more)):
                for front in (packer.compress(small), skippable + packer.compress(small), packer.compress(plain), b"", skippable):
                    data = around(front + tail[:length], 2, ZSTD, count)
                    yield Input(f"zstd {name} {length} {count} {len(front)}", data)
    # Streams about as long as what is read at a time.
    for number in range(200):
        noise = chance.randbytes(ZSTD_READ * chance.choice([1, 2]) - chance.randrange(10, 80))
        stream = packer.compress(entries([noise], 2)) + tails["skippable"][: chance.randrange(12)]
        yield Input(f"zstd long {number}", around(stream, 2, ZSTD, 1))


def header_names() -> Iterator[Input]:
    """Every sequence of bytes at the borders of what UTF-8 allows, as names of headers."""
    leads = [0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF]
    follows = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xED]
    names = [bytes([lead, *rest]) for length in range(4) for lead in leads for rest in itertools.product(follows, repeat=length)]
    chance = random.Random(SEED)
    names += [bytes(chance.choices([*leads, *follows], k=chance.randrange(1, 30))) for _ in range(5000)]
    for start in range(0, len(names), 500):
        content = building.record(b"k", b"v", [(name, None) for name in names[start : start + 500]])
        yield Input(f"names {start}", around(content, 2, NONE, 1))


def inner_times() -> Iterator[Input]:
    """Inner messages of either magic in wrappers of either magic and timestamp type."""
    for outer, stamped, inners in itertools.product((0, 1), (0, building.LOG_APPEND_TIME), itertools.product((0, 1), repeat=3)):
        inner = b"".join(
            building.message(b"v", magic=magic, offset=at, timestamp=1000 + at, attributes=stamped * magic)
            for at, magic in enumerate(inners)
        )
        packed = zlib.compress(inner, wbits=31)
        entry = building.message(packed, magic=outer, offset=2, attributes=building.GZIP | stamped, timestamp=5000)
        yield Input(f"times {outer} {stamped} {inners}", entry)


def split(content: list[bytes], magic: int) -> list[bytes]:
    if magic == 2:
        return [building.record(None, value, offset_delta=at) for at, value in enumerate(content)]
    return [building.message(value, magic=magic, offset=at, timestamp=at) for at, value in enumerate(content)]


def entries(content: list[bytes], magic: int) -> bytes:
    return b"".join(split(content, magic))


def around(packed: bytes, magic: int, codec: int, count: int) -> bytes:
    """An entry around the compressed records or messages, and one after it."""
    if magic < 2:
        after = building.message(b"after", magic=magic, offset=100)
        return building.message(packed, magic=magic, offset=50, attributes=codec, timestamp=7) + after
    entry = building.batch(packed, count=count, attributes=codec, crc=0)
    crc = calc_crc32c(entry[21:])
    return entry[:17] + struct.pack(">I", crc) + entry[21:] + building.simple_batch([b"after"], 100)
