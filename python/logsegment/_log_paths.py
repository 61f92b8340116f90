"""Names of segments, partitions and uploaded objects: what a path tells of topic, partition, offset and ids.

They are Kafka's (`LogFileUtils`, `LocalLog.parseTopicPartitionName`) and those of tiered storage (TS-1 to TS-5, TS-60, TS-61).
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple, TypeAlias

#: 16 bytes as base64url without padding; they may hold a `-`, so a name is split by length, never at a `-` (TS-4).
ID = r"[A-Za-z0-9_-]{22}"
_TOPIC = r"[A-Za-z0-9._-]{1,249}"
#: Tiered storage adds an id to the name, and we where an upload ends that is not read whole.
SEGMENT = re.compile(r"([0-9]{20})(-[A-Za-z0-9_-]+)?\.(?:log|kafka)")
#: The third group marks a partition that is being deleted, moved to another disk, or given up.
PARTITION = re.compile(rf"({_TOPIC})-([0-9]{{1,10}})(\.[0-9a-f]{{32}}-(?:delete|future|stray))?")
_MOST_PARTITION = 2**31 - 1
_OBJECT = re.compile(rf"([0-9]{{20}})-({ID})\.([a-z_-]+)")
#: Aiven's plug-in has a directory for each topic (TS-1), Kafka's LocalTieredStorage puts the id of the topic behind the partition (TS-60).
_AIVEN_TOPIC = re.compile(rf"({_TOPIC})-({ID})")
_LOCAL_PARTITION = re.compile(rf"({_TOPIC})-([0-9]{{1,10}})-({ID})")
SNAPSHOT = re.compile(r"([0-9]{20})\.snapshot")

#: Topic and partition; None for both if no name says them.
Partition: TypeAlias = tuple[str, int] | tuple[None, None]

LOG = "log"
MANIFEST = "rsm-manifest"
#: All indexes of a segment, joined.
INDEXES = "indexes"
#: What `LocalTieredStorage`, and Aiven's plug-in before October 2023, call the files of their own (TS-52, TS-61).
EPOCH_SUFFIXES = ("leader_epoch_checkpoint", "leader-epoch-checkpoint")
#: What Pinterest's uploader keeps beside the segments of a partition, which have the names that a broker gives them (TS-83).
WATERMARK = "offset.wm"
#: The file of a partition's directory in which a broker looks for the leaders' terms.
CHECKPOINT = "leader-epoch-checkpoint"


class ObjectName(NamedTuple):
    """The name of one object."""

    base_offset: int
    segment_id: str
    suffix: str

    @property
    def stem(self) -> str:
        """What the objects of one upload share."""
        return f"{self.base_offset:020d}-{self.segment_id}"


class Place(NamedTuple):
    """What the directory of uploads tells; all of it None when it tells nothing."""

    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None


def object_name(name: str) -> ObjectName | None:
    """The parts of a name; None when it is not that of an uploaded object.

    Example:
        >>> from logsegment._log_paths import object_name
        >>> object_name("00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA.log").base_offset
        1234
    """
    match = _OBJECT.fullmatch(name)
    return ObjectName(int(match[1]), match[2], match[3]) if match else None


def is_upload(name: str) -> bool:
    """True for the log or the manifest of an upload: what tells that a directory holds some."""
    parts = object_name(name)
    return parts is not None and parts.suffix in (LOG, MANIFEST)


def snapshot_offset(name: str) -> int | None:
    """The offset that the name of a producer snapshot tells."""
    match = SNAPSHOT.fullmatch(name)
    return int(match[1]) if match else None


def place_of(directory: str) -> Place:
    """Topic, its id and partition, as the last one or two names of a directory of uploads tell."""
    above, _, name = directory.rstrip("/").rpartition("/")
    topic = _AIVEN_TOPIC.fullmatch(above.rpartition("/")[2])
    if topic and name.isdecimal() and int(name) <= _MOST_PARTITION:
        return Place(topic[1], topic[2], int(name))
    local = _LOCAL_PARTITION.fullmatch(name)
    return Place(local[1], local[3], int(local[2])) if local and int(local[2]) <= _MOST_PARTITION else Place()


def is_of_aiven(directory: str) -> bool:
    """True for the folder of a partition as Aiven's plug-in names it: there a segment without a manifest is none (TS-8)."""
    above, _, name = directory.rstrip("/").rpartition("/")
    return name.isdecimal() and _AIVEN_TOPIC.fullmatch(above.rpartition("/")[2]) is not None


def partition_of(directory: str) -> Partition:
    """Return the topic and the partition that the name of a directory gives; (None, None) if it is not a partition's name."""
    match = PARTITION.fullmatch(os.path.basename(directory))
    if match is None or int(match[2]) > _MOST_PARTITION:
        return None, None
    return match[1], int(match[2])


def is_of_0_7(path: str) -> bool:
    """Return whether a path has the name of a segment of Kafka 0.7."""
    return path.endswith(".kafka")
