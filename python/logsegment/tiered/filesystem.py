"""Uploaded segments as log directories: what `logsegment.stores` asks about `tiered+` URIs.

A directory with uploads has for each upload that is read `<stem>.log`, `.index`, `.timeindex` and `.txnindex`; the producer snapshot under
the offset after the segment, where a broker has it; and the newest `leader-epoch-checkpoint`. Other files are unchanged.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Any

from logsegment._core import Finding, index_len_before
from logsegment._log_paths import CHECKPOINT, EPOCH_SUFFIXES, LOG, MANIFEST, SEGMENT, object_name, snapshot_offset
from logsegment.stores import files, listing
from logsegment.stores.listing import DirectoryEntry, Status
from logsegment.stores.memory import MemoryFile
from logsegment.stores.uri import cut_name, cut_of, directory_of, join_path, shown, untiered
from logsegment.tiered.cache import LruCache
from logsegment.tiered.catalog import View, view_of
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError
from logsegment.tiered.objects import MAX_INDEX_BYTES, SegmentObjects
from logsegment.tiered.upload import FoundUpload
from logsegment.tiered.uri import ring_of, tiered
from logsegment.tiered.valid_batches import first_reaching

#: Indexes by suffix, as a manifest names them.
_INDEXES = {"index": "offset", "timeindex": "timestamp", "txnindex": "transaction"}
#: Bytes of the log before a cut; -1 if the log is not cut.
_CUTS: LruCache[int] = LruCache(4096)
#: A reader reads the header of a first batch, whatever the size of the object.
_MIN_LOST = 61


def open_file(uri: str) -> Any:
    """Open a file, to read it by position: a segment, with its first and last offset as `offsets`, or an index of it.

    Raises:
        FileNotFoundError: if there is no such file.
        SegmentKeyError: if a key is missing or wrong.
        OSError: if a store does not answer.
    """
    place = _Place(uri)
    if place.is_log:
        return _open_log(place)
    try:
        data = _virtual(place, place.objects())
    except ManifestError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown(uri)) from None
    if data is not None:
        return MemoryFile(data)
    file = files.open_file(place.object)
    if (segment := SEGMENT.fullmatch(place.name)) is not None:
        # Pinterest's uploader keeps the names of the broker.
        file.offsets = (int(segment[1]), None)
    return file


def read_file(uri: str, max_bytes: int) -> bytes | None:
    """Return the bytes of a small file, at most `max_bytes` of them; None if there is no such file.

    An index that cannot be decrypted counts as missing: reads go on without it.

    Raises:
        OSError: if a store does not answer.
    """
    place = _Place(uri)
    if place.is_log:
        return bytes(_open_log(place).read_at(0, max_bytes))
    try:
        objects = place.objects()
        data = _virtual(place, objects)
    except (ChunkError, ManifestError):
        return None
    if data is None and objects is None:
        data = files.read_file(place.object, max_bytes)
    return None if data is None else data[:max_bytes]


def entries(uri: str) -> list[DirectoryEntry]:
    """Return the content of a directory, by name.

    Raises:
        FileExistsError: if two uploads overlap and have different records.
        OSError: if the directory cannot be listed.
    """
    directory = untiered(uri)
    view = view_of(directory, ring_of(uri))
    if view.entries is None:
        view.entries = _entries(uri, directory, view)
    return [*view.entries]


def entry_of(uri: str) -> DirectoryEntry:
    """Return the entry of a path.

    Raises:
        FileNotFoundError: if there is no such file or directory.
        OSError: if a store does not answer.
    """
    place = _Place(uri)
    name = cut_name(place.name, place.before)
    data = None if place.is_log else _virtual(place, place.objects())
    if data is not None:
        return DirectoryEntry(tiered(uri), name, False, Status(len(data)))
    entry = listing.entry_of(place.object)
    if place.is_log and not entry.is_directory:
        return DirectoryEntry(tiered(uri), name, False, Status(_open_log(place).size, entry.modified))
    return DirectoryEntry(tiered(uri), name if place.is_log else entry.name, entry.is_directory, Status(entry.size, entry.modified))


class CutFile:
    """The first bytes of a file, or all of them.

    Args:
        file: the whole file.
        size: how many bytes.

    Attributes:
        offsets: the offsets that its batches must have, set by `_open_log`.
    """

    offsets: tuple[int, int | None]

    def __init__(self, file: Any, size: int) -> None:
        self._file = file
        self.size = min(size, file.size)
        self.version = (file.version, self.size)
        self.ensure_same = file.ensure_same
        self.taken = file.taken

    def read_at(self, position: int, length: int) -> bytes:
        """Return the bytes from `position` on: `length` of them, or fewer at the end.

        Raises:
            RecordBatchError, OSError: as the file.
        """
        return bytes(self._file.read_at(position, max(0, min(length, self.size - position))))

    def read_past_damage(self, position: int, length: int) -> bytes:
        """Return the bytes from `position` on; skip damage.

        Raises:
            OSError: if they cannot be read.
        """
        return bytes(self._file.read_past_damage(position, max(0, min(length, self.size - position))))


class LostFile:
    """A segment with a damaged manifest, of which no byte can be read.

    Args:
        error: why.
        path: of the manifest, without secrets.
        offsets: the first offset, and the last one before the next segment; None if not known.
        stored: bytes of the object.
    """

    def __init__(self, error: ManifestError, path: str, offsets: tuple[int, int | None], stored: int) -> None:
        self._error = error
        self._path = path
        self._offsets = offsets
        self._findings: list[Finding] = []
        self.size = max(stored, _MIN_LOST)
        self.version = (self.size, str(error))

    def read_at(self, position: int, length: int) -> bytes:
        """Raise the error of the manifest.

        Raises:
            ManifestError: always.
        """
        error = ManifestError(str(self._error), self._error.rule or "TS-10")
        first, last = self._offsets
        # All bytes of the segment are lost.
        error.__dict__.update(position=0, length=self.size, base_offset=first, last_offset=last)
        raise error

    def read_past_damage(self, position: int, length: int) -> bytes:
        """Return no bytes, and keep a finding."""
        text = str(self._error).removeprefix(f"{self._path}: ")
        first, last = self._offsets
        text = f"offsets {first} to {'?' if last is None else last} are lost: {text}"
        self._findings = [Finding(self._error.rule or "TS-10", "error", text, f"{self._path}@0", 0, self.size, first, last)]
        return b""

    def ensure_same(self) -> None:
        """Do nothing: no byte was read."""

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Return the findings since the last call, and no requests."""
        found, self._findings = self._findings, []
        return 0, 0, found


