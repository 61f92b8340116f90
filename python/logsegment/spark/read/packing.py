"""Small pieces of work share a task: Spark needs about 0.1 s for one, however little it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import add, gt
from typing import TypeVar

T = TypeVar("T")
#: Files of a task where there are not very many; opening one costs as much as many headers.
TASK_FILES = 64
#: Files of a task at most: a task that fails opens them all again.
_MOST_FILES = 1024
#: With so many tasks or fewer each partition has its own, as with Spark's Kafka source; thousands would take minutes to start.
OWN_TASKS = 64


def task_files(total: int) -> int:
    """Return how many files a task may have where there are `total` in all: very many small files do not make very many tasks.

    Example:
        >>> from logsegment.spark.read.packing import task_files
        >>> [task_files(total) for total in (1000, 20_000, 10**6)]
        [64, 313, 1024]
    """
    return min(max(TASK_FILES, -(-total // OWN_TASKS)), _MOST_FILES)


def packed(items: Iterable[T], sizes: Callable[[T], Sequence[int]], most: Sequence[int]) -> Iterator[tuple[T, ...]]:
    """Neighbours together, in order, as long as none of their sums is over its limit; one that is larger by itself is alone.

    Args:
        items: pieces of work.
        sizes: what counts of one, as bytes and files.
        most: the limits of the sums.

    Example:
        >>> from logsegment.spark.read.packing import packed
        >>> list(packed([10, 10, 100, 10, 0], lambda size: [size], [20]))
        [(10, 10), (100,), (10, 0)]
    """
    waiting: list[T] = []
    filled: Sequence[int] = [0] * len(most)
    for item in items:
        own = sizes(item)
        together = list(map(add, filled, own))
        if waiting and any(map(gt, together, most)):
            yield tuple(waiting)
            waiting, together = [], list(own)
        waiting.append(item)
        filled = together
    if waiting:
        yield tuple(waiting)


def at_least(least: int, most: int, pack: Callable[[int], list[T]]) -> list[T]:
    """What is packed up to the limit `most`, or up to the half of it, and so on, until there are `least` or the limit is 0.

    Example:
        >>> from logsegment.spark.read.packing import at_least, packed
        >>> at_least(3, 40, lambda most: list(packed([10, 10, 10, 10], lambda size: [size], [most])))
        [(10,), (10,), (10,), (10,)]
    """
    while len(found := pack(most)) < least and most > 0:
        most //= 2
    return found
