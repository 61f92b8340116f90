"""Opened chunks that were used last: a look-up and the read behind it, or two small reads, want the same one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

#: Of all segments together; a chunk has 4 MiB as a rule, and one alone may have more.
MOST_BYTES = 64 << 20


class ChunkCache:
    """Bytes by their keys; those that were used least recently go first. Any thread may use it."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> bytes | None:
        """What was kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, data: bytes) -> None:
        """Keep it, and let others go."""
        with self._lock:
            self._bytes += len(data) - len(self._kept.pop(key, b""))
            self._kept[key] = data
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= len(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0
