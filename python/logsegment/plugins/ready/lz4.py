"""LZ4 blocks with a dictionary, by the package lz4."""

from __future__ import annotations

import lz4.block

from logsegment.plugins.entry import Entry
from logsegment.plugins.ready import dictionary_of, ensure_within

#: Bytes of the size before the block.
SIZE = 4


class Lz4Dictionary:
    """One LZ4 block after its size (uint32, little-endian).

    Levels are 1 to 12 of LZ4 HC: a larger level counts as 12, a smaller one as 9, its default. Without a level the fast compressor is used.

    Args:
        dictionary: what the records have in common; the last 64 KiB of it are used.

    Example:
        >>> from logsegment.plugins.ready.lz4 import Lz4Dictionary
        >>> codec = Lz4Dictionary(b'{"customer": 17, "order": ')
        >>> len(codec.compress(b'{"customer": 17, "order": 4711}')) < 20
        True
    """

    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = dictionary

    @classmethod
    def from_entry(cls, entry: Entry) -> Lz4Dictionary:
        """Return the codec with the `dictionary` of an entry."""
        return cls(dictionary_of(entry))

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        mode = {} if level is None else {"mode": "high_compression", "compression": level}
        return bytes(lz4.block.compress(data, dict=self._dictionary, **mode))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        ensure_within(int.from_bytes(data[:SIZE], "little"), max_output)
        return bytes(lz4.block.decompress(data, dict=self._dictionary))
