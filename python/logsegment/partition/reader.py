"""The reader of a partition. The core finds the bytes that hold the wanted records; see `PartitionReader`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

from logsegment._core import FileSource, PartitionReader, SegmentFile, Transactions, committed_transactions, decode, order_by_offsets
from logsegment._core import scan_transactions as core_scan_transactions
from logsegment._errors import naming_file
from logsegment._options import EVERY_FORMAT, OnError, ReadOptions, SkippingKeywords
from logsegment._storage import StorageOptions, reached_source

__all__ = [
    "Part",
    "PartitionReader",
    "committed_transactions",
    "ensure_named",
    "lower_bounded",
    "order_by_offsets",
    "scan_transactions",
    "with_neighbour_bounds",
]

#: Bytes of a file and the options with which they are read: what `decode_files` takes.
Part: TypeAlias = tuple[FileSource, ReadOptions]
#: Every record of a segment, of which nothing but the errors is wanted.
_ALL_RECORDS = replace(EVERY_FORMAT, columns=(), control=True)


def scan_transactions(
    sources: Sequence[Any],
    *,
    on_error: OnError = "raise",
    storage_options: StorageOptions | None = None,
    **options: Unpack[SkippingKeywords],
) -> Transactions:
    """Find the aborted and open transactions of a partition, from headers and markers alone (nothing is decompressed).

    A marker counts if the checksum of its batch matches. A transaction that is open where bytes are damaged is undecided up to there: its
    marker may have been in them.

    Args:
        sources: the segments of one partition in offset order, each a path, a `FileSource` or a buffer.
        on_error: that of the decode that follows. With "skip" every entry is read, and counts if its checksum matches.
        storage_options: options of the store of URIs; see `Log`.
        options: options of entries of the decode that follows; see `decode`.

    Returns:
        `Transactions`. Damage is skipped; the decode that follows reports it.

    Raises:
        UnsupportedError: for a batch of magic 3 that the options do not read (MAP-3), whose transactions would be missing. With
            `unreadable="skip"` the batch is skipped, as the decode skips it.
        ValueError: if the sources are not in offset order: a marker could end the transaction of another producer epoch.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> ls.scan_transactions([ls.FileSource("00000000000000000000.log")]).last_stable_offset is None
        True
    """
    places = [reached_source(source, storage_options) for source in sources]
    return core_scan_transactions(places, ReadOptions.of(SkippingKeywords, options, on_error=on_error))


def with_neighbour_bounds(file: SegmentFile, *, reports: bool) -> SegmentFile:
    """Return a segment with the offsets that it may hold, which its neighbours' names limit.

    Args:
        file: the segment.
        reports: as in `order_by_offsets`.
    """
    return order_by_offsets([file], reports=reports, alone=True)[0]


def ensure_named(files: Sequence[SegmentFile]) -> list[SegmentFile]:
    """Return the segments as `order_by_offsets` does, for whoever writes files with the same names, or after them.

    Args:
        files: as in `order_by_offsets`.

    Raises:
        CorruptError: for the first segment that contradicts its name (SEG-1). The text begins with the file.
    """
    found = order_by_offsets(files, reports=False)
    for file in found:
        if file.actual_offsets is not None:
            with naming_file(file.path), decode(file.source(), _ALL_RECORDS) as stream:
                for _ in stream:
                    pass
    return found


def lower_bounded(file: SegmentFile) -> SegmentFile:
    """Return a segment without the upper bound of its offsets, unless it contradicts its name.

    For readers of a directory that a broker changes: its cleaner may merge the next segment into this one after the directory was listed.
    """
    return file if file.offsets is None or file.actual_offsets is not None else file.replaced(offsets=(file.offsets[0], None))
