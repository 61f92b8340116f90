"""Where a segment that grows ends: its last batch by headers or past damage, and whether what follows that is only unfinished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from logsegment import _core
from logsegment._core import CorruptError, FileSource, Finding, RecordBatchError, RecordStream
from logsegment.naming import in_file
from logsegment.reading import batch_stream
from logsegment.segments import SegmentFile

#: Position, checksum and last offset of a batch, by which it is known again.
Last: TypeAlias = tuple[int, int, int]
_LEAST = -(2**63)
_FIELDS = [(name, name) for name in ("isValid", "position", "crc", "lastOffset")]


class Tail(NamedTuple):
    """The end of a segment.

    Attributes:
        last: the last batch that counts: it is whole, and as the last one its checksum matches. None when there is none.
        unfinished: where an entry begins that does not count; None when there is none.
    """

    last: Last | None
    unfinished: int | None = None


def tail_of(segment: SegmentFile, since: Last | None, *, experimental: bool = False) -> Tail:
    """Walk along the headers behind a batch to the end.

    Args:
        segment: what grows.
        since: the batch, which stands there; None for a place near the end, as the index tells it.
        experimental: as in `logsegment.decode`.

    Raises:
        RecordBatchError: when a header is damaged.
        OSError: when the file cannot be read.
    """
    walked = _core.follow_log(segment.path, segment.base_offset or 0, since=since, is_checked=True, experimental=experimental)
    # Cut between two steps of one look: the next one sees it.
    return Tail(since) if walked is None else Tail(walked[0] or since, walked[3])


def stands(segment: SegmentFile, last: Last, *, experimental: bool = False) -> bool:
    """Whether a batch is still where it was.

    Raises:
        OSError: when the file cannot be read.
    """
    # Nothing behind it is looked at.
    return _core.follow_log(segment.path, segment.base_offset or 0, since=last, until=_LEAST, experimental=experimental) is not None


def last_intact(segment: SegmentFile, since: Last | None, *, experimental: bool = False) -> Last | None:
    """The last batch whose checksum matches, past damage behind `since`; that one when there is none.

    Raises:
        OSError: when the file cannot be read.
    """
    with _past_damage(segment, since[0] if since else 0, experimental) as stream:
        return max(_intact(stream), default=since)


def damage_at(segment: SegmentFile, position: int, *, experimental: bool = False) -> RecordBatchError | None:
    """What is wrong with an entry that does not count. None while it may only be unfinished, since no intact batch follows its beginning.

    Raises:
        OSError: when the file cannot be read.
    """
    with _past_damage(segment, position, experimental) as stream:
        is_followed = any(last[0] > position for last in _intact(stream))
        return _error(stream.findings[0], segment) if is_followed and stream.findings else None


def _past_damage(segment: SegmentFile, position: int, experimental: bool) -> RecordStream:
    return batch_stream(FileSource(segment.path, position), on_error="skip", experimental=experimental)


def _intact(stream: RecordStream) -> Iterator[Last]:
    for rows in stream:
        for line in rows.to_jsonl(fields=_FIELDS).splitlines():
            row = json.loads(line)
            if row["isValid"]:
                yield row["position"], row["crc"], row["lastOffset"]


def _error(finding: Finding, segment: SegmentFile) -> RecordBatchError:
    error = CorruptError(f"[{finding.rule}] at byte {finding.position}: {finding.message}")
    error.code, error.rule, error.position = "length", finding.rule, finding.position
    return in_file(error, segment.path)
