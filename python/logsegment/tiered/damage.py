"""What a damaged chunk held: its place in the segment, and its offsets, as the batches before and behind it tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from logsegment._core import RecordBatchError
from logsegment._decode import batch_stream
from logsegment.tiered.chunk_table import Chunk
from logsegment.tiered.errors import ChunkError

#: Damaged chunks that are looked past on each side: with more, the offsets are told wider than they are, and a long run costs no square.
_MOST_DAMAGED = 64
Hints = Callable[[], tuple[bytes, int | None, int | None]]


class _Bytes:
    """Bytes of a segment from one position to before another, front to back; they end where a chunk is damaged."""

    def __init__(self, file: Any, start: int, end: int) -> None:
        self._file = file
        self._end = end
        self.at = start

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        wanted = self._end - self.at if size < 0 else min(size, self._end - self.at)
        data: bytes = self._file.intact(self.at, wanted) if wanted > 0 else b""
        self.at += len(data)
        return data


def told(file: Any, name: str, chunk: Chunk, fault: str, hints: Hints, *, last: int | None = None) -> ChunkError:
    """The error of a damaged chunk, or of some that are lost together.

    Args:
        file: the segment, whose other chunks are looked at.
        name: of the object, for the text.
        chunk: which one; of several the first, with the bytes of all.
        last: the number of the last of several.
        fault: what is wrong with it.
        hints: as in `ChunkedFile`.
    """
    index, start, end = hints()
    begin = _offset_before(file, chunk, index, start)
    end = _offset_behind(file, chunk, end)
    if begin is not None and end is not None:
        end = max(begin, end)
    offsets = f"offsets {_word(begin)} to {_word(end)}"
    place = f"bytes {chunk.position} to {chunk.position + chunk.size - 1} of the segment, {offsets}"
    is_single = last is None or last == chunk.number
    which = f"chunk {chunk.number} ({place}) is" if is_single else f"chunks {chunk.number} to {last} ({place}) are"
    error = ChunkError(f"{name}: {which} lost: {fault}")
    error.__dict__.update(code="lost_bytes", rule="TS-45", chunk=chunk.number, position=chunk.position, length=chunk.size)
    error.__dict__.update(base_offset=begin, last_offset=end)
    return error


def _offset_before(file: Any, chunk: Chunk, index: bytes, start: int | None) -> int | None:
    """The offset behind the last intact batch that ends in front of the chunk, and of damaged ones right before it."""
    end = chunk.position
    for _ in range(_MOST_DAMAGED):
        begin = _known_batch(index, end)
        before = None
        for source, options in _sound(file, begin, end):
            for row in _rows(source, on_error="skip", **options):
                before = row["lastOffset"]
        if before is not None:
            return int(before) + 1
        if not begin:
            break
        end = begin
    return start


def _offset_behind(file: Any, chunk: Chunk, last: int | None) -> int | None:
    """The offset before the first intact batch that begins behind the chunk, and behind damaged ones right after it."""
    for source, _ in _sound(file, chunk.position + chunk.size, file.size):
        for row in _rows(source, on_error="skip", batch_size=1, resolve=True):
            first = row["lastOffset"] if row["baseOffset"] is None else row["baseOffset"]
            return int(first) - 1
    return last


def _sound(file: Any, start: int, end: int) -> Iterator[tuple[_Bytes, dict[str, Any]]]:
    """The bytes between two positions, anew behind each damaged chunk, where only a checksum tells a batch from the rest of one."""
    options: dict[str, Any] = {"check_crc": False}
    for _ in range(_MOST_DAMAGED):
        source = _Bytes(file, start, end)
        yield source, options
        if source.at >= end:
            return
        start, options = file.end_of_chunk(source.at), {}


def _rows(source: _Bytes, **options: Any) -> Iterator[dict[str, Any]]:
    try:
        with batch_stream(source, **options) as stream:
            for rows in stream:
                yield from map(json.loads, rows.to_jsonl().splitlines())
    except RecordBatchError:
        return


def _known_batch(index: bytes, position: int) -> int:
    """The start of a batch some way before a position, as an `.index` tells; 0 when it tells nothing."""
    if len(index) % 8:
        return 0
    positions = [int.from_bytes(index[at + 4 : at + 8]) for at in range(0, len(index), 8)]
    before = [one for one in positions if one < position]
    return before[-2] if len(before) > 1 and positions == sorted(positions) else 0


def _word(offset: int | None) -> str:
    return "?" if offset is None else str(offset)
