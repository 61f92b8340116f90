"""The files of an opened log, as the functions that read whole logs take them from a `Log` or a `Segment`."""

from __future__ import annotations

from logsegment._core import Finding, SegmentFile


class LogFiles:
    """The segments of an opened log, and the findings about files that it does not read.

    Attributes:
        left_out: uploads and files that are not read, or not to their end, and why.
    """

    left_out: list[Finding]
    _files: list[SegmentFile]
    _log_start_findings: list[Finding]
    #: Paths whose log directories belong to it; none of a single segment.
    _paths: list[str]
