"""Files of this machine, of object stores and of HDFS, read by position.

The core reads the stores and tiered storage.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from logsegment._core import ChunkError, Finding, StoredFile, store_counts
from logsegment._io_stats import IoStats
from logsegment._text import count as counted
from logsegment.stores.errors import ChangedError, ShortReadError
from logsegment.stores.uri import MEMORY, StoreUri, is_buffer, is_stored


def io_stats() -> IoStats:
    """Return how many requests this process has made to stores.

    Returns:
        Counters: `range_requests`, `bytes_fetched`, `files_opened`, `listings`.

    Example:
        >>> from logsegment import stores
        >>> stores.io_stats().bytes_fetched >= 0
        True
    """
    return IoStats(store_counts())


def open_file(path: str) -> Any:
    """Open a file, to read it by position.

    Args:
        path: a path of this machine or a URI, in either form.

    Raises:
        FileNotFoundError: if there is no such file.
        PermissionError: if the store refuses access.
        ConnectionError: if the store does not answer.
    """
    if not is_stored(path):
        return LocalFile(path)
    if not is_buffer(path):
        return StoredFile(path)
    file = _BUFFERS.get(path[:])
    if file is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return file


def version_of(path: str) -> tuple[int, object]:
    """Return the size and a tag of a file as it is now, which change if the file is replaced.

    Raises:
        OSError: if the file cannot be opened.
    """
    found: tuple[int, object] = open_file(path).version
    return found


def read_file(path: str, max_bytes: int) -> bytes | None:
    """Return the bytes of a small file, at most `max_bytes` of them; None if there is no such file.

    Raises:
        OSError: if the file cannot be read.
    """
    try:
        file = open_file(path)
        return bytes(file.read_at(0, min(max_bytes, file.size)))
    except (FileNotFoundError, IsADirectoryError):
        return None
    except ChunkError:
        # Reads go on without an index of an upload that cannot be decrypted.
        return None


class LocalFile:
    """A file of this machine with the methods of a `StoredFile`.

    Attributes:
        size: bytes.
        version: size and time of the last write.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self.size = status.st_size
        self.version = (status.st_size, status.st_mtime_ns)
        self._requests = _Requests()

    def read_at(self, position: int, length: int) -> bytes:
        """Return the bytes from `position` on: `length` of them, or fewer at the end of the file.

        Raises:
            ShortReadError: if fewer bytes can be read.
            ChangedError: if the file was written since it was opened.
            OSError: if the file cannot be read.
        """
        wanted = max(0, min(length, self.size - position))
        if not wanted:
            return b""
        with open(self._path, "rb", buffering=0) as file:
            data = os.pread(file.fileno(), wanted, position)
        self._requests.add(len(data))
        if len(data) < wanted:
            self.ensure_same()
            raise ShortReadError(errno.EIO, f"the file has fewer than {counted(wanted, 'byte')} at position {position}", self._path)
        return data

    read_past_damage = read_at

    def ensure_same(self) -> None:
        """Raise an error if the file was written since it was opened.

        Raises:
            ChangedError: then.
        """
        status = os.stat(self._path)
        if (status.st_size, status.st_mtime_ns) != self.version:
            raise ChangedError(errno.ESTALE, "the file was modified while it was read", self._path)

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Return the requests and bytes since the last call, and no findings."""
        return *self._requests.taken(), []


class MemoryFile:
    """Bytes of this process with the methods of a `StoredFile`."""

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


#: Buffers as files of a store, for readers that take paths, by URI: `memory://7/buffer`.
_BUFFERS: WeakValueDictionary[str, MemoryFile] = WeakValueDictionary()
_NUMBERS = count(1)


def buffer_file(buffer: Any) -> tuple[StoreUri, MemoryFile]:
    """Return the URI of a buffer, and the file at it, which is there as long as the caller keeps it.

    Raises:
        TypeError: if it is not a buffer.
    """
    file = MemoryFile(memoryview(buffer).cast("B"))
    uri = StoreUri(f"{MEMORY}{next(_NUMBERS)}/buffer")
    _BUFFERS[uri[:]] = file
    return uri, file


class _Requests:
    """Requests and bytes of one file. Any thread may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = (0, 0)

    def add(self, length: int) -> None:
        with self._lock:
            self._taken = (self._taken[0] + 1, self._taken[1] + length)

    def taken(self) -> tuple[int, int]:
        with self._lock:
            taken, self._taken = self._taken, (0, 0)
        return taken
