"""The objects in tests/corpus/tiered, and uploads that tests make of any log directory as Aiven's plug-in does (TS-1 to TS-38)."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import corpus
import logsegment as ls
from logsegment._core import Place
from logsegment.tiered.keys import KeyRing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

TIERED = corpus.CORPUS / "tiered"
BUCKET = TIERED / "bucket"
LOCAL = TIERED / "local-tiered-storage"
#: The mode of each partition, from 1 on.
MODES = (
    "plain",
    "zstd",
    "enc",
    "zstdenc",
    "heur-unc",
    "heur-comp",
    "bigchunk-zstdenc",
    "exact-enc",
    "notxn-zstd",
    "emptyidx-enc",
    "custom-zstd",
    "bigchunk-plain",
    "noncomp-incompressible-zstd",
)
ENCRYPTED = tuple(mode for mode in MODES if mode.endswith("enc"))
KEYS = {name: bytes.fromhex(text) for name, text in json.loads((TIERED / "keys.json").read_text())["keys"].items() if "." not in name}
TOPIC_ID = "MWJ6FHTfRYy67jzwZdeqSQ"
FOLDER = BUCKET / f"some/prefix/to-pic.a-{TOPIC_ID}"
STEM = "00000000000000001234-tqimKeZwStOEOwRzT3L5oQ"
#: A text that shows more than twice as many characters of a key holds one of its pieces.
_PIECE = 24
INDEXES = (".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint", ".txnindex")


def leaks(text: str, keys: Mapping[str, object] = KEYS) -> list[str]:
    """The ids of the keys of which a text shows something: bytes in hex or base64, or how they travel inside of a URI.

    Args:
        keys: as they were given to the verb: what stands for one, a path of a file too, is no more to be seen than the key.
    """
    ring = KeyRing(keys).to_text()
    found = []
    for key_id, key in keys.items():
        own = KeyRing({key_id: key}).to_text()
        der = KEYS.get(key_id, b"")
        forms = [own, ring, der.hex(), base64.b64encode(der).decode(), base64.urlsafe_b64encode(der).decode(), repr(der)]
        pieces = [form[at : at + _PIECE] for form in forms for at in range(0, len(form) - _PIECE, _PIECE)]
        if any(piece in text for piece in pieces) or (not isinstance(key, bytes) and str(key) in text):
            found.append(key_id)
    return found


def uploaded(path: str | os.PathLike[str], keys: Mapping[str, str | os.PathLike[str] | bytes] | None = None) -> str:
    """Return the URI of uploads as it travels inside the package."""
    return Place(path).uploaded(None if keys is None else KeyRing(keys).to_text()).path


def folder(mode: str) -> Path:
    """Where the objects of a mode lie."""
    return FOLDER / str(MODES.index(mode) + 1)


def original(mode: str, suffix: str = ".log") -> bytes:
    """A file of a segment before its upload."""
    (path,) = (TIERED / "originals" / mode).glob(f"*{suffix}")
    return path.read_bytes()


@dataclass(frozen=True)
class Uploader:
    """Uploads segments of log directories as Aiven's plug-in does."""

    root: Path
    topic: str = "orders"
    topic_id: str = TOPIC_ID
    chunk_size: int = 1000
    compresses: bool = False
    key_id: str | None = None

    @property
    def prefix(self) -> Path:
        return self.root / "prefix"

    def folder(self, partition: int = 0) -> Path:
        return self.prefix / f"{self.topic}-{self.topic_id}" / str(partition)

    def partition(self, directory: Path, partition: int = 0) -> list[Path]:
        """Upload all segments of a log directory."""
        log = ls.Log(directory)
        ends = [*(segment.base_offset - 1 for segment in log.segments[1:]), log.segments[-1].next_offset() - 1]
        return [self.segment(Path(file.path), end, partition) for file, end in zip(log.segments, ends, strict=True)]

    def segment(
        self, log: Path, end: int, partition: int = 0, *, data: bytes | None = None, epochs: object = None, event: int = 0, name: str = ""
    ) -> Path:
        """Upload one segment; give the path of its log object."""
        data, base = log.read_bytes() if data is None else data, int(log.name[:20])
        segment_id = base64.urlsafe_b64encode(hashlib.md5(f"{base}{name}".encode()).digest()).decode().rstrip("=")
        key, aad = os.urandom(32), os.urandom(32)
        chunks = [self._stored(data[at : at + self.chunk_size], key, aad) for at in range(0, len(data), self.chunk_size)]
        indexes, parts, at = b"", {}, 0
        for member, file in zip(
            ("offset", "timestamp", "producerSnapshot", "leaderEpoch", "transaction"), self._files(log, end), strict=True
        ):
            if not file.exists() and member == "transaction":
                parts[member] = None
                continue
            bytes_ = file.read_bytes() if file.exists() else b""
            stored = self._sealed(bytes_, key, aad) if bytes_ else b""
            parts[member] = {"position": at, "size": len(stored)}
            indexes, at = indexes + stored, at + len(stored)
        manifest = {"version": "1", "chunkIndex": self._table(chunks, len(data)), "segmentIndexes": parts, "compression": self.compresses}
        if self.key_id:
            manifest["encryption"] = {"dataKey": f"{self.key_id}:{wrapped(self.key_id, key)}", "aad": base64.b64encode(aad).decode()}
        ids = {
            "topicIdPartition": {"topicId": self.topic_id, "topicPartition": {"topic": self.topic, "partition": partition}},
            "id": segment_id,
        }
        manifest["remoteLogSegmentMetadata"] = {
            "remoteLogSegmentId": ids,
            "startOffset": base,
            "endOffset": end,
            "maxTimestampMs": max((row["maxTimestamp"] for row in ls.batches(log.read_bytes()).to_pylist()), default=-1),
            "brokerId": 1,
            "eventTimestampMs": event,
            "segmentLeaderEpochs": epochs or {"0": base},
        }
        folder = self.folder(partition)
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{base:020d}-{segment_id}"
        (folder / f"{stem}.log").write_bytes(b"".join(chunks))
        (folder / f"{stem}.indexes").write_bytes(indexes)
        (folder / f"{stem}.rsm-manifest").write_text(json.dumps(manifest))
        return folder / f"{stem}.log"

    def _files(self, log: Path, end: int) -> list[Path]:
        snapshot = log.parent / f"{end + 1:020d}.snapshot"
        return [
            log.with_suffix(".index"),
            log.with_suffix(".timeindex"),
            snapshot,
            log.parent / "leader-epoch-checkpoint",
            log.with_suffix(".txnindex"),
        ]

    def _stored(self, chunk: bytes, key: bytes, aad: bytes) -> bytes:
        import zstandard

        return self._sealed(zstandard.compress(chunk) if self.compresses else chunk, key, aad)

    def _sealed(self, data: bytes, key: bytes, aad: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if not self.key_id:
            return data
        iv = os.urandom(12)
        return iv + AESGCM(key).encrypt(iv, data, aad)

    def _table(self, chunks: list[bytes], size: int) -> dict[str, object]:
        common = {"originalChunkSize": self.chunk_size, "originalFileSize": size}
        sizes = [len(chunk) for chunk in chunks]
        if not self.compresses:
            return {"type": "fixed", **common, "transformedChunkSize": sizes[0], "finalTransformedChunkSize": sizes[-1]}
        import zstandard

        packed = base64.b64encode(zstandard.compress(packed_sizes(sizes))).decode()
        return {"type": "variable", **common, "transformedChunks": packed}


class Chunk(NamedTuple):
    """A chunk: a range of the segment, and the range of the object that holds it."""

    position: int
    size: int
    stored_position: int
    stored_size: int


def chunks_of(log: str | Path) -> list[Chunk]:
    """The chunks of an upload by its manifest (TS-14 to TS-19), read by this code alone."""
    manifest = json.loads(Path(str(log)).with_suffix(".rsm-manifest").read_text())
    table = manifest["chunkIndex"]
    chunk_size, file_size = table["originalChunkSize"], table["originalFileSize"]
    positions = range(0, file_size, chunk_size)
    if table["type"] == "fixed":
        sizes = [table["transformedChunkSize"]] * (len(positions) - 1) + [table["finalTransformedChunkSize"]]
    else:
        import zstandard

        sizes = unpacked_sizes(zstandard.decompress(base64.b64decode(table["transformedChunks"])))
    ends = list(accumulate(sizes))
    return [Chunk(at, min(chunk_size, file_size - at), end - size, size) for at, size, end in zip(positions, sizes, ends, strict=True)]


def unpacked_sizes(data: bytes) -> list[int]:
    """TS-19."""
    count, base, width = int.from_bytes(data[:4]), int.from_bytes(data[4:8]), data[8] if len(data) > 8 else 0
    if count < 2:
        return [base] * count
    return [base + int.from_bytes(data[at : at + width]) for at in range(9, len(data) - 4, width)] + [int.from_bytes(data[-4:])]


def packed_sizes(sizes: list[int]) -> bytes:
    """TS-19."""
    count = len(sizes).to_bytes(4)
    if len(sizes) < 2:
        return count + b"".join(size.to_bytes(4) for size in sizes)
    base = min(sizes[:-1])
    width = max(1, (max(size - base for size in sizes[:-1]).bit_length() + 7) // 8)
    return (
        count + base.to_bytes(4) + bytes([width]) + b"".join((size - base).to_bytes(width) for size in sizes[:-1]) + sizes[-1].to_bytes(4)
    )


@cache
def public_numbers(key_id: str) -> RSAPublicNumbers:
    """Of a key of `KEYS`. Who loads a private key checks its primes, which takes long."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    key = load_der_private_key(KEYS[key_id], None)
    assert isinstance(key, RSAPrivateKey)
    return key.public_key().public_numbers()


def wrapped(key_id: str, key: bytes) -> str:
    """A data key under OAEP with SHA3-512 (TS-30), which `cryptography` does not offer."""
    numbers = public_numbers(key_id)
    length = (numbers.n.bit_length() + 7) // 8
    digest = hashlib.sha3_512
    seed = os.urandom(64)
    data = digest(b"").digest() + bytes(length - len(key) - 130) + b"\x01" + key
    masked = _xor(data, _mask(seed, len(data)))
    block = b"\x00" + _xor(seed, _mask(masked, 64)) + masked
    return base64.b64encode(pow(int.from_bytes(block), numbers.e, numbers.n).to_bytes(length)).decode()


def _mask(seed: bytes, length: int) -> bytes:
    return b"".join(hashlib.sha3_512(seed + at.to_bytes(4)).digest() for at in range(length // 64 + 1))[:length]


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
