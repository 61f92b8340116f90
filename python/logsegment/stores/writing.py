"""Write, move and remove files of this machine and of a store, as a commit needs it.

A file appears whole, when its last byte was sent. The caller checks first that it overwrites nothing.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from logsegment._core import store_bytes, store_file, store_remove, store_settle
from logsegment.stores.uri import is_stored


def put_file(source: str, uri: str) -> None:
    """Copy a file of this machine into a store.

    Raises:
        OSError: if the file cannot be read, or the store refuses it.
    """
    store_file(source, uri[:])


def put_bytes(path: str, data: bytes) -> None:
    """Write a small file; replace an older one. On this machine it is on disk afterwards.

    Raises:
        OSError: if the file cannot be written, or the store refuses it.
    """
    if is_stored(path):
        store_bytes(path[:], data)
        return
    temporary = f"{path}.part"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        # The system gives no name for a full disk. An error without a number would lose its text.
        if error.errno is not None:
            error.filename = path
        raise
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    """Write the names in a directory of this machine to disk, if its file system lets a directory be opened."""
    if is_stored(path):
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def settle(source: str, place: str) -> None:
    """Move a file to its place in the same store. HDFS renames it, and other stores copy it. To repeat it is harmless.

    Raises:
        OSError: if the store refuses it.
    """
    store_settle(source[:], place[:])


def unsettle(source: str, place: str) -> None:
    """Undo `settle`.

    Raises:
        OSError: if the store refuses it.
    """
    store_settle(source[:], place[:], undo=True)


def remove(path: str) -> None:
    """Remove a file, if there is one.

    Raises:
        OSError: if the file cannot be removed, or the store refuses it.
    """
    with suppress(FileNotFoundError):
        if not is_stored(path):
            os.unlink(path)
            return
        store_remove(path[:])


def remove_directory(path: str) -> None:
    """Remove a directory with its files, if there is one; on this machine as far as possible.

    Raises:
        OSError: if the store refuses it.
    """
    if not is_stored(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    store_remove(path[:], tree=True)
