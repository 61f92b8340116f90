"""What was uploaded to a folder, segment by segment: whole, unfinished, or a second time (TS-8, TS-40, TS-44)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from logsegment import _core
from logsegment.stores.uri import is_stored, shown
from logsegment.tiered.choice import chosen
from logsegment.tiered.errors import ManifestError
from logsegment.tiered.keys import KeyRing
from logsegment.tiered.manifest import Manifest
from logsegment.tiered.names import INDEXES, LOG, MANIFEST, ObjectName, Place, is_of_aiven, object_name, place_of
from logsegment.tiered.objects import Info, joined_path, listed
from logsegment.tiered.segment_objects import SegmentObjects, read_manifest

State: TypeAlias = Literal["finished", "duplicate", "superseded", "unfinished", "damaged"]
#: Manifests that are asked of a store at once.
_REQUESTS = 16


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload of a segment.

    Attributes:
        path (str): of its log, as people may see it.
        topic, topic_id, partition: as its manifest tells, or else the names of its folders; None when neither does.
        base_offset, segment_id: as its name tells.
        end_offset: the last offset; None when nothing tells it.
        size: bytes of the segment; None when nothing tells them.
        state: "finished": it is read. "duplicate": another upload holds the same records. "superseded": its leader's term is none that
            the newest checkpoint of the partition knows there. "unfinished": objects are missing. "damaged": its manifest cannot be read.
        reason: why it is not read, in words; empty for one that is.
    """

    path: str
    topic: str | None
    topic_id: str | None
    partition: int | None
    base_offset: int
    segment_id: str
    end_offset: int | None = None
    size: int | None = None
    state: State = "finished"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """An upload with what is needed to read it."""

    upload: Upload
    stem: str
    manifest: Manifest | None
    names: frozenset[str]


def has_uploads(names: Iterable[str]) -> bool:
    """True when one of the names is that of the log or the manifest of an upload."""
    parts = map(object_name, names)
    return any(part is not None and part.suffix in (LOG, MANIFEST) for part in parts)


def uploads_in(directory: str, ring: KeyRing, infos: Sequence[Info] | None = None) -> list[Found]:
    """All uploads of a folder, in the order of their offsets.

    Args:
        directory: where the objects lie; a path of this machine or a URI.
        ring: keys, which are needed where only the newest checkpoint can tell which upload counts.
        infos: what lies there, when it was listed already.

    Raises:
        OSError: when it cannot be listed or read.
    """
    objects: dict[str, dict[str, Info]] = {}
    for info in listed(directory) if infos is None else infos:
        name = None if info.is_directory else object_name(info.name)
        if name is not None:
            objects.setdefault(name.stem, {})[name.suffix] = info
    manifests = _manifests([own[MANIFEST] for own in objects.values() if MANIFEST in own], is_remote=is_stored(directory))
    place, is_aiven = place_of(directory[:]), is_of_aiven(directory[:])
    found = [_found(directory, stem, own, manifests, place, is_aiven) for stem, own in sorted(objects.items())]
    return _with_states(directory, [one for one in found if one is not None], ring)


def ensure_readable(found: Sequence[Found]) -> list[Found]:
    """The uploads that are read.

    Raises:
        ManifestError: when the manifest of one cannot be read.
        FileExistsError: when two overlap and nothing tells which one counts.
    """
    for one in found:
        if one.upload.state == "damaged":
            raise ManifestError(one.upload.reason)
    wanted = [one for one in found if one.upload.state == "finished"]
    for before, behind in pairwise(wanted):
        if behind.upload.base_offset <= _last(before.upload):
            ids = f"{before.upload.path} and {behind.upload.path}"
            text = f"uploaded a second time, and nothing tells which one counts: {ids} overlap; name the segments that are to be read"
            raise FileExistsError(17, text, before.upload.path)
    return wanted


