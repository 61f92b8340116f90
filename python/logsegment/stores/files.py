"""Files of a store, read by position."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any

from logsegment._io_stats import IoStats
from logsegment._text import count as counted
from logsegment.stores.errors import ChangedError, ShortReadError, told
from logsegment.stores.filesystems import located
from logsegment.stores.schemes import served
from logsegment.stores.uri import shown

if TYPE_CHECKING:
    from logsegment._core import Finding

#: A short range whose last byte is the mark's by chance is asked for again.
TRIES = 4
_LOCK = threading.Lock()
_DONE = {"range_requests": 0, "bytes_fetched": 0, "files_opened": 0, "listings": 0}


def io_stats() -> IoStats:
    """What this process asked of stores so far.

    Returns:
        Counters: `range_requests`, `bytes_fetched`, `files_opened`, `listings`.

    Example:
        >>> from logsegment import stores
        >>> stores.io_stats().bytes_fetched >= 0
        True
    """
    with _LOCK:
        return IoStats(_DONE)


def count(**done: int) -> None:
    """Add to the counters."""
    with _LOCK:
        for name, number in done.items():
            _DONE[name] += number


class StoredFile:
    """A file as it was when it was opened. Any thread may read it.

    Attributes:
        size: bytes.
        version: size, and what tells the file from another one of that size.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._system, self._path = located(uri)
        self._file, self.version = self._opened()
        self._lock = threading.Lock()
        self._taken = (0, 0)
        self.size = int(self.version[0])

    def read_at(self, position: int, length: int) -> bytes | bytearray:
        """The bytes from `position` on, `length` of them or as many as there are; one request to the store.

        Raises:
            ShortReadError: when the store gives fewer bytes.
            ChangedError: when the file was written anew since it was opened.
            OSError: when the store does not answer.
        """
        wanted = max(0, min(length, self.size - position))
        if not wanted:
            return b""
        for _ in range(TRIES):
            given = self._fetched(position, wanted)
            if given is not None:
                return given
            self.ensure_same()
        raise ShortReadError(errno.EIO, f"the store gives fewer than {counted(wanted, 'byte')} at position {position}", shown(self._uri))

    #: A store gives bytes or an error.
    read_past_damage = read_at

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Requests and bytes since this was asked last, and what was found out about the file."""
        with self._lock:
            taken, self._taken = self._taken, (0, 0)
        return *taken, []

    def ensure_same(self) -> None:
        """Ask the store whether the file is still the one that was opened.

        Raises:
            ChangedError: when it is another one.
            OSError: when it is gone, or the store does not answer.
        """
        file, state = self._opened()
        file.close()
        if state != self.version:
            text = f"the file was written anew while it was read: it had {counted(self.size, 'byte')}, now {state[0]:,}"
            raise ChangedError(errno.ESTALE, text, shown(self._uri))

    def _fetched(self, position: int, wanted: int) -> bytearray | None:
        """The bytes of a range; None when the store gave fewer.

        Arrow says that it read a whole range of S3 when the answer was shorter (seen in 26.0), and leaves the rest of the memory as it
        was. So the memory is ours, and ends in a mark that the store cannot know.
        """
        given = bytearray(wanted)
        mark = os.urandom(min(16, wanted))
        given[wanted - len(mark) :] = mark
        try:
            with told(self._uri), self._lock:
                self._file.seek(position)
                read = self._file.readinto(given)
                self._taken = (self._taken[0] + 1, self._taken[1] + read)
        except OSError:
            self.ensure_same()
            raise
        count(range_requests=1, bytes_fetched=read)
        return None if read != wanted or given.endswith(mark) else given

    def _opened(self) -> tuple[Any, tuple[int, object]]:
        """The file, its size, and what tells it from another one of that size."""
        count(files_opened=1)
        with told(self._uri):
            file = self._system.open_input_file(self._path)
            marks = file.metadata() or {}
            mark = marks.get(b"ETag") or self._system.get_file_info(self._path).mtime_ns
            return file, (file.size(), mark)


def open_file(uri: str) -> Any:
    """Open a file of a store.

    Args:
        uri: in either form.

    Raises:
        ImportError: when pyarrow is missing.
        FileNotFoundError: when there is no such file.
        PermissionError: when the store refuses it.
        ConnectionError: when the store does not answer.
    """
    other = served(uri)
    return other.open_file(uri) if other else StoredFile(uri)


def version_of(uri: str) -> tuple[int, object]:
    """Size and tag of a file as it is now, which tell whether it was written anew.

    Raises:
        OSError: as `open_file`.
    """
    found: tuple[int, object] = open_file(uri).version
    return found


def read_file(uri: str, most: int) -> bytes | bytearray | None:
    """The bytes of a small file, up to `most` of them; None when there is none.

    Raises:
        OSError: when it cannot be read.
    """
    if other := served(uri):
        data: bytes | None = other.read_file(uri, most)
        return data
    try:
        file = StoredFile(uri)
    except (FileNotFoundError, IsADirectoryError):
        return None
    return file.read_at(0, min(most, file.size))
