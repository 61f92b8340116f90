"""Counters of bounded size, whatever the length of the logs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Point:
    """A bucket of a series.

    Attributes:
        start: its first offset, or its time in ms.
        bytes, records: of its batches.
        first_time, last_time: the earliest and the latest of their largest timestamps, in ms; None where there is none, and over times.
        late: batches whose time is before that of an earlier one; 0 over times.
    """

    start: int
    bytes: int
    records: int
    first_time: int | None
    last_time: int | None
    late: int


@dataclass(frozen=True)
class Series:
    """Batches over offsets or times, in at most 120 buckets; the empty ones in between are there too.

    Attributes:
        width: of a bucket, in offsets or ms.
        points: the buckets.
    """

    width: int = 1
    points: list[Point] = field(default_factory=list)


@dataclass(frozen=True)
class Histogram:
    """How many of which size, by powers of two: bucket n counts sizes from 2**(n-1) to before 2**n, bucket 0 those of 0."""

    counts: dict[int, int] = field(default_factory=dict)
    total: int = 0
    sum: int = 0
    least: int | None = None
    most: int | None = None

    @property
    def mean(self) -> float | None:
        """The mean size."""
        return self.sum / self.total if self.total else None


@dataclass
class Sampled:
    """Batches of a codec that were unpacked, and the bytes of their records, packed and plain."""

    batches: int = 0
    packed: int = 0
    plain: int = 0


@dataclass
class CodecStats:
    """Batches of one codec. `sampled_packed` and `sampled_plain` are the bytes of the records of some of them, packed and unpacked."""

    batches: int = 0
    records: int = 0
    bytes: int = 0
    sampled: int = 0
    sampled_packed: int = 0
    sampled_plain: int = 0

    @property
    def ratio(self) -> float | None:
        """Unpacked bytes for each packed one, of the sample."""
        return self.sampled_plain / self.sampled_packed if self.sampled_packed else None


@dataclass
class ProducerStats:
    """Batches of one producer id; sequences and epochs as the headers have them."""

    batches: int = 0
    records: int = 0
    transactional: int = 0
    epoch: int = -1
    is_open: bool = False


@dataclass(frozen=True)
class Gap:
    """Offsets that no batch covers, between two batches of a partition."""

    log: str
    first: int
    last: int


@dataclass
class Stats:
    """What the headers of all batches tell. Everything in it is bounded, whatever the length of the logs.

    Attributes:
        files, bytes, batches: what was looked at; `bytes` of whole batches.
        records: records that headers count; those of `uncounted` compressed messages of magic 0, 1 and Kafka 0.7 only unpacking tells.
        produced: offsets of all batches, those of records that compaction has taken too.
        formats, codecs: by magic and by codec.
        sizes, counts: histograms of batch sizes (bytes) and of records in a batch.
        by_offset, by_time: bytes and records over base offsets and over `maxTimestamp` (ms).
        first_offset, last_offset, first_time, last_time: of all batches.
        gaps, gap_count, missing: offsets between batches that none covers.
        overlaps: batches that begin at or before the end of the one before.
        late, latest_step: batches whose time is before an earlier one's, and by how many ms at most.
        untimed: batches without a time.
        timestamp_types: batches by Kafka's name.
        producers, other_producers: by id, and how many more there are.
        transactional, control: batches.
        markers: control records by type.
        damage: the first findings of what was stepped over: severity, rule, file, position, message.
        damage_counts: all of them, by severity.
    """

    files: int = 0
    bytes: int = 0
    batches: int = 0
    records: int = 0
    uncounted: int = 0
    produced: int = 0
    formats: dict[str, int] = field(default_factory=dict)
    codecs: dict[str, CodecStats] = field(default_factory=dict)
    sizes: Histogram = field(default_factory=Histogram)
    counts: Histogram = field(default_factory=Histogram)
    by_offset: Series = field(default_factory=Series)
    by_time: Series = field(default_factory=Series)
    first_offset: int | None = None
    last_offset: int | None = None
    first_time: int | None = None
    last_time: int | None = None
    gaps: list[Gap] = field(default_factory=list)
    gap_count: int = 0
    missing: int = 0
    overlaps: int = 0
    late: int = 0
    latest_step: int = 0
    untimed: int = 0
    timestamp_types: dict[str, int] = field(default_factory=dict)
    producers: dict[int, ProducerStats] = field(default_factory=dict)
    other_producers: int = 0
    transactional: int = 0
    control: int = 0
    markers: dict[str, int] = field(default_factory=dict)
    damage: list[dict[str, Any]] = field(default_factory=list)
    damage_counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        counts: dict[str, Any],
        sampled: dict[str, Sampled],
        files: int,
        markers: dict[str, int],
        damage: tuple[list[dict[str, Any]], dict[str, int]],
    ) -> Stats:
        """What `BatchCounter.counts` gives, and what looking into batches has shown."""
        codecs = {}
        for name, (batches, records, size) in counts["codecs"]:
            sample = sampled.get(name, Sampled())
            codecs[name] = CodecStats(batches, records, size, sample.batches, sample.packed, sample.plain)
        parts = {
            "codecs": codecs,
            "gaps": [Gap(*gap) for gap in counts["gaps"]],
            "producers": {producer_id: ProducerStats(*told) for producer_id, told in counts["producers"]},
            "sizes": _histogram(*counts["sizes"]),
            "counts": _histogram(*counts["counts"]),
            "by_offset": _series(*counts["by_offset"]),
            "by_time": _series(*counts["by_time"]),
        }
        told_damage = {"damage": list(damage[0]), "damage_counts": dict(damage[1])}
        return cls(**counts | parts | told_damage, files=files, markers=dict(markers))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python, ready for JSON."""
        told = asdict(self)
        for point in told["by_time"]["points"]:
            del point["first_time"], point["last_time"], point["late"]
        for name, codec in self.codecs.items():
            told["codecs"][name]["ratio"] = codec.ratio
        return told


def _histogram(counts: list[tuple[int, int]], total: int, sum_: int, least: int | None, most: int | None) -> Histogram:
    return Histogram(dict(counts), total, sum_, least, most)


def _series(width: int, points: list[tuple[int, int, int, tuple[int, int] | None, int]]) -> Series:
    told = []
    for start, size, records, times, late in points:
        first, last = times or (None, None)
        told.append(Point(start, size, records, first, last, late))
    return Series(width, told)
