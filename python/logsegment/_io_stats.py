"""Counters of what a call did."""


class IoStats(dict[str, int]):
    """Counters by name; each is an attribute too.

    bytes_read: bytes taken from the source.
    entries_read: entries whose header was parsed.
    entries_skipped: entries that were not opened, since nothing of them was wanted.
    entries_decompressed: entries that were decompressed.
    bytes_inflated: bytes that decompression gave.
    bytes_checksummed: bytes of entries that were compared with their checksums; a search behind damage compares more.
    records: records given.
    bytes_copied: bytes of keys, values and headers that were copied into columns.
    range_requests: ranges that a store (S3, GCS, Azure, HDFS) was asked for.
    bytes_fetched: bytes that it gave.
    """

    def __getattr__(self, name: str) -> int:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
