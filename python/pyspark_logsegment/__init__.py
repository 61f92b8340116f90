"""The data source under the name by which PySpark finds it without registering."""

from logsegment.spark.source import LogSegmentSource as DefaultSource

__all__ = ["DefaultSource"]
