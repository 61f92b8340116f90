"""Write, move and remove files of this machine and of a store, as a commit needs it.

A file appears whole, when its last byte was sent. The caller checks first that it overwrites nothing: pyarrow has no conditional writes.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from logsegment.stores.errors import clear_errors, no_directory
from logsegment.stores.files import located
from logsegment.stores.listing import RENAMING, exists
from logsegment.stores.uri import is_stored, parts_of

#: Bytes that are read at once; the client of the store chooses the size of the parts of an upload.
_PIECE_BYTES = 8 << 20


def put_file(source: str, uri: str) -> None:
    """Copy a file of this machine into a store.

    Raises:
        OSError: if the file cannot be read, or the store refuses it.
    """
    system, path = located(uri)
    with open(source, "rb") as file, clear_errors(uri), system.open_output_stream(path) as out:
        while piece := file.read(_PIECE_BYTES):
            out.write(piece)


def put_bytes(path: str, data: bytes) -> None:
    """Write a small file; replace an older one. On this machine it is on disk afterwards.

    Raises:
        OSError: if the file cannot be written, or the store refuses it.
    """
    if is_stored(path):
        system, inside = located(path)
        with clear_errors(path), system.open_output_stream(inside) as out:
            out.write(data)
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
    system, path = located(place)
    _, from_path = located(source)
    if parts_of(place).scheme not in RENAMING:
        with clear_errors(place):
            system.copy_file(from_path, path)
    elif exists(source):
        with clear_errors(place):
            system.create_dir(os.path.dirname(path), recursive=True)
            system.move(from_path, path)
    elif not exists(place):
        # It was not renamed before, and cannot be renamed.
        raise no_directory(source)


def unsettle(source: str, place: str) -> None:
    """Undo `settle`.

    Raises:
        OSError: if the store refuses it.
    """
    system, path = located(place)
    _, from_path = located(source)
    with clear_errors(place):
        if parts_of(place).scheme in RENAMING:
            if not exists(source) and exists(place):
                system.move(path, from_path)
        elif exists(place):
            system.delete_file(path)


def remove(path: str) -> None:
    """Remove a file, if there is one.

    Raises:
        OSError: if the file cannot be removed, or the store refuses it.
    """
    with suppress(FileNotFoundError):
        if not is_stored(path):
            os.unlink(path)
            return
        system, inside = located(path)
        with clear_errors(path):
            system.delete_file(inside)


def remove_directory(path: str) -> None:
    """Remove a directory with its files, if there is one; on this machine as far as possible.

    Raises:
        OSError: if the store refuses it.
    """
    if not is_stored(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    system, inside = located(path)
    with suppress(FileNotFoundError), clear_errors(path):
        system.delete_dir(inside)
