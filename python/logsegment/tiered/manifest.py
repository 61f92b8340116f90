"""Manifests of Aiven's plug-in (TS-10 to TS-23): JSON goes in, a checked `Manifest` comes out. Unknown members are passed over."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from logsegment.tiered.chunk_table import ChunkTable, number, parse_chunk_table
from logsegment.tiered.errors import ManifestError

#: Larger ones are no manifests: a list of sizes is 10 MiB at most before base64.
MOST_BYTES = 32 << 20
#: Members of `segmentIndexes`, in the order of the object, and the files of a log directory that they are.
INDEX_SUFFIXES = {
    "offset": "index",
    "timestamp": "timeindex",
    "producerSnapshot": "snapshot",
    "leaderEpoch": "leader-epoch-checkpoint",
    "transaction": "txnindex",
}
_MOST_LONG = 2**63 - 1
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class Part(NamedTuple):
    """Bytes of the object of indexes."""

    position: int
    size: int


class Sealed(NamedTuple):
    """How a segment is encrypted: the id of a key pair, the data key under it, and what every chunk is bound to."""

    key_id: str
    wrapped_key: bytes
    aad: bytes


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the manifest of an upload says.

    Attributes:
        chunks: where the bytes of the segment are.
        is_compressed: each chunk is a zstd frame.
        sealed: None when nothing is encrypted.
        parts: of the object of indexes, by the names of the manifest; None in manifests before October 2023 (TS-52).
        topic, topic_id, partition, segment_id: None where the manifest does not tell.
        start_offset, end_offset: the first and the last offset of the segment; None where the manifest does not tell.
        max_timestamp: the largest of its records, in ms; None where the manifest does not tell.
        event_timestamp: when it was uploaded, in ms.
        epochs: first offset of each leader's term in the segment.
    """

    chunks: ChunkTable
    is_compressed: bool
    sealed: Sealed | None
    parts: dict[str, Part] | None
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
    def is_plain(self) -> bool:
        """The object of the log is the log (TS-26)."""
        return not self.is_compressed and self.sealed is None

    def offsets(self, base_offset: int) -> tuple[int, int | None]:
        """First and last offset of a segment with this base offset in its name; None for a last one that the manifest does not have."""
        return base_offset if self.start_offset is None else self.start_offset, self.end_offset


def parse_manifest(data: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        ManifestError: when it is none, of another version, or its parts do not fit each other.

    Source: `SegmentManifestV1` of Aiven's plug-in.
    """
    try:
        members: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"the manifest is no JSON: {error}") from None
    if not isinstance(members, Mapping) or members.get("version") != "1":
        version = members.get("version") if isinstance(members, Mapping) else None
        raise ManifestError(f'the manifest must be of version "1", not {version!r:.40}')
    is_compressed = members.get("compression")
    if not isinstance(is_compressed, bool):
        raise ManifestError(f"compression must be true or false, not {is_compressed!r:.40}", "TS-13")
    told = _segment_metadata(members.get("remoteLogSegmentMetadata"))
    return Manifest(
        chunks=parse_chunk_table(members.get("chunkIndex")),
        is_compressed=is_compressed,
        sealed=_sealed(members["encryption"]) if members.get("encryption") is not None else None,
        parts=_parts(members["segmentIndexes"]) if members.get("segmentIndexes") is not None else None,
        **told,
    )


def parse_data_key(text: object) -> tuple[str, bytes]:
    """Take the id of a key pair and a data key apart (TS-29).

    Raises:
        ManifestError: when it is malformed.

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


def _sealed(members: object) -> Sealed:
    if not isinstance(members, Mapping):
        raise ManifestError("encryption must be an object", "TS-21")
    try:
        aad = base64.b64decode(members.get("aad") or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        aad = b""
    if not aad:
        raise ManifestError("encryption.aad must be base64", "TS-21")
    return Sealed(*parse_data_key(members.get("dataKey")), aad)


def _parts(members: object) -> dict[str, Part]:
    if not isinstance(members, Mapping):
        raise ManifestError("segmentIndexes must be an object", "TS-35")
    parts = {}
    for name in INDEX_SUFFIXES:
        part = members.get(name)
        if part is None and name == "transaction":
            continue
        if not isinstance(part, Mapping):
            raise ManifestError(f"segmentIndexes.{name} must tell position and size", "TS-36")
        parts[name] = Part(number(part, "position", rule="TS-35"), number(part, "size", rule="TS-35"))
    return parts


def _segment_metadata(members: object) -> dict[str, Any]:
    """What a manifest tells of its segment, as far as it does (TS-22, TS-23)."""
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
            "start_offset": number(members, "startOffset", most=_MOST_LONG, rule="TS-23"),
            "end_offset": number(members, "endOffset", most=_MOST_LONG, rule="TS-23"),
            "max_timestamp": _time(members.get("maxTimestampMs")),
            "event_timestamp": number(members, "eventTimestampMs", least=-1, most=_MOST_LONG, rule="TS-23"),
            "epochs": {int(epoch): int(start) for epoch, start in members["segmentLeaderEpochs"].items()},
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ManifestError):
            raise
        raise ManifestError(f"remoteLogSegmentMetadata lacks {error}", "TS-23") from None


def _time(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _topic(name: object) -> str:
    """A topic's name becomes that of a directory: nothing else than Kafka takes for one is believed (`Topic.validate`)."""
    if not isinstance(name, str) or not _TOPIC.fullmatch(name) or name in (".", ".."):
        raise ManifestError("remoteLogSegmentMetadata names a topic that Kafka does not allow", "TS-23")
    return name
