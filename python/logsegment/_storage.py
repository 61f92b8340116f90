"""Options of stores and keys of tiered storage, which go with a path or URI."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from logsegment.stores.uri import with_options
from logsegment.tiered.keys import Keys
from logsegment.tiered.uri import tiered

__all__ = ["Access", "Keys", "StorageOptions", "all_reached", "ensure_options", "reached"]

#: Options of a store by the names of object_store, as in Polars and delta-rs: `{"aws_region": "eu-west-1"}`.
StorageOptions: TypeAlias = Mapping[str, str]
#: What reaches the files of a source.
Access: TypeAlias = tuple[StorageOptions | None, Keys | None]


def reached(
    path: str | os.PathLike[str], storage_options: StorageOptions | None = None, decryption_keys: Keys | None = None
) -> str | os.PathLike[str]:
    """Return a path or URI with the options and keys; without any as it was given.

    Args:
        path: a path of this machine or a URI. The options do not matter to a path of this machine.
        storage_options: options of the store.
        decryption_keys: private keys of tiered storage by their ids.

    Raises:
        TypeError: if the options are not a mapping of text to text.
        ValueError: if the path is a URI with a key, a password or settings.
    """
    ensure_options(storage_options)
    place = with_options(path, storage_options) if storage_options else path
    return place if decryption_keys is None else tiered(place, decryption_keys)


def all_reached(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    storage_options: StorageOptions | None = None,
    decryption_keys: Keys | None = None,
) -> list[str | os.PathLike[str]]:
    """Return each of one or several paths, as `reached` does."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [reached(path, storage_options, decryption_keys) for path in several]


def ensure_options(storage_options: StorageOptions | None) -> None:
    """Refuse options of a store that are not text.

    Raises:
        TypeError: if they are not a mapping of text to text. The message has no value.
    """
    if storage_options is None:
        return
    if not isinstance(storage_options, Mapping):
        raise TypeError(f"storage_options must be a mapping of names to text, not {type(storage_options).__name__}")
    for name, value in storage_options.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"storage_options must have text, but {name!r} has {type(value).__name__}")
