"""Options of stores, and keys and layout of tiered storage, which go with a path or URI."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from logsegment._core import FileSource, Place
from logsegment._places import StorageOptions
from logsegment.tiered.keys import KeyRing, Keys

__all__ = ["NO_ACCESS", "Access", "Keys", "StorageOptions", "all_reached", "reached", "reached_source", "with_own_key"]

#: What reaches the files of a source.
Access: TypeAlias = tuple[StorageOptions | None, Keys | None, str | None]
NO_ACCESS: Access = (None, None, None)


def reached(
    path: str | os.PathLike[str],
    storage_options: StorageOptions | None = None,
    decryption_keys: Keys | None = None,
    layout: str | None = None,
) -> str | os.PathLike[str]:
    """Return a path or URI with the options, keys and layout; without any as it was given.

    Args:
        path: a path of this machine or a URI. The options do not matter to a path of this machine.
        storage_options: options of the store.
        decryption_keys: private keys of tiered storage by their ids.
        layout: template of the names of objects.

    Raises:
        TypeError: if the options are not a mapping of text to text, or the layout is not text.
        ValueError: if the path is a URI with a key, a password or settings, or the layout is invalid.
    """
    if storage_options is None and decryption_keys is None and layout is None:
        return path
    place = Place(path, storage_options)
    if decryption_keys is not None or layout is not None:
        place = place.uploaded(None if decryption_keys is None else KeyRing(decryption_keys).to_text(), layout)
    return place.path


def all_reached(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    storage_options: StorageOptions | None = None,
    decryption_keys: Keys | None = None,
) -> list[str | os.PathLike[str]]:
    """Return each of one or several paths, as `reached` does."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [reached(path, storage_options, decryption_keys) for path in several]


def reached_source(source: Any, storage_options: StorageOptions | None = None) -> Any:
    """Return a source of `decode` with the options of its store. Bytes and file objects have no store, and stay as they are.

    Args:
        source: a path, a URI, a `FileSource`, a buffer or a file object.
        storage_options: options of the store. Those of a `FileSource` with the same names are replaced.

    Raises:
        TypeError, ValueError: as `reached`.
    """
    if isinstance(source, FileSource):
        return _moved(source, reached(source.path, storage_options)) if storage_options else source
    place = reached(source if isinstance(source, str | os.PathLike) else "", storage_options)
    return place if isinstance(source, str | os.PathLike) else source


def with_own_key(source: FileSource) -> FileSource:
    """Return an encrypted upload with the data key of its segment instead of private keys, and any other source as it is.

    Raises:
        SegmentKeyError: if its key is missing or wrong.
        OSError: if the store does not answer.
    """
    place = Place(source.path)
    return _moved(source, place.with_data_key().path) if place.keys else source


def _moved(source: FileSource, place: str | os.PathLike[str]) -> FileSource:
    return FileSource(place, source.start, source.end, source.offsets, source.finding, source.next_offset, source.is_inner)
