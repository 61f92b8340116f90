"""Find log segments: paths go in, segment files with their topic, partition and base offset come out, in reading order.

A path is a path of this machine, a `file:` URI or a URI of a store (`logsegment.stores`). Names are Kafka's: `<topic>-<partition>` for the
directory of a partition, twenty digits and `.log` for a segment (`.kafka` before Kafka 0.8), or those of its tiered storage (SEG-12).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from logsegment._core import Finding, FoundSegments, Place, ReplicaError, SegmentFile, SegmentKeyError
from logsegment._options import PartitionOptions

#: The options of a reader to which nothing was said: a partition in several directories is an error.
ONE_REPLICA = PartitionOptions()
#: A path, or several.
Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: A topic, or several; None for all.
Topics: TypeAlias = str | Sequence[str] | None
#: The rule of findings about work that a broker did not finish.
WORK = "SEG-17"


def find_segments(path: str | os.PathLike[str]) -> list[SegmentFile]:
    """Find the segments of a path.

    Directories below `path` that Kafka marked as deleted, stray or future copies are skipped; as `path` itself they are read.
    `lost+found` is skipped as well. Links to directories are followed.

    Args:
        path: a file (of any name), a partition directory, or a tree of them; here or in a store (`s3://bucket/orders-0`).

    Returns:
        The segments, partition by partition, in the order of their offsets.

    Raises:
        FileNotFoundError: if there is no such path, or no segment in the directory and below.
        FileExistsError: if two uploads overlap and have different records.
        OSError: if a directory cannot be listed.

    Example:
        >>> from logsegment.segment_files.discovery import find_segments
        >>> find_segments("00000000000000000000.log")[0].base_offset
        0

    Source: `LogManager.loadLogs` and `LocalLog` in Kafka.
    """
    return FoundSegments.below(path).files


def found_in(
    paths: Paths,
    *,
    selection: tuple[Topics, int | None] = (None, None),
    has_patterns: bool = True,
    failed: Callable[[OSError | SegmentKeyError], object] | None = None,
    options: PartitionOptions | None = ONE_REPLICA,
) -> tuple[list[SegmentFile], list[Finding]]:
    """Find the segments of paths, and report the files that are not read.

    Args:
        paths: one path as in `find_segments`, or several.
        selection: only partitions of this topic, or of these, and of this number; None for all. If no directory names a topic, these
            name it.
        has_patterns: a path that does not exist may be a pattern (`orders-*`). False for paths without patterns.
        failed: gets the error of each path without segments, instead of raising it.
        options: which directory is read of a partition that is in several; None for all of them.

    Returns:
        The segments, those of a directory that several paths lead to once, and findings: of uploads in tiered storage that are not read,
        or not to their end; of entries named as a segment that are not regular files; and of links that cannot be followed. Those of
        several paths are in the order of `FoundSegments.by_partition`.

    Raises:
        FileNotFoundError, FileExistsError, OSError: as `find_segments`.
        ValueError: if no partition has the topic and the number.
        ReplicaError: a ValueError, if a partition is in several directories and the options choose none of them.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = FoundSegments.search(given, *selection, has_patterns=has_patterns, failed=failed, options=options)
    return found.files, found.findings


def is_gap(finding: Finding, start: int | None = None, end: int | None = None) -> bool:
    """Return True for a finding of a file or an upload that is not read, and that alone has offsets of a range or may have them.

    Args:
        finding: from `found_in`, with the first of those offsets, and the last one if it is known.
        start: first offset of the range.
        end: the offset after the range.
    """
    first, last = finding.base_offset, finding.last_offset
    if finding.severity != "warning" or first is None:
        return False
    return (start is None or last is None or last >= start) and (end is None or first < end)


def is_noted(finding: Finding, start: int | None = None, end: int | None = None) -> bool:
    """Return True for a finding that each read reports: of a gap as `is_gap` finds it, or of interrupted work (SEG-17)."""
    return finding.rule == WORK or is_gap(finding, start, end)


def is_taken(finding: Finding) -> bool:
    """Return True for the finding of a file of a swap that is read."""
    return finding.rule == WORK and finding.severity == "info" and finding.message.startswith("read in place of other segments:")


def size_of(segment: SegmentFile) -> int:
    """Return the bytes of a segment file.

    Raises:
        OSError: if there is no such file.
    """
    return Place(segment.path).entry().size if segment.known_size is None else segment.known_size


def replica_text(error: ReplicaError, option: str) -> str:
    """Return the text of an error with the option as the caller has to write it, such as `--replica`."""
    if error.asked:
        return f"{option}: {error.problem}"
    return f'{error.problem}; choose one with {option} ("longest", "first" or the path of a directory)'
