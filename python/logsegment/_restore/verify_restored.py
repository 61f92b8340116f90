"""Verify restored logs: a segment is closed before its upload, so it must not be damaged or truncated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from logsegment._core import FileSource, Finding, RecordBatchError
from logsegment._errors import renamed
from logsegment._options import ReadOptions
from logsegment._validate import TORN, damage_in, error_of, validated
from logsegment.log.segment import Segment

#: First and last offset of each log, by file name; None for a last offset that no manifest has.
Offsets: TypeAlias = Mapping[str, tuple[int, int | None]]


def errors_in(directory: Path, offsets: Offsets) -> Iterator[tuple[str, Finding]]:
    """Yield findings of the logs of a partition, with their file names: damaged and truncated batches, and missing ends.

    Framing, checksums and offsets of all batches are checked; no batch is decompressed. A log is truncated between two batches if an index
    has an entry after its end and the next segment does not begin there.

    Args:
        directory: the logs, with their indexes.
        offsets: of the logs.

    Raises:
        OSError: if a file cannot be read.
    """
    logs = sorted(directory.glob("*.log"))
    for log, following in zip(logs, [*logs[1:], None], strict=True):
        options = ReadOptions(strict_tail=True, experimental=True, upload=offsets[log.name])
        found = damage_in(validated(FileSource(log), "headers", options))
        yield from ((log.name, one) for one in found or _missing_end(log, following))


def gaps_in(directory: Path, offsets: Offsets) -> Iterator[tuple[int, int]]:
    """Return the first and last offsets that are missing between two logs of a directory, or at the end of the last log.

    Raises:
        OSError: if a file cannot be read.
    """
    logs = sorted(directory.glob("*.log"))
    for log, following in zip(logs, [*logs[1:], None], strict=True):
        end = Segment(log).next_offset()
        last = int(following.stem) - 1 if following else offsets[log.name][1]
        if end is not None and last is not None and end <= last:
            yield end, last


def damage_of(log: Path, finding: Finding, name: str) -> RecordBatchError:
    """Return the error of a read at a finding, with the name of the object of the log.

    Args:
        log: the file.
        finding: from `errors_in`.
        name: of the object, without secrets.

    Raises:
        OSError: if the file cannot be read.
    """
    return renamed(error_of(str(log), finding, ReadOptions(strict_tail=True, experimental=True)), name)


def _missing_end(log: Path, following: Path | None) -> list[Finding]:
    segment = Segment(log)
    end = segment.next_offset()
    if end is None or (following is not None and int(following.stem) <= end):
        return []
    indexed = [rows[-1].offset for rows in (segment.offset_index, segment.time_index) if rows and not rows.findings]
    last = max(indexed, default=-1)
    if last < end:
        return []
    text = f"the log ends before offset {end}, and its indexes have offset {last}: it was truncated"
    return [Finding(TORN, "error", text, f"{log}@{segment.size}", segment.size, 0, end, last)]
