"""The uploads in a directory of objects, each as its own objects describe it (TS-8, TS-40, TS-44)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

from logsegment._core import Finding, parse_leader_epochs
from logsegment._log_paths import EPOCH_SUFFIXES, INDEXES, LOG, MANIFEST, ObjectName, Place, is_of_aiven, object_name, place_of
from logsegment.stores.files import read_file
from logsegment.stores.listing import DirectoryEntry
from logsegment.stores.uri import is_stored, join_path, shown
from logsegment.tiered.cache import LruCache
from logsegment.tiered.errors import ManifestError
from logsegment.tiered.manifest import Manifest
from logsegment.tiered.objects import read_manifest
from logsegment.tiered.valid_batches import SegmentEnd, valid_end

State: TypeAlias = Literal["finished", "duplicate", "superseded", "unfinished", "damaged"]
#: Manifests and logs that are requested from a store at once.
_REQUESTS = 16
_MAX_CHECKPOINT = 1 << 24
_SPANS: LruCache[tuple[Span, SegmentEnd]] = LruCache(4096)
_I = TypeVar("_I")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload of a segment.

    Attributes:
        path (str): of its log, without secrets.
        topic, topic_id, partition: of its manifest, or else of the names of its directories; None if neither has them.
        base_offset, segment_id: of its name; Pinterest's uploader adds no id.
        end_offset: the last offset; None if not known.
        size: bytes of the segment; None if not known.
        state: "finished": it is read. "duplicate": another upload holds the same records. "superseded": the newest checkpoint of the
            partition has other leader epochs for its offsets. "unfinished": objects are missing. "damaged": its manifest cannot be read.
        reason: why the upload, or the rest of it, is not read; empty for an upload that is read whole. A finished upload has a reason too
            if a key is missing that is needed to find its last offset.
        last_read: the last offset that is read of it, if another upload holds the offsets after; else None.
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
    last_read: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets of an upload, first and last, the leader epochs by first offset, and the time of the upload."""

    start: int
    end: int
    epochs: tuple[tuple[int, int], ...] = ()
    written: int = -1


@dataclass(frozen=True, slots=True)
class FoundUpload:
    """An upload with what is needed to read it.

    Attributes:
        span: its offsets and their leader epochs, where they are known.
        rule: the rule that the manifest breaks.
        is_lost: the upload cannot be read, and no other upload has its offsets: every read of this segment fails.
        is_closed: every read fails, because a missing key decides whether and how far the upload is read.
        rival: the path of an overlapping upload with different records, or empty.
        finding: reason why the upload is not read, or only in part.
    """

    upload: Upload
    stem: str
    manifest: Manifest | None
    names: frozenset[str]
    span: Span | None = None
    rule: str = ""
    is_lost: bool = False
    is_closed: bool = False
    rival: str = ""
    finding: Finding | None = None

    @property
    def is_read(self) -> bool:
        """Return True if it is a segment of the log."""
        return self.upload.state == "finished" or self.is_lost

    @property
    def before(self) -> int | None:
        """Return the first offset that is not read of it; None for an upload that is read whole."""
        if self.is_closed:
            return self.upload.base_offset
        return None if self.upload.last_read is None else self.upload.last_read + 1

    @property
    def last_offset(self) -> int | None:
        """Return the last offset that is read of it; None if not known."""
        if self.upload.last_read is not None:
            return self.upload.last_read
        return self.span.end if self.span else None


def uploads_in(directory: str, entries: Sequence[DirectoryEntry]) -> list[FoundUpload]:
    """Return the uploads of a directory, in the order of their offsets.

    Args:
        directory: a path of this machine or a URI.
        entries: its files.

    Raises:
        OSError: if an object cannot be read.
    """
    objects: dict[str, dict[str, DirectoryEntry]] = {}
    for entry in entries:
        name = None if entry.is_directory else object_name(entry.name)
        if name is not None:
            objects.setdefault(name.stem, {})[name.suffix] = entry
    is_remote = is_stored(directory)
    asked = _parallel(_manifest, [own[MANIFEST] for own in objects.values() if MANIFEST in own], is_remote=is_remote)
    manifests = {entry.name: manifest for entry, manifest in asked}
    given = [_found(directory, stem, own, manifests.get(f"{stem}.{MANIFEST}")) for stem, own in sorted(objects.items())]
    found = [one for one in given if one is not None]
    # Those of Kafka's LocalTieredStorage have no manifest with offsets (TS-62).
    plain = [one for one in found if one.upload.state == "finished" and one.manifest is None]
    local = _parallel(lambda one: _local_span(directory, one, objects[one.stem][LOG]), plain, is_remote=is_remote)
    bases = sorted(one.upload.base_offset for one in found)
    spans = {one.stem: _certain_span(span, end, bases) for one, (span, end) in local}
    return [replace(one, span=spans.get(one.stem, one.span)) for one in found]


