"""The column `internal`: which records it is for, and where the name of their topic is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logsegment._core import FileSource
from logsegment.segments import segment_at

#: The column, and what `decode` may be: there is one kind of records that say what they are.
INTERNAL = "internal"
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


def topic_of(source: Any) -> str | None:
    """The topic that the directory of a file is named after."""
    return segment_at(source.path).topic if isinstance(source, FileSource) else None
