"""The results of counting: `Stats`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from logsegment._text import camel_case, plain_values
from logsegment.analysis.recompression import Recompression
from logsegment.analysis.series import Histogram, Series, histogram_of, series_of
from logsegment.analysis.v3_savings import V3Savings

#: Directory or file, topic and partition.
Place: TypeAlias = tuple[str, str | None, int | None]


@dataclass
class Sampled:
    """Batches of a codec that were unpacked, and the bytes of their records, packed and plain."""

    batches: int = 0
    compressed: int = 0
    decompressed: int = 0


@dataclass
class CodecStats:
    """Batches of one codec. `sampled_compressed` and `sampled_decompressed` are the bytes of the records of some of them, in both forms."""

    batches: int = 0
    records: int = 0
    bytes: int = 0
    sampled: int = 0
    sampled_compressed: int = 0
    sampled_decompressed: int = 0

    @property
    def ratio(self) -> float | None:
        """Unpacked bytes for each packed one, of the sample."""
        return self.sampled_decompressed / self.sampled_compressed if self.sampled_compressed else None


@dataclass
class ProducerStats:
    """Batches of one producer id; sequences and epochs as the headers have them."""

    batches: int = 0
    records: int = 0
    transactional: int = 0
    epoch: int = -1
    is_open: bool = False


@dataclass(frozen=True)
class PartitionStats:
    """Batches of one partition, or of one file that is in no partition's directory.

    Attributes:
        path: the directory, or the file.
        topic, partition: from the name of the directory; None if that is not a partition's name.
        files, batches, records, bytes: as in `Stats`.
        first_offset, last_offset, first_time, last_time: as in `Stats`.
    """

    path: str
    topic: str | None
    partition: int | None
    files: int
    batches: int
    records: int
    bytes: int
    first_offset: int | None
    last_offset: int | None
    first_time: int | None
    last_time: int | None


@dataclass(frozen=True)
class Gap:
    """Offsets that no batch covers, between two batches of a partition."""

    log: str
    first: int
    last: int


@dataclass
class Stats:
    """Statistics of the headers of all batches, of bounded size for logs of any length.

    Attributes:
        files, bytes, batches: what was looked at; `bytes` of whole batches.
        records: records by the headers, without those of the `uncounted` compressed messages of magic 0, 1 and Kafka 0.7.
        produced: offsets of all batches, those of records that compaction has taken too.
        formats, codecs: by magic and by codec.
        sizes, counts: histograms of batch sizes (bytes) and of records in a batch.
        by_offset, by_time: bytes and records over base offsets and over `maxTimestamp` (ms).
        first_offset, last_offset: of all batches.
        first_time: the time of the first record of the first batch that has one, in ms; of several partitions, the earliest of these. It
            need not be the earliest time. None if no batch has one, or only the record has it and the source cannot be read twice.
        last_time: the latest of the largest timestamps of the batches, in ms.
        gaps, gap_count, missing: offsets between batches that none covers.
        overlaps: batches that begin at or before the end of the one before.
        late, latest_step: batches whose time is before an earlier one's, and by how many ms at most.
        untimed: batches without a time.
        timestamp_types: batches by Kafka's name.
        partitions, other_partitions: by partition, in the order in which they were read, and how many more there are.
        producers, other_producers: by id, and how many more there are.
        transactional, control: batches.
        markers: control records by type.
        damage: the first findings of what was stepped over: severity, rule, file, position, message.
        damage_counts: all of them, by severity.
        unread: undamaged batches that are not counted because they cannot be read here, such as batches over a limit.
        partition_findings: files of interrupted work that are read or not (SEG-17), missing uploads (SEG-15), records below log start
            offsets, which are not counted (SEG-19), and log start offsets that do not count or are not known (SEG-20, SEG-21): severity,
            rule, file, message.
        what_if: what the logs would be with other codecs.
        what_if_v3: the sizes of the batches in format v3, if they were asked for.
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
    partitions: list[PartitionStats] = field(default_factory=list)
    other_partitions: int = 0
    producers: dict[int, ProducerStats] = field(default_factory=dict)
    other_producers: int = 0
    transactional: int = 0
    control: int = 0
    markers: dict[str, int] = field(default_factory=dict)
    damage: list[dict[str, Any]] = field(default_factory=list)
    damage_counts: dict[str, int] = field(default_factory=dict)
    unread: int = 0
    partition_findings: list[dict[str, Any]] = field(default_factory=list)
    what_if: list[Recompression] = field(default_factory=list)
    what_if_v3: V3Savings | None = None

    @classmethod
    def of(cls, counts: dict[str, Any], sampled: dict[str, Sampled], places: Sequence[Place], **seen: Any) -> Stats:
        """Return the statistics.

        Args:
            counts: what `BatchCounter.counts` returns.
            sampled: the samples of each codec.
            places: the partitions, in their order.
            seen: other attributes.
        """
        codecs = {}
        for name, (batches, records, size) in counts["codecs"]:
            sample = sampled.get(name, Sampled())
            codecs[name] = CodecStats(batches, records, size, sample.batches, sample.compressed, sample.decompressed)
        parts = {
            "codecs": codecs,
            "partitions": [
                PartitionStats(*place, *sums, *(offsets or (None, None)), *times)
                for place, (*sums, offsets, times) in zip(places, counts["partitions"], strict=False)
            ],
            "gaps": [Gap(*gap) for gap in counts["gaps"]],
            "producers": {producer_id: ProducerStats(*row) for producer_id, row in counts["producers"]},
            "sizes": histogram_of(*counts["sizes"]),
            "counts": histogram_of(*counts["counts"]),
            "by_offset": series_of(*counts["by_offset"]),
            "by_time": series_of(*counts["by_time"]),
        }
        return cls(**counts | parts | seen)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python with names in camel case, ready for JSON."""
        values: dict[str, Any] = plain_values(self)
        for point in (*values["byTime"]["points"], *values["byTime"]["outliers"]):
            del point["firstTime"], point["lastTime"], point["late"]
        for name, codec in self.codecs.items():
            values["codecs"][name]["ratio"] = codec.ratio
        # Each of them is among the damage.
        del values["unread"]
        if self.what_if_v3 is None:
            del values["whatIfV3"]
        else:
            values["whatIfV3"] = self.what_if_v3.to_dict()
        return values

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` of one row with the fields of `to_dict`; what is counted by name is a list of structs.

        Raises:
            ImportError: if pyarrow is not installed.
        """
        import pyarrow as pa

        values = self.to_dict()
        rows = {
            name: [{key_name: key} | figures for key, figures in values[name].items()]
            for name, key_name in (("codecs", "codec"), ("producers", "producerId"))
        }
        histograms = {name: values[name] | {"counts": list(values[name]["counts"].items())} for name in ("sizes", "counts")}
        return pa.Table.from_pylist([values | rows | histograms], _arrow_schema(pa))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def _arrow_schema(pa: Any) -> Any:
    """Return the schema of `Stats.to_arrow`."""
    number, text = pa.int64(), pa.string()

    def struct(*names: str, **others: Any) -> Any:
        return pa.struct([*((name, kind) for name, kind in others.items()), *((name, number) for name in names)])

    def struct_of(kind: Any, **others: Any) -> Any:
        types = {"int": number, "int | None": number, "str": text, "str | None": text}
        own = [(camel_case(field.name), types.get(str(field.type), pa.float64())) for field in fields(kind)]
        return pa.struct([*others.items(), *own])

    point = struct("start", "bytes", "records"), struct("start", "bytes", "records", "firstTime", "lastTime", "late")
    types = {
        **dict.fromkeys(("formats", "timestampTypes", "markers", "damageCounts"), pa.map_(text, number)),
        **dict.fromkeys(("sizes", "counts"), struct("total", "sum", "least", "most", counts=pa.map_(number, number))),
        "codecs": pa.list_(struct_of(CodecStats, codec=text, ratio=pa.float64())),
        "producers": pa.list_(struct("producerId", "batches", "records", "transactional", "epoch", isOpen=pa.bool_())),
        "byOffset": struct("width", "first", "last", points=pa.list_(point[1]), outliers=pa.list_(point[1])),
        "byTime": struct("width", "first", "last", points=pa.list_(point[0]), outliers=pa.list_(point[0])),
        "gaps": pa.list_(struct("first", "last", log=text)),
        "damage": pa.list_(struct("position", "length", severity=text, rule=text, file=text, message=text)),
        "partitionFindings": pa.list_(struct(severity=text, rule=text, file=text, message=text)),
        "partitions": pa.list_(struct_of(PartitionStats)),
        "whatIf": pa.list_(struct_of(Recompression)),
        "whatIfV3": struct_of(V3Savings),
    }
    return pa.schema([(name, types.get(name, number)) for name in (camel_case(field.name) for field in fields(Stats)) if name != "unread"])
