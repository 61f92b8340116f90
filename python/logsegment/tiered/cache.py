"""A cache of what was read of objects: an object under a name never changes, and time and size reveal tests and copies that do."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class LruCache(Generic[V]):
    """Values by key, of which those least recently used are removed first. Any thread may use it.

    Args:
        capacity: most values, or most of what `cost` counts. One value is always kept.
        cost: what a value counts; 1 by default.
    """

    def __init__(self, capacity: int, cost: Callable[[V], int] = lambda value: 1) -> None:
        self._capacity = capacity
        self._cost = cost
        self._kept: OrderedDict[Hashable, V] = OrderedDict()
        self._used = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        """Return the value of a key; None if there is none."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, value: V) -> V:
        """Keep a value and return it."""
        with self._lock:
            if key in self._kept:
                self._used -= self._cost(self._kept.pop(key))
            self._kept[key] = value
            self._used += self._cost(value)
            while self._used > self._capacity and len(self._kept) > 1:
                self._used -= self._cost(self._kept.popitem(last=False)[1])
        return value

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._kept.clear()
            self._used = 0
