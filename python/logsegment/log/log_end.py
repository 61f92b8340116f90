"""The end of a segment that grows: its last batch, by headers or past damage, and whether the bytes after it are only unfinished."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from logsegment._core import FileSource, RecordBatchError, ValidBatches, follow_log, valid_batches
from logsegment._options import ReadOptions
from logsegment._validate import error_of
from logsegment.segment_files.discovery import SegmentFile

#: Position, checksum and last offset of a batch, by which it is known again.
Last: TypeAlias = tuple[int, int, int]
#: Nothing is known of zeros at the end of a segment.
NO_ZEROS = (0, 0)
_LEAST = -(2**63)


class Tail(NamedTuple):
    """The end of a segment.

    Attributes:
        last: the last batch that counts: it is whole, and its checksum matches if it is the last entry. None if there is none.
        unfinished: where an entry begins that does not count; None if there is none.
        zeros: the zeros at the end of a preallocated segment, for the next walk along it.
    """

    last: Last | None
    unfinished: int | None = None
    zeros: tuple[int, int] = NO_ZEROS

    @property
    def stop(self) -> int | None:
        """Where only zeros follow; None if the segment does not end in zeros."""
        return self.zeros[0] if self.zeros != NO_ZEROS else None


def tail_of(segment: SegmentFile, since: Last | None, zeros: tuple[int, int] = NO_ZEROS, *, experimental: bool = False) -> Tail:
    """Walk along the headers after a batch to the end.

    Args:
        segment: the segment that grows.
        since: a batch of it; None for a place near the end to which the index leads.
        zeros: those of an earlier `Tail` of the segment, which are not read again.
        experimental: see `logsegment.decode`.

    Raises:
        RecordBatchError: if a header is damaged.
        OSError: if the file cannot be read.
    """
    base = segment.base_offset or 0
    walked = follow_log(segment.path, base, since=since, zeros=zeros, is_checked=True, experimental=experimental)
    # The log was cut during this look: the next look finds it.
    return Tail(since) if walked is None else Tail(walked.last or since, walked.unfinished, walked.zeros)


def is_there(segment: SegmentFile, last: Last, *, experimental: bool = False) -> bool:
    """Return True if a batch is still where it was.

    Raises:
        OSError: if the file cannot be read.
    """
    # No header after it is read.
    return follow_log(segment.path, segment.base_offset or 0, since=last, until=_LEAST, experimental=experimental) is not None


def last_valid(segment: SegmentFile, since: Last | None, stop: int | None = None, *, experimental: bool = False) -> Last | None:
    """Return the last batch whose checksum matches, past damage after `since`; `since` if there is none.

    Args:
        segment: the segment that grows.
        since: a batch of it; None for its first.
        stop: where only zeros follow.
        experimental: see `logsegment.decode`.

    Raises:
        OSError: if the file cannot be read.
    """
    with _valid_from(segment, since[0] if since else 0, stop, experimental) as batches:
        return max(((one.position, one.crc, one.last_offset) for one in batches), default=since)


def damage_at(segment: SegmentFile, position: int, stop: int | None = None, *, experimental: bool = False) -> RecordBatchError | None:
    """Return the error of an invalid last entry, or None if it may still be being written: no valid batch follows its beginning.

    Args:
        segment: the segment that grows.
        position: where the entry begins.
        stop: where only zeros follow.
        experimental: see `logsegment.decode`.

    Raises:
        OSError: if the file cannot be read.
    """
    with _valid_from(segment, position, stop, experimental) as batches:
        is_followed = any(one.position > position for one in batches)
        findings = batches.findings
    return error_of(segment.path, findings[0], ReadOptions(experimental=experimental)) if is_followed and findings else None


def _valid_from(segment: SegmentFile, position: int, stop: int | None, experimental: bool) -> ValidBatches:
    return valid_batches(FileSource(segment.path, position, stop), ReadOptions(on_error="skip", experimental=experimental))
