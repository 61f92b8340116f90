"""Where a segment that grows ends: its last batch by headers or past damage, and whether what follows that is only unfinished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from logsegment._core import FileSource, RecordBatchError, RecordStream, follow_log
from logsegment._decode import batch_stream
from logsegment.log.faults import error_of
from logsegment.segment_files.discovery import SegmentFile

#: Position, checksum and last offset of a batch, by which it is known again.
Last: TypeAlias = tuple[int, int, int]
#: Nothing is known of zeros at the end of a segment.
NO_ZEROS = (0, 0)
_LEAST = -(2**63)
_FIELDS = [(name, name) for name in ("isValid", "position", "crc", "lastOffset")]


class Tail(NamedTuple):
    """The end of a segment.

    Attributes:
        last: the last batch that counts: it is whole, and as the last one its checksum matches. None when there is none.
        unfinished: where an entry begins that does not count; None when there is none.
        zeros: bytes that are zeros, as a preallocated segment ends in, for the next walk along it.
    """

    last: Last | None
    unfinished: int | None = None
    zeros: tuple[int, int] = NO_ZEROS

    @property
    def stop(self) -> int | None:
        """Where nothing but zeros follows; None when the segment does not end in zeros."""
        return self.zeros[0] if self.zeros != NO_ZEROS else None


def tail_of(segment: SegmentFile, since: Last | None, zeros: tuple[int, int] = NO_ZEROS, *, experimental: bool = False) -> Tail:
    """Walk along the headers behind a batch to the end.

    Args:
        segment: what grows.
        since: the batch, which stands there; None for a place near the end, as the index tells it.
        zeros: of an earlier `Tail` of the segment: they are not read again.
        experimental: as in `logsegment.decode`.

    Raises:
        RecordBatchError: when a header is damaged.
        OSError: when the file cannot be read.
    """
    base = segment.base_offset or 0
    walked = follow_log(segment.path, base, since=since, zeros=zeros, is_checked=True, experimental=experimental)
    # Cut between two steps of one look: the next one sees it.
    return Tail(since) if walked is None else Tail(walked.last or since, walked.unfinished, walked.zeros)


def stands(segment: SegmentFile, last: Last, *, experimental: bool = False) -> bool:
    """Whether a batch is still where it was.

    Raises:
        OSError: when the file cannot be read.
    """
    # Nothing behind it is looked at.
    return follow_log(segment.path, segment.base_offset or 0, since=last, until=_LEAST, experimental=experimental) is not None


def last_intact(segment: SegmentFile, since: Last | None, stop: int | None = None, *, experimental: bool = False) -> Last | None:
    """The last batch whose checksum matches, past damage behind `since`; that one when there is none.

    Args:
        segment: what grows.
        since: a batch that stands there; None for its first.
        stop: where nothing but zeros follows.
        experimental: as in `logsegment.decode`.

    Raises:
        OSError: when the file cannot be read.
    """
    with _past_damage(segment, since[0] if since else 0, stop, experimental) as stream:
        return max(_intact(stream), default=since)


def damage_at(segment: SegmentFile, position: int, stop: int | None = None, *, experimental: bool = False) -> RecordBatchError | None:
    """What is wrong with an entry that does not count. None while it may only be unfinished, since no intact batch follows its beginning.

    Args:
        segment: what grows.
        position: where the entry begins.
        stop: where nothing but zeros follows.
        experimental: as in `logsegment.decode`.

    Raises:
        OSError: when the file cannot be read.
    """
    with _past_damage(segment, position, stop, experimental) as stream:
        is_followed = any(last[0] > position for last in _intact(stream))
        return error_of(segment.path, stream.findings[0], experimental=experimental) if is_followed and stream.findings else None


def _past_damage(segment: SegmentFile, position: int, stop: int | None, experimental: bool) -> RecordStream:
    return batch_stream(FileSource(segment.path, position, stop), on_error="skip", experimental=experimental)


def _intact(stream: RecordStream) -> Iterator[Last]:
    for rows in stream:
        for line in rows.to_jsonl(fields=_FIELDS).splitlines():
            row = json.loads(line)
            if row["isValid"]:
                yield row["position"], row["crc"], row["lastOffset"]
