"""The admission of a micro-batch: when it may run, and the offsets that it takes of what waits in each partition.

Limits of offsets and bytes are shared among partitions as Spark's Kafka source shares them. The bytes of offsets are found in the segments.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from logsegment._core import RecordBatchError, SegmentFile, SegmentRange
from logsegment.partition.reader import PartitionReader
from logsegment.segment_files.discovery import size_of
from logsegment.spark.options.offsets import Offsets
from logsegment.spark.options.read import StreamOptions
from logsegment.spark.options.topics import TopicPartition
from logsegment.spark.stream.partitions import Logs, retry_if_files_changed

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

Found = TypeVar("Found")
#: The module of the limits, which PySpark 4.1 does not have.
_LIMITS = "pyspark.sql.streaming.datasource"


def supports_limits() -> bool:
    """Return True if this PySpark asks a streaming source for its limits (4.2 and newer)."""
    try:
        return hasattr(importlib.import_module(_LIMITS), "ReadLimit")
    except ImportError:
        return False


def shares(limit: int, waiting: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Share a limit among partitions in proportion to what waits in each; each of these gets at least 1.

    Source: `KafkaMicroBatchStream.rateLimit` in Spark.
    """
    total = sum(size for size in waiting.values() if size > 0)
    taken: dict[TopicPartition, int] = {}
    for name, size in waiting.items():
        # In integers: a float does not hold all offsets.
        part = limit * size // total if size > 0 else 0
        taken[name] = min(size, max(part, 1)) if size > 0 else 0
    return taken


class TriggerLimits(NamedTuple):
    """The limits of one micro-batch, named as in `StreamOptions`."""

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_bytes: int | None = None


@dataclass(slots=True)
class Admission:
    """Decides when a micro-batch may run, and which offsets it takes.

    Attributes:
        options: of the query.
        clock: returns seconds.
        takes_all_at_last: a query with Trigger.AvailableNow does not wait for more offsets.
    """

    options: StreamOptions
    clock: Callable[[], float] = time.monotonic
    takes_all_at_last: bool = False
    _last_run: float = field(default=-math.inf, init=False)

    def default_limit(self) -> ReadLimit:
        """Return the limit that PySpark passes back with each trigger. It has no composite limit: the options keep the others."""
        limits = importlib.import_module(_LIMITS)
        limit: ReadLimit
        if self.options.max_offsets is not None:
            limit = limits.ReadMaxRows(self.options.max_offsets)
        elif self.options.max_bytes is not None:
            limit = limits.ReadMaxBytes(self.options.max_bytes)
        elif self.options.min_offsets is not None:
            limit = limits.ReadMinRows(self.options.min_offsets)
        else:
            limit = limits.ReadAllAvailable()
        return limit

    def admitted(self, starts: Offsets, latest: Offsets, limit: Any, logs: Callable[[], Logs]) -> Offsets | None:
        """Return the end of the next micro-batch in each partition; None if it waits for more offsets.

        Args:
            starts: first offset of each partition.
            latest: first offset that cannot be read yet of each.
            limit: PySpark's limit.
            logs: finds the segments.
        """
        limits = self.limits(limit)
        waiting = {name: max(end - starts[name], 0) for name, end in latest.items()}
        if self.is_too_early(limits, sum(waiting.values())):
            return None
        if limits.max_offsets is not None:
            taken = shares(limits.max_offsets, waiting)
            latest = {name: starts[name] + taken[name] if waiting[name] else end for name, end in latest.items()}
        if limits.max_bytes is None:
            return latest
        within, most = latest, limits.max_bytes
        return retry_if_files_changed(lambda: self._within_bytes(starts, within, most, logs()))

    def limits(self, limit: Any) -> TriggerLimits:
        """Return the limits of the next micro-batch; none if PySpark's limit is for all that is there."""
        if limit is None or type(limit).__name__ == "ReadAllAvailable":
            return TriggerLimits()
        return TriggerLimits(
            max_offsets=getattr(limit, "max_rows", self.options.max_offsets),
            min_offsets=None if self.takes_all_at_last else getattr(limit, "min_rows", self.options.min_offsets),
            max_bytes=getattr(limit, "max_bytes", self.options.max_bytes),
        )

    def is_too_early(self, limits: TriggerLimits, waiting: int) -> bool:
        """Return True if a micro-batch waits for more than `waiting` offsets. The first one does not wait."""
        now = self.clock()
        is_due = (now - self._last_run) * 1000 >= self.options.max_delay_ms
        if limits.min_offsets is not None and waiting < limits.min_offsets and not is_due:
            return True
        self._last_run = now
        return False

    def _within_bytes(self, starts: Offsets, latest: Offsets, most: int, logs: Logs) -> Offsets:
        looks = {name: partial(self._pieces_of, logs[name], starts[name], end) for name, end in latest.items() if end > starts[name]}
        found = {name: pieces for name, look in looks.items() if (pieces := self._readable(look)) is not None}
        budgets = shares(most, {name: sum(piece.size for piece in pieces) for name, pieces in found.items()})
        ends = {name: self._readable(partial(offset_within, pieces, budgets[name])) for name, pieces in found.items()}
        return {name: _reached(starts[name], ends.get(name), end) for name, end in latest.items()}

    def _pieces_of(self, segments: Sequence[SegmentFile], start: int, end: int) -> list[SegmentRange]:
        """Return the bytes of offsets, as headers show them also to a query that goes on past damage."""
        read = replace(self.options.read, on_error="raise", start_offset=start, end_offset=end)
        pieces = PartitionReader.of(segments, read).pieces()
        for piece in pieces:
            # A segment that is gone has no size, and is looked for again.
            if piece.stop is None:
                size_of(piece.segment.file)
        return pieces

    def _readable(self, look: Callable[[], Found]) -> Found | None:
        """Call a function; None at damage if the query goes on past it. The micro-batch has no limit of bytes then."""
        try:
            return look()
        except RecordBatchError:
            if not self.options.read.skips_damage:
                raise
            return None


def offset_within(pieces: Sequence[SegmentRange], budget: int) -> int | None:
    """Return the offset after the last batch that ends within `budget` bytes; after the first batch if that is larger.

    Returns:
        None without batches.

    Raises:
        FileNotFoundError: if a segment is gone.
        RecordBatchError: if headers cannot be read.
    """
    reached, taken = None, 0
    for piece in pieces:
        if taken + piece.size > budget:
            inside = piece.offset_within(budget - taken, takes_first=taken == 0)
            return reached if inside is None else inside
        reached, taken = piece.end_offset, taken + piece.size
    return reached


def _reached(start: int, found: int | None, end: int) -> int:
    """Return the end within a limit; `end` if nothing is known, or if damaged headers show offsets that were read before."""
    return end if found is None or found <= start else min(found, end)
