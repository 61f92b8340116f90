"""Manifests of Aiven's plug-in (TS-10 to TS-23), with the table of the chunks of a segment (TS-14 to TS-20).

JSON goes in, a checked `Manifest` comes out. Unknown members are ignored. A count is a claim: positions of chunks of one size are
multiplied, not listed, and a list of sizes is at most 10 MiB (TS-20).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, chain
from operator import sub
from typing import Any, NamedTuple

from logsegment._core import decompress_zstd
from logsegment._text import count as counted
from logsegment.tiered.errors import ManifestError

#: A larger object is not a manifest: a list of sizes is 10 MiB at most before base64.
MAX_BYTES = 32 << 20
#: IV and tag of an encrypted chunk.
SEAL_BYTES = 28
#: Members of `segmentIndexes`, in the order of the object, and the files of a log directory that they are.
INDEX_SUFFIXES = {
    "offset": "index",
    "timestamp": "timeindex",
    "producerSnapshot": "snapshot",
    "leaderEpoch": "leader-epoch-checkpoint",
    "transaction": "txnindex",
}
_MAX_LONG = 2**63 - 1
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class IndexRange(NamedTuple):
    """A range of bytes in the object of the indexes."""

    position: int
    size: int


class Encryption(NamedTuple):
    """The encryption of a segment: the id of a key pair, the data key encrypted under it, and the associated data of the chunks."""

    key_id: str
    wrapped_key: bytes
    aad: bytes


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of an upload.

    Attributes:
        chunks: where the bytes of the segment are.
        is_compressed: each chunk is a zstd frame.
        encryption: None if nothing is encrypted.
        parts: ranges of the indexes in their object, by name; None in manifests before October 2023 (TS-52).
        topic, topic_id, partition, segment_id: None if the manifest does not have them.
        start_offset, end_offset: the first and the last offset of the segment; None if the manifest does not have them.
        max_timestamp: the largest of its records, in ms; None if the manifest does not have it.
        event_timestamp: the time of the upload, in ms.
        epochs: first offset of each leader epoch in the segment.
    """

    chunks: ChunkTable
    is_compressed: bool
    encryption: Encryption | None
    parts: dict[str, IndexRange] | None
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    segment_id: str | None = None
    start_offset: int | None = None
    end_offset: int | None = None
    max_timestamp: int | None = None
    event_timestamp: int = -1
    epochs: dict[int, int] = field(default_factory=dict)

    @property
    def is_untransformed(self) -> bool:
        """Return True if the object of the log is the log itself (TS-26)."""
        return not self.is_compressed and self.encryption is None

    def offsets(self, base_offset: int) -> tuple[int, int | None]:
        """Return the first and last offset of a segment with this base offset in its name; None for a last offset that is not known."""
        return base_offset if self.start_offset is None else self.start_offset, self.end_offset


def parse_manifest(data: bytes) -> Manifest:
    """Parse a manifest.

    Raises:
        ManifestError: if it is invalid, of another version, or its parts contradict each other.

    Source: `SegmentManifestV1` of Aiven's plug-in.
    """
    try:
        members: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"the manifest is not JSON: {error}") from None
    if not isinstance(members, Mapping) or members.get("version") != "1":
        version = members.get("version") if isinstance(members, Mapping) else None
        raise ManifestError(f'the manifest must be of version "1", not {version!r:.40}')
    is_compressed = members.get("compression")
    if not isinstance(is_compressed, bool):
        raise ManifestError(f"compression must be true or false, not {is_compressed!r:.40}", "TS-13")
    metadata = _segment_metadata(members.get("remoteLogSegmentMetadata"))
    encryption = _encryption(members["encryption"]) if members.get("encryption") is not None else None
    chunks = parse_chunk_table(members.get("chunkIndex"))
    chunks.ensure_stored(SEAL_BYTES if encryption else 0)
    return Manifest(
        chunks=chunks,
        is_compressed=is_compressed,
        encryption=encryption,
        parts=_parts(members["segmentIndexes"]) if members.get("segmentIndexes") is not None else None,
        **metadata,
    )


