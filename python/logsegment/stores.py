"""Requests and errors of stores: S3, GCS, Azure and HDFS.

>>> from logsegment import stores
>>> stores.io_stats().bytes_fetched >= 0
True
"""

from logsegment._core import ChangedError, Place, ShortReadError, StorageOptionError
from logsegment._registration import IoStats

__all__ = ["ChangedError", "ShortReadError", "StorageOptionError", "io_stats"]


def io_stats() -> IoStats:
    """Return how many requests this process has made to stores.

    Returns:
        Counters: `range_requests`, `bytes_fetched`, `files_opened`, `listings`.

    Example:
        >>> from logsegment import stores
        >>> stores.io_stats().bytes_fetched >= 0
        True
    """
    return IoStats(Place.requests())
