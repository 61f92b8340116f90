"""logsegment's encode: one call, from an Arrow record batch of all records into a file object.

The file object sees one buffer that is used again and again, as the peers use theirs.
"""
import struct

import logsegment as ls
from encode_harness import run

LENGTH_AT, LOG_OVERHEAD = 8, 12


def load(data):
    """The records, and up to how many bytes their batches were filled: the power of two that none is above."""
    batch_bytes = 1 << max(size - 1 for size in sizes(data)).bit_length()
    table = ls.decode(data, columns=["key", "value", "timestampMs", "headers"]).read_all().to_pyarrow().combine_chunks()
    headers = table.column("headers")
    if not sum(len(chunk.flatten()) for chunk in headers.chunks):
        table = table.drop_columns(["headers"])
    (records,) = table.to_batches()
    return records.num_rows, (records, batch_bytes)


def sizes(data):
    """Yield the size of each batch."""
    position = 0
    while position < len(data):
        size = LOG_OVERHEAD + struct.unpack_from(">i", data, position + LENGTH_AT)[0]
        yield size
        position += size


def encode(work, codec, level, out):
    records, batch_bytes = work
    ls.encode(records, compression=codec, level=level, batch_bytes=batch_bytes, out=out, overwrite=True)


run(load, encode)
