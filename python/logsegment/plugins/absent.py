"""No registry of plugins, under the name that a program's users know it by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logsegment.plugins import Entry, Registry


@dataclass(frozen=True)
class Absent:
    """No registry, for a program whose users give one by another name than `codecs=`: errors say that name.

    Args:
        wanted: what names a registry, such as `--registry`.

    Example:
        >>> from logsegment.plugins.absent import Absent
        >>> Absent("--registry").by_id(3) is None
        True
    """

    wanted: str

    def by_id(self, plugin_id: int) -> Entry | None:
        """Find no plugin."""
        return None

    def by_alias(self, alias: str) -> Entry | None:
        """Find no plugin."""
        return None

    def entries(self) -> list[Entry]:
        """Give no plugins."""
        return []

    def refresh(self) -> None:
        """Do nothing: there is nowhere to read from."""


def is_given(registry: Registry | None) -> bool:
    """Whether there is a registry to ask."""
    return registry is not None and not isinstance(registry, Absent)
