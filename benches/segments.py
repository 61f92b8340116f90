"""Segments made of the corpora's batches: cut at a batch boundary, or repeated with offsets that go on.

A ruler must not lean on what it measures, so the few header fields needed are read here with struct. The base offset
is outside the checksum of a v2 batch, so it can be moved without touching anything else.
"""

import struct

from benches.paths import corpus

LENGTH_AT, COUNT_AT, LOG_OVERHEAD = 8, 57, 12


def entries(data):
    """Yield (position, size, records count) of each v2 batch of `data`."""
    position = 0
    while position < len(data):
        size = LOG_OVERHEAD + struct.unpack_from(">i", data, position + LENGTH_AT)[0]
        yield position, size, struct.unpack_from(">i", data, position + COUNT_AT)[0]
        position += size


def head(name, limit):
    """The first whole batches of a corpus, about `limit` bytes: (bytes, records, batches)."""
    data = corpus(name).read_bytes()
    end = records = batches = 0
    for position, size, count in entries(data):
        if position + size > limit and batches:
            break
        end, records, batches = position + size, records + count, batches + 1
    return data[:end], records, batches


def moved(data, delta):
    """`data` with `delta` added to every base offset."""
    out = bytearray(data)
    for position, _, _ in entries(data):
        base_offset = struct.unpack_from(">q", out, position)[0]
        struct.pack_into(">q", out, position, base_offset + delta)
    return out


def write_repeated(name, path, size):
    """Write the corpus again and again with rising offsets until `path` holds at least `size` bytes; returns the records."""
    data = corpus(name).read_bytes()
    per_round = sum(count for _, _, count in entries(data))
    rounds = -(-size // len(data))
    if not path.exists() or path.stat().st_size != rounds * len(data):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            for index in range(rounds):
                file.write(moved(data, index * per_round))
    return rounds * per_round


def write_directory(name, directory, segments):
    """Write `segments` segments of one partition, and no more, named by base offset, into `directory`; returns the records."""
    data = corpus(name).read_bytes()
    per_segment = sum(count for _, _, count in entries(data))
    directory.mkdir(parents=True, exist_ok=True)
    for index in range(segments):
        path = directory / f"{index * per_segment:020}.log"
        if not path.exists() or path.stat().st_size != len(data):
            path.write_bytes(moved(data, index * per_segment))
    for path in sorted(directory.glob("*.log"))[segments:]:
        path.unlink()
    return segments * per_segment
