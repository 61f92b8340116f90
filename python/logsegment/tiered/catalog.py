"""Find the uploads in folders: where each is read, its topic, its partition, its size."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from logsegment._core import Finding
from logsegment._log_paths import LOG, MANIFEST, SEGMENT, WATERMARK, object_name, partition_of, place_of
from logsegment.stores.uri import cut_name, cut_of, is_stored, shown, untiered
from logsegment.tiered.errors import ManifestError
from logsegment.tiered.folder import Found, Upload
from logsegment.tiered.keys import KeyRing, Keys
from logsegment.tiered.objects import Info, info_of, joined_path, listed
from logsegment.tiered.segment_objects import read_manifest
from logsegment.tiered.uri import ring_of, tiered
from logsegment.tiered.views import view_of


class Uploaded(NamedTuple):
    """An uploaded segment: the URI under which it is read as if it were local."""

    path: str
    topic: str | None
    partition: int | None
    base_offset: int
    size: int | None


def uploads(path: str | os.PathLike[str], *, decryption_keys: Keys | None = None) -> list[Upload]:
    """All uploads below a path, those that are read and those that are not.

    Args:
        path: a folder, or a prefix in a store.
        decryption_keys: see `logsegment.Segment`; needed if only the newest leader epochs of a partition decide which of its uploads is
            read. Without them the reason of each upload says so, and every read of it is a `SegmentKeyError`.

    Returns:
        An `Upload` for each, with its state and the reason for it, folder by folder in the order of their offsets. The segments of
        Pinterest's uploader, in folders with its mark `offset.wm`, are finished ones without ids.

    Raises:
        OSError: when a folder cannot be listed or read.

    Example:
        >>> import logsegment as ls
        >>> {upload.state for upload in ls.tiered.uploads("bucket")}
        {'finished'}
    """
    source = tiered(path, decryption_keys)
    base = untiered(source)
    info_of(base)
    folders = dict.fromkeys(folder for folder, name in _files_below(base) if object_name(name) is not None or name == WATERMARK)
    return [upload for folder in folders for upload in _uploads_in(type(base)(folder), ring_of(source))]


def _uploads_in(folder: str, ring: KeyRing) -> Iterator[Upload]:
    yield from (one.upload for one in view_of(folder, ring, is_anew=True).found)
    infos = listed(folder)
    if any(info.name == WATERMARK for info in infos):
        topic, partition = partition_of(folder)
        for info in infos:
            name = SEGMENT.fullmatch(info.name)
            if name is not None and name[2] is None and not info.is_directory:
                yield Upload(shown(info.path), topic, None, partition, int(name[1]), "", size=info.size)


def _files_below(base: str) -> Iterator[tuple[str, str]]:
    """Folder and name of each file."""
    if is_stored(base):
        from logsegment.stores import walk

        yield from ((os.path.dirname(entry.uri[:]), entry.name) for entry in walk(base))
        return
    for folder, folders, names in os.walk(base, followlinks=True):
        folders.sort()
        yield from ((folder, name) for name in sorted(names))


def uploaded_in(directory: str, keys_of: str | None = None, infos: list[Info] | None = None) -> tuple[list[Uploaded], list[Finding]]:
    """The uploads of a folder that are read, and what is told of those that are not, or not to their end.

    Args:
        directory: where the objects lie.
        keys_of: a URI that brings keys.
        infos: what lies there, when it was listed already.

    Raises:
        FileExistsError: when two uploads overlap and nothing tells which one counts.
        OSError: when the folder cannot be listed or read.
    """
    view = view_of(directory, ring_of(keys_of or ""), infos, is_anew=True)
    return [_uploaded(directory, one, keys_of) for one in view.read], view.findings


def uploaded_at(path: str, keys_of: str | None = None) -> Uploaded | None:
    """The upload whose log is at a path; None when that is a file like any other. One without a sound manifest fails when it is read.

    Args:
        path: of the object.
        keys_of: a URI that brings keys, and perhaps the offset before which the upload ends.

    Raises:
        OSError: when a store does not answer.
    """
    directory, last = os.path.split(path[:])
    name = object_name(last)
    if name is None or name.suffix != LOG:
        return None
    before = None if keys_of is None else cut_of(keys_of)
    uri = tiered(joined_path(type(path)(directory), cut_name(last, before)), ring_of(keys_of or ""))
    place = place_of(directory)
    try:
        manifest = read_manifest(info_of(joined_path(type(path)(directory), f"{name.stem}.{MANIFEST}")))
    except FileNotFoundError:
        # Without one it is what it is: LocalTieredStorage's, or an unfinished upload that somebody wants to see.
        return Uploaded(uri, place.topic, place.partition, name.base_offset, info_of(path).size if before is None else None)
    except ManifestError:
        return Uploaded(uri, place.topic, place.partition, name.base_offset, None)
    topic, partition = (place.topic, place.partition) if manifest.topic is None else (manifest.topic, manifest.partition)
    return Uploaded(uri, topic, partition, name.base_offset, manifest.chunks.file_size if before is None else None)


def latest_timestamp(uri: str) -> int | None:
    """The largest timestamp (ms) of the records of an upload, as its manifest tells; None when it does not, or there is none.

    Args:
        uri: of its log.

    Raises:
        OSError: when a store does not answer.
    """
    directory, name = os.path.split(untiered(uri)[:])
    parts = object_name(name)
    if parts is None:
        return None
    try:
        return read_manifest(info_of(joined_path(type(untiered(uri))(directory), f"{parts.stem}.{MANIFEST}"))).max_timestamp
    except (FileNotFoundError, ManifestError):
        return None


def _uploaded(directory: str, one: Found, keys_of: str | None) -> Uploaded:
    upload = one.upload
    name = cut_name(f"{one.stem}.{LOG}", one.before)
    path = tiered(joined_path(directory, name), ring_of(keys_of or ""))
    is_cut = one.before is not None and not one.is_closed
    return Uploaded(path, upload.topic, upload.partition, upload.base_offset, None if is_cut else upload.size)
