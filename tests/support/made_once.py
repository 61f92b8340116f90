"""What several workers of pytest-xdist need and one of them makes: resolved artifacts, compiled sources, environments."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def made_once(place: Path) -> Iterator[None]:
    """Hold a place alone. Who comes second waits, and then finds what the first one made."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