def local_epochs(directory: str, one: FoundUpload) -> list[tuple[int, int]]:
    """Return the leader epochs and first offsets in the checkpoint of an upload without a manifest; none if it has no valid checkpoint.

    Raises:
        OSError: if the checkpoint cannot be read.
    """
    names = [join_path(directory, f"{one.stem}.{suffix}") for suffix in EPOCH_SUFFIXES if suffix in one.names]
    return parse_leader_epochs((read_file(names[0], _MAX_CHECKPOINT) if names else None) or b"")


def _parallel(ask: Callable[[_I], _T], items: Sequence[_I], *, is_remote: bool) -> list[tuple[_I, _T]]:
    """Return each item with its answer. Ask a store from several threads."""
    if not is_remote or len(items) < 2:
        return [(item, ask(item)) for item in items]
    with ThreadPoolExecutor(min(_REQUESTS, len(items))) as pool:
        return list(zip(items, pool.map(ask, items), strict=True))


def _manifest(entry: DirectoryEntry) -> Manifest | ManifestError:
    try:
        return read_manifest(entry)
    except ManifestError as error:
        return error


def _found(
    directory: str, stem: str, own: dict[str, DirectoryEntry], manifest_or_error: Manifest | ManifestError | None
) -> FoundUpload | None:
    name, is_aiven = object_name(f"{stem}.{LOG}"), is_of_aiven(directory[:])
    if name is None or not (LOG in own or MANIFEST in own or is_aiven):
        return None
    manifest = manifest_or_error if isinstance(manifest_or_error, Manifest) else None
    upload = _upload(shown(join_path(directory, f"{stem}.{LOG}")), name, place_of(directory[:]), manifest)
    missing = [suffix for suffix in (LOG, MANIFEST) if suffix not in own and (is_aiven or MANIFEST in own)]
    if manifest is not None and manifest.parts is not None and INDEXES not in own and any(part.size for part in manifest.parts.values()):
        missing.append(INDEXES)
    rule = ""
    if missing:
        rule, reason = "TS-8", f"unfinished, or being deleted: no .{' and no .'.join(missing)}"
        upload = replace(upload, state="unfinished", reason=reason)
    elif isinstance(manifest_or_error, ManifestError):
        rule = manifest_or_error.rule or "TS-10"
        upload = replace(upload, state="damaged", reason=str(manifest_or_error).removeprefix(f"{shown(directory)}/"))
    elif manifest_or_error is None:
        upload = replace(upload, size=own[LOG].size)
    return FoundUpload(upload, stem, manifest, frozenset(own), None if manifest is None else _span(manifest), rule)


def _upload(path: str, name: ObjectName, place: Place, manifest: Manifest | None) -> Upload:
    if manifest is None:
        return Upload(path, place.topic, place.topic_id, place.partition, name.base_offset, name.segment_id)
    named = Place(manifest.topic, manifest.topic_id, manifest.partition) if manifest.topic is not None else place
    size, end = manifest.chunks.file_size, manifest.end_offset
    return Upload(path, named.topic, named.topic_id, named.partition, name.base_offset, name.segment_id, end, size)


def _span(manifest: Manifest) -> Span | None:
    start, end = manifest.start_offset, manifest.end_offset
    if start is None or end is None:
        return None
    return Span(start, end, tuple(sorted((first, epoch) for epoch, first in manifest.epochs.items())), manifest.event_timestamp)


def _local_span(directory: str, one: FoundUpload, log: DirectoryEntry) -> tuple[Span, SegmentEnd]:
    """Return the offsets of a segment without a manifest, from its batches, and their leader epochs, from its checkpoint (TS-61).

    A log without a valid batch has its first offset only, so that another upload with this offset is read in its place.
    """
    if (known := _SPANS.get(log.version)) is not None:
        return known
    base_offset = one.upload.base_offset
    end = valid_end(log.path, base_offset) or SegmentEnd(base_offset, base_offset, base_offset)
    epochs = local_epochs(directory, one)
    span = _ending(Span(base_offset, end.offset, tuple(sorted((first, epoch) for epoch, first in epochs))), end.offset)
    return _SPANS.put(log.version, (span, end))


def _certain_span(span: Span, end: SegmentEnd, bases: Sequence[int]) -> Span:
    """End the span before a last batch that skips the first offset of another upload: damage has changed its base offset."""
    return _ending(span, end.certain) if any(end.certain < base <= end.last_base_offset for base in bases) else span


def _ending(span: Span, end: int) -> Span:
    end = max(span.start, end)
    return replace(span, end=end, epochs=tuple((first, epoch) for first, epoch in span.epochs if first <= end))
