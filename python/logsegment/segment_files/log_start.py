"""Where partitions start: segments go in, segments with the log start offset that every reader honours come out, and findings.

A broker deletes whole segments. Records below a log start offset inside a segment stay in the file, and
`log-start-offset-checkpoint` in the directory above is the only place that shows that they were deleted (docs/project/decisions, 0011).
Source: `LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd` and `LogManager.loadLogs` in Kafka.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from logsegment._core import FileSource, Finding, RecordBatchError, SegmentFile, SegmentIndex, batch_stream, decode, log_end
from logsegment._log_paths import is_of_0_7, is_upload, partition_of
from logsegment._options import EVERY_FORMAT, PartitionOptions, ReadOptions
from logsegment._text import count
from logsegment.segment_files.checkpoints import LOG_STARTS, Checkpoints, OffsetCheckpoint
from logsegment.segment_files.discovery import Paths, found_in, is_noted, segments_of_directory
from logsegment.stores.uri import is_stored, is_tiered, shown

#: Records below the log start offset.
BELOW_START = "SEG-19"
#: A log start offset above the end of the log.
ABOVE_END = "SEG-20"
#: A file of a log directory or partition that cannot be read.
UNREADABLE = "SEG-21"

#: The rules of findings about log start offsets.
RULES = frozenset({BELOW_START, ABOVE_END, UNREADABLE})

_SKIPPING: ReadOptions = replace(EVERY_FORMAT, on_error="skip", unreadable="skip", check_crc=False)
_HEADER = ("position", "size", "baseOffset", "lastOffset", "count", "isControl")


def files_of_partitions(source: Paths, options: PartitionOptions) -> tuple[list[SegmentFile], list[Finding]]:
    """Return the segments of a path as `with_log_starts` does, and the findings about partitions, also those of files that are not read.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: if a directory cannot be listed.
        ValueError: if a partition is in several directories and the options choose none of them.
    """
    found, left_out = found_in(source, has_patterns=False, options=options)
    files, findings = with_log_starts(found, options)
    return files, [*filter(is_noted, left_out), *findings]


def with_log_starts(files: Sequence[SegmentFile], options: PartitionOptions) -> tuple[list[SegmentFile], list[Finding]]:
    """Add the log start offsets of partitions to their segments.

    Args:
        files: segments; those of a partition's directory that was searched get its log start offset, a file that was named does not.
        options: whether log start offsets count.

    Returns:
        The segments, in the same order, and warnings: a log start offset above the end of its log (SEG-20), which does not count, and a
        checkpoint file that cannot be read (SEG-21).

    Example:
        >>> from logsegment._options import PartitionOptions
        >>> from logsegment.segment_files.discovery import find_segments
        >>> from logsegment.segment_files.log_start import with_log_starts
        >>> files, findings = with_log_starts(find_segments("orders-0"), PartitionOptions())
        >>> files[0].log_start is None, findings
        (True, [])
    """
    if options.log_start_offset == "ignore":
        return without_log_starts(files), []
    checkpoints, findings = Checkpoints(), dict[str, Finding]()
    starts: dict[str, int | None] = {}
    groups: dict[str, list[SegmentFile]] = {}
    for file in filter(_has_log_start, files):
        groups.setdefault(file.directory[:], []).append(file)
    for directory, own in groups.items():
        checkpoint = checkpoints.of(LOG_STARTS, own[0])
        if checkpoint is None:
            continue
        if checkpoint.problem is not None:
            findings[checkpoint.path] = _unreadable(checkpoint)
            continue
        starts[directory], finding = _log_start(own, checkpoint)
        if finding is not None:
            findings[directory] = finding
    placed = [file.replaced(log_start=starts.get(file.directory[:]) if _has_log_start(file) else None) for file in files]
    return placed, [*findings.values()]


def without_log_starts(files: Iterable[SegmentFile]) -> list[SegmentFile]:
    """Return segments without their log start offsets, so that all records are read."""
    return [file if file.log_start is None else file.replaced(log_start=None) for file in files]


def warn_of_log_starts(findings: Iterable[Finding], *, stacklevel: int = 3) -> None:
    """Warn of the findings of `with_log_starts`, for functions without another way to report them."""
    for one in findings:
        warnings.warn(f"{one.path.rpartition('@')[0]}: [{one.rule}] {one.message}", UserWarning, stacklevel=stacklevel)


def deleted_records(files: Iterable[SegmentFile], start_offset: int | None = None) -> list[Finding]:
    """Return an information (SEG-19) for each partition with records below its log start offset.

    Args:
        files: segments with their log start offsets, those of a partition one after the other.
        start_offset: the first offset that is read. A partition that is read from its log start offset on, or later, has no finding.

    Raises:
        OSError: if a file cannot be read.
    """
    findings = []
    for _, group in groupby(files, lambda file: file.directory[:]):
        own = list(group)
        start = own[0].log_start
        if start is None or (start_offset is not None and start_offset >= start):
            continue
        if below := records_before(own, start):
            findings.append(_below(own[0], start, below))
    return findings


def records_before(files: Iterable[SegmentFile], offset: int | None) -> int:
    """Return the number of records of a partition before an offset, without control records: by the headers, and in the batch around it.

    Args:
        files: segments of the partition.
        offset: the offset; None for all records.

    Raises:
        OSError: if a file cannot be read.
    """
    total = 0
    for file in files:
        if offset is not None and (file.base_offset or 0) >= offset:
            continue
        with suppress(FileNotFoundError), batch_stream(FileSource(file.path), replace(_SKIPPING, end_offset=offset, resolve=True)) as rows:
            for row in (row for batch in rows for row in batch.select(_HEADER).to_pylist()):
                if row["isControl"]:
                    continue
                if offset is None or row["lastOffset"] < offset:
                    total += row["count"] or 0
                else:
                    total += records_of_batch_before(file.path, row["position"], row["size"], offset)
    return total


def records_of_batch_before(path: str | os.PathLike[str], position: int, size: int, offset: int) -> int:
    """Return the number of records of one batch before an offset. A batch that cannot be decompressed has none.

    Raises:
        OSError: if the file cannot be read.
    """
    source = FileSource(path, position, position + size)
    with suppress(RecordBatchError):
        return sum(len(rows) for rows in decode(source, replace(EVERY_FORMAT, columns=("offset",), control=True, end_offset=offset)))
    return 0


def _has_log_start(file: SegmentFile) -> bool:
    """Return True for a segment in a broker's directory of a partition that was searched."""
    is_plain = file.is_listed and file.base_offset is not None and not is_of_0_7(file.path) and not is_tiered(file.path)
    return is_plain and not is_upload(os.path.basename(file.path[:])) and _partition(file) != (None, None)


