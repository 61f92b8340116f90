"""Files and directories, on this machine and in stores: listings, trees and patterns."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from logsegment._core import FoundSegments, store_entries, store_entry
from logsegment.stores.errors import no_directory
from logsegment.stores.files import open_file
from logsegment.stores.uri import StoreUri, below, is_buffer, is_stored, is_tiered, join_path, parts_of, placed

#: Key, whether it is a directory, bytes, time of the last write, and tag: an entry as the core returns it.
_Row: TypeAlias = tuple[str, bool, int, float | None, str | None]


class Status(NamedTuple):
    """Bytes of a file, the time of its last write in seconds since the epoch, and the tag of its version; None where not known."""

    size: int
    modified: float | None = None
    tag: str | None = None


class DirectoryEntry:
    """A file or directory. The status of a local entry is read when it is first used.

    Args:
        path: a path of this machine, or a `StoreUri`.
        name: the last part of the path.
        is_directory: True for a directory.
        status: size and time, or the entry of `os.scandir` that has them.
    """

    __slots__ = ("_status", "is_directory", "name", "path")

    def __init__(self, path: str, name: str, is_directory: bool, status: Status | os.DirEntry[str]) -> None:
        self.path = path
        self.name = name
        self.is_directory = is_directory
        self._status = status

    @property
    def size(self) -> int:
        """Bytes of the file.

        Raises:
            OSError: if a local file was removed since it was listed.
        """
        return self._known.size

    @property
    def modified(self) -> float | None:
        """The time of the last write in seconds since the epoch, where it is known."""
        return self._known.modified

    @property
    def tag(self) -> str | None:
        """The tag of the version, where a store has one."""
        return self._known.tag

    @property
    def version(self) -> tuple[str, int, float | None]:
        """Path, size and time, the identity of the file."""
        return self.path[:], self.size, self.modified

    @property
    def _known(self) -> Status:
        if isinstance(self._status, os.DirEntry):
            self._status = _status(self._status.stat())
        return self._status


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a directory. Links are followed.

    Attributes:
        files: regular files.
        directories: directories.
        special: FIFOs, sockets and devices: a read of one may wait forever.
        broken: links that cannot be followed, each with the reason.
    """

    files: list[DirectoryEntry] = field(default_factory=list)
    directories: list[DirectoryEntry] = field(default_factory=list)
    special: list[DirectoryEntry] = field(default_factory=list)
    broken: list[tuple[DirectoryEntry, str]] = field(default_factory=list)


def list_directory(path: str) -> Listing:
    """List a directory, by name.

    Raises:
        FileNotFoundError: if there is no such directory.
        OSError: if the directory cannot be listed.
    """
    listing = Listing()
    if is_stored(path):
        for entry in _stored_entries(path):
            (listing.directories if entry.is_directory else listing.files).append(entry)
        return listing
    with os.scandir(path) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for local in found:
        try:
            _add(local, listing)
        except OSError as error:
            listing.broken.append((DirectoryEntry(local.path, local.name, False, local), error.strerror or str(error)))
    return listing


def entries(path: str) -> list[DirectoryEntry]:
    """Return the files and directories in a directory, by name.

    Raises:
        FileNotFoundError: if there is no such directory.
        OSError: if the directory cannot be listed.
    """
    listing = list_directory(path)
    return sorted([*listing.directories, *listing.files], key=lambda entry: entry.name)


def names_in(path: str) -> list[str]:
    """Return the names in a directory, in order.

    Raises:
        OSError: if the directory cannot be listed.
    """
    return [entry.name for entry in entries(path)] if is_stored(path) else sorted(os.listdir(path))


def walk(path: str) -> Iterator[DirectoryEntry]:
    """Yield the files below a directory, those of a store from one request.

    Raises:
        FileNotFoundError: if there is no such directory.
        OSError: if a directory cannot be listed.
    """
    if is_stored(path) and not is_tiered(path) and not is_buffer(path):
        return (entry for entry in _listed(path, recursive=True) if not entry.is_directory)
    return (file for listing in _walk(path) for file in listing.files)


