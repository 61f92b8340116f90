"""One task a partition, where a store cannot patch: a task says of which partitions it has rows, and looks who else said so.

A claim is an empty object below the staging directory of the job, made when the first row of a partition was met and before any
segment is sent. Who made one lists all of them, so that of two tasks at least the second meets the other.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from logsegment import stores
from logsegment.spark.write import places
from logsegment.stores.uri import shown

#: Claims that are sent at once: a task may have rows of very many partitions.
THREADS = 8
#: Seconds after which a claim is put anew, far below `places.ABANDONED_AFTER`: a task makes its segments here, and may work for
#: longer than that before the store sees the first of them.
RENEWED_AFTER = 60 * 60

ADVICE = (
    'offsets cannot be patched in a store, so one task must write all rows of a partition, as after df.repartition("topic", "partition"), '
    "or df.coalesce(1) where rows name no partition; nothing of this job is visible"
)


class Claims:
    """What one try of a task claims.

    Args:
        above: the directory of the claims of all tasks of a job.
        attempt: name of the try, which begins with `task-<number>-`.
        clock: seconds.
    """

    def __init__(self, above: str, attempt: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._above = above
        self._attempt = attempt
        self._clock = clock
        self._own: list[str] = []
        self._put_at = clock()

    def claim(self, logs: Sequence[str]) -> None:
        """Claim partitions, by the names of their directories. With none, say only that the job lives.

        Raises:
            ValueError: when another task has one of them.
            FileNotFoundError: when the job was given up meanwhile.
            OSError: when the store does not answer.
        """
        if not logs:
            self._renew()
            return
        self._own += logs
        self._put_at = self._clock()
        with ThreadPoolExecutor(min(THREADS, len(logs)), "logsegment-claims") as threads:
            for _ in threads.map(self._put, logs):
                pass
        tasks: dict[str, set[int]] = {}
        for entry in stores.walk(self._above):
            log = os.path.basename(os.path.dirname(entry.path[:]))
            tasks.setdefault(log, set()).add(_task(entry.name))
        for log in self._own:
            if len(tasks.get(log, ())) > 1:
                first, second, *_ = sorted(tasks[log])
                raise ValueError(f"tasks {first} and {second} both have rows of {log}: {ADVICE}")

    def ensure_kept(self) -> None:
        """Fail when they are gone: whoever gave the job up removed them, and would not see what is sent now.

        Raises:
            FileNotFoundError: when the first one is not there.
            OSError: when the store does not answer.
        """
        if self._own and not stores.exists(self._place(self._own[0])):
            raise FileNotFoundError(errno.ENOENT, "the job was given up meanwhile", shown(self._above))

    def withdraw(self) -> None:
        """Take the claims back, as far as the store does it: the next try may have other rows."""
        for log in self._own:
            with suppress(OSError):
                stores.remove(self._place(log))

    def _renew(self) -> None:
        if self._own and self._clock() - self._put_at >= RENEWED_AFTER:
            self._put_at = self._clock()
            try:
                # A claim that is put again after the job was given up would hide that it was.
                self.ensure_kept()
                self._put(self._own[0])
            except OSError as error:
                # A store that does not answer now is asked again in an hour.
                if isinstance(error, FileNotFoundError):
                    raise

    def _put(self, log: str) -> None:
        stores.put_bytes(self._place(log), b"")

    def _place(self, log: str) -> str:
        return places.below(self._above, log, self._attempt)


def _task(attempt: str) -> int:
    return int(attempt.split("-")[1])
