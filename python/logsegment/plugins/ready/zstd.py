"""zstd with a trained dictionary, by the package zstandard."""

from __future__ import annotations

import zstandard

from logsegment.plugins.entry import Entry
from logsegment.plugins.ready import dictionary_of, ensure_within

#: Kafka's default for zstd.
LEVEL = 3


class ZstdDictionary:
    """One zstd frame with its size. Levels are those of zstd, 3 by default.

    Args:
        dictionary: a trained one, or any bytes that the records have in common.

    Example:
        >>> from logsegment.plugins.ready.zstd import ZstdDictionary
        >>> codec = ZstdDictionary(b'{"customer": 17, "order": ')
        >>> bytes(codec.decompress(codec.compress(b'{"customer": 17, "order": 4711}'), 100))
        b'{"customer": 17, "order": 4711}'

    Source: KIP-110 leaves room for dictionaries.
    """

    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = zstandard.ZstdCompressionDict(dictionary)

    @classmethod
    def from_entry(cls, entry: Entry) -> ZstdDictionary:
        """Return the codec with the `dictionary` of an entry."""
        return cls(dictionary_of(entry))

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        compressor = zstandard.ZstdCompressor(level=LEVEL if level is None else level, dict_data=self._dictionary)
        return compressor.compress(data)

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        size = zstandard.frame_content_size(data)
        if size < 0:
            raise ValueError("the frame does not have its size")
        ensure_within(size, max_output)
        return zstandard.ZstdDecompressor(dict_data=self._dictionary).decompress(data, allow_extra_data=False)
