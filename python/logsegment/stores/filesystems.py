"""The file system of a URI, by pyarrow, made once for each process and set of settings."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from logsegment.stores.errors import told
from logsegment.stores.uri import parts_of


def located(uri: str) -> tuple[Any, str]:
    """A `pyarrow.fs.FileSystem` and the path that it knows a file by.

    Raises:
        ImportError: when pyarrow is missing.
        OSError: when no such file system can be made.
    """
    parts = parts_of(uri)
    with told(uri):
        # Not shared with a forked child: the threads of the library stay behind.
        system, base = _file_system(parts.root, os.getpid())
    inside = "/".join(part for part in (base.rstrip("/"), parts.path) if part)
    # Without the slash HDFS looks below the user's own directory.
    return system, f"/{inside.lstrip('/')}" if base.startswith("/") else inside or "/"


@lru_cache(maxsize=64)
def _file_system(root: str, _process: int) -> tuple[Any, str]:
    try:
        from pyarrow import fs
    except ImportError:
        raise ImportError('files in a store are read through pyarrow: pip install "logsegment[stores]"') from None
    found: tuple[Any, str] = fs.FileSystem.from_uri(root)
    return found
