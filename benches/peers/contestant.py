"""logsegment as a contestant: each function takes a segment's bytes and gives an Arrow stream of its records.

The columns are what every peer is asked for: key, value, offset, timestamp (ms as stored), and headers where the
corpus has them. CRCs are checked. All else is left to the defaults of `decode`.
"""

import logsegment as ls

COLUMNS = ["key", "value", "offset", "timestampMs"]
WITH_HEADERS = [*COLUMNS, "headers"]


def decode(data):
    """Copy keys and values into 32-bit columns, one thread."""
    return ls.decode(data, columns=COLUMNS)


def decode_headers(data):
    """As `decode`, with the headers column."""
    return ls.decode(data, columns=WITH_HEADERS)


def decode_view(data):
    """Leave keys and values where they are: Arrow views into the input, or into the section that was decompressed."""
    return ls.decode(data, columns=COLUMNS, binary="binary_view")


def decode_view_headers(data):
    """As `decode_view`, with the headers column."""
    return ls.decode(data, columns=WITH_HEADERS, binary="binary_view")


def decode_threads2(data):
    """As `decode`, two worker threads."""
    return ls.decode(data, columns=COLUMNS, threads=2)


def decode_threads2_headers(data):
    """As `decode_threads2`, with the headers column."""
    return ls.decode(data, columns=WITH_HEADERS, threads=2)
