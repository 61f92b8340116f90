"""Schemes that another part of this package serves: it gives files and listings as this one does."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from logsegment.stores.uri import is_tiered


def served(uri: str) -> Any:
    """The module with `open_file`, `read_file`, `version_of`, `entries`, `walk` and `entry_of` for a URI; None when pyarrow knows it."""
    return import_module("logsegment.tiered.filesystem") if is_tiered(uri) else None
