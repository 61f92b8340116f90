"""Logs as lazy frames of Polars: `scan`, an IO plugin that reads the columns and the batches that a query wants.

Polars is imported by `scan` alone: `pip install "logsegment[polars]"`.
"""

from logsegment.polars.scan import scan

__all__ = ["scan"]
