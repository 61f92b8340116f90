"""Files that are named by themselves, whatever their names: one that is no log segment is told, and does not give no rows."""

from __future__ import annotations

from logsegment._core import FileSource, Limits, RecordBatchError
from logsegment._decode import batch_stream
from logsegment._errors import without_file
from logsegment.log.faults import TORN
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import shown


def ensure_entries(file: SegmentFile, *, recovers: bool, limits: Limits | None = None) -> None:
    """Fail for a file that holds not one whole entry, or does not begin with one; what is empty or zeros passes.

    Args:
        file: of any name.
        recovers: the read goes on past damage, also at the beginning.
        limits: of the read.

    Raises:
        ValueError: when it does.
        OSError: when it cannot be read.
    """
    # Whether batches of magic 3 are read, and by which plugins, is for the read to say.
    stream = batch_stream(FileSource(file.path), check_crc=False, batch_size=1, experimental=True, limits=limits)
    with stream:
        try:
            found = next(iter(stream), None)
        except RecordBatchError as error:
            if recovers or error.position != 0:
                return
            raise ValueError(f"{shown(file.path)}: no log segment, or damaged where it begins: {without_file(error)}") from None
        torn = found is None and any(one.rule == TORN for one in stream.findings)
    if torn:
        raise ValueError(f"{shown(file.path)}: no log segment: there is not one whole entry in it")
