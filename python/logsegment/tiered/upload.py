"""What was uploaded to a folder, segment by segment: whole, unfinished, or a second time (TS-8, TS-40, TS-44)."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from logsegment._core import FileSource, Finding, RecordBatchError, SegmentIndex
from logsegment._decode import batch_stream
from logsegment._log_paths import EPOCH_SUFFIXES, INDEXES, LOG, MANIFEST, ObjectName, Place, is_of_aiven, object_name, place_of
from logsegment.stores.uri import is_stored, shown
from logsegment.tiered.choice import Span
from logsegment.tiered.errors import ManifestError
from logsegment.tiered.manifest import Manifest
from logsegment.tiered.objects import Info, joined_path, listed, read_object
from logsegment.tiered.segment_objects import read_manifest

State: TypeAlias = Literal["finished", "duplicate", "superseded", "unfinished", "damaged"]
#: Manifests and logs that are asked of a store at once.
_REQUESTS = 16
_MOST_CHECKPOINT = 1 << 24
#: Spans that are kept: an object under a name never changes, but for tests and copies, which its time and size tell.
_MOST_KEPT = 4096
_SPANS: OrderedDict[tuple[str, int, float | None], tuple[Span, End]] = OrderedDict()
_LOCK = threading.Lock()
_I = TypeVar("_I")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload of a segment.

    Attributes:
        path (str): of its log, as people may see it.
        topic, topic_id, partition: as its manifest tells, or else the names of its folders; None when neither does.
        base_offset, segment_id: as its name tells; Pinterest's uploader adds no id.
        end_offset: the last offset; None when nothing tells it.
        size: bytes of the segment; None when nothing tells them.
        state: "finished": it is read. "duplicate": another upload holds the same records. "superseded": its leader's term is none that
            the newest checkpoint of the partition knows there. "unfinished": objects are missing. "damaged": its manifest cannot be read.
        reason: why it, or the rest of it, is not read, in words; empty for one that is read whole. A finished one that is read to no
            certain offset, since a key is missing that tells it, has one too.
        last_read: the last offset that is read of it, where another upload holds those that follow; else None.
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
class Found:
    """An upload with what is needed to read it.

    Attributes:
        span: its offsets and their leaders, where they are known.
        rule: what its manifest breaks.
        is_lost: nothing else holds its offsets, and it cannot be read: it stands in the log as a segment of which every read fails.
        is_closed: a key is missing that tells whether and how far it is read: every read of it fails.
        rival: the path of an upload that overlaps, where nothing tells which of the two counts.
        finding: what is told of it where it is not read, or not read whole.
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
        """It is a segment of the log."""
        return self.upload.state == "finished" or self.is_lost

    @property
    def before(self) -> int | None:
        """The first offset that is not read of it; None for one that is read whole."""
        if self.is_closed:
            return self.upload.base_offset
        return None if self.upload.last_read is None else self.upload.last_read + 1

    @property
    def last_offset(self) -> int | None:
        """The last offset that is read of it; None where nobody knows."""
        if self.upload.last_read is not None:
            return self.upload.last_read
        return self.span.end if self.span else None


def uploads_in(directory: str, infos: Sequence[Info] | None = None) -> list[Found]:
    """All uploads of a folder, in the order of their offsets, each as its own objects tell.

    Args:
        directory: where the objects lie; a path of this machine or a URI.
        infos: what lies there, when it was listed already.

    Raises:
        OSError: when it cannot be listed or read.
    """
    objects: dict[str, dict[str, Info]] = {}
    for info in listed(directory) if infos is None else infos:
        name = None if info.is_directory else object_name(info.name)
        if name is not None:
            objects.setdefault(name.stem, {})[name.suffix] = info
    is_remote = is_stored(directory)
    manifests = _asked(_manifest, [own[MANIFEST] for own in objects.values() if MANIFEST in own], is_remote=is_remote)
    told = {info.name: manifest for info, manifest in manifests}
    place, is_aiven = place_of(directory[:]), is_of_aiven(directory[:])
    given = [_found(directory, stem, own, told, place, is_aiven) for stem, own in sorted(objects.items())]
    found = [one for one in given if one is not None]
    plain = [one for one in found if _is_plain(one)]
    local = _asked(lambda one: _local_span(directory, one, objects[one.stem][LOG]), plain, is_remote=is_remote)
    bases = sorted(one.upload.base_offset for one in found)
    spans = {one.stem: _believed(span, end, bases) for one, (span, end) in local}
    return [replace(one, span=spans[one.stem]) if one.stem in spans else one for one in found]


