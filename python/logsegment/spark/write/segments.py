"""Staged files to segments, with the offsets that they have in the log, in an empty directory of this machine."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from logsegment._core import place_staged
from logsegment.spark.write.options import WriteOptions
from logsegment.spark.write.task import StagedPart

#: Base offset of a segment, and the names of its files: that of the log is the last.
Made = list[tuple[int, list[str]]]


def make_segments(options: WriteOptions, staged: Sequence[tuple[str, StagedPart]], directory: str, base_offset: int) -> Made:
    """Write the entries of staged files, in their order, as segments.

    Args:
        options: of the write.
        staged: path of each file here, and what its task told of it.
        directory: where the segments go; it is made.
        base_offset: offset of the first record; of Kafka 0.7 the position of the first byte.

    Raises:
        FileNotFoundError: when what a task staged is not here.
        ValueError: when not all of it was found.
        RecordBatchError, OSError: when something cannot be read or written.
    """
    os.makedirs(directory)
    for path, _ in staged:
        if not os.path.exists(path):
            told = "what a task staged is not here: the path must lead to one directory on the driver and on all executors"
            raise FileNotFoundError(errno.ENOENT, told, path)
    files = [(path, part.bytes) for path, part in staged]
    segments, end = place_staged(
        files, directory, base_offset, format=options.format, level=options.level, segment_bytes=options.segment_bytes
    )
    expected = sum(part.bytes if options.format == "0.7" else part.records for _, part in staged)
    if end != base_offset + expected:
        raise ValueError(f"{directory}: {end - base_offset} of {expected} staged records were found; nothing was committed")
    return segments
