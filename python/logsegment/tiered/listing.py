"""The uploads of directories: which of them are segments, and why others are not. The core finds and reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from logsegment._core import Finding, Place
from logsegment._places import StorageOptions
from logsegment.tiered.keys import KeyRing, Keys

State: TypeAlias = Literal["finished", "duplicate", "superseded", "unfinished", "damaged"]


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


def uploads(
    path: str | os.PathLike[str],
    *,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
) -> list[Upload]:
    """Return all uploads below a path, those that are read and those that are not.

    Args:
        path: a directory, or a prefix in a store.
        decryption_keys: see `logsegment.Segment`. They are needed if uploads overlap and only their leader epochs decide between them.
            Without a key, `reason` of each upload names the key, and every read of it is a `SegmentKeyError`.
        storage_options: options of the store; see `logsegment.Log`.
        layout: template of the names of objects; see `logsegment.Log`.

    Returns:
        An `Upload` for each, with its state and the reason, by directory and offset. The segments of
        Pinterest's uploader, in directories with its file `offset.wm`, are finished uploads without ids.

    Raises:
        OSError: if a directory cannot be listed or read.
        ValueError: if the layout is invalid.

    Example:
        >>> import logsegment as ls
        >>> {upload.state for upload in ls.tiered.uploads("bucket")}
        {'finished'}
    """
    place = Place(path, storage_options).uploaded(None if decryption_keys is None else KeyRing(decryption_keys).to_text(), layout)
    return [Upload(*named, *found) for named, found in place.uploads()]


def with_lost_indexes(findings: Sequence[Finding], logs: Sequence[str]) -> list[Finding]:
    """Add findings of the indexes of uploads that cannot be read: a reader of sidecar files reports them as missing.

    Args:
        findings: of logs and sidecar files.
        logs: URIs of the logs of uploads.

    Raises:
        OSError: if an object cannot be read.
    """
    lost = Place.lost_indexes(logs)
    replaced = {path for path, _ in lost}
    kept = [finding for finding in findings if finding.path.rpartition("@")[0] not in replaced]
    return [*kept, *(finding for _, finding in lost if finding is not None)]
