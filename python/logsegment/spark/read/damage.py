"""Which task tells of a damaged place, when several have it among their bytes.

Findings and the offsets of a task go in, those that it tells come out. A place reaches from the offset behind the last intact batch before
it to the first one of the next intact batch, whatever a damaged header claims. An intact batch of which nothing can be given (its marker
may be lost, its records are not what they should be) has its own offsets. The task that has the first of them tells it; where the query
begins inside of them, the task with which it begins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from logsegment._core import FileSource, Finding, Limits
from logsegment._decode import batch_stream


@dataclass(frozen=True, slots=True)
class Share:
    """The offsets of a segment that one task has.

    Attributes:
        first: of the segment.
        start: first offset of the task; None for all.
        end: behind its last offset; None for all.
        resumes: another task has the offsets before `start`, or a micro-batch before had them; else the query begins there.
    """

    first: int
    start: int | None
    end: int | None
    resumes: bool = False

    def tells(self, begin: int, behind: int | None) -> bool:
        """Whether a place with offsets from `begin` to before `behind` (None where nothing tells it) is told by this task."""
        if self.start is not None and not self.resumes and (behind is None or behind > self.start):
            begin = max(begin, self.start)
        return (self.start is None or self.start <= begin) and (self.end is None or begin < self.end)


def told_by(
    found: Sequence[Finding], source: FileSource, share: Share, *, limits: Limits | None = None, experimental: bool = False
) -> list[Finding]:
    """The findings that a task tells.

    Args:
        found: in the bytes of `source`.
        source: what was read: from an intact batch before the first offset on, or the beginning of the segment.
        share: the offsets of the task.
        limits: as the task has them.
        experimental: as the task has it.

    Raises:
        OSError: when the file cannot be read.
    """
    if (share.start is None and share.end is None) or not found:
        return list(found)
    intact = _Intact(source, limits=limits, experimental=experimental)
    return [one for one in found if one == source.finding or share.tells(*intact.offsets(one.position, share.first))]


class _Intact:
    """The intact batches of a source, and the one behind it."""

    def __init__(self, source: FileSource, **options: Any) -> None:
        self._positions: list[int] = []
        self._firsts: list[int | None] = []
        self._lasts: list[int] = []
        for position, first, last in chain(_walked(source, **options), _behind(source, **options)):
            self._positions.append(position)
            self._firsts.append(first)
            self._lasts.append(last)

    def offsets(self, position: int, first_of_all: int) -> tuple[int, int | None]:
        """The offsets that the place at `position` may have: the first, and the one behind them, None where no intact batch follows."""
        at = bisect_left(self._positions, position)
        least = self._lasts[at - 1] + 1 if at else first_of_all
        if at == len(self._positions):
            return least, None
        first, last = self._firsts[at], self._lasts[at]
        if self._positions[at] == position:
            return least if first is None else first, last + 1
        return least, last if first is None else first


def _walked(source: FileSource, **options: Any) -> Iterator[tuple[int, int | None, int]]:
    """Position, first offset where the header tells it, and last offset of intact batches."""
    for rows in batch_stream(source, on_error="skip", **options):
        table = rows.to_pyarrow()
        columns = (table.column(name).to_pylist() for name in ("isValid", "position", "baseOffset", "lastOffset"))
        for is_valid, position, first, last in zip(*columns, strict=True):
            if is_valid and last is not None:
                yield position, first, last


def _behind(source: FileSource, **options: Any) -> Iterator[tuple[int, int | None, int]]:
    """The intact batch behind a source that is cut, which tells how far damage in front of it reaches."""
    if source.end is not None:
        yield from islice(_walked(FileSource(source.path, source.end), batch_size=1, **options), 1)
