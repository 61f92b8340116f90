"""An upload of which nothing is read from an offset on, since another one holds what follows: its log and its indexes up to there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from logsegment._core import Finding
from logsegment.tiered.intact import first_reaching

#: Bytes of the entries of each index; where the offset stands in one, and its bytes; and whether it counts from the first of the segment.
_ENTRIES = {"index": (8, 0, 4, True), "timeindex": (12, 8, 4, True), "txnindex": (34, 18, 8, False)}
_MOST_KEPT = 4096
_KEPT: OrderedDict[tuple[str, object, int], int] = OrderedDict()
_LOCK = threading.Lock()


def cut_position(uri: str, base_offset: int, before: int, version: object) -> int | None:
    """Where the first intact batch begins that reaches an offset; None when there is none.

    The border of a segment, and of a leader's term, is that of a batch. A damaged one is believed nothing: what is in front of the border
    stays, with its damage, which reading tells.

    Args:
        uri: of the log, whole.
        base_offset: its first offset.
        before: the offset.
        version: what tells the log from another one.

    Raises:
        OSError: when it cannot be read.
    """
    key = uri[:], version, before
    with _LOCK:
        known = _KEPT.get(key)
    if known is not None:
        return known if known >= 0 else None
    batch = first_reaching(uri, base_offset, before)
    found = None if batch is None else batch.position
    with _LOCK:
        _KEPT[key] = -1 if found is None else found
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return found


def cut_index(data: bytes, suffix: str, base_offset: int, before: int) -> bytes:
    """The entries of an index that are about batches before an offset, or transactions that ended before it."""
    size, at, length, is_relative = _ENTRIES[suffix]
    first = base_offset if is_relative else 0
    kept = 0
    for begin in range(0, len(data) - size + 1, size):
        if first + int.from_bytes(data[begin + at : begin + at + length]) >= before:
            break
        kept = begin + size
    return data[:kept]


class CutFile:
    """The first bytes of a file.

    Args:
        file: all of it.
        size: how many.
    """

    def __init__(self, file: Any, size: int) -> None:
        self._file = file
        self.size = min(size, file.size)
        self.version = (file.version, self.size)

    def read_at(self, position: int, length: int) -> bytes:
        """The bytes from `position` on, `length` of them or as many as there are.

        Raises:
            As the file.
        """
        return bytes(self._file.read_at(position, max(0, min(length, self.size - position))))

    def read_past_damage(self, position: int, length: int) -> bytes:
        """The same past what is damaged.

        Raises:
            OSError: when they cannot be read.
        """
        return bytes(self._file.read_past_damage(position, max(0, min(length, self.size - position))))

    def ensure_same(self) -> None:
        """Fail when the file was written anew since it was opened.

        Raises:
            ChangedError: when it was.
        """
        self._file.ensure_same()

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Requests, bytes and findings since this was asked last."""
        taken: tuple[int, int, list[Finding]] = self._file.taken()
        return taken
