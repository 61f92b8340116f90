"""What the files beside segments say of a whole partition: its transactions, and what is wrong with those files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from logsegment._core import FileSource, Finding, RecordBatchError, SegmentIndex, Transactions, validate_log
from logsegment._core import committed_transactions as core_committed_transactions
from logsegment._options import Depth, ReadOptions
from logsegment._validate import Report
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import is_tiered

#: Path, first offset (None if the name has none), and the offsets that the batches may hold.
Named: TypeAlias = tuple[str, int | None, tuple[int, int | None] | None]


def committed_transactions(segments: Sequence[SegmentFile], options: ReadOptions) -> Transactions:
    """Return the transactions that a committed read must know, from the markers of a partition; see docs/decisions.

    Args:
        segments: all segments of one partition.
        options: those of the read, with the first offset that it reads and the first one that it does not. A read that skips damage
            trusts a marker only if its checksum matches.

    Raises:
        OSError: if a file cannot be read.
    """
    numbered = list(map(_numbered, arranged(segments, reports=True)))
    return core_committed_transactions(
        numbered,
        start_offset=options.start_offset,
        end_offset=options.end_offset,
        is_recovering=options.skips_damage and options.check_crc,
        experimental=options.takes_v3,
    )


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What lies around a segment that is validated.

    Attributes:
        previous: the segment before, with whose last batch the first one is compared (ORD-1, ORD-2, ORD-3).
        is_followed: another segment follows, so nobody writes after the last byte any more.
        reports_shared: validate the files of its directory that belong to other segments, or to none, too.
    """

    previous: SegmentFile | None = None
    is_followed: bool = False
    reports_shared: bool = True


def validate_segment(file: SegmentFile, depth: Depth, options: ReadOptions, around: Surroundings) -> Report:
    """Validate a segment and the sidecar files next to it.

    Args:
        file: the segment.
        depth: see `logsegment.validate`.
        options: those of the read.
        around: what lies around it.

    Raises:
        OSError: if a file cannot be read.
    """
    findings, stats = validate_log(
        [named(file)],
        [],
        depth,
        options,
        tells_shared=around.reports_shared,
        previous=_end_of(around.previous),
        is_followed=around.is_followed,
    )
    found = with_lost_indexes(findings, [file.path])
    return Report(found if file.finding is None else [*found, file.finding], stats, has_checksums=options.check_crc)


def validate_files(files: Sequence[SegmentFile]) -> Report:
    """Hold the files beside segments against them; the logs themselves are not validated.

    Args:
        files: the segments of one directory after the other, in the order of their offsets.

    Raises:
        OSError: when a file cannot be read.
    """
    findings, stats = validate_log(list(map(named, files)), [], None, ReadOptions())
    # Damage of an upload is told of its log.
    beside = [finding for finding in findings if not finding.rule.startswith("TS-")]
    return Report(with_lost_indexes(beside, [file.path for file in files]), stats)


def with_lost_indexes(findings: list[Finding], logs: Sequence[str]) -> list[Finding]:
    """Findings of logs and of the files beside them, with those indexes of uploads that nobody can open.

    Raises:
        OSError: when an object cannot be read.
    """
    uploads = [log for log in logs if is_tiered(log)]
    if not uploads:
        return findings
    from logsegment.tiered.objects import with_lost_indexes

    return with_lost_indexes(findings, uploads)


def named(file: SegmentFile) -> Named:
    """Return path, first offset, and the offsets that the batches may hold. Files of Kafka 0.7 have no sidecar files."""
    return file.path, None if file.path.endswith(".kafka") else file.named_offset, file.offsets


def _end_of(file: SegmentFile | None) -> FileSource | None:
    """The last batch of a segment; None when there is none. What is wrong with the file is told of itself."""
    if file is None or named(file)[1] is None:
        return None
    try:
        last = SegmentIndex(*_numbered(file)).last_batch()
    except RecordBatchError:
        return FileSource(file.path)
    except OSError:
        return None
    return None if last is None else FileSource(file.path, last[0])


def _numbered(file: SegmentFile) -> tuple[str, int]:
    return file.path, file.base_offset or 0