def parse_data_key(text: object) -> tuple[str, bytes]:
    """Split the id of a key pair and a data key (TS-29).

    Raises:
        ManifestError: if the text is malformed.

    Example:
        >>> from logsegment.tiered.manifest import parse_data_key
        >>> parse_data_key("id:AAECAw==")[0]
        'id'

    Source: `EncryptedDataKey` of Aiven's plug-in.
    """
    key_id, _, wrapped = text.partition(":") if isinstance(text, str) else ("", "", "")
    try:
        key = base64.b64decode(wrapped, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key_id.strip() or not key:
        raise ManifestError("encryption.dataKey must be the id of a key, a colon and the wrapped key in base64", "TS-29")
    return key_id, key


def _encryption(members: object) -> Encryption:
    if not isinstance(members, Mapping):
        raise ManifestError("encryption must be an object", "TS-21")
    try:
        aad = base64.b64decode(members.get("aad") or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        aad = b""
    if not aad:
        raise ManifestError("encryption.aad must be base64", "TS-21")
    return Encryption(*parse_data_key(members.get("dataKey")), aad)


def _parts(members: object) -> dict[str, IndexRange]:
    if not isinstance(members, Mapping):
        raise ManifestError("segmentIndexes must be an object", "TS-35")
    parts = {}
    for name in INDEX_SUFFIXES:
        part = members.get(name)
        if part is None and name == "transaction":
            continue
        if not isinstance(part, Mapping):
            raise ManifestError(f"segmentIndexes.{name} must have position and size", "TS-36")
        parts[name] = IndexRange(number(part, "position", rule="TS-35"), number(part, "size", rule="TS-35"))
    return parts


def _segment_metadata(members: object) -> dict[str, Any]:
    """Parse the metadata of the segment, as far as the manifest has them (TS-22, TS-23)."""
    if not isinstance(members, Mapping):
        return {}
    try:
        ids = members["remoteLogSegmentId"]
        partition = ids["topicIdPartition"]
        return {
            "topic": _topic(partition["topicPartition"]["topic"]),
            "topic_id": str(partition["topicId"]),
            "partition": number(partition["topicPartition"], "partition", rule="TS-23"),
            "segment_id": str(ids["id"]),
            "start_offset": number(members, "startOffset", most=_MAX_LONG, rule="TS-23"),
            "end_offset": number(members, "endOffset", most=_MAX_LONG, rule="TS-23"),
            "max_timestamp": _time(members.get("maxTimestampMs")),
            "event_timestamp": number(members, "eventTimestampMs", least=-1, most=_MAX_LONG, rule="TS-23"),
            "epochs": {int(epoch): int(start) for epoch, start in members["segmentLeaderEpochs"].items()},
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ManifestError):
            raise
        raise ManifestError(f"remoteLogSegmentMetadata lacks {error}", "TS-23") from None


def _time(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _topic(name: object) -> str:
    """Check the name of a topic as Kafka does (`Topic.validate`): it becomes the name of a directory."""
    if not isinstance(name, str) or not _TOPIC.fullmatch(name) or name in (".", ".."):
        raise ManifestError("remoteLogSegmentMetadata names a topic that Kafka does not allow", "TS-23")
    return name


#: The limit of Aiven's plug-in.
_MAX_SIZES = 10 << 20
_MAX_INT = 2**31 - 1


class Chunk(NamedTuple):
    """A chunk: a range of the segment, and the range of the object that holds it."""

    number: int
    position: int
    size: int
    stored_position: int
    stored_size: int


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """The chunks of one segment.

    Attributes:
        chunk_size: bytes of the segment in each chunk but the last.
        file_size: bytes of the segment.
        ends: the end of each chunk in the object; None if all but the last have one size.
        stored_size: bytes of the object in each chunk but the last.
        last_stored_size: bytes of the object in the last chunk.
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
        """Return the bytes that the object must have (TS-18)."""
        if not len(self):
            return 0
        last = self[len(self) - 1]
        return last.stored_position + last.stored_size

    @property
    def is_identity(self) -> bool:
        """Return True if each byte of the segment is at its own position in the object (TS-26)."""
        return self.ends is None and self.object_size == self.file_size and (len(self) < 2 or self.stored_size == self.chunk_size)

    def ensure_stored(self, seal: int) -> None:
        """Raise an error if a chunk would have no byte in the object: a count of chunks is a claim.

        Args:
            seal: bytes of each stored chunk that hold none of the segment.

        Raises:
            ManifestError: if there is such a chunk.
        """
        if not len(self):
            return
        if self.ends is None:
            least = self.last_stored_size if len(self) == 1 else min(self.stored_size, self.last_stored_size)
        else:
            least = min(map(sub, self.ends, chain((0,), self.ends)))
        if least <= seal:
            rule = "TS-16" if self.ends is None else "TS-17"
            raise ManifestError(f"a chunk must have more than {counted(seal, 'byte')} in the object, not {least}", rule)

    def whole_in(self, size: int) -> int:
        """Return how many chunks an object of so many bytes holds; those after them are cut off."""
        if self.ends is not None:
            return bisect_right(self.ends, size)
        if size >= self.object_size:
            return len(self)
        return min(size // self.stored_size, len(self) - 1) if self.stored_size else len(self) - 1

    def holding(self, start: int, end: int) -> range:
        """Return the indexes of the chunks that hold a range of the segment; `end` is exclusive (TS-42)."""
        end = min(end, self.file_size)
        return range(start // self.chunk_size, (end - 1) // self.chunk_size + 1) if start < end else range(0)


def parse_chunk_table(index: object) -> ChunkTable:
    """Parse a `chunkIndex`.

    Raises:
        ManifestError: if it is invalid, or its numbers contradict each other.

    Example:
        >>> from logsegment.tiered.manifest import parse_chunk_table
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
    data = _decompressed(index.get("transformedChunks"))
    number_of_chunks = len(ChunkTable(chunk_size, file_size))
    if _integer(data, 0) != number_of_chunks:
        wanted = f"those of the {counted(number_of_chunks, 'chunk')} of {counted(file_size, 'byte')}"
        raise ManifestError(f"transformedChunks has {counted(_integer(data, 0), 'size')}, not {wanted}", "TS-17")
    return ChunkTable(chunk_size, file_size, array("q", accumulate(_sizes(data))))


def parse_sizes(data: bytes) -> list[int]:
    """Parse a list of sizes of chunks (TS-19).

    Raises:
        ManifestError: if it is invalid.

    Source: `ChunkSizesBinaryCodec` of Aiven's plug-in.
    """
    return list(_sizes(data))


def _sizes(data: bytes) -> array[int]:
    count = _integer(data, 0)
    if count < 2:
        ends = 4 + 4 * count
        sizes = array("q", [_integer(data, 4)] if count else [])
    else:
        base, width = _integer(data, 4), data[8] if len(data) > 8 else 0
        ends = 13 + (count - 1) * width
        if not 1 <= width <= 4 or len(data) != ends:
            raise ManifestError(
                f"a list of {counted(count, 'size')} of chunks must have another length than {counted(len(data), 'byte')}", "TS-19"
            )
        sizes = array("q", map(base.__add__, _unsigned(data[9 : ends - 4], width)))
        sizes.append(_integer(data, ends - 4))
    if len(data) != ends or max(sizes, default=0) > _MAX_INT:
        raise ManifestError(f"a list of {counted(count, 'size')} of chunks cannot be read: it has {counted(len(data), 'byte')}", "TS-19")
    return sizes


def _unsigned(data: bytes, width: int) -> memoryview:
    """Return big-endian integers of one to four bytes, without a loop over them."""
    wide = bytearray(len(data) // width * 4)
    for at in range(width):
        wide[3 - at :: 4] = data[width - 1 - at :: width]
    numbers = array("I", bytes(wide))
    if sys.byteorder == "little":
        numbers.byteswap()
    return memoryview(numbers)


def number(members: Mapping[str, object], name: str, least: int = 0, most: int = _MAX_INT, rule: str = "TS-10") -> int:
    """Return a whole number of a JSON object.

    Raises:
        ManifestError: if it is missing, not a whole number, or out of bounds.
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


def _decompressed(text: object) -> bytes:
    try:
        return decompress_zstd(base64.b64decode(text if isinstance(text, str) else "!", validate=True), _MAX_SIZES)
    except (binascii.Error, ValueError) as error:
        raise ManifestError(f"transformedChunks must be a zstd frame in base64: {error}", "TS-17") from None
