"""Files of a store that are made, put into their place and removed: what a commit asks of it.

An object appears whole, when its last byte was sent. Nothing is overwritten by accident only as far as the caller looks first: pyarrow
offers no store's conditional writes.
"""

from __future__ import annotations

import os
from contextlib import suppress

from logsegment.stores.errors import no_directory, told
from logsegment.stores.filesystems import located
from logsegment.stores.listing import RENAMING, exists
from logsegment.stores.uri import parts_of

#: Bytes that are sent at once; what the store's client collects to a part of an upload is its own matter.
_PIECE = 8 << 20


def put_file(source: str, uri: str) -> None:
    """Copy a file of this machine into a store.

    Raises:
        OSError: when it cannot be read, or the store does not take it.
    """
    system, path = located(uri)
    with open(source, "rb") as file, told(uri), system.open_output_stream(path) as out:
        while piece := file.read(_PIECE):
            out.write(piece)


def put_bytes(uri: str, data: bytes) -> None:
    """Make a small file of a store, in the place of an older one.

    Raises:
        OSError: when the store does not take it.
    """
    system, path = located(uri)
    with told(uri), system.open_output_stream(path) as out:
        out.write(data)


def settle(source: str, place: str) -> None:
    """Put a file of a store into its place in the same store: renamed where it can, else copied by the store itself.

    Done again it does nothing, or the same again.

    Raises:
        OSError: when the store does not do it.
    """
    system, path = located(place)
    _, from_path = located(source)
    if parts_of(place).scheme not in RENAMING:
        with told(place):
            system.copy_file(from_path, path)
    elif exists(source):
        with told(place):
            system.create_dir(os.path.dirname(path), recursive=True)
            system.move(from_path, path)
    elif not exists(place):
        # It was neither renamed before nor is it there to be renamed.
        raise no_directory(source)


def unsettle(source: str, place: str) -> None:
    """Take `settle` back.

    Raises:
        OSError: when the store does not do it.
    """
    system, path = located(place)
    _, from_path = located(source)
    with told(place):
        if parts_of(place).scheme in RENAMING:
            if not exists(source) and exists(place):
                system.move(path, from_path)
        elif exists(place):
            system.delete_file(path)


def remove(uri: str) -> None:
    """Remove a file, if there is one.

    Raises:
        OSError: when the store does not do it.
    """
    system, path = located(uri)
    with suppress(FileNotFoundError), told(uri):
        system.delete_file(path)


def remove_directory(uri: str) -> None:
    """Remove everything below a directory, if there is anything.

    Raises:
        OSError: when the store does not do it.
    """
    system, path = located(uri)
    with suppress(FileNotFoundError), told(uri):
        system.delete_dir(path)
