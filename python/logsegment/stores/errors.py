"""Errors of stores: OSErrors with one clear sentence, and with the URI without options."""

from __future__ import annotations

import errno
import os

from logsegment._core import ChangedError, ShortReadError, StorageOptionError
from logsegment.stores.uri import parts_of, shown

__all__ = ["ChangedError", "ShortReadError", "StorageOptionError", "no_directory"]


def no_directory(uri: str) -> OSError:
    """Return the error for a URI of which there is neither a file nor a directory."""
    parts = parts_of(uri)
    text = os.strerror(errno.ENOENT) if parts.path else "the URI has no bucket, container or directory"
    return FileNotFoundError(errno.ENOENT, text, shown(uri))
