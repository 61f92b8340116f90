"""The admission of a micro-batch: when it may run, and the offsets that it takes of what waits in each partition.

Limits of offsets and bytes are shared among partitions as Spark's Kafka source shares them. The bytes of offsets are found in the segments.
"""

from __future__ import annotations

import importlib
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from logsegment._core import FileSource, RecordBatchError, SegmentIndex
from logsegment._decode import batch_stream
from logsegment.log.reader import with_followers
from logsegment.log.segment_lookup import SegmentLookup
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.options.offsets import Offsets
from logsegment.spark.options.read import StreamOptions
from logsegment.spark.options.topics import TopicPartition
from logsegment.spark.read.bounds import base_of
from logsegment.spark.stream.partitions import Logs, again

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


class ByteSpan(NamedTuple):
    """Bytes of a segment, and the first offset after them."""

    segment: SegmentFile
    first: int
    last: int
    end: int

    @property
    def bytes(self) -> int:
        """Return the number of bytes."""
        return self.last - self.first


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
        return again(lambda: self._within_bytes(starts, within, most, logs()))

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
        looks = {name: partial(spans_of, logs[name], starts[name], end) for name, end in latest.items() if end > starts[name]}
        found = {name: spans for name, look in looks.items() if (spans := self._readable(look)) is not None}
        budgets = shares(most, {name: sum(span.bytes for span in spans) for name, spans in found.items()})
        ends = {name: self._readable(partial(offset_within, spans, budgets[name])) for name, spans in found.items()}
        return {name: _reached(starts[name], ends.get(name), end) for name, end in latest.items()}

    def _readable(self, look: Callable[[], Found]) -> Found | None:
        """Call a function; None at damage if the query goes on past it. The micro-batch has no limit of bytes then."""
        try:
            return look()
        except RecordBatchError:
            if not self.options.read.skips_damage:
                raise
            return None


def spans_of(segments: Sequence[SegmentFile], start: int, end: int) -> list[ByteSpan]:
    """Find the batches from offset `start` to before `end`.

    Raises:
        FileNotFoundError: if a segment is gone.
        RecordBatchError: if headers cannot be read.
    """
    found = []
    for segment, follower in with_followers(segments, start, end):
        stop = end if follower is None else min(follower, end)
        lookup = SegmentLookup(segment)
        first, _ = lookup.find_offset(start)
        position, batch = lookup.find_offset(stop - 1)
        found.append(ByteSpan(segment, first, max(first, position + batch[0] if batch else position), stop))
    return found


def offset_within(spans: Sequence[ByteSpan], budget: int) -> int | None:
    """Return the offset after the last batch that ends within `budget` bytes; after the first batch if that is larger.

    Returns:
        None without batches.

    Raises:
        FileNotFoundError: if a segment is gone.
        RecordBatchError: if headers cannot be read.
    """
    reached, taken = None, 0
    for span in spans:
        if taken + span.bytes <= budget:
            reached, taken = span.end, taken + span.bytes
            continue
        inside = _last_within(span, budget - taken)
        if inside is None and taken == 0:
            headers = _headers(span.segment, span.first, span.last, batch_size=1)
            inside = headers[0][1] + 1 if headers else None
        return reached if inside is None else inside
    return reached


def _reached(start: int, found: int | None, end: int) -> int:
    """Return the end within a limit; `end` if nothing is known, or if damaged headers show offsets that were read before."""
    return end if found is None or found <= start else min(found, end)


def _last_within(span: ByteSpan, budget: int) -> int | None:
    """Return the offset after the last batch that ends at most `budget` bytes after the first: the index leads near it, headers to it."""
    index = SegmentIndex(span.segment.path, base_of(span.segment))
    entries = index.offset_index()
    at = bisect_right([position for _, position in entries], span.first + budget) - 1
    start = span.first
    if at >= 0:
        position = index.find_offset(entries[at][0])[0]
        start = position if span.first < position <= span.first + budget else span.first
    headers = _headers(span.segment, start, min(span.last, span.first + budget))
    if headers:
        return headers[-1][1] + 1
    if start == span.first:
        return None
    # The batch at `start` is too large: the limit ends before it.
    following = _headers(span.segment, start, None, batch_size=1)
    if not following:
        raise FileNotFoundError(span.segment.path)
    first, last = following[0]
    return last if first is None else first


def _headers(segment: SegmentFile, start: int, end: int | None, batch_size: int = 65536) -> list[tuple[int | None, int]]:
    """Return the first and last offsets of batches; of the first batch alone if `batch_size` is 1."""
    found: list[tuple[int | None, int]] = []
    if end is not None and end <= start:
        return found
    for rows in batch_stream(FileSource(segment.path, start, end), check_crc=False, batch_size=batch_size):
        table = rows.to_pyarrow()
        found += zip(table["baseOffset"].to_pylist(), table["lastOffset"].to_pylist(), strict=True)
        if batch_size == 1:
            break
    return found
