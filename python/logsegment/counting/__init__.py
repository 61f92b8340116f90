"""What the batch headers of logs tell: sizes, codecs, offsets, times, producers, transactions. `collect`, `Stats`."""

from logsegment.counting.collect import Collector
from logsegment.counting.stats import CodecStats, Gap, Histogram, Point, ProducerStats, Sampled, Series, Stats

__all__ = ["CodecStats", "Collector", "Gap", "Histogram", "Point", "ProducerStats", "Sampled", "Series", "Stats"]
