"""Whether logs that were given back are whole: nothing is uploaded before it is closed, so that none of them may be damaged or cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from logsegment._core import FileSource, Finding, RecordBatchError
from logsegment._errors import renamed
from logsegment._options import ReadOptions
from logsegment._validate import validated
from logsegment.log.faults import TORN, error_of, faults_of
from logsegment.log.segment import Segment

#: First and last offset of each log, by the name of its file; None for a last offset that no manifest has.
Offsets: TypeAlias = Mapping[str, tuple[int, int | None]]


def faults_in(directory: Path, offsets: Offsets) -> Iterator[tuple[str, Finding]]:
    """What is wrong with the logs of a partition's directory, by their names: entries that are damaged or cut, and ends that are missing.

    Framing, the checksum and the offsets of every batch are looked at, nothing is unpacked. That a log was cut between two batches an index
    beside it tells, which has an entry behind the end, where the next segment does not begin there.

    Args:
        directory: the segments, with their indexes.
        offsets: of the logs.

    Raises:
        OSError: when a file cannot be read.
    """
    logs = sorted(directory.glob("*.log"))
    for log, behind in zip(logs, [*logs[1:], None], strict=True):
        options = ReadOptions(strict_tail=True, experimental=True, upload=offsets[log.name])
        found = faults_of(validated(FileSource(log), "headers", options))
        yield from ((log.name, one) for one in found or _missing_end(log, behind))


def gaps_in(directory: Path, offsets: Offsets) -> Iterator[tuple[int, int]]:
    """Return the first and last offsets that are missing between two logs of a directory, or at the end of the last log.

    Raises:
        OSError: when a file cannot be read.
    """
    logs = sorted(directory.glob("*.log"))
    for log, following in zip(logs, [*logs[1:], None], strict=True):
        end = Segment(log).next_offset()
        last = int(following.stem) - 1 if following else offsets[log.name][1]
        if end is not None and last is not None and end <= last:
            yield end, last


def damage_of(log: Path, fault: Finding, name: str) -> RecordBatchError:
    """The error with which a read ends at a fault, with the name of the object that the log is a copy of.

    Args:
        log: the file.
        fault: as `faults_in` tells it.
        name: of the object, as people may see it.

    Raises:
        OSError: when the file cannot be read.
    """
    return renamed(error_of(log, fault, strict_tail=True, experimental=True), name)


def _missing_end(log: Path, behind: Path | None) -> list[Finding]:
    segment = Segment(log)
    end = segment.next_offset()
    if end is None or (behind is not None and int(behind.stem) <= end):
        return []
    told = [rows[-1].offset for rows in (segment.offset_index, segment.time_index) if rows and not rows.findings]
    last = max(told, default=-1)
    if last < end:
        return []
    text = f"the log ends in front of offset {end}, and its indexes tell of offset {last}: it was cut"
    return [Finding(TORN, "error", text, f"{log}@{segment.size}", segment.size, 0, end, last)]
