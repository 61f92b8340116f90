"""Find the uploads in folders: where each is read, its topic, its partition, its size."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from logsegment._core import Finding
from logsegment._log_paths import LOG, MANIFEST, SEGMENT, WATERMARK, is_upload, object_name, partition_of, place_of
from logsegment.stores.listing import Entry
from logsegment.stores.uri import cut_name, cut_of, is_stored, shown, untiered
from logsegment.tiered.choice import Choice, Cut, LeftOut, chosen, overlapping
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError
from logsegment.tiered.keys import KeyRing, Keys
from logsegment.tiered.objects import Info, info_of, joined_path, listed
from logsegment.tiered.segment_objects import SegmentObjects, read_manifest
from logsegment.tiered.upload import Found, Upload, local_epochs, parse_epochs, uploads_in
from logsegment.tiered.uri import ring_of, tiered


class Uploaded(NamedTuple):
    """An uploaded segment: the URI under which it is read as if it were local."""

    path: str
    topic: str | None
    partition: int | None
    base_offset: int
    size: int | None


def uploads(path: str | os.PathLike[str], *, keys: Keys | None = None) -> list[Upload]:
    """All uploads below a path, those that are read and those that are not.

    Args:
        path: a folder, or a prefix in a store.
        keys: as in `logsegment.Segment`; needed where only the newest leader epochs of a partition tell which of its uploads counts:
            without them the reason of each says so, and every read of it is a `SegmentKeyError`.

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
    source = tiered(path, keys)
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


#: A view is kept so many times as long as it took to make: looking anew takes less than a tenth of the time, and changes are soon seen.
_KEPT_TIMES = 10
_MOST_KEPT = 16


class View:
    """What lies in a folder.

    Args:
        infos: all of it, by name.
        found: the uploads; none where it holds none.

    Attributes:
        entries: what lies there for who sees it as a log directory, once somebody asked.
    """

    def __init__(self, infos: dict[str, Info], found: list[Found]) -> None:
        self.infos = infos
        self.found = found
        self.entries: list[Entry] | None = None

    @cached_property
    def read(self) -> list[Found]:
        """The uploads that are read.

        Raises:
            FileExistsError: when two overlap and nothing tells which one counts.
        """
        return ensure_readable(self.found)

    @cached_property
    def findings(self) -> list[Finding]:
        """What is told of the others."""
        return [one.finding for one in self.found if one.finding is not None]

    @cached_property
    def snapshots(self) -> dict[int, Found]:
        """The uploads that are read and brought a producer snapshot, by its offset: the one behind the segment (TS-38, TS-43).

        Raises:
            As `read`.
        """
        offsets = {}
        for one, behind in zip(self.read, [*self.read[1:], None], strict=True):
            if one.is_lost or one.before is not None or (one.manifest is None and "snapshot" not in one.names):
                continue
            end = one.last_offset
            if end is None and behind is not None:
                end = behind.upload.base_offset - 1
            if end is not None:
                offsets[end + 1] = one
        return offsets


_VIEWS: OrderedDict[tuple[str, str], tuple[float, View]] = OrderedDict()
_LOCK = threading.Lock()


def view_of(directory: str, ring: KeyRing, infos: list[Info] | None = None, *, is_anew: bool = False) -> View:
    """What lies in a folder.

    Args:
        directory: a path of this machine or a URI.
        ring: keys, as in `judged`.
        infos: what lies there, when it was listed just now.
        is_anew: look even when it was seen a moment ago, as who begins something does.

    Raises:
        OSError: when it cannot be listed or read.
    """
    key = directory[:], ring.to_text()
    with _LOCK:
        until, view = _VIEWS.get(key, (0.0, None))
    if view is not None and infos is None and not is_anew and time.monotonic() < until:
        return view
    begun = time.monotonic()
    listing = listed(directory) if infos is None else infos
    found = judged(directory, uploads_in(directory, listing), ring) if any(is_upload(info.name) for info in listing) else []
    view = View({info.name: info for info in listing}, found)
    if infos is not None:
        # Of a tree, only what belongs to segments was kept.
        return view
    ended = time.monotonic()
    with _LOCK:
        _VIEWS[key] = ended + _KEPT_TIMES * (ended - begun), view
        _VIEWS.move_to_end(key)
        while len(_VIEWS) > _MOST_KEPT:
            _VIEWS.popitem(last=False)
    return view


def judged(directory: str, found: Sequence[Found], ring: KeyRing) -> list[Found]:
    """The same uploads, each with its state, and with a finding where it is not read, or not read whole.

    Where a key is missing that the choice among some needs, each of these is a segment of which every read fails, and says why.

    Args:
        directory: where they lie.
        found: all of a folder, as `uploads_in` gives them.
        ring: keys, which are needed where only the newest checkpoint can tell which upload counts.

    Raises:
        OSError: when something cannot be read.
    """
    by_stem = {one.stem: one for one in found}

    def epochs_of(stem: str) -> list[tuple[int, int]]:
        one = by_stem[stem]
        if one.manifest is None:
            return parse_epochs(local_epochs(directory, one))
        try:
            return parse_epochs(SegmentObjects(directory, stem, ring, one.manifest).index("leaderEpoch") or b"")
        except (ChunkError, ManifestError):
            return []

    spans = {one.stem: one.span for one in found if one.upload.state == "finished" and one.span is not None}
    try:
        choice = chosen(spans, epochs_of)
        chosen_ones = [_with_choice(one, choice, by_stem) for one in found]
    except SegmentKeyError as error:
        unchosen = overlapping(spans)
        chosen_ones = [_closed(one, error) if one.stem in unchosen else one for one in found]
    topics = next(((one.upload.topic, one.upload.topic_id, one.upload.partition) for one in found if one.manifest), None)
    return [_with_gap(one, chosen_ones, topics) for one in chosen_ones]


