"""What there is in a store: the files of a directory, or of everything below it."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from logsegment.stores.errors import no_directory, told
from logsegment.stores.files import count
from logsegment.stores.filesystems import located
from logsegment.stores.schemes import served
from logsegment.stores.uri import StoreUri, below, parts_of, shown

_MAGIC = re.compile(r"[*?\[]")
#: File systems that rename, and have directories that must be there: HDFS.
RENAMING = ("hdfs", "viewfs")


class Entry(NamedTuple):
    """One file or directory."""

    uri: StoreUri
    name: str
    is_directory: bool
    size: int
    #: Seconds since the epoch, where the store tells them.
    modified: float | None = None


def entries(uri: str) -> list[Entry]:
    """What lies in a directory, by name.

    Raises:
        FileNotFoundError: when there is no such directory.
        OSError: when it cannot be listed.
    """
    found = other.entries(uri) if (other := served(uri)) else _listed(uri, recursive=False)
    return sorted(found, key=lambda entry: entry.name)


def walk(uri: str) -> Iterator[Entry]:
    """All files below a directory, in one listing where the store can.

    Raises:
        FileNotFoundError: when there is no such directory.
        OSError: when it cannot be listed.
    """
    if other := served(uri):
        found: Iterator[Entry] = other.walk(uri)
        return found
    return (entry for entry in _listed(uri, recursive=True) if not entry.is_directory)


def entry_of(uri: str) -> Entry:
    """The file or directory itself.

    Raises:
        FileNotFoundError: when there is none.
        OSError: when the store does not answer.
    """
    if other := served(uri):
        entry: Entry = other.entry_of(uri)
        return entry
    system, path = located(uri)
    from pyarrow import fs

    count(listings=1)
    with told(uri):
        found = system.get_file_info(path)
    if found.type == fs.FileType.NotFound:
        _ensure_answering(system, uri)
        raise no_directory(uri)
    return _entry(uri, path, found)


def _ensure_answering(system: Any, uri: str) -> None:
    """Of every failure of a look-up in HDFS pyarrow says that there is no file. When the root is not there either, nobody answers."""
    from pyarrow import fs

    if parts_of(uri).scheme in RENAMING and system.get_file_info("/").type == fs.FileType.NotFound:
        raise ConnectionError(errno.ECONNREFUSED, "the store does not answer", shown(uri))


def is_directory(uri: str) -> bool:
    """True for a directory; a file, and nothing at all, are none.

    Raises:
        OSError: when the store does not answer.
    """
    try:
        return entry_of(uri).is_directory
    except FileNotFoundError:
        return False


def exists(uri: str) -> bool:
    """True when there is a file or a directory.

    Raises:
        OSError: when the store does not answer.
    """
    try:
        entry_of(uri)
    except FileNotFoundError:
        return False
    return True


def glob(pattern: str) -> list[StoreUri]:
    """The files and directories whose URI fits a pattern, by name. `*`, `?` and `[...]` do not reach over a `/`.

    Raises:
        FileNotFoundError: when nothing fits.
        OSError: when a directory cannot be listed.
    """
    parts = parts_of(pattern)
    # A `?` that means one character cannot be told from the query's.
    names = [name for name in parts.path.split("/") if name]
    found = [below(pattern, "")]
    for name in names:
        found = [match for place in found for match in _matching(place, name)]
    if names and not _MAGIC.search(names[-1]):
        found = [place for place in found if exists(place)]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file or directory matches", shown(pattern))
    return found


def has_magic(uri: str) -> bool:
    """True when a URI is a pattern."""
    return _MAGIC.search(parts_of(uri).path) is not None


def _matching(place: StoreUri, name: str) -> list[StoreUri]:
    if not _MAGIC.search(name):
        return [below(place, _path(place, name))]
    try:
        return [entry.uri for entry in entries(place) if fnmatch.fnmatchcase(entry.name, name)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _path(place: str, name: str) -> str:
    path = parts_of(place).path.rstrip("/")
    return f"{path}/{name}" if path else name


def _listed(uri: str, *, recursive: bool) -> list[Entry]:
    system, path = located(uri)
    from pyarrow import fs

    count(listings=1)
    with told(uri):
        found = system.get_file_info(fs.FileSelector(path, recursive=recursive))
    return [_entry(uri, path, info) for info in found]


def _entry(uri: str, path: str, info: Any) -> Entry:
    """An entry at or below the path that `uri` means."""
    from pyarrow import fs

    inside = os.path.relpath(info.path, path) if info.path.strip("/") != path.strip("/") else ""
    own = parts_of(uri).path.strip("/")
    full = "/".join(part for part in (own, inside) if part)
    modified = info.mtime_ns / 1e9 if info.mtime_ns else None
    return Entry(below(uri, full), os.path.basename(info.path), info.type == fs.FileType.Directory, info.size or 0, modified)
