"""One chunk as it was before it was stored: AES-256-GCM first, zstd then (TS-25 to TS-28)."""

from __future__ import annotations

from typing import Any

from logsegment._core import decompress_zstd
from logsegment._text import count
from logsegment.tiered.errors import ChunkError

_IV_BYTES = 12
#: IV and tag.
SEAL_BYTES = 28
#: A block of zstd has at least four bytes, and holds at most 128 KiB: what claims more is refused before anything is unpacked.
_MOST_RATIO = (128 << 10) // 4


class Opener:
    """Opens chunks of one segment. Any thread may use it.

    Args:
        data_key: of an encrypted segment.
        aad: what its chunks are bound to.
        is_compressed: each chunk is a zstd frame.
    """

    def __init__(self, data_key: bytes | None, aad: bytes = b"", *, is_compressed: bool = False) -> None:
        self._cipher: Any = _cipher(data_key) if data_key is not None else None
        self._aad = aad
        self._is_compressed = is_compressed

    def opened(self, stored: bytes | bytearray | memoryview, size: int) -> bytes:
        """The bytes in a stored chunk.

        Args:
            stored: the chunk as it is in the object.
            size: the bytes that it must hold.

        Raises:
            ChunkError: saying what is wrong with it, and nothing of where it is.
        """
        data = self._decrypted(stored) if self._cipher else bytes(stored)
        if self._is_compressed:
            if size > len(data) * _MOST_RATIO:
                raise ChunkError(f"its zstd frame of {count(len(data), 'byte')} cannot hold {size:,}")
            try:
                data = decompress_zstd(data, size)
            except ValueError as error:
                raise ChunkError(f"its zstd frame is bad: {error}") from None
        if len(data) != size:
            raise ChunkError(f"it holds {count(len(data), 'byte')} instead of {size:,}")
        return data

    def _decrypted(self, stored: bytes | bytearray | memoryview) -> bytes:
        from cryptography.exceptions import InvalidTag

        if len(stored) < SEAL_BYTES:
            raise ChunkError(f"{count(len(stored), 'byte')} cannot hold an IV and a tag")
        try:
            data: bytes = self._cipher.decrypt(bytes(stored[:_IV_BYTES]), bytes(stored[_IV_BYTES:]), self._aad)
        except InvalidTag:
            raise ChunkError("its AES-GCM tag does not fit its bytes") from None
        return data


def _cipher(data_key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(data_key)
