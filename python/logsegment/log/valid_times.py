"""The first record of a time or later, by batches whose checksums match: for reads that go on past damage, which believe no other header.

Neither an index nor a header that may be damaged leads anywhere: each byte in front of the record is read, and records of no batch but
those that may hold it are decoded. Nothing is mapped into memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from logsegment._core import FileSource, RecordStream
from logsegment._decode import batch_stream, decode

if TYPE_CHECKING:
    from logsegment.log.time_lookup import TimeLookup

#: Headers that are looked at together: what is read behind the wanted one is read for nothing.
_ROWS = 64
_FIELDS = [(name, name) for name in ("isValid", "position", "size", "magic", "attributes", "lastOffset", "maxTimestamp")]
_CODEC = 0x07


def intact_offset_at(path: str, timestamp: int, lookup: TimeLookup) -> int | None:
    """The offset of the first record of a segment that is of this time (ms) or later; None when there is none in an intact batch.

    Raises:
        OSError: when the file cannot be read.
    """
    for source in _sources(path, timestamp, lookup):
        with decode(source, on_error="skip", check_crc=lookup.check_crc, end_offset=lookup.end_offset, **decoding(lookup)) as stream:
            found = first_late(stream, timestamp)
        if found is not None:
            return found
    return None


def decoding(lookup: TimeLookup) -> dict[str, Any]:
    """Options of `decode` for records among which `first_late` looks."""
    plugins = {"codecs": lookup.codecs, "experimental": lookup.experimental, "limits": lookup.limits}
    shape = {"columns": ["offset", "timestampMs"], "control": True, "batch_size": 4096, "batch_bytes": 1}
    return {**shape, **plugins, "start_offset": lookup.start_offset}


def first_late(stream: RecordStream, timestamp: int) -> int | None:
    """The offset of the first record of a stream that is of this time (ms) or later."""
    for rows in stream:
        for line in rows.to_jsonl().splitlines():
            record = json.loads(line)
            if record["timestampMs"] >= timestamp:
                return int(record["offset"])
    return None


def _sources(path: str, timestamp: int, lookup: TimeLookup) -> Iterator[FileSource]:
    """What may hold the record, in order; all of the file for a read that takes damaged batches for records too."""
    if not lookup.check_crc:
        yield FileSource(path)
        return
    options: dict[str, Any] = {"experimental": lookup.experimental, "limits": lookup.limits}
    with batch_stream(FileSource(path), on_error="skip", batch_size=_ROWS, **options) as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["isValid"] and _may_be_late(row, timestamp) and _reaches(row, lookup.start_offset):
                    yield FileSource(path, row["position"], row["position"] + row["size"])


def _may_be_late(row: dict[str, Any], timestamp: int) -> bool:
    """By its header; that of a wrapper of magic 0 has no time, and messages in it may have (L8-33)."""
    return bool(row["maxTimestamp"] >= timestamp or (row["magic"] == 0 and row["attributes"] & _CODEC))


def _reaches(row: dict[str, Any], start_offset: int | None) -> bool:
    return start_offset is None or bool(row["lastOffset"] >= start_offset)
