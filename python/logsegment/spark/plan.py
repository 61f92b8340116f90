"""What a read will do, decided on the driver: one task a segment, each with what it must know about its partition.

Options go in, picklable tasks come out. A task names a range of its file, so that a segment may be cut where an entry starts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import groupby

from pyspark.sql.datasource import InputPartition

import logsegment as ls
from logsegment.log import committed_transactions
from logsegment.segments import SegmentFile, find_segments, segments_beside
from logsegment.spark.options import ReadOptions, local_paths


@dataclass(frozen=True)
class SegmentTask(InputPartition):
    """The entries of one segment that one task reads.

    Attributes:
        source: file and range of bytes.
        topic: what the column `topic` says.
        partition: what the column `partition` says.
        transactions: those that touch the range; None when uncommitted records are wanted.
    """

    source: ls.FileSource
    topic: str | None
    partition: int | None
    transactions: ls.Transactions | None


def plan_tasks(options: ReadOptions) -> list[InputPartition]:
    """Find the segments and make the tasks. A file that two paths lead to is read once.

    Raises:
        OSError: when a path does not exist or cannot be read.
    """
    found = {segment.path: segment for path in local_paths(options.paths) for segment in find_segments(os.path.abspath(path))}
    segments = list(found.values())
    if options.isolation == "read_uncommitted":
        return [_task(segment, options, None) for segment in segments]
    return [task for _, group in groupby(segments, _log) for task in _committed(list(group), options)]


def _log(segment: SegmentFile) -> str:
    """Segments of one directory are one log; a file that is no segment is a log of its own."""
    return segment.path if segment.base_offset is None else segment.directory


def _committed(segments: list[SegmentFile], options: ReadOptions) -> list[SegmentTask]:
    """Tasks over segments of one log. A transaction may begin and end in segments that were not asked for."""
    log = segments_beside(segments[0])
    transactions = committed_transactions(log, segments[0].base_offset)
    follower = dict(zip([segment.path for segment in log], log[1:], strict=False))
    return [_task(segment, options, _touching(transactions, segment, follower.get(segment.path))) for segment in segments]


def _touching(known: ls.Transactions, segment: SegmentFile, follower: SegmentFile | None) -> ls.Transactions:
    """The transactions that a task must know: a partition may have very many."""
    first = segment.base_offset or 0
    last = None if follower is None else follower.base_offset
    aborted = [found for found in known.aborted if found[2] >= first and (last is None or found[1] < last)]
    return ls.Transactions(aborted, known.last_stable_offset)


def _task(segment: SegmentFile, options: ReadOptions, transactions: ls.Transactions | None) -> SegmentTask:
    source = ls.FileSource(segment.path)
    if segment.topic is None:
        return SegmentTask(source, options.topic, options.partition, transactions)
    return SegmentTask(source, segment.topic, segment.partition, transactions)
