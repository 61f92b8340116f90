"""Uploaded segments seen as log directories: what `logsegment.stores` asks about `tiered+` URIs.

In a folder with uploads there are, for each one that is read, `<stem>.log`, `.index`, `.timeindex` and `.txnindex`, the producer snapshot
under the offset behind the segment, where a broker has it, and the newest `leader-epoch-checkpoint`. Everything else is as it is.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from logsegment._core import Finding
from logsegment._log_paths import CHECKPOINT, EPOCH_SUFFIXES, LOG, MANIFEST, SEGMENT, object_name, snapshot_offset
from logsegment.stores.listing import Entry
from logsegment.stores.uri import cut_name, cut_of, shown, untiered
from logsegment.tiered.catalog import View, view_of
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError
from logsegment.tiered.objects import Info, info_of, joined_path, open_object, read_object
from logsegment.tiered.segment_objects import SegmentObjects
from logsegment.tiered.upload import Found, first_reaching
from logsegment.tiered.uri import ring_of, tiered

#: Indexes under the name of their segment, as a manifest calls them.
_BESIDE = {"index": "offset", "timeindex": "timestamp", "txnindex": "transaction"}


def open_file(uri: str) -> Any:
    """A file, to be read by position: the segment that was uploaded, with its first and last offset as `offsets`, or an index of it.

    Raises:
        FileNotFoundError: when there is no such file.
        SegmentKeyError: when a key is missing or wrong.
        OSError: when a store does not answer.
    """
    directory, name = _parted(uri)
    if name.endswith(f".{LOG}") and object_name(name) is not None:
        return _open_log(uri, directory, name)
    try:
        data = _virtual(uri, directory, name, _objects(uri, directory, name))
    except ManifestError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown(uri)) from None
    if data is not None:
        return MemoryFile(data)
    file = open_object(untiered(uri))
    if (segment := SEGMENT.fullmatch(name)) is not None:
        # Pinterest's uploader keeps the names of the broker.
        file.offsets = (int(segment[1]), None)
    return file


def read_file(uri: str, most: int) -> bytes | None:
    """The bytes of a small file, up to `most` of them; None when there is none.

    An index that cannot be opened is none: it is a hint, and a read goes on without it.

    Raises:
        OSError: when a store does not answer.
    """
    directory, name = _parted(uri)
    if name.endswith(f".{LOG}") and object_name(name) is not None:
        return bytes(_open_log(uri, directory, name).read_at(0, most))
    try:
        objects = _objects(uri, directory, name)
        data = _virtual(uri, directory, name, objects)
    except (ChunkError, ManifestError):
        return None
    if data is None and objects is None:
        data = read_object(untiered(uri), most)
    return None if data is None else data[:most]


def version_of(uri: str) -> tuple[int, object]:
    """What tells a file from another one, or from what it was."""
    found: tuple[int, object] = open_file(uri).version
    return found


def entries(uri: str) -> list[Entry]:
    """What lies in a folder, by name.

    Raises:
        FileExistsError: when two uploads overlap and nothing tells which one counts.
        OSError: when it cannot be listed.
    """
    directory = untiered(uri)
    view = view_of(directory, ring_of(uri))
    if view.entries is None:
        view.entries = _entries(uri, directory, view)
    return [*view.entries]


def _entries(uri: str, directory: str, view: View) -> list[Entry]:
    infos = view.infos.values()
    found = [_entry(uri, info.name, info.size, info) for info in infos if object_name(info.name) is None or info.is_directory]
    if view.found:
        wanted = view.read
        there = {entry.name for entry in found}
        own = {name: size for one in wanted for name, size in _files(uri, directory, one, view).items()}
        own |= dict.fromkeys(_shared(view), 0)
        found += [_entry(uri, name, size) for name, size in own.items() if name not in there]
    return sorted(found, key=lambda entry: entry.name)


def walk(uri: str) -> Iterator[Entry]:
    """All files below a folder.

    Raises:
        OSError: when one cannot be listed.
    """
    for entry in entries(uri):
        if entry.is_directory:
            yield from walk(entry.uri)
        else:
            yield entry


def entry_of(uri: str) -> Entry:
    """The file or folder itself.

    Raises:
        FileNotFoundError: when there is none.
        OSError: when a store does not answer.
    """
    directory, name = _parted(uri)
    if name.endswith(f".{LOG}") and object_name(name) is not None:
        info = info_of(untiered(uri))
        size = info.size if info.is_directory else _open_log(uri, directory, name).size
        return Entry(tiered(uri), cut_name(name, cut_of(uri)), info.is_directory, size, info.modified)
    objects = _objects(uri, directory, name)
    data = _virtual(uri, directory, name, objects)
    if data is not None:
        return Entry(tiered(uri), cut_name(name, cut_of(uri)), False, len(data))
    info = info_of(untiered(uri))
    return Entry(tiered(uri), info.name, info.is_directory, info.size, info.modified)


class MemoryFile:
    """Bytes at hand with the face of a file of a store."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._lock = threading.Lock()
        self.size = len(data)
        self.version = (self.size, hash(data))

    def read_at(self, position: int, length: int) -> bytes:
        """The bytes from `position` on, `length` of them or as many as there are."""
        return self._data[position : position + length]

    read_past_damage = read_at

    def ensure_same(self) -> None:
        """They are."""

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Nothing was asked of anybody."""
        return 0, 0, []


def _parted(uri: str) -> tuple[str, str]:
    place = untiered(uri)
    directory, name = os.path.split(place[:])
    return type(place)(directory), name


def _open_log(uri: str, directory: str, name: str) -> Any:
    """The segment that an object is, up to where it is read."""
    before, base_offset = cut_of(uri), int(name[:20])
    if before == base_offset:
        raise _closed(uri, directory, name)
    try:
        objects = _objects(uri, directory, name)
        file: Any = open_object(untiered(uri)) if objects is None else objects.log()
    except ManifestError as error:
        return _lost(uri, directory, name, error)
    if before is not None:
        position = cut_position(tiered(untiered(uri), ring_of(uri)), base_offset, before, file.version)
        file = file if position is None else CutFile(file, position)
    # The core compares the batches with them: no checksum covers a base offset.
    file.offsets = (base_offset, None) if objects is None else objects.manifest.offsets(base_offset)
    return file


def _closed(uri: str, directory: str, name: str) -> SegmentKeyError | FileNotFoundError:
    """Why nothing is read of an upload that overlaps with others."""
    found = (one for one in view_of(directory, ring_of(uri)).found if one.is_closed)
    reason = next((one.upload.reason for one in found if f"{one.stem}.{LOG}" == name), None)
    if reason is None:
        # Another upload came, or went.
        return FileNotFoundError(errno.ENOENT, "the folder has changed: list it again", shown(uri))
    return SegmentKeyError(reason)


def _lost(uri: str, directory: str, name: str, error: ManifestError) -> LostFile:
    view = view_of(directory, ring_of(uri))
    first = int(name[:20])
    behind = min((one.upload.base_offset for one in view.found if one.is_read and one.upload.base_offset > first), default=None)
    manifest = shown(joined_path(directory, f"{name.removesuffix(LOG)}{MANIFEST}"))
    return LostFile(error, manifest, (first, None if behind is None else behind - 1), info_of(untiered(uri)).size)


def _objects(uri: str, directory: str, name: str) -> SegmentObjects | None:
    """The upload that a name belongs to; None when it is of none, or of one without a manifest."""
    parts = object_name(name)
    if parts is None or parts.suffix not in (LOG, *_BESIDE):
        return None
    try:
        return SegmentObjects(directory, parts.stem, ring_of(uri))
    except FileNotFoundError:
        return None


def _virtual(uri: str, directory: str, name: str, objects: SegmentObjects | None) -> bytes | None:
    """The bytes of a file that is no object by itself, or of which only the front is wanted; None when the name is of none."""
    parts, before = object_name(name), cut_of(uri)
    if parts is not None and (objects is not None or before is not None):
        data = read_object(untiered(uri), 1 << 28) if objects is None else objects.index(_BESIDE[parts.suffix])
        return data if data is None or before is None else cut_index(data, parts.suffix, parts.base_offset, before)
    offset = snapshot_offset(name)
    if offset is None and name != CHECKPOINT:
        return None
    try:
        view = view_of(directory, ring_of(uri))
    except (FileNotFoundError, NotADirectoryError):
        return None
    if name in view.infos or not view.found:
        return None
    if offset is None:
        newest = _newest(view.read)
        return _index(uri, directory, newest, "leaderEpoch", EPOCH_SUFFIXES) if newest else None
    one = view.snapshots.get(offset)
    return _index(uri, directory, one, "producerSnapshot", ("snapshot",)) if one else None


def _newest(found: list[Found]) -> Found | None:
    """The last one that is read whole: the checkpoint of what is cut off may tell of another log."""
    return next((one for one in reversed(found) if not one.is_lost and one.before is None), None)


def _index(uri: str, directory: str, one: Found, name: str, suffixes: tuple[str, ...]) -> bytes | None:
    if one.manifest is not None:
        return SegmentObjects(directory, one.stem, ring_of(uri), one.manifest).index(name)
    return next((read_object(joined_path(directory, f"{one.stem}.{suffix}"), 1 << 28) for suffix in suffixes if suffix in one.names), None)


def _files(uri: str, directory: str, one: Found, view: View) -> dict[str, int]:
    """Names and bytes of the files of one upload."""
    log = f"{one.stem}.{LOG}"
    if one.is_lost:
        return {log: view.infos[log].size}
    if one.is_closed:
        return {cut_name(log, one.before): one.upload.size or 0}
    if one.before is not None:
        return _cut_files(uri, directory, one)
    files = {log: one.upload.size or 0}
    if one.manifest is None or one.manifest.parts is None:
        return files | {name: view.infos[name].size for suffix in _BESIDE if (name := f"{one.stem}.{suffix}") in view.infos}
    objects = SegmentObjects(directory, one.stem, ring_of(uri), one.manifest)
    told = {f"{one.stem}.{suffix}": objects.index_size(name) for suffix, name in _BESIDE.items()}
    return files | {name: size for name, size in told.items() if size is not None}


def _cut_files(uri: str, directory: str, one: Found) -> dict[str, int]:
    files = {}
    for suffix in (LOG, *_BESIDE):
        place = tiered(joined_path(directory, cut_name(f"{one.stem}.{suffix}", one.before)), ring_of(uri))
        with suppress(FileNotFoundError):
            files[cut_name(f"{one.stem}.{suffix}", one.before)] = _size(place)
    return files


def _size(place: str) -> int:
    """Bytes of a file; none of one that is there and cannot be opened."""
    try:
        return int(open_file(place).size)
    except ChunkError:
        return 0


def _shared(view: View) -> list[str]:
    """Names of the files that belong to the whole partition."""
    names = [f"{offset:020d}.snapshot" for offset in view.snapshots]
    newest = _newest(view.read)
    has_epochs = newest is not None and (newest.manifest is not None or not newest.names.isdisjoint(EPOCH_SUFFIXES))
    return [*names, CHECKPOINT] if has_epochs else names


def _entry(uri: str, name: str, size: int, info: Info | None = None) -> Entry:
    path = tiered(joined_path(untiered(uri), name), ring_of(uri))
    return Entry(path, name, info is not None and info.is_directory, size, info.modified if info else None)


#: Bytes of the entries of each index; where the offset stands in one, and its bytes; and whether it counts from the first of the segment.
_ENTRIES = {"index": (8, 0, 4, True), "timeindex": (12, 8, 4, True), "txnindex": (34, 18, 8, False)}
_MOST_KEPT = 4096
_KEPT: OrderedDict[tuple[str, object, int], int] = OrderedDict()
_LOCK = threading.Lock()


def cut_position(uri: str, base_offset: int, before: int, version: object) -> int | None:
    """Where the first intact batch begins that reaches an offset; None when there is none.

    The border of a segment, and of a leader's term, is that of a batch. A damaged one is believed nothing: what is in front of the border
    stays, with its damage, which reading tells.

    Args:
        uri: of the log, whole.
        base_offset: its first offset.
        before: the offset.
        version: what tells the log from another one.

    Raises:
        OSError: when it cannot be read.
    """
    key = uri[:], version, before
    with _LOCK:
        known = _KEPT.get(key)
    if known is not None:
        return known if known >= 0 else None
    batch = first_reaching(uri, base_offset, before)
    found = None if batch is None else batch.position
    with _LOCK:
        _KEPT[key] = -1 if found is None else found
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return found


def cut_index(data: bytes, suffix: str, base_offset: int, before: int) -> bytes:
    """The entries of an index that are about batches before an offset, or transactions that ended before it."""
    size, at, length, is_relative = _ENTRIES[suffix]
    first = base_offset if is_relative else 0
    kept = 0
    for begin in range(0, len(data) - size + 1, size):
        if first + int.from_bytes(data[begin + at : begin + at + length]) >= before:
            break
        kept = begin + size
    return data[:kept]


class CutFile:
    """The first bytes of a file.

    Args:
        file: all of it.
        size: how many.
    """

    def __init__(self, file: Any, size: int) -> None:
        self._file = file
        self.size = min(size, file.size)
        self.version = (file.version, self.size)

    def read_at(self, position: int, length: int) -> bytes:
        """The bytes from `position` on, `length` of them or as many as there are.

        Raises:
            As the file.
        """
        return bytes(self._file.read_at(position, max(0, min(length, self.size - position))))

    def read_past_damage(self, position: int, length: int) -> bytes:
        """The same past what is damaged.

        Raises:
            OSError: when they cannot be read.
        """
        return bytes(self._file.read_past_damage(position, max(0, min(length, self.size - position))))

    def ensure_same(self) -> None:
        """Fail when the file was written anew since it was opened.

        Raises:
            ChangedError: when it was.
        """
        self._file.ensure_same()

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Requests, bytes and findings since this was asked last."""
        taken: tuple[int, int, list[Finding]] = self._file.taken()
        return taken


