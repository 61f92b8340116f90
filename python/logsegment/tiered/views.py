"""Folders as they were seen last: who reads a partition asks for each of its files, and a listing tells of all of them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from functools import cached_property

from logsegment._core import Finding
from logsegment._log_paths import is_upload
from logsegment.stores.listing import Entry
from logsegment.tiered.folder import Found, uploads_in
from logsegment.tiered.keys import KeyRing
from logsegment.tiered.objects import Info, listed
from logsegment.tiered.states import ensure_readable, judged

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
