"""Counters of bounded size, whatever the length of the logs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: Buckets of a series; where more are needed, two of them become one.
BUCKETS = 120
#: Producers and gaps that are kept one by one; the others are only counted.
MOST_PRODUCERS = 10_000
MOST_GAPS = 1_000


@dataclass
class Series:
    """Bytes and records over offsets or times, in buckets whose width doubles as the range grows.

    Attributes:
        width: of a bucket, in offsets or ms.
        bytes, records: by the number of the bucket; bucket n begins at n * width.
    """

    width: int = 1
    bytes: dict[int, int] = field(default_factory=dict)
    records: dict[int, int] = field(default_factory=dict)

    def add(self, at: int, size: int, records: int) -> None:
        """Count a batch at an offset or time."""
        bucket = at // self.width
        self.bytes[bucket] = self.bytes.get(bucket, 0) + size
        self.records[bucket] = self.records.get(bucket, 0) + records
        while len(self.bytes) > 1 and max(self.bytes) - min(self.bytes) >= BUCKETS:
            self.width *= 2
            self.bytes, self.records = _halved(self.bytes), _halved(self.records)

    def points(self) -> list[tuple[int, int, int]]:
        """Start, bytes and records of each bucket from the first to the last, the empty ones too."""
        if not self.bytes:
            return []
        buckets = range(min(self.bytes), max(self.bytes) + 1)
        return [(bucket * self.width, self.bytes.get(bucket, 0), self.records.get(bucket, 0)) for bucket in buckets]


@dataclass
class Histogram:
    """How many of which size, by powers of two: bucket n counts sizes from 2**(n-1) to before 2**n, bucket 0 those of 0."""

    counts: dict[int, int] = field(default_factory=dict)
    total: int = 0
    sum: int = 0
    least: int | None = None
    most: int | None = None

    def add(self, size: int) -> None:
        """Count one."""
        bucket = max(size, 0).bit_length()
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.total += 1
        self.sum += size
        self.least = size if self.least is None else min(self.least, size)
        self.most = size if self.most is None else max(self.most, size)

    @property
    def mean(self) -> float | None:
        """The mean size."""
        return self.sum / self.total if self.total else None


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

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python, ready for JSON."""
        told = asdict(self)
        for name in ("by_offset", "by_time"):
            series: Series = getattr(self, name)
            points = [{"start": start, "bytes": size, "records": records} for start, size, records in series.points()]
            told[name] = {"width": series.width, "points": points}
        for name, codec in self.codecs.items():
            told["codecs"][name]["ratio"] = codec.ratio
        return told


def _halved(buckets: dict[int, int]) -> dict[int, int]:
    halved: dict[int, int] = {}
    for bucket, count in buckets.items():
        halved[bucket // 2] = halved.get(bucket // 2, 0) + count
    return halved
