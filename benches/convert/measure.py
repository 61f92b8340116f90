"""Conversion beside what it is made of, and the repair of LZ4 headers; pieces of about 1 MiB, as files are converted.

Prints {"up": {corpus: {"bytes", "records", "decode_encode", "convert"}}, "fix_lz4": {"bytes", "frames", "seconds"}} as one JSON
line, seconds best of the repeats.
"""

import json
import struct
import time

import logsegment as ls
from benches.paths import corpus
from benches.segments import LENGTH_AT, LOG_OVERHEAD

CORPORA = ["v1-small-lz4", "v1-small-snappy"]
HEAD_BYTES = 32 << 20
PIECE_BYTES = 1 << 20
REPEAT = 9
COLUMNS = ["key", "value", "offset", "timestampMs"]


def main():
    print(json.dumps({"up": {name: up(name) for name in CORPORA}, "fix_lz4": fix_lz4("v1-small-lz4")}))


def pieces(data):
    """Runs of whole entries, about 1 MiB each: (bytes, entries). Length fields stand alike in all formats from 0.8 on."""
    found, start, position, entries = [], 0, 0, 0
    while position < len(data):
        position += LOG_OVERHEAD + struct.unpack_from(">i", data, position + LENGTH_AT)[0]
        entries += 1
        if position - start >= PIECE_BYTES or position == len(data):
            found.append((data[start:position], entries))
            start, entries = position, 0
    return found


def head(name):
    """The pieces of the first whole entries of a corpus, about `HEAD_BYTES`."""
    found, size = [], 0
    for piece, entries in pieces(corpus(name).read_bytes()):
        if size >= HEAD_BYTES:
            break
        found.append((piece, entries))
        size += len(piece)
    return found


def up(name):
    """Magic 1 to magic 2 with the codec kept, beside decoding to columns and encoding them with as many records a batch."""
    compression = name.rpartition("-")[2]
    chosen = head(name)
    plain = sum(len(ls.convert(piece, to="v2", compression="none").data) for piece, _ in chosen)
    batch_bytes = plain // sum(entries for _, entries in chosen)
    datas = [piece for piece, _ in chosen]
    by_hand, converted = [], []
    for _ in range(REPEAT):
        by_hand.append(timed(decode_encode, datas, compression, batch_bytes))
        converted.append(timed(convert, datas))
    assert_same(datas[0])
    return {
        "bytes": sum(map(len, datas)),
        "records": sum(ls.decode(data, columns=["offset"]).read_all().to_pyarrow().num_rows for data in datas),
        "decode_encode": min(by_hand),
        "convert": min(converted),
    }


def decode_encode(datas, compression, batch_bytes):
    for data in datas:
        table = ls.decode(data, columns=COLUMNS, batch_size=1 << 20, batch_bytes=1 << 24).read_all()
        ls.encode(table, compression=compression, batch_bytes=batch_bytes)


def convert(datas):
    for data in datas:
        ls.convert(data, to="v2")


def assert_same(data):
    before, after = (ls.decode(each, columns=COLUMNS).read_all().to_pyarrow() for each in (data, ls.convert(data, to="v2").data))
    if not before.equals(after):
        raise AssertionError("convert changed the records")


def fix_lz4(name):
    chosen = head(name)
    datas = [piece for piece, _ in chosen]
    broken = [bytes(ls.break_lz4(data)) for data in datas]
    if [bytes(ls.fix_lz4(data)) for data in broken] != datas:
        raise AssertionError("what was broken and fixed is not what it was")
    seconds = min(timed(fix_all, broken) for _ in range(REPEAT))
    return {"bytes": sum(map(len, datas)), "frames": sum(entries for _, entries in chosen), "seconds": seconds}


def fix_all(datas):
    for data in datas:
        ls.fix_lz4(data)


def timed(work, *arguments):
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
