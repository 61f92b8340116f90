"""What a read will do, decided on the driver: ranges of offsets become tasks, each with the bytes of segments that it reads.

Options go in, picklable tasks come out. What names, indexes and headers say is not wanted is not among the bytes; large segments are
cut where a batch begins, and small ones share a task. Where nothing is narrowed down and segments are small, none is opened here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pyspark.sql.datasource import InputPartition

from logsegment._core import FileSource, Finding, LimitError, Transactions
from logsegment._options import ReadOptions as CoreReadOptions
from logsegment.log.neighbours import committed_transactions
from logsegment.log.reader import with_followers
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import SegmentFile, is_gap, segments_beside
from logsegment.spark.options.read import ReadOptions
from logsegment.spark.options.topics import discover
from logsegment.spark.read.bare_files import ensure_entries
from logsegment.spark.read.bounds import LogRange, ranges_of
from logsegment.spark.read.cutting import Piece, cut_up, parts_of, shared
from logsegment.spark.read.filters import Wanted
from logsegment.spark.read.warnings import warn_of_gaps, warn_of_indexes


@dataclass(frozen=True)
class SegmentPart:
    """The entries of one segment that one task reads.

    Attributes:
        source: file and range of bytes.
        topic: what the column `topic` says.
        partition: what the column `partition` says.
        start: first offset wanted; None for all.
        end: behind the last offset wanted; None for all.
        transactions: those that touch the range, when the driver had to learn them; else the task does, when it needs to.
        resumes: another part has the offsets before `start`.
    """

    source: FileSource
    topic: str | None
    partition: int | None
    start: int | None = None
    end: int | None = None
    transactions: Transactions | None = None
    resumes: bool = False


@dataclass(frozen=True)
class SegmentTask(InputPartition):
    """What one task reads: parts of logs, those of each in the order of their offsets."""

    parts: tuple[SegmentPart, ...]


def plan_tasks(options: ReadOptions, wanted: Wanted | None = None) -> list[InputPartition]:
    """Find the segments and make the tasks of a batch query.

    Args:
        options: what was asked for.
        wanted: what pushed filters want.

    Raises:
        OSError: when a path does not exist or cannot be read.
        ValueError: for options that do not fit what is there.
        RecordBatchError: when bytes on the way to a time cannot be read.
    """
    wanted = wanted or Wanted()
    left_out: list[Finding] = []
    logs = discover(
        options.paths, options.selection, topic=options.topic, partition=options.partition, reports=options.mode.skips, left_out=left_out
    )
    _ensure_none_skipped(left_out, options)
    warn_of_gaps(left_out)
    ranges = ranges_of(
        logs,
        options.starting,
        options.ending,
        fail_on_data_loss=options.fail_on_data_loss,
        codecs=options.codecs,
        experimental=options.experimental,
        limits=options.limits,
        recovers=options.mode.skips,
    )
    return plan_ranges([one for one in ranges if wanted.has(one.name)], options, wanted.timestamp, (wanted.start, wanted.end))


def _ensure_none_skipped(left_out: Sequence[Finding], options: ReadOptions) -> None:
    """Fail for an entry of a directory that has the name of a segment and cannot be read (SEG-15), unless what is left shall be read."""
    skipped = next((one for one in left_out if one.rule == "SEG-15" and is_gap(one)), None)
    if skipped is not None and options.fail_on_data_loss:
        raise OSError(f"{skipped.path.rpartition('@')[0]}: {skipped.message}; set failOnDataLoss to false to read what is left")


def plan_ranges(
    ranges: Iterable[LogRange],
    options: ReadOptions,
    timestamp: int | None = None,
    offsets: tuple[int | None, int | None] = (None, None),
) -> list[InputPartition]:
    """Make the tasks of ranges of offsets.

    Args:
        ranges: the topic-partitions.
        options: how to cut them, and the isolation.
        timestamp: batches that have no record of this time (ms) or later may be left out.
        offsets: records of which the offset is not in this range may be left out.

    Raises:
        OSError: when a file cannot be read.
    """
    ranges = list(ranges)
    logs = [log for one in ranges for log in _logs(_narrowed(one, *offsets))]
    pieces = [(log, _pieces(log, timestamp, options)) for log in logs]
    parts = parts_of([piece for _, own in pieces for piece in own], options)
    known = _known(pieces, options) if options.isolation == "read_committed" else {}
    cuts = [[cut for piece in own for cut in cut_up(piece, parts, options)] for _, own in pieces]
    reported: set[str] = set()
    tasks = [_task(together, known, reported) for together in shared(cuts, options)]
    by_time = [segment for one in ranges for segment in one.looked_up]
    by_offset = [piece.segment for _, own in pieces for piece in own if _is_looked_up(piece, parts)]
    warn_of_indexes([*by_time, *by_offset])
    return [*tasks]


def _narrowed(one: LogRange, start: int | None, end: int | None) -> LogRange:
    least = one.start if start is None else max(start, one.start or 0)
    most = one.end if end is None else end if one.end is None else min(end, one.end)
    return LogRange(one.name, one.segments, least, most)


def _logs(one: LogRange) -> list[LogRange]:
    """Files without names may be of several logs: those of one directory are one, and a file that is no segment is one of its own."""

    def log(segment: SegmentFile) -> str:
        return segment.path if segment.base_offset is None else segment.directory

    return [LogRange(one.name, list(group), one.start, one.end) for _, group in groupby(one.segments, log)]


def _pieces(log: LogRange, timestamp: int | None, options: ReadOptions) -> list[Piece]:
    """The wanted bytes of the segments in which there may be wanted offsets."""
    found = ((_piece(segment, log, timestamp, options), follower) for segment, follower in with_followers(log.segments, log.start, log.end))
    return [replace(piece, follower=follower) for piece, follower in found if piece is not None]


def _piece(file: SegmentFile, log: LogRange, timestamp: int | None, options: ReadOptions) -> Piece | None:
    segment, recovers = Segment(file), options.mode.skips
    try:
        size = segment.size
        if file.base_offset is None:
            ensure_entries(file, recovers=recovers, limits=options.limits)
        # Names prove that a segment begins later, unless they are wrong or those of uploads, which may overlap.
        begins_later = log.start is None or (file.offsets is not None and file.offsets[0] >= log.start)
        start = None if begins_later else log.start
        begin, stop = 0, None
        if start is not None or log.end is not None:
            # Also for a read that goes on past damage: it shows what is wrong with an index.
            begin, stop = segment.byte_range(start, log.end)
            if recovers:
                # Not even that nothing is wanted of the segment: a damaged header may have claimed all of its bytes.
                begin, stop = segment.intact_range(start, log.end)
        if timestamp is not None and not recovers:
            # A damaged header may claim the bytes of intact batches, and tells the time of none of them.
            first = segment.position_for_timestamp(timestamp)
            if first is None:
                return None
            begin = max(begin, first)
    except LimitError:
        # A look-up keeps to the usual limits; the task, which may have others, reads all of it.
        begin, stop = 0, None
    except FileNotFoundError:
        # The task will tell what it means that the file was deleted meanwhile.
        return Piece(segment, log.name, 0, 0, None, log.start, log.end)
    is_empty = begin > 0 and (size if stop is None else stop) <= begin
    return None if is_empty else Piece(segment, log.name, size, begin, stop, start, log.end)


def _is_looked_up(piece: Piece, parts: dict[str, int]) -> bool:
    return piece.begin > 0 or piece.stop is not None or parts[piece.segment.path] > 1


def _known(pieces: Iterable[tuple[LogRange, Sequence[Piece]]], options: ReadOptions) -> dict[str, Transactions | None]:
    """By the path of each segment."""
    told = ((_transactions(log, own, options), own) for log, own in pieces)
    return {piece.segment.path: known for known, own in told for piece in own}


def _transactions(log: LogRange, pieces: Sequence[Piece], options: ReadOptions) -> Transactions | None:
    """Return the transactions that the tasks of a log must know. Each task would read all headers before its segment for them."""
    if not pieces:
        return None
    if log.segments[0].path.endswith(".kafka"):
        return Transactions([])
    beside = segments_beside(log.segments[0])
    read = CoreReadOptions(
        start_offset=pieces[0].start,
        end_offset=pieces[-1].end,
        on_error="skip" if options.mode.skips else "raise",
        experimental=options.experimental,
    )
    return committed_transactions(beside, read)


def _task(pieces: Iterable[Piece], known: Mapping[str, Transactions | None], reported: set[str]) -> SegmentTask:
    return SegmentTask(tuple(_part(piece, known.get(piece.segment.path), reported) for piece in pieces))


def _part(piece: Piece, known: Transactions | None, reported: set[str]) -> SegmentPart:
    """Return what a task reads of a segment. One task reports the finding of a segment: `reported` has those of other tasks."""
    file = piece.segment._file
    source = (replace(file, finding=None) if file.path in reported else file).source(piece.begin, piece.stop)
    reported.add(file.path)
    return SegmentPart(source, *piece.name, piece.start, piece.end, known and _touching(known, piece), piece.resumes)


def _touching(known: Transactions, piece: Piece) -> Transactions:
    """The transactions that a part must know: a partition may have very many."""
    first = piece.start if piece.start is not None else piece.segment.base_offset or 0
    aborted, doubtful = (
        [found for found in ranges if found[2] >= first and (piece.end is None or found[1] < piece.end)]
        for ranges in (known.aborted, known.doubtful)
    )
    return Transactions(aborted, known.last_stable_offset, doubtful)
