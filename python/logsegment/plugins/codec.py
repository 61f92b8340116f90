"""What a plugin is: an object that packs and unpacks the records of one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import Buffer


@runtime_checkable
class Codec(Protocol):
    """The records of a batch to packed bytes and back. Both methods are called once per batch.

    What `decompress` gives must be the bytes that `compress` was given: no framing is added to either (S-P6). The same object may be
    called from several threads, one after the other. Whatever it raises ends that batch with a `CodecError`, which names the plugin; the
    next batch is still read. There is no time limit.

    A class may have a class method `from_entry(entry)`, which is called with its `Entry`, to be set up by the fields that stand there
    beside the usual ones. Without it, the class is called without arguments.

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
        """Pack the plain records of a batch.

        Args:
            data: the plain bytes, read-only, not a copy. It may be kept: it keeps what it shows in memory.
            level: what the caller gave, which means what the plugin says; None for its default.

        Returns:
            Any buffer (bytes, bytearray, memoryview, numpy array).
        """
        ...

    def decompress(self, data: memoryview, max_output: int) -> Buffer:
        """Unpack the records of a batch.

        Args:
            data: the packed bytes as they stand in the batch, read-only, not a copy. It may be kept, as above.
            max_output: the most bytes that are taken, by the limits of the caller; who unpacks more fails the batch.

        Returns:
            Any buffer. A read-only one (bytes) is taken without a copy and must not change as long as it is held; others are copied.
        """
        ...
