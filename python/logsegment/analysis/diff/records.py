"""The records of one side of a stretch: compared as Arrow columns where pyarrow is there, and as lines of JSON where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from logsegment._core import ArrowBatch
from logsegment.analysis.diff.sides import LAST

OFFSET_AT = len(b'{"offset":')


class Records:
    """Records one after the other.

    Args:
        batches: they, with the offset as first column.
        is_large: there are so many that columns are worth it.
    """

    def __init__(self, batches: Iterator[ArrowBatch], *, is_large: bool) -> None:
        self._batches = batches
        self._has_columns = is_large and find_spec("pyarrow") is not None
        self._size = self._at = 0
        self._batch: ArrowBatch | None = None
        self._columns: Any = None
        self._lines: list[bytes] | None = None
        self.is_ended = False
        self._settle()

    def offset(self) -> int:
        """Of the next record; behind all of them at the end."""
        if self.is_ended:
            return LAST + 1
        line = self.lines()[self._at]
        return int(line[OFFSET_AT : line.index(b",")])

    def take(self) -> bytes:
        """The next record."""
        line = self.lines()[self._at]
        self._advance(1)
        return line

    def skip_same(self, other: Records) -> int:
        """Go past records that are the same; gives how many."""
        count = min(self._size - self._at, other._size - other._at)
        if not (count and self._is_same(other, count)):
            count = self._common(other, count)
        self._advance(count)
        other._advance(count)
        return count

    def lines(self) -> list[bytes]:
        """The records of this batch as lines."""
        if self._lines is None:
            self._lines = self._batch.to_jsonl().splitlines() if self._batch is not None else []
        return self._lines

    def _is_same(self, other: Records, count: int) -> bool:
        """Whether so many records are the same, by their columns. Once there are lines, these are quicker to look at."""
        if self._columns is None or other._columns is None or self._lines is not None or other._lines is not None:
            return False
        same: bool = self._columns.slice(self._at, count).equals(other._columns.slice(other._at, count))
        return same

    def _common(self, other: Records, count: int) -> int:
        if not count:
            return 0
        ours, theirs, at, there = self.lines(), other.lines(), self._at, other._at
        end = at + count
        while at < end and ours[at] == theirs[there]:
            at += 1
            there += 1
        return at - self._at

    def _advance(self, count: int) -> None:
        self._at += count
        self._settle()

    def _settle(self) -> None:
        while self._at >= self._size and not self.is_ended:
            self._batch = next(self._batches, None)
            self._at, self._lines, self._columns = 0, None, None
            self.is_ended = self._batch is None
            self._size = 0 if self._batch is None else self._batch.num_rows
            if self._has_columns and self._batch is not None:
                self._columns = self._batch.to_pyarrow()
