"""Statistics of logs: `stats`, and `Collector`, which counts in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias, Unpack

from logsegment._core import BatchCounter, FileSource, Finding, FoundSegments
from logsegment._core import batch_stream as core_batch_stream
from logsegment._inspect import Field, inspect
from logsegment._log_paths import is_of_0_7
from logsegment._options import CodecRegistry, EntryKeywords, LogStartOffset, PartitionOptions, ReadOptions
from logsegment._places import redacted_uri
from logsegment._report import UNOPENED, is_unreadable, needs_format
from logsegment._storage import Keys, StorageOptions
from logsegment._text import camel_case, plain_values
from logsegment.analysis.counted_part import counted_part, finding_row, records_below
from logsegment.analysis.opened_batches import control_type_at, first_time_at
from logsegment.analysis.recompression import Recompression, Recompressor
from logsegment.analysis.series import Histogram, Series, histogram_of, series_of
from logsegment.analysis.v3_savings import V3Savings, v3_savings
from logsegment.inputs.sources import LogSource, partitions_of
from logsegment.partition.reader import order_by_offsets
from logsegment.plugins.registry import is_given

#: "v3", or a codec with or without a level: `zstd:19`.
WhatIf: TypeAlias = str
#: Directory or file, topic and partition.
Place: TypeAlias = tuple[str, str | None, int | None]


def stats(
    source: LogSource,
    *,
    what_if: WhatIf | Sequence[WhatIf] | None = None,
    sample: float = 1.0,
    ratios: bool = True,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    log_start_offset: LogStartOffset = "honour",
    **options: Unpack[EntryKeywords],
) -> Stats:
    """Count what the headers of all batches say, past every damage, in bounded memory.

    Args:
        source: a path or URI of a segment, a partition directory or a tree of them; a `Log`; a whole `FileSource`; a buffer with
            the bytes of a segment, whose path begins with `memory://`; or a list of these.
        what_if: a codec, or several, each with or without a level ("zstd", "lz4", "zstd:19"): also compute the size of the logs with it,
            and the seconds of CPU to write and to read them. "v3" computes the sizes of the batches in the proposed format v3 (KIP-931).
            Everything is compressed again in memory.
        sample: the share of the bytes that is compressed again for a codec, above 0 and at most 1; the sizes are estimates below 1.
        ratios: decompress some batches of each codec for its ratio.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: private keys of tiered storage by their ids.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        log_start_offset: see `Log`, which has its own. A batch around a log start offset counts with the records from there on, and with
            all its bytes.
        options: options of entries; see `decode`.

    Returns:
        `Stats`.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: if a file cannot be read.
        InvalidError: if a file that was named is not a log segment.
        ValueError: if there is no codec or level of `what_if`, or `sample` is not a share.

    Example:
        >>> import logsegment as ls
        >>> counted = ls.stats("orders-0")
        >>> counted.records, counted.first_offset, sorted(counted.formats)
        (240, 0, ['v2'])
    """
    codecs = [what_if] if isinstance(what_if, str) else what_if or ()
    collector = Collector(is_sampling=ratios, what_if=codecs, sample=sample, codecs=options.get("codecs"))
    partitions = partitions_of(
        source, (storage_options, decryption_keys, layout), PartitionOptions(log_start_offset=log_start_offset, replica=replica)
    )
    collector.partition_findings += partitions.findings
    for name, files in partitions:
        collector.partition_findings += FoundSegments(files).deleted_records()
        for file in order_by_offsets(files, reports=True):
            place = name, file.topic, file.partition
            if (part := counted_part(file)) is not None:
                collector.add(part, redacted_uri(file.path), place, is_repeatable=True, log_start=file.log_start, **options)
    return collector.stats


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
    return pa.schema([(name, types.get(name, number)) for name in (camel_case(field.name) for field in fields(Stats))])


#: Batches of each codec that are unpacked for its ratio.
SAMPLE = 32
#: Findings that are kept.
MOST_DAMAGE = 100


class Collector:
    """Counts batches, file after file. Files of one partition must come in the order of their offsets, one after the other.

    Headers are counted in Rust; here the few batches are looked into that it names.

    Args:
        is_sampling: decompress some batches of each codec for its ratio, where a source can be read twice.
        what_if: as in `stats`; then every source must be readable twice.
        sample: as in `stats`.
        codecs: the registry of plugins among the codecs of `what_if`.

    Attributes:
        unread: number of undamaged batches that are not counted because they cannot be read here.

    Raises:
        ValueError: if there is no such codec or level, or the sample is not a share.

    Attributes:
        partition_findings (list[Finding]): what the caller reports about partitions.
    """

    def __init__(
        self, *, is_sampling: bool = True, what_if: Sequence[WhatIf] = (), sample: float = 1.0, codecs: CodecRegistry | None = None
    ) -> None:
        self.partition_findings: list[Finding] = []
        self.unread = 0
        self._counter = BatchCounter()
        self._is_sampling = is_sampling
        self._places: list[Place] = []
        self._files = 0
        self._sampled: dict[str, Sampled] = {}
        self._markers: dict[str, int] = {}
        self._damage: list[dict[str, Any]] = []
        self._damage_counts: dict[str, int] = {}
        self._v3 = V3Savings() if "v3" in what_if else None
        self._recompressor = Recompressor([codec for codec in what_if if codec != "v3"], sample, codecs)

    @property
    def stats(self) -> Stats:
        """Return what was counted so far."""
        damage = {"damage": list(self._damage), "damage_counts": dict(self._damage_counts)}
        what_if = {"what_if": self._recompressor.results, "what_if_v3": self._v3}
        starts = list(map(finding_row, self.partition_findings))
        seen = {"files": self._files, "markers": dict(self._markers), "partition_findings": starts, **what_if}
        return Stats.of(self._counter.counts(), self._sampled, self._places, **damage, **seen)

    def add(
        self,
        source: Any,
        name: str,
        place: Place,
        *,
        is_repeatable: bool,
        log_start: int | None = None,
        **options: Unpack[EntryKeywords],
    ) -> None:
        """Count the batches of one file.

        Args:
            source: as in `logsegment.batches`.
            name: the path of the file, whose ending says whether it is a segment of Kafka 0.7.
            place: its partition. Files of the same place, one after the other, are of one partition.
            is_repeatable: the source can be read twice.
            log_start: records before this offset are not counted; then the source is a FileSource.
            options: options of entries; see `logsegment.decode`.

        Raises:
            UnsupportedError: if the sizes in v3 are asked for and a batch cannot be converted, or there is no such codec.
            OSError: if the file cannot be read.
        """
        if is_of_0_7(name) and options.get("format", "auto") == "auto":
            options["format"] = "0.7"
        is_another = self._places[-1:] != [place]
        self._counter.enter(name, options.get("format") == "0.7", is_another)
        if is_another:
            self._places.append(place)
        self._files += 1
        # The position of a batch counts in the file.
        whole = source if log_start is None else FileSource(source.path)
        read = ReadOptions.of(EntryKeywords, options, check_crc=False, on_error="skip", unreadable="skip", start_offset=log_start)
        with core_batch_stream(source, read) as stream:
            for rows in stream:
                looks = self._counter.add(rows, None if log_start is None else (log_start, records_below(rows, source, log_start)))
                for position, codec, purpose in looks:
                    if purpose == "time":
                        self._counter.found_first_time(first_time_at(position, whole, options, log_start) if is_repeatable else None)
                    elif is_repeatable and purpose == "type":
                        _add(self._markers, control_type_at(position, whole, options))
                    elif is_repeatable and self._is_sampling:
                        self._sample(position, codec, name, whole, options)
            self._add_findings(stream.findings, name)
        if self._v3 is not None:
            self._v3 += v3_savings(source, **options)
        self._recompressor.add(source, ReadOptions.of(EntryKeywords, options))

    def _add_findings(self, findings: Sequence[Finding], name: str) -> None:
        """Keep the findings of a file, and the refusals of a format once."""
        has_refused = False
        for finding in findings:
            self.unread += is_unreadable(finding)
            severity = "error" if is_unreadable(finding) else finding.severity
            if needs_format(finding) and has_refused:
                _add(self._damage_counts, severity)
                continue
            has_refused |= needs_format(finding)
            self._report(finding, severity, name, (finding.position, finding.length))

    def _sample(self, position: int, codec: str, name: str, source: Any, options: EntryKeywords) -> None:
        """Unpack one batch for the ratio of its codec."""
        sampled = self._sampled.setdefault(codec, Sampled())
        if sampled.batches >= SAMPLE:
            return
        entry = inspect(source, at=position, records=0, value_bytes=0, **options)
        parts = {part.name: part for part in entry}
        if "decompressed" in parts and entry.ok:
            compressed = next(parts[part] for part in ("records", "value", "payload") if part in parts)
            sampled.batches += 1
            sampled.compressed += compressed.length
            sampled.decompressed += parts["decompressed"].length
        elif is_given(options.get("codecs")):
            self._blame_plugin(position, name, entry)

    def _blame_plugin(self, position: int, name: str, entry: Field) -> None:
        """Report why a plugin of the registry has no ratio; `validate` reports other damage."""
        for problem in (problem for _, part in entry.walk() for problem in part.problems):
            if problem.rule in UNOPENED:
                self._report(problem, problem.severity, name, (position, entry.length))
                return

    def _report(self, found: Any, severity: str, name: str, place: tuple[int, int]) -> None:
        _add(self._damage_counts, severity)
        if len(self._damage) < MOST_DAMAGE:
            where = dict(zip(("position", "length"), place, strict=True)) | {"message": found.message}
            self._damage.append({"severity": severity, "rule": found.rule, "file": name} | where)


def _add(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
