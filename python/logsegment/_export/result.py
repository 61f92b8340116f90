"""The result of an export."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from logsegment._core import Finding, decode
from logsegment._export.commits import Commit
from logsegment._export.exporter import TableResult
from logsegment._export.offset_ranges import OffsetRanges
from logsegment._export.state import LostOffsets, Partition
from logsegment._options import ReadOptions
from logsegment._registration import IoStats
from logsegment._text import count


@dataclass(frozen=True)
class Export:
    """Report what an export added, and what its tables have now.

    Attributes:
        rows (int): rows that were added.
        rows_by_partition (dict): the same by topic and partition: `{"orders": {0: 240}}`.
        ranges (dict): the offsets that the tables have, by topic and partition: `{"orders": {0: [(0, 240)]}}`, each range from its first
            offset to the offset after its last one. Gaps by compaction, markers and aborted transactions are in the ranges.
        next_offsets (dict): the offset by topic and partition at which a live sink must start: `{"orders": {0: 240}}`.
        commits (list[Commit]): the commits, each with table, id, rows, files and size.
        lost (list[LostOffsets]): offsets that could not be read and that the tables lack.
        findings (list[Finding]): findings of the read.
        io_stats (IoStats): counters of the read.
        notes (list[str]): what else was read to find the missing offsets.
        removed (list[str]): data files that `clean` removed.

    Example:
        >>> import logsegment as ls
        >>> ls.export("orders-0", "parquet:exported").next_offsets
        {'orders': {0: 240}}
    """

    rows: int
    rows_by_partition: dict[str, dict[int, int]]
    ranges: dict[str, dict[int, list[tuple[int, int]]]]
    next_offsets: dict[str, dict[int, int]]
    commits: list[Commit]
    lost: list[LostOffsets]
    findings: list[Finding] = field(repr=False)
    io_stats: IoStats = field(repr=False)
    notes: list[str] = field(repr=False)
    removed: list[str] = field(repr=False)

    @classmethod
    def of(cls, results: Sequence[TableResult], removed: Sequence[str]) -> Export:
        """Join the results of the tables."""
        rows: Counter[Partition] = Counter()
        ranges: dict[Partition, OffsetRanges] = {}
        ends: dict[Partition, int] = {}
        # A run that reads nothing has all counters too.
        io_stats: Counter[str] = Counter(decode(b"", ReadOptions(columns=())).io_stats)
        for result in results:
            rows.update(result.rows)
            ranges |= result.state.ranges
            ends |= {partition: max(end, result.state.of(partition).end or 0) for partition, end in result.ends.items()}
            ends |= {partition: found.end or 0 for partition, found in result.state.ranges.items() if found}
            io_stats.update(result.io_stats)
        return cls(
            rows=rows.total(),
            rows_by_partition=_nested(rows),
            ranges=_nested({partition: list(found) for partition, found in ranges.items()}),
            next_offsets=_nested(ends),
            commits=[commit for result in results for commit in result.commits],
            lost=[place for result in results for place in result.state.lost],
            findings=[finding for result in results for finding in result.findings],
            io_stats=IoStats(io_stats),
            notes=[note for result in results for note in result.notes],
            removed=list(removed),
        )

    @property
    def starting_offsets(self) -> str:
        """The next offsets as JSON, for the option `startingOffsets` of Spark's Kafka source."""
        return json.dumps(self.next_offsets, separators=(",", ":"))

    @property
    def connect_offsets(self) -> str:
        """The next offsets as JSON for Iceberg's sink in Kafka Connect: the body of `PATCH /connectors/NAME/offsets` (KIP-875)."""
        offsets = [
            {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}
            for topic, partitions in self.next_offsets.items()
            for partition, offset in partitions.items()
        ]
        return json.dumps({"offsets": offsets}, separators=(",", ":"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {
            "rows": self.rows,
            "rowsByPartition": self.rows_by_partition,
            "ranges": {
                topic: {number: [list(pair) for pair in found] for number, found in of.items()} for topic, of in self.ranges.items()
            },
            "nextOffsets": self.next_offsets,
            "connectOffsets": json.loads(self.connect_offsets),
            "commits": [commit.to_dict() for commit in self.commits],
            "lost": [place.to_dict() for place in self.lost],
            "findings": [finding.to_dict() for finding in self.findings],
            "ioStats": dict(self.io_stats),
            "notes": self.notes,
            "removed": self.removed,
        }

    def __repr__(self) -> str:
        places = f", {count(len(self.lost), 'lost range')}" if self.lost else ""
        partitions = sum(map(len, self.next_offsets.values()))
        return f"Export({count(self.rows, 'row')} in {count(len(self.commits), 'commit')}, {count(partitions, 'partition')}{places})"


def _nested(found: Mapping[tuple[str, int], Any]) -> dict[str, dict[int, Any]]:
    """Return values by topic and then by partition, in order."""
    nested: dict[str, dict[int, Any]] = {}
    for (topic, partition), value in sorted(found.items()):
        nested.setdefault(topic, {})[partition] = value
    return nested
