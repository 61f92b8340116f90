"""Paths of the command line to segments: files, partition directories, trees of them, standard input.

A directory named TOPIC-PARTITION gives topic and partition, as in a broker's data directory. Only names are read here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

STDIN = "-"
#: As Kafka allows them: at most 249 of these characters. A replica that moves or dies has a suffix of its own.
PARTITION_DIRECTORY = re.compile(r"([A-Za-z0-9._-]{1,249})-(\d{1,10})(?:\.[0-9a-f]+-(?:future|delete|stray))?")
#: The offset of the first record, always in 20 digits; tiered storage adds an id.
SEGMENT_FILE = re.compile(r"(\d{20})(?:-.*)?\.log")
MOST_PARTITION = 2**31 - 1


class NoSegment(OSError):
    """A directory in which there is nothing to read."""


@dataclass(frozen=True)
class Segment:
    """One input.

    Attributes:
        path: the file, or `-`.
        topic, partition: told by the directory's name, else None.
        first_offset: told by the file's name, else None.
        is_listed: found in a directory that was named, not named itself.
        is_regular: can be read by position and more than once.
        size: bytes, when it is regular.
    """

    path: str
    topic: str | None = None
    partition: int | None = None
    first_offset: int | None = None
    is_listed: bool = False
    is_regular: bool = False
    size: int = 0

    @property
    def name(self) -> str:
        """The path as text that can be printed and put into JSON."""
        return "(stdin)" if self.path == STDIN else os.fsencode(self.path).decode("utf-8", "backslashreplace")

    @property
    def directory(self) -> str:
        """Where it lies."""
        return os.path.dirname(self.path) or "."


def segments_of(paths: Iterable[str]) -> list[Segment]:
    """All segments that the paths name, in their order; of a directory in the order of topic, partition and offset.

    Raises:
        OSError: when a path does not exist or a directory cannot be listed.
        NoSegment: when a directory holds no segments.
    """
    return [segment for path in paths for segment in _named(path)]


def whole_partition(segment: Segment) -> list[Segment]:
    """The segments of the partition that a segment belongs to: its neighbours if its directory is a partition's, else itself."""
    if segment.partition is None or not segment.is_regular or segment.first_offset is None:
        return [segment]
    return _listed(segment.directory)


def in_range(segments: Sequence[Segment], start: int | None, end: int | None) -> list[Segment]:
    """Leave out listed segments whose names say that no offset from `start` to before `end` lies in them."""
    return [segment for segment, behind in _with_next(segments) if not _is_outside(segment, behind, start, end)]


def _named(path: str) -> list[Segment]:
    if path == STDIN:
        return [Segment(STDIN)]
    if not stat.S_ISDIR(os.stat(path).st_mode):
        return [_segment(path)]
    found = [segment for directory, _, _ in sorted(_walk(path), key=_directory_order) for segment in _listed(directory)]
    if not found:
        raise NoSegment(None, "no log segments (NUMBER.log) in this directory", path)
    return [replace(segment, is_listed=True) for segment in found]


def _walk(path: str) -> Iterator[tuple[str, list[str], list[str]]]:
    def fail(error: OSError) -> None:
        raise error

    return os.walk(path, onerror=fail)


def _directory_order(walked: tuple[str, list[str], list[str]]) -> tuple[str, str, int]:
    above, name = os.path.split(walked[0])
    partition = PARTITION_DIRECTORY.fullmatch(name)
    return (above, partition[1], int(partition[2])) if partition else (above, name, -1)


def _listed(directory: str) -> list[Segment]:
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if SEGMENT_FILE.fullmatch(entry.name) and not entry.is_dir()]
    found = [_segment(os.path.join(directory, name)) for name in names]
    return sorted(found, key=lambda segment: (segment.first_offset or 0, segment.path))


def _segment(path: str) -> Segment:
    status = os.stat(path)
    name = SEGMENT_FILE.fullmatch(os.path.basename(path))
    segment = Segment(path, is_regular=stat.S_ISREG(status.st_mode), size=status.st_size)
    if name is None:
        return segment
    parent = PARTITION_DIRECTORY.fullmatch(Path(path).absolute().parent.name)
    if parent is None or int(parent[2]) > MOST_PARTITION:
        return replace(segment, first_offset=int(name[1]))
    return replace(segment, first_offset=int(name[1]), topic=parent[1], partition=int(parent[2]))


def _with_next(segments: Sequence[Segment]) -> Iterator[tuple[Segment, Segment | None]]:
    for index, segment in enumerate(segments):
        behind = segments[index + 1] if index + 1 < len(segments) else None
        is_neighbour = behind is not None and behind.is_listed and behind.directory == segment.directory
        yield segment, behind if is_neighbour else None


def _is_outside(segment: Segment, behind: Segment | None, start: int | None, end: int | None) -> bool:
    if not segment.is_listed or segment.first_offset is None:
        return False
    ends_before = start is not None and behind is not None and (behind.first_offset or 0) <= start
    begins_after = end is not None and segment.first_offset >= end
    return ends_before or begins_after
