"""The state of an export: which offsets a table has, and which of them were damaged. Each commit carries it as properties."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

from logsegment._export.offset_ranges import NO_END, OffsetRanges
from logsegment._options import Isolation, ensure_one_of

#: Topic and number of a partition.
Partition: TypeAlias = tuple[str, int]

#: The properties of a commit. Their names are a versioned interface (docs/reference/versioning.md).
FORMAT = "logsegment.state-format"
OFFSETS = "logsegment.offsets"
DAMAGE = "logsegment.damage"
ISOLATION = "logsegment.isolation"
COMMIT = "logsegment.commit"
#: The format that this release writes and reads.
FORMAT_NUMBER = "1"


@dataclass(frozen=True, order=True)
class LostOffsets:
    """Offsets of a partition that could not be read.

    Attributes:
        topic, partition: the partition.
        start: the first offset.
        end: the offset after the last one; None if it is unknown.
        rule: why; see docs/reference/findings.md.
    """

    topic: str
    partition: int
    start: int
    end: int | None
    rule: str

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return {"topic": self.topic, "partition": self.partition, "start": self.start, "end": self.end, "rule": self.rule}


@dataclass(frozen=True)
class ExportState:
    """The offsets that a table has, by partition.

    Attributes:
        ranges: the offsets that were read.
        lost: the offsets that could not be read, without those that were read later.
        isolation: how they were read; None if it is not known.
    """

    ranges: Mapping[Partition, OffsetRanges] = field(default_factory=dict)
    lost: tuple[LostOffsets, ...] = ()
    isolation: Isolation | None = None

    def of(self, partition: Partition) -> OffsetRanges:
        """Return the offsets of a partition that were read."""
        return self.ranges.get(partition, OffsetRanges())

    def having(self, ranges: Mapping[Partition, OffsetRanges]) -> ExportState:
        """Return the state with more offsets that the table has."""
        merged = {partition: self.of(partition) | ranges.get(partition, OffsetRanges()) for partition in {**self.ranges, **ranges}}
        found = replace(self, ranges={partition: merged[partition] for partition in sorted(merged) if merged[partition]})
        return replace(found, lost=found._still_lost(self.lost))

    def adding(self, ranges: Mapping[Partition, OffsetRanges], lost: Iterable[LostOffsets], isolation: Isolation) -> ExportState:
        """Return the state after offsets were read, or could not be read."""
        return replace(self, lost=(*self.lost, *lost), isolation=isolation).having(ranges)

    def overlaps(self, ranges: Mapping[Partition, OffsetRanges]) -> bool:
        """Return True if some of the offsets were read."""
        return any(self.of(partition) & found for partition, found in ranges.items())

    def _still_lost(self, lost: Iterable[LostOffsets]) -> tuple[LostOffsets, ...]:
        """Return lost offsets without those that were read. A place without an end ends where later offsets were read."""
        found = set()
        for place in lost:
            read = self.of((place.topic, place.partition))
            if place.end is None:
                found |= {place} if (read.end or 0) <= place.start else set()
                continue
            found |= {replace(place, start=start, end=end) for start, end in OffsetRanges([(place.start, place.end)]) - read}
        return tuple(sorted(found, key=lambda place: (place.topic, place.partition, place.start, place.end or NO_END, place.rule)))

    def to_properties(self, commit_id: str) -> dict[str, str]:
        """Return the properties of a commit that carries the state."""
        offsets: dict[str, dict[str, Any]] = {}
        for (topic, partition), ranges in self.ranges.items():
            offsets.setdefault(topic, {})[str(partition)] = [list(pair) for pair in ranges]
        properties = {FORMAT: FORMAT_NUMBER, COMMIT: commit_id, OFFSETS: _json(offsets), ISOLATION: self.isolation or ""}
        damage: dict[str, dict[str, list[Any]]] = {}
        for place in self.lost:
            damage.setdefault(place.topic, {}).setdefault(str(place.partition), []).append([place.start, place.end, place.rule])
        return properties | ({DAMAGE: _json(damage)} if damage else {})

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self | None:
        """Return the state of a commit; None if the commit is not of an export.

        Raises:
            ValueError: if a newer release wrote the state, or the properties are invalid.
        """
        if properties.get(OFFSETS) is None:
            return None
        if properties.get(FORMAT) != FORMAT_NUMBER:
            raise ValueError(f"{FORMAT} is not supported: {properties.get(FORMAT)!r}; this release reads {FORMAT_NUMBER!r}")
        try:
            offsets, damage = json.loads(properties[OFFSETS]), json.loads(properties.get(DAMAGE) or "{}")
            ranges = {
                (topic, int(partition)): OffsetRanges((start, end) for start, end in pairs)
                for topic, partitions in offsets.items()
                for partition, pairs in partitions.items()
            }
            lost = tuple(
                LostOffsets(topic, int(partition), start, end, rule)
                for topic, partitions in damage.items()
                for partition, places in partitions.items()
                for start, end, rule in places
            )
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{OFFSETS} is invalid: {error}") from None
        isolation = properties.get(ISOLATION) or None
        if isolation is not None:
            ensure_one_of(ISOLATION, isolation, ("read_uncommitted", "read_committed"))
        return cls(ranges, lost, isolation)  # type: ignore[arg-type]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def ranges_of(lost: Iterable[LostOffsets]) -> OffsetRanges:
    """Return lost offsets as ranges."""
    return OffsetRanges((place.start, NO_END if place.end is None else place.end) for place in lost)
