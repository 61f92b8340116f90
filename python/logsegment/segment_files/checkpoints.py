"""Offset checkpoint files of a broker's log directory: names and segments go in, offsets by topic and partition come out.

A broker keeps them in the directory above those of partitions, one line for each partition (SEG-9).
Source: `OffsetCheckpointFile` in Kafka.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from logsegment._core import Finding, SegmentFile, read_offset_checkpoint
from logsegment.stores.uri import directory_of, is_stored, is_tiered, join_path, shown

#: The high watermarks of partitions: no leader change cuts off offsets below them (SEG-9).
HIGH_WATERMARKS = "replication-offset-checkpoint"
#: The offsets up to which partitions are flushed. A broker writes them at the same times as the log start offsets.
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
#: The log start offsets of partitions: retention or a request deleted the records below them (SEG-9).
LOG_STARTS = "log-start-offset-checkpoint"


@dataclass(frozen=True, slots=True)
class OffsetCheckpoint:
    """A checkpoint file.

    Attributes:
        path: the file.
        offsets: the offset of each topic and partition; empty if the file cannot be read.
        problem: why the file cannot be read, or None.
    """

    path: str
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    problem: str | None = None


def log_directories(files: Iterable[SegmentFile], paths: Iterable[str]) -> list[str]:
    """Return the directories at or below paths that hold the directories of the partitions of segments.

    Args:
        files: segments.
        paths: directories that were named, absolute.
    """
    above = dict.fromkeys(_above(file) for file in files if file.is_listed and not is_tiered(file.path))
    named = [shown(path).rstrip("/") for path in paths]
    return [one for one in above if any(f"{shown(one).rstrip('/')}/".startswith(f"{path}/") for path in named)]


class Checkpoints:
    """Checkpoint files of brokers' log directories, each read once."""

    def __init__(self) -> None:
        self._read: dict[str, OffsetCheckpoint | None] = {}

    def of(self, name: str, segment: SegmentFile) -> OffsetCheckpoint | None:
        """Return the file of that name in the log directory of a segment; None without such a file, and for tiered storage."""
        if is_tiered(segment.path):
            return None
        path = join_path(_above(segment), name)
        if path not in self._read:
            self._read[path] = _read(path)
        return self._read[path]


def _above(segment: SegmentFile) -> str:
    """Return the directory above that of a segment."""
    return directory_of(segment.directory if is_stored(segment.path) else os.path.abspath(segment.directory))


def _read(path: str) -> OffsetCheckpoint | None:
    try:
        read = read_offset_checkpoint(path)
    except PermissionError as error:
        # A store that grants the objects of a partition alone refuses any other name, whether or not it exists.
        return None if is_stored(path) else OffsetCheckpoint(path, problem=error.strerror or "permission denied")
    except NotADirectoryError:
        return None
    except OSError as error:
        return OffsetCheckpoint(path, problem=error.strerror or str(error))
    if read is None:
        return None
    rows, findings = read
    if findings and _is_unwritten(path, findings):
        return OffsetCheckpoint(path)
    if findings:
        return OffsetCheckpoint(path, problem=findings[0].message)
    return OffsetCheckpoint(path, {(topic, partition): offset for topic, partition, offset in rows})


def _is_unwritten(path: str, findings: Sequence[Finding]) -> bool:
    """Return True for empty log start offsets of a broker that has started for the first time and not written them yet."""
    if os.path.basename(path) != LOG_STARTS or not _is_empty(findings):
        return False
    with suppress(OSError):
        written = read_offset_checkpoint(join_path(directory_of(path), RECOVERY_POINTS))
        return written is not None and _is_empty(written[1])
    return False


def _is_empty(findings: Sequence[Finding]) -> bool:
    """Return True for the findings of an empty file: one about no bytes."""
    return len(findings) == 1 and findings[0].length == 0


def shown_problem(checkpoint: OffsetCheckpoint) -> str:
    """Return the file and why it cannot be read."""
    return f"{shown(checkpoint.path)}: {checkpoint.problem}"
