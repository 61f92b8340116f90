"""One task a partition, where a store cannot patch: a task says of which partitions it has rows, and looks who else said so.

A claim is an empty object below the staging directory of the job, made when the first row of a partition was met and before any
segment is sent. Who made one lists all of them, so that of two tasks at least the second meets the other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from logsegment import stores
from logsegment.spark.write import places

#: Claims that are sent at once: a task may have rows of very many partitions.
THREADS = 8

ADVICE = (
    'offsets cannot be patched in a store, so one task must write all rows of a partition, as after df.repartition("topic", "partition"), '
    "or df.coalesce(1) where rows name no partition; nothing of this job is visible"
)


class Claims:
    """What one try of a task claims.

    Args:
        above: the directory of the claims of all tasks of a job.
        attempt: name of the try, which begins with `task-<number>-`.
    """

    def __init__(self, above: str, attempt: str) -> None:
        self._above = above
        self._attempt = attempt
        self._own: list[str] = []

    def claim(self, logs: Sequence[str]) -> None:
        """Claim partitions, by the names of their directories.

        Raises:
            ValueError: when another task has one of them.
            OSError: when the store does not answer.
        """
        self._own += logs
        with ThreadPoolExecutor(min(THREADS, len(logs)), "logsegment-claims") as threads:
            for _ in threads.map(self._put, logs):
                pass
        tasks: dict[str, set[int]] = {}
        for entry in stores.walk(self._above):
            log = os.path.basename(os.path.dirname(entry.uri[:]))
            tasks.setdefault(log, set()).add(_task(entry.name))
        for log in self._own:
            if len(tasks.get(log, ())) > 1:
                first, second, *_ = sorted(tasks[log])
                raise ValueError(f"tasks {first} and {second} both have rows of {log}: {ADVICE}")

    def withdraw(self) -> None:
        """Take the claims back, as far as the store does it: the next try may have other rows."""
        for log in self._own:
            with suppress(OSError):
                stores.remove(self._place(log))

    def _put(self, log: str) -> None:
        stores.put_bytes(self._place(log), b"")

    def _place(self, log: str) -> str:
        return places.below(self._above, log, self._attempt)


def _task(attempt: str) -> int:
    return int(attempt.split("-")[1])
