"""The uploads of directories: where each is read, its topic, its partition, its size."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from logsegment._core import Finding
from logsegment._log_paths import LOG, MANIFEST, SEGMENT, WATERMARK, is_upload, object_name, partition_of, place_of
from logsegment.stores.listing import DirectoryEntry, Listing, entries, entry_of, walk_directories
from logsegment.stores.uri import StorageOptions, cut_name, cut_of, directory_of, join_path, shown, untiered, with_options
from logsegment.tiered.cache import LruCache
from logsegment.tiered.errors import ManifestError
from logsegment.tiered.keys import KeyRing, Keys
from logsegment.tiered.manifest import Manifest
from logsegment.tiered.objects import read_manifest
from logsegment.tiered.overlaps import ensure_decided, with_states
from logsegment.tiered.upload import FoundUpload, Upload, uploads_in
from logsegment.tiered.uri import ring_of, tiered

#: A view is kept for this many times the time that it took to make. So a new look costs less than a tenth of the time.
_KEPT_TIMES = 10


class UploadedSegment(NamedTuple):
    """An uploaded segment: the URI under which it is read, topic, partition, offset and size."""

    path: str
    topic: str | None
    partition: int | None
    base_offset: int
    size: int | None


def uploads(
    path: str | os.PathLike[str], *, decryption_keys: Keys | None = None, storage_options: StorageOptions | None = None
) -> list[Upload]:
    """Return all uploads below a path, those that are read and those that are not.

    Args:
        path: a directory, or a prefix in a store.
        decryption_keys: see `logsegment.Segment`. They are needed if uploads overlap and only their leader epochs decide between them.
            Without a key, `reason` of each upload names the key, and every read of it is a `SegmentKeyError`.
        storage_options: options of the store; see `logsegment.Log`.

    Returns:
        An `Upload` for each, with its state and the reason, by directory and offset. The segments of
        Pinterest's uploader, in directories with its file `offset.wm`, are finished uploads without ids.

    Raises:
        OSError: if a directory cannot be listed or read.

    Example:
        >>> import logsegment as ls
        >>> {upload.state for upload in ls.tiered.uploads("bucket")}
        {'finished'}
    """
    source = tiered(with_options(path, storage_options), decryption_keys)
    base = untiered(source)
    if not entry_of(base).is_directory:
        return []
    return [upload for directory, listing in walk_directories(base) for upload in _uploads_of(directory, listing, ring_of(source))]


def _uploads_of(directory: str, listing: Listing, ring: KeyRing) -> Iterator[Upload]:
    names = [file.name for file in listing.files]
    if any(map(object_name, names)):
        yield from (one.upload for one in view_of(directory, ring, listing.files).found)
    if WATERMARK in names:
        topic, partition = partition_of(directory)
        for file in listing.files:
            name = SEGMENT.fullmatch(file.name)
            if name is not None and name[2] is None:
                yield Upload(shown(file.path), topic, None, partition, int(name[1]), "", size=file.size)


def uploaded_in(
    directory: str, keys_of: str | None = None, listed: list[DirectoryEntry] | None = None
) -> tuple[list[UploadedSegment], list[Finding]]:
    """Return the uploads of a directory that are read, and findings of those that are not read, or not to their end.

    Args:
        directory: where the objects are.
        keys_of: a URI with keys.
        listed: the files of the directory, if it was listed already.

    Raises:
        FileExistsError: if two uploads overlap and have different records.
        OSError: if the directory cannot be listed or read.
    """
    view = view_of(directory, ring_of(keys_of or ""), listed, is_anew=True)
    return [_uploaded(directory, one, keys_of) for one in view.read], view.findings


def uploaded_at(path: str, keys_of: str | None = None) -> UploadedSegment | None:
    """Return the upload with its log at a path; None for any other file. An upload without a valid manifest fails when it is read.

    Args:
        path: of the object.
        keys_of: a URI with keys, and perhaps with the offset before which the upload ends.

    Raises:
        OSError: if a store does not answer.
    """
    directory, name = directory_of(path), object_name(os.path.basename(path[:]))
    if name is None or name.suffix != LOG:
        return None
    before = None if keys_of is None else cut_of(keys_of)
    uri = tiered(join_path(directory, cut_name(f"{name.stem}.{LOG}", before)), ring_of(keys_of or ""))
    place = place_of(directory[:])
    try:
        manifest = _manifest_of(path)
    except ManifestError:
        return UploadedSegment(uri, place.topic, place.partition, name.base_offset, None)
    if manifest is None:
        # An object of LocalTieredStorage, or of an unfinished upload.
        return UploadedSegment(uri, place.topic, place.partition, name.base_offset, entry_of(path).size if before is None else None)
    topic, partition = (place.topic, place.partition) if manifest.topic is None else (manifest.topic, manifest.partition)
    return UploadedSegment(uri, topic, partition, name.base_offset, manifest.chunks.file_size if before is None else None)


def latest_timestamp(uri: str) -> int | None:
    """Return the largest timestamp (ms) of the records of an upload, from its manifest; None if the manifest does not have it.

    Args:
        uri: of its log.

    Raises:
        OSError: if a store does not answer.
    """
    try:
        manifest = _manifest_of(untiered(uri))
    except ManifestError:
        return None
    return None if manifest is None else manifest.max_timestamp


class View:
    """The content of a directory with uploads.

    Args:
        listed: its files and directories, by name.
        found: the uploads.

    Attributes:
        entries: the content as a log directory, after it was first asked for.
    """

    def __init__(self, listed: dict[str, DirectoryEntry], found: list[FoundUpload]) -> None:
        self.listed = listed
        self.found = found
        self.entries: list[DirectoryEntry] | None = None

    @cached_property
    def read(self) -> list[FoundUpload]:
        """Return the uploads that are read.

        Raises:
            FileExistsError: if two uploads overlap and have different records.
        """
        return ensure_decided(self.found)

    @cached_property
    def findings(self) -> list[Finding]:
        """Return findings of the uploads that are not read, or not to their end."""
        return [one.finding for one in self.found if one.finding is not None]

    @cached_property
    def snapshots(self) -> dict[int, FoundUpload]:
        """Return the uploads with a producer snapshot, by its offset, which is the offset after the segment (TS-38, TS-43).

        Raises:
            FileExistsError: as `read`.
        """
        offsets = {}
        for one, following in zip(self.read, [*self.read[1:], None], strict=True):
            if one.is_lost or one.before is not None or (one.manifest is None and "snapshot" not in one.names):
                continue
            end = one.last_offset
            if end is None and following is not None:
                end = following.upload.base_offset - 1
            if end is not None:
                offsets[end + 1] = one
        return offsets


_VIEWS: LruCache[tuple[float, View]] = LruCache(16)


def view_of(directory: str, ring: KeyRing, listed: list[DirectoryEntry] | None = None, *, is_anew: bool = False) -> View:
    """Return the content of a directory. A reader of a partition opens many of its files, so a view is kept for a short time.

    Args:
        directory: a path of this machine or a URI.
        ring: keys, as in `with_states`.
        listed: the files of the directory, if it was listed just now.
        is_anew: list the directory even if there is a recent view, as the beginning of a read does.

    Raises:
        OSError: if the directory cannot be listed or read.
    """
    key = directory[:], ring.to_text()
    until, view = _VIEWS.get(key) or (0.0, None)
    if view is not None and listed is None and not is_anew and time.monotonic() < until:
        return view
    begun = time.monotonic()
    content = entries(directory) if listed is None else listed
    found = with_states(directory, uploads_in(directory, content), ring) if any(is_upload(entry.name) for entry in content) else []
    view = View({entry.name: entry for entry in content}, found)
    if listed is None:
        ended = time.monotonic()
        _VIEWS.put(key, (ended + _KEPT_TIMES * (ended - begun), view))
    return view


def _manifest_of(log: str) -> Manifest | None:
    """Read the manifest of the upload of a log; return None if there is none."""
    name = object_name(os.path.basename(log[:]))
    if name is None:
        return None
    try:
        return read_manifest(entry_of(join_path(directory_of(log), f"{name.stem}.{MANIFEST}")))
    except FileNotFoundError:
        return None


def _uploaded(directory: str, one: FoundUpload, keys_of: str | None) -> UploadedSegment:
    upload = one.upload
    path = tiered(join_path(directory, cut_name(f"{one.stem}.{LOG}", one.before)), ring_of(keys_of or ""))
    is_cut = one.before is not None and not one.is_closed
    return UploadedSegment(path, upload.topic, upload.partition, upload.base_offset, None if is_cut else upload.size)
