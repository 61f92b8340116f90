"""Files of this machine, of object stores and of HDFS, read by position.

`pyarrow.fs` reads the stores. It is imported when a URI of a store is used. Another part of the package may implement a scheme: see
`IMPLEMENTATIONS`.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from functools import lru_cache
from importlib import import_module
from typing import Any

from logsegment._core import Finding
from logsegment._io_stats import IoStats
from logsegment._text import count as counted
from logsegment.stores.errors import ChangedError, ShortReadError, clear_errors
from logsegment.stores.uri import MEMORY, TIERED, is_stored, parts_of, shown

#: Modules that implement schemes, by the beginning of the URI. Each has `open_file`, `read_file`, `entries` and `entry_of`.
IMPLEMENTATIONS = {TIERED: "logsegment.tiered.filesystem", MEMORY: "logsegment.stores.memory"}
#: A store may end a short range with the bytes of the mark by chance, so the range is read again.
_TRIES = 4
_LOCK = threading.Lock()
_COUNTERS = {"range_requests": 0, "bytes_fetched": 0, "files_opened": 0, "listings": 0}


def io_stats() -> IoStats:
    """Return how many requests this process has made to stores.

    Returns:
        Counters: `range_requests`, `bytes_fetched`, `files_opened`, `listings`.

    Example:
        >>> from logsegment import stores
        >>> stores.io_stats().bytes_fetched >= 0
        True
    """
    with _LOCK:
        return IoStats(_COUNTERS)


def open_file(path: str) -> Any:
    """Open a file, to read it by position.

    Args:
        path: a path of this machine or a URI, in either form.

    Raises:
        ImportError: if pyarrow is missing.
        FileNotFoundError: if there is no such file.
        PermissionError: if the store refuses access.
        ConnectionError: if the store does not answer.
    """
    if not is_stored(path):
        return LocalFile(path)
    other = implementation(path)
    return other.open_file(path) if other else StoredFile(path)


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
    if other := implementation(path):
        data: bytes | None = other.read_file(path, max_bytes)
        return data
    try:
        file = open_file(path)
    except (FileNotFoundError, IsADirectoryError):
        return None
    return bytes(file.read_at(0, min(max_bytes, file.size)))


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


class StoredFile:
    """A file of a store as it was when it was opened. It may be read from several threads.

    Attributes:
        size: bytes.
        version: the size, and a tag that differs between files of the same size.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._system, self._path = located(uri)
        self._file, self.version = self._opened()
        self._lock = threading.Lock()
        self._requests = _Requests()
        self.size = int(self.version[0])

    def read_at(self, position: int, length: int) -> bytes | bytearray:
        """Return the bytes from `position` on: `length` of them, or fewer at the end of the file. Make one request to the store.

        Raises:
            ShortReadError: if the store gives fewer bytes.
            ChangedError: if the file was replaced since it was opened.
            OSError: if the store does not answer.
        """
        wanted = max(0, min(length, self.size - position))
        if not wanted:
            return b""
        for _ in range(_TRIES):
            given = self._fetched(position, wanted)
            if given is not None:
                return given
            self.ensure_same()
        raise ShortReadError(errno.EIO, f"the store returned fewer than {counted(wanted, 'byte')} at position {position}", shown(self._uri))

    #: A store gives bytes or an error.
    read_past_damage = read_at

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Return the requests and bytes since the last call, and no findings."""
        return *self._requests.taken(), []

    def ensure_same(self) -> None:
        """Ask the store whether the file is still the one that was opened.

        Raises:
            ChangedError: if it is another file.
            OSError: if the file is gone, or the store does not answer.
        """
        file, state = self._opened()
        file.close()
        if state != self.version:
            text = f"the file was replaced while it was read: it had {counted(self.size, 'byte')}, now {state[0]:,}"
            raise ChangedError(errno.ESTALE, text, shown(self._uri))

    def _fetched(self, position: int, wanted: int) -> bytearray | None:
        """Return the bytes of a range; None if the store gave fewer.

        Arrow reports a whole range of S3 even if the answer was shorter (seen in 26.0), and leaves the rest of the memory as it
        was. So the memory is ours, and ends in a mark that the store cannot know.
        """
        given = bytearray(wanted)
        mark = os.urandom(min(16, wanted))
        given[wanted - len(mark) :] = mark
        try:
            with clear_errors(self._uri), self._lock:
                self._file.seek(position)
                read = self._file.readinto(given)
        except OSError:
            self.ensure_same()
            raise
        self._requests.add(read)
        count(range_requests=1, bytes_fetched=read)
        return None if read != wanted or given.endswith(mark) else given

    def _opened(self) -> tuple[Any, tuple[int, object]]:
        """Open the file; return it with its version."""
        count(files_opened=1)
        with clear_errors(self._uri):
            file = self._system.open_input_file(self._path)
            marks = file.metadata() or {}
            mark = marks.get(b"ETag") or self._system.get_file_info(self._path).mtime_ns
            return file, (file.size(), mark)


def implementation(path: str) -> Any:
    """Return the module that implements the scheme of a URI; None for a local path and for a scheme of pyarrow."""
    found = (module for scheme, module in IMPLEMENTATIONS.items() if path[: len(scheme)].lower() == scheme)
    name = next(found, None)
    return None if name is None else import_module(name)


def located(uri: str) -> tuple[Any, str]:
    """Return the `pyarrow.fs.FileSystem` of a URI, and the path of the file in it.

    Raises:
        ImportError: if pyarrow is missing.
        OSError: if no such file system can be made.
    """
    parts = parts_of(uri)
    with clear_errors(uri):
        # A forked child makes its own: the threads of the library stay in the parent.
        system, base = _file_system(parts.root, os.getpid())
    inside = "/".join(part for part in (base.rstrip("/"), parts.path) if part)
    # Without the slash HDFS looks in the home directory of the user.
    return system, f"/{inside.lstrip('/')}" if base.startswith("/") else inside or "/"


def count(**done: int) -> None:
    """Add to the counters of this process."""
    with _LOCK:
        for name, number in done.items():
            _COUNTERS[name] += number


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


@lru_cache(maxsize=64)
def _file_system(root: str, _process: int) -> tuple[Any, str]:
    try:
        from pyarrow import fs
    except ImportError:
        raise ImportError('files in a store are read through pyarrow: pip install "logsegment[stores]"') from None
    found: tuple[Any, str] = fs.FileSystem.from_uri(root)
    return found
