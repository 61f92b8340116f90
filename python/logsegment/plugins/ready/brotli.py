"""Brotli (RFC 7932), by Google's library."""

from __future__ import annotations

import brotli

from logsegment.plugins.ready import ensure_within


class Brotli:
    """One brotli stream. Levels are its qualities 0 to 11; 5 by default.

    Example:
        >>> from logsegment.plugins.ready.brotli import Brotli
        >>> bytes(Brotli().decompress(Brotli().compress(b"records"), 100))
        b'records'
    """

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        return bytes(brotli.compress(data, quality=5 if level is None else level))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        decompressor = brotli.Decompressor()
        parts = [decompressor.process(data, output_buffer_limit=max_output + 1)]
        while not decompressor.is_finished():
            ensure_within(sum(map(len, parts)), max_output)
            if decompressor.can_accept_more_data():
                raise ValueError("the stream is cut short")
            parts.append(decompressor.process(b"", output_buffer_limit=max_output + 1))
        output = b"".join(parts)
        ensure_within(len(output), max_output)
        return output
