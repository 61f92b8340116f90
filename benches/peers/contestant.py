"""logsegment as a contestant: each function takes a segment's bytes and gives an Arrow stream of its records.

The columns are what every peer is asked for: key, value, offset, timestamp (ms as stored), and headers where the
corpus has them. CRCs are checked. `BATCH_BYTES` was chosen by measuring, see benches/peers/README.md.
"""
import os

import logsegment as ls

COLUMNS = ["key", "value", "offset", "timestampMs"]
WITH_HEADERS = [*COLUMNS, "headers"]
BATCH_BYTES = int(os.environ.get("PEERS_BATCH_BYTES", 2 << 20))
# Views into the input copy nothing, so that a chunk need not stay in the cache: fewer, larger ones. Views into unpacked
# sections hold what was unpacked: small chunks give it back while it is still in the cache.
VIEW_BYTES = int(os.environ.get("PEERS_VIEW_BYTES", 16 << 20))
UNPACKED_VIEW_BYTES = int(os.environ.get("PEERS_VIEW_BYTES", 1 << 20))


def _decode(data, columns, batch_bytes=BATCH_BYTES, **options):
    # Rows never close a batch here: the bytes do, as in the floor's chunks.
    return ls.decode(data, columns=columns, batch_size=1 << 20, batch_bytes=batch_bytes, **options)


def decode(data):
    """Copy keys and values into 32-bit columns, one thread."""
    return _decode(data, COLUMNS)


def decode_headers(data):
    """As `decode`, with the headers column."""
    return _decode(data, WITH_HEADERS)


def decode_view(data):
    """Leave keys and values where they are: Arrow views into the input, or into the section that was unpacked."""
    return _decode_view(data, COLUMNS)


def decode_view_headers(data):
    """As `decode_view`, with the headers column."""
    return _decode_view(data, WITH_HEADERS)


def _decode_view(data, columns):
    with ls.batch_stream(data, batch_size=1) as batches:
        compression = next(iter(batches)).to_pyarrow()["compression"][0].as_py()
    batch_bytes = VIEW_BYTES if compression == "none" else UNPACKED_VIEW_BYTES
    return _decode(data, columns, binary="binary_view", batch_bytes=batch_bytes)


def decode_threads2(data):
    """As `decode`, two worker threads."""
    return _decode(data, COLUMNS, threads=2)


def decode_threads2_headers(data):
    """As `decode_threads2`, with the headers column."""
    return _decode(data, WITH_HEADERS, threads=2)
