"""bzip2, by the standard library: strong on text, and slow."""

from __future__ import annotations

import bz2

from logsegment.plugins.ready import decompressed


class Bzip2:
    """One bzip2 stream. Levels are 1 to 9, the size of its blocks in 100,000 bytes; 9 by default.

    Example:
        >>> from logsegment.plugins.ready.bzip2 import Bzip2
        >>> bytes(Bzip2().decompress(Bzip2().compress(b"records"), 100))
        b'records'
    """

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        return bz2.compress(data, 9 if level is None else level)

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        return decompressed(bz2.BZ2Decompressor(), data, max_output)
