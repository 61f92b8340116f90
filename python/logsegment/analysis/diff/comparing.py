"""Two sides of one partition held against each other: by the headers of their batches where these agree, record by record where not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from logsegment._validate import is_unopened
from logsegment.analysis.diff.differences import Damage, Difference, Runs, Totals
from logsegment.analysis.diff.records import Records
from logsegment.analysis.diff.sides import BATCHING, FIRST, LAST, RECORD, SAME, Chunk, Piece, Row, Side

COUNT = re.compile(rb'"count":(\d+)')
#: Bytes of a stretch from which on pyarrow is worth the time that its import takes.
LARGE = 4 << 20


@dataclass(slots=True)
class Stretch:
    """Batches of both sides that do not agree, up to where they agree again."""

    a: list[Piece] = field(default_factory=list)
    b: list[Piece] = field(default_factory=list)
    first: int = LAST
    last: int = FIRST
    a_batches: int = 0
    b_batches: int = 0
    fields: set[str] = field(default_factory=set)

    @property
    def bytes(self) -> int:
        """Of both sides."""
        return sum(end - start for _, start, end in (*self.a, *self.b))

    def take(self, side: Side, row: Row, chunk: Chunk) -> None:
        """Add a batch of a side."""
        pieces = self.a if side.name == "a" else self.b
        start, end = row["position"], row["position"] + row["size"]
        if pieces and pieces[-1][0] == chunk.path and pieces[-1][2] == start:
            pieces[-1] = (chunk.path, pieces[-1][1], end)
        else:
            pieces.append((chunk.path, start, end))
        self.first = min(self.first, row["lastOffset"] if row["baseOffset"] is None else row["baseOffset"])
        self.last = max(self.last, row["lastOffset"])
        self.a_batches += side.name == "a"
        self.b_batches += side.name == "b"


class Comparing:
    """The work of one comparison. What it gives are differences and damage, in the order in which they are met."""

    def __init__(self, a: Side, b: Side, totals: Totals, *, is_deep: bool, with_batches: bool) -> None:
        self.a, self.b = a, b
        self.totals = totals
        self._is_deep = is_deep
        self._with_batches = with_batches
        self._runs = Runs(totals)

    def found(self) -> Iterator[Difference | Damage]:
        """Compare to the end."""
        while self.a.chunk is not None or self.b.chunk is not None:
            if not self._is_deep and self._skip_same():
                yield from self._runs.ended()
            elif (missing := self._missing_batch()) is not None:
                yield from self._runs.add(missing)
            else:
                yield from self._compare(self._stretch())
            yield from self._damage()
        yield from self._runs.ended()
        yield from self._damage()

    def _skip_same(self) -> bool:
        """Go past batches that agree; false when the next ones do not."""
        a, b = self.a, self.b
        if a.chunk is None or b.chunk is None or a.line() != b.line():
            return False
        ours, theirs, begin, at, other = a.chunk.lines, b.chunk.lines, a.at, a.at, b.at
        end = min(len(ours), at + len(theirs) - other)
        while at < end and ours[at] == theirs[other]:
            at += 1
            other += 1
        self.totals.same_batches += at - begin
        self.totals.same_records += sum(map(int, COUNT.findall(b"\n".join(ours[begin:at]))))
        a.at, b.at = at, other
        a.settle()
        b.settle()
        return True

    def _missing_batch(self) -> Difference | None:
        """The next batch of one side when the other has nothing there; its header counts the records."""
        x, y = self.a.row(), self.b.row()
        if self._is_deep:
            return None
        for row, other, has, lacks in ((x, y, self.a, self.b), (y, x, self.b, self.a)):
            if row is None or row["baseOffset"] is None or row["count"] is None:
                continue
            is_before = other is None or (other["baseOffset"] is not None and row["lastOffset"] < other["baseOffset"])
            if is_before and not lacks.is_lost(row["baseOffset"], row["lastOffset"]):
                has.advance()
                return Difference("missing", lacks.name, row["baseOffset"], row["lastOffset"], row["count"])
        return None

    def _stretch(self) -> Stretch:
        """Take batches of both sides until the next ones agree, those that end first before the others."""
        a, b, stretch = self.a, self.b, Stretch()
        while a.chunk is not None or b.chunk is not None:
            if (stretch.a or stretch.b) and not self._is_deep and a.line() == b.line():
                break
            x, y = a.row(), b.row()
            takes_a = x is not None and (y is None or x["lastOffset"] <= y["lastOffset"])
            takes_b = y is not None and (x is None or y["lastOffset"] <= x["lastOffset"])
            if x is not None and y is not None and takes_a and takes_b:
                stretch.fields |= {name for name in (*SAME, *BATCHING) if x[name] != y[name]}
            else:
                stretch.fields.add("lastOffset")
            for side, row, is_taken in ((a, x, takes_a), (b, y, takes_b)):
                if is_taken and row is not None and side.chunk is not None:
                    stretch.take(side, row, side.chunk)
                    side.advance()
        return stretch

    def _compare(self, stretch: Stretch) -> Iterator[Difference | Damage]:
        """Decode a stretch and compare its records."""
        same = different = 0
        whole = stretch.first, stretch.last
        is_large = stretch.bytes >= LARGE
        ours = Records(self.a.records(stretch.a, whole), is_large=is_large)
        theirs = Records(self.b.records(stretch.b, whole), is_large=is_large)
        while not (ours.is_ended and theirs.is_ended):
            if count := ours.skip_same(theirs):
                yield from self._runs.ended()
                same += count
                continue
            different += 1
            yield from self._runs.add(self._differing(ours, theirs))
        self.totals.same_records += same
        has_batches = stretch.a_batches > 0 and stretch.b_batches > 0
        if stretch.fields and has_batches and not different and not (self.a.damage or self.b.damage):
            yield from self._batches(stretch, same)

    def _differing(self, ours: Records, theirs: Records) -> Difference:
        """What is wrong with the next records, which are not the same."""
        x, y = ours.offset(), theirs.offset()
        if x == y:
            one, other = json.loads(ours.take()), json.loads(theirs.take())
            fields = tuple(shown for name, shown in RECORD.items() if one[name] != other[name])
            return Difference("changed", None, x, x, 1, fields)
        if x < y:
            ours.take()
            return self._lacking(self.b, x)
        theirs.take()
        return self._lacking(self.a, y)

    def _lacking(self, side: Side, offset: int) -> Difference:
        return Difference("unreadable" if side.is_lost(offset, offset) else "missing", side.name, offset, offset, 1)

    def _batches(self, stretch: Stretch, records: int) -> Iterator[Difference]:
        """Tell that the same records lie in other batches."""
        if self._with_batches:
            yield from self._runs.add(Difference("batches", None, *(stretch.first, stretch.last), records, tuple(sorted(stretch.fields))))
            yield from self._runs.ended()
        else:
            self.totals.batches += 1

    def _damage(self) -> Iterator[Damage]:
        for side in (self.a, self.b):
            # What is unpacked here has its checksum compared, here or before.
            unopened = sum(is_unopened(one.finding) for one in side.damage)
            self.totals.unopened += unopened
            self.totals.damage += len(side.damage) - unopened
            yield from side.damage
            side.damage.clear()