def _partition(file: SegmentFile) -> tuple[str, int] | tuple[None, None]:
    return partition_of(file.directory[:] if is_stored(file.path) else os.path.abspath(file.directory))


def _log_start(files: Sequence[SegmentFile], checkpoint: OffsetCheckpoint) -> tuple[int | None, Finding | None]:
    """Return the log start offset that counts in a partition, or None, and the finding of one that does not count."""
    topic, partition = _partition(files[0])
    start = None if topic is None or partition is None else checkpoint.offsets.get((topic, partition))
    if start is None or start <= min(file.base_offset or 0 for file in files):
        return None, None
    end = _end_before(files, start)
    if end is not None:
        # The broker may have rolled a segment since the directory was listed.
        with suppress(OSError):
            end = _end_before(segments_of_directory(files[0]), start)
    if end is None:
        return start, None
    return None, _above(files, start, end)


def _end_before(files: Sequence[SegmentFile], start: int) -> int | None:
    """Return the log end offset by valid batches if it is below the log start offset, else None."""
    if not files or max(file.base_offset or 0 for file in files) >= start:
        return None
    try:
        last = max(files, key=lambda file: file.base_offset or 0)
        with suppress(RecordBatchError):
            found = SegmentIndex(last.path, last.base_offset or 0).last_batch()
            if found is not None and found[2] + 1 >= start:
                return None
        # A segment may contradict its name, and a damaged header may hide the batches after it.
        end = max(log_end(file.path, file.base_offset or 0, replace(EVERY_FORMAT, on_error="skip")).next_offset for file in files)
        if end < start:
            # No checksum covers a base offset: the last batch need not have the last offsets.
            end = max([end, *map(_highest_end, files)])
    except FileNotFoundError:
        return None
    return end if end < start else None


def _highest_end(file: SegmentFile) -> int:
    """Return the highest offset after a valid batch of a segment."""
    with batch_stream(FileSource(file.path), replace(_SKIPPING, check_crc=True)) as rows:
        found = (row for batch in rows for row in batch.select(("lastOffset", "isValid")).to_pylist())
        return max((row["lastOffset"] + 1 for row in found if row["isValid"]), default=0)


def _below(file: SegmentFile, start: int, below: int) -> Finding:
    deleted = f"{count(below, 'record')} below the log start offset {start} {'was' if below == 1 else 'were'} deleted"
    text = f'{deleted} ({LOG_STARTS}); log_start_offset="ignore" or --ignore-log-start-offset includes them'
    return Finding(BELOW_START, "info", text, f"{shown(file.path)}@0", 0, 0, file.base_offset, start - 1)


def _above(files: Sequence[SegmentFile], start: int, end: int) -> Finding:
    text = f"the log start offset {start} in {LOG_STARTS} is above the log end offset {end}, so that it does not count here; "
    text += f"a broker that starts with these files deletes all segments, with {count(records_before(files, None), 'record')}"
    return Finding(ABOVE_END, "warning", text, f"{shown(files[0].path)}@0", 0, 0)


def _unreadable(checkpoint: OffsetCheckpoint) -> Finding:
    text = f"{checkpoint.problem}; the log start offsets are unknown, so each partition is read from its first segment"
    return Finding(UNREADABLE, "warning", text, f"{shown(checkpoint.path)}@0", 0, 0)
