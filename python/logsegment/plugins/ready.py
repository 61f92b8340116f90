"""Codecs that are ready to be registered: each needs the library that it is named after, and nothing else.

| class name for the registry | needs | settings in the entry |
| --- | --- | --- |
| `logsegment.plugins.ready:Bzip2` | nothing | |
| `logsegment.plugins.ready:Xz` | nothing | |
| `logsegment.plugins.ready:Brotli` | brotli | |
| `logsegment.plugins.ready:Lz4Dictionary` | lz4 | `dictionary` |
| `logsegment.plugins.ready:ZstdDictionary` | zstandard | `dictionary` |

`pip install "logsegment[codecs]"` installs all of these libraries. A `dictionary` is bytes in base64 that the records have in common.
Batches do not name it (COD-Z5), so it is in the registry and must never change under its id.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

from logsegment._text import count
from logsegment.plugins.entry import Entry

if TYPE_CHECKING:
    from bz2 import BZ2Decompressor
    from lzma import LZMADecompressor

#: The class names of the table. A registry may name these classes without permission, and nothing else in this module.
READY = frozenset(f"{__name__}:{name}" for name in ("Bzip2", "Xz", "Brotli", "Lz4Dictionary", "ZstdDictionary"))

#: Memory limit of the decompressor of xz: the dictionary of the highest preset is 64 MiB.
XZ_MEMORY = 80 << 20
#: Bytes of the size before an LZ4 block.
LZ4_SIZE = 4
#: Kafka's default for zstd.
ZSTD_LEVEL = 3


class Bzip2:
    """One bzip2 stream. Levels are 1 to 9, the size of its blocks in 100,000 bytes; 9 by default.

    Example:
        >>> from logsegment.plugins.ready import Bzip2
        >>> bytes(Bzip2().decompress(Bzip2().compress(b"records"), 100))
        b'records'
    """

    def __init__(self) -> None:
        import bz2

        self._library: Any = bz2

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        return bytes(self._library.compress(data, 9 if level is None else level))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        return decompressed(self._library.BZ2Decompressor(), data, max_output)


class Xz:
    """One xz stream with a CRC-32. Levels are the presets 0 to 9; 6 by default.

    Example:
        >>> from logsegment.plugins.ready import Xz
        >>> bytes(Xz().decompress(Xz().compress(b"records"), 100))
        b'records'
    """

    def __init__(self) -> None:
        import lzma

        self._library: Any = lzma

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        return bytes(self._library.compress(data, check=self._library.CHECK_CRC32, preset=level))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        decompressor = self._library.LZMADecompressor(self._library.FORMAT_XZ, memlimit=XZ_MEMORY)
        return decompressed(decompressor, data, max_output)


class Brotli:
    """One brotli stream. Levels are its qualities 0 to 11; 5 by default.

    Example:
        >>> from logsegment.plugins.ready import Brotli
        >>> bytes(Brotli().decompress(Brotli().compress(b"records"), 100))
        b'records'
    """

    def __init__(self) -> None:
        import brotli

        self._library: Any = brotli

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        return bytes(self._library.compress(data, quality=5 if level is None else level))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        decompressor = self._library.Decompressor()
        parts = [decompressor.process(data, output_buffer_limit=max_output + 1)]
        while not decompressor.is_finished():
            ensure_within(sum(map(len, parts)), max_output)
            if decompressor.can_accept_more_data():
                raise ValueError("the stream is cut short")
            parts.append(decompressor.process(b"", output_buffer_limit=max_output + 1))
        output = b"".join(parts)
        ensure_within(len(output), max_output)
        return output


class Lz4Dictionary:
    """One LZ4 block after its size (uint32, little-endian).

    Levels are 1 to 12 of LZ4 HC: a larger level counts as 12, a smaller one as 9, its default. Without a level the fast compressor is used.

    Args:
        dictionary: what the records have in common; the last 64 KiB of it are used.

    Example:
        >>> from logsegment.plugins.ready import Lz4Dictionary
        >>> codec = Lz4Dictionary(b'{"customer": 17, "order": ')
        >>> len(codec.compress(b'{"customer": 17, "order": 4711}')) < 20
        True
    """

    def __init__(self, dictionary: bytes) -> None:
        import lz4.block

        self._library: Any = lz4.block
        self._dictionary = dictionary

    @classmethod
    def from_entry(cls, entry: Entry) -> Lz4Dictionary:
        """Return the codec with the `dictionary` of an entry."""
        return cls(dictionary_of(entry))

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        mode = {} if level is None else {"mode": "high_compression", "compression": level}
        return bytes(self._library.compress(data, dict=self._dictionary, **mode))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        ensure_within(int.from_bytes(data[:LZ4_SIZE], "little"), max_output)
        return bytes(self._library.decompress(data, dict=self._dictionary))


class ZstdDictionary:
    """One zstd frame with its size. Levels are those of zstd, 3 by default.

    Args:
        dictionary: a trained one, or any bytes that the records have in common.

    Example:
        >>> from logsegment.plugins.ready import ZstdDictionary
        >>> codec = ZstdDictionary(b'{"customer": 17, "order": ')
        >>> bytes(codec.decompress(codec.compress(b'{"customer": 17, "order": 4711}'), 100))
        b'{"customer": 17, "order": 4711}'

    Source: KIP-110 leaves room for dictionaries.
    """

    def __init__(self, dictionary: bytes) -> None:
        import zstandard

        self._library: Any = zstandard
        self._dictionary = zstandard.ZstdCompressionDict(dictionary)

    @classmethod
    def from_entry(cls, entry: Entry) -> ZstdDictionary:
        """Return the codec with the `dictionary` of an entry."""
        return cls(dictionary_of(entry))

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        """Compress the records of a batch."""
        compressor = self._library.ZstdCompressor(level=ZSTD_LEVEL if level is None else level, dict_data=self._dictionary)
        return bytes(compressor.compress(data))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        """Decompress the records of a batch."""
        size = self._library.frame_content_size(data)
        if size < 0:
            raise ValueError("the frame has no content size")
        ensure_within(size, max_output)
        return bytes(self._library.ZstdDecompressor(dict_data=self._dictionary).decompress(data, allow_extra_data=False))


def decompressed(decompressor: BZ2Decompressor | LZMADecompressor, data: memoryview, max_output: int) -> bytes:
    """Decompress one stream to at most `max_output` bytes.

    Raises:
        ValueError: if there are more bytes, or the stream ends before or after the end of `data`.
    """
    output = decompressor.decompress(data, max_length=max_output + 1)
    ensure_within(len(output), max_output)
    if not decompressor.eof:
        raise ValueError("the stream is cut short")
    if decompressor.unused_data:
        raise ValueError(f"the stream ends {count(len(decompressor.unused_data), 'byte')} before the end")
    return output


def ensure_within(size: int, max_output: int) -> None:
    """Raise an error if a batch decompresses to too many bytes.

    Raises:
        ValueError: then.
    """
    if size > max_output:
        raise ValueError(f"the data decompresses to more than {count(max_output, 'byte')}, the limit")


def dictionary_of(entry: Entry) -> bytes:
    """Return the dictionary of an entry.

    Raises:
        ValueError: if there is none, or it is not base64.
    """
    text = entry.extra.get("dictionary")
    if not isinstance(text, str):
        raise ValueError('the entry has no "dictionary" in base64')
    return b64decode(text, validate=True)
