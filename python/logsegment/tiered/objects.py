"""The objects that an uploader left, in a folder of this machine or in a store: listed, opened, read by position."""

from __future__ import annotations

import errno
import os
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logsegment._text import count
from logsegment.stores.directories import list_directory
from logsegment.stores.errors import ChangedError, ShortReadError
from logsegment.stores.uri import StoreUri, is_stored

if TYPE_CHECKING:
    from logsegment._core import Finding
    from logsegment.stores.listing import Entry


@dataclass(frozen=True, slots=True)
class Info:
    """One object or folder.

    Attributes:
        path: a path of this machine, or a `StoreUri`.
        name: the last part of it.
        size: bytes.
        modified: seconds since the epoch, where it is known.
        is_directory: it is a folder.
    """

    path: str
    name: str
    size: int
    modified: float | None
    is_directory: bool = False

    @property
    def version(self) -> tuple[str, int, float | None]:
        """What tells it from another object, and from what it was."""
        return self.path[:], self.size, self.modified


def listed(directory: str) -> list[Info]:
    """What lies in a folder, by name.

    Raises:
        OSError: when it cannot be listed.
    """
    if is_stored(directory):
        from logsegment.stores import entries

        return [info_of_entry(entry) for entry in entries(directory)]
    listing = list_directory(directory)
    found = [(entry.path, entry.name, entry.stat()) for entry in [*listing.directories, *listing.files]]
    return sorted((_of_status(*one) for one in found), key=lambda info: info.name)


def info_of(path: str) -> Info:
    """The object or folder itself.

    Raises:
        OSError: when there is none, or the store does not answer.
    """
    if is_stored(path):
        from logsegment.stores import entry_of

        return info_of_entry(entry_of(path))
    return _of_status(path, os.path.basename(path), os.stat(path))


def info_of_entry(entry: Entry) -> Info:
    """The same of what a store lists."""
    return Info(entry.uri, entry.name, entry.size, entry.modified, entry.is_directory)


def open_object(path: str) -> Any:
    """The object, to be read by position.

    Raises:
        OSError: when it cannot be opened.
    """
    if is_stored(path):
        from logsegment.stores import open_file

        return open_file(path)
    return LocalObject(path)


def read_object(path: str, most: int) -> bytes | None:
    """The bytes of a small object, up to `most` of them; None when there is none.

    Raises:
        OSError: when it cannot be read.
    """
    try:
        found = open_object(path)
    except (FileNotFoundError, IsADirectoryError):
        return None
    return bytes(found.read_at(0, min(most, found.size)))


def joined_path(directory: str, name: str) -> str:
    """The path of something in a folder."""
    path = os.path.join(directory[:], name)
    return StoreUri(path) if is_stored(directory) else path


class LocalObject:
    """A file of this machine with the face of one of a store: what is read of it is counted."""

    def __init__(self, path: str) -> None:
        self._path = path
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self.size = status.st_size
        self.version = _version(status)
        self._lock = threading.Lock()
        self._taken = (0, 0)

    def read_at(self, position: int, length: int) -> bytes:
        """The bytes from `position` on, `length` of them or as many as there are.

        Raises:
            OSError: when they cannot be read.
        """
        wanted = max(0, min(length, self.size - position))
        if not wanted:
            return b""
        with open(self._path, "rb", buffering=0) as file:
            data = os.pread(file.fileno(), wanted, position)
        with self._lock:
            self._taken = (self._taken[0] + 1, self._taken[1] + len(data))
        if len(data) < wanted:
            self.ensure_same()
            raise ShortReadError(errno.EIO, f"the file gives fewer than {count(wanted, 'byte')} at position {position}", self._path)
        return data

    read_past_damage = read_at

    def ensure_same(self) -> None:
        """Fail when the file was written anew since it was opened.

        Raises:
            ChangedError: when it was.
        """
        if _version(os.stat(self._path)) != self.version:
            raise ChangedError(errno.ESTALE, "the file was written anew while it was read", self._path)

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Requests and bytes since this was asked last."""
        with self._lock:
            taken, self._taken = self._taken, (0, 0)
        return *taken, []


def _version(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _of_status(path: str, name: str, status: os.stat_result) -> Info:
    return Info(path, name, status.st_size, status.st_mtime_ns / 1e9, stat.S_ISDIR(status.st_mode))