class _Place:
    """A file of a log directory, and the object that it is read from."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.ring = ring_of(uri)
        self.before = cut_of(uri)
        self.object = untiered(uri)
        self.directory = directory_of(self.object)
        self.name = os.path.basename(self.object[:])
        self.parts = object_name(self.name)

    @property
    def is_log(self) -> bool:
        return self.parts is not None and self.parts.suffix == LOG

    def objects(self) -> SegmentObjects | None:
        """Return the objects of the upload of this file; None if it belongs to none, or to one without a manifest."""
        if self.parts is None or self.parts.suffix not in (LOG, *_INDEXES):
            return None
        try:
            return SegmentObjects(self.directory, self.parts.stem, self.ring)
        except FileNotFoundError:
            return None

    def view(self) -> View:
        return view_of(self.directory, self.ring)


def _open_log(place: _Place) -> Any:
    """Open a segment, up to the offset where it is cut."""
    base_offset = int(place.name[:20])
    if place.before == base_offset:
        raise _closed(place)
    try:
        objects = place.objects()
        file: Any = files.open_file(place.object) if objects is None else objects.log()
    except ManifestError as error:
        return _lost(place, error)
    if place.before is not None:
        position = _cut_position(place, base_offset, file.version)
        file = file if position is None else CutFile(file, position)
    elif objects is None:
        file = CutFile(file, file.size)
    # The core compares the batches with these offsets: no checksum covers a base offset.
    file.offsets = (base_offset, None) if objects is None else objects.manifest.offsets(base_offset)
    return file


def _cut_position(place: _Place, base_offset: int, version: object) -> int | None:
    """Return the position of the first valid batch that reaches the offset of the cut; None if there is none.

    Segments and leader epochs begin with a batch. The offsets of a damaged batch are not trusted, so damage before the cut stays in the
    segment, and reading reports it.
    """
    key = place.object[:], version, place.before
    found = _CUTS.get(key)
    if found is None and place.before is not None:
        batch = first_reaching(tiered(place.object, place.ring), base_offset, place.before)
        found = _CUTS.put(key, -1 if batch is None else batch.position)
    return None if found == -1 else found


def _closed(place: _Place) -> SegmentKeyError | FileNotFoundError:
    """Return the error of an upload of which nothing is read, since a key is missing."""
    found = (one for one in place.view().found if one.is_closed)
    reason = next((one.upload.reason for one in found if f"{one.stem}.{LOG}" == place.name), None)
    if reason is None:
        # An upload was added or removed.
        return FileNotFoundError(errno.ENOENT, "the folder has changed; list it again", shown(place.uri))
    return SegmentKeyError(reason)


def _lost(place: _Place, error: ManifestError) -> LostFile:
    first = int(place.name[:20])
    starts = (one.upload.base_offset for one in place.view().found if one.is_read)
    following = min((start for start in starts if start > first), default=None)
    manifest = shown(join_path(place.directory, f"{place.name.removesuffix(LOG)}{MANIFEST}"))
    size = listing.entry_of(place.object).size
    return LostFile(error, manifest, (first, None if following is None else following - 1), size)


def _virtual(place: _Place, objects: SegmentObjects | None) -> bytes | None:
    """Return the bytes of a file that is not an object itself, or that is cut; None for any other name."""
    parts = place.parts
    if parts is not None and (objects is not None or place.before is not None):
        data = files.read_file(place.object, MAX_INDEX_BYTES) if objects is None else objects.index(_INDEXES[parts.suffix])
        if data is None or place.before is None:
            return data
        return data[: index_len_before(parts.suffix, data, parts.base_offset, place.before)]
    offset = snapshot_offset(place.name)
    if offset is None and place.name != CHECKPOINT:
        return None
    try:
        view = place.view()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if place.name in view.listed or not view.found:
        return None
    if offset is None:
        newest = _newest(view.read)
        return _index(place, newest, "leaderEpoch", EPOCH_SUFFIXES) if newest else None
    one = view.snapshots.get(offset)
    return _index(place, one, "producerSnapshot", ("snapshot",)) if one else None


def _newest(found: list[FoundUpload]) -> FoundUpload | None:
    """Return the last upload that is read whole: the checkpoint of a cut upload may belong to another log."""
    return next((one for one in reversed(found) if not one.is_lost and one.before is None), None)


def _index(place: _Place, one: FoundUpload, name: str, suffixes: tuple[str, ...]) -> bytes | None:
    if one.manifest is not None:
        return SegmentObjects(place.directory, one.stem, place.ring, one.manifest).index(name)
    own = (f"{one.stem}.{suffix}" for suffix in suffixes if suffix in one.names)
    return next((files.read_file(join_path(place.directory, name), MAX_INDEX_BYTES) for name in own), None)


def _entries(uri: str, directory: str, view: View) -> list[DirectoryEntry]:
    def entry(name: str, size: int, listed: DirectoryEntry | None = None) -> DirectoryEntry:
        path = tiered(join_path(directory, name), ring_of(uri))
        return DirectoryEntry(path, name, listed is not None and listed.is_directory, Status(size, listed.modified if listed else None))

    others = (one for one in view.listed.values() if object_name(one.name) is None or one.is_directory)
    found = [entry(one.name, one.size, one) for one in others]
    if view.found:
        names = {one.name for one in found}
        own = {name: size for one in view.read for name, size in _sizes(uri, directory, one, view).items()}
        own |= dict.fromkeys(_shared(view), 0)
        found += [entry(name, size) for name, size in own.items() if name not in names]
    return sorted(found, key=lambda one: one.name)


def _sizes(uri: str, directory: str, one: FoundUpload, view: View) -> dict[str, int]:
    """Return the names and sizes of the files of an upload."""
    log = f"{one.stem}.{LOG}"
    if one.is_lost:
        return {log: view.listed[log].size}
    if one.is_closed:
        return {cut_name(log, one.before): one.upload.size or 0}
    if one.before is not None:
        return _cut_sizes(uri, directory, one)
    sizes = {log: one.upload.size or 0}
    if one.manifest is None or one.manifest.parts is None:
        return sizes | {name: view.listed[name].size for suffix in _INDEXES if (name := f"{one.stem}.{suffix}") in view.listed}
    objects = SegmentObjects(directory, one.stem, ring_of(uri), one.manifest)
    indexes = {f"{one.stem}.{suffix}": objects.index_size(name) for suffix, name in _INDEXES.items()}
    return sizes | {name: size for name, size in indexes.items() if size is not None}


def _cut_sizes(uri: str, directory: str, one: FoundUpload) -> dict[str, int]:
    sizes = {}
    for suffix in (LOG, *_INDEXES):
        name = cut_name(f"{one.stem}.{suffix}", one.before)
        with suppress(FileNotFoundError):
            try:
                sizes[name] = int(open_file(tiered(join_path(directory, name), ring_of(uri))).size)
            except ChunkError:
                # It exists and cannot be decrypted.
                sizes[name] = 0
    return sizes


def _shared(view: View) -> list[str]:
    """Return the names of the files of the whole partition."""
    names = [f"{offset:020d}.snapshot" for offset in view.snapshots]
    newest = _newest(view.read)
    has_epochs = newest is not None and (newest.manifest is not None or not newest.names.isdisjoint(EPOCH_SUFFIXES))
    return [*names, CHECKPOINT] if has_epochs else names
