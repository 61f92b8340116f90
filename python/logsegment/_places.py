"""Paths and URIs as text, as the package passes them on: a URI has the options of its store, and shows none of them.

Each function takes a path of this machine or a URI in either form. `Place` reads, lists and writes what is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeAlias

from logsegment._core import Place

#: Options of a store by the names of object_store, as in Polars and delta-rs: `{"aws_region": "eu-west-1"}`.
StorageOptions: TypeAlias = Mapping[str, str]
_Path: TypeAlias = str | os.PathLike[str]


def is_stored(path: _Path) -> bool:
    """Return True for a URI of a store; False for a path of this machine and a `file:` URI."""
    return Place.is_uri(path)


def redacted_uri(path: _Path) -> str:
    """Return a path or URI as text for people and for JSON: a URI without user, password and settings."""
    return Place.redacted_uri(path)


def to_internal_uri(path: _Path) -> str:
    """Return a path or URI in the form that is used inside the package.

    Raises:
        ValueError: if a `file:` URI names another machine, or a URI of a store has a key, a password or settings.
    """
    return Place(path).path


def with_options(path: _Path, options: StorageOptions | None) -> str:
    """Return a path or URI as `to_internal_uri` does, with options of its store; a path of this machine has none.

    Raises:
        TypeError: if the options are not a mapping of text to text.
        ValueError: as `to_internal_uri`.
    """
    return Place(path, options).path


def is_tiered(path: _Path) -> bool:
    """Return True for a URI of uploaded segments that are read as log directories."""
    return Place.is_uri(path) and Place(path).is_uploaded


def untiered(uri: _Path) -> str:
    """Return the path or URI of uploaded objects, without the keys and without the offset at which a segment ends."""
    return Place(uri).objects().path


def here(path: _Path) -> str | None:
    """Return the path of a file of this machine, or of an object of tiered storage here; None for a file in a store."""
    return Place(path).here


def absolute(path: _Path) -> str:
    """Return a path or URI that means the same in every directory."""
    return Place(path).absolute().path


def directory_of(path: _Path) -> str:
    """Return the path or URI of the directory of a file."""
    return Place(path).parent().path


def join_path(directory: _Path, name: str) -> str:
    """Return the path or URI of a file in a directory."""
    return Place(directory).joined(name).path
