"""Choose among several uploads of the same offsets, and find the last offset to read (TS-8, TS-44).

A leader that fails, and an upload that is tried again, leave several uploads of the same records. A leader epoch and an offset identify
a record. So each offset has the epoch that the checkpoint of the latest leader names: records of another epoch were truncated in the
cluster, and uploads with the same epoch are equal. As in Kafka (`RemoteLogMetadataCache`), of several uploads with an offset the one that
begins last is read, so that a segment ends where the next one begins.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from logsegment._core import Finding, parse_leader_epochs
from logsegment._log_paths import LOG, MANIFEST, Place
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError
from logsegment.tiered.keys import KeyRing
from logsegment.tiered.objects import SegmentObjects
from logsegment.tiered.upload import FoundUpload, Span, local_epochs

#: First offsets of leader epochs, and the epochs.
Epochs = Sequence[tuple[int, int]]


class LeftOut(NamedTuple):
    """Why an upload, or a part of it, is not read, and which other upload is read for it."""

    state: Literal["duplicate", "superseded"]
    other: str


class Cut(NamedTuple):
    """The offset from which an upload is not read, and why."""

    offset: int
    why: LeftOut


@dataclass(slots=True)
class Choice:
    """Uploads, and parts of uploads, that are not read.

    Attributes:
        left_out: whole uploads.
        cuts: the ends of uploads.
        undecided: overlapping uploads, each with the other upload, if no metadata decides which of them counts.
    """

    left_out: dict[str, LeftOut] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    undecided: dict[str, str] = field(default_factory=dict)


def with_states(directory: str, found: Sequence[FoundUpload], ring: KeyRing) -> list[FoundUpload]:
    """Return the uploads with their states, and with a finding for each that is not read, or not read whole.

    If the choice among some uploads needs a key that is missing, each of them is a segment of which every read fails.

    Args:
        directory: where the uploads are.
        found: all uploads of the directory, from `uploads_in`.
        ring: keys, needed if the newest checkpoint decides between uploads.

    Raises:
        OSError: if an object cannot be read.
    """
    by_stem = {one.stem: one for one in found}

    def epochs_of(stem: str) -> list[tuple[int, int]]:
        one = by_stem[stem]
        if one.manifest is None:
            return local_epochs(directory, one)
        try:
            return parse_leader_epochs(SegmentObjects(directory, stem, ring, one.manifest).index("leaderEpoch") or b"")
        except (ChunkError, ManifestError):
            return []

    spans = {one.stem: one.span for one in found if one.upload.state == "finished" and one.span is not None}
    try:
        choice = chosen(spans, epochs_of)
        decided = [_with_choice(one, choice, by_stem) for one in found]
    except SegmentKeyError as error:
        unchosen = {name for pair in _overlapping(sorted(spans, key=lambda name: spans[name].start), spans) for name in pair}
        decided = [_closed(one, error) if one.stem in unchosen else one for one in found]
    place = next((Place(one.upload.topic, one.upload.topic_id, one.upload.partition) for one in found if one.manifest), None)
    return [_with_gap(one, decided, place) for one in decided]


def ensure_decided(found: Sequence[FoundUpload]) -> list[FoundUpload]:
    """Return the uploads that are read, with those of which every read fails.

    Raises:
        FileExistsError: if two uploads overlap and no metadata decides which of them counts.
    """
    wanted = [one for one in found if one.is_read]
    for one in wanted:
        if one.rival:
            text = f"uploaded more than once, without metadata that decides which one counts: {one.rival} and {one.upload.path} overlap; "
            raise FileExistsError(17, f"{text}pass the segments to read by name", one.upload.path)
    return wanted


def chosen(spans: Mapping[str, Span], epochs_of: Callable[[str], list[tuple[int, int]]]) -> Choice:
    """Choose among the uploads of a partition.

    Args:
        spans: of all finished uploads with known offsets, by name.
        epochs_of: returns epochs and first offsets of the checkpoint of an upload. It is called only if the leaders of uploads differ.
    """
    order = sorted(spans, key=lambda name: (spans[name].start, -spans[name].end, -spans[name].written, name))
    overlaps = list(_overlapping(order, spans))
    choice = Choice()
    if not overlaps:
        return choice
    if any(_common_epochs(spans[one], spans[other]) != _common_epochs(spans[other], spans[one]) for one, other in overlaps):
        newest = _newest(spans)
        # The manifest of the newest upload has the epochs of its own offsets as well.
        chain = sorted((first, epoch) for epoch, first in epochs_of(newest)) or list(spans[newest].epochs)
        for name in sorted({name for pair in overlaps for name in pair}):
            _cut_superseded(choice, name, spans[name], chain, newest)
    _cut_repeated(choice, order, spans)
    return choice


def _newest(spans: Mapping[str, Span]) -> str:
    # A lagging leader may have written further than the next leader: the epoch counts before the offset.
    return max(spans, key=lambda name: (max((epoch for _, epoch in spans[name].epochs), default=-1), spans[name].end, spans[name].written))


def _overlapping(order: list[str], spans: Mapping[str, Span]) -> Iterator[tuple[str, str]]:
    """Yield each upload with those before it that reach into it."""
    reaching: list[str] = []
    for name in order:
        reaching = [other for other in reaching if spans[other].end >= spans[name].start]
        yield from ((other, name) for other in reaching)
        reaching.append(name)


def _cut_superseded(choice: Choice, name: str, span: Span, chain: Epochs, newest: str) -> None:
    """Cut off the records of an upload that are not in the log of the latest leader."""
    offset = _first_foreign(span, chain)
    if offset is None:
        return
    why = LeftOut("superseded", newest)
    if offset <= span.start:
        choice.left_out[name] = why
    else:
        choice.cuts[name] = Cut(offset, why)


def _first_foreign(span: Span, chain: Epochs) -> int | None:
    """Return the first offset with another epoch than in the chain. Before the chain, where a log was truncated, every epoch is valid."""
    if not chain:
        return None
    borders = sorted({span.start, *(first for first, _ in [*span.epochs, *chain] if span.start < first <= span.end)})
    known = ((at, _epoch_at(span.epochs, at)) for at in borders if at >= chain[0][0])
    return next((at for at, epoch in known if epoch is not None and epoch != _epoch_at(chain, at)), None)


def _cut_repeated(choice: Choice, order: list[str], spans: Mapping[str, Span]) -> None:
    """Leave out uploads that another one contains, and end each upload where the next one begins."""

    def end(name: str) -> int:
        return choice.cuts[name].offset - 1 if name in choice.cuts else spans[name].end

    rest = [name for name in order if name not in choice.left_out]
    # Of two uploads with the same end the whole one is read, not the one that goes on with superseded records.
    rest.sort(key=lambda name: (spans[name].start, -end(name), name in choice.cuts, -spans[name].written, name))
    last: str | None = None
    for name in rest:
        if last is None or end(last) < spans[name].start:
            last = name
            continue
        if not _are_same(spans[last], spans[name], min(end(last), end(name))):
            choice.undecided[name] = last
        elif end(name) <= end(last):
            choice.left_out[name] = choice.cuts.pop(name).why if name in choice.cuts else LeftOut("duplicate", last)
            continue
        else:
            choice.cuts[last] = Cut(spans[name].start, LeftOut("duplicate", name))
        last = name


def _are_same(one: Span, other: Span, end: int) -> bool:
    """Return True if the common offsets up to `end` have the same known epochs."""
    both = Span(max(one.start, other.start), end)
    own, others = _common_epochs(one, both), _common_epochs(other, both)
    return own == others and all(epoch is not None for _, epoch in own)


def _common_epochs(span: Span, within: Span) -> list[tuple[int, int | None]]:
    """Return the epochs of the offsets that both spans have, each with its first offset."""
    start, end = max(span.start, within.start), min(span.end, within.end)
    borders = [start, *(first for first, _ in span.epochs if start < first <= end)]
    return [(at, _epoch_at(span.epochs, at)) for at in borders]


def _epoch_at(epochs: Epochs, offset: int) -> int | None:
    at = bisect_right(epochs, offset, key=lambda pair: pair[0])
    return epochs[at - 1][1] if at else None


def _with_choice(one: FoundUpload, choice: Choice, by_stem: dict[str, FoundUpload]) -> FoundUpload:
    if one.stem in choice.left_out:
        why = choice.left_out[one.stem]
        if why.state == "superseded":
            reason = f"superseded: its leader epochs are not those of the checkpoint with {why.other}"
        else:
            reason = f"duplicate: {why.other} holds the same records; if that one is damaged, pass the .log of this one"
        one = replace(one, upload=replace(one.upload, state=why.state, reason=reason))
        return replace(one, finding=_finding(one, "info", reason, (one.upload.base_offset, one.upload.end_offset), "TS-44"))
    if one.stem in choice.cuts:
        offset, why = choice.cuts[one.stem]
        if why.state == "superseded":
            cause = f"its leader epochs there are not those of the checkpoint with {why.other}"
        else:
            cause = f"{why.other} holds the same records"
        reason = f"not read from offset {offset} on: {cause}"
        one = replace(one, upload=replace(one.upload, last_read=offset - 1, reason=reason))
        one = replace(one, finding=_finding(one, "info", reason, (offset, one.span.end if one.span else None), "TS-44"))
    if one.stem in choice.undecided:
        return replace(one, rival=by_stem[choice.undecided[one.stem]].upload.path)
    return one


def _closed(one: FoundUpload, error: SegmentKeyError) -> FoundUpload:
    reason = f"{one.upload.path} overlaps with others, and cannot be decrypted to choose one: {error}"
    return replace(one, upload=replace(one.upload, reason=reason), is_closed=True)


def _with_gap(one: FoundUpload, uploads: Sequence[FoundUpload], place: Place | None) -> FoundUpload:
    """Add to an upload that cannot be read whether another one holds its offsets."""
    if one.upload.state not in ("unfinished", "damaged"):
        return one
    first = one.upload.base_offset
    read = [other for other in uploads if other.upload.state == "finished"]
    following = min((other.upload.base_offset for other in read if other.upload.base_offset > first), default=None)
    before = (_last_read(other, following) for other in read if other.upload.base_offset <= first)
    covered = max(before, default=first - 1)
    own_last = one.span.end if one.span else None
    last = own_last if following is None else following - 1
    is_gap = covered < first or (last is not None and covered < last)
    if one.upload.state == "damaged" and covered < first:
        upload = one.upload
        if place is not None and upload.topic is None:
            upload = replace(upload, topic=place.topic, topic_id=place.topic_id, partition=place.partition)
        return replace(one, upload=upload, is_lost=True)
    begin, reason = max(covered + 1, first), one.upload.reason
    # The manifest is uploaded last: an upload with a manifest was complete.
    if last is None and (one.upload.state == "damaged" or MANIFEST in one.names):
        reason = f"{reason}; offsets from {begin} on may be missing"
        return replace(one, finding=_finding(one, "warning", reason, (begin, None)))
    if is_gap and last is not None:
        reason = f"{reason}; offsets {begin} to {last} are missing"
        return replace(one, finding=_finding(one, "warning", reason, (begin, last)))
    if one.upload.state == "damaged":
        # Without offsets: other uploads hold them.
        return replace(one, finding=_finding(one, "warning", reason, (None, None)))
    # An upload that is being written has no manifest yet, and is the last one.
    return replace(one, finding=_finding(one, "info", reason, (first, last if is_gap else None)))


def _last_read(one: FoundUpload, following: int | None) -> int:
    """Return the last offset that is read of an upload; if it is not known, the last one before the following upload."""
    known = one.last_offset
    if known is None:
        return one.upload.base_offset if following is None else following - 1
    return known


def _finding(one: FoundUpload, severity: str, reason: str, offsets: tuple[int | None, int | None], rule: str | None = None) -> Finding:
    path = one.upload.path
    if one.upload.state == "damaged":
        path = f"{path.removesuffix(LOG)}{MANIFEST}"
    return Finding(rule or one.rule, severity, reason.removeprefix(f"{os.path.basename(path)}: "), f"{path}@0", 0, 0, *offsets)
