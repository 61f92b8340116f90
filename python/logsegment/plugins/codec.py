"""The protocol of a plugin codec, which compresses and decompresses the records of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import Buffer


@runtime_checkable
class Codec(Protocol):
    """Compresses and decompresses the records of a batch. Each method is called once per batch.

    `decompress` must return the bytes that `compress` was given: no framing is added to either (S-P6). The same object may be called from
    several threads, one after the other. An exception ends the batch with a `CodecError`, which names the plugin; the next batch is still
    read. There is no time limit.

    A class may have a class method `from_entry(entry)`, which is called with its `Entry` and may use its extra fields. Without it, the
    class is called without arguments.

    Example:
        >>> import zlib
        >>> class Deflate:
        ...     def compress(self, data, level=None):
        ...         return zlib.compress(data, -1 if level is None else level)
        ...     def decompress(self, data, max_output):
        ...         return zlib.decompressobj().decompress(data, max_output + 1)
        >>> from logsegment.plugins import Codec
        >>> isinstance(Deflate(), Codec)
        True

    Source: KIP-984, "Selection of the plugins".
    """

    def compress(self, data: memoryview, level: int | None = None) -> Buffer:
        """Compress the records of a batch.

        Args:
            data: the bytes, read-only, not a copy. They stay in memory as long as the plugin keeps `data`.
            level: the level of the caller, whose meaning the plugin defines; None for its default.

        Returns:
            Any buffer (bytes, bytearray, memoryview, numpy array).
        """
        ...

    def decompress(self, data: memoryview, max_output: int) -> Buffer:
        """Decompress the records of a batch.

        Args:
            data: the compressed bytes in the batch, read-only, not a copy.
            max_output: most bytes that the limits of the caller allow; more bytes end the batch with an error.

        Returns:
            Any buffer. A read-only buffer (bytes) is not copied and must not change; others are copied.
        """
        ...
