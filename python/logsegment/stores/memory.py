"""Buffers of this process as files of a store, for readers that take paths: `memory://7/buffer`."""

from __future__ import annotations

import errno
import os
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from logsegment._core import Finding
from logsegment.stores.listing import DirectoryEntry, Status
from logsegment.stores.uri import MEMORY, StoreUri

_NUMBERS = count(1)


class MemoryFile:
    """Bytes with the methods of a `StoredFile`."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        self.size = len(data)
        self.version = (self.size, id(self))

    def read_at(self, position: int, length: int) -> bytes:
        """Return the bytes from `position` on: `length` of them, or fewer at the end."""
        return bytes(self._data[position : position + length])

    read_past_damage = read_at

    def ensure_same(self) -> None:
        """Do nothing: bytes do not change."""

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Return no requests and no findings."""
        return 0, 0, []


_FILES: WeakValueDictionary[str, MemoryFile] = WeakValueDictionary()


def buffer_file(buffer: Any) -> tuple[StoreUri, MemoryFile]:
    """Return the URI of a buffer, and the file at it, which is there as long as the caller keeps it.

    Raises:
        TypeError: if it is not a buffer.
    """
    file = MemoryFile(memoryview(buffer).cast("B"))
    uri = StoreUri(f"{MEMORY}{next(_NUMBERS)}/buffer")
    _FILES[uri[:]] = file
    return uri, file


def open_file(uri: str) -> MemoryFile:
    """Return the file of a buffer.

    Raises:
        FileNotFoundError: if there is no such buffer.
    """
    file = _FILES.get(uri[:])
    if file is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
    return file


def read_file(uri: str, max_bytes: int) -> bytes | None:
    """Return at most `max_bytes` bytes of a buffer; None for a sidecar file, which a buffer does not have."""
    file = _FILES.get(uri[:])
    return None if file is None else file.read_at(0, max_bytes)


def entries(uri: str) -> list[DirectoryEntry]:
    """Return the buffer of a directory."""
    return [entry_of(f"{uri}/buffer")]


def entry_of(uri: str) -> DirectoryEntry:
    """Return the entry of a buffer.

    Raises:
        FileNotFoundError: if there is no such buffer.
    """
    return DirectoryEntry(StoreUri(uri), "buffer", False, Status(open_file(uri).size))