def _asked(ask: Callable[[_I], _T], of: Sequence[_I], *, is_remote: bool) -> list[tuple[_I, _T]]:
    """Each with what is known of it."""
    if not is_remote or len(of) < 2:
        return [(one, ask(one)) for one in of]
    with ThreadPoolExecutor(min(_REQUESTS, len(of))) as pool:
        return list(zip(of, pool.map(ask, of), strict=True))


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
    manifest = told if isinstance(told, Manifest) else None
    upload = _upload(shown(joined_path(directory, f"{stem}.{LOG}")), name, place, manifest)
    missing = [suffix for suffix in (LOG, MANIFEST) if suffix not in own and (is_aiven or MANIFEST in own)]
    if manifest is not None and manifest.parts is not None and INDEXES not in own and any(part.size for part in manifest.parts.values()):
        missing.append(INDEXES)
    rule = ""
    if missing:
        rule, reason = "TS-8", f"unfinished, or being deleted: there is no .{' and no .'.join(missing)}"
        upload = replace(upload, state="unfinished", reason=reason)
    elif isinstance(told, ManifestError):
        rule = told.rule or "TS-10"
        upload = replace(upload, state="damaged", reason=str(told).removeprefix(f"{shown(directory)}/"))
    elif told is None:
        upload = replace(upload, size=own[LOG].size)
    return Found(upload, stem, manifest, frozenset(own), None if manifest is None else _span(manifest), rule)


def _upload(path: str, name: ObjectName, place: Place, manifest: Manifest | None) -> Upload:
    if manifest is None:
        return Upload(path, place.topic, place.topic_id, place.partition, name.base_offset, name.segment_id)
    told = Place(manifest.topic, manifest.topic_id, manifest.partition) if manifest.topic is not None else place
    size, end = manifest.chunks.file_size, manifest.end_offset
    return Upload(path, told.topic, told.topic_id, told.partition, name.base_offset, name.segment_id, end, size)


def _span(manifest: Manifest) -> Span | None:
    start, end = manifest.start_offset, manifest.end_offset
    if start is None or end is None:
        return None
    return Span(start, end, tuple(sorted((first, term) for term, first in manifest.epochs.items())), manifest.event_timestamp)


def _is_plain(one: Found) -> bool:
    """Of Kafka's LocalTieredStorage (TS-62): no manifest tells its offsets."""
    return one.upload.state == "finished" and one.manifest is None


def _local_span(directory: str, one: Found, log: Info) -> tuple[Span, End]:
    """The offsets of a segment that lies there as it is, from the batches of its log, and their leaders from its own checkpoint (TS-61).

    One in which nothing is intact counts for its first offset: another one that holds it is read in its place.
    """
    with _LOCK:
        known = _SPANS.get(log.version)
    if known is not None:
        return known
    base_offset = one.upload.base_offset
    end = end_of(log.path, base_offset) or End(base_offset, base_offset, base_offset)
    epochs = parse_epochs(local_epochs(directory, one))
    span = _ending(Span(base_offset, end.offset, tuple(sorted((first, term) for term, first in epochs))), end.offset)
    with _LOCK:
        _SPANS[log.version] = span, end
        while len(_SPANS) > _MOST_KEPT:
            _SPANS.popitem(last=False)
    return span, end


def _believed(span: Span, end: End, bases: Sequence[int]) -> Span:
    """A last batch that jumps over the first offset of another upload stands at a damaged offset: who was there wrote what lies between."""
    return _ending(span, end.sure) if any(end.sure < base <= end.jump for base in bases) else span


def _ending(span: Span, end: int) -> Span:
    end = max(span.start, end)
    return replace(span, end=end, terms=tuple((first, term) for first, term in span.terms if first <= end))


