"""Segments with offsets too far above their names (SEG-22), cut as a broker cuts them when it loads a log.

Indexes have offsets of 31 bits, counted from the name of their segment. A log cleaner that meets a larger one stops (KAFKA-6264).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from logsegment._core import BatchHeader, RecordBatchError, SegmentFile, SegmentLookup, batch_headers, batch_stream
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment._output import new_file
from logsegment._places import is_tiered
from logsegment.segment_files.discovery import size_of

#: The rule of such segments.
RULE = "SEG-22"
#: Most bytes of a segment, and most offsets after its base offset: both have 31 bits in indexes (SEG-13).
MOST = 2**31 - 1
_PIECE = 1 << 20


def first_offset_of(header: BatchHeader, previous_last: int) -> int:
    """Return the offset after which a segment that begins with a batch is named.

    It is the base offset of the batch. Of a compressed message of magic 0 or 1 only the last offset is known: the name may be lower.

    Args:
        header: of the batch.
        previous_last: the last offset before it.
    """
    return max(previous_last + 1, header.last_offset - MOST) if header.base_offset is None else header.base_offset


def parts_of(files: Sequence[SegmentFile], read: ReadOptions) -> list[SegmentFile]:
    """Return segments, and instead of a segment with offsets too far above its name its parts.

    Each part begins with the batch that an index of the part before could not hold, and is named after it.

    Args:
        files: segments of one partition, in the order of their offsets.
        read: how entries are read.

    Raises:
        RecordBatchError: if such a segment is damaged.
        OSError: if a segment cannot be read.

    Source: `UnifiedLog.splitOverflowedSegment` in Kafka.
    """
    return [part for file in files for part in (_parts(file, read) if _has_far_offset(file) else [file])]


def split_file(path: Path, read: ReadOptions) -> list[Path]:
    """Replace a segment of an output directory by its parts.

    Args:
        path: the segment, which is valid.
        read: how entries are read.

    Returns:
        The paths of the parts; the path itself if all offsets fit.

    Raises:
        OSError: if a file cannot be read or written.
    """
    parts = parts_of([SegmentFile.at(path)], read)
    if len(parts) == 1 and parts[0].part is None:
        return [path]
    whole = path.with_name(f".{path.name}")
    path.rename(whole)
    made = [path.with_name(f"{part.base_offset:020d}.log") for part in parts]
    with whole.open("rb") as source:
        for part, place in zip(parts, made, strict=True):
            start, end = part.part or (0, 0)
            source.seek(start)
            with new_file(place) as output:
                for at in range(start, end, _PIECE):
                    output.write(source.read(min(_PIECE, end - at)))
                output.flush()
                os.fsync(output.fileno())
    whole.unlink()
    return made


def _has_far_offset(file: SegmentFile) -> bool:
    base = file.base_offset
    if base is None or is_tiered(file.path) or is_of_0_7(file.path):
        return False
    end = file.offsets[1] if file.offsets else None
    if end is not None and end - 1 - base <= MOST:
        return False
    try:
        last = SegmentLookup(file).last_batch()
    except RecordBatchError:
        # A read of the segment reports the damage.
        return False
    return last is not None and last[2] - base > MOST


def _parts(file: SegmentFile, read: ReadOptions) -> Iterator[SegmentFile]:
    size = size_of(file)
    begun: tuple[int, int] | None = None
    last = (file.base_offset or 0) - 1
    for rows in batch_stream(file.source(0, size), read):
        for header in batch_headers(rows):
            if begun is None or header.last_offset - begun[1] > MOST:
                if begun is not None:
                    yield file.replaced(base_offset=begun[1], part=(begun[0], header.position))
                begun = (header.position, first_offset_of(header, last))
            last = header.last_offset
    # Without a whole batch the file is its own part.
    yield file if begun is None else file.replaced(base_offset=begun[1], part=(begun[0], size))
