"""How much a micro-batch takes: limits of offsets and bytes, shared among partitions as Spark's Kafka source shares them.

What waits in each partition goes in, how much of it is taken comes out. Knows no files.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from logsegment.spark.options.stream import StreamOptions
from logsegment.spark.options.topics import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

#: How many of each partition: offsets, or bytes.
Sizes = dict[TopicPartition, int]


def supports_limits() -> bool:
    """True when this PySpark asks a streaming source for its limits (4.2 and newer)."""
    try:
        from pyspark.sql.streaming.datasource import ReadLimit  # noqa: F401
    except ImportError:
        return False
    return True


def shares(limit: int, waiting: Mapping[TopicPartition, int]) -> Sizes:
    """Share a limit among partitions by what waits in each; none that has something gets nothing.

    Source: `KafkaMicroBatchStream.rateLimit` in Spark.
    """
    total = sum(size for size in waiting.values() if size > 0)
    taken: Sizes = {}
    for name, size in waiting.items():
        # In whole numbers: an offset may be larger than a float can tell.
        part = limit * size // total if size > 0 else 0
        taken[name] = min(size, max(part, 1)) if size > 0 else 0
    return taken


@dataclass(slots=True)
class Limits:
    """The limits of one micro-batch.

    Attributes:
        max_offsets: see `StreamOptions`.
        min_offsets: see `StreamOptions`.
        max_bytes: see `StreamOptions`.
    """

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_bytes: int | None = None


@dataclass(slots=True)
class Admission:
    """Decides when a micro-batch may run, and what it may take.

    Attributes:
        options: what the user said.
        clock: seconds.
        takes_all_at_last: with Trigger.AvailableNow nothing new comes for which a micro-batch could wait.
    """

    options: StreamOptions
    clock: Callable[[], float] = time.monotonic
    takes_all_at_last: bool = False
    _last_run: float = field(default=-math.inf, init=False)

    def default_limit(self) -> ReadLimit:
        """What PySpark hands back with each trigger. It has no limit of several parts: the others are known here."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows, ReadMinRows

        if self.options.max_offsets is not None:
            return ReadMaxRows(self.options.max_offsets)
        if self.options.max_bytes is not None:
            return ReadMaxBytes(self.options.max_bytes)
        if self.options.min_offsets is not None:
            return ReadMinRows(self.options.min_offsets)
        return ReadAllAvailable()

    def limits(self, told: Any) -> Limits:
        """The limits of the next micro-batch, for the limit that the engine tells; all there is when that says so."""
        if told is None or type(told).__name__ == "ReadAllAvailable":
            return Limits()
        return Limits(
            max_offsets=getattr(told, "max_rows", self.options.max_offsets),
            min_offsets=None if self.takes_all_at_last else getattr(told, "min_rows", self.options.min_offsets),
            max_bytes=getattr(told, "max_bytes", self.options.max_bytes),
        )

    def is_too_early(self, limits: Limits, waiting: int) -> bool:
        """True when a micro-batch shall wait for more offsets than these. The first one waits for nothing."""
        now = self.clock()
        is_due = (now - self._last_run) * 1000 >= self.options.max_delay_ms
        if limits.min_offsets is not None and waiting < limits.min_offsets and not is_due:
            return True
        self._last_run = now
        return False
