"""Open single batches for what their headers do not say: a position goes in, a time or a type comes out."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

from logsegment._core import FileSource, RecordBatchError
from logsegment._core import decode as core_decode
from logsegment._inspect import inspect
from logsegment._options import EntryKeywords, ReadOptions


def first_time_at(position: int, source: Any, options: EntryKeywords, log_start: int | None = None) -> int | None:
    """Return the time of the first record of a batch (ms); None if the batch cannot be opened.

    Args:
        position: of the batch in the source.
        source: a `FileSource` or a buffer.
        options: of entries.
        log_start: records before this offset do not count.
    """
    own = {"columns": ("timestampMs",), "control": True, "check_crc": False, "batch_size": 1, "start_offset": log_start}
    read = ReadOptions.of(EntryKeywords, options, **own)
    part = FileSource(source.path, position, source.end) if isinstance(source, FileSource) else memoryview(source)[position:]
    with suppress(RecordBatchError), core_decode(part, read) as stream:
        for rows in stream:
            return cast(int, rows.to_pylist()[0]["timestampMs"])
    return None


def control_type_at(position: int, source: Any, options: EntryKeywords) -> str:
    """Return the type of the control record of a batch; EMPTY if it has none."""
    entry = inspect(source, at=position, records=1, value_bytes=0, **options)
    return next((field.note for _, field in entry.walk() if field.name == "type" and field.note), "EMPTY")