#: A reader looks at the header of a first batch, whatever the object has.
_LEAST_BYTES = 61


class LostFile:
    """A file of which no byte can be had.

    Args:
        error: why.
        path: of the manifest, as people may see it.
        offsets: the first offset, and the last one before the next segment; None when nobody can tell.
        stored: bytes of the object.
    """

    def __init__(self, error: ManifestError, path: str, offsets: tuple[int, int | None], stored: int) -> None:
        self._error = error
        self._path = path
        self._offsets = offsets
        self._findings: list[Finding] = []
        self.size = max(stored, _LEAST_BYTES)
        self.version = (self.size, str(error))

    def read_at(self, position: int, length: int) -> bytes:
        """None of it.

        Raises:
            ManifestError: always.
        """
        error = ManifestError(str(self._error), self._error.rule or "TS-10")
        first, last = self._offsets
        # What lost bytes are told by: all of them are.
        error.__dict__.update(position=0, length=self.size, base_offset=first, last_offset=last)
        raise error

    def read_past_damage(self, position: int, length: int) -> bytes:
        """No bytes, and a finding."""
        text = str(self._error).removeprefix(f"{self._path}: ")
        first, last = self._offsets
        offsets = f"offsets {first} to {'?' if last is None else last} are lost"
        finding = Finding(self._error.rule or "TS-10", "error", f"{offsets}: {text}", f"{self._path}@0", 0, self.size, first, last)
        self._findings = [finding]
        return b""

    def ensure_same(self) -> None:
        """It is."""

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Findings since this was asked last."""
        findings, self._findings = self._findings, []
        return 0, 0, findings
