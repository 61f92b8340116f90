"""xz (LZMA2), by the standard library: the smallest output, and the slowest to compress."""

from __future__ import annotations

import lzma

from logsegment.plugins.ready import decompressed

#: Memory limit of the decompressor: the dictionary of the highest preset is 64 MiB.
MOST_MEMORY = 80 << 20


class Xz:
    """One xz stream with a CRC-32. Levels are the presets 0 to 9; 6 by default.

    Example:
        >>> from logsegment.plugins.ready.xz import Xz
        >>> bytes(Xz().decompress(Xz().compress(b"records"), 100))
        b'records'
    """

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        return lzma.compress(data, check=lzma.CHECK_CRC32, preset=level)

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        return decompressed(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY), data, max_output)
