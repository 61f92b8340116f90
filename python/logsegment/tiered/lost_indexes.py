"""Indexes of uploads that cannot be opened. Reads go on without them, so that only who looks at all objects is told."""

from __future__ import annotations

import os
from collections.abc import Sequence

from logsegment._core import Finding
from logsegment._log_paths import INDEXES, object_name
from logsegment.stores.uri import shown, untiered
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError
from logsegment.tiered.manifest import INDEX_SUFFIXES
from logsegment.tiered.objects import joined_path
from logsegment.tiered.segment_objects import SegmentObjects
from logsegment.tiered.uri import ring_of

#: One chunk each, where they are encrypted.
RULE = "TS-37"
_ADVICE = "reads go on without it, and what a broker needs of it `restore` makes anew from the log"


def with_lost_indexes(findings: Sequence[Finding], logs: Sequence[str]) -> list[Finding]:
    """Findings of logs and of the files beside them, with the indexes that nobody could open: to who looks beside a log they are missing.

    Args:
        findings: what was found without them.
        logs: the logs of uploads, as they are read.

    Raises:
        OSError: when an object cannot be read.
    """
    lost = [one for log in logs for one in lost_indexes(log)]
    files = {place for place, _ in lost} | set(filter(None, map(_never_uploaded, logs)))
    there = [one for one in findings if one.path.rpartition("@")[0] not in files]
    return [*there, *(finding for _, finding in lost)]


def lost_indexes(log: str) -> list[tuple[str, Finding]]:
    """The indexes of an upload that cannot be opened: where each would be seen beside its log, and what is told of it.

    Of an upload whose manifest or keys are not right there are none: the log tells that.

    Raises:
        OSError: when an object cannot be read.
    """
    place = untiered(log)
    directory, name = os.path.split(place[:])
    parts = object_name(name)
    if parts is None:
        return []
    try:
        objects = SegmentObjects(type(place)(directory), parts.stem, ring_of(log))
        found = [(suffix, _finding(objects, name, suffix)) for name, suffix in INDEX_SUFFIXES.items()]
    except (FileNotFoundError, ManifestError, SegmentKeyError):
        return []
    stem = shown(joined_path(type(place)(directory), parts.stem))
    return [(f"{stem}.{suffix}", finding) for suffix, finding in found if finding is not None]


def _never_uploaded(log: str) -> str | None:
    """The index of transactions of a segment that Pinterest's uploader left, which it does not upload (TS-82)."""
    place = untiered(log)
    directory, name = os.path.split(place[:])
    return None if object_name(name) else shown(joined_path(type(place)(directory), f"{os.path.splitext(name)[0]}.txnindex"))


def _finding(objects: SegmentObjects, name: str, suffix: str) -> Finding | None:
    try:
        objects.index(name)
    except ChunkError as fault:
        parts = objects.manifest.parts
        part = None if parts is None else parts[name]
        path = shown(objects.path(INDEXES if part else suffix))
        text = f"{str(fault).removeprefix(f'{path}: ')}; {_ADVICE}"
        at, size = (part.position, part.size) if part else (0, 0)
        return Finding(RULE, "warning", text, f"{path}@{at}", at, size)
    return None
