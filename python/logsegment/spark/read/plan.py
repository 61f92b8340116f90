"""The plan of a batch query: options go in, picklable tasks come out, each with the bytes of segments that it reads.

Names, indexes and headers lead to the wanted bytes. Large segments are cut where a batch begins, and small ones share a task. If a query
wants all offsets of small segments, the driver opens none of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pyspark.sql.datasource import InputPartition

from logsegment._core import FileSource, Finding, LimitError, RecordBatchError, Transactions
from logsegment._decode import batch_stream
from logsegment._errors import without_file
from logsegment._log_paths import is_of_0_7
from logsegment._validate import TORN
from logsegment.log.reader import committed_transactions, with_followers
from logsegment.log.segment_lookup import SegmentLookup
from logsegment.segment_files.discovery import SegmentFile, is_gap, segments_beside
from logsegment.spark.options.read import BatchOptions
from logsegment.spark.options.topics import NAMED, discover, warn_of_gaps
from logsegment.spark.read.bounds import LogRange, ranges_of
from logsegment.spark.read.filters import WantedRows
from logsegment.spark.read.packing import SegmentPiece, cut_up, parts_of, shared
from logsegment.stores.uri import shown


@dataclass(frozen=True)
class SegmentPart:
    """The entries of one segment that one task reads.

    Attributes:
        source: file and range of bytes.
        topic: value of the column `topic`.
        partition: value of the column `partition`.
        start: first offset wanted; None for all.
        end: first offset not wanted; None for all.
        transactions: of a committed read: those that touch the range.
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
    """The parts of logs that one task reads, in the order of their offsets."""

    parts: tuple[SegmentPart, ...]


def plan_tasks(options: BatchOptions, wanted: WantedRows | None = None) -> list[InputPartition]:
    """Find the segments and make the tasks of a batch query.

    Args:
        options: of the query.
        wanted: the rows that pushed filters want.

    Raises:
        OSError: if a path does not exist or cannot be read.
        ValueError: if the options do not fit what is there.
        RecordBatchError: if bytes before a time cannot be read.
    """
    wanted = wanted or WantedRows()
    found = discover(options.paths, options.selection, reports=options.read.skips_damage)
    _ensure_none_skipped(found.left_out, options)
    warn_of_gaps(found.left_out)
    return _tasks_of([one for one in ranges_of(found.logs, options) if wanted.has(one.name)], wanted, options)


def _ensure_none_skipped(left_out: Sequence[Finding], options: BatchOptions) -> None:
    """Raise for a directory entry named as a segment that cannot be read (SEG-15), unless the query goes on without it."""
    skipped = next((one for one in left_out if one.rule == "SEG-15" and is_gap(one)), None)
    if skipped is not None and options.fails_on_data_loss:
        raise OSError(f"{skipped.path.rpartition('@')[0]}: {skipped.message}; set failOnDataLoss to false to read what is left")


def _tasks_of(ranges: Sequence[LogRange], wanted: WantedRows, options: BatchOptions) -> list[InputPartition]:
    """Make the tasks of ranges of offsets. Rows that are not wanted may be left out."""
    logs = [log for one in ranges for log in _logs(_narrowed(one, wanted))]
    pieces = [(log, _pieces(log, wanted.timestamp, options)) for log in logs]
    parts = parts_of([piece for _, own in pieces for piece in own], options)
    known = _known(pieces, options) if options.read.isolation == "read_committed" else {}
    cuts = [[cut for piece in own for cut in cut_up(piece, parts, options)] for _, own in pieces]
    reported: set[str] = set()
    tasks = [_task(together, known, reported) for together in shared(cuts, options)]
    by_time = [segment for one in ranges for segment in one.looked_up]
    by_offset = [piece.segment for _, own in pieces for piece in own if _is_looked_up(piece, parts)]
    _warn_of_indexes([*by_time, *by_offset])
    return [*tasks]


def _narrowed(one: LogRange, wanted: WantedRows) -> LogRange:
    start, end = wanted.start, wanted.end
    least = one.start if start is None else max(start, one.start or 0)
    most = one.end if end is None else end if one.end is None else min(end, one.end)
    return LogRange(one.name, one.segments, least, most)


def _logs(one: LogRange) -> list[LogRange]:
    """Split files without a topic-partition into logs: one for each directory, and one for each file that is not a segment."""

    def log(segment: SegmentFile) -> str:
        return segment.path if segment.base_offset is None else segment.directory

    return [LogRange(one.name, list(group), one.start, one.end) for _, group in groupby(one.segments, log)]


def _pieces(log: LogRange, timestamp: int | None, options: BatchOptions) -> list[SegmentPiece]:
    """Return the wanted bytes of the segments that may hold wanted offsets."""
    found = ((_piece(segment, log, timestamp, options), follower) for segment, follower in with_followers(log.segments, log.start, log.end))
    return [replace(piece, follower=follower) for piece, follower in found if piece is not None]


