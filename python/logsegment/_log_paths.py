"""Parse the names of segments, partitions and uploaded objects: topic, partition, offset and ids.

The names are those of Kafka (`LogFileUtils`, `LocalLog.parseTopicPartitionName`) and of tiered storage (TS-1 to TS-5, TS-60, TS-61).
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple, TypeAlias

#: 16 bytes as base64url without padding; they may contain a `-`, so a name is split by length, never at a `-` (TS-4).
ID = r"[A-Za-z0-9_-]{22}"
_TOPIC = r"[A-Za-z0-9._-]{1,249}"
#: Tiered storage adds an id to the name. This package adds the end of an upload that is read in part.
SEGMENT = re.compile(r"([0-9]{20})(-[A-Za-z0-9_-]+)?\.(?:log|kafka)")
#: The end of the name of the file of a swap that is read in place of a segment, and of the files next to it.
SWAP = ".swap"
#: The third group marks a partition that is being deleted, moved to another disk, or abandoned.
PARTITION = re.compile(rf"({_TOPIC})-([0-9]{{1,10}})(\.[0-9a-f]{{32}}-(?:delete|future|stray))?")
_MOST_PARTITION = 2**31 - 1
_OBJECT = re.compile(rf"([0-9]{{20}})-({ID})\.([a-z_-]+)")
#: Aiven's plug-in has a directory for each topic (TS-1), Kafka's LocalTieredStorage puts the id of the topic after the partition (TS-60).
_AIVEN_TOPIC = re.compile(rf"({_TOPIC})-({ID})")
_LOCAL_PARTITION = re.compile(rf"({_TOPIC})-([0-9]{{1,10}})-({ID})")
SNAPSHOT = re.compile(r"([0-9]{20})\.snapshot")

#: Topic and partition; None for both if they are unknown.
Partition: TypeAlias = tuple[str, int] | tuple[None, None]


class ObjectName(NamedTuple):
    """Name of one object."""

    base_offset: int
    segment_id: str
    suffix: str

    @property
    def stem(self) -> str:
        """Return the common part of the names of one upload."""
        return f"{self.base_offset:020d}-{self.segment_id}"


class Place(NamedTuple):
    """Topic, topic id and partition of a directory of uploads; None for unknown parts."""

    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None


def object_name(name: str) -> ObjectName | None:
    """Parse a name; return None if it is not the name of an uploaded object.

    Example:
        >>> from logsegment._log_paths import object_name
        >>> object_name("00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA.log").base_offset
        1234
    """
    match = _OBJECT.fullmatch(name)
    return ObjectName(int(match[1]), match[2], match[3]) if match else None


def snapshot_offset(name: str) -> int | None:
    """Return the offset in the name of a producer snapshot, or None."""
    match = SNAPSHOT.fullmatch(name)
    return int(match[1]) if match else None


def place_of(directory: str) -> Place:
    """Return topic, topic id and partition from the last one or two names of a directory of uploads."""
    above, _, name = directory.rstrip("/").rpartition("/")
    topic = _AIVEN_TOPIC.fullmatch(above.rpartition("/")[2])
    if topic and name.isdecimal() and int(name) <= _MOST_PARTITION:
        return Place(topic[1], topic[2], int(name))
    local = _LOCAL_PARTITION.fullmatch(name)
    return Place(local[1], local[3], int(local[2])) if local and int(local[2]) <= _MOST_PARTITION else Place()


def partition_of(directory: str) -> Partition:
    """Return topic and partition from the name of a directory; (None, None) if it is not a partition's name."""
    match = PARTITION.fullmatch(os.path.basename(directory))
    if match is None or int(match[2]) > _MOST_PARTITION:
        return None, None
    return match[1], int(match[2])


def is_of_0_7(path: str) -> bool:
    """Return True if the path has the name of a segment of Kafka 0.7."""
    return path.endswith(".kafka")
