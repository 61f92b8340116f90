"""Names in an output directory: those of the partitions and segments that are read, without the ids of tiered storage."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from logsegment.stores.uri import is_tiered


class NamedSegment(Protocol):
    """A segment with the names of its path."""

    @property
    def path(self) -> str:
        """The path of the file."""

    @property
    def directory(self) -> str:
        """The path of its directory."""

    @property
    def topic(self) -> str | None:
        """From the name of the directory."""

    @property
    def partition(self) -> int | None:
        """From the name of the directory."""

    @property
    def base_offset(self) -> int | None:
        """From the name of the file."""


def directory_name(segment: NamedSegment) -> str:
    """Return the name of a partition's directory, which is another one in tiered storage."""
    if is_tiered(segment.path) and segment.topic is not None:
        return f"{segment.topic}-{segment.partition}"
    return os.path.basename(os.path.abspath(segment.directory))


def file_name(segment: NamedSegment) -> str:
    """Return the name of a segment without the id that tiered storage adds."""
    is_upload = is_tiered(segment.path) and segment.base_offset is not None
    return f"{segment.base_offset:020d}.log" if is_upload else Path(segment.path).name