def _piece(file: SegmentFile, log: LogRange, timestamp: int | None, options: BatchOptions) -> SegmentPiece | None:
    segment, recovers = SegmentLookup(file), options.read.skips_damage
    try:
        size = segment.size
        if file.base_offset is None:
            _ensure_entries(file, options)
        # A name proves that a segment begins later, unless it is wrong or of an upload, which may overlap.
        begins_later = log.start is None or (file.offsets is not None and file.offsets[0] >= log.start)
        start = None if begins_later else log.start
        begin, stop = 0, None
        if start is not None or log.end is not None:
            # A read that goes on past damage does it too: it finds a damaged index.
            begin, stop = segment.byte_range(start, log.end)
            if recovers:
                # A damaged header may claim all bytes of the segment.
                begin, stop = segment.valid_range(start, log.end)
        if timestamp is not None and not recovers:
            # A damaged header may claim the bytes of valid batches, and hide their times.
            first = segment.position_for_timestamp(timestamp)
            if first is None:
                return None
            begin = max(begin, first)
    except LimitError:
        # A look-up has the default limits; the task may have others, and reads all of the segment.
        begin, stop = 0, None
    except FileNotFoundError:
        # The task reports the loss.
        return SegmentPiece(segment, log.name, 0, 0, None, log.start, log.end)
    is_empty = begin > 0 and (size if stop is None else stop) <= begin
    return None if is_empty else SegmentPiece(segment, log.name, size, begin, stop, start, log.end)


def _is_looked_up(piece: SegmentPiece, parts: dict[str, int]) -> bool:
    return piece.begin > 0 or piece.stop is not None or parts[piece.segment.path] > 1


def _known(pieces: Iterable[tuple[LogRange, Sequence[SegmentPiece]]], options: BatchOptions) -> dict[str, Transactions | None]:
    """Return the transactions of the logs, by the path of each segment."""
    found = ((_transactions(log, own, options), own) for log, own in pieces)
    return {piece.segment.path: known for known, own in found for piece in own}


def _transactions(log: LogRange, pieces: Sequence[SegmentPiece], options: BatchOptions) -> Transactions | None:
    """Return the transactions of the tasks of a log, so that not each task reads all headers before its segment for them."""
    if not pieces:
        return None
    if is_of_0_7(log.segments[0].path):
        return Transactions([])
    read = replace(options.read, start_offset=pieces[0].start, end_offset=pieces[-1].end)
    return committed_transactions(segments_beside(log.segments[0]), read)


def _task(pieces: Iterable[SegmentPiece], known: Mapping[str, Transactions | None], reported: set[str]) -> SegmentTask:
    return SegmentTask(tuple(_part(piece, known.get(piece.segment.path), reported) for piece in pieces))


def _part(piece: SegmentPiece, known: Transactions | None, reported: set[str]) -> SegmentPart:
    """Return what a task reads of a segment. One task reports the finding of a segment: `reported` has those of other tasks."""
    file = piece.segment.file
    source = (replace(file, finding=None) if file.path in reported else file).source(piece.begin, piece.stop)
    reported.add(file.path)
    return SegmentPart(source, *piece.name, piece.start, piece.end, known and _touching(known, piece), piece.resumes)


def _touching(known: Transactions, piece: SegmentPiece) -> Transactions:
    """Return the transactions of a part; a partition may have very many."""
    first = piece.start if piece.start is not None else piece.segment.base_offset or 0
    aborted, doubtful = (
        [found for found in ranges if found[2] >= first and (piece.end is None or found[1] < piece.end)]
        for ranges in (known.aborted, known.doubtful)
    )
    return Transactions(aborted, known.last_stable_offset, doubtful)


def _ensure_entries(file: SegmentFile, options: BatchOptions) -> None:
    """Refuse a file without an entry, or with damage at its beginning; an empty file, or one of zeros, is fine."""
    # The read itself refuses magic 3 and unknown plugins.
    stream = batch_stream(FileSource(file.path), check_crc=False, batch_size=1, experimental=True, limits=options.read.limits)
    with stream:
        try:
            found = next(iter(stream), None)
        except RecordBatchError as error:
            if options.read.skips_damage or error.position != 0:
                return
            raise ValueError(f"{shown(file.path)}: no log segment, or damaged where it begins: {without_file(error)}") from None
        torn = found is None and any(one.rule == TORN for one in stream.findings)
    if torn:
        raise ValueError(f"{shown(file.path)}: no log segment: there is not one whole entry in it")


def _warn_of_indexes(segments: Iterable[SegmentLookup]) -> None:
    """Warn once of segments that were looked up without valid indexes, which takes longer."""
    found = {finding.path: f"{finding.path}: [{finding.rule}] {finding.message}" for one in segments for finding in _findings(one)}
    if found:
        texts = list(found.values())
        more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
        warnings.warn(f"indexes do not help, batch headers were read instead: {'; '.join(texts[:NAMED])}{more}", UserWarning, stacklevel=4)


def _findings(segment: SegmentLookup) -> list[Finding]:
    try:
        return [one for one in segment.index_findings if not _is_of_active_segment(one)]
    except OSError:
        return []


def _is_of_active_segment(finding: Finding) -> bool:
    """Return True for the zeros that a broker keeps after the entries of an active segment's index."""
    return finding.rule == "SEG-5" and finding.severity == "info"
