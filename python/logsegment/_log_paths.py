"""Parse the names of segments and partitions: topic, partition and offset.

The names are those of Kafka (`LogFileUtils`, `LocalLog.parseTopicPartitionName`) and of tiered storage (TS-4).
"""

from __future__ import annotations

import os
import re
from typing import TypeAlias

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
SNAPSHOT = re.compile(r"([0-9]{20})\.snapshot")

#: Topic and partition; None for both if they are unknown.
Partition: TypeAlias = tuple[str, int] | tuple[None, None]


def snapshot_offset(name: str) -> int | None:
    """Return the offset in the name of a producer snapshot, or None."""
    match = SNAPSHOT.fullmatch(name)
    return int(match[1]) if match else None


def partition_of(directory: str) -> Partition:
    """Return topic and partition from the name of a directory; (None, None) if it is not a partition's name."""
    match = PARTITION.fullmatch(os.path.basename(directory))
    if match is None or int(match[2]) > _MOST_PARTITION:
        return None, None
    return match[1], int(match[2])


def is_of_0_7(path: str) -> bool:
    """Return True if the path has the name of a segment of Kafka 0.7."""
    return path.endswith(".kafka")
