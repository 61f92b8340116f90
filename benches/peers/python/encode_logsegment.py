"""logsegment's encode, from Arrow record batches of about 1 MiB, each a run of whole Kafka batches.

One call a piece, as one that writes a stream does it: the pieces end where batches end, so that every contestant fills
the same batches.
"""
import struct

import logsegment as ls
from encode_harness import run

PIECE_BYTES = 1 << 20
LENGTH_AT, COUNT_AT, LOG_OVERHEAD = 8, 57, 12


def load(data):
    """The largest power of two below which no batch stays is what they were filled up to."""
    found = list(entries(data))
    batch_bytes = 1 << max(size - 1 for size, _ in found).bit_length()
    records = columns(data)
    batches, start, rows, filled = [], 0, 0, 0
    for size, count in found:
        if rows and filled + size > PIECE_BYTES:
            batches.append((records.slice(start, rows), batch_bytes))
            start, rows, filled = start + rows, 0, 0
        rows, filled = rows + count, filled + size
    batches.append((records.slice(start, rows), batch_bytes))
    return records.num_rows, batches


def entries(data):
    """Yield (size, records count) of each v2 batch."""
    position = 0
    while position < len(data):
        size = LOG_OVERHEAD + struct.unpack_from(">i", data, position + LENGTH_AT)[0]
        yield size, struct.unpack_from(">i", data, position + COUNT_AT)[0]
        position += size


def columns(data):
    """One Arrow record batch of all records, with a headers column if any record has one."""
    table = ls.decode(data, columns=["key", "value", "timestampMs", "headers"]).read_all().to_pyarrow().combine_chunks()
    headers = table.column("headers")
    if not sum(len(chunk.flatten()) for chunk in headers.chunks):
        table = table.drop_columns(["headers"])
    return table.to_batches()[0]


def encode(batches, codec, level):
    for records, batch_bytes in batches:
        yield ls.encode(records, compression=codec, level=level, batch_bytes=batch_bytes)


run(load, encode)
