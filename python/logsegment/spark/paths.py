"""Paths as a Spark user gives them: URIs and patterns become what `find_segments` takes."""

from __future__ import annotations

import glob
import os
from urllib.parse import unquote, urlsplit


def local_paths(paths: tuple[str, ...]) -> list[str]:
    """Absolute paths on this machine, with `file:` URIs and glob patterns resolved.

    Raises:
        ValueError: for a URI of another scheme.
        FileNotFoundError: when there is nothing at a path.
    """
    return [os.path.abspath(found) for path in paths for found in _matches(_without_scheme(path))]


def _matches(path: str) -> list[str]:
    if not os.path.lexists(path) and glob.has_magic(path):
        if found := sorted(glob.glob(path)):
            return found
        raise FileNotFoundError(f"{path}: no file or directory matches")
    os.stat(path)
    return [path]


def _without_scheme(path: str) -> str:
    parts = urlsplit(path)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return unquote(parts.path)
    if "://" in path:
        raise ValueError(f"{path}: only local files are read; give a path or a file: URI")
    return path
