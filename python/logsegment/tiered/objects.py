"""The objects of one upload of Aiven's plug-in: its manifest, its log by chunks, and its indexes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from logsegment._core import Finding
from logsegment._log_paths import INDEXES, LOG, MANIFEST, object_name
from logsegment.stores.files import open_file, read_file
from logsegment.stores.listing import DirectoryEntry, entry_of
from logsegment.stores.uri import directory_of, join_path, shown, untiered
from logsegment.tiered.cache import LruCache
from logsegment.tiered.chunks import ChunkedFile, Opener
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError
from logsegment.tiered.keys import KeyRing
from logsegment.tiered.manifest import INDEX_SUFFIXES, MAX_BYTES, SEAL_BYTES, Manifest, parse_manifest
from logsegment.tiered.uri import ring_of

#: Most bytes of an index.
MAX_INDEX_BYTES = 1 << 31
_MANIFESTS: LruCache[Manifest] = LruCache(4096)
_ADVICE = "reads continue without it, and `restore` rebuilds it from the log"


def read_manifest(entry: DirectoryEntry) -> Manifest:
    """Read and parse a manifest.

    Raises:
        ManifestError: if the object is not a valid manifest; the text begins with its path.
        OSError: if the object cannot be read.
    """
    if (known := _MANIFESTS.get(entry.version)) is not None:
        return known
    try:
        data = read_file(entry.path, MAX_BYTES)
        if data is None:
            raise FileNotFoundError(2, "the manifest was removed", shown(entry.path))
        return _MANIFESTS.put(entry.version, parse_manifest(data))
    except ManifestError as error:
        raise ManifestError(f"{shown(entry.path)}: {error}", error.rule or "TS-10") from None


class SegmentObjects:
    """The objects of one segment.

    Args:
        directory: where the objects are.
        stem: the common beginning of their names.
        ring: keys.
        manifest: if it is known already.

    Raises:
        FileNotFoundError: if there is no manifest.
        ManifestError: if the manifest is invalid.
        OSError: if the manifest cannot be read.
    """

    def __init__(self, directory: str, stem: str, ring: KeyRing, manifest: Manifest | None = None) -> None:
        self._directory = directory
        self._stem = stem
        self._ring = ring
        self.manifest = manifest or read_manifest(entry_of(self.path(MANIFEST)))

    def log(self) -> ChunkedFile:
        """Open the segment.

        Raises:
            SegmentKeyError: if its key is missing or wrong.
            ManifestError: if the object does not belong to the manifest.
            OSError: if the object cannot be opened.
        """
        path = self.path(LOG)
        opener = None if self.manifest.is_untransformed else self._opener(is_compressed=self.manifest.is_compressed)
        return ChunkedFile(shown(path), open_file(path), self.manifest.chunks, opener, self._hints)

    def index_size(self, name: str) -> int | None:
        """Return the bytes of an index, by its name in the manifest; None if there is no such index, or the manifest has no sizes."""
        if self.manifest.parts is None or name not in self.manifest.parts:
            return None
        size = self.manifest.parts[name].size
        return max(size - SEAL_BYTES, 0) if self.manifest.encryption else size

    def index(self, name: str) -> bytes | None:
        """Read an index, by its name in the manifest; return None if there is no such index (TS-36, TS-37, TS-52).

        Raises:
            ChunkError: if its bytes cannot be restored.
            SegmentKeyError: as in `log`.
            OSError: if the object cannot be read.
        """
        path, stored = self._stored_index(name)
        if not stored or self.manifest.encryption is None:
            return stored
        try:
            return self._opener(is_compressed=False).opened(stored, len(stored) - SEAL_BYTES)
        except ChunkError as error:
            raise ChunkError(f"{shown(path)}: the {name} index is lost: {error}") from None

    def path(self, suffix: str) -> str:
        """Return the path of the object with a suffix."""
        return join_path(self._directory, f"{self._stem}.{suffix}")

    def lost_index(self, name: str, suffix: str) -> Finding | None:
        """Return the finding of an index that cannot be read, by its name in the manifest; None if it can be read (TS-37)."""
        try:
            self.index(name)
        except ChunkError as error:
            parts = self.manifest.parts
            part = None if parts is None else parts[name]
            path = shown(self.path(INDEXES if part else suffix))
            text = f"{str(error).removeprefix(f'{path}: ')}; {_ADVICE}"
            at, size = (part.position, part.size) if part else (0, 0)
            return Finding("TS-37", "warning", text, f"{path}@{at}", at, size)
        return None

    def _stored_index(self, name: str) -> tuple[str, bytes | None]:
        if self.manifest.parts is None:
            path = self.path(INDEX_SUFFIXES[name])
            return path, read_file(path, MAX_INDEX_BYTES)
        path = self.path(INDEXES)
        part = self.manifest.parts.get(name)
        if part is None or not part.size:
            return path, None if part is None else b""
        stored = bytes(open_file(path).read_at(part.position, part.size))
        if len(stored) < part.size:
            raise ChunkError(f"{shown(path)}: the {name} index is lost: the object ends before its end")
        return path, stored

    def _opener(self, *, is_compressed: bool) -> Opener:
        encryption = self.manifest.encryption
        return Opener(self._data_key, encryption.aad if encryption else b"", is_compressed=is_compressed)

    @cached_property
    def _data_key(self) -> bytes | None:
        encryption = self.manifest.encryption
        return self._ring.data_key(encryption, shown(self.path(LOG))) if encryption else None

    def _hints(self) -> tuple[bytes, int | None, int | None]:
        try:
            index = self.index("offset")
        except (OSError, ChunkError):
            index = None
        return index or b"", *self.manifest.offsets(int(self._stem[:20]))


def with_lost_indexes(findings: Sequence[Finding], logs: Sequence[str]) -> list[Finding]:
    """Add findings of the indexes of uploads that cannot be read: a reader of sidecar files reports them as missing.

    Args:
        findings: of logs and sidecar files.
        logs: URIs of the logs of uploads.

    Raises:
        OSError: if an object cannot be read.
    """
    lost = [found for log in logs for found in lost_indexes(log)]
    replaced = {path for path, _ in lost} | set(filter(None, map(_never_uploaded, logs)))
    kept = [finding for finding in findings if finding.path.rpartition("@")[0] not in replaced]
    return [*kept, *(finding for _, finding in lost)]


def lost_indexes(log: str) -> list[tuple[str, Finding]]:
    """Return the indexes of an upload that cannot be read: the path that each would have as a sidecar file, and a finding.

    The list is empty if the manifest or a key is wrong: a read of the log reports that.

    Raises:
        OSError: if an object cannot be read.
    """
    place = untiered(log)
    directory, parts = directory_of(place), object_name(os.path.basename(place[:]))
    if parts is None:
        return []
    try:
        objects = SegmentObjects(directory, parts.stem, ring_of(log))
        found = [(suffix, objects.lost_index(name, suffix)) for name, suffix in INDEX_SUFFIXES.items()]
    except (FileNotFoundError, ManifestError, SegmentKeyError):
        return []
    return [(shown(objects.path(suffix)), finding) for suffix, finding in found if finding is not None]


def _never_uploaded(log: str) -> str | None:
    """Return the path of the transaction index of a segment of Pinterest's uploader, which does not upload it (TS-82)."""
    place = untiered(log)
    name = os.path.basename(place[:])
    return None if object_name(name) else shown(join_path(directory_of(place), f"{os.path.splitext(name)[0]}.txnindex"))
