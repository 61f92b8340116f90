"""The objects of one upload of Aiven's plug-in, opened: the log by its chunks, and each of its indexes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property

from logsegment._log_paths import INDEXES, LOG, MANIFEST
from logsegment.stores.uri import shown
from logsegment.tiered.chunks import SEAL_BYTES, ChunkedFile, Opener
from logsegment.tiered.errors import ChunkError, ManifestError
from logsegment.tiered.keys import KeyRing
from logsegment.tiered.manifest import INDEX_SUFFIXES, MOST_BYTES, Manifest, parse_manifest
from logsegment.tiered.objects import Info, info_of, joined_path, open_object, read_object

#: Manifests that are kept: an object under a name never changes, but for tests and copies, which its time and size tell.
_MOST_KEPT = 4096
_KEPT: OrderedDict[tuple[str, int, float | None], Manifest] = OrderedDict()
_LOCK = threading.Lock()


def read_manifest(info: Info) -> Manifest:
    """The manifest that an object is.

    Raises:
        ManifestError: when it is none; the text begins with its path.
        OSError: when it cannot be read.
    """
    with _LOCK:
        known = _KEPT.get(info.version)
    if known is not None:
        return known
    try:
        data = read_object(info.path, MOST_BYTES)
        if data is None:
            raise FileNotFoundError(2, "the manifest is gone", shown(info.path))
        manifest = parse_manifest(data)
    except ManifestError as error:
        raise ManifestError(f"{shown(info.path)}: {error}", error.rule or "TS-10") from None
    with _LOCK:
        _KEPT[info.version] = manifest
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return manifest


class SegmentObjects:
    """What was uploaded of one segment.

    Args:
        directory: where the objects lie.
        stem: what their names share.
        ring: keys.
        manifest: when it is known already.

    Raises:
        FileNotFoundError: when there is no manifest.
        ManifestError: when it is bad.
        OSError: when it cannot be read.
    """

    def __init__(self, directory: str, stem: str, ring: KeyRing, manifest: Manifest | None = None) -> None:
        self._directory = directory
        self._stem = stem
        self._ring = ring
        self.manifest = manifest or read_manifest(info_of(self.path(MANIFEST)))

    def log(self) -> ChunkedFile:
        """The segment.

        Raises:
            SegmentKeyError: when its key is not there, or does not fit.
            ManifestError: when the object and the manifest do not fit each other.
            OSError: when the object cannot be opened.
        """
        path = self.path(LOG)
        opener = None if self.manifest.is_plain else self._opener(is_compressed=self.manifest.is_compressed)
        return ChunkedFile(shown(path), open_object(path), self.manifest.chunks, opener, self._hints)

    def index_size(self, name: str) -> int | None:
        """Bytes of an index, by its name in the manifest, as far as that tells; None when there is none."""
        if self.manifest.parts is None or name not in self.manifest.parts:
            return None
        size = self.manifest.parts[name].size
        return max(size - SEAL_BYTES, 0) if self.manifest.sealed else size

    def index(self, name: str) -> bytes | None:
        """The bytes of an index, by its name in the manifest; None when there is none (TS-36, TS-37, TS-52).

        Raises:
            ChunkError: when they cannot be had back.
            SegmentKeyError: as in `log`.
            OSError: when the object cannot be read.
        """
        path, stored = self._stored_index(name)
        if not stored or self.manifest.sealed is None:
            return stored
        try:
            return self._opener(is_compressed=False).opened(stored, len(stored) - SEAL_BYTES)
        except ChunkError as fault:
            raise ChunkError(f"{shown(path)}: the {name} index is lost: {fault}") from None

    def _stored_index(self, name: str) -> tuple[str, bytes | None]:
        if self.manifest.parts is None:
            path = self.path(INDEX_SUFFIXES[name])
            return path, read_object(path, 2**31)
        path = self.path(INDEXES)
        part = self.manifest.parts.get(name)
        if part is None or not part.size:
            return path, None if part is None else b""
        stored = bytes(open_object(path).read_at(part.position, part.size))
        if len(stored) < part.size:
            raise ChunkError(f"{shown(path)}: the {name} index is lost: the object ends in front of its end")
        return path, stored

    def _opener(self, *, is_compressed: bool) -> Opener:
        sealed = self.manifest.sealed
        return Opener(self._data_key, sealed.aad if sealed else b"", is_compressed=is_compressed)

    @cached_property
    def _data_key(self) -> bytes | None:
        sealed = self.manifest.sealed
        return self._ring.data_key(sealed, shown(self.path(LOG))) if sealed else None

    def _hints(self) -> tuple[bytes, int | None, int | None]:
        try:
            index = self.index("offset")
        except (OSError, ChunkError):
            index = None
        start = self.manifest.start_offset
        return index or b"", int(self._stem[:20]) if start is None else start, self.manifest.end_offset

    def path(self, suffix: str) -> str:
        """Where the object of a suffix lies."""
        return joined_path(self._directory, f"{self._stem}.{suffix}")
