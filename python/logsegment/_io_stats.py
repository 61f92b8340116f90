"""Counters of a call."""


class IoStats(dict[str, int]):
    """Counters by name; each is an attribute too.

    bytes_read: bytes taken from the source.
    entries_read: entries whose header was parsed.
    entries_skipped: entries that were not opened, since the call needed nothing from them.
    entries_decompressed: entries that were decompressed.
    bytes_inflated: decompressed bytes.
    bytes_checksummed: bytes of entries with a verified checksum; a search after damage verifies more.
    records: records returned.
    bytes_copied: bytes of keys, values and headers that were copied into columns.
    avro_values, json_values, protobuf_values: keys and values that were decoded by schemas of these formats.
    raw_values: keys and values that name no schema and are not JSON, with `values="auto"`.
    range_requests: ranges requested from a store (S3, GCS, Azure, HDFS).
    bytes_fetched: bytes that the store returned.
    """

    def __getattr__(self, name: str) -> int:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
