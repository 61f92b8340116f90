"""Codecs that are ready to be registered: each needs the library that it is named after, and nothing else.

| class name for the registry | needs | settings in the entry |
| --- | --- | --- |
| `logsegment.plugins.ready.bzip2:Bzip2` | nothing | |
| `logsegment.plugins.ready.xz:Xz` | nothing | |
| `logsegment.plugins.ready.brotli:Brotli` | brotli | |
| `logsegment.plugins.ready.lz4:Lz4Dictionary` | lz4 | `dictionary` |
| `logsegment.plugins.ready.zstd:ZstdDictionary` | zstandard | `dictionary` |

`pip install "logsegment[codecs]"` installs all of these libraries. A `dictionary` is bytes in base64 that the records have in common.
Batches do not name it (COD-Z5), so it is in the registry and must never change under its id.
"""

from __future__ import annotations

from base64 import b64decode
from bz2 import BZ2Decompressor
from lzma import LZMADecompressor

from logsegment._text import count
from logsegment.plugins.entry import Entry

#: The class names of the table. A registry may name these classes without permission, and nothing else in their modules.
READY = frozenset(f"{__name__}.{name}" for name in ("bzip2:Bzip2", "xz:Xz", "brotli:Brotli", "lz4:Lz4Dictionary", "zstd:ZstdDictionary"))


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
        raise ValueError(f"it unpacks to more than {count(max_output, 'byte')}, the most that the limits allow")


def dictionary_of(entry: Entry) -> bytes:
    """Return the dictionary of an entry.

    Raises:
        ValueError: if there is none, or it is not base64.
    """
    text = entry.extra.get("dictionary")
    if not isinstance(text, str):
        raise ValueError('the entry has no "dictionary", which is bytes in base64')
    return b64decode(text, validate=True)
