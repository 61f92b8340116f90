"""The first record of a time or later, by batches whose checksums match: for reads that skip damage.

Neither an index nor a header that may be damaged leads anywhere. Each byte before the record is read, and only batches that may contain it
are decoded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from logsegment._core import FileSource, RecordStream, batch_stream, decode
from logsegment._options import ReadOptions

#: Headers that are read together.
_ROWS = 64
_FIELDS = [(name, name) for name in ("isValid", "position", "size", "magic", "attributes", "lastOffset", "maxTimestamp")]
_CODEC = 0x07


def valid_offset_at(path: str, timestamp: int, options: ReadOptions) -> int | None:
    """Return the offset of the first record of this time (ms) or later in a valid batch of a segment, or None.

    Raises:
        OSError: if the file cannot be read.
    """
    for source in _sources(path, timestamp, options):
        with decode(source, time_columns(options)) as stream:
            found = first_late(stream, timestamp)
        if found is not None:
            return found
    return None


def time_columns(options: ReadOptions) -> ReadOptions:
    """Return the options of a read of the records among which `first_late` looks."""
    own = ReadOptions(columns=("offset", "timestampMs"), control=True, batch_size=4096, batch_bytes=1)
    kept = ("check_crc", "on_error", "start_offset", "end_offset", "experimental", "codecs", "limits")
    return replace(own, **{name: getattr(options, name) for name in kept})


def first_late(stream: RecordStream, timestamp: int) -> int | None:
    """The offset of the first record of a stream that is of this time (ms) or later."""
    for rows in stream:
        for line in rows.to_jsonl().splitlines():
            record = json.loads(line)
            if record["timestampMs"] >= timestamp:
                return int(record["offset"])
    return None


def _sources(path: str, timestamp: int, options: ReadOptions) -> Iterator[FileSource]:
    """Yield what may contain the record, in order. Without checksums that is the whole file."""
    if not options.check_crc:
        yield FileSource(path)
        return
    headers = ReadOptions(on_error="skip", batch_size=_ROWS, experimental=options.experimental, limits=options.limits)
    with batch_stream(FileSource(path), headers) as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["isValid"] and _may_be_late(row, timestamp) and _reaches(row, options.start_offset):
                    yield FileSource(path, row["position"], row["position"] + row["size"])


def _may_be_late(row: dict[str, Any], timestamp: int) -> bool:
    """By its header; that of a wrapper of magic 0 has no time, and messages in it may have (L8-33)."""
    return bool(row["maxTimestamp"] >= timestamp or (row["magic"] == 0 and row["attributes"] & _CODEC))


def _reaches(row: dict[str, Any], start_offset: int | None) -> bool:
    return start_offset is None or bool(row["lastOffset"] >= start_offset)