def ensure_readable(found: Sequence[Found]) -> list[Found]:
    """The uploads that are read, those among them of which every read fails.

    Raises:
        FileExistsError: when two overlap and nothing tells which one counts.
    """
    wanted = [one for one in found if one.is_read]
    for one in wanted:
        if one.rival:
            text = f"uploaded a second time, and nothing tells which one counts: {one.rival} and {one.upload.path} overlap; "
            raise FileExistsError(17, f"{text}name the segments that are to be read", one.upload.path)
    return wanted


def _with_choice(one: Found, choice: Choice, by_stem: dict[str, Found]) -> Found:
    if one.stem in choice.left_out:
        why = choice.left_out[one.stem]
        one = replace(one, upload=replace(one.upload, state=why.state, reason=_words(why)))
        return replace(one, finding=_finding("TS-44", "info", one, one.upload.reason, one.upload.base_offset, one.upload.end_offset))
    if one.stem in choice.cuts:
        cut = choice.cuts[one.stem]
        reason = f"not read from offset {cut.offset} on: {_words_of_cut(cut)}"
        one = replace(one, upload=replace(one.upload, last_read=cut.offset - 1, reason=reason))
        one = replace(one, finding=_finding("TS-44", "info", one, reason, cut.offset, one.span.end if one.span else None))
    if one.stem in choice.undecided:
        return replace(one, rival=by_stem[choice.undecided[one.stem]].upload.path)
    return one


def _closed(one: Found, error: SegmentKeyError) -> Found:
    reason = f"{one.upload.path} overlaps with others, and which of them is read only a key tells: {error}"
    return replace(one, upload=replace(one.upload, reason=reason), is_closed=True)


def _words(why: LeftOut) -> str:
    if why.state == "superseded":
        return f"superseded: its leader epochs are not those of the checkpoint with {why.other}"
    return f"duplicate: {why.other} holds the same records; should that be damaged, name the .log of this one"


def _words_of_cut(cut: Cut) -> str:
    if cut.why.state == "superseded":
        return f"its leader epochs there are not those of the checkpoint with {cut.why.other}"
    return f"{cut.why.other} holds the same records"


def _with_gap(one: Found, all_: Sequence[Found], topics: tuple[str | None, str | None, int | None] | None) -> Found:
    """What an upload that cannot be read means for the log: does another one hold its offsets?"""
    if one.upload.state not in ("unfinished", "damaged"):
        return one
    first = one.upload.base_offset
    read = [other for other in all_ if other.upload.state == "finished"]
    before = [other for other in read if other.upload.base_offset <= first]
    behind = min((other.upload.base_offset for other in read if other.upload.base_offset > first), default=None)
    covered = max((_end(other, behind) for other in before), default=first - 1)
    own_last = one.span.end if one.span else None
    last = own_last if behind is None else behind - 1
    # The manifest is uploaded last: with one, it was whole once.
    had_offsets = one.upload.state == "damaged" or MANIFEST in one.names
    is_gap = covered < first or (last is not None and covered < last)
    if one.upload.state == "damaged" and covered < first:
        upload = one.upload
        if topics is not None and upload.topic is None:
            upload = replace(upload, topic=topics[0], topic_id=topics[1], partition=topics[2])
        return replace(one, upload=upload, is_lost=True)
    begin = max(covered + 1, first)
    if had_offsets and last is None:
        # Nobody can tell where it ends.
        reason = f"{one.upload.reason}; no other upload is known to hold the offsets from {begin} on, if it has any of them"
        return replace(one, finding=_finding(one.rule, "warning", one, reason, begin, None))
    if is_gap and last is not None:
        reason = f"{one.upload.reason}; no other upload holds offsets {begin} to {last}"
        return replace(one, finding=_finding(one.rule, "warning", one, reason, begin, last))
    if one.upload.state == "damaged":
        # No offsets: others hold them.
        return replace(one, finding=_finding(one.rule, "warning", one, one.upload.reason, None, None))
    # What is copied at this moment has no manifest yet, and nothing behind it.
    return replace(one, finding=_finding(one.rule, "info", one, one.upload.reason, first, last if is_gap else None))


def _end(one: Found, behind: int | None) -> int:
    """The last offset that is read of it; when nobody knows, all before the next one."""
    known = one.last_offset
    if known is None:
        return one.upload.base_offset if behind is None else behind - 1
    return known


def _finding(rule: str, severity: str, one: Found, reason: str, first: int | None, last: int | None) -> Finding:
    path = one.upload.path
    if one.upload.state == "damaged":
        path = f"{path.removesuffix(LOG)}{MANIFEST}"
    return Finding(rule, severity, reason.removeprefix(f"{os.path.basename(path)}: "), f"{path}@0", 0, 0, first, last)