def entry_of(path: str) -> DirectoryEntry:
    """Return the entry of a path.

    Raises:
        FileNotFoundError: if there is no such file or directory.
        OSError: if the store does not respond.
    """
    if not is_stored(path):
        status = os.stat(path)
        return DirectoryEntry(path, os.path.basename(path), stat.S_ISDIR(status.st_mode), _status(status))
    if is_buffer(path):
        return DirectoryEntry(StoreUri(path[:]), os.path.basename(path), False, Status(open_file(path).size))
    if not parts_of(path).path and not parts_of(path).host:
        raise no_directory(path)
    row = store_entry(path[:])
    if is_tiered(path):
        return DirectoryEntry(StoreUri(path[:]), row[0], row[1], Status(*row[2:]))
    return _entry(path, row)


def is_directory(path: str | os.PathLike[str]) -> bool:
    """Return True for a directory; False for a file, and if there is nothing.

    Raises:
        OSError: if the store does not respond.
    """
    place = placed(path)
    if not is_stored(place):
        return os.path.isdir(place)
    try:
        return entry_of(place).is_directory
    except FileNotFoundError:
        return False


def exists(path: str) -> bool:
    """Return True if there is a file or a directory.

    Raises:
        OSError: if the store does not respond.
    """
    try:
        entry_of(path)
    except FileNotFoundError:
        return False
    return True


def matching(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the paths that match a pattern (`orders-*`), by name. `*`, `?` and `[...]` do not match a `/`.

    A path that exists as it is written matches itself.

    Raises:
        FileNotFoundError: if nothing matches.
        OSError: if a store does not answer.
    """
    return FoundSegments.expanded([pattern], must_exist=True)


def _walk(path: str) -> Iterator[Listing]:
    """Yield the listings of a directory and of those below it. A link cannot lead in a circle."""
    # The directories on the way down, and for each the directories in it that are still to come.
    above: list[object] = []
    waiting = [iter([path])]
    while waiting:
        place = next(waiting[-1], None)
        if place is None:
            waiting.pop()
            del above[len(waiting) - 1 :]
            continue
        here: object = place
        if not is_stored(place):
            status = os.stat(place)
            here = status.st_dev, status.st_ino
        if here in above:
            continue
        listing = list_directory(place)
        yield listing
        above.append(here)
        waiting.append(iter([entry.path for entry in listing.directories]))


def _add(local: os.DirEntry[str], listing: Listing) -> None:
    entry = DirectoryEntry(local.path, local.name, local.is_dir(), local)
    if entry.is_directory:
        listing.directories.append(entry)
    elif local.is_file():
        listing.files.append(entry)
    else:
        # `stat` fails for a link without a target, and for an entry that was removed meanwhile.
        local.stat()
        listing.special.append(entry)


def _status(status: os.stat_result) -> Status:
    return Status(status.st_size, status.st_mtime_ns / 1e9)


def _stored_entries(uri: str) -> list[DirectoryEntry]:
    found = [entry_of(join_path(uri, "buffer"))] if is_buffer(uri) else _listed(uri, recursive=False)
    return sorted(found, key=lambda entry: entry.name)


def _listed(uri: str, *, recursive: bool) -> list[DirectoryEntry]:
    rows = store_entries(uri[:], deep=recursive)
    if is_tiered(uri):
        return [DirectoryEntry(join_path(uri, row[0]), row[0], row[1], Status(*row[2:])) for row in rows]
    return [_entry(uri, row) for row in rows]


def _entry(uri: str, row: _Row) -> DirectoryEntry:
    key, is_directory, size, modified, tag = row
    return DirectoryEntry(below(uri, key), os.path.basename(key), is_directory, Status(size, modified, tag))
