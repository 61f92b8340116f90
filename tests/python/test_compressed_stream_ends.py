"""Where a compressed stream ends: where Kafka's reader ends it, whatever bytes follow (COD-L17, COD-Z3).

`tests/interop/test_interop_streams.py` asks Kafka's own classes about thousands of such streams.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from typing import Any

import pytest
import zstandard

import building
import logsegment as ls
from building import LZ4, ZSTD

SKIPPABLE = b"\x50\x2a\x4d\x18" + struct.pack("<I", 9) + b"some data"
EMPTY = struct.pack("<I", 1) + b"\0"
END = bytes(4)


def frame(*blocks: bytes, end: bytes = END, magic: int = 2) -> bytes:
    """An LZ4 frame of blocks that are stored as they are, and of `EMPTY` ones, with the header checksum of its magic."""
    stored = (block if block == EMPTY else struct.pack("<I", len(block) | 1 << 31) + block for block in blocks)
    return b"\x04\x22\x4d\x18\x60\x40" + (b"\x82" if magic else b"\x1a") + b"".join(stored) + end


def values(data: bytes, **options: Any) -> list[bytes]:
    return ls.decode(data, columns=["value"], **options).to_pyarrow()["value"].to_pylist()


def told(data: bytes) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in ls.validate(data).findings]


def messages(content: list[bytes], magic: int, first: int = 0) -> bytes:
    return b"".join(building.message(value, magic=magic, offset=at) for at, value in enumerate(content, first))


@pytest.mark.parametrize("magic", [0, 1])
def test_cod_l17_a_message_set_ends_at_an_empty_block(magic: int):
    some = [b"%d" % number for number in range(8)]
    first, last = messages(some[:6], magic), messages(some[6:], magic, 6)
    for after in (frame(first, EMPTY, last, magic=magic), frame(first, EMPTY, end=b"", magic=magic)):
        data = building.message(after, magic=magic, offset=5, attributes=LZ4)
        assert values(data) == some[:6]
        assert told(data) == [("COD-L17", "warning")]
        assert ls.batches(data, resolve=True).to_pyarrow()["count"].to_pylist() == [6]
        assert values(ls.convert(data, to="v2").data or b"") == some[:6]
    inside = frame(messages(some, magic)[:-3], EMPTY, messages(some, magic)[-3:], magic=magic)
    data = building.message(inside, magic=magic, offset=6, attributes=LZ4)
    assert values(data) == some[:7]
    assert told(data) == [("COD-L17", "warning"), ("FND-10", "warning")]
    nothing = building.message(frame(EMPTY, messages(some, magic), magic=magic), magic=magic, offset=7, attributes=LZ4)
    with pytest.raises(ls.InvalidError, match="L8-22"):
        values(nothing)


def test_cod_l17_records_after_an_empty_block_are_missing():
    some = [b"one", b"two", b"three"]
    content = [building.record(None, value, offset_delta=at) for at, value in enumerate(some)]
    good = building.simple_batch([b"good"], 10)
    data = building.batch(frame(content[0], EMPTY, content[1], content[2]), count=3, attributes=LZ4) + good
    with pytest.raises(ls.CorruptError, match="V2-37"):
        values(data)
    assert values(data, on_error="skip") == [b"good"]
    assert [finding.rule for finding in ls.validate(data).findings if finding.severity == "error"] == ["V2-37"]
    # After the last record nothing is missing, whatever follows.
    for end in (END, b"", b"\3\0\0\0bad"):
        data = building.batch(frame(*content, EMPTY, end=end), count=3, attributes=LZ4)
        assert values(data) == some
        assert told(data) == [("COD-L17", "warning")]


def test_cod_l17_a_long_record_is_read_on():
    """Kafka passes an empty block where 2,048 or more bytes of a record are still to come."""
    long = building.record(None, bytes(5000))
    for missing, is_read in ((2048, True), (2047, False)):
        data = building.batch(frame(long[:-missing], EMPTY, long[-missing:]), count=1, attributes=LZ4)
        if is_read:
            assert values(data) == [bytes(5000)]
            assert told(data) == []
        else:
            with pytest.raises(ls.CorruptError, match="V2-36"):
                values(data)


def test_cod_l17_inspect_and_the_command_line_show_what_is_read():
    some = [b"first", b"second"]
    data = building.message(frame(messages(some[:1], 1), EMPTY, messages(some[1:], 1, 1)), magic=1, attributes=LZ4)
    shown = str(ls.inspect(data))
    assert b"first".hex() in shown or "first" in shown
    assert "record[1]" not in shown
    command = [sys.executable, "-m", "logsegment", "cat", "-"]
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    assert done.stdout.count(b"\n") == 1


def zstd_batch(stream: bytes, content: bytes, count: int) -> bytes:
    return building.batch(zstandard.ZstdCompressor().compress(content) + stream, count=count, attributes=ZSTD)


def test_cod_z3_a_last_frame_that_is_cut_is_ignored():
    content = building.records([b"one", b"two"])
    whole = zstandard.ZstdCompressor(write_content_size=False).compress(b"more")
    for tail in (SKIPPABLE, whole):
        for length in range(1, len(tail) - 4):
            data = zstd_batch(tail[:length], content, 2)
            assert values(data) == [b"one", b"two"], length
            assert told(data) == [("FND-8", "warning")], length
            assert ls.convert(data, compression="none").data == building.batch(content, count=2)
    assert told(zstd_batch(SKIPPABLE, content, 2)) == []


def test_cod_z3_what_a_cut_frame_holds_counts():
    """Kafka reads the blocks that are there: only the checksum of the second frame is cut."""
    first, second = building.record(None, b"one"), building.record(None, b"two", offset_delta=1)
    cut = zstandard.ZstdCompressor(write_checksum=True).compress(second)[:-1]
    data = zstd_batch(cut, first, 2)
    assert values(data) == [b"one", b"two"]
    assert told(data) == [("FND-8", "warning")]
    with pytest.raises(ls.CorruptError, match="V2-43"):
        values(zstd_batch(cut, first, 1))


@pytest.mark.parametrize("tail", [b"\0", b"\x28\xb5\x2e", b"\x60\x2a\x4d\x18", b"garbage!"])
def test_cod_z3_other_bytes_after_a_frame_are_an_error(tail: bytes):
    with pytest.raises(ls.CodecError, match="COD-Z3"):
        values(zstd_batch(tail, building.records([b"one"]), 1))


def test_cod_z6_a_first_frame_that_is_cut_is_an_error():
    packed = zstandard.ZstdCompressor().compress(building.records([b"one"]))
    for length in range(4, len(packed)):
        with pytest.raises(ls.CodecError, match="COD-Z6"):
            values(building.batch(packed[:length], count=1, attributes=ZSTD))
