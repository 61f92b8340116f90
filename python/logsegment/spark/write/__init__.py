"""Spark writes segments: `df.write.format("logsegment")` and the streaming sink.

Tasks stage files, the driver commits them: docs/project/decisions explains the protocol. The files here, from the outside in: `writer`
(PySpark's classes, and the commit of staged files), `options` (what a user gives), `task` (rows to staged files), `segments` (staged files
to segments after the end of a log), `journal` (all of it or nothing), `places` (names below the target).
"""

from logsegment.spark.write.writer import SegmentStreamWriter, SegmentWriter

__all__ = ["SegmentStreamWriter", "SegmentWriter"]