def local_epochs(directory: str, one: Found) -> bytes:
    """The bytes of its own checkpoint; none when it has none.

    Raises:
        OSError: when it cannot be read.
    """
    names = [joined_path(directory, f"{one.stem}.{suffix}") for suffix in EPOCH_SUFFIXES if suffix in one.names]
    return (read_object(names[0], _MOST_CHECKPOINT) if names else None) or b""


def parse_epochs(data: bytes) -> list[tuple[int, int]]:
    """Terms of leaders and their first offsets, as a `leader-epoch-checkpoint` lists them; none when it is damaged."""
    lines = [line.split() for line in data.decode("ascii", "replace").splitlines()[2:]]
    pairs = [(int(line[0]), int(line[1])) for line in lines if len(line) == 2 and all(word.isascii() and word.isdigit() for word in line)]
    return pairs if len(pairs) == len(lines) else []


_FIELDS = [(name, name) for name in ("position", "size", "baseOffset", "lastOffset", "isValid")]
#: Bytes of a log without an index that are read for its end; of a larger one the headers are.
_MOST_WHOLE = 1 << 20


class Batch(NamedTuple):
    """An intact batch: where it stands, and its offsets."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class End(NamedTuple):
    """Where a log ends.

    No checksum of Kafka's covers the base offset of a batch: where the last one stands right behind one of far smaller offsets, it may be
    damage that put it there.

    Attributes:
        offset: the last one of its last intact batch.
        sure: the same; where the last batch leaves out offsets, the last one before those.
        jump: the base offset of the last batch.
    """

    offset: int
    sure: int
    jump: int


def intact_batches(uri: str, begin: int = 0, end: int | None = None) -> Iterator[Batch]:
    """The intact batches between two positions.

    Args:
        uri: of the log.
        begin: where a batch begins.
        end: behind the last byte; None for the end of the log.

    Raises:
        OSError: when it cannot be read.
    """
    with batch_stream(FileSource(uri, begin, end), on_error="skip") as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["isValid"] is not False:
                    yield Batch(row["position"], row["size"], row["baseOffset"], row["lastOffset"])


def first_reaching(uri: str, base_offset: int, offset: int) -> Batch | None:
    """The first intact batch that ends at or behind an offset; None when there is none.

    Args:
        uri: of the log.
        base_offset: its first offset.
        offset: the offset.

    Raises:
        OSError: when it cannot be read.
    """
    index = SegmentIndex(uri, base_offset)
    try:
        position, found, _ = index.find_offset(offset)
    except RecordBatchError:
        # Damage on the way: what is intact behind it tells as well, and reading will tell of the damage.
        found = None
    if found is not None and (batch := _batch_at(uri, position, found[0])) is not None:
        return batch
    first, _ = index.intact_range(offset, None)
    return next((batch for batch in intact_batches(uri, first) if batch.last_offset >= offset), None)


def end_of(uri: str, base_offset: int) -> End | None:
    """Where a log ends; None when nothing in it is intact.

    Args:
        uri: of the log.
        base_offset: its first offset.

    Raises:
        OSError: when it cannot be read.
    """
    index = SegmentIndex(uri, base_offset)
    entries = index.offset_index()
    # The entry in front of the last one: what stands before the last batch is looked at as well.
    first, _ = index.intact_range(entries[-1][0], None) if entries else (0, None)
    if not entries:
        try:
            last = index.last_batch()
        except RecordBatchError:
            last = None
        if last is not None and last[0] > _MOST_WHOLE and (batch := _batch_at(uri, *last[:2])) is not None:
            return End(batch.last_offset, batch.last_offset, batch.base_offset)
    tail: list[Batch] = []
    for batch in intact_batches(uri, first):
        tail = [*tail[-1:], batch]
    return _end(tail) if tail else None


def _end(tail: list[Batch]) -> End:
    last = tail[-1]
    is_jump = any(one.position + one.size == other.position and one.last_offset + 1 < other.base_offset for one, other in pairwise(tail))
    return End(last.last_offset, tail[0].last_offset if is_jump else last.last_offset, last.base_offset)


def _batch_at(uri: str, position: int, size: int) -> Batch | None:
    return next((batch for batch in intact_batches(uri, position, position + size) if batch.position == position), None)
