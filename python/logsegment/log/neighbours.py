"""What the files beside segments say of a whole partition: its transactions, and what is wrong with those files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from logsegment._core import FileSource, Finding, Limits, RecordBatchError, SegmentIndex, Transactions, validate_log
from logsegment._core import committed_transactions as core_committed_transactions
from logsegment._decode import entry_options
from logsegment._options import Depth
from logsegment._validate import Report
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import is_tiered

if TYPE_CHECKING:
    from logsegment.plugins import Registry


#: Path, first offset (None if the name has none), and the offsets that the batches may hold.
Named: TypeAlias = tuple[str, int | None, tuple[int, int | None] | None]


def committed_transactions(
    segments: Sequence[SegmentFile],
    start: int | None = None,
    end: int | None = None,
    *,
    is_recovering: bool = False,
    experimental: bool = False,
) -> Transactions:
    """Return the transactions that a committed read must know, from the markers of a partition; see docs/decisions.

    Args:
        segments: all segments of one partition.
        start: first offset that will be read.
        end: first offset that will not be read.
        is_recovering: read whole entries and believe them only when their checksum matches.
        experimental: as in `logsegment.decode`.

    Raises:
        OSError: when a file cannot be read.
    """
    numbered = list(map(_numbered, arranged(segments, reports=True)))
    return core_committed_transactions(numbered, start_offset=start, end_offset=end, is_recovering=is_recovering, experimental=experimental)


def validate_segment(
    file: SegmentFile,
    *,
    depth: Depth,
    check_crc: bool,
    tells_shared: bool,
    previous: SegmentFile | None = None,
    is_followed: bool = False,
    experimental: bool = False,
    codecs: Registry | None = None,
    limits: Limits | None = None,
) -> Report:
    """Validate a segment and hold the files beside it against it.

    Args:
        file: the segment.
        depth: as in `logsegment.validate`.
        check_crc: as in `logsegment.validate`.
        experimental: as in `logsegment.validate`.
        tells_shared: look at the files of its directory that belong to other segments or to none, too.
        previous: the segment before, against whose last batch the first one is held (ORD-1, ORD-2, ORD-3).
        is_followed: another segment follows: nobody writes behind the last byte any more.
        codecs: as in `logsegment.validate`.
        limits: as in `logsegment.validate`.

    Raises:
        OSError: when a file cannot be read.
    """
    options = entry_options(check_crc=check_crc, experimental=experimental, codecs=codecs, limits=limits)
    around: dict[str, Any] = {"previous": _end_of(previous), "is_followed": is_followed}
    findings, stats = validate_log([named(file)], [], depth, options, tells_shared=tells_shared, **around)
    found = with_lost_indexes(findings, [file.path])
    return Report(found if file.finding is None else [*found, file.finding], stats, has_checksums=check_crc)


def validate_files(files: Sequence[SegmentFile]) -> Report:
    """Hold the files beside segments against them; the logs themselves are not validated.

    Args:
        files: the segments of one directory after the other, in the order of their offsets.

    Raises:
        OSError: when a file cannot be read.
    """
    findings, stats = validate_log(list(map(named, files)), [], None, entry_options())
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
