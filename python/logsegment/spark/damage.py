"""Which task tells of a damaged place, when several have it among their bytes.

Findings and the offsets of a task go in, those that it tells come out. A place belongs to the offset behind the last intact batch before
it, and so to one task: what a damaged header claims says nothing. A batch that is withheld since its marker may be lost is intact, and
belongs to its own offset.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import logsegment as ls

#: Of an intact batch of a transaction in doubt.
_IN_DOUBT = "TRX-5"


def told_by(
    found: Sequence[ls.Finding],
    source: ls.FileSource,
    first_offset: int,
    start: int | None,
    end: int | None,
    limits: ls.Limits | None = None,
) -> list[ls.Finding]:
    """The findings that belong to offsets from `start` to before `end`.

    Args:
        found: in the bytes of `source`.
        source: what was read; an intact batch before `start` is among it, or the beginning of the segment.
        first_offset: of the segment.
        start: first offset of the task; None for all.
        end: behind its last offset; None for all.
        limits: as the task has them.

    Raises:
        OSError: when the file cannot be read.
    """
    if (start is None and end is None) or not found:
        return list(found)
    positions, behind = _intact(source, limits)

    def offset(one: ls.Finding) -> int:
        if one.rule == _IN_DOUBT and one.baseOffset is not None:
            return one.baseOffset
        before = bisect_left(positions, one.position)
        return behind[before - 1] if before else first_offset

    return [one for one in found if (start is None or start <= offset(one)) and (end is None or offset(one) < end)]


def _intact(source: ls.FileSource, limits: ls.Limits | None) -> tuple[list[int], list[int]]:
    """Positions of intact batches, and the offsets behind them."""
    positions: list[int] = []
    behind: list[int] = []
    for rows in ls.batch_stream(source, on_error="skip", limits=limits):
        table = rows.to_pyarrow()
        columns = (table.column(name).to_pylist() for name in ("isValid", "position", "lastOffset"))
        for is_valid, position, last in zip(*columns, strict=True):
            if is_valid and last is not None:
                positions.append(position)
                behind.append(last + 1)
    return positions, behind
