"""Names in an output directory: those of the partitions and segments that are read, without the ids of tiered storage."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from logsegment._log_paths import SWAP
from logsegment._places import absolute, is_tiered, redacted_uri


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
        """From the name of the file, or the first offset of a part of it."""

    @property
    def part(self) -> tuple[int, int] | None:
        """The bytes of a part of the file."""


def directory_name(segment: NamedSegment) -> str:
    """Return the name of a partition's directory, which is another one in tiered storage."""
    if is_tiered(segment.path) and segment.topic is not None:
        return f"{segment.topic}-{segment.partition}"
    return os.path.basename(os.path.abspath(segment.directory))


def output_directories(segments: Iterable[NamedSegment]) -> dict[str, str]:
    """Return the directory in the output for each directory of segments.

    It is the name of the partition. Replicas of a partition, which share that name, keep the path below what is common to them.
    """
    names: dict[str, str] = {}
    for segment in segments:
        names.setdefault(segment.directory[:], directory_name(segment))
    shared = {name for name, number in Counter(names.values()).items() if number > 1}
    above = {directory: os.path.dirname(redacted_uri(absolute(directory))) for directory, name in names.items() if name in shared}
    common = os.path.commonpath(above.values()) if above else ""
    return {
        directory: os.path.join(os.path.relpath(above[directory], common), name) if name in shared else name
        for directory, name in names.items()
    }


def file_name(segment: NamedSegment) -> str:
    """Return the name of a segment without the id of tiered storage and the mark of a swap; of a part, the name by its first offset."""
    is_named = (is_tiered(segment.path) or segment.part is not None) and segment.base_offset is not None
    return f"{segment.base_offset:020d}.log" if is_named else Path(segment.path).name.removesuffix(SWAP)
