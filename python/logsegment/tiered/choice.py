"""Which of several uploads of the same offsets is read (TS-44): manifests go in, those that are left out come out, with the reason.

A leader that fails, and an upload that is tried again, leave several uploads of the same records. Offsets and leaders' terms name the
records: two uploads with the same ones hold the same bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Literal

from logsegment.tiered.manifest import Manifest

Reason = tuple[Literal["duplicate", "superseded"], str]
Epochs = list[tuple[int, int]]


def chosen(manifests: Mapping[str, Manifest], epochs_of: Callable[[str], Epochs]) -> dict[str, Reason]:
    """Those that are not to be read.

    Args:
        manifests: of all finished uploads of a partition, by name.
        epochs_of: the leader epochs in the checkpoint of an upload; asked only where uploads overlap.
    """
    known = {name: one for name, one in manifests.items() if one.start_offset is not None and one.end_offset is not None}
    order = sorted(known, key=lambda name: (known[name].start_offset, -(known[name].end_offset or 0), -known[name].event_timestamp, name))
    if not _overlap([known[name] for name in order]):
        return {}
    left_out: dict[str, Reason] = {}
    # A leader that fell behind may have written further than the one after it: the term counts before the offset.
    newest = max(order, key=lambda name: (max(known[name].epochs, default=-1), known[name].end_offset, known[name].event_timestamp))
    if checkpoint := epochs_of(newest):
        for name in _superseded(order, known, checkpoint):
            left_out[name] = ("superseded", f"superseded: its leader epochs are not those of the checkpoint with {newest}")
    read: list[str] = []
    for name in (name for name in order if name not in left_out):
        same = next((other for other in read if _holds(known[other], known[name])), None)
        if same is not None:
            left_out[name] = ("duplicate", f"duplicate: {same} holds the same records")
        else:
            read.append(name)
    return left_out


def _overlap(ordered: list[Manifest]) -> bool:
    last = -1
    for one in ordered:
        if (one.start_offset or 0) <= last:
            return True
        last = max(last, one.end_offset or 0)
    return False


def _are_overlapping(one: Manifest, other: Manifest) -> bool:
    return (one.start_offset or 0) <= (other.end_offset or 0) and (other.start_offset or 0) <= (one.end_offset or 0)


def _superseded(order: list[str], known: Mapping[str, Manifest], checkpoint: Epochs) -> list[str]:
    """Those that overlap with others, have terms that the checkpoint does not know, and alone hold none of the terms that it does."""
    agreed = {name: _agreed(known[name], checkpoint) for name in order}
    kept = [name for name in order if agreed[name] == _whole(known[name])]
    kept += [
        name for name in order if name not in kept and not any(_are_overlapping(known[name], known[one]) for one in order if one != name)
    ]
    left_out = []
    for name in (name for name in order if name not in kept):
        if all(_is_covered(part, [known[one] for one in kept]) for part in agreed[name]):
            left_out.append(name)
        else:
            kept.append(name)
    return left_out


def _agreed(one: Manifest, checkpoint: Epochs) -> Epochs:
    """Ranges of offsets whose term is the one that a checkpoint knows, or lies in front of its first: that is cut where the log starts."""
    start, end = one.start_offset or 0, one.end_offset or 0
    own, known = sorted((first, term) for term, first in one.epochs.items()), sorted((first, term) for term, first in checkpoint)
    borders = sorted({start, *(first for first, _ in own + known if start < first <= end)})
    ranges: Epochs = []
    for first, behind in zip(borders, [*borders[1:], end + 1], strict=True):
        if first >= behind or (first >= known[0][0] and _term_at(own, first) != _term_at(known, first)):
            continue
        if ranges and ranges[-1][1] == first - 1:
            first, _ = ranges.pop()
        ranges.append((first, behind - 1))
    return ranges


def _term_at(firsts: Epochs, offset: int) -> int | None:
    at = bisect_right(firsts, offset, key=lambda pair: pair[0])
    return firsts[at - 1][1] if at else None


def _whole(one: Manifest) -> Epochs:
    start, end = one.start_offset or 0, one.end_offset or 0
    return [(start, end)] if start <= end else []


def _is_covered(part: tuple[int, int], kept: list[Manifest]) -> bool:
    at, end = part
    for one in sorted(kept, key=lambda one: one.start_offset or 0):
        if (one.start_offset or 0) <= at:
            at = max(at, (one.end_offset or 0) + 1)
    return at > end


def _holds(one: Manifest, other: Manifest) -> bool:
    """All records of the other are among its own: its offsets, of the same leaders."""
    is_within = (one.start_offset or 0) <= (other.start_offset or 0) and (other.end_offset or 0) <= (one.end_offset or 0)
    return is_within and _terms(sorted(one.epochs.items()), other) == _terms(sorted(other.epochs.items()), other)


def _terms(epochs: Epochs, segment: Manifest) -> Epochs:
    """Terms with their first offset among those of a segment."""
    start, end = segment.start_offset or 0, segment.end_offset or 0
    inside = []
    for (epoch, first), (_, behind) in zip(epochs, [*epochs[1:], (0, end + 1)], strict=True):
        if first <= end and behind > start:
            inside.append((epoch, max(first, start)))
    return inside
