"""Paths as a Spark user gives them: URIs and patterns become what `find_segments` takes."""

from __future__ import annotations

from logsegment.stores.listing import matching
from logsegment.stores.uri import absolute


def local_paths(paths: tuple[str, ...]) -> list[str]:
    """Absolute paths and URIs of stores, with `file:` URIs and patterns resolved.

    Raises:
        ValueError: for a `file:` URI of another machine.
        FileNotFoundError: when there is nothing at a path.
        OSError: when a store does not answer.
    """
    return [absolute(found) for path in paths for found in matching(path)]