def _last(upload: Upload) -> int:
    return upload.base_offset if upload.end_offset is None else upload.end_offset


def _manifests(infos: Sequence[Info], *, is_remote: bool) -> dict[str, Manifest | ManifestError]:
    if not is_remote or len(infos) < 2:
        return {info.name: _manifest(info) for info in infos}
    with ThreadPoolExecutor(min(_REQUESTS, len(infos))) as pool:
        return dict(zip((info.name for info in infos), pool.map(_manifest, infos), strict=True))


def _manifest(info: Info) -> Manifest | ManifestError:
    try:
        return read_manifest(info)
    except ManifestError as error:
        return error


def _found(
    directory: str, stem: str, own: dict[str, Info], manifests: dict[str, Manifest | ManifestError], place: Place, is_aiven: bool
) -> Found | None:
    name = object_name(f"{stem}.{LOG}")
    if name is None or not (LOG in own or MANIFEST in own or is_aiven):
        return None
    told = manifests.get(f"{stem}.{MANIFEST}")
    path = shown(joined_path(directory, f"{stem}.{LOG}"))
    upload = _upload(path, name, place, told if isinstance(told, Manifest) else None)
    missing = [suffix for suffix in (LOG, MANIFEST) if suffix not in own and (is_aiven or MANIFEST in own)]
    if isinstance(told, Manifest) and told.parts is not None and INDEXES not in own and any(part.size for part in told.parts.values()):
        missing.append(INDEXES)
    if missing:
        upload = replace(upload, state="unfinished", reason=f"unfinished, or being deleted: there is no .{' and no .'.join(missing)}")
    elif isinstance(told, ManifestError):
        upload = replace(upload, state="damaged", reason=str(told))
    elif told is None:
        upload = replace(upload, size=own[LOG].size)
    return Found(upload, stem, told if isinstance(told, Manifest) else None, frozenset(own))


def _upload(path: str, name: ObjectName, place: Place, manifest: Manifest | None) -> Upload:
    if manifest is None:
        return Upload(path, place.topic, place.topic_id, place.partition, name.base_offset, name.segment_id)
    told = Place(manifest.topic, manifest.topic_id, manifest.partition) if manifest.topic is not None else place
    size, end = manifest.chunks.file_size, manifest.end_offset
    return Upload(path, told.topic, told.topic_id, told.partition, name.base_offset, name.segment_id, end, size)


def _with_states(directory: str, found: list[Found], ring: KeyRing) -> list[Found]:
    """The same, with what is left out of uploads that overlap."""
    candidates = {one.stem: one.manifest for one in found if one.upload.state == "finished" and one.manifest is not None}

    def newest_epochs(stem: str) -> list[tuple[int, int]]:
        data = SegmentObjects(directory, stem, ring, candidates[stem]).index("leaderEpoch") or b""
        return parse_epochs(data)

    left_out = chosen(candidates, newest_epochs)
    result = []
    for one in found:
        if one.stem in left_out:
            state, reason = left_out[one.stem]
            one = replace(one, upload=replace(one.upload, state=state, reason=reason))
        result.append(one)
    return result


def parse_epochs(data: bytes) -> list[tuple[int, int]]:
    """Terms of leaders and their first offsets, as a `leader-epoch-checkpoint` lists them; none when it is damaged."""
    lines = [line.split() for line in data.decode("ascii", "replace").splitlines()[2:]]
    pairs = [(int(line[0]), int(line[1])) for line in lines if len(line) == 2 and all(word.isascii() and word.isdigit() for word in line)]
    return pairs if len(pairs) == len(lines) else []


def end_of_local(directory: str, stem: str) -> int | None:
    """The last offset of a segment that lies there as it is, from the headers of its log."""
    try:
        last = _core.SegmentIndex(joined_path(directory, f"{stem}.{LOG}"), int(stem[:20])).last_batch()
    except _core.RecordBatchError:
        return None
    return None if last is None else last[2]
