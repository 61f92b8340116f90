"""The column `internal`: which records it is for, and where the name of their topic is found."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from logsegment._core import FileSource, internal_topics
from logsegment._options import names
from logsegment.segment_files.discovery import SegmentFile, segment_at
from logsegment.stores.uri import shown

#: The column, and what `decode` may be: there is one kind of records that say what they are.
INTERNAL = "internal"
#: Topics that are named; of the others the number is told.
NAMED = 3
#: What a record is when nobody names columns.
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


def is_internal(decode: str | None) -> bool:
    """Whether records are to be decoded.

    Raises:
        ValueError: for a word that means nothing.
    """
    if decode not in (None, INTERNAL):
        raise ValueError(f'decode must be "{INTERNAL}" or None, not {decode!r}')
    return decode == INTERNAL


def with_internal(columns: Sequence[str] | None) -> list[str]:
    """The columns, and the one of decoded fields behind them unless they name it."""
    chosen = list(COLUMNS if columns is None else columns)
    return chosen if INTERNAL in chosen else [*chosen, INTERNAL]


def columns_with(decode: str | None, columns: Sequence[str] | None) -> list[str] | None:
    """The columns that are to be built; None for those of every record.

    Raises:
        ValueError, TypeError: for a word that means nothing, and for what are no names.
    """
    chosen = names(columns)
    return with_internal(chosen) if is_internal(decode) else chosen


def ensure_topics(decode: str | None, segments: Iterable[SegmentFile], *, control: bool) -> None:
    """Fail where records are to be decoded whose topic no directory tells, instead of giving nothing but null.

    Args:
        control: control records are given too, which say what they are in any topic.

    Raises:
        ValueError: then.
    """
    unknown = next((segment for segment in segments if segment.topic is None), None)
    if is_internal(decode) and unknown is not None and not control:
        words = "no directory tells which internal topic this is of; logsegment.decode reads it with topic="
        raise ValueError(f"decode: {shown(unknown.path)}: {words}")


def warn_of_others(decode: str | None, topics: Iterable[str | None], *, control: bool, stacklevel: int = 3) -> None:
    """Say that none of the topics is internal where records are to be decoded, so that the column will be null throughout.

    Args:
        control: control records are given too, which say what they are in any topic.
        stacklevel: as in `warnings.warn`; the caller of who calls this by default.
    """
    if is_internal(decode) and not control and (others := only_others(topics)):
        warnings.warn(f'decode="{INTERNAL}": {others}', UserWarning, stacklevel=stacklevel)


def only_others(topics: Iterable[str | None]) -> str | None:
    """What is told of topics of which none is internal; None when one is, or there are none."""
    named = dict.fromkeys(topics)
    return None if any(name in internal_topics() for name in named) else told_of_others(named)


def told_of_others(topics: Iterable[str | None]) -> str | None:
    """What is told of those topics that are not internal; None when there are none."""
    known = internal_topics()
    others = [name for name in dict.fromkeys(topics) if name is not None and name not in known]
    if not others:
        return None
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    are, their = ("is no internal topic", "its") if len(others) == 1 else ("are no internal topics", "their")
    return f"{', '.join(others[:NAMED])}{more} {are} of Kafka: `{INTERNAL}` is null in {their} records"


def topic_of(source: Any) -> str | None:
    """The topic that the directory of a file is named after."""
    return segment_at(source.path).topic if isinstance(source, FileSource) else None
