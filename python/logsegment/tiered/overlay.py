"""Uploaded segments seen as log directories: what `logsegment.stores` asks about `tiered+` URIs.

In a folder with uploads there are, for each one that is read, `<stem>.log`, `.index`, `.timeindex` and `.txnindex`, the producer snapshot
under the offset behind the segment, where a broker has it, and the newest `leader-epoch-checkpoint`. Everything else is as it is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

from logsegment._core import Finding
from logsegment.stores.listing import Entry
from logsegment.stores.uri import untiered
from logsegment.tiered.errors import ChunkError
from logsegment.tiered.folder import Found, end_of_local, ensure_readable, has_uploads, uploads_in
from logsegment.tiered.names import CHECKPOINT, EPOCH_SUFFIXES, LOG, object_name, snapshot_offset
from logsegment.tiered.objects import Info, info_of, joined_path, listed, open_object, read_object
from logsegment.tiered.places import ring_of, tiered
from logsegment.tiered.segment_objects import SegmentObjects

#: Indexes under the name of their segment, as a manifest calls them.
_BESIDE = {"index": "offset", "timeindex": "timestamp", "txnindex": "transaction"}


def open_file(uri: str) -> Any:
    """A file, to be read by position: the segment that was uploaded, or an index of it.

    Raises:
        FileNotFoundError: when there is no such file.
        SegmentKeyError: when a key is missing or wrong.
        ManifestError: when a manifest cannot be read.
        OSError: when a store does not answer.
    """
    directory, name = _parted(uri)
    objects = _objects(uri, directory, name)
    if objects is not None and name.endswith(f".{LOG}"):
        return objects.log()
    data = _virtual(uri, directory, name, objects)
    return MemoryFile(data) if data is not None else open_object(untiered(uri))


def read_file(uri: str, most: int) -> bytes | None:
    """The bytes of a small file, up to `most` of them; None when there is none.

    An index that cannot be opened is none: it is a hint, and a read goes on without it.

    Raises:
        OSError: when a store does not answer.
    """
    directory, name = _parted(uri)
    objects = _objects(uri, directory, name)
    if objects is not None and name.endswith(f".{LOG}"):
        return objects.log().read_at(0, most)
    try:
        data = _virtual(uri, directory, name, objects)
    except ChunkError:
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
    infos = listed(directory)
    found = [_entry(uri, info.name, info.size, info) for info in infos if object_name(info.name) is None or info.is_directory]
    if has_uploads(info.name for info in infos):
        wanted = ensure_readable(uploads_in(directory, ring_of(uri), infos))
        there = {entry.name for entry in found}
        sizes = {info.name: info.size for info in infos}
        own = {name: size for one in wanted for name, size in _files(uri, directory, one, sizes).items()}
        own |= dict.fromkeys(_shared(directory, wanted), 0)
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
    objects = _objects(uri, directory, name)
    if objects is not None and name.endswith(f".{LOG}"):
        info = info_of(untiered(uri))
        return Entry(tiered(uri), name, False, objects.manifest.chunks.file_size, info.modified)
    data = _virtual(uri, directory, name, objects)
    if data is not None:
        return Entry(tiered(uri), name, False, len(data))
    info = info_of(untiered(uri))
    return Entry(tiered(uri), info.name, info.is_directory, info.size, info.modified)


def snapshots_of(directory: str, found: list[Found]) -> dict[int, Found]:
    """The uploads that brought a producer snapshot, by the offset that it is of: the one behind the segment (TS-38, TS-43)."""
    offsets = {}
    for one, behind in zip(found, [*found[1:], None], strict=True):
        if one.manifest is None and "snapshot" not in one.names:
            continue
        end = one.upload.end_offset
        if end is None and behind is not None:
            end = behind.upload.base_offset - 1
        elif end is None:
            end = end_of_local(directory, one.stem)
        if end is not None:
            offsets[end + 1] = one
    return offsets


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
    """The bytes of a file that is no object by itself; None when the name is of none."""
    if objects is not None:
        return objects.index(_BESIDE[name.rpartition(".")[2]])
    offset = snapshot_offset(name)
    if offset is None and name != CHECKPOINT:
        return None
    try:
        infos = listed(directory)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if any(info.name == name for info in infos) or not has_uploads(info.name for info in infos):
        return None
    found = ensure_readable(uploads_in(directory, ring_of(uri), infos))
    if offset is None:
        return _index(uri, directory, found[-1], "leaderEpoch", EPOCH_SUFFIXES) if found else None
    one = snapshots_of(directory, found).get(offset)
    return _index(uri, directory, one, "producerSnapshot", ("snapshot",)) if one else None


def _index(uri: str, directory: str, one: Found, name: str, suffixes: tuple[str, ...]) -> bytes | None:
    if one.manifest is not None:
        return SegmentObjects(directory, one.stem, ring_of(uri), one.manifest).index(name)
    return next((read_object(joined_path(directory, f"{one.stem}.{suffix}"), 1 << 28) for suffix in suffixes if suffix in one.names), None)


def _files(uri: str, directory: str, one: Found, sizes: dict[str, int]) -> dict[str, int]:
    """Names and bytes of the files of one upload."""
    files = {f"{one.stem}.{LOG}": one.upload.size or 0}
    if one.manifest is None or one.manifest.parts is None:
        return files | {name: sizes[name] for suffix in _BESIDE if (name := f"{one.stem}.{suffix}") in sizes}
    objects = SegmentObjects(directory, one.stem, ring_of(uri), one.manifest)
    told = {f"{one.stem}.{suffix}": objects.index_size(name) for suffix, name in _BESIDE.items()}
    return files | {name: size for name, size in told.items() if size is not None}


def _shared(directory: str, found: list[Found]) -> list[str]:
    """Names of the files that belong to the whole partition."""
    names = [f"{offset:020d}.snapshot" for offset in snapshots_of(directory, found)]
    has_epochs = found and (found[-1].manifest is not None or not found[-1].names.isdisjoint(EPOCH_SUFFIXES))
    return [*names, CHECKPOINT] if has_epochs else names


def _entry(uri: str, name: str, size: int, info: Info | None = None) -> Entry:
    path = tiered(joined_path(untiered(uri), name), ring_of(uri))
    return Entry(path, name, info is not None and info.is_directory, size, info.modified if info else None)
