"""Spark writes segments: `df.write.format("logsegment")` and the streaming sink.

Tasks stage files, the driver commits them: docs/decisions explains the protocol. The files here, from the outside in: `writer` (PySpark's
classes), `options` and `columns` (what a user gives), `task` (rows to staged files; `stored` and `claims` where a store keeps them),
`commit` (staged files to segments in their place), `journal` (all of it or nothing), `places` (names below the target), `locks`.
"""

from logsegment.spark.write.writer import SegmentStreamWriter, SegmentWriter

__all__ = ["SegmentStreamWriter", "SegmentWriter"]
