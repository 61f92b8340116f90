"""Batch rows into `Stats`, one file after the other; the codecs' ratios from a sample that is unpacked."""

from __future__ import annotations

import json
from typing import Any

import logsegment as ls
from logsegment.counting.stats import MOST_GAPS, MOST_PRODUCERS, CodecStats, Gap, ProducerStats, Stats

#: Batches of each codec that are unpacked for its ratio, and markers of which the type is looked up.
SAMPLE = 32
MOST_MARKERS = 10_000
#: Findings that are kept.
MOST_DAMAGE = 100
FIELDS = [(name, name) for name in ("position", "size", "baseOffset", "lastOffset", "count", "magic", "compression", "timestampType")]
FIELDS += [(name, name) for name in ("maxTimestamp", "producerId", "producerEpoch", "isTransactional", "isControl")]
#: Of plugins that cannot unpack.
PLUGIN_RULES = frozenset({"S-P6", "S-P19", "S-P20"})
#: A timestamp that stands for none.
NONE = -1


class Collector:
    """Counts batches, file after file. Files of one partition must come in the order of their offsets, one after the other.

    Args:
        is_sampling: unpack some batches of each codec for its ratio, where a source can be read twice.

    Attributes:
        stats: what was counted so far.
    """

    def __init__(self, *, is_sampling: bool = True) -> None:
        self.stats = Stats()
        self._is_sampling = is_sampling
        self._partition: object = None
        self._end: int | None = None
        self._latest: int | None = None

    def add(self, source: Any, name: str, partition: object, *, is_repeatable: bool, **options: Any) -> None:
        """Count the batches of one file.

        Args:
            source: as in `logsegment.batches`.
            name: how the file is called.
            partition: what tells its partition apart from others.
            is_repeatable: the source can be read twice.
            options: `format`, `codecs` and `limits` of `logsegment.batch_stream`.

        Raises:
            OSError: when the file cannot be read.
        """
        if partition != self._partition:
            self._partition, self._end, self._latest = partition, None, None
        self.stats.files += 1
        with ls.batch_stream(source, check_crc=False, on_error="skip", **options) as stream:
            for rows in stream:
                for line in rows.to_jsonl(fields=FIELDS).splitlines():
                    self._count(json.loads(line), name, source if is_repeatable else None, options)
            for finding in stream.findings:
                self._damage(finding.severity, {"rule": finding.rule, "file": name} | _place(finding))

    def _count(self, row: dict[str, Any], name: str, source: Any, options: dict[str, Any]) -> None:
        stats, size = self.stats, row["size"]
        records = row["count"] or 0
        stats.bytes += size
        stats.batches += 1
        stats.records += records
        stats.uncounted += row["count"] is None
        format_name = "0.7" if options.get("format") == "0.7" else f"v{row['magic']}"
        _add(stats.formats, format_name)
        _add(stats.timestamp_types, row["timestampType"])
        stats.sizes.add(size)
        if row["count"] is not None:
            stats.counts.add(records)
        codec = stats.codecs.setdefault(row["compression"], CodecStats())
        codec.batches += 1
        codec.records += records
        codec.bytes += size
        self._offsets(row, name, records)
        self._times(row, records)
        self._producers(row, records)
        if source is not None:
            self._look_into(row | {"file": name}, codec, source, options)

    def _offsets(self, row: dict[str, Any], name: str, records: int) -> None:
        stats = self.stats
        last = row["lastOffset"]
        first = row["baseOffset"] if row["baseOffset"] is not None else last
        if last is None:
            return
        stats.produced += max(last - first + 1, 0)
        stats.by_offset.add(first, row["size"], records)
        stats.first_offset = first if stats.first_offset is None else min(first, stats.first_offset)
        stats.last_offset = last if stats.last_offset is None else max(last, stats.last_offset)
        # A compressed message of magic 0 or 1 does not tell where it begins.
        if self._end is not None and row["count"] is not None:
            if first > self._end:
                stats.gap_count += 1
                stats.missing += first - self._end
                if len(stats.gaps) < MOST_GAPS:
                    stats.gaps.append(Gap(name, self._end, first - 1))
            elif first < self._end:
                stats.overlaps += 1
        self._end = last + 1 if self._end is None else max(self._end, last + 1)

    def _times(self, row: dict[str, Any], records: int) -> None:
        stats, time = self.stats, row["maxTimestamp"]
        if time is None or time == NONE:
            stats.untimed += 1
            return
        stats.by_time.add(time, row["size"], records)
        stats.first_time = time if stats.first_time is None else min(time, stats.first_time)
        stats.last_time = time if stats.last_time is None else max(time, stats.last_time)
        if self._latest is not None and time < self._latest:
            stats.late += 1
            stats.latest_step = max(stats.latest_step, self._latest - time)
        self._latest = time if self._latest is None else max(self._latest, time)

    def _producers(self, row: dict[str, Any], records: int) -> None:
        stats = self.stats
        stats.transactional += bool(row["isTransactional"]) and not row["isControl"]
        stats.control += bool(row["isControl"])
        producer_id = row["producerId"]
        if producer_id is None or producer_id < 0:
            return
        producer = stats.producers.get(producer_id)
        if producer is None:
            if len(stats.producers) >= MOST_PRODUCERS:
                stats.other_producers += 1
                return
            producer = stats.producers[producer_id] = ProducerStats()
        producer.batches += 1
        producer.epoch = max(producer.epoch, row["producerEpoch"])
        if row["isControl"]:
            producer.is_open = False
            return
        producer.records += records
        if row["isTransactional"]:
            producer.transactional += 1
            producer.is_open = True

    def _look_into(self, row: dict[str, Any], codec: CodecStats, source: Any, options: dict[str, Any]) -> None:
        """Look into a marker for its type, and into one batch of 2**n for the codec's ratio."""
        is_marker = row["isControl"] and sum(self.stats.markers.values()) < MOST_MARKERS
        is_sample = self._is_sampling and row["compression"] != "none" and codec.sampled < SAMPLE and _is_power(codec.batches)
        if not is_marker and not is_sample:
            return
        entry = ls.inspect(source, at=row["position"], records=1 if is_marker else 0, value_bytes=0, **options)
        parts = {part.name: part for part in entry}
        if is_marker:
            kinds = [field.note for _, field in entry.walk() if field.name == "type"]
            _add(self.stats.markers, kinds[0] if kinds else "EMPTY")
        elif "unpacked" in parts and entry.ok:
            packed = next(parts[part] for part in ("records", "value", "payload") if part in parts)
            codec.sampled += 1
            codec.sampled_packed += packed.length
            codec.sampled_plain += parts["unpacked"].length
        elif options.get("codecs") is not None:
            self._blame_plugin(row, entry)

    def _blame_plugin(self, row: dict[str, Any], entry: ls.Field) -> None:
        """Tell why a plugin of the registry that was given has no ratio; other damage is for `validate`."""
        for problem in (problem for _, field in entry.walk() for problem in field.problems):
            if problem.rule in PLUGIN_RULES:
                place = {"position": row["position"], "length": row["size"], "message": problem.message}
                self._damage(problem.severity, {"rule": problem.rule, "file": row["file"]} | place)
                return

    def _damage(self, severity: str, told: dict[str, Any]) -> None:
        _add(self.stats.damage_counts, severity)
        if len(self.stats.damage) < MOST_DAMAGE:
            self.stats.damage.append({"severity": severity} | told)


def _place(finding: ls.Finding) -> dict[str, Any]:
    return {"position": finding.position, "length": finding.length, "message": finding.message}


def _add(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _is_power(number: int) -> bool:
    """Powers of two spread over the whole log, and the first few batches are not all alike."""
    return number & (number - 1) == 0
