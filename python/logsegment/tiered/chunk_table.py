"""Where the chunks of a segment lie in its object (TS-14 to TS-20): the `chunkIndex` of a manifest goes in, ranges of bytes come out.

A count is a claim: positions of chunks of one size are multiplied, not listed, and a list of sizes is at most 10 MiB (TS-20).
"""

from __future__ import annotations

import base64
import binascii
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from logsegment._core import decompress_zstd
from logsegment._text import count as counted
from logsegment.tiered.errors import ManifestError

#: Aiven refuses more, too.
MOST_SIZES = 10 << 20
_MOST = 2**31 - 1


class Chunk(NamedTuple):
    """One chunk: bytes of the segment, and bytes of the object that hold them."""

    number: int
    position: int
    size: int
    stored_position: int
    stored_size: int


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """The chunks of one segment.

    Attributes:
        chunk_size: bytes of the segment in each but the last.
        file_size: bytes of the segment.
        ends: where each chunk ends in the object; None when all but the last have one size.
        stored_size: of each but the last.
        last_stored_size: of the last.
    """

    chunk_size: int
    file_size: int
    ends: array[int] | None = None
    stored_size: int = 0
    last_stored_size: int = 0

    def __len__(self) -> int:
        return -(-self.file_size // self.chunk_size)

    def __getitem__(self, index: int) -> Chunk:
        if not 0 <= index < len(self):
            raise IndexError(index)
        position = index * self.chunk_size
        size = min(self.chunk_size, self.file_size - position)
        if self.ends is None:
            is_last = index == len(self) - 1
            return Chunk(index, position, size, index * self.stored_size, self.last_stored_size if is_last else self.stored_size)
        begin = self.ends[index - 1] if index else 0
        return Chunk(index, position, size, begin, self.ends[index] - begin)

    @property
    def object_size(self) -> int:
        """Bytes that the object must have (TS-18)."""
        if not len(self):
            return 0
        last = self[len(self) - 1]
        return last.stored_position + last.stored_size

    @property
    def is_identity(self) -> bool:
        """Every byte of the segment stands in the object at its own place (TS-26)."""
        return self.ends is None and self.object_size == self.file_size and (len(self) < 2 or self.stored_size == self.chunk_size)

    def holding(self, start: int, end: int) -> range:
        """Indexes of the chunks that hold the bytes of the segment from `start` to before `end` (TS-42)."""
        end = min(end, self.file_size)
        return range(start // self.chunk_size, (end - 1) // self.chunk_size + 1) if start < end else range(0)


def parse_chunk_table(index: object) -> ChunkTable:
    """Read a `chunkIndex`.

    Raises:
        ManifestError: when it is none, or its numbers do not fit each other.

    Example:
        >>> from logsegment.tiered.chunk_table import parse_chunk_table
        >>> sizes = {"originalChunkSize": 100, "originalFileSize": 250, "transformedChunkSize": 110, "finalTransformedChunkSize": 30}
        >>> parse_chunk_table({"type": "fixed", **sizes})[2]
        Chunk(number=2, position=200, size=50, stored_position=220, stored_size=30)

    Source: `AbstractChunkIndex`, `FixedSizeChunkIndex` and `VariableSizeChunkIndex` of Aiven's plug-in.
    """
    if not isinstance(index, Mapping):
        raise ManifestError("chunkIndex must be an object", "TS-11")
    chunk_size = number(index, "originalChunkSize", least=1, rule="TS-14")
    file_size = number(index, "originalFileSize", rule="TS-14")
    if index.get("type") == "fixed":
        sizes = [number(index, name, rule="TS-16") for name in ("transformedChunkSize", "finalTransformedChunkSize")]
        return ChunkTable(chunk_size, file_size, None, *sizes)
    if index.get("type") != "variable":
        raise ManifestError(f"chunkIndex.type must be fixed or variable, not {index.get('type')!r}", "TS-14")
    sizes = parse_sizes(_unpacked(index.get("transformedChunks")))
    table = ChunkTable(chunk_size, file_size, array("q", accumulate(sizes)))
    if len(sizes) != len(table):
        wanted = f"those of the {counted(len(table), 'chunk')} of {counted(file_size, 'byte')}"
        raise ManifestError(f"transformedChunks has {counted(len(sizes), 'size')}, not {wanted}", "TS-17")
    return table


def parse_sizes(data: bytes) -> list[int]:
    """Read a list of sizes of chunks (TS-19).

    Raises:
        ManifestError: when it is none.

    Source: `ChunkSizesBinaryCodec` of Aiven's plug-in.
    """
    count = _integer(data, 0)
    if count < 2:
        ends = 4 + 4 * count
        sizes = [_integer(data, 4)] if count else []
    else:
        base, width = _integer(data, 4), data[8] if len(data) > 8 else 0
        ends = 13 + (count - 1) * width
        if not 1 <= width <= 4 or len(data) != ends:
            raise ManifestError(
                f"a list of {counted(count, 'size')} of chunks must have another length than {counted(len(data), 'byte')}", "TS-19"
            )
        sizes = [base + int.from_bytes(data[at : at + width]) for at in range(9, ends - 4, width)]
        sizes.append(_integer(data, ends - 4))
    if len(data) != ends or any(size > _MOST for size in sizes):
        raise ManifestError(f"a list of {counted(count, 'size')} of chunks cannot be read: it has {counted(len(data), 'byte')}", "TS-19")
    return sizes


def number(members: Mapping[str, object], name: str, least: int = 0, most: int = _MOST, rule: str = "TS-10") -> int:
    """A whole number among the members of a JSON object.

    Raises:
        ManifestError: when it is missing, none, or out of bounds.
    """
    value = members.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ManifestError(f"{name} must be a whole number from {least} to {most}, not {value!r:.40}", rule)
    return value


def _integer(data: bytes, at: int) -> int:
    value = int.from_bytes(data[at : at + 4], signed=True)
    if len(data) < at + 4 or value < 0:
        raise ManifestError("a list of sizes of chunks ends early, or has a negative number", "TS-19")
    return value


def _unpacked(text: object) -> bytes:
    try:
        return decompress_zstd(base64.b64decode(text if isinstance(text, str) else "!", validate=True), MOST_SIZES)
    except (binascii.Error, ValueError) as error:
        raise ManifestError(f"transformedChunks must be a zstd frame in base64: {error}", "TS-17") from None
