"""Which uploads of a folder are read, how far, and what is told of the others (TS-8, TS-44)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from logsegment._core import Finding
from logsegment._log_paths import LOG, MANIFEST
from logsegment.tiered.choice import Choice, Cut, LeftOut, chosen, overlapping
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError
from logsegment.tiered.folder import Found, local_epochs, parse_epochs
from logsegment.tiered.keys import KeyRing
from logsegment.tiered.segment_objects import SegmentObjects


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
