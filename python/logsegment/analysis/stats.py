"""Statistics of logs: `stats`, and `Collector`, which counts in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias, Unpack

from logsegment._core import BatchCounter, FileSource, Finding
from logsegment._core import batch_stream as core_batch_stream
from logsegment._errors import naming_file
from logsegment._inspect import Field, inspect
from logsegment._log_paths import is_of_0_7
from logsegment._options import CodecRegistry, EntryKeywords, LogStartOffset, PartitionOptions, ReadOptions
from logsegment._places import redacted_uri
from logsegment._report import UNOPENED, is_unreadable, needs_format
from logsegment._storage import Keys, StorageOptions
from logsegment.analysis.counted_part import counted_part, finding_row, records_below
from logsegment.analysis.opened_batches import control_type_at, first_time_at
from logsegment.analysis.recompression import Recompressor
from logsegment.analysis.stats_result import Place, Sampled, Stats
from logsegment.analysis.v3_savings import V3Savings, v3_savings
from logsegment.inputs.input_segment import InputSegment, in_range, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import LogSource, inputs_of
from logsegment.plugins.registry import is_given
from logsegment.segment_files.discovery import Topics

#: "v3", or a codec with or without a level: `zstd:19`.
WhatIf: TypeAlias = str


def stats(
    source: LogSource,
    *,
    what_if: WhatIf | Sequence[WhatIf] | None = None,
    sample: float = 1.0,
    ratios: bool = True,
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    log_start_offset: LogStartOffset = "honour",
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Stats:
    """Count what the headers of all batches say, past every damage, in bounded memory.

    Args:
        source: a path or URI of a segment, a partition directory or a tree of them; a pattern (`orders-*`); a `Log` or `Segment`; a whole
            `FileSource`; a buffer with the bytes of a segment, whose path begins with `memory://`; a binary file object, which is read
            front to back; or a list of these.
        what_if: a codec, or several, each with or without a level ("zstd", "lz4", "zstd:19"): also compute the size of the logs with it,
            and the seconds of CPU to write and to read them. "v3" computes the sizes of the batches in the proposed format v3 (KIP-931).
            Everything is compressed again in memory.
        sample: the share of the bytes that is compressed again for a codec, above 0 and at most 1; the sizes are estimates below 1.
        ratios: decompress some batches of each codec for its ratio.
        topic: count only the partitions of this topic, or of these.
        partition: count only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: private keys of tiered storage by their ids.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        log_start_offset: see `Log`, which has its own. A batch around a log start offset counts with the records from there on, and with
            all its bytes.
        observer: is called before each file; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        `Stats`.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: if a file cannot be read.
        InvalidError: if a file that was named is not a log segment.
        UnsupportedError: if `what_if` is "v3" and a batch cannot be converted to it.
        ValueError: if there is no codec or level of `what_if`, `sample` is not a share, or there is no such topic or partition.

    Example:
        >>> import logsegment as ls
        >>> counted = ls.stats("orders-0")
        >>> counted.records, counted.first_offset, sorted(counted.formats)
        (240, 0, ['v2'])
    """
    codecs = [what_if] if isinstance(what_if, str) else what_if or ()
    if sample < 1 and not codecs:
        raise ValueError("sample needs what_if")
    collector = Collector(is_sampling=ratios, what_if=codecs, sample=sample, codecs=options.get("codecs"))
    inputs = inputs_of(
        source,
        (storage_options, decryption_keys, layout),
        selection=(topic, partition),
        options=PartitionOptions(log_start_offset=log_start_offset, replica=replica),
        observer=observer,
    )
    inputs.ensure_segments(options)
    collector.partition_findings += inputs.observed(observer, warns=True)
    for segment in in_range(inputs.segments, None, None):
        if observer is not None:
            observer.begin(segment.name, segment.size)
        collector.add_segment(segment, options)
    return collector.stats


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

    Raises:
        ValueError: if there is no such codec or level, or the sample is not a share.

    Attributes:
        partition_findings (list[Finding]): what the caller reports about partitions.
    """

    def __init__(
        self, *, is_sampling: bool = True, what_if: Sequence[WhatIf] = (), sample: float = 1.0, codecs: CodecRegistry | None = None
    ) -> None:
        self.partition_findings: list[Finding] = []
        self._unread = 0
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
        damage = {"damage": list(self._damage), "damage_counts": dict(self._damage_counts), "unread": self._unread}
        what_if = {"what_if": self._recompressor.results, "what_if_v3": self._v3}
        starts = list(map(finding_row, self.partition_findings))
        seen = {"files": self._files, "markers": dict(self._markers), "partition_findings": starts, **what_if}
        return Stats.of(self._counter.counts(), self._sampled, self._places, **damage, **seen)

    def add_segment(self, segment: InputSegment, options: EntryKeywords) -> None:
        """Count the batches of an input, from the log start offset of its partition on.

        Raises:
            UnsupportedError, OSError: as `add`; the text of the error begins with the file.
        """
        log_start = None if segment.file is None else segment.file.log_start
        place = segment.name if segment.file is None else redacted_uri(segment.place), segment.topic, segment.partition
        is_read_twice = self._v3 is not None or self._recompressor.is_needed
        with naming_file(segment.name), opened(segment, is_read_twice=is_read_twice) as source:
            part = source if segment.file is None or log_start is None else counted_part(segment.file)
            if part is not None:
                is_repeatable = segment.is_regular or is_read_twice
                self.add(part, segment.name, place, is_repeatable=is_repeatable, log_start=log_start, **options)

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
            self._unread += is_unreadable(finding)
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
