"""xz (LZMA2), by Python's own library: the smallest of all, and the slowest to pack."""

from __future__ import annotations

import lzma

from logsegment.plugins.ready.bounded import unpacked

#: Memory that unpacking may take: the dictionary of the highest preset is 64 MiB.
MOST_MEMORY = 80 << 20


class Xz:
    """One xz stream with a CRC-32. Levels are the presets 0 to 9; 6 by default.

    Example:
        >>> from logsegment.plugins.ready.xz import Xz
        >>> bytes(Xz().decompress(Xz().compress(b"records"), 100))
        b'records'
    """

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Pack."""
        return lzma.compress(data, check=lzma.CHECK_CRC32, preset=level)

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Unpack."""
        return unpacked(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY), data, max_output)
