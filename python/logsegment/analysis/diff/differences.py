"""What a comparison tells: differences as ranges of offsets, and damage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from logsegment._core import Finding

Which: TypeAlias = Literal["a", "b"]
Kind: TypeAlias = Literal["missing", "changed", "unreadable", "batches"]


@dataclass(slots=True)
class Difference:
    """Offsets that follow each other and differ in the same way.

    Attributes:
        kind: "missing": only the other side has these records; "changed": both have them, with other content; "unreadable": the other
            side has them, and this one is damaged there, so nobody knows; "batches": the same records in other batches (when asked for).
        side: which of the two lacks or cannot read them; None for "changed" and "batches".
        first_offset: of the first record; where whole batches are missing, of the first batch.
        last_offset: of the last one (inclusive).
        records: how many.
        fields: what differs: "key", "value", "timestamp", "headers", "isControl"; of batches the names of their columns.
    """

    kind: Kind
    side: Which | None
    first_offset: int
    last_offset: int
    records: int
    fields: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The attributes as JSON has them."""
        told: dict[str, Any] = {"type": self.kind, "side": self.side, "firstOffset": self.first_offset, "lastOffset": self.last_offset}
        return told | {"records": self.records, "fields": list(self.fields)}


@dataclass(frozen=True, slots=True)
class Damage:
    """A place that cannot be read.

    Attributes:
        side: where.
        path: the file.
        finding: as `logsegment.validate` tells it; its position counts in the file.
    """

    side: Which
    path: str
    finding: Finding


@dataclass(slots=True)
class Totals:
    """Counts of a comparison so far.

    Attributes:
        same_records: records that are the same on both sides; without those of compressed messages of magic 0 and 1 that agree by
            their headers, which do not count them.
        same_batches: batches among them whose headers and checksums agree; they were not unpacked.
        missing_a: records that `a` lacks.
        missing_b: records that `b` lacks.
        changed: records with other content.
        unreadable: records that one side has where the other is damaged.
        batches: stretches of the log where batches differ; told as differences when they are asked for.
        damage: places that cannot be read.
        unopened: batches that are whole and whose plugin is not here, or failed; none of them counts as damage.
    """

    same_records: int = 0
    same_batches: int = 0
    missing_a: int = 0
    missing_b: int = 0
    changed: int = 0
    unreadable: int = 0
    batches: int = 0
    damage: int = 0
    unopened: int = 0


@dataclass(slots=True)
class Runs:
    """Joins what differs in the same way, one after the other."""

    totals: Totals
    _run: Difference | None = field(default=None)

    def add(self, found: Difference) -> Iterator[Difference]:
        """Take a difference; the run before it comes out when this one is not its continuation."""
        self._count(found)
        run = self._run
        if run is not None and (run.kind, run.side, run.fields) == (found.kind, found.side, found.fields):
            run.last_offset = max(run.last_offset, found.last_offset)
            run.records += found.records
            return
        yield from self.ended()
        self._run = found

    def ended(self) -> Iterator[Difference]:
        """The run that is under way: something else follows."""
        if self._run is not None:
            yield self._run
            self._run = None

    def _count(self, found: Difference) -> None:
        name = f"missing_{found.side}" if found.kind == "missing" else found.kind
        setattr(self.totals, name, getattr(self.totals, name) + (1 if found.kind == "batches" else found.records))
