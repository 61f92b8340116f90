"""Where partitions start: segments go in, segments with the log start offset that every reader honours come out, and findings.

`FoundSegments.with_log_starts` finds the offsets (docs/project/decisions, 0011).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from logsegment._core import Finding, FoundSegments, SegmentFile
from logsegment._options import PartitionOptions
from logsegment.segment_files.discovery import Paths, found_in, is_noted

#: A file of a log directory or partition that cannot be read.
UNREADABLE = "SEG-21"
#: The rules of findings about log start offsets.
RULES = frozenset({"SEG-19", "SEG-20", UNREADABLE})


def files_of_partitions(source: Paths, options: PartitionOptions) -> tuple[list[SegmentFile], list[Finding]]:
    """Return the segments of a path with their log start offsets, and the findings about partitions, also those of files that are not read.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: if a directory cannot be listed.
        ValueError: if a partition is in several directories and the options choose none of them.
    """
    found, left_out = found_in(source, has_patterns=False, options=options)
    files, findings = FoundSegments(found).with_log_starts(options)
    return files, [*filter(is_noted, left_out), *findings]


def without_log_starts(files: Iterable[SegmentFile]) -> list[SegmentFile]:
    """Return segments without their log start offsets, so that all records are read."""
    return FoundSegments(files).with_log_starts(PartitionOptions(log_start_offset="ignore"))[0]


def warn_of_log_starts(findings: Iterable[Finding], *, stacklevel: int = 3) -> None:
    """Warn of findings about log start offsets, for functions without another way to report them."""
    for finding in findings:
        warnings.warn(f"{finding.path.rpartition('@')[0]}: [{finding.rule}] {finding.message}", UserWarning, stacklevel=stacklevel)
