"""The segments of a partition while a broker changes them: which of them hold an offset, and which bytes of those.

A cleaner takes segments away under their names and puts others in their place, in steps. A listing in between would miss records.
"""

from __future__ import annotations

import os
import time

from logsegment._core import SegmentIndex
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile, segments_beside
from logsegment.spark.stream.ends import base_of
from logsegment.stores.uri import is_stored

#: How long a cleaner is waited for. One that was killed leaves its file until its broker starts again.
PATIENCE = 2.0
_PAUSE = 0.02


def settled_segments(segment: SegmentFile, *, reports: bool = False, patience: float = PATIENCE) -> list[SegmentFile]:
    """Return the segments of a directory as `logsegment.log.reader.arranged` does, once nobody is changing them; see `_settled`.

    Raises:
        OSError: when the directory cannot be listed.
    """
    return arranged(_settled(segment, patience), reports=reports)


def _settled(segment: SegmentFile, patience: float) -> list[SegmentFile]:
    """The segments of the directory in which `segment` lies or lay, once two listings are equal and no cleaner is in the middle of a swap.

    In a store nothing is renamed: one listing tells what is there.

    Raises:
        OSError: when the directory cannot be listed.
    """
    if is_stored(segment.path):
        return segments_beside(segment)
    deadline = time.monotonic() + patience
    before: list[SegmentFile] | None = None
    while True:
        found = segments_beside(segment)
        # Looked for between the listings too: a swap that hides a segment from both is seen there.
        is_swapping = any(name.endswith(".swap") for name in os.listdir(segment.directory))
        if (found == before and not is_swapping) or time.monotonic() > deadline:
            return found
        if is_swapping:
            time.sleep(_PAUSE)
        before = None if is_swapping else found


def byte_range(segment: SegmentFile, start: int, end: int) -> tuple[int, int, bool]:
    """The bytes of the batches that hold offsets from `start` to before `end`, through the index.

    Returns:
        First byte, byte behind the last, and whether the segment goes on to `end`.

    Raises:
        FileNotFoundError: when the segment is gone.
        RecordBatchError: when its headers cannot be read.
    """
    index = SegmentIndex(segment.path, base_of(segment))
    first = 0 if start <= base_of(segment) else index.find_offset(start)[0]
    position, batch, _ = index.find_offset(end - 1)
    return first, max(first, position + batch[0] if batch else position), batch is not None


def intact_range(segment: SegmentFile, start: int, end: int) -> tuple[int, int | None, bool]:
    """The same for a read that goes on past damage: from an intact batch before `start` to one behind `end`, if there are such.

    Whether the segment goes on to `end` is not looked up, since the batch that would tell it may be damaged: True. The next trigger sees a
    log that was cut.

    Raises:
        FileNotFoundError: when the segment is gone.
    """
    first, last = SegmentIndex(segment.path, base_of(segment)).intact_range(start, end)
    return first, last, True


def version_of(segment: SegmentFile) -> object:
    """What tells a segment from another file that takes its place.

    Raises:
        FileNotFoundError: when it is gone.
    """
    if is_stored(segment.path):
        from logsegment.stores import version_of

        return version_of(segment.path)
    status = os.stat(segment.path)
    return status.st_dev, status.st_ino
