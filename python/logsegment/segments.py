"""Find log segments: paths go in, segment files with their topic, partition and base offset come out, in reading order.

Nothing is opened here. Names are Kafka's (`LogFileUtils`, `LocalLog.parseTopicPartitionName`): `<topic>-<partition>` for the directory of
a partition, twenty digits and `.log` for a segment (`.kafka` before Kafka 0.8).
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass

#: Tiered storage adds an id to the name.
_SEGMENT = re.compile(r"([0-9]{20})(?:-[A-Za-z0-9_-]+)?\.(?:log|kafka)")
#: The third group marks a partition that is being deleted, moved to another disk, or given up.
_PARTITION = re.compile(r"([A-Za-z0-9._-]{1,249})-([0-9]{1,10})(\.[0-9a-f]{32}-(?:delete|future|stray))?")
_MAX_PARTITION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file of log entries.

    Attributes:
        path: as it was reached; links are not resolved.
        topic: from the name of its directory; None when that is no partition's.
        partition: as `topic`.
        base_offset: from its own name; None when that is no segment's.
    """

    path: str
    topic: str | None
    partition: int | None
    base_offset: int | None

    @property
    def directory(self) -> str:
        """Path of the directory that it lies in."""
        return os.path.dirname(self.path) or "."


def find_segments(path: str | os.PathLike[str]) -> list[SegmentFile]:
    """Find the segments of a path.

    Directories below `path` that Kafka marked as deleted, stray or future copies are passed over; as `path` itself they are read.
    So is `lost+found`. Links to directories are followed.

    Args:
        path: a file (of any name), a partition directory, or a tree of them.

    Returns:
        The segments, partition by partition, in the order of their offsets.

    Raises:
        FileNotFoundError: when there is no such path, or no segment in the directory and below.
        OSError: when a directory cannot be listed.

    Example:
        >>> from logsegment.segments import find_segments
        >>> find_segments("00000000000000000000.log")[0].base_offset
        0

    Source: `LogManager.loadLogs` and `LocalLog` in Kafka.
    """
    place = os.fspath(path)
    if not os.path.isdir(place):
        os.stat(place)
        return [_segment(place)]
    found = sorted(_walk(place, frozenset()), key=_reading_order)
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no log segments (twenty digits and .log or .kafka) in this directory or below", place)
    return found


def segments_beside(segment: SegmentFile) -> list[SegmentFile]:
    """All segments of the partition directory in which `segment` lies; itself alone when its name is no segment's.

    Raises:
        OSError: when the directory cannot be listed.
    """
    if segment.base_offset is None:
        return [segment]
    with os.scandir(segment.directory) as entries:
        names = [entry.name for entry in entries if _SEGMENT.fullmatch(entry.name) and not entry.is_dir()]
    above = os.path.dirname(segment.path)
    return sorted((_segment(os.path.join(above, name)) for name in names), key=_reading_order)


def partition_of(directory: str) -> tuple[str, int] | tuple[None, None]:
    """Topic and partition that the name of a directory tells; (None, None) when it is no partition's."""
    match = _PARTITION.fullmatch(os.path.basename(directory))
    if match is None or int(match[2]) > _MAX_PARTITION:
        return None, None
    return match[1], int(match[2])


def _walk(directory: str, above: frozenset[tuple[int, int]]) -> list[SegmentFile]:
    """Segments in a directory and below; `above` holds the directories on the way here, so that a link cannot go in circles."""
    status = os.stat(directory)
    here = above | {(status.st_dev, status.st_ino)}
    if here == above:
        return []
    with os.scandir(directory) as listing:
        entries = list(listing)
    found = [_segment(entry.path) for entry in entries if _SEGMENT.fullmatch(entry.name) and not entry.is_dir()]
    for entry in entries:
        if entry.is_dir() and not _is_left_out(entry.name):
            found += _walk(entry.path, here)
    return found


def _is_left_out(name: str) -> bool:
    match = _PARTITION.fullmatch(name)
    return name == "lost+found" or (match is not None and match[3] is not None)


def _segment(path: str) -> SegmentFile:
    directory, name = os.path.split(path)
    match = _SEGMENT.fullmatch(name)
    topic, partition = partition_of(os.path.abspath(directory))
    return SegmentFile(path, topic, partition, int(match[1]) if match else None)


def _reading_order(segment: SegmentFile) -> tuple[str, str, int, str]:
    """Partitions of a topic by number, not by the letters of their names."""
    above, name = os.path.split(segment.directory)
    partition = -1 if segment.partition is None else segment.partition
    return above, segment.topic or name, partition, segment.path
