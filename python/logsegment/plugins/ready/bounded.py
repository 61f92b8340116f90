"""What the ready codecs have in common: limits on what they unpack, and dictionaries out of entries."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from logsegment._text import count

if TYPE_CHECKING:
    from bz2 import BZ2Decompressor
    from lzma import LZMADecompressor

    from logsegment.plugins.entry import Entry


def unpacked(decompressor: BZ2Decompressor | LZMADecompressor, data: memoryview, max_output: int) -> bytes:
    """All of one stream, unpacked to `max_output` bytes at most.

    Raises:
        ValueError: when there is more, the stream is cut short, or something follows it.
    """
    plain = decompressor.decompress(data, max_length=max_output + 1)
    ensure_within(len(plain), max_output)
    if not decompressor.eof:
        raise ValueError("the stream is cut short")
    if decompressor.unused_data:
        raise ValueError(f"the stream ends {count(len(decompressor.unused_data), 'byte')} before the end")
    return plain


def ensure_within(size: int, max_output: int) -> None:
    """Fail when a batch unpacks to too much.

    Raises:
        ValueError: when `size` bytes are more than are taken.
    """
    if size > max_output:
        raise ValueError(f"it unpacks to more than {count(max_output, 'byte')}, the most that the limits allow")


def dictionary_of(entry: Entry) -> bytes:
    """The dictionary in an entry.

    Raises:
        ValueError: when there is none, or it is not base64.
    """
    text = entry.extra.get("dictionary")
    if not isinstance(text, str):
        raise ValueError('the entry has no "dictionary", which is bytes in base64')
    return b64decode(text, validate=True)
